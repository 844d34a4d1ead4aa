package insert

import (
	"bytes"

	"dorisgo/doriserr"
	"dorisgo/sql/token"
)

// Header is what stands before the values of an INSERT statement.
type Header struct {
	// DB is empty if the session's database is meant.
	DB, Table string
	// Columns is nil if the statement names none: all columns are meant.
	Columns []string
	// Label is the name of WITH LABEL, unchecked.
	Label      string
	Partitions []string
	// ValuesPos is the position after VALUES; for Select it is where the
	// query starts.
	ValuesPos int
	// Select says that rows come from a query; Overwrite is INSERT OVERWRITE
	// TABLE.
	Select    bool
	Overwrite bool
}

// Headers remembers the last header of a session, as clients send the same
// text before ever new values. It belongs to one goroutine.
type Headers struct {
	text []byte
	last *Header
}

// Parse is ParseHeader without its cost if sql starts with the bytes of the
// last header. The same pointer means the same header: a caller may keep what
// it derived from it. The header is not to be changed.
func (c *Headers) Parse(sql []byte) (*Header, error) {
	n := len(c.text)
	if n > 0 && bytes.HasPrefix(sql, c.text) && (len(sql) == n || !token.IsWordByte(sql[n])) {
		return c.last, nil
	}
	h, err := ParseHeader(sql)
	if err != nil {
		return nil, err
	}
	if !h.Select {
		c.text, c.last = append(c.text[:0], sql[:h.ValuesPos]...), &h
	}
	return &h, nil
}

// ParseHeader reads an INSERT statement up to its VALUES or its query. Clauses
// between the table and the values may come in any order.
func ParseHeader(sql []byte) (Header, error) {
	p := headerParser{lex: token.Lexer{Src: sql}}
	if err := p.start(); err != nil {
		return Header{}, err
	}
	for {
		done, err := p.clause()
		if err != nil {
			return Header{}, err
		}
		if done {
			return p.h, nil
		}
	}
}

type headerParser struct {
	lex token.Lexer
	h   Header
}

func (p *headerParser) next() token.Token { return p.lex.Next() }

func (p *headerParser) is(t token.Token, word string) bool { return t.IsWord(p.lex.Src, word) }

func (p *headerParser) wrong(t token.Token, expecting string) error {
	return token.SyntaxError(p.lex.Src, t, expecting)
}

// start reads INSERT INTO [TABLE] or INSERT OVERWRITE [TABLE], and the name.
func (p *headerParser) start() error {
	t := p.next()
	for t.Is(p.lex.Src, ';') {
		t = p.next()
	}
	if !p.is(t, "INSERT") {
		return p.wrong(t, "INSERT")
	}
	t = p.next()
	switch {
	case p.is(t, "OVERWRITE"):
		p.h.Overwrite = true
	case !p.is(t, "INTO"):
		return p.wrong(t, "{'INTO', 'OVERWRITE'}")
	}
	p.skipTable()
	return p.table()
}

// skipTable passes over the noise word TABLE unless it is the table's name.
func (p *headerParser) skipTable() {
	at := p.lex.Pos
	if t := p.next(); p.is(t, "TABLE") {
		if t = p.lex.Peek(); t.Kind == token.Quoted || t.Kind == token.Word && !p.is(t, "VALUES") && !p.is(t, "VALUE") {
			return
		}
	}
	p.lex.Pos = at
}

func (p *headerParser) name() (string, error) {
	t := p.next()
	if t.Kind != token.Word && t.Kind != token.Quoted {
		return "", p.wrong(t, "identifier")
	}
	return token.Name(p.lex.Src[t.Pos:t.End]), nil
}

