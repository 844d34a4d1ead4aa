package csv

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"dorisgo/block"
	"dorisgo/load"
)

// scannable reports whether scan reads the form: separator, delimiter and
// enclose byte are different single bytes of ASCII, so that no character of the
// text holds one.
func scannable(o *Options) bool {
	if len(o.Separator) != 1 || len(o.Delimiter) != 1 {
		return false
	}
	sep, eol := o.Separator[0], o.Delimiter[0]
	return sep < 0x80 && eol < 0x80 && o.Enclose < 0x80 && sep != eol && sep != '\r' && o.Enclose != sep && o.Enclose != eol
}

const (
	ones  = 0x0101010101010101
	lows  = 0x7f7f7f7f7f7f7f7f
	highs = 0x8080808080808080
)

// mask8 moves the high bits of x's bytes to one byte.
func mask8(x uint64) uint64 { return x >> 7 * 0x0102040810204080 >> 56 }

// scanner cuts rows into fields.
type scanner struct {
	d     *Decoder
	w     []byte
	batch *load.Batch
	row   []block.Cell
	rows  int
	// used is where the row under way starts, field where its field does, found
	// the number of fields before that.
	used, field, found int
}

// scan cuts the rows at the start of the window into fields, until the batch is
// full or a row comes that is not whole, has another number of fields than
// wanted or needs more than a look: those are next's. It returns how many rows
// it added and the bytes they and blank lines take.
func (d *Decoder) scan(batch *load.Batch, w []byte) (rows, used int) {
	batch.Offset(w)
	s := scanner{d: d, w: w, batch: batch, row: batch.Row()}
	i := 0
	for i+64 <= len(w) {
		if i = s.chunk(i, d.marks(w[i:i+64]), 64); i < 0 {
			break
		}
	}
	for i >= 0 && i < len(w) {
		var tail [64]byte
		n := copy(tail[:], w[i:])
		i = s.chunk(i, d.marks(tail[:])&(1<<(uint(n)&63)-1), n)
	}
	batch.Drop()
	return s.rows, s.used
}

// marks are the bytes of a chunk that mean something, one bit for each of 64.
func (d *Decoder) marks(w []byte) uint64 {
	seps, eols, encloses := ones*uint64(d.sep[0]), ones*uint64(d.eol[0]), ones*uint64(d.o.Enclose)
	w = w[:64]
	var marks uint64
	for i := 0; i < 64; i += 8 {
		x := binary.LittleEndian.Uint64(w[i : i+8])
		a, b := x^seps, x^eols
		plain := (a&lows + lows | a) & (b&lows + lows | b) // high bits are clear in bytes that match
		if encloses != 0 {
			c := x ^ encloses
			plain &= c&lows + lows | c
		}
		marks |= mask8(^plain&highs) << (uint(i) & 63)
	}
	return marks
}

// chunk goes through the marks of the size bytes at i. It returns where to go on,
// -1 for nowhere.
func (s *scanner) chunk(i int, marks uint64, size int) int {
	w, row, field, found := s.w, s.row, s.field, s.found
	sep, eol, odd := s.d.sep[0], s.d.eol[0], s.d.odd
	for ; marks != 0; marks &= marks - 1 {
		p := i + bits.TrailingZeros64(marks)
		switch c := w[p]; {
		case c == sep:
			if found >= len(row) {
				return -1
			}
			if p-field == 2 || odd {
				row[found] = s.d.cell(w, field, p)
			} else {
				row[found] = block.Cell{Start: int32(field), End: int32(p)}
			}
			found++
			field = p + 1
		case c == eol:
			if s.field, s.found = field, found; !s.endRow(p) {
				return -1
			}
			row, field, found = s.row, s.field, s.found
		case p == field:
			s.field, s.found = field, found
			return s.enclosed(p)
		}
	}
	s.field, s.found = field, found
	return i + size
}

// endRow completes the row whose line end is at p, or skips a blank line; false
// ends the scan.
func (s *scanner) endRow(p int) bool {
	end := p
	if s.d.crlf && end > s.field && s.w[end-1] == '\r' {
		end--
	}
	switch {
	case s.found == 0 && end == s.field:
		s.used, s.field = p+1, p+1
		return true
	case s.found+1 != len(s.row):
		return false
	}
	s.row[s.found] = s.d.cell(s.w, s.field, end)
	return s.complete(end, p+1)
}

// complete ends the row whose text ends at end, and starts another at next;
// false ends the scan.
func (s *scanner) complete(end, next int) bool {
	full := s.batch.End(s.used, end)
	s.rows++
	s.used, s.field, s.found = next, next, 0
	s.row = s.batch.Row()
	return !full
}

// cell is a field that is not enclosed.
func (d *Decoder) cell(w []byte, start, end int) block.Cell {
	c := block.Cell{Start: int32(start), End: int32(end)}
	if end-start == 2 && w[start] == '\\' && w[start+1] == 'N' {
		c.Start = block.NullCell
		return c
	}
	if d.o.TrimDoubleQuotes && end-start >= 2 && w[start] == '"' && w[end-1] == '"' {
		c.Start++
		c.End--
	}
	if c.Start == c.End && d.o.EmptyFieldAsNull {
		c.Start = block.NullCell
	}
	return c
}

// enclosed reads the field whose opening byte is at p, with what follows it, if
// every byte of it is data. It returns where to go on, -1 for nowhere.
func (s *scanner) enclosed(p int) int {
	w, o := s.w, &s.d.o
	n := bytes.IndexByte(w[p+1:], o.Enclose)
	end := p + 1 + n
	if n < 0 || end+1 >= len(w) || s.found >= len(s.row) || o.Escape != 0 && bytes.IndexByte(w[p+1:end], o.Escape) >= 0 {
		return -1
	}
	s.row[s.found] = block.Cell{Start: int32(p + 1), End: int32(end)}
	next := end + 1
	if w[next] == s.d.sep[0] {
		s.found++
		s.field = next + 1
		return next + 1
	}
	if s.d.crlf && w[next] == '\r' && next+1 < len(w) {
		next++
	}
	if w[next] != s.d.eol[0] || s.found+1 != len(s.row) || !s.complete(end+1, next+1) {
		return -1
	}
	return next + 1
}
