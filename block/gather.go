package block

import (
	"slices"

	"dorisgo/value"
)

// Gather is a new block with the rows of b named by idx, in that order.
func (b *Block) Gather(idx []int32) *Block {
	out := &Block{cols: make([]Column, len(b.cols)), rows: len(idx)}
	for i := range b.cols {
		out.cols[i].init(b.cols[i].typ)
		out.cols[i].gather(&b.cols[i], idx)
	}
	return out
}

// gather appends the values of src named by idx to an empty column.
func (c *Column) gather(src *Column, idx []int32) {
	if c.width > 0 {
		c.data = make([]byte, 0, len(idx)*c.width)
	} else {
		total := 0
		for _, i := range idx {
			total += int(src.offsets[i+1] - src.offsets[i])
		}
		c.data = make([]byte, 0, total)
		c.offsets = slices.Grow(c.offsets, len(idx))
	}
	if src.nulls > 0 {
		for _, i := range idx {
			c.AppendFrom(src, int(i))
		}
		return
	}
	switch w := c.width; w {
	case 0:
		for _, i := range idx {
			c.data = append(c.data, src.data[src.offsets[i]:src.offsets[i+1]]...)
			c.offsets = append(c.offsets, int32(len(c.data)))
		}
	default:
		for _, i := range idx {
			c.data = append(c.data, src.data[int(i)*w:(int(i)+1)*w]...)
		}
	}
	c.rows = len(idx)
}

// Buckets appends to dst the bucket, 0 to n-1, of every row by the hash of the
// columns distCols (docs/format/bucket.md).
func (b *Block) Buckets(distCols []int, n int, dst []int32) []int32 {
	for i := range b.rows {
		h := uint32(0)
		for _, k := range distCols {
			c := &b.cols[k]
			if c.IsNull(i) {
				h = value.HashValue(h, c.typ, nil, true)
			} else {
				h = value.HashValue(h, c.typ, c.Raw(i), false)
			}
		}
		dst = append(dst, int32(value.Bucket(h, n)))
	}
	return dst
}

// RowsByBucket is the numbers of the rows of each bucket, in the order in which
// order names all rows; entry i, which may be empty, is of bucket i. The entries
// share memory.
func (b *Block) RowsByBucket(distCols []int, buckets int, order []int32) [][]int32 {
	of := b.Buckets(distCols, buckets, make([]int32, 0, b.rows))
	// A counting sort: ends[i+1] is where bucket i's rows end in idx.
	ends := make([]int32, buckets+1)
	for _, k := range of {
		ends[k+1]++
	}
	for i := range buckets {
		ends[i+1] += ends[i]
	}
	at := slices.Clone(ends[:buckets])
	idx := make([]int32, b.rows)
	for _, row := range order {
		k := of[row]
		idx[at[k]] = row
		at[k]++
	}
	out := make([][]int32, buckets)
	for i := range out {
		out[i] = idx[ends[i]:ends[i+1]]
	}
	return out
}
