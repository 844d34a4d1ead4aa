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
		field := -1
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
		start := i
		switch c := w[i]; {
		case c == '"':
			var escaped, ok bool
			if i, escaped = s.str(i); i < 0 {
				batch.Drop()
				return -1
			}
			cell = block.Cell{Start: int32(base + start + 1), End: int32(base + i - 1)}
			if escaped && field >= 0 {
				if cell, ok = batch.Text(func(dst []byte) ([]byte, bool) { return unescape(dst, w[start:i]) }); !ok {
					batch.Drop()
					return -1
				}
			}
		case c == 't' || c == 'f':
			if i, _ = s.value(i, 1); i >= 0 && field >= 0 && !rr.asWritten[field] {
				digit := one
				if c == 'f' {
					digit = zero
				}
				cell, _ = batch.Text(func(dst []byte) ([]byte, bool) { return append(dst, digit...), true })
			} else {
				cell = block.Cell{Start: int32(base + start), End: int32(base + i)}
			}
		default:
			i, _ = s.value(i, 1)
			cell = block.Cell{Start: int32(base + start), End: int32(base + i)}
			if c == 'n' {
				cell.Start = block.NullCell
			}
		}
		if i < 0 {
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
