package exec

import (
	"net"
	"strconv"

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

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func itoa[T int | int32 | int64](n T) string { return strconv.FormatInt(int64(n), 10) }
