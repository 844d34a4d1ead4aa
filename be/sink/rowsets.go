package sink

import (
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Written is what a transaction wrote: what its commit names.
type Written struct {
	Partitions []*fepb.PartitionWrite
	Rows       int64
}

// batch is what goes to each backend: the same bytes to all of a tablet's
// replicas.
type batch struct {
	rowsets  map[int64][]*bepb.Rowset
	tablets  map[int64]*fepb.TabletWrite
	written  Written
	replicas map[int64][]int64
}

// build splits rows by bucket, sorts each part by (key, ordinal) and encodes
// it. Rows of a block are in the order of their ordinals.
func build(t *meta.Table, b *block.Block, random io.Reader) (*batch, error) {
	if len(t.Partitions) != 1 {
		return nil, doriserr.New(doriserr.Unsupported, "table %s has %d partitions; partitioned tables are not supported", t.Name, len(t.Partitions))
	}
	part := t.Partitions[0]
	out := &batch{rowsets: map[int64][]*bepb.Rowset{}, tablets: map[int64]*fepb.TabletWrite{}, replicas: map[int64][]int64{}}
	pw := &fepb.PartitionWrite{PartitionId: part.ID}
	keys := make([]int, t.KeyCount)
	for i := range keys {
		keys[i] = i
	}
	for bucket, rows := range split(t, part, b) {
		if rows == nil || rows.Rows() == 0 {
			continue
		}
		tablet := part.Tablets[bucket]
		if len(keys) > 0 && rows.Rows() > 1 {
			if perm := rows.SortPermutation(keys); !slices.IsSorted(perm) {
				rows = rows.Gather(perm)
			}
		}
		id := make([]byte, 16)
		if _, err := io.ReadFull(random, id); err != nil {
			return nil, fmt.Errorf("cannot make a rowset id: %w", err)
		}
		data := block.AppendEncoded(nil, rows)
		rs := &bepb.Rowset{
			Id: id, TabletId: tablet.ID, PartitionId: part.ID, Rows: int64(rows.Rows()),
			Checksum: crc32.Checksum(data, castagnoli), Data: data,
		}
		for _, r := range tablet.Replicas {
			out.rowsets[r.BackendID] = append(out.rowsets[r.BackendID], rs)
			out.replicas[tablet.ID] = append(out.replicas[tablet.ID], r.BackendID)
		}
		tw := &fepb.TabletWrite{TabletId: tablet.ID, RowsetId: id, Rows: rs.Rows, Checksum: rs.Checksum}
		out.tablets[tablet.ID] = tw
		pw.Tablets = append(pw.Tablets, tw)
		out.written.Rows += rs.Rows
	}
	if len(pw.Tablets) > 0 {
		out.written.Partitions = append(out.written.Partitions, pw)
	}
	return out, nil
}

// split gives each bucket its rows; RANDOM distribution puts a whole block
// into one bucket, another one each time.
func split(t *meta.Table, part *meta.Partition, b *block.Block) []*block.Block {
	n := len(part.Tablets)
	if n == 1 {
		return []*block.Block{b}
	}
	if len(t.DistCols) == 0 {
		parts := make([]*block.Block, n)
		parts[rand.IntN(n)] = b
		return parts
	}
	return b.SplitByBucket(t.DistCols, n)
}

// columns describes a table's columns for the rowsets.
func columns(t *meta.Table) []*bepb.ColumnDesc {
	out := make([]*bepb.ColumnDesc, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		out[i] = &bepb.ColumnDesc{
			UniqueId: c.UniqueID, Name: c.Name, Kind: uint32(c.Type.Kind), Precision: uint32(c.Type.Precision),
			Scale: uint32(c.Type.Scale), Length: c.Type.Length, Nullable: c.Nullable, Key: c.Key,
		}
		if c.Default != nil && c.Default.Kind == meta.DefaultLiteral {
			out[i].DefaultValue = &c.Default.Text
		}
	}
	return out
}
