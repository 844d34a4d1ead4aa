package json

import "unicode/utf8"

// maxDepth is how deep values may be nested.
const maxDepth = 256

// value is a JSON value in the source: its bytes, and what it is by their first.
type value struct {
	raw []byte
	// escaped strings have backslashes.
	escaped bool
}

func (v value) kind() byte {
	if len(v.raw) == 0 {
		return 0
	}
	return v.raw[0]
}

// scanner checks and measures values. It never allocates.
type scanner struct {
	b []byte
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipBlanks(b []byte, i int) int {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	return i
}

// value measures the value at i. It returns its end, and -1 if it is no JSON.
func (s scanner) value(i, depth int) (end int, escaped bool) {
	if i >= len(s.b) || depth > maxDepth {
		return -1, false
	}
	switch c := s.b[i]; {
	case c == '"':
		return s.str(i)
	case c == '{':
		return s.object(i, depth), false
	case c == '[':
		return s.array(i, depth), false
	case c == 't':
		return s.word(i, "true"), false
	case c == 'f':
		return s.word(i, "false"), false
	case c == 'n':
		return s.word(i, "null"), false
	case c == '-' || '0' <= c && c <= '9':
		return s.number(i), false
	}
	return -1, false
}

func (s scanner) word(i int, w string) int {
	if len(s.b)-i < len(w) || string(s.b[i:i+len(w)]) != w {
		return -1
	}
	return i + len(w)
}

// special marks the bytes that end the plain part of a string.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// str measures the string at i. Escapes are checked here; what they stand for
// is unescape's matter.
func (s scanner) str(i int) (end int, escaped bool) {
	b := s.b
	for i++; ; {
		i = plainEnd(b, i)
		if i+1 >= len(b) {
			if i < len(b) && b[i] == '"' {
				return i + 1, escaped
			}
			return -1, false
		}
		switch b[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			switch b[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if hex4(b, i+2) < 0 {
					return -1, false
				}
				i += 6
			default:
				return -1, false
			}
		default:
			return -1, false
		}
	}
}

func hex4(b []byte, i int) rune {
	if len(b)-i < 4 {
		return -1
	}
	var r rune
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func digits(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

func (s scanner) number(i int) int {
	b := s.b
	if b[i] == '-' {
		i++
	}
	end := digits(b, i)
	if end == i || b[i] == '0' && end > i+1 {
		return -1
	}
	if end < len(b) && b[end] == '.' {
		i = end + 1
		if end = digits(b, i); end == i {
			return -1
		}
	}
	if end < len(b) && b[end]|0x20 == 'e' {
		i = end + 1
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if end = digits(b, i); end == i {
			return -1
		}
	}
	return end
}

// member measures the object member at i: the key, and its value. Blanks round
// both are skipped; end is behind the value.
func (s scanner) member(i, depth int) (key, val value, end int) {
	if i >= len(s.b) || s.b[i] != '"' {
		return key, val, -1
	}
	end, esc := s.str(i)
	if end < 0 {
		return key, val, -1
	}
	key = value{s.b[i:end], esc}
	i = skipBlanks(s.b, end)
	if i >= len(s.b) || s.b[i] != ':' {
		return key, val, -1
	}
	i = skipBlanks(s.b, i+1)
	if end, esc = s.value(i, depth); end < 0 {
		return key, val, -1
	}
	return key, value{s.b[i:end], esc}, end
}

func (s scanner) object(i, depth int) int {
	for first, end := skipBlanks(s.b, i+1), 0; ; first = skipBlanks(s.b, end+1) {
		if end == 0 && first < len(s.b) && s.b[first] == '}' {
			return first + 1
		}
		if _, _, end = s.member(first, depth+1); end < 0 {
			return -1
		}
		end = skipBlanks(s.b, end)
		switch {
		case end >= len(s.b):
			return -1
		case s.b[end] == '}':
			return end + 1
		case s.b[end] != ',':
			return -1
		}
	}
}

func (s scanner) array(i, depth int) int {
	for first, end := skipBlanks(s.b, i+1), 0; ; first = skipBlanks(s.b, end+1) {
		if end == 0 && first < len(s.b) && s.b[first] == ']' {
			return first + 1
		}
		if end, _ = s.value(first, depth+1); end < 0 {
			return -1
		}
		end = skipBlanks(s.b, end)
		switch {
		case end >= len(s.b):
			return -1
		case s.b[end] == ']':
			return end + 1
		case s.b[end] != ',':
			return -1
		}
	}
}

// unescape appends the text of a string's raw bytes, quotes included, that str
// has checked. It fails for half of a surrogate pair, which has no UTF-8.
func unescape(dst, raw []byte) ([]byte, bool) {
	b := raw[1 : len(raw)-1]
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			start := i
			for i < len(b) && b[i] != '\\' {
				i++
			}
			dst = append(dst, b[start:i]...)
			continue
		}
		switch c := b[i+1]; c {
		case 'u':
			r := hex4(b, i+2)
			i += 6
			if 0xD800 <= r && r < 0xE000 {
				if r >= 0xDC00 || i+1 >= len(b) || b[i] != '\\' || b[i+1] != 'u' {
					return dst, false
				}
				low := hex4(b, i+2)
				if low < 0xDC00 || low >= 0xE000 {
					return dst, false
				}
				r = (r-0xD800)<<10 | (low - 0xDC00) + 0x10000
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
			continue
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst, true
}
