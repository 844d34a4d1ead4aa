package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
)

// from translates FROM and fills the scope; "" if there is no table.
func (t *translator) from(list []sqlparser.TableExpr, sc *scope) (string, error) {
	if len(list) == 1 {
		if a, ok := list[0].(*sqlparser.AliasedTableExpr); ok {
			if n, ok := a.Expr.(sqlparser.TableName); ok && n.Qualifier.IsEmpty() && strings.EqualFold(n.Name.String(), "dual") {
				return "", nil
			}
		}
	}
	parts := make([]string, len(list))
	for i, te := range list {
		var err error
		if parts[i], err = t.tableExpr(te, sc); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, ", "), nil
}

func (t *translator) tableExpr(te sqlparser.TableExpr, sc *scope) (string, error) {
	if err := t.enter(); err != nil {
		return "", err
	}
	defer t.leave()
	switch te := te.(type) {
	case *sqlparser.AliasedTableExpr:
		return t.aliasedTable(te, sc)
	case *sqlparser.ParenTableExpr:
		s, err := t.from(te.Exprs, sc)
		return "(" + s + ")", err
	case *sqlparser.JoinTableExpr:
		return t.join(te, sc)
	}
	return "", unsupported("%s", nodeName(te))
}

func (t *translator) aliasedTable(a *sqlparser.AliasedTableExpr, sc *scope) (string, error) {
	switch e := a.Expr.(type) {
	case sqlparser.TableName:
		return t.table(e, a, sc)
	case *sqlparser.DerivedTable:
		if e.Lateral {
			return "", unsupported("LATERAL")
		}
		// A subquery in FROM sees the queries round its SELECT, not its neighbours.
		q, err := t.query(e.Select, &scope{parent: sc.parent, ctes: sc.ctes})
		if err != nil {
			return "", err
		}
		cols, err := outputs(q, a.Columns)
		if err != nil {
			return "", err
		}
		name := quoteName("__d" + strconv.Itoa(t.derived))
		t.derived++
		if err := sc.add(&source{alias: a.As.String(), sql: name, cols: cols}); err != nil {
			return "", err
		}
		return "(" + q.text(false) + ") AS " + name, nil
	}
	return "", unsupported("%s", nodeName(a.Expr))
}

// table adds a table of the catalog or a subquery of WITH.
func (t *translator) table(n sqlparser.TableName, a *sqlparser.AliasedTableExpr, sc *scope) (string, error) {
	name, db := n.Name.String(), n.Qualifier.String()
	alias := a.As.String()
	if alias == "" {
		alias = name
	}
	if c := sc.cte(name); c != nil && db == "" {
		src := &source{alias: alias, sql: quoteName("__d" + strconv.Itoa(t.derived))}
		t.derived++
		for _, col := range c.cols {
			src.cols = append(src.cols, &sourceColumn{name: col.name, sql: col.sql, typ: col.typ})
		}
		return c.sql + " AS " + src.sql, sc.add(src)
	}
	if db == "" {
		if db = t.env.DB; db == "" {
			return "", doriserr.New(doriserr.NoDatabase, "No database selected")
		}
	}
	tbl, known := t.env.Catalog.Table(db, name)
	switch {
	case !known:
		return "", doriserr.New(doriserr.UnknownDatabase, "Unknown database '%s'", db)
	case tbl == nil:
		return "", doriserr.New(doriserr.UnknownTable, "Table [%s] does not exist in database [%s].", name, db)
	case len(tbl.Columns) == 0:
		return "", doriserr.New(doriserr.Internal, "table [%s] has no columns", name)
	}
	ref := &tableRef{TableRef: TableRef{Name: "__t" + strconv.Itoa(len(t.tables)), DB: db, Table: tbl}, used: map[int]bool{}}
	for _, p := range a.Partitions {
		ref.Partitions = append(ref.Partitions, p.String())
	}
	t.tables = append(t.tables, ref)
	src := &source{db: db, alias: alias, sql: quoteName(ref.Name)}
	for i, c := range tbl.Columns {
		src.cols = append(src.cols, &sourceColumn{name: c.Name, sql: quoteName(c.Name), typ: c.Type, ref: ref, index: i})
	}
	return src.sql, sc.add(src)
}

