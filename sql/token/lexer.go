package token

import "bytes"

// Lexer walks over the tokens of a text. Set Src and call Next; Pos may be set
// at will to any token border. It keeps no other state and allocates nothing.
type Lexer struct {
	Src []byte
	// Pos is where the next token is looked for.
	Pos int
	// NoBackslash is SQL mode NO_BACKSLASH_ESCAPES: a backslash in a string
	// is a plain character.
	NoBackslash bool
}

// Peek is the next token without moving on.
func (l *Lexer) Peek() Token {
	pos := l.Pos
	t := l.Next()
	l.Pos = pos
	return t
}

// Next is the next token; blanks and comments are passed over.
func (l *Lexer) Next() Token {
	start, ok := SkipBlank(l.Src, l.Pos)
	if !ok {
		l.Pos = len(l.Src)
		return Token{Unterminated, start, len(l.Src)}
	}
	if start >= len(l.Src) {
		l.Pos = len(l.Src)
		return Token{EOF, len(l.Src), len(l.Src)}
	}
	t := l.scan(start)
	l.Pos = t.End
	return t
}

func (l *Lexer) scan(p int) Token {
	src := l.Src
	switch c := src[p]; {
	case (c == 'x' || c == 'X') && p+1 < len(src) && src[p+1] == '\'':
		return l.closed(HexString, p, bytes.IndexByte(src[p+2:], '\'')+p+3, p+3)
	case c == '0' && p+2 < len(src) && src[p+1] == 'x' && isHex(src[p+2]):
		end := p + 2
		for end < len(src) && isHex(src[end]) {
			end++
		}
		if end < len(src) && IsWordByte(src[end]) {
			return Token{Word, p, wordEnd(src, end)}
		}
		return Token{HexNumber, p, end}
	case isDigit(c) || c == '.' && p+1 < len(src) && isDigit(src[p+1]):
		return l.number(p)
	case IsWordByte(c):
		return Token{Word, p, wordEnd(src, p)}
	case c == '\'' || c == '"':
		end := StringEnd(src, p, l.NoBackslash)
		return l.closed(String, p, end, end)
	case c == '`':
		end := StringEnd(src, p, true)
		return l.closed(Quoted, p, end, end)
	case c == '@':
		return l.variable(p)
	case c == '?':
		return Token{Param, p, p + 1}
	}
	return Token{Punct, p, p + 1}
}

// closed is a token that ends at end, or an unterminated one if end is not
// past floor.
func (l *Lexer) closed(k Kind, p, end, floor int) Token {
	if end < floor || end <= p {
		return Token{Unterminated, p, len(l.Src)}
	}
	return Token{k, p, end}
}

func (l *Lexer) number(p int) Token {
	src := l.Src
	k, end := Integer, p
	for end < len(src) && isDigit(src[end]) {
		end++
	}
	// A name may start with digits: 1st, but not 1.5 or 1e5.
	if end < len(src) && src[end] == '.' {
		k = Number
		for end++; end < len(src) && isDigit(src[end]); end++ {
		}
	}
	if e := exponentEnd(src, end); e > end {
		return Token{Number, p, e}
	}
	if k == Integer && end < len(src) && IsWordByte(src[end]) {
		return Token{Word, p, wordEnd(src, end)}
	}
	return Token{k, p, end}
}

// exponentEnd is the end of an exponent that starts at p, or p without one.
func exponentEnd(src []byte, p int) int {
	if p >= len(src) || src[p]|0x20 != 'e' {
		return p
	}
	end := p + 1
	if end < len(src) && (src[end] == '+' || src[end] == '-') {
		end++
	}
	digits := end
	for end < len(src) && isDigit(src[end]) {
		end++
	}
	if end == digits || end < len(src) && IsWordByte(src[end]) {
		return p
	}
	return end
}

func (l *Lexer) variable(p int) Token {
	src := l.Src
	k, name := UserVar, p+1
	if name < len(src) && src[name] == '@' {
		k, name = SysVar, p+2
	}
	if name < len(src) && (src[name] == '`' || k == UserVar && (src[name] == '\'' || src[name] == '"')) {
		end := StringEnd(src, name, true)
		return l.closed(k, p, end, end)
	}
	end := name
	for end < len(src) && (IsWordByte(src[end]) || k == UserVar && src[end] == '.') {
		end++
	}
	if end == name && k == UserVar {
		return Token{Punct, p, p + 1}
	}
	return Token{k, p, end}
}

// StringEnd is the position after the quoted text that starts with a quote at
// p, or -1 if it never ends. A doubled quote is part of the text; so is
// whatever follows a backslash unless noBackslash is set.
func StringEnd(src []byte, p int, noBackslash bool) int {
	q := src[p]
	for p++; p < len(src); p++ {
		switch c := src[p]; {
		case c == q:
			if p+1 < len(src) && src[p+1] == q {
				p++
				continue
			}
			return p + 1
		case c == '\\' && !noBackslash:
			p++
		}
	}
	return -1
}

// SkipBlank passes over blanks and comments from p on. ok is false, and the
// position that of its start, for a comment that never ends.
func SkipBlank(src []byte, p int) (pos int, ok bool) {
	for p < len(src) {
		switch c := src[p]; {
		case isBlank(c):
			p++
		case c == '#':
			p = lineEnd(src, p)
		case c == '-' && p+1 < len(src) && src[p+1] == '-' && (p+2 == len(src) || src[p+2] <= ' '):
			p = lineEnd(src, p)
		case c == '/' && p+1 < len(src) && src[p+1] == '*':
			n := bytes.Index(src[p+2:], []byte("*/"))
			if n < 0 {
				return p, false
			}
			p += n + 4
		default:
			return p, true
		}
	}
	return p, true
}

func lineEnd(src []byte, p int) int {
	if n := bytes.IndexByte(src[p:], '\n'); n >= 0 {
		return p + n + 1
	}
	return len(src)
}

func wordEnd(src []byte, p int) int {
	for p < len(src) && IsWordByte(src[p]) {
		p++
	}
	return p
}

// IsWordByte reports whether c may be part of a bare name. Bytes above 7F are
// parts of UTF-8 letters.
func IsWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isBlank(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
