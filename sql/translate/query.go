package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// query is a translated SELECT or UNION.
type query struct {
	with  string
	items []item
	// A SELECT is "SELECT [DISTINCT] items rest"; a UNION has its arms.
	distinct bool
	rest     string
	arms     []*query
	ops      []string // before arms[1], arms[2], ...
	tail     string   // ORDER BY and LIMIT
	closed   bool     // needs parentheses as an arm
}

// item is one output column.
type item struct {
	expr
	name string
	// named says that name is an alias or a column and not the expression's text.
	named          bool
	db, table, org string
	// as is the type that a UNION wants; Invalid for the expression's own.
	as value.Type
}

// text is the SQL. The columns of the outermost query carry their names for
// clients, all others c0, c1, ...
func (q *query) text(outermost bool) string {
	var sb strings.Builder
	sb.WriteString(q.with)
	if q.arms != nil {
		for i, a := range q.arms {
			if i > 0 {
				sb.WriteString(" " + q.ops[i-1] + " ")
			}
			for c := range a.items {
				a.items[c].name = q.items[c].name
			}
			if s := a.text(outermost); a.closed {
				sb.WriteString("(" + s + ")")
			} else {
				sb.WriteString(s)
			}
		}
		return sb.String() + q.tail
	}
	sb.WriteString("SELECT ")
	if q.distinct {
		sb.WriteString("DISTINCT ")
	}
	for i, it := range q.items {
		if i > 0 {
			sb.WriteString(", ")
		}
		name := "c" + strconv.Itoa(i)
		if outermost {
			name = it.name
		}
		s := it.sql
		if it.as.Kind != value.Invalid && !it.null {
			s = convert(it.expr, it.as)
		} else if it.null && it.typ.Kind != value.Invalid {
			s = "CAST(NULL AS " + sqlType(it.typ) + ")"
		}
		sb.WriteString(s + " AS " + quoteName(name))
	}
	return sb.String() + q.rest + q.tail
}

// query translates a SELECT, UNION or parenthesized one.
func (t *translator) query(stmt sqlparser.TableStatement, parent *scope) (*query, error) {
	if err := t.enter(); err != nil {
		return nil, err
	}
	defer t.leave()
	switch s := stmt.(type) {
	case *sqlparser.Select:
		return t.selectQuery(s, parent)
	case *sqlparser.Union:
		return t.union(s, parent)
	}
	return nil, unsupported("VALUES as a query")
}

// with translates WITH to a prefix; the scope knows its names afterwards.
func (t *translator) with(w *sqlparser.With, s *scope) (string, error) {
	if w == nil {
		return "", nil
	}
	if w.Recursive {
		return "", unsupported("WITH RECURSIVE")
	}
	s.ctes = map[string]*cte{}
	var parts []string
	for _, c := range w.CTEs {
		q, err := t.query(c.Subquery, s)
		if err != nil {
			return "", err
		}
		name := quoteName("__w" + strconv.Itoa(t.derived))
		t.derived++
		cols, err := outputs(q, c.Columns)
		if err != nil {
			return "", err
		}
		parts = append(parts, name+" AS ("+q.text(false)+")")
		s.ctes[c.ID.String()] = &cte{sql: name, cols: cols}
	}
	return "WITH " + strings.Join(parts, ", ") + " ", nil
}

// outputs are a subquery's columns for the query round it.
func outputs(q *query, names sqlparser.Columns) ([]*sourceColumn, error) {
	if names != nil && len(names) != len(q.items) {
		return nil, doriserr.New(doriserr.Analysis, "The column list of a derived table has %d names for %d columns", len(names), len(q.items))
	}
	cols := make([]*sourceColumn, len(q.items))
	seen := map[string]bool{}
	for i, it := range q.items {
		name := it.name
		if names != nil {
			name = names[i].String()
		}
		if seen[strings.ToLower(name)] {
			return nil, doriserr.New(doriserr.Analysis, "Duplicate column name '%s'", name)
		}
		seen[strings.ToLower(name)] = true
		cols[i] = &sourceColumn{name: name, sql: quoteName("c" + strconv.Itoa(i)), typ: it.typ}
	}
	return cols, nil
}

