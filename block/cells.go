package block

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"

	"dorisgo/value"
)

// Cell is where the text of one value lies: Text[Start:End] of its Cells if
// Start is not negative, else Extra[^Start:End] or one of the marks.
type Cell struct{ Start, End int32 }

// Marks in Cell.Start.
const (
	// NullCell is NULL.
	NullCell int32 = math.MinInt32
	// MissingCell is a value that a row does not have.
	MissingCell int32 = math.MinInt32 + 1
)

func (c Cell) mark() bool { return c.Start <= MissingCell }

// Cells is a batch of rows as text, cut into fields: what formats hand over, so
// that each column's values are converted in one loop.
type Cells struct {
	// Text is what most cells point to; Extra holds the others' texts, such as
	// those that lost escapes.
	Text, Extra []byte
	// At are the cells, row by row, Stride for each row.
	At     []Cell
	Stride int
	// Valid says that every cell is valid UTF-8.
	Valid bool
}

// Field is the text of a cell, nil for both marks.
func (cs *Cells) Field(c Cell) []byte {
	switch {
	case c.Start >= 0:
		return cs.Text[c.Start:c.End]
	case c.mark():
		return nil
	}
	return cs.Extra[^c.Start:c.End]
}

// AppendCells appends the values of a field of rows from to to, as AppendText
// would. It stops at the first that is no plain value, being a mark or a text
// that the column refuses, and returns its row; to if there is none. It does not
// allocate once the column has grown.
func (c *Column) AppendCells(cs *Cells, field, from, to int, o *ConvertOptions) int {
	if from >= to {
		return to
	}
	at := cs.At[from*cs.Stride+field:]
	n := to - from
	if c.width == 0 {
		return from + c.appendTexts(cs, at, n, o)
	}
	// Values are stored as whole words, so that the last has room behind it.
	start := len(c.data)
	c.data = slices.Grow(c.data, n*c.width+8)
	dst := c.data[start : start+n*c.width+8]
	switch c.typ.Kind {
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		n = c.integers(dst, cs, at, n)
	case value.Decimal:
		n = c.decimals(dst, cs, at, n)
	case value.Date:
		n = c.dates(dst, cs, at, n, o)
	case value.DateTime:
		n = c.dateTimes(dst, cs, at, n, o)
	case value.Float, value.Double:
		n = c.floats(dst, cs, at, n)
	default:
		n = c.others(cs, at, n, o)
		return from + n
	}
	c.data = c.data[:start+n*c.width]
	c.appendValid(nil, n)
	c.rows += n
	return from + n
}

// integers writes values to dst until one that is none, and returns how many.
func (c *Column) integers(dst []byte, cs *Cells, at []Cell, n int) int {
	lo, hi := value.IntegerRange(c.typ.Kind)
	text, width, stride := cs.Text, c.width, cs.Stride
	for i := range n {
		cell := at[i*stride]
		var v int64
		ok := false
		if cell.Start >= 0 {
			v, ok = value.ShortInteger(text, int(cell.Start), int(cell.End))
		}
		if !ok || v < lo || v > hi {
			if cell.mark() {
				return i
			}
			var err error
			if v, err = value.ParseInteger(cs.Field(cell), c.typ.Kind); err != nil {
				return i
			}
		}
		binary.LittleEndian.PutUint64(dst[i*width:], uint64(v))
	}
	return n
}

func (c *Column) decimals(dst []byte, cs *Cells, at []Cell, n int) int {
	limit := value.MaxDecimal64(c.typ.Precision)
	text, stride, scale := cs.Text, cs.Stride, c.typ.Scale
	for i := range n {
		cell := at[i*stride]
		if cell.Start >= 0 {
			if v, ok := value.ShortDecimal(text, int(cell.Start), int(cell.End), scale); ok && -limit <= v && v <= limit {
				binary.LittleEndian.PutUint64(dst[i*16:], uint64(v))
				binary.LittleEndian.PutUint64(dst[i*16+8:], uint64(v>>63))
				continue
			}
		}
		if cell.mark() {
			return i
		}
		v, err := value.ParseDecimal(cs.Field(cell), c.typ.Precision, scale)
		if err != nil {
			return i
		}
		binary.LittleEndian.PutUint64(dst[i*16:], v.Lo)
		binary.LittleEndian.PutUint64(dst[i*16+8:], uint64(v.Hi))
	}
	return n
}

