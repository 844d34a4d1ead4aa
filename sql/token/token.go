package token

// Kind is the sort of a token.
type Kind uint8

// The kinds of tokens.
const (
	// EOF is the end of the text; its Pos is the length of the text.
	EOF Kind = iota
	// Word is a bare keyword or name.
	Word
	// Quoted is a name in back quotes.
	Quoted
	// String is text in single or double quotes.
	String
	// Integer is a run of digits.
	Integer
	// Number is a number with a point or an exponent.
	Number
	// HexNumber is 0x1F; HexString is x'1F'.
	HexNumber
	HexString
	// UserVar is @name, SysVar is @@name (without scope or dots).
	UserVar
	SysVar
	// Param is a question mark.
	Param
	// Punct is one sign: any other byte. Operators of two signs come as two.
	Punct
	// Unterminated is a quote or comment that never ends.
	Unterminated
)

var kindNames = [...]string{
	EOF: "<EOF>", Word: "word", Quoted: "quoted name", String: "string",
	Integer: "integer", Number: "number", HexNumber: "hexadecimal number",
	HexString: "hexadecimal string", UserVar: "user variable",
	SysVar: "system variable", Param: "?", Punct: "sign",
	Unterminated: "unterminated text",
}

// String is the kind's name in error texts.
func (k Kind) String() string { return kindNames[k] }

// Token is a piece of a text: text[Pos:End].
type Token struct {
	Kind     Kind
	Pos, End int
}

// Is reports whether the token is the sign c.
func (t Token) Is(src []byte, c byte) bool { return t.Kind == Punct && src[t.Pos] == c }

// IsWord reports whether the token is the bare word, given in upper case
// ASCII, in any case.
func (t Token) IsWord(src []byte, upper string) bool {
	return t.Kind == Word && EqualFold(src[t.Pos:t.End], upper)
}

// EqualFold reports whether b is the ASCII text upper in any case. Other than
// bytes.EqualFold it knows no Unicode folding, as keywords have none.
func EqualFold(b []byte, upper string) bool {
	if len(b) != len(upper) {
		return false
	}
	for i := range len(upper) {
		c := b[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}

// LineColumn is the line of a position, from 1, and its byte offset in that
// line, from 0, as error texts give it.
func LineColumn(src []byte, pos int) (line, col int) {
	line = 1
	for i := range min(pos, len(src)) {
		if src[i] == '\n' {
			line++
			col = 0
			continue
		}
		col++
	}
	return line, col
}