func (t *translator) selectQuery(s *sqlparser.Select, parent *scope) (*query, error) {
	if err := refuseClauses(s); err != nil {
		return nil, err
	}
	sc := &scope{parent: parent}
	q := &query{distinct: s.Distinct}
	var err error
	if q.with, err = t.with(s.With, sc); err != nil {
		return nil, err
	}
	from, err := t.from(s.From, sc)
	if err != nil {
		return nil, err
	}
	var where []string
	if s.Where != nil {
		c, err := t.condition(s.Where.Expr, sc)
		if err != nil {
			return nil, err
		}
		where = append(where, c)
	}
	grouped := s.GroupBy != nil || aggregates(s)
	if err := t.selectList(s, sc, q); err != nil {
		return nil, err
	}
	group, err := t.groupBy(s, sc, q)
	if err != nil {
		return nil, err
	}
	having := ""
	if s.Having != nil {
		sc.mode = aliasLast
		if having, err = t.condition(s.Having.Expr, sc); err != nil {
			return nil, err
		}
		if !grouped {
			where, having = append(where, having), ""
		}
	}
	if q.tail, err = t.orderLimit(s.OrderBy, s.Limit, sc, q); err != nil {
		return nil, err
	}
	if grouped {
		if err := t.checkGrouped(s, sc, q); err != nil {
			return nil, err
		}
	}
	q.closed = q.tail != "" || q.with != ""
	q.rest = clauses(from, where, group, having)
	return q, nil
}

func clauses(from string, where []string, group, having string) string {
	var sb strings.Builder
	for _, p := range [][2]string{{" FROM ", from}, {" WHERE ", strings.Join(where, " AND ")}, {" GROUP BY ", group}, {" HAVING ", having}} {
		if p[1] != "" {
			sb.WriteString(p[0] + p[1])
		}
	}
	return sb.String()
}

func refuseClauses(s *sqlparser.Select) error {
	switch {
	case s.Into != nil:
		return unsupported("SELECT ... INTO")
	case s.Lock != sqlparser.NoLock:
		return unsupported("a locking SELECT")
	case s.SQLCalcFoundRows:
		return unsupported("SQL_CALC_FOUND_ROWS")
	case len(s.Windows) > 0:
		return unsupported("a WINDOW clause")
	}
	return nil
}

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

func (t *translator) selectList(s *sqlparser.Select, sc *scope, q *query) error {
	if s.SelectExprs == nil {
		return unsupported("an empty select list")
	}
	sc.aliases = map[string]expr{}
	for _, se := range s.SelectExprs.Exprs {
		switch se := se.(type) {
		case *sqlparser.StarExpr:
			if err := t.star(se, sc, q); err != nil {
				return err
			}
		case *sqlparser.AliasedExpr:
			it, err := t.item(se, sc)
			if err != nil {
				return err
			}
			q.items = append(q.items, it)
		default:
			return unsupported("%s", nodeName(se))
		}
	}
	for i := len(q.items) - 1; i >= 0; i-- {
		if it := q.items[i]; it.named {
			sc.aliases[strings.ToLower(it.name)] = it.expr
		}
	}
	return nil
}

func (t *translator) item(se *sqlparser.AliasedExpr, sc *scope) (item, error) {
	e, err := t.expr(se.Expr, sc)
	if err != nil {
		return item{}, err
	}
	it := item{expr: e, name: nodeName(se.Expr)}
	if n, ok := se.Expr.(*sqlparser.ColName); ok {
		it.name, it.named = n.Name.String(), true
		if c, _ := sc.find(n); c != nil {
			it.org, it.table, it.db = c.name, c.src.alias, c.src.db
		}
	}
	if !se.As.IsEmpty() {
		it.name, it.named = se.As.String(), true
	}
	return it, nil
}

