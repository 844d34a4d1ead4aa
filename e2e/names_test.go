package e2e

import (
	"strings"
	"testing"
)

// TestColumnNames: columns that are called like keywords, with signs, in another
// script or in another case are found by loads, and by the replay of a WAL, which
// goes by their ids.
func TestColumnNames(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("CREATE TABLE db.q (id INT, `desc` INT, `@t` INT, `编号` INT, `Mixed` INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 " +
		"PROPERTIES ('replication_num' = '1', 'group_commit_interval_ms' = '600000')")
	for i, columns := range []string{"ID, `desc`, `@t`, 编号, mixed", "`id`,DESC,`@t`,`编号`,`MIXED`"} {
		r := mustLoad(t, a.beHTTP, "db", "q", strings.NewReader([]string{"1,2,3,4,5\n", "6,7,8,9,10\n"}[i]),
			"column_separator", ",", "columns", columns, "group_commit", "async_mode")
		if !r.GroupCommit || r.Loaded != 1 {
			t.Errorf("columns %s: %+v", columns, *r)
		}
	}
	s.run("SET group_commit = async_mode")
	s.run("INSERT INTO db.q (MIXED, `编号`, `@t`, `Desc`, id) VALUES (15, 14, 13, 12, 11)")
	if n := len(a.wals(t)); n != 1 {
		t.Errorf("%d WALs before the crash", n)
	}
	a.kill()
	a.start()
	s = connect(t, a.address("db"))
	want := "1 2 3 4 5|6 7 8 9 10|11 12 13 14 15"
	eventually(t, settleTime, "the WAL is replayed", func() (bool, string) {
		rows, err := s.try("SELECT id, `desc`, `@t`, `编号`, mixed FROM q ORDER BY id")
		if err != nil {
			return false, err.Error()
		}
		var got []string
		for _, r := range rows {
			got = append(got, strings.Join(r, " "))
		}
		return strings.Join(got, "|") == want, strings.Join(got, "|")
	})
}
