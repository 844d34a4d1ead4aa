package block

import (
	"encoding/binary"
	"fmt"
	"math"

	"dorisgo/value"
)

// Block is an append-only batch of rows as one typed vector per column, in
// Arrow memory layout. It is owned by one goroutine at a time.
type Block struct {
	cols []Column
	rows int
}

// Column is one vector of a Block. Fixed-width values lie little-endian in
// data; strings lie back to back in data with offsets (rows+1 entries) beside.
// The validity bitmap (bit i set = row i is not NULL) exists only once a NULL
// was appended. The slot of a NULL holds zero bytes (fixed) or no bytes.
type Column struct {
	typ     value.Type
	width   int
	rows    int
	nulls   int
	valid   []byte
	offsets []int32
	data    []byte
}

// New returns an empty block with one column for each type.
func New(types []value.Type) *Block {
	b := &Block{cols: make([]Column, len(types))}
	for i, t := range types {
		b.cols[i].init(t)
	}
	return b
}

func (c *Column) init(t value.Type) {
	c.typ = t
	c.width = t.Width()
	if c.width == 0 {
		c.offsets = append(c.offsets, 0)
	}
}

// Rows is the number of complete rows: those counted by EndRow(s).
func (b *Block) Rows() int { return b.rows }

// NumCols is the number of columns.
func (b *Block) NumCols() int { return len(b.cols) }

// Col returns column i for appending or reading.
func (b *Block) Col(i int) *Column { return &b.cols[i] }

// EndRow counts a row after one value was appended to every column.
func (b *Block) EndRow() { b.rows++ }

// Truncate drops every value after the first n rows, those of an unfinished
// row too: the way back after a conversion error.
func (b *Block) Truncate(n int) {
	for i := range b.cols {
		b.cols[i].truncate(n)
	}
	b.rows = n
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() { b.Truncate(0) }

// Bytes is the memory that the rows take in the vectors, the measure of
// group_commit_data_bytes.
func (b *Block) Bytes() int {
	n := 0
	for i := range b.cols {
		c := &b.cols[i]
		n += len(c.data) + len(c.valid)
		if c.width == 0 {
			n += 4 * len(c.offsets)
		}
	}
	return n
}

// Type is the column's type.
func (c *Column) Type() value.Type { return c.typ }

// Len is the number of values, NULLs included.
func (c *Column) Len() int { return c.rows }

// NullCount is the number of NULLs.
func (c *Column) NullCount() int { return c.nulls }

// IsNull reports whether value i is NULL.
func (c *Column) IsNull(i int) bool {
	return c.valid != nil && c.valid[i>>3]&(1<<(i&7)) == 0
}

// Raw is value i's bytes: the little-endian fixed-width value or the string.
// It aliases the column until the next append.
func (c *Column) Raw(i int) []byte {
	if c.width > 0 {
		return c.data[i*c.width : (i+1)*c.width]
	}
	return c.data[c.offsets[i]:c.offsets[i+1]]
}

// Int64 is value i of an integer-like column (Boolean to BigInt, Date as days
// since 1970-01-01, DateTime as microseconds since then).
func (c *Column) Int64(i int) int64 {
	p := c.Raw(i)
	switch c.width {
	case 1:
		return int64(int8(p[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(p)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(p)))
	case 8:
		return int64(binary.LittleEndian.Uint64(p))
	}
	panic(fmt.Sprintf("block: Int64 of a %s column", c.typ))
}

// Float64 is value i of a Float or Double column.
func (c *Column) Float64(i int) float64 {
	p := c.Raw(i)
	if c.width == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(p))
}

// Int128 is value i of a LargeInt or Decimal column.
func (c *Column) Int128(i int) value.Int128 {
	p := c.Raw(i)
	return value.Int128{Lo: binary.LittleEndian.Uint64(p), Hi: int64(binary.LittleEndian.Uint64(p[8:]))}
}

// AppendNull appends a NULL.
func (c *Column) AppendNull() {
	if c.valid == nil {
		c.valid = make([]byte, (c.rows+8)/8, max(16, (c.rows+8)/8))
		for i := range c.valid {
			c.valid[i] = 0xff
		}
		// Bits at and past rows stay clear: they are set as values come.
		c.valid[c.rows>>3] &= 1<<(c.rows&7) - 1
	} else if c.rows>>3 == len(c.valid) {
		c.valid = append(c.valid, 0)
	}
	c.nulls++
	c.rows++
	if c.width > 0 {
		var zero [16]byte
		c.data = append(c.data, zero[:c.width]...)
		return
	}
	c.offsets = append(c.offsets, int32(len(c.data)))
}

// grew notes one more value that is not NULL.
func (c *Column) grew() {
	if c.valid != nil {
		if c.rows>>3 == len(c.valid) {
			c.valid = append(c.valid, 0)
		}
		c.valid[c.rows>>3] |= 1 << (c.rows & 7)
	}
	c.rows++
}

// AppendInt64 appends v to an integer-like column; the caller checked that it
// fits the type.
func (c *Column) AppendInt64(v int64) {
	switch c.width {
	case 1:
		c.data = append(c.data, byte(v))
	case 2:
		c.data = binary.LittleEndian.AppendUint16(c.data, uint16(v))
	case 4:
		c.data = binary.LittleEndian.AppendUint32(c.data, uint32(v))
	case 8:
		c.data = binary.LittleEndian.AppendUint64(c.data, uint64(v))
	default:
		panic(fmt.Sprintf("block: AppendInt64 to a %s column", c.typ))
	}
	c.grew()
}

// AppendFloat64 appends v to a Float or Double column.
func (c *Column) AppendFloat64(v float64) {
	if c.width == 4 {
		c.data = binary.LittleEndian.AppendUint32(c.data, math.Float32bits(float32(v)))
	} else {
		c.data = binary.LittleEndian.AppendUint64(c.data, math.Float64bits(v))
	}
	c.grew()
}

// AppendInt128 appends v to a LargeInt or Decimal column.
func (c *Column) AppendInt128(v value.Int128) {
	c.data = binary.LittleEndian.AppendUint64(c.data, v.Lo)
	c.data = binary.LittleEndian.AppendUint64(c.data, uint64(v.Hi))
	c.grew()
}

// AppendBytes appends a copy of s to a column of variable length; the caller
// checked length and encoding.
func (c *Column) AppendBytes(s []byte) {
	c.data = append(c.data, s...)
	c.offsets = append(c.offsets, int32(len(c.data)))
	c.grew()
}

// AppendFrom appends value i of src, which has the same type.
func (c *Column) AppendFrom(src *Column, i int) {
	if src.IsNull(i) {
		c.AppendNull()
		return
	}
	c.data = append(c.data, src.Raw(i)...)
	if c.width == 0 {
		c.offsets = append(c.offsets, int32(len(c.data)))
	}
	c.grew()
}

func (c *Column) truncate(n int) {
	if n >= c.rows {
		return
	}
	if c.valid != nil {
		c.nulls = 0
		c.valid = c.valid[:(n+7)/8]
		if n&7 != 0 {
			c.valid[n>>3] &= 1<<(n&7) - 1
		}
		for i := range n {
			if c.IsNull(i) {
				c.nulls++
			}
		}
		if c.nulls == 0 {
			c.valid = nil
		}
	}
	if c.width > 0 {
		c.data = c.data[:n*c.width]
	} else {
		c.data = c.data[:c.offsets[n]]
		c.offsets = c.offsets[:n+1]
	}
	c.rows = n
}
