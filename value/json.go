package value

import "unicode/utf8"

// MaxJSONDepth is how deep arrays and objects of a JSON value may nest.
const MaxJSONDepth = 100

// ValidJSON reports whether b is exactly one JSON value (RFC 8259) in valid
// UTF-8, blanks around, whose escapes of surrogates come in pairs and whose
// nesting stays within MaxJSONDepth. Repeated keys are legal.
func ValidJSON(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	p := jsonScan{b: b}
	p.blanks()
	if !p.value(0) {
		return false
	}
	p.blanks()
	return len(p.b) == 0
}

// AppendCompactJSON appends valid JSON without the blanks between its tokens,
// the form in which JSON columns keep their values.
func AppendCompactJSON(dst, b []byte) []byte {
	inString := false
	start := 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && jsonBlank(c):
			dst = append(dst, b[start:i]...)
			start = i + 1
		}
	}
	return append(dst, b[start:]...)
}

func jsonBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// jsonScan is what is left of a text.
type jsonScan struct{ b []byte }

func (p *jsonScan) blanks() {
	for len(p.b) > 0 && jsonBlank(p.b[0]) {
		p.b = p.b[1:]
	}
}

func (p *jsonScan) skip(c byte) bool {
	if len(p.b) == 0 || p.b[0] != c {
		return false
	}
	p.b = p.b[1:]
	return true
}

func (p *jsonScan) word(w string) bool {
	if len(p.b) < len(w) || string(p.b[:len(w)]) != w {
		return false
	}
	p.b = p.b[len(w):]
	return true
}

func (p *jsonScan) value(depth int) bool {
	if len(p.b) == 0 {
		return false
	}
	switch p.b[0] {
	case '{':
		return depth < MaxJSONDepth && p.object(depth+1)
	case '[':
		return depth < MaxJSONDepth && p.array(depth+1)
	case '"':
		return p.str()
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.number()
	}
}

func (p *jsonScan) object(depth int) bool {
	p.b = p.b[1:]
	p.blanks()
	if p.skip('}') {
		return true
	}
	for {
		if !p.str() {
			return false
		}
		p.blanks()
		if !p.skip(':') {
			return false
		}
		p.blanks()
		if !p.value(depth) {
			return false
		}
		p.blanks()
		if p.skip('}') {
			return true
		}
		if !p.skip(',') {
			return false
		}
		p.blanks()
	}
}

func (p *jsonScan) array(depth int) bool {
	p.b = p.b[1:]
	p.blanks()
	if p.skip(']') {
		return true
	}
	for {
		if !p.value(depth) {
			return false
		}
		p.blanks()
		if p.skip(']') {
			return true
		}
		if !p.skip(',') {
			return false
		}
		p.blanks()
	}
}

func (p *jsonScan) str() bool {
	if !p.skip('"') {
		return false
	}
	for i := 0; i < len(p.b); i++ {
		switch c := p.b[i]; {
		case c == '"':
			p.b = p.b[i+1:]
			return true
		case c < 0x20:
			return false
		case c == '\\':
			n := jsonEscape(p.b[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		}
	}
	return false
}

// jsonEscape is the length of the escape that b starts with, 0 if it is none.
func jsonEscape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		switch u := hex4(b[2:]); {
		case u < 0 || u >= 0xdc00 && u < 0xe000:
			return 0
		case u < 0xd800 || u >= 0xe000:
			return 6
		}
		if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
			return 0
		}
		if low := hex4(b[8:]); low >= 0xdc00 && low < 0xe000 {
			return 12
		}
	}
	return 0
}

// hex4 is the value of four hexadecimal digits, -1 if there are none.
func hex4(b []byte) int {
	if len(b) < 4 {
		return -1
	}
	v := 0
	for _, c := range b[:4] {
		switch {
		case c-'0' < 10:
			c -= '0'
		case c|0x20-'a' < 6:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		v = v<<4 | int(c)
	}
	return v
}

func (p *jsonScan) number() bool {
	p.skip('-')
	n := digitRun(p.b)
	if n == 0 || n > 1 && p.b[0] == '0' {
		return false
	}
	p.b = p.b[n:]
	if p.skip('.') {
		if n = digitRun(p.b); n == 0 {
			return false
		}
		p.b = p.b[n:]
	}
	if p.skip('e') || p.skip('E') {
		if !p.skip('+') {
			p.skip('-')
		}
		if n = digitRun(p.b); n == 0 {
			return false
		}
		p.b = p.b[n:]
	}
	return true
}
