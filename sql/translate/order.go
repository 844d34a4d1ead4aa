package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
)

// orderLimit translates ORDER BY and LIMIT. NULL is the smallest value.
func (t *translator) orderLimit(order sqlparser.OrderBy, limit *sqlparser.Limit, sc *scope, q *query) (string, error) {
	var sb strings.Builder
	sc.mode = aliasFirst
	defer func() { sc.mode = noAlias }()
	for i, o := range order {
		e, err := t.orderExpr(o.Expr, sc, q)
		if err != nil {
			return "", err
		}
		if i == 0 {
			sb.WriteString(" ORDER BY ")
		} else {
			sb.WriteString(", ")
		}
		sb.WriteString(e + direction(o))
	}
	if limit == nil {
		return sb.String(), nil
	}
	n, err := t.limitNumber(limit.Rowcount)
	if err != nil {
		return "", err
	}
	sb.WriteString(" LIMIT " + n)
	if limit.Offset != nil {
		if n, err = t.limitNumber(limit.Offset); err != nil {
			return "", err
		}
		sb.WriteString(" OFFSET " + n)
	}
	return sb.String(), nil
}

func direction(o *sqlparser.Order) string {
	if o.Direction == sqlparser.DescOrder {
		return " DESC NULLS LAST"
	}
	return " ASC NULLS FIRST"
}

// orderExpr is a position wherever the expression is an output column: DISTINCT
// and UNION demand it.
func (t *translator) orderExpr(oe sqlparser.Expr, sc *scope, q *query) (string, error) {
	i, ok, err := position(oe, len(q.items), "order")
	if err != nil {
		return "", err
	}
	if ok {
		return strconv.Itoa(i + 1), nil
	}
	if n, isName := oe.(*sqlparser.ColName); isName && q.arms != nil {
		for i, it := range q.items {
			if strings.EqualFold(it.name, n.Name.String()) {
				return strconv.Itoa(i + 1), nil
			}
		}
		return "", doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in 'order clause'", n.Name.String())
	}
	if q.arms != nil {
		return "", unsupported("ORDER BY an expression after UNION")
	}
	e, err := t.expr(oe, sc)
	if err != nil {
		return "", err
	}
	for i, it := range q.items {
		if it.sql == e.sql {
			return strconv.Itoa(i + 1), nil
		}
	}
	if e.lit != nil || e.null {
		return "CAST(" + e.sql + " AS VARCHAR)", nil
	}
	return e.sql, nil
}

func (t *translator) limitNumber(e sqlparser.Expr) (string, error) {
	l, ok := e.(*sqlparser.Literal)
	if !ok || l.Type != sqlparser.IntVal {
		return "", unsupported("LIMIT %s", nodeName(e))
	}
	n, err := strconv.ParseUint(l.Val, 10, 64)
	if err != nil {
		return "", doriserr.New(doriserr.Analysis, "LIMIT %s is out of range", l.Val)
	}
	// More than any table has, and still DuckDB's BIGINT.
	return strconv.FormatUint(min(n, 1<<62), 10), nil
}
