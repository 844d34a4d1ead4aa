package ddl

import (
	"dorisgo/sql/token"
)

// Show is any SHOW statement. Kind says which; the other fields are set as far
// as the form has them.
type Show struct {
	Kind ShowKind
	// Full is SHOW FULL.
	Full bool
	// Scope is GlobalScope or SessionScope for VARIABLES and STATUS.
	Scope SetScope
	// DB is what FROM or IN names; Table is set for forms on a table, whose
	// database is Table.DB, or the second FROM's.
	DB    string
	Table TableName
	// Partitions are those of a PARTITION clause, nil without one.
	Partitions []string
	// Name is the object of forms such as SHOW CREATE DATABASE; the path of
	// SHOW PROC; the id of SHOW TABLET.
	Name string
	// User is that of SHOW GRANTS FOR; nil for the session's own.
	User *UserName
	// Like is the pattern of LIKE, nil without one.
	Like *string
	// Where is nil without a WHERE clause.
	Where *Filter
	// OrderBy and Limit apply to the rows; Limit is -1 without one.
	OrderBy []Order
	Limit   int64
	Offset  int64
}

// Order is one column of ORDER BY.
type Order struct {
	Column string
	Desc   bool
}

// show reads what follows SHOW.
func (p *parser) show() Statement {
	s := &Show{Limit: -1, Scope: SessionScope}
	start := p.lex.Pos
	for _, f := range showForms {
		p.lex.Pos = start
		if p.acceptForm(f, s) {
			p.showObject(f.object, s)
			p.showTail(s)
			return s
		}
	}
	p.lex.Pos = start
	p.refuse("SHOW", "what to show")
	return nil
}

// acceptForm reads the words of a form, with FULL and a scope where they fit.
func (p *parser) acceptForm(f showForm, s *Show) bool {
	s.Kind = f.kind
	s.Full, s.Scope = f.full && p.accept("FULL"), SessionScope
	if f.scope {
		switch p.acceptOne("GLOBAL", "SESSION", "LOCAL") {
		case "GLOBAL":
			s.Scope = GlobalScope
		}
	}
	if !p.accept(f.words...) {
		return false
	}
	switch f.kind {
	case ShowWarningCount, ShowErrorCount:
		return p.acceptSign('(') && p.acceptSign('*') && p.acceptSign(')') && p.accept(countWord(f.kind))
	}
	return true
}

func countWord(k ShowKind) string {
	if k == ShowErrorCount {
		return "ERRORS"
	}
	return "WARNINGS"
}

// showObject reads what the form is about.
func (p *parser) showObject(o showObject, s *Show) {
	switch o {
	case onDatabase:
		if p.acceptOne("FROM", "IN") != "" {
			s.DB = p.database()
		}
	case onTable, onPartitions:
		if p.acceptOne("FROM", "IN") == "" {
			p.wrong(p.peek(), "{'FROM', 'IN'}")
		}
		p.tableFrom(s)
		if o == onPartitions {
			s.Partitions = p.partitionNames()
		}
	case onMaybeTable:
		if p.acceptOne("FROM", "IN") != "" {
			p.tableFrom(s)
		}
	case namedTable:
		s.Table = p.table()
	case namedDatabase:
		p.accept("IF", "NOT", "EXISTS")
		s.Name = p.database()
	case namedID:
		s.Name = p.node()
	case namedPath:
		s.Name = p.str()
	case forUser:
		if p.accept("FOR") {
			u := p.user()
			s.User = &u
		}
	}
}

// tableFrom reads a table and a second FROM with its database.
func (p *parser) tableFrom(s *Show) {
	s.Table = p.table()
	if p.acceptOne("FROM", "IN") != "" {
		s.Table.DB = p.database()
	}
	s.DB = s.Table.DB
}

// partitionNames reads a PARTITION clause: one name, or several in parentheses.
func (p *parser) partitionNames() []string {
	if p.isWord("TEMPORARY") {
		p.unsupported("a temporary partition")
	}
	if p.acceptOne("PARTITION", "PARTITIONS") == "" {
		return nil
	}
	if p.isSign('(') {
		return p.names()
	}
	return []string{p.name()}
}

