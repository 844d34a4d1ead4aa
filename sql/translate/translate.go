package translate

import (
	"fmt"
	"slices"
	"time"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// Catalog finds tables. Names are as the client wrote them.
type Catalog interface {
	// Table returns nil if the database does not have the table; database says
	// whether there is such a database at all.
	Table(db, name string) (t *meta.Table, database bool)
}

// Env is what a statement depends on besides its text.
type Env struct {
	Catalog Catalog
	// DB is the session's database, empty for none.
	DB string
	// User is the answer of user(), for example "root@%".
	User         string
	ConnectionID uint64
	// Version is the answer of version().
	Version string
	// Now is the time of the statement, in the session's time zone: the zone of
	// from_unixtime and of date literals with a zone as well.
	Now time.Time
	// Variable is the value of @@name: nil, bool, int64, float64 or string. Its
	// error is the client's.
	Variable func(name string, global bool) (any, error)
	// UserVariable is the value of @name, nil if it was never set.
	UserVariable func(name string) any
}

// Translated is a statement for DuckDB.
type Translated struct {
	// SQL refers to its relations by TableRef.Name.
	SQL string
	// Tables are the relations, in the order of the text. A table that is
	// mentioned twice is here twice.
	Tables []TableRef
	// Columns are the columns of the result.
	Columns []Column
	// NoTable says that no table is mentioned. Constant is then the result, or
	// nil if only DuckDB can tell it: any backend may run SQL.
	NoTable  bool
	Constant *block.Block
}

// TableRef is one mention of a table.
type TableRef struct {
	// Name is how SQL calls the relation.
	Name string
	// DB is the database, as the client or the session named it.
	DB    string
	Table *meta.Table
	// Columns are the indexes in Table.Columns that SQL uses, ascending; at
	// least one, so that the relation has rows.
	Columns []int
	// Partitions are the names in PARTITION (...), nil for all.
	Partitions []string
}

// Column is a column of the result.
type Column struct {
	// Name is the alias or the text of the expression, as MySQL shows it.
	Name string
	// Type is a hint, Invalid if nothing is known: DuckDB's result decides the
	// kind, the hint its parameters (fraction digits, JSON, lengths).
	Type value.Type
	// DB, Table and OrgName are set if the column is a table's, unchanged.
	DB, Table, OrgName string
}

// maxDepth bounds how deep expressions and queries nest. DuckDB's own limit
// (max_expression_depth) is 1000.
const maxDepth = 500

// Select translates a SELECT or UNION. Errors are *doriserr.Error.
func Select(sql string, env *Env) (*Translated, error) {
	t := &translator{env: env, sqls: map[sqlparser.Expr]string{}, aliased: map[*sqlparser.ColName]bool{}}
	stmt, err := t.parse(sql)
	if err != nil {
		return nil, err
	}
	q, err := t.query(stmt, nil)
	if err != nil {
		return nil, err
	}
	names := outputNames(sql, len(q.items))
	out := &Translated{Columns: make([]Column, len(q.items)), NoTable: len(t.tables) == 0}
	for i := range q.items {
		it := &q.items[i]
		if !it.named && names != nil {
			it.name = names[i]
		}
		out.Columns[i] = Column{Name: it.name, Type: it.typ, DB: it.db, Table: it.table, OrgName: it.org}
	}
	out.SQL = q.text(true)
	for _, ref := range t.tables {
		out.Tables = append(out.Tables, ref.finish())
	}
	if out.NoTable {
		t.constant(stmt, out)
	}
	return out, nil
}

// translator is the state of one Select.
type translator struct {
	env    *Env
	tables []*tableRef
	// casts are the Doris types that stand behind the marks of rewrite.
	casts   []value.Type
	derived int
	depth   int
	// timed says that the statement's time was used.
	timed bool
	// unknown words the error about an unknown column; nil for MySQL's.
	unknown func(name string) error
	// sqls are the translations of expressions, for the check of GROUP BY;
	// aliased are the names that turned out to be aliases.
	sqls    map[sqlparser.Expr]string
	aliased map[*sqlparser.ColName]bool
}

// tableRef is a TableRef that collects its columns.
type tableRef struct {
	TableRef
	used map[int]bool
}

func (r *tableRef) finish() TableRef {
	if len(r.used) == 0 {
		r.use(narrowest(r.Table))
	}
	for i := range r.used {
		r.Columns = append(r.Columns, i)
	}
	slices.Sort(r.Columns)
	return r.TableRef
}

func (r *tableRef) use(col int) { r.used[col] = true }

// narrowest is the column that costs least to read.
func narrowest(t *meta.Table) int {
	best := 0
	for i, c := range t.Columns {
		if w, b := c.Type.Width(), t.Columns[best].Type.Width(); w > 0 && (b == 0 || w < b) {
			best = i
		}
	}
	return best
}

// enter counts a level of nesting.
func (t *translator) enter() error {
	t.depth++
	if t.depth > maxDepth {
		return doriserr.New(doriserr.Analysis, "the statement nests deeper than %d levels", maxDepth)
	}
	return nil
}

func (t *translator) leave() { t.depth-- }

// now is the time of the statement.
func (t *translator) now() time.Time {
	t.timed = true
	return t.env.Now
}

// unsupported refuses by name.
func unsupported(format string, args ...any) error {
	return doriserr.New(doriserr.Unsupported, "%s is not supported", fmt.Sprintf(format, args...))
}

// nodeName is a short text of a node for error messages.
func nodeName(n sqlparser.SQLNode) string {
	s := sqlparser.String(n)
	if len(s) > 64 {
		s = string(value.TruncateUTF8([]byte(s), 64)) + "..."
	}
	return s
}
