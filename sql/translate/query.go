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

// quoteName makes a SQL identifier.
func quoteName(s string) string {
	// DuckDB has no empty names and its parser ends at NUL.
	if s = strings.ReplaceAll(s, "\x00", ""); s == "" {
		s = " "
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func itoa(n int) string { return strconv.Itoa(n) }
