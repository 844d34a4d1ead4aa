package block

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"dorisgo/value"
)

// ErrCorrupt is in the chain of every error of DecodeAppend and DecodeRows
// except ErrFull: the bytes are no encoded block of the column types.
var ErrCorrupt = errors.New("block: corrupt encoding")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// DecodeAppend appends the rows of the encoded block that src starts with to
// b and returns what follows it. Everything is checked: structure, the one
// encoding of each block, and that each value is one of its column's type. On
// error b is as it was; it must not have an unfinished row. src is not kept.
func DecodeAppend(b *Block, src []byte) (rest []byte, err error) {
	rows, rest, err := decodeRows(src)
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return rest, nil
	}
	if len(b.cols) == 0 {
		return nil, corrupt("%d rows without columns", rows)
	}
	before := b.rows
	values := false
	for i := range b.cols {
		c := &b.cols[i]
		flag, nulls := firstByte(rest), c.nulls
		rest, err = c.decodeAppend(rest, rows)
		if err == nil && c.nulls-nulls == rows {
			last := i == len(b.cols)-1
			if bitmap := flag == flagValidity; bitmap != (last && !values) {
				err = corrupt("flag byte %d for nothing but NULLs", flag)
			}
		} else {
			values = true
		}
		if err != nil {
			b.Truncate(before)
			return nil, fmt.Errorf("column %d (%s): %w", i, c.typ, err)
		}
	}
	b.rows += rows
	return rest, nil
}