// star lists the columns that * or t.* stands for.
func (t *translator) star(se *sqlparser.StarExpr, sc *scope, q *query) error {
	table, db := se.TableName.Name.String(), se.TableName.Qualifier.String()
	add := func(c *sourceColumn) {
		q.items = append(q.items, item{expr: c.expr(), name: c.name, named: true, org: c.name, table: c.src.alias, db: c.src.db})
	}
	found := false
	done := map[string]bool{}
	if table == "" {
		// Columns of USING come first and once.
		for _, src := range sc.sources {
			for _, c := range src.cols {
				key := strings.ToLower(c.name)
				if m := sc.merged[key]; m != nil && !done[key] {
					done[key] = true
					add(m)
				}
			}
		}
	}
	for _, src := range sc.sources {
		if (table != "" && src.alias != table) || (db != "" && src.db != db) {
			continue
		}
		found = true
		for _, c := range src.cols {
			if table == "" && done[strings.ToLower(c.name)] {
				continue
			}
			add(c)
		}
	}
	switch {
	case found:
		return nil
	case table == "":
		return doriserr.New(doriserr.Analysis, "No tables used")
	}
	return doriserr.New(doriserr.Analysis, "Unknown table '%s'", table)
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

// union joins the arms and gives their columns one type each.
func (t *translator) union(u *sqlparser.Union, parent *scope) (*query, error) {
	switch {
	case u.Into != nil:
		return nil, unsupported("SELECT ... INTO")
	case u.Lock != sqlparser.NoLock:
		return nil, unsupported("a locking SELECT")
	}
	sc := &scope{parent: parent}
	q := &query{}
	var err error
	if q.with, err = t.with(u.With, sc); err != nil {
		return nil, err
	}
	left, err := t.query(u.Left, sc)
	if err != nil {
		return nil, err
	}
	right, err := t.query(u.Right, sc)
	if err != nil {
		return nil, err
	}
	if len(left.items) != len(right.items) {
		return nil, doriserr.New(doriserr.Analysis, "The used SELECT statements have a different number of columns")
	}
	right.closed = right.closed || right.arms != nil
	q.arms, q.ops = []*query{left, right}, []string{"UNION ALL"}
	if u.Distinct {
		q.ops[0] = "UNION"
	}
	q.items = make([]item, len(left.items))
	for i := range q.items {
		l, r := &left.items[i], &right.items[i]
		it := item{expr: expr{typ: common([]expr{l.expr, r.expr})}, name: l.name, named: l.named}
		it.sql = strconv.Itoa(i + 1)
		it.null = l.null && r.null
		for _, arm := range q.arms {
			arm.want(i, it.typ)
		}
		q.items[i] = it
	}
	sc.mode = noAlias
	if q.tail, err = t.orderLimit(u.OrderBy, u.Limit, sc, q); err != nil {
		return nil, err
	}
	q.closed = q.tail != "" || q.with != ""
	return q, nil
}

// want makes column i of q have type typ, where that needs a cast: DuckDB
// finds the common type of numbers, but makes no text of anything.
func (q *query) want(i int, typ value.Type) {
	for _, a := range q.arms {
		a.want(i, typ)
	}
	if q.arms != nil || typ.Kind == value.Invalid {
		return
	}
	it := &q.items[i]
	if it.null {
		it.typ = typ
		return
	}
	have, wanted := it.class(), expr{typ: typ}.class()
	if have != wanted || (have == date && it.typ.Kind != typ.Kind) {
		it.as = typ
	}
}

// quoteName makes a SQL identifier.
func quoteName(s string) string {
	// DuckDB has no empty names and its parser ends at NUL.
	if s = strings.ReplaceAll(s, "\x00", ""); s == "" {
		s = " "
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func itoa(n int) string { return strconv.Itoa(n) }
