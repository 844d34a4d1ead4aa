package token

import (
	"unicode/utf8"

	"dorisgo/doriserr"
)

// maxShown is how many bytes of a token an error text shows.
const maxShown = 64

// SyntaxError is the parse error at t: what was found, what would have been
// right, and where (line from 1, byte of the line from 0).
func SyntaxError(src []byte, t Token, expecting string) *doriserr.Error {
	line, col := LineColumn(src, t.Pos)
	if t.Kind == Unterminated {
		return doriserr.New(doriserr.Parse, "unterminated text starting with '%s'(line %d, pos %d)",
			Shown(src[t.Pos:t.End]), line, col)
	}
	found := "<EOF>"
	if t.Kind != EOF {
		found = Shown(src[t.Pos:t.End])
	}
	return doriserr.New(doriserr.Parse, "mismatched input '%s' expecting %s(line %d, pos %d)",
		found, expecting, line, col)
}

// Shown is the start of b that an error text shows: bounded, cut between
// characters.
func Shown(b []byte) string {
	if len(b) <= maxShown {
		return string(b)
	}
	n := maxShown
	for n > maxShown-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "..."
}
