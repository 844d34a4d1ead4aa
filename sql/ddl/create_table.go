package ddl

import (
	"strconv"

	"dorisgo/meta"
	"dorisgo/sql/token"
)

// createTable reads what follows CREATE TABLE.
func (p *parser) createTable() Statement {
	s := &CreateTable{IfNotExists: p.accept("IF", "NOT", "EXISTS"), Name: p.table()}
	if p.isWord("LIKE") {
		p.unsupported("CREATE TABLE LIKE")
	}
	if p.isSign('(') {
		p.tableElements(s)
	}
	for !p.atEnd() {
		p.tableClause(s)
	}
	return s
}

// tableElements reads the columns and indexes between the parentheses.
func (p *parser) tableElements(s *CreateTable) {
	p.expectSign('(')
	for {
		if name, ok := p.index(); ok {
			s.Indexes = append(s.Indexes, name)
		} else {
			s.Columns = append(s.Columns, p.columnDef())
		}
		if !p.acceptSign(',') {
			break
		}
	}
	p.expectSign(')')
}

// index reads INDEX name (columns) ...; a column may be called index as well.
func (p *parser) index() (name string, ok bool) {
	pos := p.lex.Pos
	if p.accept("INDEX") {
		p.accept("IF", "NOT", "EXISTS")
		t := p.next()
		if (t.Kind == token.Word || t.Kind == token.Quoted) && p.isSign('(') && !isTypeWord(p.text(t)) {
			p.skipParens()
			for !p.atEnd() && !p.isSign(',') && !p.isSign(')') {
				if p.isSign('(') {
					p.skipParens()
					continue
				}
				p.next()
			}
			return token.Name(p.text(t)), true
		}
	}
	p.lex.Pos = pos
	return "", false
}

// tableClause reads one clause after the columns. Their order is free.
func (p *parser) tableClause(s *CreateTable) {
	switch {
	case p.accept("ENGINE"):
		p.acceptSign('=')
		s.Engine = upper([]byte(p.nameOrString()))
	case p.accept("DUPLICATE"):
		p.keys(s, meta.DuplicateKeys)
	case p.accept("UNIQUE"):
		p.keys(s, meta.UniqueKeys)
	case p.accept("AGGREGATE"):
		p.keys(s, meta.AggregateKeys)
	case p.accept("CLUSTER"):
		p.expect("BY")
		s.ClusterBy = p.names()
	case p.accept("COMMENT"):
		p.acceptSign('=')
		s.Comment = p.str()
	case p.isWord("PARTITION", "AUTO"):
		s.Partition = p.partitionText()
	case p.accept("DISTRIBUTED"):
		s.Distribution = p.distribution()
	case p.accept("ROLLUP"):
		s.Rollup = true
		p.skipParens()
	case p.accept("PROPERTIES"):
		s.Properties = append(s.Properties, p.properties()...)
	case p.accept("BROKER"):
		p.unsupported("CREATE TABLE with BROKER")
	case p.isWord("AS", "SELECT", "WITH"):
		p.unsupported("CREATE TABLE AS SELECT")
	default:
		p.wrong(p.peek(), "{<EOF>, 'COMMENT', 'DISTRIBUTED', 'DUPLICATE', 'ENGINE', 'PARTITION', 'PROPERTIES', 'UNIQUE'}")
	}
}

func (p *parser) keys(s *CreateTable, k meta.KeysType) {
	if s.Keys != 0 {
		p.wrong(p.peek(), "one key clause only")
	}
	p.expect("KEY")
	s.Keys, s.KeyColumns = k, p.names()
}

// partitionText passes over a PARTITION BY clause and gives its text.
func (p *parser) partitionText() string {
	start := p.peek().Pos
	p.accept("AUTO")
	p.expect("PARTITION", "BY")
	for !p.atEnd() && !p.isWord("DISTRIBUTED", "PROPERTIES", "COMMENT", "ROLLUP", "ENGINE", "AS") {
		if p.isSign('(') {
			p.skipParens()
			continue
		}
		if t := p.next(); t.Kind == token.Unterminated {
			p.wrong(t, "DISTRIBUTED")
		}
	}
	return string(p.lex.Src[start:p.lex.Pos])
}

