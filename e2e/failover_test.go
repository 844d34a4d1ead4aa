package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// TestQueriesOutliveABackend: of three BEs one is stopped as by SIGSTOP, another
// one killed afterwards; a table with three replicas is read all the time, and
// no query waits for long.
func TestQueriesOutliveABackend(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3)
	s := connect(t, c.address(""))
	s.run("CREATE DATABASE db")
	s.run("USE db")
	s.run(`CREATE TABLE t (id INT, n INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 6 PROPERTIES ("replication_num" = "3", "group_commit_interval_ms" = "50")`)
	s.run("SET group_commit = sync_mode")
	for i := range 10 {
		s.run(fmt.Sprintf("INSERT INTO t VALUES (%d, %d), (%d, %d)", i, i, 100+i, 1))
	}
	slowest := func(n int) (took time.Duration) {
		t.Helper()
		for range n {
			begin := time.Now()
			if rows := s.run("SELECT COUNT(*), SUM(n) FROM t"); rows[0][0] != "20" || rows[0][1] != "55" {
				t.Fatalf("rows %v", rows)
			}
			took = max(took, time.Since(begin))
		}
		return took
	}
	slowest(3)
	hung := c.be[1]
	hung.signal(syscall.SIGSTOP)
	t.Logf("the slowest query beside a backend that hangs took %s", slowest(12)) // 3 s on an idle machine
	hung.signal(syscall.SIGCONT)
	c.be[0].kill()
	t.Logf("the slowest query beside a backend that is gone took %s", slowest(12))
}
