package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// createT makes the table t of database db.
func createT(s *session, properties string) {
	s.tb.Helper()
	s.run("CREATE DATABASE IF NOT EXISTS db")
	s.run(`CREATE TABLE db.t (id INT NOT NULL, s VARCHAR(4) NULL, n INT NULL, d DECIMAL(5, 2) NULL, at DATETIME NULL)
		DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1"` + properties + `)`)
}

// TestWrongStatements: what cannot be done is refused in words that name the
// part that is wrong, in each mode of commit, and nothing of it is stored.
func TestWrongStatements(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createT(s, `, "group_commit_interval_ms" = "10"`)
	s.run("USE db")
	loads := []struct {
		stmt  string
		code  uint16
		words []string
	}{
		{"INSERT INTO nosuch VALUES (1)", 1051, []string{"nosuch"}},
		{"INSERT INTO nodb.t VALUES (1)", 1049, []string{"nodb"}},
		{"INSERT INTO t (id, nosuch) VALUES (1, 2)", 1054, []string{"nosuch"}},
		{"INSERT INTO t VALUES (1, 'a')", 1136, []string{"Column count doesn't match value count at row 1"}},
		{"INSERT INTO t VALUES (1, 'a', 1, 1, '2024-01-01'), (2, 'a', 1, 1)", 1136, []string{"row 2"}},
		{"INSERT INTO t VALUES (1, 'a', 1, 1, '2024-01-01', 3)", 1136, []string{"Column count"}},
		{"INSERT INTO t (s) VALUES ('a')", 0, []string{"no default value", "id"}},
		{"INSERT INTO t (id) VALUES (1), (2147483648)", 0, []string{"id", "2147483648", "row=2"}},
		{"INSERT INTO t (id) VALUES (-2147483649)", 0, []string{"id", "out of range"}},
		{"INSERT INTO t (id) VALUES ('x')", 0, []string{"id", "'x'"}},
		{"INSERT INTO t (id) VALUES (1), (NULL)", 1048, []string{"id", "null", "row=2"}},
		{"INSERT INTO t (id, s) VALUES (1, 'abcde')", 0, []string{"[abcde]", "schema length: 4"}},
		{"INSERT INTO t (id, s) VALUES (1, '中文')", 0, []string{"schema length: 4; actual length: 6"}},
		{"INSERT INTO t (id, d) VALUES (1, 999.995)", 0, []string{"d", "999.995"}},
		{"INSERT INTO t (id, at) VALUES (1, '2023-02-29 00:00:00')", 0, []string{"at", "2023-02-29"}},
		{"INSERT INTO t (id, at) VALUES (1, '2024-01-01 24:00:00')", 0, []string{"at"}},
		{"INSERT INTO t PARTITION (p9) VALUES (1, 'a', 1, 1, NULL)", 0, []string{"p9"}},
		{"INSERT INTO t WITH LABEL group_commit_1 (id) VALUES (1)", 0, []string{"group_commit_"}},
		{"INSERT INTO t WITH LABEL `a b` (id) VALUES (1)", 0, []string{"a b"}},
		{"INSERT INTO t VALUES (1", 0, []string{"mismatched input", "pos 23"}},
	}
	for _, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
		s.run("SET group_commit = " + mode)
		for _, c := range loads {
			s.refused(c.stmt, c.code, c.words...)
		}
	}
	for _, c := range []struct {
		stmt  string
		code  uint16
		words []string
	}{
		{"USE nodb", 1049, []string{"nodb"}},
		{"SELECT * FROM nosuch", 0, []string{"nosuch"}},
		{"SELECT * FROM nodb.t", 1049, []string{"nodb"}},
		{"SELECT nosuch FROM t", 1054, []string{"nosuch"}},
		{"SELECT id FROM t WHERE nosuch > 1", 1054, []string{"nosuch"}},
		{"SELECT nofunc(id) FROM t", 0, []string{"nofunc"}},
		{"SELECT FROM", 0, []string{"syntax"}},
		{"UPDATE t SET n = 1", 0, []string{"UPDATE"}},
		{"DELETE FROM t WHERE id = 1", 0, []string{"DELETE"}},
		{"DROP TABLE nosuch", 1051, []string{"nosuch"}},
		{"DROP DATABASE nosuch", 1008, []string{"nosuch"}},
		{"CREATE DATABASE db", 1007, []string{"db"}},
		{"CREATE TABLE t (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1", 1050, []string{"'t'"}},
		{"SET group_commit = bogus", 1231, []string{"group_commit", "bogus"}},
		{"SET nosuch = 1", 1193, []string{"nosuch"}},
		{"SELECT @@nosuch", 1193, []string{"nosuch"}},
		{`ALTER TABLE t SET ("group_commit_interval_ms" = "x")`, 0, []string{"group_commit_interval_ms", "x"}},
		{`ALTER TABLE t SET ("nosuch" = "x")`, 0, []string{"nosuch"}},
	} {
		s.refused(c.stmt, c.code, c.words...)
	}
	if got := s.value("SELECT COUNT(*) FROM t"); got != "0" {
		t.Errorf("%s rows of refused statements are there", got)
	}
	connectFails(t, a, "nodb")
}