// distribution reads what follows DISTRIBUTED.
func (p *parser) distribution() *Distribution {
	d := &Distribution{}
	p.expect("BY")
	switch p.acceptOne("HASH", "RANDOM") {
	case "HASH":
		d.Columns = p.names()
	case "":
		p.wrong(p.peek(), "{'HASH', 'RANDOM'}")
	}
	if p.accept("BUCKETS") && !p.accept("AUTO") {
		t := p.peek()
		if d.Buckets = p.small(); d.Buckets == 0 {
			p.wrong(t, "a number of buckets greater than zero or AUTO")
		}
	}
	return d
}

// columnDef reads one column.
func (p *parser) columnDef() ColumnDef {
	c := ColumnDef{Name: p.name(), Nullable: true}
	p.columnType(&c)
	for p.columnOption(&c) {
	}
	return c
}

// columnType reads a type and its parameters.
func (p *parser) columnType(c *ColumnDef) {
	c.TypeName = p.name()
	if p.isSign('<') {
		p.unsupported("type " + c.TypeName)
	}
	if !p.acceptSign('(') {
		return
	}
	// VARCHAR(*) is the longest one.
	if p.acceptSign('*') {
		p.expectSign(')')
		return
	}
	for {
		c.TypeParams = append(c.TypeParams, p.small())
		if !p.acceptSign(',') {
			break
		}
	}
	p.expectSign(')')
}

var aggregateWords = []string{
	"SUM", "MIN", "MAX", "REPLACE", "REPLACE_IF_NOT_NULL", "HLL_UNION",
	"BITMAP_UNION", "QUANTILE_UNION", "GENERIC",
}

// columnOption reads one of the clauses of a column; false if none comes next.
func (p *parser) columnOption(c *ColumnDef) bool {
	switch {
	case p.accept("NOT"):
		p.expect("NULL")
		c.Nullable = false
	case p.accept("NULL"):
		c.Nullable = true
	case p.accept("KEY"):
		c.Key = true
	case p.accept("DEFAULT"):
		c.Default = p.defaultValue()
	case p.accept("COMMENT"):
		c.Comment = p.str()
	case p.isWord("AUTO_INCREMENT"):
		p.unsupported("AUTO_INCREMENT of column " + c.Name)
	case p.isWord("ON"):
		p.unsupported("ON UPDATE of column " + c.Name)
	case p.isWord("GENERATED", "AS"):
		p.unsupported("generated column " + c.Name)
	default:
		agg := p.acceptOne(aggregateWords...)
		if agg == "" {
			return false
		}
		c.Aggregate = agg
	}
	return true
}

// defaultValue reads what follows DEFAULT.
func (p *parser) defaultValue() *meta.Default {
	t := p.next()
	switch t.Kind {
	case token.String:
		return literal(string(token.Unquote(nil, p.text(t), p.lex.NoBackslash)))
	case token.Integer, token.Number:
		return literal(string(p.text(t)))
	case token.Punct:
		if n := p.peek(); t.Is(p.lex.Src, '-') && (n.Kind == token.Integer || n.Kind == token.Number) {
			p.next()
			return literal("-" + string(p.text(n)))
		}
	case token.Word:
		switch w := upper(p.text(t)); w {
		case "NULL":
			return &meta.Default{Kind: meta.DefaultNull}
		case "TRUE", "FALSE":
			return literal(string(p.text(t)))
		case "CURRENT_TIMESTAMP":
			return &meta.Default{Kind: meta.DefaultCurrentTimestamp, Scale: p.optionalScale()}
		case "CURRENT_DATE":
			p.optionalScale()
			return &meta.Default{Kind: meta.DefaultCurrentDate}
		case "PI", "E", "BITMAP_EMPTY", "HLL_EMPTY", "NOW":
			p.unsupported("DEFAULT " + w)
		}
	}
	p.wrong(t, "{'CURRENT_DATE', 'CURRENT_TIMESTAMP', 'NULL', number, string}")
	return nil
}

func literal(text string) *meta.Default {
	return &meta.Default{Kind: meta.DefaultLiteral, Text: text}
}

// optionalScale reads (p), () or nothing.
func (p *parser) optionalScale() uint8 {
	if !p.acceptSign('(') {
		return 0
	}
	if p.acceptSign(')') {
		return 0
	}
	t := p.peek()
	n := p.small()
	if n > 6 {
		p.wrong(t, "a precision from 0 to "+strconv.Itoa(6))
	}
	p.expectSign(')')
	return uint8(n)
}
