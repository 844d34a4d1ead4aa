package csv

import "bytes"

// record cuts and splits the row at the start of the window, whose fields may
// be enclosed. ok is false if the row's end is not there yet; then nothing is
// kept, and the row is split anew when more bytes have come. found is negative
// if the body ends inside an enclosed field.
func (d *Decoder) record(w []byte) (line []byte, n int, ok bool) {
	d.fields, d.found, d.scratch = d.fields[:0], 0, d.scratch[:0]
	if len(w) == 0 {
		return nil, 0, false
	}
	p, eol := 0, -1 // eol is the first line end at or after p, if it was looked for
	for {
		var f []byte
		var end int
		if p < len(w) && w[p] == d.o.Enclose {
			f, end, ok = d.enclosed(w, p)
			if end < 0 {
				d.found = -1
				return w, len(w), true
			}
		} else {
			if eol < p {
				if eol = d.find(w[p:]); eol >= 0 {
					eol += p
				} else {
					eol = len(w)
				}
			}
			f, end, ok = d.open(w, p, eol)
		}
		if !ok {
			return nil, 0, false
		}
		if d.found++; d.found <= d.want {
			d.fields = append(d.fields, f)
		}
		what, size := d.endAt(w[end:])
		switch what {
		case fieldEnds:
			p = end + size
		case rowEnds:
			return w[:end], end + size, true
		default: // open and enclosed end nowhere else
			return nil, 0, false
		}
	}
}

// open reads a field that is not enclosed, from p to end: a separator, a line
// end, or the end of the body. eol is where the line ends, len(w) if that is
// not in the window.
func (d *Decoder) open(w []byte, p, eol int) (f []byte, end int, ok bool) {
	var i int
	if len(d.sep) == 1 {
		i = bytes.IndexByte(w[p:eol], d.sep[0])
	} else {
		i = bytes.Index(w[p:eol], d.sep)
	}
	switch more := eol == len(w) && !d.in.EOF(); {
	case i >= 0 && more && p+i > len(w)-len(d.eol):
		return nil, 0, false // a line end that contains the separator may be under way
	case i >= 0:
		return d.plain(w[p : p+i]), p + i, true
	case more:
		return nil, 0, false
	case eol == len(w):
		return d.plain(w[p:]), eol, true
	}
	f = d.trimCR(w[p:eol])
	return d.plain(f), p + len(f), true
}

// enclosed reads the field whose opening byte is at p. End is -1 if the body
// ends inside it.
func (d *Decoder) enclosed(w []byte, p int) (f []byte, end int, ok bool) {
	enclose, escape := d.o.Enclose, d.o.Escape
	start := p + 1  // of the bytes not yet copied
	var copied bool // the value is in scratch, since bytes were dropped
	from := len(d.scratch)
	for i := start; ; {
		i = d.special(w, i)
		if i+1 >= len(w) && !d.in.EOF() {
			return nil, 0, false
		}
		if i >= len(w) {
			return nil, -1, true
		}
		next, has := byte(0), i+1 < len(w)
		if has {
			next = w[i+1]
		}
		switch {
		case has && escape != 0 && w[i] == escape && escape != enclose && (next == enclose || next == escape),
			has && w[i] == enclose && next == enclose:
			d.scratch = append(d.scratch, w[start:i]...)
			copied = true
			start = i + 1 // the second byte is the value's
			i += 2
		case w[i] == enclose:
			what, _ := d.endAt(w[i+1:])
			if what == undecided {
				return nil, 0, false
			}
			if what == noEnd {
				i++ // data
				continue
			}
			if !copied {
				return w[start:i], i + 1, true
			}
			d.scratch = append(d.scratch, w[start:i]...)
			return d.scratch[from:len(d.scratch):len(d.scratch)], i + 1, true
		default:
			i++
		}
	}
}

// special is the next enclose or escape byte from i on, or len(w).
func (d *Decoder) special(w []byte, i int) int {
	if i >= len(w) {
		return len(w)
	}
	j := bytes.IndexByte(w[i:], d.o.Enclose)
	if j < 0 {
		j = len(w) - i
	}
	if d.o.Escape != 0 {
		if k := bytes.IndexByte(w[i:i+j], d.o.Escape); k >= 0 {
			j = k
		}
	}
	return i + j
}

// ending is what follows a field.
type ending uint8

const (
	undecided ending = iota // more bytes tell
	noEnd
	fieldEnds
	rowEnds
)

// endAt tells what is at the start of b, and its size. A line end goes before a
// separator that it starts with.
func (d *Decoder) endAt(b []byte) (ending, int) {
	eof := d.in.EOF()
	switch {
	case len(b) == 0:
		if eof {
			return rowEnds, 0
		}
		return undecided, 0
	case bytes.HasPrefix(b, d.eol):
		return rowEnds, len(d.eol)
	case d.crlf && bytes.HasPrefix(b, crlf):
		return rowEnds, len(crlf)
	case !eof && (bytes.HasPrefix(d.eol, b) || d.crlf && bytes.HasPrefix(crlf, b)):
		return undecided, 0
	case bytes.HasPrefix(b, d.sep):
		return fieldEnds, len(d.sep)
	case !eof && bytes.HasPrefix(d.sep, b):
		return undecided, 0
	}
	return noEnd, 0
}

var crlf = []byte("\r\n")
