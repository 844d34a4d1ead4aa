package token

import "bytes"

// Unquote appends to dst the text of the quoted string b, which has its
// quotes. Backslash pairs mean what they mean in MySQL: \0 \b \n \r \t \Z have
// their own meaning, \% and \_ keep the backslash, any other backslash is
// dropped. A doubled quote is one quote.
func Unquote(dst, b []byte, noBackslash bool) []byte {
	q := b[0]
	b = b[1 : len(b)-1]
	for len(b) > 0 {
		n := special(b, q, noBackslash)
		dst = append(dst, b[:n]...)
		if n == len(b) {
			break
		}
		if b[n] == q || n+1 == len(b) {
			dst = append(dst, b[n])
			b = b[min(n+2, len(b)):]
			continue
		}
		dst = appendEscaped(dst, b[n+1])
		b = b[n+2:]
	}
	return dst
}

// special is the index of the first quote or backslash, or the length.
func special(b []byte, q byte, noBackslash bool) int {
	n := bytes.IndexByte(b, q)
	if n < 0 {
		n = len(b)
	}
	if !noBackslash {
		if m := bytes.IndexByte(b[:n], '\\'); m >= 0 {
			n = m
		}
	}
	return n
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '0':
		c = 0
	case 'b':
		c = '\b'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'Z':
		c = 0x1a
	case '%', '_':
		dst = append(dst, '\\')
	}
	return append(dst, c)
}

// Name is the name that a Word or Quoted token, or the part of a variable
// after its @ signs, gives.
func Name(b []byte) string {
	if len(b) >= 2 && (b[0] == '`' || b[0] == '\'' || b[0] == '"') {
		return string(Unquote(nil, b, true))
	}
	return string(b)
}

// AppendName appends a name in back quotes.
func AppendName(dst []byte, name string) []byte {
	dst = append(dst, '`')
	for i := range len(name) {
		if name[i] == '`' {
			dst = append(dst, '`')
		}
		dst = append(dst, name[i])
	}
	return append(dst, '`')
}

// AppendString appends b as a string literal in single quotes, for the SQL mode
// that noBackslash names.
func AppendString(dst, b []byte, noBackslash bool) []byte {
	dst = append(dst, '\'')
	for _, c := range b {
		if c == '\'' || c == '\\' && !noBackslash {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '\'')
}
