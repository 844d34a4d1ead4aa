package exec

import (
	"strings"
	"testing"
)

// TestQuickInserts: which INSERTs run without a goroutine once the client has sent
// one that could; each gets the answer that it would get otherwise.
func TestQuickInserts(t *testing.T) {
	insert := func(text string) string { return "INSERT INTO t3 VALUES (1,'" + text + "',1)" }
	many := "INSERT INTO t3 VALUES (1,'a',1)" + strings.Repeat(",(1,'a',1)", 200)
	for _, tc := range []struct {
		name  string
		stmts []string
		want  []bool // started
	}{
		{"async", []string{insert("a"), insert("b"), insert("c")}, []bool{false, true, true}},
		{"a long one between", []string{insert("a"), many, insert("b"), insert("c")}, []bool{false, false, false, true}},
		{"another mode", []string{insert("a"), "SET group_commit=sync_mode", insert("b"), insert("c")}, []bool{false, false, false, false}},
		{"an expression", []string{insert("a"), insert("b"), "INSERT INTO t3 VALUES (1+1,'a',1)", insert("c"), insert("d")}, []bool{false, true, false, false, true}},
		{"a query", []string{insert("a"), "SHOW TABLES", insert("b"), insert("c")}, []bool{false, false, false, true}},
		{"a refused one", []string{insert("a"), insert("b"), "INSERT INTO t4 VALUES (1)", "INSERT INTO t3 VALUES (NULL,'a',1)", insert("c")}, []bool{false, true, false, false, true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, session := start(t)
			run := session("root")
			must(t, run, "CREATE DATABASE db", "USE db", createT3, "SET group_commit=async_mode")
			for i, stmt := range tc.stmts {
				before, loads := w.started, len(w.loads)
				_, err := run(stmt)
				if got := w.started > before; got != tc.want[i] {
					t.Errorf("%d, %.40s: started %t", i, stmt, got)
				}
				if bad := strings.Contains(stmt, "t4") || strings.Contains(stmt, "NULL"); bad != (err != nil) {
					t.Errorf("%d, %.40s: %v", i, stmt, err)
				}
				if got := len(w.loads) - loads; strings.Contains(stmt, "t3") && err == nil && got != 1 {
					t.Errorf("%d, %.40s: %d loads", i, stmt, got)
				}
			}
		})
	}
}
