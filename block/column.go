package block

import (
	"encoding/binary"
	"fmt"
	"math"

	"dorisgo/value"
)

// Column is one vector of a Block. Fixed-width values lie little-endian in
// data; strings lie back to back in data with offsets (rows+1 entries) beside.
// The validity bitmap (bit i set = row i is not NULL) exists only once a NULL
// was appended. The slot of a NULL holds zero bytes (fixed) or no bytes.
type Column struct {
	typ   value.Type
	width int
	rows  int
	nulls int
	// valid has meaning only while nulls > 0; its memory is kept for reuse.
	valid   []byte
	offsets []int32
	data    []byte
}

func (c *Column) init(t value.Type) {
	c.typ = t
	c.width = t.Width()
	if c.width == 0 {
		c.offsets = append(c.offsets, 0)
	}
}

// Type is the column's type.
func (c *Column) Type() value.Type { return c.typ }

// Len is the number of values, NULLs included.
func (c *Column) Len() int { return c.rows }

// NullCount is the number of NULLs.
func (c *Column) NullCount() int { return c.nulls }

// IsNull reports whether value i is NULL.
func (c *Column) IsNull(i int) bool {
	return c.nulls > 0 && c.valid[i>>3]&(1<<(i&7)) == 0
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
