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
		return rr.whole(row, base, i+1)
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
		start := i
		var escaped bool
		if i, escaped = s.value(i, 1); i < 0 || field >= 0 && !rr.set(batch, row, w, base, value{w[start:i], escaped}, field) {
			break
		}
		if i = skipBlanks(w, i); i >= len(w) {
			break
		}
		if w[i] == '}' {
			return rr.whole(row, base, i+1)
		}
		if w[i] != ',' {
			break
		}
		i = skipBlanks(w, i+1)
	}
	batch.Drop()
	return -1
}

// set fills in what the value of a key means for the row; false if the value
// has half of a surrogate pair. base is where w lies in the batch's text.
func (rr *rowReader) set(batch *load.Batch, row []block.Cell, w []byte, base int, v value, field int) (ok bool) {
	if rr.paths == nil {
		row[field], ok = rr.cell(batch, base+cap(w)-cap(v.raw), v, field)
		return ok
	}
	for _, p := range rr.byKey[field] {
		row[p.field].Start = block.MissingCell
		if found, ok := p.rest.find(v); ok {
			if row[p.field], ok = rr.cell(batch, base+cap(w)-cap(found.raw), found, p.field); !ok {
				return false
			}
		}
	}
	return true
}

// cell is a value at an offset of the batch's text as the cell of a field.
func (rr *rowReader) cell(batch *load.Batch, at int, v value, field int) (c block.Cell, ok bool) {
	switch first := v.raw[0]; first {
	case '"':
		if v.escaped {
			return batch.Text(func(dst []byte) ([]byte, bool) { return unescape(dst, v.raw) })
		}
		return block.Cell{Start: int32(at + 1), End: int32(at + len(v.raw) - 1)}, true
	case 'n':
		return block.Cell{Start: block.NullCell}, true
	case 't', 'f':
		if !rr.asWritten[field] {
			digit := one
			if first == 'f' {
				digit = zero
			}
			return batch.Text(func(dst []byte) ([]byte, bool) { return append(dst, digit...), true })
		}
	}
	return block.Cell{Start: int32(at), End: int32(at + len(v.raw))}, true
}

// whole fills in the fields that are the object itself, which ends at end.
func (rr *rowReader) whole(row []block.Cell, base, end int) int {
	for _, f := range rr.wholes {
		row[f] = block.Cell{Start: int32(base), End: int32(base + end)}
	}
	return end
}

func hasPrefix(b, prefix []byte) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == string(prefix)
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