// connectFails: signing in to a database that is not there is refused.
func connectFails(t *testing.T, a *alone, db string) {
	t.Helper()
	pool, conn, err := dial(a.address(db))
	if err == nil {
		conn.Close()
		pool.Close()
	}
	checkRefused(t, "sign in", err, 1049, db)
}

// TestWrongTables: table models, types and properties that are not supported or
// make no sense are refused by name.
func TestWrongTables(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("USE db")
	table := func(columns, keys, properties string) string {
		return fmt.Sprintf("CREATE TABLE x (%s) %s DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES (\"replication_num\" = \"1\"%s)", columns, keys, properties)
	}
	const dup = "DUPLICATE KEY(id)"
	s.refused(table("id INT, v INT", "UNIQUE KEY(id)", ""), 0, "UNIQUE KEY")
	s.refused(table("id INT, v INT SUM", "AGGREGATE KEY(id)", ""), 0, "AGGREGATE KEY")
	for name, typ := range map[string]string{
		"ARRAY": "ARRAY<INT>", "MAP": "MAP<INT, INT>", "STRUCT": "STRUCT<a: INT>", "BITMAP": "BITMAP", "HLL": "HLL", "VARIANT": "VARIANT",
		"QUANTILE_STATE": "QUANTILE_STATE", "IPV4": "IPV4", "IPV6": "IPV6", "TIME": "TIME", "VARBINARY": "VARBINARY(3)", "nosuch": "NOSUCH",
		"39": "DECIMAL(39, 1)", "256": "CHAR(256)", "65534": "VARCHAR(65534)", "DATETIME": "DATETIME(7)",
	} {
		s.refused(table("id INT, v "+typ, dup, ""), 0, name)
	}
	for name, value := range map[string]string{
		"group_commit_interval_ms": "0", "group_commit_data_bytes": "-1", "group_commit_mode": "fast", "replication_num": "2", "nosuch": "1",
		"light_schema_change": "maybe", "compaction_policy": "none", "store_row_column": "2", "bloom_filter_columns": "zz",
	} {
		properties := fmt.Sprintf(", %q = %q", name, value)
		if name == "replication_num" {
			s.refused(strings.Replace(table("id INT", dup, ""), `= "1"`, `= "2"`, 1), 0, "replication num", "2")
			continue
		}
		s.refused(table("id INT", dup, properties), 0, strings.ReplaceAll(name, "bloom_filter_columns", "bloom filter"))
	}
	for stmt, word := range map[string]string{
		table("id INT, ID INT", dup, ""):                                                          "id",
		table("id INT", "DUPLICATE KEY(nosuch)", ""):                                              "nosuch",
		table("v INT", "DUPLICATE KEY(v)", ""):                                                    "id",
		table("id DOUBLE", dup, ""):                                                               "double",
		table("id STRING", dup, ""):                                                               "string",
		table("id INT, v INT NOT NULL DEFAULT NULL", dup, ""):                                     "null default",
		table("id INT, v INT DEFAULT \"x\"", dup, ""):                                             "x",
		table("id INT, __DORIS_X INT", dup, ""):                                                   "__DORIS_",
		strings.Replace(table("id INT", dup, ""), "S 1", "S 0", 1):                                "bucket",
		strings.Replace(table("id INT", dup, ""), "S 1", "S 999", 1):                              "bucket",
		"CREATE TABLE `a b` (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1":         "a b",
		"CREATE TABLE " + strings.Repeat("x", 65) + " (id INT) DISTRIBUTED BY HASH(id) BUCKETS 1": "xxx",
	} {
		s.refused(stmt, 0, word)
	}
	if rows := s.run("SHOW TABLES"); len(rows) != 0 {
		t.Errorf("SHOW TABLES after refused statements: %v", rows)
	}
}

// TestPacketTooLarge: one byte too much is refused by code, ends the connection
// and nothing else.
func TestPacketTooLarge(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	limit := int(number(t, s.value("SELECT @@max_allowed_packet")))
	// A packet is the command's byte and the statement.
	stmt := func(size int) string {
		return "SELECT LENGTH('" + strings.Repeat("x", size-len("SELECT LENGTH('')")-1) + "')"
	}
	if got := s.value(stmt(limit)); got != strconv.Itoa(limit-len("SELECT LENGTH('')")-1) {
		t.Errorf("a statement of the largest size: %s", got)
	}
	other := connect(t, a.address(""))
	_, err := s.try(stmt(limit + 1))
	checkRefused(t, "a larger one", err, 1153, "max_allowed_packet")
	if got := other.value("SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 on another connection: %s", got)
	}
}

