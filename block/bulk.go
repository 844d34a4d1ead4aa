package block

import (
	"slices"

	"dorisgo/value"
)

// AppendColumn appends all values of src, which has the same type. It copies;
// src may not be c.
func (c *Column) AppendColumn(src *Column) {
	if c.width == 0 && !c.Fits(len(src.data)) {
		panic("block: a column of more than 2 GiB")
	}
	c.appendValidity(src)
	if c.width == 0 {
		base := int32(len(c.data))
		n := len(c.offsets)
		c.offsets = slices.Grow(c.offsets, src.rows)[:n+src.rows]
		tail := c.offsets[n:]
		for i, o := range src.offsets[1:] {
			tail[i] = base + o
		}
	}
	c.data = append(c.data, src.data...)
	c.rows += src.rows
	c.nulls += src.nulls
}

// appendValidity extends the bitmap by src's rows; the caller adds rows and
// nulls afterwards.
func (c *Column) appendValidity(src *Column) {
	if src.nulls == 0 {
		c.appendValid(nil, src.rows)
		return
	}
	if c.nulls == 0 {
		c.startValidity()
	}
	c.appendValid(src.valid, src.rows)
}

// appendValid extends a bitmap that exists by n bits of src, nil for ones.
func (c *Column) appendValid(src []byte, n int) {
	if src == nil && c.nulls == 0 || n == 0 {
		return
	}
	start := len(c.valid)
	c.valid = slices.Grow(c.valid, n/8+1)[:(c.rows+n+7)/8]
	clear(c.valid[start:])
	if src != nil && c.rows&7 == 0 {
		copy(c.valid[c.rows>>3:], src[:(n+7)/8])
		return
	}
	shift := c.rows & 7
	at := c.rows >> 3
	for i := 0; i < n; i += 8 {
		v := byte(0xff)
		if src != nil {
			v = src[i>>3]
		}
		if n-i < 8 {
			v &= 1<<(n-i) - 1
		}
		c.valid[at] |= v << shift
		if over := v >> (8 - shift); over != 0 {
			c.valid[at+1] |= over
		}
		at++
	}
}

// AppendBlock appends all rows of src, whose columns have the same types.
func (b *Block) AppendBlock(src *Block) {
	for i := range b.cols {
		b.cols[i].AppendColumn(&src.cols[i])
	}
	b.rows += src.rows
}

// Slice is a block with rows [from, to) of b; b itself for all of
// them.
func (b *Block) Slice(from, to int) *Block {
	if from == 0 && to == b.rows {
		return b
	}
	idx := make([]int32, to-from)
	for i := range idx {
		idx[i] = int32(from + i)
	}
	return b.Gather(idx)
}

// AppendRow appends row i of src, whose columns have the same types.
func (b *Block) AppendRow(src *Block, i int) {
	for k := range b.cols {
		b.cols[k].AppendFrom(&src.cols[k], i)
	}
	b.rows++
}

// MemSize is the memory that the vectors hold, room for growth included, in
// bytes.
func (b *Block) MemSize() int {
	n := 0
	for i := range b.cols {
		c := &b.cols[i]
		n += cap(c.data) + cap(c.valid) + 4*cap(c.offsets)
	}
	return n
}

// Types are the columns' types.
func (b *Block) Types() []value.Type {
	types := make([]value.Type, len(b.cols))
	for i := range b.cols {
		types[i] = b.cols[i].typ
	}
	return types
}
