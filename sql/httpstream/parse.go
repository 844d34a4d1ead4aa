package httpstream

import (
	"strings"

	"dorisgo/doriserr"
	"dorisgo/sql/insert"
	"dorisgo/sql/token"
)

// Statement is a parsed statement.
type Statement struct {
	DB, Table string
	// Label is the name of WITH LABEL, unchecked; empty without one.
	Label string
	// Columns are the target columns, nil for all of the table's.
	Columns    []string
	Partitions []string
	// Items are the expressions of the select list without their aliases; Star
	// says that it is the star alone.
	Items []string
	Star  bool
	// Where is the condition, empty without one.
	Where string
	// Properties are those of http_stream, their names in lower case.
	Properties map[string]string
	// Names are all words and quoted names in Items and Where that may be a
	// column's name, each once, in the order of the text, as they are written.
	Names []string
}

// Parse reads a statement. Errors are *doriserr.Error.
func Parse(sql string) (*Statement, error) {
	src := []byte(sql)
	h, err := insert.ParseHeader(src)
	if err != nil {
		return nil, err
	}
	switch {
	case h.Overwrite:
		return nil, doriserr.New(doriserr.Unsupported, "INSERT OVERWRITE is not supported by _http_stream")
	case !h.Select:
		return nil, doriserr.New(doriserr.Analysis, "_http_stream takes INSERT INTO db.table SELECT ... FROM http_stream(...)")
	case h.DB == "":
		return nil, doriserr.New(doriserr.Analysis, "parse db and tb with wrong sql:%s", sql)
	}
	p := &parser{lex: token.Lexer{Src: src, Pos: h.ValuesPos}, seen: map[string]bool{}}
	p.s = Statement{
		DB: h.DB, Table: h.Table, Label: h.Label, Columns: h.Columns, Partitions: h.Partitions, Properties: map[string]string{},
	}
	for _, step := range []func() error{p.items, p.source, p.where} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return &p.s, nil
}

type parser struct {
	lex  token.Lexer
	s    Statement
	seen map[string]bool
}

func (p *parser) src() []byte { return p.lex.Src }

func (p *parser) wrong(t token.Token, expecting string) error {
	return token.SyntaxError(p.src(), t, expecting)
}

func (p *parser) sign(c byte) error {
	if t := p.lex.Next(); !t.Is(p.src(), c) {
		return p.wrong(t, "'"+string(c)+"'")
	}
	return nil
}

// items reads SELECT and its list up to FROM.
func (p *parser) items() error {
	if t := p.lex.Next(); !t.IsWord(p.src(), "SELECT") {
		return p.wrong(t, "SELECT")
	}
	for {
		t, err := p.item()
		if err != nil {
			return err
		}
		if t.IsWord(p.src(), "FROM") {
			break
		}
	}
	for _, item := range p.s.Items {
		p.s.Star = p.s.Star || item == "*"
	}
	if p.s.Star && len(p.s.Items) > 1 {
		return doriserr.New(doriserr.Unsupported, "* beside other items is not supported by _http_stream")
	}
	return nil
}

// item reads one expression, and the comma or FROM behind it.
func (p *parser) item() (token.Token, error) {
	start, alias, depth := p.lex.Pos, -1, 0
	for {
		t := p.lex.Next()
		switch {
		case t.Kind == token.EOF || t.Kind == token.Unterminated:
			return t, p.wrong(t, "FROM")
		case t.Is(p.src(), '('):
			depth++
		case t.Is(p.src(), ')'):
			depth--
		case depth > 0:
		case t.IsWord(p.src(), "AS"):
			alias = t.Pos
			continue
		case t.Is(p.src(), ',') || t.IsWord(p.src(), "FROM"):
			end := t.Pos
			if alias >= 0 {
				end = alias
			}
			text := strings.TrimSpace(string(p.src()[start:end]))
			if text == "" {
				return t, p.wrong(t, "an expression")
			}
			p.s.Items = append(p.s.Items, text)
			return t, nil
		}
		if alias < 0 || depth > 0 {
			p.name(t)
		}
	}
}

