package insert

import (
	"math"

	"dorisgo/doriserr"
	"dorisgo/sql/token"
)

// MaxParams is the most parameters that a statement can have: the protocol
// counts them in two bytes.
const MaxParams = 65535

// Prepared is an INSERT ... VALUES statement with parameters. It is immutable.
type Prepared struct {
	Header *Header
	// SQL is the statement's text, a copy; Decoder.Binary reads it from
	// Header.ValuesPos on.
	SQL []byte
	// Params is the number of parameters, Rows that of rows, Width that of
	// the values of each row.
	Params, Rows, Width int
	// Expression says that some value is neither a literal nor a lone
	// parameter: the statement cannot join a group.
	Expression bool
	// positions is the value position of each parameter, nil if every value
	// is a parameter.
	positions []uint16
}

// CountParams is the number of parameters of any statement, refused if the
// protocol cannot tell it.
func CountParams(sql []byte, noBackslash bool) (int, error) {
	n := token.Params(sql, noBackslash)
	if n > MaxParams {
		return 0, tooManyParams()
	}
	return n, nil
}

func tooManyParams() error {
	return doriserr.New(doriserr.TooManyParameters, "Prepared statement contains too many placeholders")
}

// Prepare reads an INSERT statement to be executed many times. For INSERT ...
// SELECT only Header, SQL and Params are set.
func Prepare(sql []byte, noBackslash bool) (*Prepared, error) {
	h, err := ParseHeader(sql)
	if err != nil {
		return nil, err
	}
	p := &Prepared{Header: &h, SQL: append([]byte(nil), sql...)}
	if h.Select {
		p.Params, err = CountParams(sql, noBackslash)
		return p, err
	}
	r := rowReader{lex: token.Lexer{Src: p.SQL, Pos: h.ValuesPos, NoBackslash: noBackslash}, p: p}
	if err := r.rows(); err != nil {
		return nil, err
	}
	if !p.Expression && p.Params == p.Rows*p.Width {
		p.positions = nil
	}
	return p, nil
}

// Check compares the statement with the table it writes to.
func (p *Prepared) Check(t *Target) error {
	if p.Width == t.Width() || p.Width == 0 && t.all {
		return nil
	}
	return doriserr.New(doriserr.ColumnCount, "Column count doesn't match value count at row 1. "+
		"Column size: %d does not match with target column size: %d", p.Width, t.Width())
}

// Position is the value position (see Target.Column) that parameter i, from 0,
// fills or takes part in; -1 for INSERT ... SELECT.
func (p *Prepared) Position(i int) int {
	if p.Header.Select {
		return -1
	}
	if p.positions != nil {
		return int(p.positions[i])
	}
	return i % p.Width
}

// rowReader goes over the values of a statement without a target.
type rowReader struct {
	lex token.Lexer
	p   *Prepared
}

func (r *rowReader) wrong(t token.Token, expecting string) error {
	return token.SyntaxError(r.lex.Src, t, expecting)
}

func (r *rowReader) rows() error {
	src := r.lex.Src
	for {
		if t := r.lex.Next(); !t.Is(src, '(') {
			return r.wrong(t, "'('")
		}
		width, err := r.row()
		if err != nil {
			return err
		}
		r.p.Rows++
		if r.p.Rows == 1 {
			r.p.Width = width
		}
		if width != r.p.Width {
			return doriserr.New(doriserr.ColumnCount, "Column count doesn't match value count at row %d", r.p.Rows)
		}
		switch t := r.lex.Next(); {
		case t.Is(src, ','):
		case t.Kind == token.EOF:
			return nil
		case t.Is(src, ';') && token.OnlyBlank(src[t.End:]):
			return nil
		default:
			return r.wrong(t, "{<EOF>, ','}")
		}
	}
}

// row reads the values of a row and counts them.
func (r *rowReader) row() (width int, err error) {
	if r.lex.Peek().Is(r.lex.Src, ')') {
		r.lex.Next()
		return 0, nil
	}
	for width = 1; ; width++ {
		last, err := r.value(width - 1)
		if err != nil || last {
			return width, err
		}
	}
}

// value reads one value and the sign after it; last says that it closed the
// row.
func (r *rowReader) value(position int) (last bool, err error) {
	src := r.lex.Src
	// operands counts tokens besides a leading sign.
	depth, operands := 0, 0
	for first := true; ; first = false {
		t := r.lex.Next()
		switch {
		case t.Kind == token.EOF, t.Kind == token.Unterminated, t.Is(src, ';'):
			return false, r.wrong(t, "{')', ','}")
		case t.Kind == token.Param:
			if err := r.param(position); err != nil {
				return false, err
			}
		case t.Is(src, '('):
			depth++
		case depth > 0 && t.Is(src, ')'):
			depth--
		case depth == 0 && (t.Is(src, ')') || t.Is(src, ',')):
			if operands == 0 {
				return false, r.wrong(t, "expression")
			}
			r.p.Expression = r.p.Expression || operands > 1
			return t.Is(src, ')'), nil
		}
		operands += r.weight(t, first)
	}
}

// weight is 1 for a literal, 0 for what may stand before one, 2 for what only
// expressions have.
func (r *rowReader) weight(t token.Token, first bool) int {
	src := r.lex.Src
	switch t.Kind {
	case token.Punct:
		if first && (t.Is(src, '-') || t.Is(src, '+')) && isNumber(r.lex.Peek()) {
			return 0
		}
		return 2
	case token.Word:
		w := src[t.Pos:t.End]
		for _, k := range []string{"NULL", "TRUE", "FALSE", "DEFAULT"} {
			if token.EqualFold(w, k) {
				return 1
			}
		}
		for _, k := range []string{"DATE", "DATETIME", "TIMESTAMP"} {
			if token.EqualFold(w, k) && r.lex.Peek().Kind == token.String {
				return 0
			}
		}
		return 2
	case token.Quoted, token.UserVar, token.SysVar:
		return 2
	}
	return 1
}

func isNumber(t token.Token) bool { return t.Kind == token.Integer || t.Kind == token.Number }

func (r *rowReader) param(position int) error {
	p := r.p
	p.Params++
	if p.Params > MaxParams {
		return tooManyParams()
	}
	p.positions = append(p.positions, uint16(min(position, math.MaxUint16)))
	return nil
}
