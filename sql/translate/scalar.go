package translate

import (
	"slices"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// Input is a value of a row that expressions may use by its name, which is
// matched without case.
type Input struct {
	Name string
	Type value.Type
	// SQL is how the statement that the expression becomes part of calls the
	// value.
	SQL string
}

// Scalar is an expression over the values of one row.
type Scalar struct {
	// SQL is NULL where the expression fails, so that one row's values never
	// fail the rows beside it.
	SQL string
	// Type is the wanted one, or String where the value is still to be
	// converted by the rules for texts (package value).
	Type value.Type
	// Uses are the indexes of the inputs that SQL mentions, ascending.
	Uses []int
	// Timed says that SQL holds Env.Now: it is good for one request only.
	Timed bool
}

// ScalarOptions say what an expression is for.
type ScalarOptions struct {
	// Want is the type that the value is to have, by the rules of CAST. A text
	// stays a text, and what is to become a text or JSON becomes a text.
	Want value.Type
	// Condition makes a truth value of the expression instead.
	Condition bool
	// Unknown is the error about a name that is no input; nil for MySQL's.
	Unknown func(name string) error
}

// NewScalar translates one expression. It may use the inputs and functions, but
// no subquery and no aggregate function.
func NewScalar(text string, inputs []Input, o ScalarOptions, env *Env) (*Scalar, error) {
	t := &translator{env: env, sqls: map[sqlparser.Expr]string{}, aliased: map[*sqlparser.ColName]bool{}, unknown: o.Unknown}
	e, err := t.parseScalar(text)
	if err != nil {
		return nil, err
	}
	ref := &tableRef{used: map[int]bool{}}
	src := &source{}
	for i, in := range inputs {
		src.cols = append(src.cols, &sourceColumn{src: src, name: in.Name, sql: in.SQL, typ: in.Type, ref: ref, index: i})
	}
	sc := &scope{sources: []*source{src}}
	out := &Scalar{Type: boolType}
	var sql string
	if o.Condition {
		sql, err = t.condition(e, sc)
	} else {
		sql, out.Type, err = t.scalarAs(e, sc, o.Want)
	}
	if err != nil {
		return nil, err
	}
	out.SQL, out.Timed = "TRY("+sql+")", t.timed
	for i := range ref.used {
		out.Uses = append(out.Uses, i)
	}
	slices.Sort(out.Uses)
	return out, nil
}

// scalarAs translates an expression whose value is to become a value of a type.
func (t *translator) scalarAs(e sqlparser.Expr, sc *scope, want value.Type) (string, value.Type, error) {
	x, err := t.expr(e, sc)
	if err != nil {
		return "", want, err
	}
	if c := x.class(); want.IsVar() || c == text || c == unknown {
		return t.text(x), stringType, nil
	}
	x, err = t.castTo(x, want)
	return x.sql, want, err
}

// parseScalar reads an expression, and nothing behind it.
func (t *translator) parseScalar(text string) (sqlparser.Expr, error) {
	stmt, err := t.parse("SELECT (\n" + text + "\n)")
	if err != nil {
		return nil, err
	}
	s, ok := stmt.(*sqlparser.Select)
	if !ok || len(s.SelectExprs.Exprs) != 1 || len(s.From) != 1 || s.Where != nil || s.GroupBy != nil || s.Having != nil ||
		s.OrderBy != nil || s.Limit != nil || s.Windows != nil || s.Into != nil || s.With != nil || s.Distinct || s.Lock != sqlparser.NoLock {
		return nil, notOneExpression()
	}
	item, ok := s.SelectExprs.Exprs[0].(*sqlparser.AliasedExpr)
	if !ok || !item.As.IsEmpty() || sqlparser.String(s.From[0]) != "dual" {
		return nil, notOneExpression()
	}
	return item.Expr, sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Subquery, *sqlparser.ExistsExpr:
			return false, unsupported("a subquery in an expression of a load")
		case *sqlparser.FuncExpr:
			if aggregateFuncs[n.Name.Lowered()] != nil {
				return false, doriserr.New(doriserr.Analysis, "aggregate function %s is not allowed in an expression over one row", n.Name.Lowered())
			}
		case sqlparser.AggrFunc:
			return false, doriserr.New(doriserr.Analysis, "aggregate function %s is not allowed in an expression over one row", n.AggrName())
		}
		return true, nil
	}, item.Expr)
}

func notOneExpression() error { return doriserr.New(doriserr.Parse, "expected one expression") }
