package rowset

import (
	"encoding/binary"
	"fmt"

	"dorisgo/storage/internal/bin"
)

// Kind says where a rowset's data are. The numbers are on disk: only append.
type Kind uint8

// The places of data.
const (
	// Inline data are a value in the root's Pebble, in the block codec.
	Inline Kind = 1
	// File data are a Parquet file named by the rowset's id.
	File Kind = 2
)

// Record is a rowset as a replica keeps it. A decoded record has no Columns:
// the root finds them by ColumnsID.
type Record struct {
	Meta
	ColumnsID ColumnsID
	Kind      Kind
	// FileBytes is the size of the Parquet file, FileChecksum the CRC32C of all of
	// it, 0 if it is not known.
	FileBytes    int64
	FileChecksum uint32
	// OwnerEpoch is the owner of the transaction that wrote it: a later owner
	// discards what earlier ones wrote (docs/protocol.md, rule 4).
	OwnerEpoch uint64
	// Merges is how often compactions rewrote the rows, at most; 0 for what a load
	// or a flush made.
	Merges uint32
	// Start and End are the versions that it covers, both inclusive; 0 while
	// it is pending. It serves reads at End or later only.
	Start, End int64
	// Seq orders the rowsets of one tablet that have the same End.
	Seq uint32
	// ReplacedBy is the rowset that holds its rows now, ReplacedAtMs when that
	// happened (wall clock, 0 = it is not replaced).
	ReplacedBy   ID
	ReplacedAtMs int64
}

// Merged reports whether a compaction made the rowset.
func (r *Record) Merged() bool { return r.Merges > 0 }

// DiskBytes is what the rowset's data take: the file, or the rows in the block
// codec.
func (r *Record) DiskBytes() int64 {
	if r.Kind == File {
		return r.FileBytes
	}
	return r.Bytes
}

// recordVersion starts a record. Version 1 had no FileChecksum.
const recordVersion = 2

// AppendRecord appends the encoding of a record (docs/format/rowset.md).
func AppendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, recordVersion, byte(r.Kind))
	dst = append(dst, r.ID[:]...)
	dst = append(dst, r.ColumnsID[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, r.Checksum)
	dst = binary.LittleEndian.AppendUint32(dst, r.FileChecksum)
	owner := r.OwnerEpoch
	if r.TxnID == 0 {
		owner = uint64(r.Merges) // what no transaction wrote has no owner
	}
	for _, v := range [...]int64{
		r.TabletID, r.PartitionID, r.TxnID, int64(r.SchemaVersion), r.Rows, r.Bytes, r.FileBytes,
		int64(owner), r.Start, r.End, int64(r.Seq), r.ReplacedAtMs,
	} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	if r.ReplacedAtMs != 0 {
		dst = append(dst, r.ReplacedBy[:]...)
	}
	return dst
}

// DecodeRecord is the inverse of AppendRecord, but for Columns.
func DecodeRecord(src []byte) (Record, error) {
	in := bin.NewReader(src)
	version := in.Byte()
	if in.Err() == nil && (version == 0 || version > recordVersion) {
		return Record{}, fmt.Errorf("cannot read rowset record: format version %d is not one of 1 to %d", version, recordVersion)
	}
	var r Record
	r.Kind = Kind(in.Byte())
	if in.Err() == nil && r.Kind != Inline && r.Kind != File {
		return Record{}, fmt.Errorf("cannot read rowset record: unknown kind %d", r.Kind)
	}
	copy(r.ID[:], in.Bytes(len(r.ID)))
	copy(r.ColumnsID[:], in.Bytes(len(r.ColumnsID)))
	r.Checksum = in.Uint32()
	if version > 1 {
		r.FileChecksum = in.Uint32()
	}
	r.TabletID, r.PartitionID, r.TxnID = in.Int64(), in.Int64(), in.Int64()
	r.SchemaVersion = int32(in.Int64())
	r.Rows, r.Bytes, r.FileBytes = in.Int64(), in.Int64(), in.Int64()
	if owner := in.Uvarint(); r.TxnID == 0 {
		r.Merges = uint32(owner)
	} else {
		r.OwnerEpoch = owner
	}
	r.Start, r.End = in.Int64(), in.Int64()
	r.Seq = uint32(in.Uvarint())
	if r.ReplacedAtMs = in.Int64(); r.ReplacedAtMs != 0 {
		copy(r.ReplacedBy[:], in.Bytes(len(r.ReplacedBy)))
	}
	if err := in.Done(); err != nil {
		return Record{}, fmt.Errorf("cannot read rowset record: %w", err)
	}
	return r, nil
}
