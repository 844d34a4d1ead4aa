package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
)

// walkOutput visits the clauses that come after grouping.
func walkOutput(s *sqlparser.Select, visit sqlparser.Visit) error {
	if s.Having != nil {
		return sqlparser.Walk(visit, s.SelectExprs, s.Having, s.OrderBy)
	}
	return sqlparser.Walk(visit, s.SelectExprs, s.OrderBy)
}

// aggregates reports whether a SELECT aggregates without GROUP BY.
func aggregates(s *sqlparser.Select) bool {
	found := false
	visit := func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Subquery:
			return false, nil
		case sqlparser.AggrFunc:
			found = true
		case *sqlparser.FuncExpr:
			found = found || aggregateFuncs[n.Name.Lowered()] != nil
		}
		return !found, nil
	}
	// The visitor returns no error.
	_ = walkOutput(s, visit)
	return found
}

// groupBy translates GROUP BY; the scope knows the groups afterwards.
func (t *translator) groupBy(s *sqlparser.Select, sc *scope, q *query) (string, error) {
	if s.GroupBy == nil {
		return "", nil
	}
	var parts []string
	groups := map[string]bool{}
	sc.mode = aliasLast
	for _, ge := range s.GroupBy.Exprs {
		e, err := t.groupExpr(ge, sc, q)
		if err != nil {
			return "", err
		}
		groups[e.sql] = true
		if e.lit != nil || e.null {
			// A bare number would be a position.
			e.sql = "CAST(" + e.sql + " AS VARCHAR)"
		}
		parts = append(parts, e.sql)
	}
	sc.groups = groups
	sc.mode = noAlias
	if s.GroupBy.WithRollup {
		return "ROLLUP (" + strings.Join(parts, ", ") + ")", nil
	}
	return strings.Join(parts, ", "), nil
}

// checkGrouped refuses columns outside of aggregate functions and grouped
// expressions. DuckDB would too, in words that mention its names.
func (t *translator) checkGrouped(s *sqlparser.Select, sc *scope, q *query) error {
	loose := func(name string) error {
		return doriserr.New(doriserr.Analysis, "'%s' must appear in the GROUP BY clause or be used in an aggregate function", name)
	}
	visit := func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Subquery, sqlparser.AggrFunc:
			return false, nil
		case *sqlparser.FuncExpr:
			if aggregateFuncs[n.Name.Lowered()] != nil {
				return false, nil
			}
		case sqlparser.ValTuple:
			return true, nil
		}
		e, ok := n.(sqlparser.Expr)
		if !ok {
			return true, nil
		}
		if sql, ok := t.sqls[e]; ok && sc.groups[sql] {
			return false, nil
		}
		if c, ok := e.(*sqlparser.ColName); ok && !t.aliased[c] {
			if _, outer := t.sqls[e]; outer {
				return false, loose(displayName(c))
			}
		}
		return true, nil
	}
	if err := walkOutput(s, visit); err != nil {
		return err
	}
	for _, se := range s.SelectExprs.Exprs {
		if _, star := se.(*sqlparser.StarExpr); !star {
			continue
		}
		for _, it := range q.items {
			if it.org != "" && !sc.groups[it.sql] {
				return loose(it.name)
			}
		}
	}
	return nil
}

// groupExpr is an expression, a position or an alias.
func (t *translator) groupExpr(ge sqlparser.Expr, sc *scope, q *query) (expr, error) {
	if i, ok, err := position(ge, len(q.items), "group"); ok || err != nil {
		if err != nil {
			return expr{}, err
		}
		return q.items[i].expr, nil
	}
	return t.expr(ge, sc)
}

// position reads 1, 2, ... in GROUP BY and ORDER BY.
func position(e sqlparser.Expr, n int, clause string) (int, bool, error) {
	l, ok := e.(*sqlparser.Literal)
	if !ok || l.Type != sqlparser.IntVal {
		return 0, false, nil
	}
	i, err := strconv.Atoi(l.Val)
	if err != nil || i < 1 || i > n {
		return 0, false, doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in '%s statement'", l.Val, clause)
	}
	return i - 1, true, nil
}
