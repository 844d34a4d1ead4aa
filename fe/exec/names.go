package exec

import (
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/value"
)

func txnStateName(state int32) string { return txn.State(state).String() }

// columnTypes are the types of a table's columns, in order.
func columnTypes(t *meta.Table) []value.Type {
	out := make([]value.Type, len(t.Columns))
	for i := range t.Columns {
		out[i] = t.Columns[i].Type
	}
	return out
}
