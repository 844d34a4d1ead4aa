package token

import "iter"

// Span is a statement in a text, without its semicolon: text[Pos:End].
type Span struct{ Pos, End int }

// StatementEnd is the position of the semicolon that ends the statement that
// starts at pos, or the length of the text. Unterminated quotes and comments
// reach to the end: the statement's reader reports them.
func StatementEnd(sql []byte, pos int, noBackslash bool) int {
	l := Lexer{Src: sql, Pos: pos, NoBackslash: noBackslash}
	for {
		t := l.Next()
		if t.Kind == EOF || t.Kind == Unterminated {
			return len(sql)
		}
		if t.Is(sql, ';') {
			return t.Pos
		}
	}
}

// Split gives the statements of a text in order; those without a token are
// left out. It reads on only as far as it is asked.
func Split(sql []byte, noBackslash bool) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for pos := 0; pos < len(sql); {
			end := StatementEnd(sql, pos, noBackslash)
			if !OnlyBlank(sql[pos:end]) && !yield(Span{pos, end}) {
				return
			}
			pos = end + 1
		}
	}
}

// OnlyBlank reports whether a text has no token but semicolons, as what may
// follow the one statement of a packet.
func OnlyBlank(sql []byte) bool {
	l := Lexer{Src: sql}
	t := l.Next()
	for t.Is(sql, ';') {
		t = l.Next()
	}
	return t.Kind == EOF
}

// Params counts the question marks outside quotes and comments: the number of
// parameters of a statement to be prepared.
func Params(sql []byte, noBackslash bool) int {
	l := Lexer{Src: sql, NoBackslash: noBackslash}
	n := 0
	for {
		switch l.Next().Kind {
		case Param:
			n++
		case EOF, Unterminated:
			return n
		}
	}
}