// add puts a source into the scope; two must not answer to the same name.
func (s *scope) add(src *source) error {
	for _, other := range s.sources {
		if other.alias == src.alias && other.db == src.db {
			return doriserr.New(doriserr.Analysis, "Not unique table/alias: '%s'", src.alias)
		}
	}
	for _, c := range src.cols {
		c.src = src
	}
	s.sources = append(s.sources, src)
	return nil
}

// join translates a join. USING and NATURAL become conditions, so that a column
// name never stands for two columns in the SQL.
func (t *translator) join(j *sqlparser.JoinTableExpr, sc *scope) (string, error) {
	start := len(sc.sources)
	left, err := t.tableExpr(j.LeftExpr, sc)
	if err != nil {
		return "", err
	}
	mid := len(sc.sources)
	right, err := t.tableExpr(j.RightExpr, sc)
	if err != nil {
		return "", err
	}
	if _, nested := j.RightExpr.(*sqlparser.JoinTableExpr); nested {
		right = "(" + right + ")"
	}
	word, natural := "INNER JOIN", false
	switch j.Join {
	case sqlparser.LeftJoinType:
		word = "LEFT JOIN"
	case sqlparser.RightJoinType:
		word = "RIGHT JOIN"
	case sqlparser.NaturalJoinType:
		natural = true
	case sqlparser.NaturalLeftJoinType:
		word, natural = "LEFT JOIN", true
	case sqlparser.NaturalRightJoinType:
		word, natural = "RIGHT JOIN", true
	}
	var conds []string
	lefts, rights := sc.sources[start:mid], sc.sources[mid:]
	if natural || (j.Condition != nil && j.Condition.Using != nil) {
		names, err := usingNames(j, lefts, rights, natural)
		if err != nil {
			return "", err
		}
		for _, n := range names {
			c, err := t.using(n, lefts, rights, word == "RIGHT JOIN", sc)
			if err != nil {
				return "", err
			}
			conds = append(conds, c)
		}
	} else if j.Condition != nil && j.Condition.On != nil {
		c, err := t.condition(j.Condition.On, sc)
		if err != nil {
			return "", err
		}
		conds = append(conds, c)
	}
	if len(conds) == 0 {
		if word != "INNER JOIN" {
			conds = []string{"TRUE"}
		} else {
			return left + " CROSS JOIN " + right, nil
		}
	}
	return left + " " + word + " " + right + " ON " + strings.Join(conds, " AND "), nil
}

// usingNames are the columns that a join merges.
func usingNames(j *sqlparser.JoinTableExpr, lefts, rights []*source, natural bool) ([]string, error) {
	var names []string
	if !natural {
		for _, c := range j.Condition.Using {
			names = append(names, c.String())
		}
		return names, nil
	}
	for _, src := range lefts {
		for _, c := range src.cols {
			if len(columnsNamed(rights, c.name)) > 0 {
				names = append(names, c.name)
			}
		}
	}
	return names, nil
}

func columnsNamed(srcs []*source, name string) []*sourceColumn {
	var out []*sourceColumn
	for _, s := range srcs {
		for _, c := range s.cols {
			if strings.EqualFold(c.name, name) {
				out = append(out, c)
			}
		}
	}
	return out
}

// using compares one merged column and makes its bare name mean the side that
// is never filled up with NULLs.
func (t *translator) using(name string, lefts, rights []*source, preferRight bool, sc *scope) (string, error) {
	key := strings.ToLower(name)
	ls, rs := columnsNamed(lefts, name), columnsNamed(rights, name)
	if m := sc.merged[key]; m != nil && len(ls) > 1 {
		ls = []*sourceColumn{m}
	}
	switch {
	case len(ls) == 0 || len(rs) == 0:
		return "", doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in 'from clause'", name)
	case len(ls) > 1 || len(rs) > 1:
		return "", doriserr.New(doriserr.Analysis, "Column '%s' in from clause is ambiguous", name)
	}
	l, r := ls[0], rs[0]
	if sc.merged == nil {
		sc.merged = map[string]*sourceColumn{}
	}
	sc.merged[key] = l
	if preferRight {
		sc.merged[key] = r
	}
	le, re, err := t.coerce(l.expr(), r.expr())
	if err != nil {
		return "", err
	}
	return le.sql + " = " + re.sql, nil
}
