package testcluster

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestWhenGroupCommitIsUsed: what cannot be merged runs as a load of its own,
// and the label tells which way was taken.
func TestWhenGroupCommitIsUsed(t *testing.T) {
	c := start(t, 1, 1)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 2, 1, 50))
	for _, tc := range []struct {
		set, query string
		group      bool
	}{
		{"SET group_commit = sync_mode", "INSERT INTO t VALUES (1, 'a', 1)", true},
		{"SET group_commit = SYNC_MODE", "INSERT INTO t (n, id) VALUES (2, 2)", true},
		{"SET group_commit = Async_Mode", "INSERT INTO t VALUES (3, 'a', 1), (4, 'b', 2)", true},
		{"SET group_commit = async_mode", "INSERT INTO t VALUES (1 + 4, 'a', 1)", false},
		{"SET group_commit = async_mode", "INSERT INTO t WITH LABEL mine VALUES (6, 'a', 1)", false},
		{"SET group_commit = async_mode", "INSERT INTO t PARTITION (t) VALUES (7, 'a', 1)", false},
		{"SET group_commit = off_mode", "INSERT INTO t VALUES (8, 'a', 1)", false},
		{"SET enable_unique_key_partial_update = true", "INSERT INTO t VALUES (9, 'a', 1)", false},
	} {
		s.exec(tc.set)
		got := s.insert(tc.query)
		if got.group != tc.group || !tc.group && got.status != "VISIBLE" {
			t.Errorf("%s; %s: label %s, status %s", tc.set, tc.query, got.label, got.status)
		}
	}
	s.eventually(5*time.Second, "SELECT COUNT(*), SUM(id) FROM t", "9,45")
	s.exec("SET enable_unique_key_partial_update = false")
	s.refused("INSERT INTO t WITH LABEL group_commit_mine VALUES (1, 'a', 1)", "group_commit_")
	s.refused("INSERT INTO t PARTITION (p1) VALUES (1, 'a', 1)", "p1")
	s.refused("SET group_commit = sometimes", "group_commit")

	// In a transaction nothing joins a group, and nothing is left of one that
	// was rolled back.
	s.exec("SET group_commit = sync_mode")
	s.exec("BEGIN")
	s.exec("INSERT INTO t VALUES (100, 'x', 1)")
	s.exec("ROLLBACK")
	s.want("SELECT COUNT(*) FROM t WHERE id = 100", "0")

	// The session beats the table's property, which counts where the session
	// says nothing.
	s.exec(`ALTER TABLE t SET ("group_commit_mode" = "sync_mode")`)
	if got := s.insert("INSERT INTO t VALUES (11, 'a', 1)"); !got.group {
		t.Errorf("with SET and the property: %+v", got)
	}
	fresh := connect(t, c, 0)
	fresh.exec("USE d")
	if got := fresh.insert("INSERT INTO t VALUES (12, 'a', 1)"); !got.group {
		t.Errorf("with the property alone: %+v", got)
	}
	fresh.exec("SET group_commit = off_mode")
	if got := fresh.insert("INSERT INTO t VALUES (13, 'a', 1)"); got.group {
		t.Errorf("off_mode against the property: %+v", got)
	}
	s.want("SELECT COUNT(*), SUM(id) FROM t", "12,81")
}

// TestSyncMeansVisible: a sync INSERT that succeeded is found at once by whoever
// asks the frontend.
func TestSyncMeansVisible(t *testing.T) {
	c := start(t, 1, 2)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 4, 1, 20))
	var wg sync.WaitGroup
	for client := range 8 {
		writer, reader := connect(t, c, 0), connect(t, c, 0)
		writer.exec("USE d")
		reader.exec("USE d")
		writer.exec("SET group_commit = sync_mode")
		wg.Go(func() {
			for i := range 6 {
				id := client*100 + i
				if err := writer.try(fmt.Sprintf("INSERT INTO t VALUES (%d, 'a', 1)", id)); err != nil {
					t.Errorf("client %d: %v", client, err)
					return
				}
				reader.want(fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id = %d", id), "1")
			}
		})
	}
	wg.Wait()
	s.want("SELECT COUNT(*) FROM t", "48")
}

// TestFollowerCarriesTheSession: group commit set on a frontend that does not
// lead counts, for texts and for prepared statements.
func TestFollowerCarriesTheSession(t *testing.T) {
	c := start(t, 2, 1)
	s := connect(t, c, 1)
	created(s, "d", columns, fmt.Sprintf(props, 2, 1, 200))
	s.exec("SET group_commit = async_mode")
	before := c.version(t, "d", "t")
	for i := range 30 {
		if got := s.insert(fmt.Sprintf("INSERT INTO t VALUES (%d, 'text', 1)", i)); !got.group {
			t.Fatalf("a text: %+v", got)
		}
		if got := s.insert("INSERT INTO t VALUES (?, ?, ?)", 100+i, "prepared", 2); !got.group {
			t.Fatalf("a prepared statement: %+v", got)
		}
	}
	s.eventually(5*time.Second, "SELECT name, COUNT(*), SUM(n) FROM t GROUP BY name ORDER BY name", "prepared,30,60", "text,30,30")
	if n := c.version(t, "d", "t") - before; n > 30 {
		t.Errorf("60 INSERTs made %d versions", n)
	}
}

