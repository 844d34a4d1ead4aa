package translate

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// scope is where the names of one SELECT are looked up.
type scope struct {
	parent  *scope
	sources []*source
	// merged are the columns of USING and NATURAL joins: the name alone means
	// one of the two columns.
	merged map[string]*sourceColumn
	ctes   map[string]*cte

	// aliases are the select list's names, known once it is translated. Which
	// clause may use them, and when, is decided by mode.
	aliases map[string]expr
	mode    aliasMode

	// inAggregate counts the aggregate functions round the present expression.
	inAggregate int
	// groups are the expressions of GROUP BY, nil until they are known.
	groups map[string]bool
}

// aliasMode says whether an unqualified name may be an alias.
type aliasMode uint8

const (
	noAlias aliasMode = iota
	// aliasLast prefers columns (GROUP BY, HAVING), aliasFirst aliases (ORDER BY).
	aliasLast
	aliasFirst
)

// source is a table, view or subquery in FROM.
type source struct {
	// db and alias are what qualifies its columns.
	db, alias string
	sql       string // how the statement calls it, quoted
	cols      []*sourceColumn
}

type sourceColumn struct {
	src *source
	// name is what clients call it, sql its quoted name inside the source.
	name, sql string
	typ       value.Type
	// ref and index are set for columns of tables.
	ref   *tableRef
	index int
}

// cte is a named subquery of WITH.
type cte struct {
	sql  string
	cols []*sourceColumn
}

func (c *sourceColumn) expr() expr {
	if c.ref != nil {
		c.ref.use(c.index)
	}
	if c.src.sql == "" {
		return expr{sql: c.sql, typ: c.typ} // an input of a Scalar
	}
	return expr{sql: c.src.sql + "." + c.sql, typ: c.typ}
}

// find looks a column up in this scope alone: nil without an error if it is not
// there.
func (s *scope) find(n *sqlparser.ColName) (*sourceColumn, error) {
	name, table, db := n.Name.String(), n.Qualifier.Name.String(), n.Qualifier.Qualifier.String()
	if table == "" {
		if c := s.merged[strings.ToLower(name)]; c != nil {
			return c, nil
		}
	}
	var found *sourceColumn
	for _, src := range s.sources {
		if (table != "" && src.alias != table) || (db != "" && src.db != db) {
			continue
		}
		for _, c := range src.cols {
			if !strings.EqualFold(c.name, name) {
				continue
			}
			if found != nil {
				return nil, doriserr.New(doriserr.Analysis, "Column '%s' in field list is ambiguous", name)
			}
			found = c
		}
	}
	return found, nil
}

// column resolves a name, from the inside out.
func (t *translator) column(n *sqlparser.ColName, s *scope) (expr, error) {
	bare := n.Qualifier.IsEmpty()
	key := strings.ToLower(n.Name.String())
	for in := s; in != nil; in = in.parent {
		// Inside an aggregate function a name is a column.
		mode := in.mode
		if in.inAggregate > 0 {
			mode = noAlias
		}
		alias, isAlias := in.aliases[key]
		if bare && isAlias && mode == aliasFirst {
			t.aliased[n] = true
			return alias, nil
		}
		c, err := in.find(n)
		if err != nil {
			return expr{}, err
		}
		if c != nil {
			e := c.expr()
			// In HAVING a name is a column only if that is grouped.
			if bare && isAlias && mode == aliasLast && in.groups != nil && !in.groups[e.sql] {
				t.aliased[n] = true
				return alias, nil
			}
			return e, nil
		}
		if bare && isAlias && mode == aliasLast {
			t.aliased[n] = true
			return alias, nil
		}
	}
	if t.unknown != nil {
		return expr{}, t.unknown(displayName(n))
	}
	return expr{}, doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in 'table list'", displayName(n))
}

func displayName(n *sqlparser.ColName) string {
	name := n.Name.String()
	if q := n.Qualifier.Name.String(); q != "" {
		name = q + "." + name
	}
	return name
}

func (s *scope) cte(name string) *cte {
	for in := s; in != nil; in = in.parent {
		if c := in.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}
