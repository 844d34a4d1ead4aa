package ddl

import (
	"strings"

	"dorisgo/sql/token"
)

// Set is SET a = 1, @@global.b = 'x', @c = 3, NAMES utf8, ...
type Set struct{ Items []SetItem }

// SetScope says which variable a SetItem sets.
type SetScope uint8

// The scopes.
const (
	// SessionScope is that of a variable without a scope too.
	SessionScope SetScope = iota + 1
	GlobalScope
	// UserScope is a variable of the user: @name.
	UserScope
)

// SetItem is one assignment. NAMES, CHARACTER SET and TRANSACTION come as
// assignments of the system variables that they set.
type SetItem struct {
	Scope SetScope
	// Name is in lower case, except that of a user variable.
	Name  string
	Value Value
}

// ValueKind is the sort of a Value.
type ValueKind uint8

// The sorts of values.
const (
	// DefaultValue is the keyword DEFAULT.
	DefaultValue ValueKind = iota + 1
	NullValue
	StringValue
	// NumberValue has the number with its sign as Text.
	NumberValue
	// WordValue is a bare word such as ON, true or async_mode.
	WordValue
	// VariableValue is @@[scope.]name, its lower-case name in Text;
	// UserVariableValue is @name.
	VariableValue
	UserVariableValue
	// ExpressionValue is anything else, its text in Text.
	ExpressionValue
)

// Value is the right side of an assignment.
type Value struct {
	Kind ValueKind
	Text string
}

// set reads what follows SET.
func (p *parser) set() Statement {
	if p.accept("PASSWORD") {
		return p.setPassword()
	}
	if p.isWord("DEFAULT", "LDAP_ADMIN_PASSWORD", "PROPERTY", "ROLE") {
		pos := p.lex.Pos
		t := p.next()
		if !p.isSign('=') && !p.isSign(':') {
			p.unsupported("SET " + upper(p.text(t)))
		}
		p.lex.Pos = pos
	}
	s := &Set{}
	for {
		s.Items = append(s.Items, p.setItem()...)
		if !p.acceptSign(',') {
			return s
		}
	}
}

// setItem reads one assignment or one of the special forms.
func (p *parser) setItem() []SetItem {
	scope := SessionScope
	switch p.acceptScope("GLOBAL", "SESSION", "LOCAL", "PERSIST") {
	case "GLOBAL", "PERSIST":
		scope = GlobalScope
	}
	switch {
	case p.accept("TRANSACTION"):
		return p.transactionItems(scope)
	case p.special("NAMES"):
		return p.namesItems()
	case p.accept("CHARACTER", "SET"), p.special("CHARSET"):
		return p.charsetItems()
	}
	item := SetItem{Scope: scope}
	t := p.next()
	switch t.Kind {
	case token.UserVar:
		item.Scope, item.Name = UserScope, token.Name(p.text(t)[1:])
	case token.SysVar:
		item.Scope, item.Name = p.systemVariable(t)
	case token.Word, token.Quoted:
		item.Name = strings.ToLower(token.Name(p.text(t)))
	default:
		p.wrong(t, "variable")
	}
	p.acceptSign(':')
	p.expectSign('=')
	item.Value = p.value()
	return []SetItem{item}
}

// acceptScope reads a scope word unless it is itself the variable.
func (p *parser) acceptScope(words ...string) string {
	pos := p.lex.Pos
	w := p.acceptOne(words...)
	if w != "" && (p.isSign('=') || p.isSign(':')) {
		p.lex.Pos = pos
		return ""
	}
	return w
}

// special reads a word that starts a special form unless it is assigned to.
func (p *parser) special(word string) bool {
	pos := p.lex.Pos
	if p.accept(word) {
		if !p.isSign('=') && !p.isSign(':') {
			return true
		}
		p.lex.Pos = pos
	}
	return false
}

// systemVariable is the scope and name of @@[scope.]name.
func (p *parser) systemVariable(t token.Token) (SetScope, string) {
	name := strings.ToLower(token.Name(p.text(t)[2:]))
	scope := SessionScope
	switch name {
	case "global", "persist":
		scope = GlobalScope
	case "session", "local":
	default:
		return scope, name
	}
	if !p.acceptSign('.') {
		return SessionScope, name
	}
	return scope, strings.ToLower(p.name())
}

