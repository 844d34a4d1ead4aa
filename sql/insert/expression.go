package insert

import (
	"math/big"
	"strings"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/sql/token"
	"dorisgo/value"
)

// expression reads a value that is no literal: an ExpressionError, or what the
// constant expression computes to.
func (d *Decoder) expression(c *block.Column) error {
	if !d.Expressions {
		return &ExpressionError{Pos: d.pos, Row: d.row}
	}
	e := evaluator{d: d, lex: token.Lexer{Src: d.src, Pos: d.pos, NoBackslash: d.NoBackslashEscapes}}
	o, err := e.sum()
	if err != nil {
		return err
	}
	d.pos = e.lex.Pos
	if !d.ends(d.pos) {
		return d.syntax("{')', ','}")
	}
	if o.kind == nullOperand {
		return d.null(c)
	}
	return d.text(c, o.appendText(nil))
}

// maxExpressionDepth bounds nesting, and with it the stack.
const maxExpressionDepth = 100

// evaluator computes one constant expression while it reads it.
type evaluator struct {
	d     *Decoder
	lex   token.Lexer
	depth int
}

// sum is product {+|- product}.
func (e *evaluator) sum() (operand, error) {
	if e.depth++; e.depth > maxExpressionDepth {
		return operand{}, doriserr.New(doriserr.Unsupported, "an expression is nested deeper than %d", maxExpressionDepth)
	}
	defer func() { e.depth-- }()
	return e.chain("+-", func() (operand, error) { return e.chain("*/%", e.unary) })
}

// chain is next {op next} with the operators in ops, from the left.
func (e *evaluator) chain(ops string, next func() (operand, error)) (operand, error) {
	a, err := next()
	for err == nil {
		t := e.lex.Peek()
		if t.Kind != token.Punct || strings.IndexByte(ops, e.lex.Src[t.Pos]) < 0 {
			break
		}
		e.lex.Next()
		var b operand
		if b, err = next(); err != nil {
			break
		}
		a, err = compute(e.lex.Src[t.Pos], a, b)
	}
	return a, err
}

func (e *evaluator) unary() (operand, error) {
	neg := false
	for {
		t := e.lex.Peek()
		if !t.Is(e.lex.Src, '-') && !t.Is(e.lex.Src, '+') {
			break
		}
		neg = neg != t.Is(e.lex.Src, '-')
		e.lex.Next()
	}
	o, err := e.primary()
	if err != nil || !neg {
		return o, err
	}
	if o, err = o.number(); err != nil {
		return o, err
	}
	switch o.kind {
	case decimalOperand:
		o.int = new(big.Int).Neg(o.int)
	case doubleOperand:
		o.float = -o.float
	}
	return o, nil
}

func (e *evaluator) primary() (operand, error) {
	t := e.lex.Next()
	b := e.lex.Src[t.Pos:t.End]
	switch t.Kind {
	case token.Integer, token.Number:
		return numberOperand(b)
	case token.String:
		return operand{kind: textOperand, text: token.Unquote(nil, b, e.lex.NoBackslash)}, nil
	case token.Param:
		if e.d.params != nil {
			return e.param()
		}
	case token.Word:
		return e.word(t)
	case token.Quoted:
		return operand{}, unknownColumn(token.Name(b))
	case token.UserVar, token.SysVar, token.HexNumber, token.HexString:
		return operand{}, unsupportedValue(token.Shown(b))
	}
	if !t.Is(e.lex.Src, '(') {
		return operand{}, token.SyntaxError(e.lex.Src, t, "expression")
	}
	o, err := e.sum()
	if err != nil {
		return o, err
	}
	return o, e.sign(')')
}

func unknownColumn(name string) error {
	return doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in 'field list'", name)
}

func unsupportedValue(what string) error {
	return doriserr.New(doriserr.Unsupported, "%s is not supported in VALUES", what)
}

