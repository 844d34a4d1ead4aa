package block

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"dorisgo/value"
)

// AppendNull appends a NULL.
func (c *Column) AppendNull() {
	if c.nulls == 0 {
		c.startValidity()
	}
	if c.rows>>3 == len(c.valid) {
		c.valid = append(c.valid, 0)
	}
	c.nulls++
	c.rows++
	if c.width > 0 {
		c.data = append(c.data, zeros[:c.width]...)
		return
	}
	c.offsets = append(c.offsets, int32(len(c.data)))
}

// zeros is the slot of a NULL.
var zeros [16]byte

// startValidity makes the bitmap, all rows so far not NULL. Bits at and past
// rows stay clear: they are set as values come.
func (c *Column) startValidity() {
	n := (c.rows + 7) / 8
	c.valid = slices.Grow(c.valid[:0], n+1)[:n]
	for i := range c.valid {
		c.valid[i] = 0xff
	}
	if c.rows&7 != 0 {
		c.valid[n-1] = 1<<(c.rows&7) - 1
	}
}

// grew notes one more value that is not NULL.
func (c *Column) grew() {
	if c.nulls > 0 {
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

// AppendBool appends v to a Boolean column.
func (c *Column) AppendBool(v bool) {
	var b byte
	if v {
		b = 1
	}
	c.data = append(c.data, b)
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
// checked length and encoding,
// and that the column has room (Fits).
func (c *Column) AppendBytes(s []byte) {
	if !c.Fits(len(s)) {
		panic("block: a column of more than 2 GiB")
	}
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
	if c.width == 0 {
		c.AppendBytes(src.Raw(i))
		return
	}
	c.data = append(c.data, src.Raw(i)...)
	c.grew()
}

// truncate drops the values after the first n.
func (c *Column) truncate(n int) {
	if n >= c.rows {
		return
	}
	if c.nulls > 0 {
		// Dropping one row of many is the common case, so the dropped side is
		// counted: a load of bad rows would take quadratic time otherwise.
		for i := n; i < c.rows; i++ {
			if c.IsNull(i) {
				c.nulls--
			}
		}
		c.valid = c.valid[:(n+7)/8]
		if n&7 != 0 {
			c.valid[n>>3] &= 1<<(n&7) - 1
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