func firstByte(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// decodeAppend appends rows values and returns the bytes after them. On error
// the column may hold some of them, in a state that truncate can undo.
func (c *Column) decodeAppend(src []byte, rows int) ([]byte, error) {
	if len(src) == 0 {
		return nil, corrupt("no flag byte")
	}
	flag, src := src[0], src[1:]
	switch flag {
	case flagNoNulls:
		if c.width > 0 {
			return c.decodeFixed(src, rows, nil)
		}
		return c.decodeVar(src, rows, nil)
	case flagValidity:
		n := (rows + 7) / 8
		if len(src) < n {
			return nil, corrupt("validity bitmap of %d bytes, %d are left", n, len(src))
		}
		valid, src := src[:n], src[n:]
		if rows&7 != 0 && valid[n-1]>>(rows&7) != 0 {
			return nil, corrupt("validity bits after the last row")
		}
		if countNulls(valid, rows) == 0 {
			return nil, corrupt("validity bitmap without a NULL")
		}
		if c.width > 0 {
			return c.decodeFixed(src, rows, valid)
		}
		return c.decodeVar(src, rows, valid)
	case flagAllNull:
		c.appendNulls(rows)
		return src, nil
	default:
		return nil, corrupt("flag byte %d", flag)
	}
}

func countNulls(valid []byte, rows int) int {
	n := rows
	for _, v := range valid {
		n -= bits.OnesCount8(v)
	}
	return n
}

func (c *Column) decodeFixed(src []byte, rows int, valid []byte) ([]byte, error) {
	// rows is bounded by eight times the input, so this cannot overflow.
	n := rows * c.width
	if len(src) < n {
		return nil, corrupt("%d values of %d bytes, %d are left", rows, c.width, len(src))
	}
	if err := c.checkFixed(src[:n], valid); err != nil {
		return nil, err
	}
	c.data = append(c.data, src[:n]...)
	c.addRows(rows, valid)
	return src[n:], nil
}

func (c *Column) decodeVar(src []byte, rows int, valid []byte) ([]byte, error) {
	start := len(c.data)
	c.offsets = slices.Grow(c.offsets, min(rows, len(src)))
	if rows >= manyRows {
		c.data = slices.Grow(c.data, varBytes(src, rows))
	}
	rest := src
	for i := range rows {
		n, after, ok := uvarint(rest)
		if !ok || n > uint64(len(after)) {
			c.dropTail(start)
			return nil, corrupt("length of value %d", i)
		}
		s := after[:n]
		rest = after[n:]
		err := c.checkVar(s, valid != nil && valid[i>>3]&(1<<(i&7)) == 0)
		if err == nil && len(c.data)+len(s) > math.MaxInt32 {
			err = ErrFull
		}
		if err != nil {
			c.dropTail(start)
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		c.data = append(c.data, s...)
		c.offsets = append(c.offsets, int32(len(c.data)))
	}
	c.addRows(rows, valid)
	return rest, nil
}

// varBytes is the length in all of the values that src starts with.
func varBytes(src []byte, rows int) int {
	total := 0
	for range rows {
		n, after, ok := uvarint(src)
		if !ok || n > uint64(len(after)) {
			break
		}
		total += int(n)
		src = after[n:]
	}
	return total
}

// dropTail undoes a decodeVar that has not counted its rows yet.
func (c *Column) dropTail(start int) {
	c.data = c.data[:start]
	c.offsets = c.offsets[:c.rows+1]
}

// addRows counts values whose data was appended.
func (c *Column) addRows(rows int, valid []byte) {
	if valid != nil && c.nulls == 0 {
		c.startValidity()
	}
	c.appendValid(valid, rows)
	if valid != nil {
		c.nulls += countNulls(valid, rows)
	}
	c.rows += rows
}

// appendNulls appends n NULLs.
func (c *Column) appendNulls(n int) {
	if n == 0 {
		return
	}
	if c.nulls == 0 {
		c.startValidity()
	}
	size := (c.rows + n + 7) / 8
	start := len(c.valid)
	c.valid = slices.Grow(c.valid, size-start)[:size]
	clear(c.valid[start:])
	if c.width > 0 {
		start = len(c.data)
		c.data = slices.Grow(c.data, n*c.width)[:start+n*c.width]
		clear(c.data[start:])
	} else {
		c.offsets = slices.Grow(c.offsets, n)
		for range n {
			c.offsets = append(c.offsets, int32(len(c.data)))
		}
	}
	c.nulls += n
	c.rows += n
}

// checkFixed refuses values that the column's type does not have, and slots
// of NULLs that are not zero.
func (c *Column) checkFixed(data, valid []byte) error {
	w := c.width
	checked := c.typ.Kind == value.Boolean || c.typ.Kind >= value.Decimal
	if !checked && valid == nil {
		return nil
	}
	for i := 0; i*w < len(data); i++ {
		p := data[i*w : (i+1)*w]
		if valid != nil && valid[i>>3]&(1<<(i&7)) == 0 {
			if !allZero(p) {
				return corrupt("slot of NULL %d is not zero", i)
			}
			continue
		}
		if checked && !fixedInRange(c.typ, p) {
			return corrupt("value %d is out of range", i)
		}
	}
	return nil
}

func allZero(p []byte) bool {
	for _, x := range p {
		if x != 0 {
			return false
		}
	}
	return true
}

func fixedInRange(t value.Type, p []byte) bool {
	switch t.Kind {
	case value.Boolean:
		return p[0] <= 1
	case value.Decimal:
		return value.Int128FromBytes(p).FitsDecimal(t.Precision)
	case value.Date:
		v := int32(binary.LittleEndian.Uint32(p))
		return value.MinDate <= v && v <= value.MaxDate
	case value.DateTime:
		v := int64(binary.LittleEndian.Uint64(p))
		return value.MinDateTime <= v && v <= value.MaxDateTime
	default:
		return true
	}
}

// checkVar refuses strings that are not UTF-8 or too long for CHAR and
// VARCHAR. The contents of JSON are not parsed again.
func (c *Column) checkVar(s []byte, null bool) error {
	switch {
	case null && len(s) > 0:
		return corrupt("bytes in the slot of a NULL")
	case c.typ.Length > 0 && len(s) > int(c.typ.Length):
		return corrupt("%d bytes", len(s))
	case !utf8.Valid(s):
		return corrupt("invalid UTF-8")
	}
	return nil
}
