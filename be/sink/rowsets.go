package sink

import (
	"hash/crc32"
	"math/rand/v2"
	"slices"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/storage/rowset"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Written is what a transaction wrote: what its commit names.
type Written struct {
	Partitions []*fepb.PartitionWrite
	Rows       int64
}

// builtRowset is a tablet's part of a block: the same bytes for all of its
// replicas.
type builtRowset struct {
	tablet *meta.Tablet
	rowset *bepb.Rowset
}

// build splits rows by bucket, sorts each part by (key, ordinal) and encodes
// it. Rows of a block are in the order of their ordinals. newID gives the id of
// a tablet's rowset.
func build(t *meta.Table, b *block.Block, newID func(tablet int64) (rowset.ID, error)) ([]builtRowset, error) {
	if len(t.Partitions) != 1 {
		return nil, doriserr.New(doriserr.Unsupported, "table %s has %d partitions; partitioned tables are not supported", t.Name, len(t.Partitions))
	}
	part := t.Partitions[0]
	keys := make([]int, t.KeyCount)
	for i := range keys {
		keys[i] = i
	}
	var out []builtRowset
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
		id, err := newID(tablet.ID)
		if err != nil {
			return nil, err
		}
		data := block.AppendEncoded(nil, rows)
		out = append(out, builtRowset{tablet, &bepb.Rowset{
			Id: id[:], TabletId: tablet.ID, PartitionId: part.ID, Rows: int64(rows.Rows()),
			Checksum: crc32.Checksum(data, castagnoli), Data: data,
		}})
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
