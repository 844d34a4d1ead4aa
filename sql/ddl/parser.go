package ddl

import (
	"slices"
	"strconv"

	"dorisgo/doriserr"
	"dorisgo/sql/token"
)

// parser walks over the tokens of one statement. Methods that read something
// give up by panicking with a syntaxPanic, which Parse turns into the error:
// the grammar stays readable, and no panic leaves the package.
type parser struct {
	lex token.Lexer
}

type syntaxPanic struct{ err error }

func (p *parser) fail(err error) { panic(syntaxPanic{err}) }

func (p *parser) wrong(t token.Token, expecting string) {
	p.fail(token.SyntaxError(p.lex.Src, t, expecting))
}

// unsupported refuses by name what Doris has and dorisgo has not.
func (p *parser) unsupported(what string) {
	p.fail(doriserr.New(doriserr.Unsupported, "%s is not supported", what))
}

func (p *parser) peek() token.Token { return p.lex.Peek() }
func (p *parser) next() token.Token { return p.lex.Next() }

func (p *parser) text(t token.Token) []byte { return p.lex.Src[t.Pos:t.End] }

// isWord reports whether the next token is one of the words (upper case).
func (p *parser) isWord(words ...string) bool {
	t := p.peek()
	return slices.ContainsFunc(words, func(w string) bool { return t.IsWord(p.lex.Src, w) })
}

// accept reads the words if they come next, all of them or none.
func (p *parser) accept(words ...string) bool {
	pos := p.lex.Pos
	for _, w := range words {
		if !p.isWord(w) {
			p.lex.Pos = pos
			return false
		}
		p.next()
	}
	return true
}

// expect reads words that must come next.
func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.wrong(p.peek(), w)
		}
	}
}

// acceptOne reads the next token if it is one of the words, and tells which.
func (p *parser) acceptOne(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

func (p *parser) isSign(c byte) bool { return p.peek().Is(p.lex.Src, c) }

func (p *parser) acceptSign(c byte) bool {
	if p.isSign(c) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectSign(c byte) {
	if !p.acceptSign(c) {
		p.wrong(p.peek(), "'"+string(c)+"'")
	}
}

// atEnd reports whether the statement is over.
func (p *parser) atEnd() bool { return p.peek().Kind == token.EOF || p.isSign(';') }

// end checks that nothing follows the statement.
func (p *parser) end() {
	for p.acceptSign(';') {
	}
	if t := p.peek(); t.Kind != token.EOF {
		p.wrong(t, "<EOF>")
	}
}

// name reads an identifier.
func (p *parser) name() string {
	t := p.next()
	if t.Kind != token.Word && t.Kind != token.Quoted {
		p.wrong(t, "identifier")
	}
	return token.Name(p.text(t))
}

// nameOrString reads an identifier or a string.
func (p *parser) nameOrString() string {
	if p.peek().Kind == token.String {
		return p.str()
	}
	return p.name()
}

// str reads a string literal.
func (p *parser) str() string {
	t := p.next()
	if t.Kind != token.String {
		p.wrong(t, "string")
	}
	return string(token.Unquote(nil, p.text(t), p.lex.NoBackslash))
}

// integer reads a number without sign that fits an int64.
func (p *parser) integer() int64 {
	t := p.next()
	if t.Kind != token.Integer {
		p.wrong(t, "integer")
	}
	v, err := strconv.ParseInt(string(p.text(t)), 10, 64)
	if err != nil {
		p.wrong(t, "integer of 64 bits")
	}
	return v
}

// small reads a number that fits 31 bits.
func (p *parser) small() int {
	t := p.peek()
	v := p.integer()
	if v > 1<<31-1 {
		p.wrong(t, "integer of 32 bits")
	}
	return int(v)
}

// parts reads name{.name}, at most n.
func (p *parser) parts(n int) []string {
	out := []string{p.name()}
	for p.isSign('.') {
		if len(out) == n {
			p.wrong(p.peek(), "<EOF>")
		}
		p.next()
		out = append(out, p.name())
	}
	return out
}

// internal refuses every catalog but our own.
func (p *parser) internal(catalog string) {
	if catalog != "internal" {
		p.unsupported("catalog " + catalog)
	}
}

// table reads [catalog.][db.]table.
func (p *parser) table() TableName {
	n := p.parts(3)
	switch len(n) {
	case 1:
		return TableName{Table: n[0]}
	case 3:
		p.internal(n[0])
	}
	return TableName{DB: n[len(n)-2], Table: n[len(n)-1]}
}

// database reads [catalog.]db.
func (p *parser) database() string {
	n := p.parts(2)
	if len(n) == 2 {
		p.internal(n[0])
	}
	return n[len(n)-1]
}

// names reads (name, ...).
func (p *parser) names() []string {
	p.expectSign('(')
	out := []string{p.name()}
	for p.acceptSign(',') {
		out = append(out, p.name())
	}
	p.expectSign(')')
	return out
}

// properties reads ("k" = "v", ...).
func (p *parser) properties() []Property {
	p.expectSign('(')
	out := []Property{}
	for !p.isSign(')') {
		k := p.nameOrString()
		p.expectSign('=')
		out = append(out, Property{Key: k, Value: p.propertyValue()})
		if !p.acceptSign(',') {
			break
		}
	}
	p.expectSign(')')
	return out
}

// propertyValue reads a string, word or number as text.
func (p *parser) propertyValue() string {
	t := p.peek()
	switch t.Kind {
	case token.Integer, token.Number:
		p.next()
		return string(p.text(t))
	}
	return p.nameOrString()
}

// optionalProperties reads PROPERTIES (...) if it comes next.
func (p *parser) optionalProperties() []Property {
	if p.accept("PROPERTIES") {
		return p.properties()
	}
	return nil
}

// skipParens passes over ( ... ) and what it contains.
func (p *parser) skipParens() {
	p.expectSign('(')
	for depth := 1; depth > 0; {
		t := p.next()
		switch {
		case t.Is(p.lex.Src, '('):
			depth++
		case t.Is(p.lex.Src, ')'):
			depth--
		case t.Kind == token.EOF, t.Kind == token.Unterminated:
			p.wrong(t, "')'")
		}
	}
}

// rest is the text from here to the end; the statement ends with it.
func (p *parser) rest() string {
	pos := p.peek().Pos
	p.lex.Pos = len(p.lex.Src)
	return string(p.lex.Src[min(pos, len(p.lex.Src)):])
}
