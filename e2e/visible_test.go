package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

func createV(s *session, name, columns string, intervalMs int) {
	s.tb.Helper()
	s.run("CREATE DATABASE IF NOT EXISTS db")
	s.run("USE db")
	s.run(fmt.Sprintf(`CREATE TABLE %s (%s) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2
		PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "%d")`, name, columns, intervalMs))
}

// TestSyncIsVisible: after the answer to a sync INSERT each connection sees the
// row at once.
func TestSyncIsVisible(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 2)
	createV(connect(t, c.address("")), "t", "id INT NOT NULL, n INT NULL", 20)
	var wg sync.WaitGroup
	for client := range 10 {
		s, other := connect(t, c.address("db")), connect(t, c.address("db"))
		wg.Go(func() {
			for _, mode := range []string{"sync_mode", "off_mode"} {
				if _, err := s.try("SET group_commit = " + mode); err != nil {
					t.Error(err)
				}
				for i := range 5 {
					id := client*100 + i
					if mode == "off_mode" {
						id += 50
					}
					var err error
					if i%2 == 0 {
						_, err = s.try(fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", id, i))
					} else {
						err = s.prepared("INSERT INTO t VALUES (?, ?)", id, i)
					}
					if err != nil {
						t.Errorf("%s: id %d: %s", mode, id, err)
						continue
					}
					for name, reader := range map[string]*session{"the same": s, "another": other} {
						rows, err := reader.try(fmt.Sprintf("SELECT n FROM t WHERE id = %d", id))
						if err != nil || len(rows) != 1 || rows[0][0] != fmt.Sprint(i) {
							t.Errorf("%s: id %d on %s connection right after the answer: %v, %v", mode, id, name, rows, err)
						}
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestGroupLabel: the members of a group have its label and transaction; the
// transaction's state is the truth for them.
func TestGroupLabel(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	setup := connect(t, a.address(""))
	createV(setup, "t", "id INT NOT NULL, n INT NULL", 500)
	type answer struct{ label, txn string }
	insert := func(mode string, n int) []answer {
		out := make([]answer, n)
		var wg sync.WaitGroup
		for i := range n {
			s := connect(t, a.address("db"))
			s.run("SET group_commit = " + mode)
			wg.Go(func() {
				if _, err := s.try(fmt.Sprintf("INSERT INTO t VALUES (%d, 1)", i)); err != nil {
					t.Error(err)
					return
				}
				out[i] = answer{s.column("SHOW LAST INSERT", "Label"), s.column("SHOW LAST INSERT", "TransactionId")}
			})
		}
		wg.Wait()
		return out
	}
	for _, mode := range []string{"sync_mode", "async_mode"} {
		got := insert(mode, 5)
		for _, g := range got {
			if g != got[0] || !strings.HasPrefix(g.label, "group_commit_") {
				t.Errorf("%s: %v, want one group", mode, got)
				break
			}
		}
		eventually(t, settleTime, "the group is visible", func() (bool, string) {
			st := setup.column("SHOW TRANSACTION WHERE label = '"+got[0].label+"'", "TransactionStatus")
			if mode == "sync_mode" && st != "VISIBLE" {
				t.Errorf("a sync client heard success, its group is %s", st)
			}
			return st == "VISIBLE", st
		})
	}
	got := insert("off_mode", 3)
	for i, g := range got {
		if !strings.HasPrefix(g.label, "label_") || g == got[(i+1)%3] {
			t.Errorf("without group commit: %v, want a label for each", got)
		}
	}
	var load *reply
	var wg sync.WaitGroup
	wg.Go(func() {
		load = mustLoad(t, a.beHTTP, "db", "t", strings.NewReader("7,7\n"), "column_separator", ",", "group_commit", "sync_mode")
	})
	member := insert("sync_mode", 1)[0]
	wg.Wait()
	if !load.GroupCommit || load.Label != member.label || fmt.Sprint(load.TxnID) != member.txn {
		t.Errorf("Stream Load in group %s (%d), INSERT at the same time in %v", load.Label, load.TxnID, member)
	}
}

// refusedWays are the ways of an INSERT whose second row does not fit.
var refusedWays = map[string]func(s *session) error{
	"text": func(s *session) error {
		_, err := s.try("INSERT INTO t VALUES (1, 'a', 1), (2147483648, 'b', 2)")
		return err
	},
	"prepared": func(s *session) error {
		return s.prepared("INSERT INTO t VALUES (?, ?, ?), (?, ?, ?)", 1, "a", 1, int64(2147483648), "b", 2)
	},
	"prepared, null": func(s *session) error {
		return s.prepared("INSERT INTO t VALUES (?, ?, ?), (?, ?, ?)", 1, "a", 1, nil, "b", 2)
	},
}

// TestRefusedWhole: a statement with one bad row stores none, in each mode, also
// not later from a WAL.
func TestRefusedWhole(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createV(s, "t", "id INT NOT NULL, s VARCHAR(64) NULL, n INT NULL", 600_000)
	modes := []string{"off_mode", "sync_mode", "async_mode"}
	for _, mode := range modes {
		s.run("SET group_commit = " + mode)
		for way, run := range refusedWays {
			checkRefused(t, mode+", "+way, run(s), 0, "id")
		}
	}
	// One good row opens a WAL, into which nothing else may have come.
	s.run("INSERT INTO t VALUES (9, 'good', 9)")
	a.kill()
	a.start()
	s = connect(t, a.address("db"))
	eventually(t, settleTime, "the WAL is replayed", func() (bool, string) {
		n := s.value("SELECT COUNT(*) FROM t")
		return n != "0", n
	})
	if rows := s.run("SELECT id FROM t"); len(rows) != 1 || rows[0][0] != "9" {
		t.Errorf("rows %v, want 9 alone", rows)
	}
}

// TestLiteralsStay: text that means something to some format is data, in each
// mode and after a crash.
func TestLiteralsStay(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createV(s, "t", "id INT NOT NULL, s VARCHAR(64) NULL, n INT NULL", 10)
	want := []string{`\N`, `"q"`, "a,b\n\tc", "", null, "nul\x00byte", `\N`, "中文 it's", "%_"}
	send := func(base int) {
		t.Helper()
		s.run(fmt.Sprintf(`INSERT INTO t VALUES (%d, '\\N', 1), (%d, '"q"', 2), (%d, 'a,b\n\tc', 3), (%d, '', 4), (%d, NULL, 5)`,
			base, base+1, base+2, base+3, base+4))
		err := s.prepared("INSERT INTO t VALUES (?, ?, ?), (?, ?, ?), (?, ?, 8), (?, ?, ?)",
			base+5, "nul\x00byte", 6, base+6, []byte(`\N`), 7, base+7, "中文 it's", base+8, "%_", 9)
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(base int, when string) {
		t.Helper()
		var rows [][]string
		eventually(t, settleTime, "the rows are visible "+when, func() (bool, string) {
			rows = s.run(fmt.Sprintf("SELECT s, n FROM t WHERE id >= %d AND id < %d ORDER BY id", base, base+100))
			return len(rows) == len(want), fmt.Sprint(rows)
		})
		for i, r := range rows {
			if r[0] != want[i] || r[1] != fmt.Sprint(i+1) {
				t.Errorf("%s: row %d is %q", when, i+1, r)
			}
		}
	}
	for i, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
		s.run("SET group_commit = " + mode)
		send(100 * i)
		check(100*i, mode)
	}
	s.run(`ALTER TABLE t SET ("group_commit_interval_ms" = "600000")`)
	send(500)
	a.kill()
	a.start()
	s = connect(t, a.address("db"))
	check(500, "after a crash")
}

// TestCurrentTimestamp: the default belongs to the statement: rows of one
// statement share it, statements of one group do not, in the session's zone, and
// a replay does not change it.
func TestCurrentTimestamp(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createV(s, "t", "id INT NOT NULL, at DATETIME(3) NULL DEFAULT CURRENT_TIMESTAMP(3), n INT NULL", 600_000)
	s.run("SET group_commit = async_mode")
	zones := []string{"+00:00", "+05:30", "-08:00"}
	type span struct{ from, to time.Time }
	spans := map[string]span{}
	at := rand.IntN(3)
	for i, zone := range zones {
		s.run("SET time_zone = '" + zone + "'")
		for j := range 2 {
			id := i*10 + j*2
			from := time.Now()
			if j == at%2 {
				s.run(fmt.Sprintf("INSERT INTO t (id, n) VALUES (%d, 1), (%d, 2)", id, id+1))
			} else if err := s.prepared("INSERT INTO t (id, n) VALUES (?, 1), (?, 2)", id, id+1); err != nil {
				t.Fatal(err)
			}
			sp := span{from, time.Now()}
			spans[fmt.Sprint(id)], spans[fmt.Sprint(id+1)] = sp, sp
			time.Sleep(3 * time.Millisecond) // the next statement is later by more than the column's unit
		}
	}
	a.kill()
	a.start()
	s = connect(t, a.address("db"))
	var rows [][]string
	eventually(t, settleTime, "the WAL is replayed", func() (bool, string) {
		rows = s.run("SELECT id, at FROM t ORDER BY id")
		return len(rows) == len(spans), fmt.Sprint(rows)
	})
	seen := map[string]int{}
	for _, r := range rows {
		id := number(t, r[0])
		zone, err := time.Parse("-07:00", zones[id/10])
		if err != nil {
			t.Fatal(err)
		}
		got, err := time.ParseInLocation("2006-01-02 15:04:05.000", r[1], zone.Location())
		if err != nil {
			t.Fatal(err)
		}
		sp := spans[r[0]]
		if got.Before(sp.from.Truncate(time.Millisecond)) || got.After(sp.to.Add(time.Millisecond)) {
			t.Errorf("id %s in %s: %s, sent from %s to %s", r[0], zones[id/10], r[1], sp.from.UTC(), sp.to.UTC())
		}
		seen[r[1]]++
	}
	for text, n := range seen {
		if n != 2 {
			t.Errorf("%d rows have the time %s, want the 2 of one statement", n, text)
		}
	}
}
