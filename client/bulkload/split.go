package bulkload

import "bytes"

// splitter finds where rows end in a stream whose bytes come piece by piece.
// The rules are those of load/csv, which reads what is sent.
type splitter interface {
	// next looks at w, the stream's next bytes, and takes n of them. ended says
	// that a row ends just after them, at the first end that takes at least least
	// bytes. Without it more bytes are wanted: what is left of w is less than the
	// look-ahead, and nothing if eof says that w is all there is.
	next(w []byte, least int64, eof bool) (n int, ended bool)
}

func (f *form) splitter() splitter {
	var s splitter = &lines{eol: f.delimiter}
	if f.enclose != 0 {
		s = &records{form: f, bom: f.heads == 0}
	}
	if f.heads > 0 {
		return &heads{lines: lines{eol: f.delimiter}, left: f.heads, rows: s}
	}
	return s
}

// lines are rows that end at a delimiter, wherever it is.
type lines struct{ eol []byte }

func (l *lines) next(w []byte, least int64, eof bool) (n int, ended bool) {
	if len(l.eol) == 1 {
		from := int(max(0, min(least-1, int64(len(w)))))
		if i := bytes.IndexByte(w[from:], l.eol[0]); i >= 0 {
			return from + i + 1, true
		}
		return len(w), false
	}
	// Delimiters of several bytes match from left to right without overlap.
	for {
		i := bytes.Index(w[n:], l.eol)
		if i < 0 {
			if eof {
				return len(w), false
			}
			return max(n, len(w)-len(l.eol)+1), false
		}
		if n += i + len(l.eol); int64(n) >= least {
			return n, true
		}
	}
}

// heads are a file's first lines, which are no rows, and the rows after them.
type heads struct {
	lines
	left int
	rows splitter
}

func (h *heads) next(w []byte, least int64, eof bool) (n int, ended bool) {
	for h.left > 0 {
		m, ended := h.lines.next(w[n:], 1, eof)
		n += m
		if !ended {
			return n, false
		}
		h.left--
	}
	m, ended := h.rows.next(w[n:], max(1, least-int64(n)), eof)
	return n + m, ended
}

// records are rows with fields that may be enclosed: ends inside those are data.
type records struct {
	*form
	// inside says that the bytes before were of an enclosed field, open that they
	// were of another. Neither is the start of a field.
	inside, open bool
	// bom says that a byte order mark may come first.
	bom bool
}

var mark = []byte{0xEF, 0xBB, 0xBF}

func (r *records) next(w []byte, least int64, eof bool) (n int, ended bool) {
	if r.bom {
		if len(w) < len(mark) && !eof && bytes.HasPrefix(mark, w) {
			return 0, false
		}
		r.bom = false
		if bytes.HasPrefix(w, mark) {
			n = len(mark)
		}
	}
	eol := -1 // the first line end at or after n, len(w) without one, if it was looked for
	for n < len(w) {
		if !r.inside && !r.open && w[n] == r.enclose {
			r.inside = true
			n++
			continue
		}
		var m int
		var row, ok bool
		if r.inside {
			m, row, ok = r.enclosed(w[n:], eof)
		} else {
			if eol < n {
				if eol = bytes.Index(w[n:], r.delimiter); eol >= 0 {
					eol += n
				} else {
					eol = len(w)
				}
			}
			m, row, ok = r.plain(w[n:], eol-n, eof)
		}
		n += m
		if !ok {
			return n, false
		}
		if row && int64(n) >= least {
			return n, true
		}
	}
	return n, false
}

// plain goes through a field that is not enclosed, past its end. The line ends at
// eol, len(w) if its end has not come yet. ok is false if the field's end has not;
// what it took is the field's all the same.
func (r *records) plain(w []byte, eol int, eof bool) (n int, row, ok bool) {
	sep := bytes.Index(w[:eol], r.separator)
	ahead := len(w) - r.ahead()
	switch {
	case sep >= 0 && (eof || eol < len(w) || sep <= ahead):
		// A line end goes before a separator that it starts with.
		if what, size, sure := r.endAt(w[sep:], eof); sure && what != noEnd {
			r.open = false
			return sep + size, what == rowEnd, true
		}
		r.open = true
		return sep, false, false
	case sep < 0 && eol < len(w):
		r.open = false
		return eol + len(r.delimiter), true, true
	case eof:
		r.open = true
		return len(w), false, true
	}
	r.open = true
	return max(0, ahead), false, false
}

// ahead is how many bytes tell whether a field ends.
func (r *records) ahead() int { return max(len(r.separator), len(r.delimiter), 2) + 1 }

// enclosed goes through an enclosed field behind its opening byte, past its end.
func (r *records) enclosed(w []byte, eof bool) (n int, row, ok bool) {
	for {
		i := bytes.IndexByte(w[n:], r.enclose)
		if r.escape != 0 && r.escape != r.enclose {
			upto := w[n:]
			if i >= 0 {
				upto = w[n : n+i]
			}
			if k := bytes.IndexByte(upto, r.escape); k >= 0 {
				i = k
			}
		}
		if i < 0 {
			return len(w), false, eof
		}
		n += i
		if !eof && len(w)-n <= r.ahead() {
			return n, false, false
		}
		var after byte
		has := n+1 < len(w)
		if has {
			after = w[n+1]
		}
		switch {
		case w[n] != r.enclose: // the escape byte
			n++
			if has && (after == r.enclose || after == r.escape) {
				n++
			}
		case has && after == r.enclose:
			n += 2
		default:
			what, size, _ := r.endAt(w[n+1:], eof)
			n++
			if what == noEnd {
				continue
			}
			r.inside = false
			return n + size, what == rowEnd, true
		}
	}
}

type fieldEnd uint8

const (
	noEnd fieldEnd = iota
	colEnd
	rowEnd
)

// endAt tells what is at the start of b. sure is false if more bytes tell.
func (r *records) endAt(b []byte, eof bool) (what fieldEnd, size int, sure bool) {
	if len(b) == 0 {
		return rowEnd, 0, eof
	}
	crlf := len(r.delimiter) == 1 && r.delimiter[0] == '\n' && bytes.HasPrefix(b, []byte("\r\n"))
	switch {
	case bytes.HasPrefix(b, r.delimiter):
		return rowEnd, len(r.delimiter), true
	case crlf:
		return rowEnd, 2, true
	case !eof && len(b) < r.ahead():
		return noEnd, 0, false
	case bytes.HasPrefix(b, r.separator):
		return colEnd, len(r.separator), true
	}
	return noEnd, 0, true
}
