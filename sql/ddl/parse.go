package ddl

import (
	"errors"

	"dorisgo/doriserr"
	"dorisgo/sql/token"
)

// ErrNotOurs is returned for queries and changes of rows, which other packages
// read (token.Classify).
var ErrNotOurs = errors.New("statement is a query or a change of rows")

// Parse reads one statement, with or without a semicolon behind it. It returns
// a pointer to one of the statement structs. The error is a *doriserr.Error
// (Parse, or Unsupported with the name of what is missing) or ErrNotOurs.
func Parse(sql string) (Statement, error) { return ParseMode(sql, false) }

// ParseMode is Parse in a SQL mode: noBackslash is NO_BACKSLASH_ESCAPES.
func ParseMode(sql string, noBackslash bool) (s Statement, err error) {
	p := &parser{lex: token.Lexer{Src: []byte(sql), NoBackslash: noBackslash}}
	if c := token.Classify(p.lex.Src); c != token.Command && c != token.Empty {
		return nil, ErrNotOurs
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case syntaxPanic:
			s, err = nil, e.err
		default:
			panic(e)
		}
	}()
	for p.acceptSign(';') {
	}
	s = p.statement()
	p.end()
	return s, nil
}

// firstWords maps the first word of a statement to its reader, which is called
// after that word.
var firstWords = map[string]func(*parser) Statement{
	"CREATE":   (*parser).create,
	"DROP":     (*parser).drop,
	"TRUNCATE": (*parser).truncate,
	"ALTER":    (*parser).alter,
	"USE":      func(p *parser) Statement { return &Use{Database: p.database()} },
	"SET":      (*parser).set,
	"SHOW":     (*parser).show,
	"DESC":     (*parser).describe,
	"DESCRIBE": (*parser).describe,
	"EXPLAIN":  (*parser).describe,
	"GRANT":    func(p *parser) Statement { return p.grant(false) },
	"REVOKE":   func(p *parser) Statement { return p.grant(true) },
	"ADMIN":    (*parser).admin,
	"CANCEL":   (*parser).cancel,
	"CLEAN":    (*parser).clean,
	"BEGIN":    (*parser).begin,
	"START":    (*parser).start,
	"COMMIT":   (*parser).commit,
	"ROLLBACK": (*parser).rollback,
	"KILL":     (*parser).kill,
	"LOCK":     (*parser).lock,
	"UNLOCK":   (*parser).unlock,
}

// refusedWords start statements of Doris that dorisgo has not.
var refusedWords = []string{
	"ANALYZE", "BACKUP", "CALL", "COPY", "EXPORT", "IMPORT", "INSTALL", "LOAD",
	"OPTIMIZE", "PAUSE", "RECOVER", "REFRESH", "REPLACE", "RESTORE", "RESUME",
	"STOP", "SWITCH", "SYNC", "UNINSTALL", "UNSET", "WARM",
}

func (p *parser) statement() Statement {
	t := p.next()
	if t.Kind == token.Word {
		word := upper(p.text(t))
		if read := firstWords[word]; read != nil {
			return read(p)
		}
		for _, w := range refusedWords {
			if w == word {
				p.unsupported("statement " + w)
			}
		}
	}
	p.wrong(t, "a statement")
	return nil
}

func upper(b []byte) string {
	out := make([]byte, len(b))
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		out[i] = c
	}
	return string(out)
}

// create reads what follows CREATE.
func (p *parser) create() Statement {
	switch {
	case p.accept("TABLE"):
		return p.createTable()
	case p.acceptOne("DATABASE", "SCHEMA") != "":
		s := &CreateDatabase{IfNotExists: p.accept("IF", "NOT", "EXISTS"), Name: p.database()}
		s.Properties = p.optionalProperties()
		return s
	case p.accept("USER"):
		return p.createUser()
	}
	p.refuse("CREATE", "a DATABASE, TABLE or USER")
	return nil
}

// drop reads what follows DROP.
func (p *parser) drop() Statement {
	switch {
	case p.accept("TABLE"):
		s := &DropTable{IfExists: p.accept("IF", "EXISTS"), Name: p.table()}
		s.Force = p.accept("FORCE")
		return s
	case p.acceptOne("DATABASE", "SCHEMA") != "":
		s := &DropDatabase{IfExists: p.accept("IF", "EXISTS"), Name: p.database()}
		s.Force = p.accept("FORCE")
		return s
	case p.accept("USER"):
		return &DropUser{IfExists: p.accept("IF", "EXISTS"), User: p.user()}
	}
	p.refuse("DROP", "a DATABASE, TABLE or USER")
	return nil
}

// refuse names the object of a statement that exists for others only.
func (p *parser) refuse(verb, expecting string) {
	if t := p.peek(); t.Kind == token.Word {
		p.unsupported(verb + " " + token.Shown([]byte(upper(p.text(t)))))
	}
	p.wrong(p.peek(), expecting)
}

func (p *parser) truncate() Statement {
	p.expect("TABLE")
	s := &TruncateTable{Name: p.table()}
	if p.isWord("PARTITION", "PARTITIONS") {
		p.unsupported("TRUNCATE of single partitions")
	}
	s.Force = p.accept("FORCE")
	return s
}

// alter reads what follows ALTER.
func (p *parser) alter() Statement {
	switch {
	case p.accept("TABLE"):
		return p.alterTable()
	case p.accept("SYSTEM"):
		return p.alterSystem()
	case p.accept("USER"):
		return p.alterUser()
	}
	p.refuse("ALTER", "a TABLE, SYSTEM or USER")
	return nil
}

func (p *parser) alterTable() Statement {
	s := &AlterTableSet{Name: p.table()}
	if !p.accept("SET") {
		t := p.next()
		if t.Kind != token.Word {
			p.wrong(t, "SET")
		}
		what := upper(p.text(t))
		if n := p.peek(); n.Kind == token.Word {
			what += " " + upper(p.text(n))
		}
		p.unsupported("ALTER TABLE " + token.Shown([]byte(what)))
	}
	s.Properties = p.properties()
	if len(s.Properties) == 0 {
		p.fail(doriserr.New(doriserr.BadProperty, "Properties is not set"))
	}
	return s
}

// describe reads what follows DESC, DESCRIBE or EXPLAIN.
func (p *parser) describe() Statement {
	level := p.acceptOne("VERBOSE", "PLAN", "PARSED", "ANALYZED", "REWRITTEN", "LOGICAL",
		"OPTIMIZED", "PHYSICAL", "SHAPE", "MEMO", "DISTRIBUTED", "TREE", "GRAPH", "ALL")
	if p.isSign('(') || p.isWord("SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "VALUES") {
		return &Explain{Level: level, SQL: p.rest()}
	}
	if level != "" {
		p.wrong(p.peek(), "a query")
	}
	s := &Describe{Name: p.table()}
	if !p.atEnd() {
		if s.All = p.accept("ALL"); !s.All {
			s.Column = p.nameOrString()
		}
	}
	return s
}
