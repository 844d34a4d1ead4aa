package translate

import (
	"strconv"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/block"
	"dorisgo/value"
)

// constant evaluates a SELECT without tables here, as far as it consists of
// literals, variables, session functions, arithmetic, comparison and a few
// conditional functions; else out.Constant stays nil. What it evaluates has the
// result that DuckDB gives for out.SQL.
func (t *translator) constant(stmt sqlparser.TableStatement, out *Translated) {
	s, ok := stmt.(*sqlparser.Select)
	if !ok || s.With != nil || s.GroupBy != nil || s.Having != nil {
		return
	}
	rows := limited(s.Limit)
	if s.Where != nil {
		c, ok := t.eval(s.Where.Expr)
		if !ok {
			return
		}
		if c.truth() != isTrue {
			rows = 0
		}
	}
	vals := make([]constVal, len(s.SelectExprs.Exprs))
	types := make([]value.Type, len(vals))
	for i, se := range s.SelectExprs.Exprs {
		a, ok := se.(*sqlparser.AliasedExpr)
		if !ok {
			return
		}
		if vals[i], ok = t.eval(a.Expr); !ok {
			return
		}
		types[i] = vals[i].typ
		if types[i].Kind == value.Invalid {
			types[i] = intType // as DuckDB does with NULL
		}
	}
	b := block.New(types)
	for range rows {
		for i := range vals {
			vals[i].appendTo(b.Col(i))
		}
		b.EndRow()
	}
	for i := range types {
		out.Columns[i].Type = types[i]
	}
	out.Constant = b
}

// limited is how many rows of one LIMIT leaves.
func limited(l *sqlparser.Limit) int {
	if l == nil {
		return 1
	}
	if n, ok := l.Rowcount.(*sqlparser.Literal); ok && zero(n.Val) {
		return 0
	}
	if n, ok := l.Offset.(*sqlparser.Literal); ok && !zero(n.Val) {
		return 0
	}
	return 1
}

func zero(digits string) bool {
	n, err := strconv.ParseUint(digits, 10, 64)
	return err == nil && n == 0
}

// eval evaluates an expression; ok is false if that is left to DuckDB.
func (t *translator) eval(e sqlparser.Expr) (v constVal, ok bool) {
	if t.enter() != nil {
		return v, false
	}
	defer t.leave()
	switch e := e.(type) {
	case sqlparser.BoolVal:
		return constBool(bool(e)), true
	case *sqlparser.BinaryExpr:
		l, r, ok := t.evalPair(e.Left, e.Right)
		if !ok {
			return v, false
		}
		return arithmeticOf(e.Operator, l, r)
	case *sqlparser.ComparisonExpr:
		if e.Modifier != sqlparser.Missing {
			return v, false
		}
		l, r, ok := t.evalPair(e.Left, e.Right)
		if !ok {
			return v, false
		}
		return compareOf(e.Operator, l, r)
	case *sqlparser.NotExpr:
		x, ok := t.eval(e.Expr)
		return constTruth(not(x.truth())), ok
	case *sqlparser.AndExpr:
		l, r, ok := t.evalPair(e.Left, e.Right)
		return constTruth(min(l.truth(), r.truth())), ok
	case *sqlparser.OrExpr:
		l, r, ok := t.evalPair(e.Left, e.Right)
		return constTruth(max(l.truth(), r.truth())), ok
	case *sqlparser.IsExpr:
		x, ok := t.eval(e.Left)
		return isOf(e.Right, x), ok
	case *sqlparser.FuncExpr:
		if v, ok := t.evalCall(e); ok {
			return v, true
		}
	case *sqlparser.Subquery, *sqlparser.ExistsExpr, sqlparser.ValTuple, *sqlparser.CaseExpr:
		return v, false
	}
	x, err := t.expr(e, &scope{})
	if err != nil {
		return v, false
	}
	return t.constOf(x)
}

func (t *translator) evalPair(l, r sqlparser.Expr) (a, b constVal, ok bool) {
	if a, ok = t.eval(l); ok {
		b, ok = t.eval(r)
	}
	return a, b, ok
}

// constOf is a translated literal as a value.
func (t *translator) constOf(x expr) (constVal, bool) {
	switch {
	case x.null:
		return constVal{null: true, typ: x.typ}, true
	case x.lit == nil:
		return constVal{}, false
	case x.lit.string:
		return constVal{typ: stringType, s: x.lit.text}, true
	}
	return parseConst(x.typ, x.lit.text)
}

func (t *translator) evalCall(e *sqlparser.FuncExpr) (v constVal, ok bool) {
	args := make([]constVal, len(e.Exprs))
	for i, a := range e.Exprs {
		if args[i], ok = t.eval(a); !ok {
			return v, false
		}
	}
	switch name := e.Name.Lowered(); {
	case name == "concat" && len(args) > 0:
		var s []byte
		for _, a := range args {
			if a.null {
				return constVal{null: true, typ: stringType}, true
			}
			s = a.appendText(s)
		}
		return constVal{typ: stringType, s: string(s)}, true
	case name == "if" && len(args) == 3 && sameType(args[1:]):
		if args[0].truth() == isTrue {
			return args[1], true
		}
		return args[2], true
	case (name == "ifnull" || name == "nvl" || name == "coalesce") && len(args) > 0 && sameType(args):
		for _, a := range args {
			if !a.null {
				return a, true
			}
		}
		return args[0], true
	}
	return v, false
}

// sameType: values of different types would need a common one.
func sameType(vals []constVal) bool {
	var typ value.Type
	for _, v := range vals {
		if v.null {
			continue
		}
		if typ.Kind != value.Invalid && typ != v.typ {
			return false
		}
		typ = v.typ
	}
	return true
}
