package mysql

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"dorisgo/block"
	"dorisgo/value"
)

// appendTextRow appends a row of the text protocol: each value as its text
// with the length before it, 0xfb for NULL.
func appendTextRow(b []byte, blk *block.Block, row int) []byte {
	for i := range blk.NumCols() {
		col := blk.Col(i)
		switch t := col.Type(); {
		case col.IsNull(row):
			b = append(b, 0xfb)
		case t.IsVar():
			b = appendLenString(b, col.Raw(row))
		default:
			b = appendShortText(b, t, col.Raw(row))
		}
	}
	return b
}

// appendShortText appends a value whose text is shorter than 251 bytes, as
// that of every type of fixed width is: its length takes one byte.
func appendShortText(b []byte, t value.Type, raw []byte) []byte {
	at := len(b)
	b = value.AppendText(append(b, 0), t, raw)
	b[at] = byte(len(b) - at - 1)
	return b
}

// nullBits appends the header of a binary row and its cleared NULL bitmap,
// whose first two bits are reserved. It returns where the bitmap starts.
func nullBits(b []byte, cols int) (out []byte, at int) {
	b = append(b, 0x00)
	at = len(b)
	for range (cols + 9) / 8 {
		b = append(b, 0)
	}
	return b, at
}

func setNull(b []byte, at, i int) { b[at+(i+2)>>3] |= 1 << ((i + 2) & 7) }

// appendBinaryRow appends a row of the binary protocol.
func appendBinaryRow(b []byte, blk *block.Block, row int) []byte {
	b, at := nullBits(b, blk.NumCols())
	for i := range blk.NumCols() {
		col := blk.Col(i)
		if col.IsNull(row) {
			setNull(b, at, i)
			continue
		}
		raw := col.Raw(row)
		switch t := col.Type(); t.Kind {
		case value.Boolean, value.TinyInt, value.SmallInt, value.Int, value.BigInt, value.Float, value.Double:
			// The vectors have the protocol's own form: little-endian, same width.
			b = append(b, raw...)
		case value.Date:
			b = appendBinaryDate(b, int32(binary.LittleEndian.Uint32(raw)))
		case value.DateTime:
			b = appendBinaryDateTime(b, int64(binary.LittleEndian.Uint64(raw)))
		case value.LargeInt, value.Decimal:
			b = appendShortText(b, t, raw)
		default:
			b = appendLenString(b, raw)
		}
	}
	return b
}

func appendBinaryDate(b []byte, days int32) []byte {
	y, m, d := value.CivilFromDays(days)
	return append(b, 4, byte(y), byte(y>>8), byte(m), byte(d))
}

// appendBinaryDateTime appends the shortest form: without time at midnight,
// without fraction on a whole second.
func appendBinaryDateTime(b []byte, micros int64) []byte {
	const day = 24 * 60 * 60 * 1e6
	days, rest := micros/day, micros%day
	if rest < 0 {
		days, rest = days-1, rest+day
	}
	at := len(b)
	b = appendBinaryDate(b, int32(days))
	if rest == 0 {
		return b
	}
	s, us := int(rest/1e6), uint32(rest%1e6)
	b = append(b, byte(s/3600), byte(s/60%60), byte(s%60))
	b[at] = 7
	if us > 0 {
		b[at] = 11
		b = binary.LittleEndian.AppendUint32(b, us)
	}
	return b
}

// appendBinaryCells is a binary row from texts. A text that is not of its
// column's type is an error of the caller.
func appendBinaryCells(b []byte, cols []Column, cells []Cell) ([]byte, error) {
	b, at := nullBits(b, len(cols))
	for i, c := range cells {
		if c.Null {
			setNull(b, at, i)
			continue
		}
		var err error
		if b, err = appendBinaryText(b, cols[i].Type, c.Text); err != nil {
			return nil, fmt.Errorf("value %q of column %q: %w", c.Text, cols[i].Name, err)
		}
	}
	return b, nil
}

func appendBinaryText(b []byte, t value.Type, s string) ([]byte, error) {
	switch t.Kind {
	case value.Boolean, value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		n, err := strconv.ParseInt(s, 10, 8*t.Width())
		for i := range t.Width() {
			b = append(b, byte(n>>(8*i)))
		}
		return b, err
	case value.Float:
		f, err := strconv.ParseFloat(s, 32)
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f))), err
	case value.Double:
		f, err := strconv.ParseFloat(s, 64)
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(f)), err
	case value.Date:
		days, err := value.ParseDate([]byte(s))
		return appendBinaryDate(b, days), err
	case value.DateTime:
		micros, err := value.ParseDateTime([]byte(s), t.Scale, nil)
		return appendBinaryDateTime(b, micros), err
	}
	return appendLenString(b, s), nil
}
