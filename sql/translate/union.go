package translate

import (
	"strconv"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

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