func (c *Column) dates(dst []byte, cs *Cells, at []Cell, n int, o *ConvertOptions) int {
	for i := range n {
		cell := at[i*cs.Stride]
		if cell.Start >= 0 {
			if v, ok := value.ShortDate(cs.Text, int(cell.Start), int(cell.End)); ok {
				binary.LittleEndian.PutUint32(dst[i*4:], uint32(v))
				continue
			}
		}
		if cell.mark() {
			return i
		}
		v, err := value.ParseDateIn(cs.Field(cell), o.Loc)
		if err != nil {
			return i
		}
		binary.LittleEndian.PutUint32(dst[i*4:], uint32(v))
	}
	return n
}

func (c *Column) dateTimes(dst []byte, cs *Cells, at []Cell, n int, o *ConvertOptions) int {
	for i := range n {
		cell := at[i*cs.Stride]
		if cell.Start >= 0 {
			if v, ok := value.ShortDateTime(cs.Text, int(cell.Start), int(cell.End), c.typ.Scale); ok {
				binary.LittleEndian.PutUint64(dst[i*8:], uint64(v))
				continue
			}
		}
		if cell.mark() {
			return i
		}
		v, err := value.ParseDateTime(cs.Field(cell), c.typ.Scale, o.Loc)
		if err != nil {
			return i
		}
		binary.LittleEndian.PutUint64(dst[i*8:], uint64(v))
	}
	return n
}

func (c *Column) floats(dst []byte, cs *Cells, at []Cell, n int) int {
	for i := range n {
		cell := at[i*cs.Stride]
		v, ok := 0.0, false
		if cell.Start >= 0 {
			v, ok = value.ShortFloat(cs.Text, int(cell.Start), int(cell.End), c.typ.Kind)
		}
		if !ok {
			if cell.mark() {
				return i
			}
			var err error
			if v, err = value.ParseFloat(cs.Field(cell), c.typ.Kind); err != nil {
				return i
			}
		}
		if c.width == 4 {
			binary.LittleEndian.PutUint32(dst[i*4:], math.Float32bits(float32(v)))
		} else {
			binary.LittleEndian.PutUint64(dst[i*8:], math.Float64bits(v))
		}
	}
	return n
}

// others appends values of the rarer types one by one.
func (c *Column) others(cs *Cells, at []Cell, n int, o *ConvertOptions) int {
	for i := range n {
		cell := at[i*cs.Stride]
		if cell.mark() || c.AppendText(cs.Field(cell), o) != nil {
			return i
		}
	}
	return n
}

// appendTexts appends strings until one that is too long or otherwise refused.
func (c *Column) appendTexts(cs *Cells, at []Cell, n int, o *ConvertOptions) int {
	limit, cut := int(c.typ.Length), !o.Strict
	switch c.typ.Kind {
	case value.JSON:
		return c.others(cs, at, n, o)
	case value.String:
		limit, cut = o.stringLimit(), false
	}
	// Short texts are copied as two words whatever their length; what is read too
	// much is overwritten by the next text or cut off.
	const short = 16
	text, stride := cs.Text, cs.Stride
	first := len(c.offsets)
	c.offsets = slices.Grow(c.offsets, n)
	offsets := c.offsets[first : first+n]
	data := c.data
	done := n
	for i := range n {
		cell := at[i*stride]
		src, s := text, int(cell.Start)
		if s < 0 {
			if cell.mark() {
				done = i
				break
			}
			src, s = cs.Extra, ^s
		}
		e := int(cell.End)
		if e-s > limit && cut && (cs.Valid || utf8.Valid(src[s:e])) {
			e = s + len(value.TruncateUTF8(src[s:e], limit))
		}
		size := e - s
		if size > limit || len(data)+size > math.MaxInt32 || !cs.Valid && !utf8.Valid(src[s:e]) {
			done = i
			break
		}
		end := len(data)
		if size <= short && s+short <= len(src) && end+short <= cap(data) {
			d, w := data[:end+short], src[s:s+short]
			binary.LittleEndian.PutUint64(d[end:], binary.LittleEndian.Uint64(w))
			binary.LittleEndian.PutUint64(d[end+8:], binary.LittleEndian.Uint64(w[8:]))
			data = d[:end+size]
		} else {
			data = append(data, src[s:e]...)
		}
		offsets[i] = int32(len(data))
	}
	c.data, c.offsets = data, c.offsets[:first+done]
	c.appendValid(nil, done)
	c.rows += done
	return done
}