func (e *evaluator) sign(c byte) error {
	if t := e.lex.Next(); !t.Is(e.lex.Src, c) {
		return token.SyntaxError(e.lex.Src, t, "'"+string(c)+"'")
	}
	return nil
}

// param is the value of the next parameter.
func (e *evaluator) param() (operand, error) {
	t, b, ok := e.d.params.next()
	switch {
	case !ok:
		return operand{}, malformed("the statement has more parameters than the packet")
	case t.Type == typeNull:
		return operand{}, nil
	case isIntegerType(t.Type):
		o := integerOperand(integerParam(t, b))
		if t.Unsigned {
			o.int.SetUint64(uint64(integerParam(t, b)))
		}
		return o, nil
	case t.Type == typeFloat, t.Type == typeDouble:
		return operand{kind: doubleOperand, float: floatParam(t.Type, b)}, nil
	}
	return operand{kind: textOperand, text: appendParam(nil, t, b)}, nil
}

// word is a constant, or a function without or with arguments.
func (e *evaluator) word(t token.Token) (operand, error) {
	name := strings.ToUpper(string(e.lex.Src[t.Pos:t.End]))
	if e.lex.Peek().Is(e.lex.Src, '(') {
		return e.call(name)
	}
	switch name {
	case "NULL":
		return operand{}, nil
	case "TRUE":
		return integerOperand(1), nil
	case "FALSE":
		return integerOperand(0), nil
	case "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_DATE":
		return e.apply(name, nil)
	case "DEFAULT", "CASE", "CAST", "INTERVAL":
		return operand{}, unsupportedValue(name)
	}
	return operand{}, unknownColumn(string(e.lex.Src[t.Pos:t.End]))
}

func (e *evaluator) call(name string) (operand, error) {
	if !isFunction(name) {
		return operand{}, unsupportedValue("function " + token.Shown([]byte(name)))
	}
	e.lex.Next()
	var args []operand
	if e.lex.Peek().Is(e.lex.Src, ')') {
		e.lex.Next()
		return e.apply(name, nil)
	}
	for {
		o, err := e.sum()
		if err != nil {
			return o, err
		}
		args = append(args, o)
		if !e.lex.Peek().Is(e.lex.Src, ',') {
			break
		}
		e.lex.Next()
	}
	if err := e.sign(')'); err != nil {
		return operand{}, err
	}
	return e.apply(name, args)
}

func isFunction(name string) bool {
	switch name {
	case "CONCAT", "NOW", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_DATE", "CURDATE":
		return true
	}
	return false
}

// apply computes a function of the table in isFunction.
func (e *evaluator) apply(name string, args []operand) (operand, error) {
	micros := wallMicros(e.d.target.now, e.d.target.opts.Loc)
	switch name {
	case "CONCAT":
		return concat(args)
	case "CURRENT_DATE", "CURDATE":
		if len(args) > 0 {
			return operand{}, wrongArguments(name)
		}
		return operand{kind: textOperand, text: value.AppendDate(nil, daysOf(micros))}, nil
	}
	scale := 0
	if len(args) > 0 {
		if len(args) > 1 || args[0].kind != decimalOperand || args[0].scale != 0 ||
			args[0].int.Cmp(big.NewInt(value.MaxDateTimeScale)) > 0 || args[0].int.Sign() < 0 {
			return operand{}, wrongArguments(name)
		}
		scale = int(args[0].int.Int64())
	}
	text := value.AppendDateTime(nil, floorTo(micros, uint8(scale)), uint8(scale))
	return operand{kind: textOperand, text: text}, nil
}

func wrongArguments(name string) error {
	return doriserr.New(doriserr.Analysis, "wrong arguments of function %s", name)
}

func concat(args []operand) (operand, error) {
	o := operand{kind: textOperand}
	if len(args) == 0 {
		return operand{}, wrongArguments("CONCAT")
	}
	for _, a := range args {
		if a.kind == nullOperand {
			return operand{}, nil
		}
		o.text = a.appendText(o.text)
	}
	return o, nil
}
