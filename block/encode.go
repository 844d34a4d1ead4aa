package block

import (
	"encoding/binary"
	"slices"
)

// The flag byte of an encoded column (docs/format/block.md).
const (
	flagNoNulls  = 0
	flagValidity = 1
	flagAllNull  = 2
)

// rowsPerByte bounds the rows of an encoded block by its length: each row
// takes at least one bit. It keeps a damaged row count from asking for memory
// out of proportion.
const rowsPerByte = 8

// manyRows is from how many rows on memory is asked for at once.
const manyRows = 64

// AppendEncoded appends the block's rows in the format of
// docs/format/block.md. Types are not part of it: the reader knows them. One
// block has one encoding.
func AppendEncoded(dst []byte, b *Block) []byte {
	rows := b.rows
	if len(b.cols) == 0 {
		rows = 0
	}
	dst = binary.AppendUvarint(dst, uint64(rows))
	if rows == 0 {
		return dst
	}
	if rows >= manyRows {
		// An offset takes no fewer bytes than the length that is written for it.
		dst = slices.Grow(dst, b.Bytes()+2*len(b.cols))
	}
	spread := b.hasValues()
	for i := range b.cols {
		// A block of nothing but NULLs writes one bitmap all the same, so
		// that every row takes a bit.
		dst = b.cols[i].appendEncoded(dst, spread || i < len(b.cols)-1)
	}
	return dst
}

// hasValues reports whether any value is not NULL.
func (b *Block) hasValues() bool {
	for i := range b.cols {
		if b.cols[i].nulls < b.cols[i].rows {
			return true
		}
	}
	return false
}

func (c *Column) appendEncoded(dst []byte, allNull bool) []byte {
	switch {
	case c.nulls == 0:
		dst = append(dst, flagNoNulls)
	case c.nulls == c.rows && allNull:
		return append(dst, flagAllNull)
	default:
		dst = append(dst, flagValidity)
		dst = append(dst, c.valid...)
	}
	if c.width > 0 {
		return append(dst, c.data...)
	}
	for i := range c.rows {
		s := c.data[c.offsets[i]:c.offsets[i+1]]
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}

// DecodeRows is the row count of an encoded block, without a look at the rest.
func DecodeRows(src []byte) (int, error) {
	rows, _, err := decodeRows(src)
	return rows, err
}

func decodeRows(src []byte) (rows int, rest []byte, err error) {
	n, rest, ok := uvarint(src)
	if !ok {
		return 0, nil, corrupt("row count")
	}
	if n > uint64(len(rest))*rowsPerByte {
		return 0, nil, corrupt("row count %d is more than %d bytes can hold", n, len(rest))
	}
	return int(n), rest, nil
}

// uvarint reads a number in its shortest form.
func uvarint(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), b[1:], true
	}
	v, n := binary.Uvarint(b)
	if n <= 0 || b[n-1] == 0 {
		return 0, nil, false
	}
	return v, b[n:], true
}
