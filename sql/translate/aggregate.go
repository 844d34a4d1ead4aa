package translate

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/value"
)

// aggregateFuncs are the aggregate functions that the grammar does not know as
// such.
var aggregateFuncs map[string]func(t *translator, a expr) expr

func init() {
	approx := func(_ *translator, a expr) expr {
		return expr{sql: "approx_count_distinct(" + a.sql + ")", typ: bigType}
	}
	aggregateFuncs = map[string]func(*translator, expr) expr{"ndv": approx, "approx_count_distinct": approx}
}

func (t *translator) aggregateCall(name string, e *sqlparser.FuncExpr, sc *scope) (expr, error) {
	if len(e.Exprs) != 1 {
		return expr{}, unsupported("%s of %d arguments", name, len(e.Exprs))
	}
	a, err := t.aggregateArgs(e.Exprs, sc)
	if err != nil {
		return expr{}, err
	}
	return aggregateFuncs[name](t, a[0]), nil
}

func (t *translator) aggregateArgs(list []sqlparser.Expr, sc *scope) ([]expr, error) {
	sc.inAggregate++
	defer func() { sc.inAggregate-- }()
	return t.exprs(list, sc)
}

func (t *translator) aggregate(e sqlparser.AggrFunc, sc *scope) (expr, error) {
	if w, ok := e.(sqlparser.WindowFunc); ok && w.GetOverClause() != nil {
		return expr{}, unsupported("window function %s", e.AggrName())
	}
	if g, ok := e.(*sqlparser.GroupConcatExpr); ok {
		return t.groupConcat(g, sc)
	}
	distinct := ""
	if d, ok := e.(sqlparser.DistinctableAggr); ok && d.IsDistinct() {
		distinct = "DISTINCT "
	}
	if _, ok := e.(*sqlparser.CountStar); ok {
		return expr{sql: "count(*)", typ: bigType}, nil
	}
	args, err := t.aggregateArgs(e.GetArgs(), sc)
	if err != nil {
		return expr{}, err
	}
	if len(args) == 0 {
		return expr{}, unsupported("%s", nodeName(e))
	}
	a := args[0]
	switch e.(type) {
	case *sqlparser.Count:
		return countOf(args, distinct), nil
	case *sqlparser.Sum:
		return t.sum(a, distinct), nil
	case *sqlparser.Avg:
		return t.avg(a, distinct), nil
	case *sqlparser.Min:
		return a.with(call("min", "", a.sql)), nil
	case *sqlparser.Max:
		return a.with(call("max", "", a.sql)), nil
	case *sqlparser.AnyValue:
		return a.with(call("any_value", "", a.sql)), nil
	case *sqlparser.Std, *sqlparser.StdDev, *sqlparser.StdPop:
		return expr{sql: call("stddev_pop", "", t.number(a).sql), typ: doubleType}, nil
	case *sqlparser.StdSamp:
		return expr{sql: call("stddev_samp", "", t.number(a).sql), typ: doubleType}, nil
	case *sqlparser.VarPop, *sqlparser.Variance:
		return expr{sql: call("var_pop", "", t.number(a).sql), typ: doubleType}, nil
	case *sqlparser.VarSamp:
		return expr{sql: call("var_samp", "", t.number(a).sql), typ: doubleType}, nil
	case *sqlparser.BitAnd:
		return expr{sql: call("bit_and", "", t.bits(a)), typ: bigType}, nil
	case *sqlparser.BitOr:
		return expr{sql: call("bit_or", "", t.bits(a)), typ: bigType}, nil
	case *sqlparser.BitXor:
		return expr{sql: call("bit_xor", "", t.bits(a)), typ: bigType}, nil
	}
	return expr{}, unsupported("aggregate function %s", e.AggrName())
}

func call(name, distinct, arg string) string { return name + "(" + distinct + arg + ")" }

// countOf: several arguments count the rows where none is NULL.
func countOf(args []expr, distinct string) expr {
	if len(args) == 1 {
		return expr{sql: call("count", distinct, args[0].sql), typ: bigType}
	}
	all := make([]string, len(args))
	for i, a := range args {
		all[i] = a.sql + " IS NOT NULL"
	}
	return expr{sql: call("count", distinct, "CASE WHEN "+strings.Join(all, " AND ")+" THEN row("+list(args)+") END"), typ: bigType}
}

// sum of small integers is a BIGINT, which no number of rows overflows; of
// BIGINT and LARGEINT it is a LARGEINT.
func (t *translator) sum(a expr, distinct string) expr {
	if a.null {
		return expr{sql: "sum(CAST(NULL AS DOUBLE))", typ: doubleType}
	}
	n := t.number(a)
	s := call("sum", distinct, n.sql)
	switch n.class() {
	case integer:
		if n.typ.Kind < value.BigInt {
			return expr{sql: "CAST(" + s + " AS BIGINT)", typ: bigType}
		}
		return expr{sql: s, typ: largeType}
	case decimal:
		return expr{sql: s, typ: decimalType(value.MaxDecimalPrecision, int(n.typ.Scale))}
	case float:
		return expr{sql: s, typ: doubleType}
	}
	return expr{sql: s}
}

// avg of decimals is a decimal with at least 4 fraction digits.
func (t *translator) avg(a expr, distinct string) expr {
	if a.null {
		return expr{sql: "avg(CAST(NULL AS DOUBLE))", typ: doubleType}
	}
	n := t.number(a)
	s := call("avg", distinct, n.sql)
	if n.class() == decimal {
		typ := decimalType(value.MaxDecimalPrecision, max(int(n.typ.Scale), divisionDigits))
		return expr{sql: "CAST(" + s + " AS " + sqlType(typ) + ")", typ: typ}
	}
	return expr{sql: s, typ: doubleType}
}

func (t *translator) groupConcat(g *sqlparser.GroupConcatExpr, sc *scope) (expr, error) {
	if g.Limit != nil {
		return expr{}, unsupported("LIMIT in group_concat")
	}
	args, err := t.aggregateArgs(g.Exprs, sc)
	if err != nil {
		return expr{}, err
	}
	// Doris: a second argument is the separator.
	separator := ","
	if len(args) == 2 && g.Separator == "" && args[1].lit != nil && args[1].lit.string {
		separator = args[1].lit.text
		args = args[:1]
	}
	if g.Separator != "" {
		p, err := parser()
		if err != nil {
			return expr{}, err
		}
		e, err := p.ParseExpr(strings.TrimPrefix(strings.TrimSpace(g.Separator), "separator "))
		l, ok := e.(*sqlparser.Literal)
		if err != nil || !ok {
			return expr{}, unsupported("SEPARATOR %s", g.Separator)
		}
		separator = l.Val
	}
	joined, err := t.apply("concat", args)
	if err != nil {
		return expr{}, err
	}
	var sb strings.Builder
	sb.WriteString("string_agg(")
	if g.Distinct {
		sb.WriteString("DISTINCT ")
	}
	sb.WriteString(joined.sql + ", " + quote(separator))
	for i, o := range g.OrderBy {
		oe, err := t.aggregateArgs([]sqlparser.Expr{o.Expr}, sc)
		if err != nil {
			return expr{}, err
		}
		if i == 0 {
			sb.WriteString(" ORDER BY ")
		} else {
			sb.WriteString(", ")
		}
		sb.WriteString(oe[0].sql + direction(o))
	}
	sb.WriteString(")")
	return expr{sql: sb.String(), typ: stringType}, nil
}