// showTail reads LIKE or WHERE, ORDER BY and LIMIT.
func (p *parser) showTail(s *Show) {
	switch {
	case p.accept("LIKE"):
		like := p.str()
		s.Like = &like
	case p.accept("WHERE"):
		s.Where = p.filter()
	}
	if p.accept("ORDER") {
		p.expect("BY")
		for {
			o := Order{Column: p.name()}
			o.Desc = p.acceptOne("ASC", "DESC") == "DESC"
			s.OrderBy = append(s.OrderBy, o)
			if !p.acceptSign(',') {
				break
			}
		}
	}
	if p.accept("LIMIT") {
		s.Limit = p.integer()
		switch {
		case p.acceptSign(','):
			s.Offset, s.Limit = s.Limit, p.integer()
		case p.accept("OFFSET"):
			s.Offset = p.integer()
		}
	}
}

// FilterOp is the operator of a Filter.
type FilterOp uint8

// The operators.
const (
	FilterAnd FilterOp = iota + 1
	FilterOr
	FilterNot
	FilterEqual
	FilterNotEqual
	FilterLess
	FilterLessEqual
	FilterGreater
	FilterGreaterEqual
	FilterLike
	FilterIn
)

// Filter is the WHERE of a SHOW statement: a tree of comparisons of a column
// with literals.
type Filter struct {
	Op FilterOp
	// Left and Right are set for And and Or, Left for Not.
	Left, Right *Filter
	// Column is the column of a comparison, Values what it is compared with:
	// one, or the list of IN.
	Column string
	Values []string
}

// maxFilterDepth bounds nesting, and with it the stack.
const maxFilterDepth = 100

func (p *parser) filter() *Filter { return p.or(0) }

func (p *parser) or(depth int) *Filter {
	if depth > maxFilterDepth {
		p.unsupported("such deep nesting")
	}
	f := p.and(depth)
	for p.accept("OR") {
		f = &Filter{Op: FilterOr, Left: f, Right: p.and(depth)}
	}
	return f
}

func (p *parser) and(depth int) *Filter {
	f := p.not(depth)
	for p.accept("AND") {
		f = &Filter{Op: FilterAnd, Left: f, Right: p.not(depth)}
	}
	return f
}

func (p *parser) not(depth int) *Filter {
	if p.accept("NOT") {
		if depth > maxFilterDepth {
			p.unsupported("such deep nesting")
		}
		return &Filter{Op: FilterNot, Left: p.not(depth + 1)}
	}
	if p.acceptSign('(') {
		f := p.or(depth + 1)
		p.expectSign(')')
		return f
	}
	return p.comparison()
}

func (p *parser) comparison() *Filter {
	f := &Filter{Column: p.name()}
	if p.acceptSign('.') {
		f.Column = p.name()
	}
	negated := p.accept("NOT")
	switch {
	case p.accept("LIKE"):
		f.Op, f.Values = FilterLike, []string{p.operand()}
	case p.accept("IN"):
		f.Op = FilterIn
		p.expectSign('(')
		f.Values = append(f.Values, p.operand())
		for p.acceptSign(',') {
			f.Values = append(f.Values, p.operand())
		}
		p.expectSign(')')
	case negated:
		p.wrong(p.peek(), "{'IN', 'LIKE'}")
	default:
		f.Op = p.comparator()
		f.Values = []string{p.operand()}
	}
	if negated {
		return &Filter{Op: FilterNot, Left: f}
	}
	return f
}

// comparator reads = != <> < <= > >= of one or two signs.
func (p *parser) comparator() FilterOp {
	switch {
	case p.acceptSign('='):
		return FilterEqual
	case p.acceptSign('!'):
		p.expectSign('=')
		return FilterNotEqual
	case p.acceptSign('<'):
		switch {
		case p.acceptSign('>'):
			return FilterNotEqual
		case p.acceptSign('='):
			return FilterLessEqual
		}
		return FilterLess
	case p.acceptSign('>'):
		if p.acceptSign('=') {
			return FilterGreaterEqual
		}
		return FilterGreater
	}
	p.wrong(p.peek(), "{'<', '=', '>', 'IN', 'LIKE'}")
	return 0
}

// operand reads a literal of a comparison as text.
func (p *parser) operand() string {
	sign := ""
	if p.acceptSign('-') {
		sign = "-"
	}
	t := p.next()
	switch t.Kind {
	case token.String:
		if sign == "" {
			return string(token.Unquote(nil, p.text(t), p.lex.NoBackslash))
		}
	case token.Integer, token.Number:
		return sign + string(p.text(t))
	case token.Word:
		if sign == "" && (t.IsWord(p.lex.Src, "TRUE") || t.IsWord(p.lex.Src, "FALSE")) {
			return string(p.text(t))
		}
	}
	p.wrong(t, "literal")
	return ""
}
