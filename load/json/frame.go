package json

// frame measures the first value of a window whose bytes come piece by piece,
// without checking it: brackets are counted and strings are respected.
type frame struct {
	pos    int
	depth  int
	inStr  bool
	escape bool
}

// end is behind the value at the start of w, or -1 if more bytes are needed. It
// goes on where the last call with the same window's start left off.
func (f *frame) end(w []byte, eof bool) int {
	if len(w) == 0 {
		return -1
	}
	if c := w[0]; c != '{' && c != '[' && c != '"' {
		return f.scalar(w, eof)
	}
	for i := f.pos; i < len(w); i++ {
		c := w[i]
		if f.inStr {
			switch {
			case f.escape:
				f.escape = false
			case c == '\\':
				f.escape = true
			case c == '"':
				f.inStr = false
				if f.depth == 0 {
					return i + 1
				}
			}
			continue
		}
		switch c {
		case '"':
			f.inStr = true
		case '{', '[':
			f.depth++
		case '}', ']':
			if f.depth--; f.depth == 0 {
				return i + 1
			}
		}
	}
	f.pos = len(w)
	return -1
}

// scalar ends at a blank or at a byte that starts or ends something else.
func (f *frame) scalar(w []byte, eof bool) int {
	for i := max(1, f.pos); i < len(w); i++ {
		switch w[i] {
		case ' ', '\t', '\n', '\r', ',', ']', '}', '[', '{', '"', ':':
			return i
		}
	}
	if f.pos = len(w); eof {
		return len(w)
	}
	return -1
}
