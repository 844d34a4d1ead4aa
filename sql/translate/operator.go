package translate

import (
	"slices"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

var comparisonWords = map[sqlparser.ComparisonExprOperator]string{
	sqlparser.EqualOp: "=", sqlparser.LessThanOp: "<", sqlparser.GreaterThanOp: ">", sqlparser.LessEqualOp: "<=",
	sqlparser.GreaterEqualOp: ">=", sqlparser.NotEqualOp: "<>", sqlparser.NullSafeEqualOp: "IS NOT DISTINCT FROM",
}

func (t *translator) comparison(e *sqlparser.ComparisonExpr, sc *scope) (expr, error) {
	if e.Modifier != sqlparser.Missing {
		return expr{}, unsupported("comparison with ANY or ALL")
	}
	switch e.Operator {
	case sqlparser.InOp, sqlparser.NotInOp:
		return t.in(e, sc)
	case sqlparser.LikeOp, sqlparser.NotLikeOp:
		return t.like(e, sc)
	case sqlparser.RegexpOp, sqlparser.NotRegexpOp:
		l, r, err := t.pair(e.Left, e.Right, sc)
		s := "regexp_matches(" + t.text(l) + ", " + t.text(r) + ")"
		if e.Operator == sqlparser.NotRegexpOp {
			s = "(NOT " + s + ")"
		}
		return expr{sql: s, typ: boolType}, err
	}
	word, ok := comparisonWords[e.Operator]
	if !ok {
		return expr{}, unsupported("%s", nodeName(e))
	}
	lt, lok := e.Left.(sqlparser.ValTuple)
	rt, rok := e.Right.(sqlparser.ValTuple)
	if lok && rok {
		return t.tupleEqual(lt, rt, e.Operator, sc)
	}
	l, r, err := t.pair(e.Left, e.Right, sc)
	if err != nil {
		return expr{}, err
	}
	if l, r, err = t.coerce(l, r); err != nil {
		return expr{}, err
	}
	return expr{sql: "(" + l.sql + " " + word + " " + r.sql + ")", typ: boolType}, nil
}

func (t *translator) pair(l, r sqlparser.Expr, sc *scope) (a, b expr, err error) {
	if a, err = t.expr(l, sc); err == nil {
		b, err = t.expr(r, sc)
	}
	return a, b, err
}

// tupleEqual compares (a, b) with (c, d) element by element.
func (t *translator) tupleEqual(l, r sqlparser.ValTuple, op sqlparser.ComparisonExprOperator, sc *scope) (expr, error) {
	if len(l) != len(r) {
		return expr{}, doriserr.New(doriserr.Analysis, "Operand should contain %d column(s)", len(l))
	}
	if op != sqlparser.EqualOp && op != sqlparser.NotEqualOp && op != sqlparser.NullSafeEqualOp {
		return expr{}, unsupported("the order of row values")
	}
	parts := make([]string, len(l))
	for i := range l {
		each := op
		if op == sqlparser.NotEqualOp {
			each = sqlparser.EqualOp
		}
		e, err := t.expr(&sqlparser.ComparisonExpr{Operator: each, Left: l[i], Right: r[i]}, sc)
		if err != nil {
			return expr{}, err
		}
		parts[i] = e.sql
	}
	s := "(" + strings.Join(parts, " AND ") + ")"
	if op == sqlparser.NotEqualOp {
		s = "(NOT " + s + ")"
	}
	return expr{sql: s, typ: boolType}, nil
}

func (t *translator) in(e *sqlparser.ComparisonExpr, sc *scope) (expr, error) {
	not := ""
	if e.Operator == sqlparser.NotInOp {
		not = "NOT "
	}
	if sub, ok := e.Right.(*sqlparser.Subquery); ok {
		return t.inSubquery(e.Left, sub, not, sc)
	}
	list, ok := e.Right.(sqlparser.ValTuple)
	if !ok {
		return expr{}, unsupported("IN %s", nodeName(e.Right))
	}
	if lt, ok := e.Left.(sqlparser.ValTuple); ok {
		return t.tupleIn(lt, list, not, sc)
	}
	l, err := t.expr(e.Left, sc)
	if err != nil {
		return expr{}, err
	}
	rs, err := t.exprs(list, sc)
	if err != nil {
		return expr{}, err
	}
	if l.class() == text && slices.ContainsFunc(rs, func(r expr) bool { return r.class() == text }) {
		// Strings among the elements: all are compared as strings.
		for i := range rs {
			rs[i] = expr{sql: t.text(rs[i]), typ: stringType}
		}
	}
	// Elements of one kind share a left side.
	var lefts []string
	elems := map[string][]string{}
	for _, r := range rs {
		l2, r2, err := t.coerce(l, r)
		if err != nil {
			return expr{}, err
		}
		if elems[l2.sql] == nil {
			lefts = append(lefts, l2.sql)
		}
		elems[l2.sql] = append(elems[l2.sql], r2.sql)
	}
	parts := make([]string, len(lefts))
	for i, l := range lefts {
		parts[i] = l + " IN (" + strings.Join(elems[l], ", ") + ")"
	}
	s := "(" + strings.Join(parts, " OR ") + ")"
	if not != "" {
		s = "(NOT " + s + ")"
	}
	return expr{sql: s, typ: boolType}, nil
}

func (t *translator) tupleIn(l, list sqlparser.ValTuple, not string, sc *scope) (expr, error) {
	parts := make([]string, len(list))
	for i, x := range list {
		r, ok := x.(sqlparser.ValTuple)
		if !ok {
			return expr{}, doriserr.New(doriserr.Analysis, "Operand should contain %d column(s)", len(l))
		}
		e, err := t.tupleEqual(l, r, sqlparser.EqualOp, sc)
		if err != nil {
			return expr{}, err
		}
		parts[i] = e.sql
	}
	return expr{sql: "(" + not + "(" + strings.Join(parts, " OR ") + "))", typ: boolType}, nil
}

func (t *translator) inSubquery(left sqlparser.Expr, sub *sqlparser.Subquery, not string, sc *scope) (expr, error) {
	list := sqlparser.ValTuple{left}
	if tuple, ok := left.(sqlparser.ValTuple); ok {
		list = tuple
	}
	ls, err := t.exprs(list, sc)
	if err != nil {
		return expr{}, err
	}
	q, err := t.query(sub.Select, sc)
	if err != nil {
		return expr{}, err
	}
	if len(q.items) != len(ls) {
		return expr{}, doriserr.New(doriserr.Analysis, "Operand should contain %d column(s)", len(ls))
	}
	parts := make([]string, len(ls))
	for i, l := range ls {
		typ := common([]expr{l, q.items[i].expr})
		if typ.Kind != value.Invalid && l.class() != null && l.class() != (expr{typ: typ}).class() {
			l.sql = convert(l, typ)
		}
		q.want(i, typ)
		parts[i] = l.sql
	}
	s := strings.Join(parts, ", ")
	if len(parts) > 1 {
		s = "(" + s + ")"
	}
	return expr{sql: "(" + s + " " + not + "IN (" + q.text(false) + "))", typ: boolType}, nil
}

func (t *translator) between(e *sqlparser.BetweenExpr, sc *scope) (expr, error) {
	x, err := t.expr(e.Left, sc)
	if err != nil {
		return expr{}, err
	}
	from, to, err := t.pair(e.From, e.To, sc)
	if err != nil {
		return expr{}, err
	}
	l1, from, err := t.coerce(x, from)
	if err != nil {
		return expr{}, err
	}
	l2, to, err := t.coerce(x, to)
	if err != nil {
		return expr{}, err
	}
	s := "(" + l1.sql + " BETWEEN " + from.sql + " AND " + to.sql + ")"
	if l1.sql != l2.sql {
		s = "(" + l1.sql + " >= " + from.sql + " AND " + l2.sql + " <= " + to.sql + ")"
	}
	if !e.IsBetween {
		s = "(NOT " + s + ")"
	}
	return expr{sql: s, typ: boolType}, nil
}

// like: the escape is a backslash unless the statement says otherwise. DuckDB
// refuses a pattern that ends with the escape; in MySQL it means itself.
func (t *translator) like(e *sqlparser.ComparisonExpr, sc *scope) (expr, error) {
	l, r, err := t.pair(e.Left, e.Right, sc)
	if err != nil {
		return expr{}, err
	}
	escape := `\`
	if e.Escape != nil {
		esc, err := t.expr(e.Escape, sc)
		if err != nil {
			return expr{}, err
		}
		if esc.lit == nil || !esc.lit.string || len(esc.lit.text) > 1 {
			return expr{}, unsupported("ESCAPE %s", nodeName(e.Escape))
		}
		escape = esc.lit.text
	}
	pattern := t.text(r)
	if r.lit != nil && r.lit.string && escape != "" {
		n := 0
		for s := r.lit.text; strings.HasSuffix(s, escape); s = s[:len(s)-1] {
			n++
		}
		if n%2 == 1 {
			pattern = quote(r.lit.text + escape)
		}
	}
	word := " LIKE "
	if e.Operator == sqlparser.NotLikeOp {
		word = " NOT LIKE "
	}
	s := "(" + t.text(l) + word + pattern
	if escape != "" {
		s += " ESCAPE " + quote(escape)
	}
	return expr{sql: s + ")", typ: boolType}, nil
}