// value reads the right side of an assignment.
func (p *parser) value() Value {
	start := p.peek().Pos
	v := p.simpleValue()
	if v.Kind != ExpressionValue && (p.atEnd() || p.isSign(',')) {
		return v
	}
	for !p.atEnd() && !p.isSign(',') {
		if p.isSign('(') {
			p.skipParens()
			continue
		}
		if t := p.next(); t.Kind == token.Unterminated {
			p.wrong(t, "expression")
		}
	}
	return Value{Kind: ExpressionValue, Text: string(p.lex.Src[start:p.lex.Pos])}
}

// simpleValue reads one token as a value, or nothing for an expression.
func (p *parser) simpleValue() Value {
	t := p.peek()
	switch t.Kind {
	case token.String:
		return Value{StringValue, p.str()}
	case token.Integer, token.Number:
		p.next()
		return Value{NumberValue, string(p.text(t))}
	case token.UserVar:
		p.next()
		return Value{UserVariableValue, token.Name(p.text(t)[1:])}
	case token.SysVar:
		p.next()
		_, name := p.systemVariable(t)
		return Value{VariableValue, name}
	case token.Word:
		p.next()
		switch w := string(p.text(t)); upper(p.text(t)) {
		case "DEFAULT":
			return Value{Kind: DefaultValue}
		case "NULL":
			return Value{Kind: NullValue}
		default:
			return Value{WordValue, w}
		}
	case token.Quoted:
		return Value{WordValue, p.name()}
	case token.EOF, token.Unterminated:
		p.wrong(t, "expression")
	}
	if t.Is(p.lex.Src, ',') || t.Is(p.lex.Src, ';') || t.Is(p.lex.Src, ')') {
		p.wrong(t, "expression")
	}
	return p.signedNumber(t)
}

// signedNumber reads -1 or +1.
func (p *parser) signedNumber(t token.Token) Value {
	if t.Is(p.lex.Src, '-') || t.Is(p.lex.Src, '+') {
		pos := p.lex.Pos
		p.next()
		if n := p.next(); n.Kind == token.Integer || n.Kind == token.Number {
			text := string(p.text(n))
			if t.Is(p.lex.Src, '-') {
				text = "-" + text
			}
			return Value{NumberValue, text}
		}
		p.lex.Pos = pos
	}
	return Value{Kind: ExpressionValue}
}

// namesItems reads what follows NAMES.
func (p *parser) namesItems() []SetItem {
	cs := p.charset()
	collate := Value{Kind: DefaultValue}
	if p.accept("COLLATE") {
		collate = p.charset()
	}
	return sessionItems(
		SetItem{Name: "character_set_client", Value: cs}, SetItem{Name: "character_set_connection", Value: cs},
		SetItem{Name: "character_set_results", Value: cs}, SetItem{Name: "collation_connection", Value: collate})
}

// charsetItems reads what follows CHARACTER SET.
func (p *parser) charsetItems() []SetItem {
	p.acceptSign('=')
	cs := p.charset()
	return sessionItems(SetItem{Name: "character_set_client", Value: cs}, SetItem{Name: "character_set_results", Value: cs})
}

func sessionItems(items ...SetItem) []SetItem {
	for i := range items {
		items[i].Scope = SessionScope
	}
	return items
}

func (p *parser) charset() Value {
	if p.accept("DEFAULT") {
		return Value{Kind: DefaultValue}
	}
	return Value{StringValue, p.nameOrString()}
}

// transactionItems reads what follows TRANSACTION: isolation level and access
// mode, in any order.
func (p *parser) transactionItems(scope SetScope) []SetItem {
	var items []SetItem
	add := func(name, text string) {
		items = append(items, SetItem{scope, name, Value{StringValue, text}})
	}
	for {
		switch {
		case p.accept("ISOLATION", "LEVEL"):
			add("transaction_isolation", p.isolation())
		case p.accept("READ", "ONLY"):
			add("transaction_read_only", "1")
		case p.accept("READ", "WRITE"):
			add("transaction_read_only", "0")
		case p.accept("SNAPSHOT"):
			p.unsupported("SET TRANSACTION SNAPSHOT")
		default:
			p.wrong(p.peek(), "{'ISOLATION', 'READ'}")
		}
		if !p.acceptSign(',') {
			return items
		}
	}
}

func (p *parser) isolation() string {
	switch {
	case p.accept("READ", "COMMITTED"):
		return "READ-COMMITTED"
	case p.accept("READ", "UNCOMMITTED"):
		return "READ-UNCOMMITTED"
	case p.accept("REPEATABLE", "READ"):
		return "REPEATABLE-READ"
	case p.accept("SERIALIZABLE"):
		return "SERIALIZABLE"
	}
	p.wrong(p.peek(), "{'READ', 'REPEATABLE', 'SERIALIZABLE'}")
	return ""
}