// name notes a token that may name a column: a function's name has a
// parenthesis behind it.
func (p *parser) name(t token.Token) {
	if t.Kind != token.Word && t.Kind != token.Quoted || p.lex.Peek().Is(p.src(), '(') {
		return
	}
	name := token.Name(p.src()[t.Pos:t.End])
	if key := strings.ToLower(name); name != "" && !p.seen[key] {
		p.seen[key] = true
		p.s.Names = append(p.s.Names, name)
	}
}

// source reads http_stream("property"="value", ...) and an alias.
func (p *parser) source() error {
	if t := p.lex.Next(); !t.IsWord(p.src(), "HTTP_STREAM") {
		return p.wrong(t, "http_stream")
	}
	if err := p.sign('('); err != nil {
		return err
	}
	if p.lex.Peek().Is(p.src(), ')') {
		p.lex.Next()
		return p.alias()
	}
	for {
		name, err := p.text()
		if err != nil {
			return err
		}
		if err := p.sign('='); err != nil {
			return err
		}
		v, err := p.text()
		if err != nil {
			return err
		}
		key := strings.ToLower(name)
		if _, twice := p.s.Properties[key]; twice {
			return doriserr.New(doriserr.Analysis, "property %q of http_stream is given twice", name)
		}
		p.s.Properties[key] = v
		t := p.lex.Next()
		if t.Is(p.src(), ')') {
			return p.alias()
		}
		if !t.Is(p.src(), ',') {
			return p.wrong(t, "{',', ')'}")
		}
	}
}

func (p *parser) text() (string, error) {
	t := p.lex.Next()
	if t.Kind != token.String {
		return "", p.wrong(t, "a string")
	}
	return string(token.Unquote(nil, p.src()[t.Pos:t.End], false)), nil
}

// alias passes over a name of the source, which nothing may refer to.
func (p *parser) alias() error {
	t := p.lex.Peek()
	if t.IsWord(p.src(), "AS") {
		p.lex.Next()
		t = p.lex.Peek()
	}
	if t.Kind == token.Quoted || t.Kind == token.Word && !t.IsWord(p.src(), "WHERE") {
		if n := token.Name(p.src()[t.Pos:t.End]); clauses[strings.ToUpper(n)] {
			return doriserr.New(doriserr.Unsupported, "%s is not supported by _http_stream", strings.ToUpper(n))
		}
		p.lex.Next()
	}
	return nil
}

// clauses are the words that may follow a source in a SELECT and not here.
var clauses = map[string]bool{
	"GROUP": true, "ORDER": true, "LIMIT": true, "HAVING": true, "JOIN": true, "INNER": true, "LEFT": true, "RIGHT": true, "CROSS": true,
	"UNION": true, "LATERAL": true, "WINDOW": true, "QUALIFY": true,
}

// where reads the condition, and the end of the statement.
func (p *parser) where() error {
	t := p.lex.Next()
	if t.IsWord(p.src(), "WHERE") {
		start := p.lex.Pos
		for depth := 0; ; {
			t = p.lex.Next()
			if t.Kind == token.EOF || t.Kind == token.Unterminated || depth <= 0 && t.Is(p.src(), ';') {
				break
			}
			switch {
			case t.Is(p.src(), '('):
				depth++
			case t.Is(p.src(), ')'):
				depth--
			case depth == 0 && t.Kind == token.Word && clauses[strings.ToUpper(string(p.src()[t.Pos:t.End]))] && !p.lex.Peek().Is(p.src(), '('):
				return doriserr.New(doriserr.Unsupported, "%s is not supported by _http_stream", strings.ToUpper(string(p.src()[t.Pos:t.End])))
			}
			p.name(t)
		}
		if p.s.Where = strings.TrimSpace(string(p.src()[start:t.Pos])); p.s.Where == "" {
			return p.wrong(t, "a condition")
		}
	}
	for t.Is(p.src(), ';') {
		t = p.lex.Next()
	}
	if t.Kind != token.EOF {
		return p.wrong(t, "{'WHERE', <EOF>}")
	}
	return nil
}
