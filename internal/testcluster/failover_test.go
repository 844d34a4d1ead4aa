package testcluster

import (
	"fmt"
	"testing"
	"time"

	"dorisgo/meta"
)

// TestQueriesOutliveABackend: a table with three replicas on three BEs is read
// while each BE is down in turn, from the moment at which it goes on, when it is
// not known to be dead yet, and without waiting for that.
func TestQueriesOutliveABackend(t *testing.T) {
	c := start(t, 1, 3)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 4, 3, 50))
	s.exec("SET group_commit = sync_mode")
	for i := range 20 {
		s.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'n', %d)", i, i))
	}
	const count, rows = "SELECT COUNT(*), SUM(n) FROM t", "20,190"
	for i := range c.BEs {
		id := c.BEs[i].Node.ID
		c.KillBackend(i)
		begin := time.Now()
		for range 9 {
			s.want(count, rows)
			s.want("SELECT n FROM t WHERE id = 7", "7")
		}
		t.Logf("18 queries without BE %d took %s", i, time.Since(begin))
		if err := c.StartBackend(t.Context(), i); err != nil {
			t.Fatal(err)
		}
		if !poll(t, 10*time.Second, func() (alive bool) {
			c.FEs[0].Node.Raft.View(func(st *meta.State) { alive = st.Backend(id).Alive })
			return alive
		}) {
			t.Fatalf("BE %d does not come back", i)
		}
		s.want(count, rows)
	}
}

// TestNoReplicaIsLeft: with two of three BEs down the third answers, with all of
// them down the error names a tablet.
func TestNoReplicaIsLeft(t *testing.T) {
	c := start(t, 1, 3)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 2, 3, 50))
	s.exec("SET group_commit = sync_mode")
	s.exec("INSERT INTO t VALUES (1, 'n', 1), (2, 'n', 2), (3, 'n', 3)")
	c.KillBackend(0)
	c.KillBackend(2)
	for range 4 {
		s.want("SELECT SUM(n) FROM t", "6")
	}
	c.KillBackend(1)
	if _, err := s.rows("SELECT SUM(n) FROM t"); err == nil {
		t.Error("a query without any BE has an answer")
	} else {
		t.Log(err)
	}
}

// TestABackendThatHangs: a BE that is alive by its heartbeats and answers nobody
// costs a query the time to take a call, and the next ones nothing.
func TestABackendThatHangs(t *testing.T) {
	c := start(t, 1, 3)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 4, 2, 50))
	s.exec("SET group_commit = sync_mode")
	s.exec("INSERT INTO t VALUES (1, 'n', 1), (2, 'n', 2), (3, 'n', 3), (4, 'n', 4), (5, 'n', 5)")
	s.want("SELECT SUM(n) FROM t", "15")
	c.FreezeBackend(1, true)
	defer c.FreezeBackend(1, false)
	slow := 0
	for range 12 {
		begin := time.Now()
		s.want("SELECT SUM(n) FROM t", "15")
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("a query took %s", took)
		} else if took > time.Second {
			slow++
		}
	}
	if slow > 1 {
		t.Errorf("%d of 12 queries waited for the BE that hangs", slow)
	}
}