// TestIntervalAndSize: rows are visible an interval after they came, or when
// there are enough of them, and ALTER TABLE counts from the next group on.
func TestIntervalAndSize(t *testing.T) {
	c := start(t, 1, 1)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 1, 1, 500))
	s.exec("SET group_commit = async_mode")
	// Groups close although rows never stop to come.
	pace := time.NewTicker(25 * time.Millisecond)
	defer pace.Stop()
	for i := range 40 {
		s.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'a', 1)", i))
		<-pace.C
	}
	if got := c.version(t, "d", "t"); got < 2 {
		t.Error("no group was closed while rows came for two intervals")
	}
	s.eventually(5*time.Second, "SELECT COUNT(*) FROM t", "40")
	// The size closes a group whose interval is far.
	s.exec(`ALTER TABLE t SET ("group_commit_interval_ms" = "3600000")`)
	s.exec(`ALTER TABLE t SET ("group_commit_data_bytes" = "20000")`)
	c.regroup(t, "d", "t")
	before := c.version(t, "d", "t")
	for i := range 100 {
		s.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, '%s', 1)", 1000+i, strings.Repeat("x", 40)))
	}
	filled := func() bool { return c.version(t, "d", "t") > before }
	for i := 0; !filled() && i < 2000; i++ {
		s.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, '%s', 2)", 2000+i, strings.Repeat("x", 40)))
	}
	if !poll(t, 5*time.Second, filled) {
		t.Error("no group was closed by its size")
	}
	// The open group has the hour, the next one the new interval.
	s.exec(`ALTER TABLE t SET ("group_commit_interval_ms" = "50")`)
	c.regroup(t, "d", "t")
	s.exec("INSERT INTO t VALUES (9000, 'new', 3)")
	s.eventually(5*time.Second, "SELECT COUNT(*) FROM t WHERE id = 9000", "1")
}

// TestReplayKeepsItsMeaning: settings that change between an async INSERT and
// the replay of its WAL do not change its rows.
func TestReplayKeepsItsMeaning(t *testing.T) {
	c := start(t, 1, 1)
	s := connect(t, c, 0)
	created(s, "d", `id INT, name VARCHAR(5), at DATETIME DEFAULT CURRENT_TIMESTAMP, n INT NOT NULL DEFAULT "7"`, fmt.Sprintf(props, 2, 1, 3600_000))
	s.exec("SET time_zone = '+03:00'")
	s.exec("SET group_commit = async_mode")
	s.exec("SET enable_insert_strict = false")
	before := time.Now().UTC().Add(3 * time.Hour).Add(-time.Second).Format(time.DateTime)
	s.exec("INSERT INTO t (id, name, at) VALUES (1, 'abcdefgh', '2024-01-01 10:00:00+00:00')")
	s.exec(`INSERT INTO t (id, name) VALUES (2, 'a\'b')`)
	after := time.Now().UTC().Add(3 * time.Hour).Add(time.Second).Format(time.DateTime)
	c.KillBackend(0)
	for _, set := range []string{
		"enable_unique_key_partial_update = true", "enable_insert_strict = true", "time_zone = '-08:00'", "sql_mode = 'NO_BACKSLASH_ESCAPES'", "group_commit = off_mode",
	} {
		if err := s.try("SET GLOBAL " + set); err != nil {
			var e *mysql.MySQLError
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			t.Errorf("SET GLOBAL %s: %v", set, err)
		}
	}
	if err := c.StartBackend(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.eventually(10*time.Second, "SELECT id, name, n FROM t ORDER BY id", "1,abcde,7", "2,a'b,7")
	s.want("SELECT at FROM t WHERE id = 1", "2024-01-01 13:00:00")
	got, err := s.rows("SELECT at FROM t WHERE id = 2")
	if err != nil || len(got) != 1 || got[0] < before || got[0] > after {
		t.Errorf("CURRENT_TIMESTAMP is %v, %v, want the time of the INSERT, %s to %s", got, err, before, after)
	}
}

// TestReplayOfManyWALs: WALs of two tables, with rows of different columns, are
// replayed together, each row as it was sent.
func TestReplayOfManyWALs(t *testing.T) {
	c := start(t, 1, 1)
	s := connect(t, c, 0)
	created(s, "d", `id INT, name VARCHAR(50) DEFAULT "none", n INT DEFAULT "7"`, fmt.Sprintf(props, 2, 1, 3600_000))
	s.exec(`CREATE TABLE u (id BIGINT, s STRING, x DECIMAL(9, 2) DEFAULT "1.5") ` + fmt.Sprintf(props, 3, 1, 3600_000))
	s.exec("SET group_commit = async_mode")
	lives := [][]string{
		{"INSERT INTO t (id) VALUES (1)", "INSERT INTO t (id, n) VALUES (2, 20)", "INSERT INTO u (s, id) VALUES ('a', 1)"},
		{"INSERT INTO t (n, name, id) VALUES (30, 'three', 3), (NULL, NULL, 4)", "INSERT INTO u VALUES (2, 'b', 2.25)"},
	}
	for _, statements := range lives {
		for _, q := range statements {
			s.exec(q)
		}
		c.KillBackend(0) // each life leaves a WAL of each table behind
		if err := c.StartBackend(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually(10*time.Second, "SELECT id, name, n FROM t ORDER BY id", "1,none,7", "2,none,20", "3,three,30", "4,NULL,NULL")
	s.eventually(10*time.Second, "SELECT id, s, x FROM u ORDER BY id", "1,a,1.50", "2,b,2.25")
	if !poll(t, 10*time.Second, func() bool { return len(c.BEs[0].Node.WALs.Counts()) == 0 }) {
		t.Errorf("WALs are left: %v", c.BEs[0].Node.WALs.Counts())
	}
}
