package sink

import (
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

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

// manyRows is from how many rows on a block's rowsets are built by several
// goroutines: below, starting them costs more than they save.
const manyRows = 256

// build sorts rows by (key, ordinal), splits them by bucket and encodes each
// part. Rows of a block are in the order of their ordinals. newID gives the id of
// a tablet's rowset. Up to workers goroutines share the work.
func build(t *meta.Table, b *block.Block, workers int, newID func(tablet int64) (rowset.ID, error)) ([]builtRowset, error) {
	if len(t.Partitions) != 1 {
		return nil, doriserr.New(doriserr.Unsupported, "table %s has %d partitions; partitioned tables are not supported", t.Name, len(t.Partitions))
	}
	part := t.Partitions[0]
	keys := make([]int, t.KeyCount)
	for i := range keys {
		keys[i] = i
	}
	var out []builtRowset
	var rows [][]int32 // of each of out
	for bucket, idx := range split(t, part, b, b.SortPermutation(keys)) {
		if len(idx) == 0 {
			continue
		}
		tablet := part.Tablets[bucket]
		id, err := newID(tablet.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, builtRowset{tablet, &bepb.Rowset{Id: id[:], TabletId: tablet.ID, PartitionId: part.ID, Rows: int64(len(idx))}})
		rows = append(rows, idx)
	}
	if b.Rows() < manyRows {
		workers = 1
	}
	share(len(out), workers, func(i int) { encode(out[i].rowset, b, rows[i]) })
	return out, nil
}

// encode makes a rowset of rows of a block.
func encode(r *bepb.Rowset, b *block.Block, idx []int32) {
	rows := b
	if len(idx) < b.Rows() || !slices.IsSorted(idx) {
		rows = b.Gather(idx)
	}
	r.Data = block.AppendEncoded(make([]byte, 0, rows.Bytes()+4*rows.NumCols()), rows)
	r.Checksum = crc32.Checksum(r.Data, castagnoli)
}

// share runs f for 0 to n-1 on up to workers goroutines, the caller's among them.
func share(n, workers int, f func(i int)) {
	var next atomic.Int64
	run := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	var others sync.WaitGroup
	for range min(workers, n) - 1 {
		others.Go(run)
	}
	run()
	others.Wait()
}

// split gives each bucket the numbers of its rows, in the order of order; RANDOM
// distribution puts a whole block into one bucket, another one each time.
func split(t *meta.Table, part *meta.Partition, b *block.Block, order []int32) [][]int32 {
	n := len(part.Tablets)
	switch {
	case n == 1:
		return [][]int32{order}
	case len(t.DistCols) == 0:
		parts := make([][]int32, n)
		parts[rand.IntN(n)] = order
		return parts
	}
	return b.RowsByBucket(t.DistCols, n, order)
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
