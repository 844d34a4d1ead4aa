package storage

import (
	"encoding/binary"
	"fmt"

	"dorisgo/storage/internal/bin"
	"dorisgo/storage/rowset"
)

// recordVersion starts every record of this file but a tablet's; one that is
// newer is refused.
const recordVersion = 1

// tabletVersion starts a tablet's record. Version 1 ended before the replica.
const tabletVersion = 2

// tabletRecord is what a root keeps of a tablet.
type tabletRecord struct {
	partitionID int64
	// base is the version through which the partition's entries here say nothing
	// of the tablet: 1, or what was published when the replica was added.
	base int64
	// gen is the generation whose rowsets are the tablet.
	gen uint32
	// droppedMs is when the tablet was dropped (wall clock), 0 if it was not.
	droppedMs int64
	// replica is the replica's id, 0 while no call has named it.
	replica int64
	// hole is the first version that lacks here, 0 if none does: nothing is
	// published into the tablet from there on until it is filled.
	hole int64
	// cloned is the version through which the rows came by a clone, 0 without
	// one: publishes through it have nothing to add.
	cloned int64
	// added says that the replica was added to a tablet that may have had rows
	// and waits for its first clone: nothing else fills its hole.
	added bool
}

func (r tabletRecord) encode() []byte {
	b := []byte{tabletVersion}
	for _, v := range [...]int64{r.partitionID, r.base, int64(r.gen), r.droppedMs, r.replica, r.hole, r.cloned} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	if r.added {
		return append(b, 1)
	}
	return append(b, 0)
}

func decodeTablet(b []byte) (r tabletRecord, err error) {
	in, version := versioned(b, tabletVersion)
	r.partitionID, r.base, r.gen, r.droppedMs = in.Int64(), in.Int64(), uint32(in.Int64()), in.Int64()
	if version > 1 {
		r.replica, r.hole, r.cloned = in.Int64(), in.Int64(), in.Int64()
		r.added = in.Byte() != 0
	}
	return r, wrapRecord("tablet", in.Done())
}

// partitionRecord is what a root keeps of a partition beside its entries.
type partitionRecord struct {
	// base is the version through which this root had nothing to publish.
	base int64
	// floor is the version through which entries were removed: at least base.
	floor     int64
	droppedMs int64
}

func (r partitionRecord) encode() []byte {
	b := []byte{recordVersion}
	for _, v := range [...]int64{r.base, r.floor, r.droppedMs} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}

func decodePartition(b []byte) (r partitionRecord, err error) {
	in := reader(b)
	r.base, r.floor, r.droppedMs = in.Int64(), in.Int64(), in.Int64()
	return r, wrapRecord("partition", in.Done())
}

// entryRecord says what one version of a partition brought to one root. No
// rowsets is as definite an answer as some (docs/protocol.md, rule 1).
type entryRecord struct {
	txnID   int64
	rowsets []PublishTablet
}

func (r entryRecord) encode() []byte {
	b := []byte{recordVersion}
	b = binary.AppendUvarint(b, uint64(r.txnID))
	b = binary.AppendUvarint(b, uint64(len(r.rowsets)))
	for _, t := range r.rowsets {
		b = binary.AppendUvarint(b, uint64(t.TabletID))
		b = append(b, t.RowsetID[:]...)
	}
	return b
}

func decodeEntry(b []byte) (r entryRecord, err error) {
	in := reader(b)
	r.txnID = in.Int64()
	n := in.Uvarint()
	if n > uint64(in.Len())/17 {
		in.Fail(bin.ErrShort)
		n = 0
	}
	for range n {
		t := PublishTablet{TabletID: in.Int64()}
		copy(t.RowsetID[:], in.Bytes(len(rowset.ID{})))
		r.rowsets = append(r.rowsets, t)
	}
	return r, wrapRecord("entry", in.Done())
}

// lostRecord says that the others went on without a root.
type lostRecord struct {
	atMs int64
	// partitions are those that had a part there, with the version through which
	// they were published on it; none is named if that is not known.
	partitions []PartitionVersions
}

func (r lostRecord) encode() []byte {
	b := binary.AppendUvarint([]byte{recordVersion}, uint64(r.atMs))
	b = binary.AppendUvarint(b, uint64(len(r.partitions)))
	for _, p := range r.partitions {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p.PartitionID)), uint64(p.Published))
	}
	return b
}

func decodeLost(b []byte) (r lostRecord, err error) {
	in := reader(b)
	r.atMs = in.Int64()
	n := in.Uvarint()
	if n > uint64(in.Len())/2 {
		in.Fail(bin.ErrShort)
		n = 0
	}
	for range n {
		r.partitions = append(r.partitions, PartitionVersions{PartitionID: in.Int64(), Published: in.Int64()})
	}
	return r, wrapRecord("lost root", in.Done())
}

func encodeRemoved(partitionID int64) []byte {
	return binary.AppendUvarint([]byte{recordVersion}, uint64(partitionID))
}

func decodeRemoved(b []byte) (partitionID int64, err error) {
	in := reader(b)
	partitionID = in.Int64()
	return partitionID, wrapRecord("removed replica", in.Done())
}

func encodeOwner(epoch uint64) []byte {
	return binary.AppendUvarint([]byte{recordVersion}, epoch)
}

func decodeOwner(b []byte) (epoch uint64, err error) {
	in := reader(b)
	epoch = in.Uvarint()
	return epoch, wrapRecord("owner", in.Done())
}

// rootRecord is the identity inside Pebble, which must be the directory's.
type rootRecord struct {
	format uint32
	uuid   UUID
}

func (r rootRecord) encode() []byte {
	b := binary.AppendUvarint([]byte{recordVersion}, uint64(r.format))
	return append(b, r.uuid[:]...)
}

func decodeRoot(b []byte) (r rootRecord, err error) {
	in := reader(b)
	r.format = uint32(in.Uvarint())
	copy(r.uuid[:], in.Bytes(len(r.uuid)))
	return r, wrapRecord("root", in.Done())
}

func reader(b []byte) *bin.Reader {
	in, _ := versioned(b, recordVersion)
	return in
}

// versioned reads the version byte; one above newest fails the reader.
func versioned(b []byte, newest byte) (*bin.Reader, byte) {
	in := bin.NewReader(b)
	v := in.Byte()
	if in.Err() == nil && (v == 0 || v > newest) {
		in.Fail(fmt.Errorf("format version %d is not one of 1 to %d", v, newest))
	}
	return in, v
}

func wrapRecord(what string, err error) error {
	if err != nil {
		return fmt.Errorf("cannot read %s record: %w", what, err)
	}
	return nil
}
