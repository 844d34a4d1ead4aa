package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// numbered is a CSV body of the ids from first on.
type numbered struct {
	next, end int
	buf       []byte
	// fails is the body's end instead of io.EOF.
	fails error
}

func (n *numbered) Read(p []byte) (int, error) {
	for len(n.buf) < len(p) && n.next < n.end {
		n.buf = fmt.Appendf(n.buf, "%d,%s-%d,%d\n", n.next, strings.Repeat("x", n.next%40), n.next, n.next%7)
		n.next++
	}
	if len(n.buf) == 0 {
		if n.fails != nil {
			return 0, n.fails
		}
		return 0, io.EOF
	}
	c := copy(p, n.buf)
	n.buf = n.buf[c:]
	return c, nil
}

// TestLargeLoads: a body that is far larger than the memory for bodies becomes
// several rowsets of each tablet, in one transaction: visible at once and whole,
// the same after all nodes were killed, and nothing is left of one that failed.
func TestLargeLoads(t *testing.T) {
	c := startCluster(t, 2, "group_commit_body_mem_limit = 1048576", "inline_rowset_max_bytes = 16384")
	s := connect(t, c.address(""))
	s.run("CREATE DATABASE db")
	s.run("CREATE TABLE db.t (id INT NOT NULL, s VARCHAR(64) NULL, n INT NULL) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 3 PROPERTIES('replication_num'='1')")
	const rows = 40000
	modes := []string{"off_mode", "sync_mode", "async_mode"}
	for i, mode := range modes {
		r := mustLoad(t, c.be[i%2].http, "db", "t", &numbered{next: i * rows, end: (i + 1) * rows}, "column_separator", ",", "group_commit", mode)
		if r.Loaded != rows || r.GroupCommit != (mode != "off_mode") {
			t.Errorf("%s: %+v", mode, *r)
		}
	}
	check := func(when string) {
		t.Helper()
		total := len(modes) * rows
		want := []string{strconv.Itoa(total), strconv.Itoa(total), strconv.Itoa(total * (total - 1) / 2)}
		got := connect(t, c.address("db")).run("SELECT count(*), count(distinct id), sum(id) FROM t")[0]
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: count, distinct ids and sum are %v, want %v", when, got, want)
		}
		if wrong := connect(t, c.address("db")).value("SELECT count(*) FROM t WHERE s <> concat(repeat('x', id % 40), '-', id) OR n <> id % 7"); wrong != "0" {
			t.Errorf("%s: %s rows have other values", when, wrong)
		}
	}
	check("after the loads")

	// What fails late, or never ends, takes back what was written before.
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	bad := io.MultiReader(&numbered{next: 900000, end: 900000 + rows}, strings.NewReader("x,y\n"))
	r, err := streamLoad(ctx, c.be[0].http, "db", "t", bad, "column_separator", ",", "label", "late")
	if err != nil || r.Status != "Fail" || r.Loaded != 0 || r.Filtered != 1 {
		t.Errorf("a load whose last row is bad: %+v, %v", r, err)
	}
	if _, err := streamLoad(ctx, c.be[1].http, "db", "t", &numbered{next: 900000, end: 900000 + rows, fails: errors.New("the client breaks off")},
		"column_separator", ",", "label", "cut"); err == nil {
		t.Error("a body that breaks off was answered")
	}
	check("after failed loads")
	for _, label := range []string{"late", "cut"} {
		eventually(t, 20*time.Second, "label "+label+" is free again", func() (bool, string) {
			r, err := streamLoad(ctx, c.be[0].http, "db", "t", strings.NewReader(""), "column_separator", ",", "label", label)
			if err != nil {
				return false, err.Error()
			}
			return r.Status == "Success", r.Status + ": " + r.Message
		})
	}

	for _, b := range c.be {
		b.kill()
	}
	c.fe.kill()
	c.fe.start()
	for _, b := range c.be {
		b.start()
	}
	eventually(t, 30*time.Second, "queries are answered again", func() (bool, string) {
		_, err := connect(t, c.address("db")).try("SELECT count(*) FROM t")
		return err == nil, fmt.Sprint(err)
	})
	check("after all nodes were killed")
}
