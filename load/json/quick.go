package json

import (
	"encoding/binary"
	"math/bits"

	"dorisgo/block"
	"dorisgo/load"
)

// quick reads the object at the start of w into a row of the batch and returns
// its end. Whatever is not valid, not whole or has half of a surrogate pair
// leaves no row and is -1: that is for the careful readers to tell.
func (rr *rowReader) quick(batch *load.Batch, w []byte) int {
	base := batch.Offset(w)
	row := batch.Row()
	copy(row, rr.blank)
	s := scanner{w}
	i := skipBlanks(w, 1)
	if i < len(w) && w[i] == '}' {
		return i + 1
	}
	for n := 0; ; n++ {
		var field int
		if n < len(rr.order) && hasPrefix(w[min(i, len(w)):], rr.order[n].key) {
			field = rr.order[n].field
			i += len(rr.order[n].key)
		} else if field, i = rr.key(s, n, i); i < 0 {
			break
		}
		if i = skipBlanks(w, i); i >= len(w) {
			break
		}
		var cell block.Cell
		if cell, i = rr.cell(batch, s, base, i, field); i < 0 {
			break
		}
		if field >= 0 {
			row[field] = cell
		}
		if i = skipBlanks(w, i); i >= len(w) {
			break
		}
		if w[i] == '}' {
			return i + 1
		}
		if w[i] != ',' {
			break
		}
		i = skipBlanks(w, i+1)
	}
	batch.Drop()
	return -1
}

// cell is the value at i, which goes to a field, -1 for none; its end is -1 if
// it is not valid or not whole.
func (rr *rowReader) cell(batch *load.Batch, s scanner, base, i, field int) (c block.Cell, end int) {
	first := s.b[i]
	end, escaped := s.value(i, 1)
	if end < 0 || field < 0 {
		return c, end
	}
	var ok bool
	switch first {
	case '"':
		if escaped {
			if c, ok = batch.Text(func(dst []byte) ([]byte, bool) { return unescape(dst, s.b[i:end]) }); !ok {
				return c, -1
			}
			return c, end
		}
		return block.Cell{Start: int32(base + i + 1), End: int32(base + end - 1)}, end
	case 'n':
		return block.Cell{Start: block.NullCell}, end
	case 't', 'f':
		if !rr.asWritten[field] {
			digit := one
			if first == 'f' {
				digit = zero
			}
			c, _ = batch.Text(func(dst []byte) ([]byte, bool) { return append(dst, digit...), true })
			return c, end
		}
	}
	return block.Cell{Start: int32(base + i), End: int32(base + end)}, end
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// key reads the n-th key of an object and the colon behind it.
func (rr *rowReader) key(s scanner, n, i int) (field, end int) {
	if i >= len(s.b) || s.b[i] != '"' {
		return -1, -1
	}
	end, escaped := s.str(i)
	if end < 0 {
		return -1, -1
	}
	field = rr.lookup(n, value{s.b[i:end], escaped})
	if end = skipBlanks(s.b, end); end >= len(s.b) || s.b[end] != ':' {
		return -1, -1
	}
	return field, end + 1
}

const (
	ones    = 0x0101010101010101
	highs   = 0x8080808080808080
	blanks  = ones * ' '
	quotes  = ones * '"'
	slashes = ones * '\\'
)

// plainEnd is the first byte at or after i that ends the plain part of a string:
// a quote, a backslash or a control byte; len(b) if there is none.
func plainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		q, s := x^quotes, x^slashes
		// A subtraction that borrows marks bytes above the first hit wrongly, never
		// below it.
		if m := ((x-blanks)&^x | (q-ones)&^q | (s-ones)&^s) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for i < len(b) && !special[b[i]] {
		i++
	}
	return i
}