// TestSecondProcess: ports and directories in use are refused by name, and the
// process that has them goes on.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	base := t.TempDir()
	same := newAloneAt(t, "same-directory", base, a.dir)
	if out := same.fails(1); !strings.Contains(out, a.dir) || !strings.Contains(out, "in use") {
		t.Errorf("a second process on the same directory says %s", out)
	}
	for _, key := range []string{"--mysql-port", "--fe-http-port", "--be-http-port"} {
		b := newAloneAt(t, "same-port"+key, base, filepath.Join(base, "other"+key))
		port := map[string]int{"--mysql-port": a.mysql, "--fe-http-port": a.feHTTP, "--be-http-port": a.beHTTP}[key]
		for i, arg := range b.args {
			if arg == key {
				b.args[i+1] = strconv.Itoa(port)
			}
		}
		if out := b.fails(1); !strings.Contains(out, strconv.Itoa(port)) {
			t.Errorf("a second process on %s %d says %s", key, port, out)
		}
	}
	for set, word := range map[string]string{"nosuch=1": "nosuch", "query_threads=x": "query_threads", "qe_max_connection=0": "qe_max_connection"} {
		c := newAloneAt(t, "bad-set", base, filepath.Join(base, "set"), set)
		if out := c.fails(2); !strings.Contains(out, word) {
			t.Errorf("--set %s says %s", set, out)
		}
	}
	if got := connect(t, a.address("")).value("SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 = %s", got)
	}
	a.stop()
}

// TestWrongDirectories: a data directory that a newer build wrote, or that lost
// a part, stops the start by name, and works again as it was.
func TestWrongDirectories(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createT(s, "")
	s.run("INSERT INTO db.t (id) VALUES (7)")
	a.stop()
	for _, c := range []struct{ file, old, new, word string }{
		{"fe/identity.json", `"format": 1`, `"format": 2`, "format 2"},
		{"be/storage/IDENTITY", "format 1", "format 2", "format 2"},
		{"be/storage/BACKEND", `"version":1`, `"version":2`, "version 2"},
		{"be/wal/IDENTITY", "directory 1", "directory 2", "be/wal"},
		{"be/storage/IDENTITY", "ready true", "ready trux", "damaged"},
		{"be/storage/BACKEND", `"cluster_id":"`, `"cluster_id":"0`, "cluster"},
	} {
		path := filepath.Join(a.dir, c.file)
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		broken := bytes.Replace(sound, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(broken, sound) {
			t.Fatalf("%s does not have %s: %s", c.file, c.old, sound)
		}
		writeFile(t, path, broken)
		if out := a.fails(1); !strings.Contains(out, c.word) {
			t.Errorf("%s with %q says %s", c.file, c.new, out)
		}
		writeFile(t, path, sound)
	}
	for _, part := range []string{"be/wal", "be/storage", "be/storage/meta", "fe/raft.db", "fe"} {
		path := filepath.Join(a.dir, part)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		out := a.fails(1)
		if !strings.Contains(out, "error: ") {
			t.Errorf("a start without %s says %s", part, out)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	a.start()
	if got := connect(t, a.address("db")).value("SELECT id FROM t"); got != "7" {
		t.Errorf("id = %s", got)
	}
}

// TestAcceptLoss: a lost WAL directory stops the start, which names the way out;
// that way works.
func TestAcceptLoss(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createT(s, "")
	s.run("INSERT INTO db.t (id) VALUES (7)")
	a.stop()
	if err := os.RemoveAll(filepath.Join(a.dir, "be", "wal")); err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile("--accept-loss=[0-9a-f-]+").FindString(a.fails(1))
	if flag == "" {
		t.Fatal("the refusal names no --accept-loss")
	}
	sound := a.args
	a.args = append(slices.Clone(sound), flag)
	a.start()
	if got := connect(t, a.address("db")).value("SELECT id FROM t"); got != "7" {
		t.Errorf("id = %s", got)
	}
	a.stop()
	a.args = sound
	a.start()
}

func writeFile(tb testing.TB, path string, b []byte) {
	tb.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// TestForeignBackend: a BE does not serve the directories of another cluster,
// nor those that another process serves.
func TestForeignBackend(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1)
	base := t.TempDir()
	double := newBackend(t, base, "double", c.be[0].root, c.rpc)
	if out := double.fails(1); !strings.Contains(out, c.be[0].root) {
		t.Errorf("a second BE on the same directory says %s", out)
	}
	other := startCluster(t, 0)
	c.be[0].stop()
	foreign := newBackend(t, base, "foreign", c.be[0].root, other.rpc)
	if out := foreign.fails(1); !strings.Contains(out, "cluster") {
		t.Errorf("a BE of another cluster says %s", out)
	}
	c.be[0].start()
	s := connect(t, c.address(""))
	eventually(t, settleTime, "the BE is back", func() (bool, string) {
		alive := s.column("SHOW BACKENDS", "Alive")
		return alive == "true", "Alive " + alive
	})
	if rows := connect(t, other.address("")).run("SHOW BACKENDS"); len(rows) != 0 {
		t.Errorf("the other cluster has backends: %v", rows)
	}
}
