package translate

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
)

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
