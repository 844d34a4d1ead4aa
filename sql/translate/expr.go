package translate

import (
	"slices"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
)

// expr translates an expression. The SQL that it returns may stand anywhere:
// operators are in parentheses.
func (t *translator) expr(e sqlparser.Expr, sc *scope) (expr, error) {
	if err := t.enter(); err != nil {
		return expr{}, err
	}
	defer t.leave()
	out, err := t.node(e, sc)
	if err != nil {
		return expr{}, err
	}
	if _, list := e.(sqlparser.ValTuple); !list && e != nil {
		t.sqls[e] = out.sql
	}
	return out, nil
}

func (t *translator) exprs(list []sqlparser.Expr, sc *scope) ([]expr, error) {
	out := make([]expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = t.expr(e, sc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *translator) node(e sqlparser.Expr, sc *scope) (expr, error) {
	switch e := e.(type) {
	case *sqlparser.Literal:
		return t.literal(e)
	case *sqlparser.NullVal:
		return nullExpr, nil
	case sqlparser.BoolVal:
		return truth(bool(e)), nil
	case *sqlparser.ColName:
		return t.column(e, sc)
	case *sqlparser.Variable:
		return t.variable(e)
	case *sqlparser.AndExpr, *sqlparser.OrExpr:
		return t.logic(e, sc)
	case *sqlparser.XorExpr:
		l, err := t.condition(e.Left, sc)
		if err != nil {
			return expr{}, err
		}
		r, err := t.condition(e.Right, sc)
		return expr{sql: "(" + l + " <> " + r + ")", typ: boolType}, err
	case *sqlparser.NotExpr:
		c, err := t.condition(e.Expr, sc)
		return expr{sql: "(NOT " + c + ")", typ: boolType}, err
	case *sqlparser.ComparisonExpr:
		return t.comparison(e, sc)
	case *sqlparser.BetweenExpr:
		return t.between(e, sc)
	case *sqlparser.IsExpr:
		return t.is(e, sc)
	case *sqlparser.ExistsExpr:
		q, err := t.query(e.Subquery.Select, sc)
		if err != nil {
			return expr{}, err
		}
		return expr{sql: "EXISTS (" + q.text(false) + ")", typ: boolType}, nil
	case *sqlparser.Subquery:
		return t.scalar(e, sc)
	case *sqlparser.BinaryExpr:
		return t.binary(e, sc)
	case *sqlparser.UnaryExpr:
		return t.unary(e, sc)
	case *sqlparser.IntroducerExpr:
		return t.expr(e.Expr, sc)
	case *sqlparser.CaseExpr:
		return t.caseExpr(e, sc)
	case *sqlparser.CastExpr:
		if e.Array {
			return expr{}, unsupported("CAST to an array")
		}
		return t.cast(e.Expr, e.Type, sc)
	case *sqlparser.ConvertExpr:
		return t.cast(e.Expr, e.Type, sc)
	case *sqlparser.ConvertUsingExpr:
		x, err := t.expr(e.Expr, sc)
		return expr{sql: t.text(x), typ: stringType}, err
	case *sqlparser.CollateExpr:
		if c := strings.ToLower(e.Collation); c != "binary" && !strings.HasSuffix(c, "_bin") && c != "utf8mb4_0900_bin" {
			return expr{}, unsupported("COLLATE %s", e.Collation)
		}
		return t.expr(e.Expr, sc)
	case *sqlparser.FuncExpr:
		return t.call(e, sc)
	case sqlparser.AggrFunc:
		return t.aggregate(e, sc)
	}
	return t.keywordCall(e, sc)
}

var nullExpr = expr{sql: "NULL", null: true}

func truth(b bool) expr {
	if b {
		return expr{sql: "TRUE", typ: boolType}
	}
	return expr{sql: "FALSE", typ: boolType}
}

// logic flattens a chain of AND or OR, which may be long.
func (t *translator) logic(e sqlparser.Expr, sc *scope) (expr, error) {
	_, and := e.(*sqlparser.AndExpr)
	word := " OR "
	if and {
		word = " AND "
	}
	var operands []sqlparser.Expr // from the last to the first
	for {
		left, right := sides(e, and)
		if left == nil {
			break
		}
		operands = append(operands, right)
		e = left
	}
	operands = append(operands, e)
	parts := make([]string, 0, len(operands))
	for _, x := range slices.Backward(operands) {
		c, err := t.condition(x, sc)
		if err != nil {
			return expr{}, err
		}
		parts = append(parts, c)
	}
	return expr{sql: "(" + strings.Join(parts, word) + ")", typ: boolType}, nil
}

// sides are the operands of an AND, or of an OR; nil if e is none.
func sides(e sqlparser.Expr, and bool) (left, right sqlparser.Expr) {
	switch n := e.(type) {
	case *sqlparser.AndExpr:
		if and {
			return n.Left, n.Right
		}
	case *sqlparser.OrExpr:
		if !and {
			return n.Left, n.Right
		}
	}
	return nil, nil
}

// scalar is a subquery as a value.
func (t *translator) scalar(e *sqlparser.Subquery, sc *scope) (expr, error) {
	q, err := t.query(e.Select, sc)
	if err != nil {
		return expr{}, err
	}
	if len(q.items) != 1 {
		return expr{}, doriserr.New(doriserr.Analysis, "Operand should contain 1 column(s)")
	}
	return expr{sql: "(" + q.text(false) + ")", typ: q.items[0].typ}, nil
}

func (t *translator) is(e *sqlparser.IsExpr, sc *scope) (expr, error) {
	word, needsTruth := "", true
	switch e.Right {
	case sqlparser.IsNullOp:
		word, needsTruth = "IS NULL", false
	case sqlparser.IsNotNullOp:
		word, needsTruth = "IS NOT NULL", false
	case sqlparser.IsTrueOp:
		word = "IS TRUE"
	case sqlparser.IsNotTrueOp:
		word = "IS NOT TRUE"
	case sqlparser.IsFalseOp:
		word = "IS FALSE"
	case sqlparser.IsNotFalseOp:
		word = "IS NOT FALSE"
	default:
		return expr{}, unsupported("%s", nodeName(e))
	}
	x, err := t.expr(e.Left, sc)
	if err != nil {
		return expr{}, err
	}
	s := x.sql
	if needsTruth {
		s = t.truthOf(x)
	}
	return expr{sql: "(" + s + " " + word + ")", typ: boolType}, nil
}

func (t *translator) caseExpr(e *sqlparser.CaseExpr, sc *scope) (expr, error) {
	var subject expr
	var err error
	if e.Expr != nil {
		if subject, err = t.expr(e.Expr, sc); err != nil {
			return expr{}, err
		}
	}
	conds := make([]string, len(e.Whens))
	vals := make([]expr, 0, len(e.Whens)+1)
	for i, w := range e.Whens {
		if e.Expr == nil {
			conds[i], err = t.condition(w.Cond, sc)
		} else {
			var c, l, r expr
			if c, err = t.expr(w.Cond, sc); err == nil {
				l, r, err = t.coerce(subject, c)
			}
			conds[i] = l.sql + " = " + r.sql
		}
		if err != nil {
			return expr{}, err
		}
		v, err := t.expr(w.Val, sc)
		if err != nil {
			return expr{}, err
		}
		vals = append(vals, v)
	}
	if e.Else != nil {
		v, err := t.expr(e.Else, sc)
		if err != nil {
			return expr{}, err
		}
		vals = append(vals, v)
	}
	return t.choose(conds, vals), nil
}

// choose is a CASE whose values take their common type; one value more than
// conditions is the ELSE.
func (t *translator) choose(conds []string, vals []expr) expr {
	typ := t.unify(vals)
	var sb strings.Builder
	sb.WriteString("CASE")
	for i, v := range vals {
		if i < len(conds) {
			sb.WriteString(" WHEN " + conds[i] + " THEN " + v.sql)
		} else {
			sb.WriteString(" ELSE " + v.sql)
		}
	}
	sb.WriteString(" END")
	return typ.with("(" + sb.String() + ")")
}

// unify converts values to their common type and returns it, without SQL.
func (t *translator) unify(vals []expr) expr {
	typ := common(vals)
	allNull := true
	for i, v := range vals {
		if v.null {
			continue
		}
		allNull = false
		if typ.Kind == 0 {
			continue
		}
		want := expr{typ: typ}
		if v.class() != want.class() || (want.class() == date && v.typ.Kind != typ.Kind) {
			vals[i].sql = convert(v, typ)
		}
	}
	if allNull {
		return nullExpr
	}
	return expr{typ: typ}
}

// with is the same type and other SQL.
func (e expr) with(sql string) expr {
	if e.null {
		return expr{sql: sql}
	}
	return expr{sql: sql, typ: e.typ}
}