// table reads [catalog.][db.]table.
func (p *headerParser) table() error {
	var parts []string
	for {
		n, err := p.name()
		if err != nil {
			return err
		}
		parts = append(parts, n)
		t := p.lex.Peek()
		if !t.Is(p.lex.Src, '.') {
			break
		}
		if p.next(); len(parts) == 3 {
			return p.wrong(t, "VALUES")
		}
	}
	p.h.Table = parts[len(parts)-1]
	if len(parts) > 1 {
		p.h.DB = parts[len(parts)-2]
	}
	if len(parts) == 3 && parts[0] != "internal" {
		return doriserr.New(doriserr.Unsupported, "catalog %s is not supported, the only catalog is internal", parts[0])
	}
	return nil
}

// clause reads one of the clauses after the table; done says that the values
// or the query were reached.
func (p *headerParser) clause() (done bool, err error) {
	t := p.next()
	switch {
	case p.is(t, "VALUES"), p.is(t, "VALUE"):
		p.h.ValuesPos = t.End
		return true, nil
	case p.is(t, "SELECT"):
		return p.query(t)
	case t.Is(p.lex.Src, '('):
		n := p.lex.Peek()
		if p.h.Columns != nil || p.is(n, "SELECT") || p.is(n, "WITH") || n.Is(p.lex.Src, '(') {
			return p.query(t)
		}
		p.h.Columns, err = p.names()
		return false, err
	case p.is(t, "WITH"):
		return p.with(t)
	case p.is(t, "TEMPORARY"), p.is(t, "PARTITION"), p.is(t, "PARTITIONS"):
		return false, p.partitions(t)
	case t.Is(p.lex.Src, '['):
		return false, p.hint()
	}
	return false, p.wrong(t, "{'(', 'PARTITION', 'SELECT', 'VALUES', 'WITH'}")
}

func (p *headerParser) query(t token.Token) (bool, error) {
	p.h.Select, p.h.ValuesPos = true, t.Pos
	return true, nil
}

// with reads WITH LABEL name; a common table expression starts the query.
func (p *headerParser) with(t token.Token) (done bool, err error) {
	if !p.is(p.lex.Peek(), "LABEL") {
		return p.query(t)
	}
	p.next()
	n := p.next()
	switch {
	case p.is(n, "AS"), n.Is(p.lex.Src, '('):
		return p.query(t)
	case n.Kind != token.Word && n.Kind != token.Quoted && n.Kind != token.String:
		return false, p.wrong(n, "identifier")
	}
	p.h.Label = token.Name(p.lex.Src[n.Pos:n.End])
	return false, nil
}

func (p *headerParser) partitions(t token.Token) (err error) {
	if p.is(t, "TEMPORARY") {
		return doriserr.New(doriserr.Unsupported, "INSERT into TEMPORARY PARTITION is not supported")
	}
	n := p.next()
	if !n.Is(p.lex.Src, '(') {
		if n.Kind != token.Word && n.Kind != token.Quoted {
			return p.wrong(n, "identifier")
		}
		p.h.Partitions = append(p.h.Partitions, token.Name(p.lex.Src[n.Pos:n.End]))
		return nil
	}
	p.h.Partitions, err = p.names()
	return err
}

// names reads name, ... ) after its opening parenthesis.
func (p *headerParser) names() ([]string, error) {
	var names []string
	if p.lex.Peek().Is(p.lex.Src, ')') {
		p.next()
		return nil, nil
	}
	for {
		n, err := p.name()
		if err != nil {
			return nil, err
		}
		names = append(names, n)
		switch t := p.next(); {
		case t.Is(p.lex.Src, ')'):
			return names, nil
		case !t.Is(p.lex.Src, ','):
			return nil, p.wrong(t, "{')', ','}")
		}
	}
}

// hint passes over a plan hint such as [SHUFFLE].
func (p *headerParser) hint() error {
	for {
		t := p.next()
		switch {
		case t.Is(p.lex.Src, ']'):
			return nil
		case t.Kind == token.EOF, t.Kind == token.Unterminated:
			return p.wrong(t, "']'")
		}
	}
}
