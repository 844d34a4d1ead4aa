package testcluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dorisgo/meta"
)

const props = `DISTRIBUTED BY HASH(id) BUCKETS %d PROPERTIES ("replication_num" = "%d", "group_commit_interval_ms" = "%d")`

const columns = `id INT, name VARCHAR(50), n INT`

// TestOneTableOnAllBackends: a table's buckets are on all BEs, a group that one
// BE forms reaches them all, a query reads them all, and a BE that is down is
// named.
func TestOneTableOnAllBackends(t *testing.T) {
	c := start(t, 1, 3)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 6, 1, 50))
	on := map[int64]int{}
	for _, tablet := range c.table(t, "d", "t").Partitions[0].Tablets {
		on[tablet.Replicas[0].BackendID]++
	}
	if len(on) != 3 {
		t.Fatalf("tablets by BE: %v", on)
	}
	for id, n := range on {
		if n != 2 {
			t.Errorf("BE %d has %d of 6 tablets", id, n)
		}
	}
	s.exec("SET group_commit = async_mode")
	before := c.version(t, "d", "t")
	for i := range 60 {
		if got := s.insert(fmt.Sprintf("INSERT INTO t VALUES (%d, 'n%d', %d)", i, i%3, i)); !got.group {
			t.Fatalf("INSERT %d has label %s", i, got.label)
		}
	}
	s.eventually(10*time.Second, "SELECT name, COUNT(*), SUM(n) FROM t GROUP BY name ORDER BY name", "n0,20,570", "n1,20,590", "n2,20,610")
	if n := c.version(t, "d", "t") - before; n >= 60 || n < 1 {
		t.Errorf("60 INSERTs made %d versions", n)
	}
	// The groups were formed by one BE, and every BE has rows.
	formed := 0
	for i, b := range c.BEs {
		if b.Node.Groups.Counters().Groups.Load() > 0 {
			formed++
		}
		rows := int64(0)
		part := c.table(t, "d", "t").Partitions[0]
		for _, tablet := range part.Tablets {
			if tablet.Replicas[0].BackendID != b.Node.ID {
				continue
			}
			snap, err := b.Node.Engine.Snapshot(t.Context(), part.ID, tablet.ID, c.version(t, "d", "t"))
			if err != nil {
				t.Fatal(err)
			}
			rows += snap.Rows()
			if err := snap.Close(); err != nil {
				t.Error(err)
			}
		}
		if rows == 0 {
			t.Errorf("BE %d has no rows", i)
		}
	}
	if formed != 1 {
		t.Errorf("%d BEs formed groups of the table", formed)
	}
	down := 1
	gone := c.BEs[down].Node.ID
	if err := c.StopBackend(t.Context(), down); err != nil {
		t.Fatal(err)
	}
	if !poll(t, 10*time.Second, func() (dead bool) {
		c.FEs[0].Node.Raft.View(func(st *meta.State) { dead = !st.Backend(gone).Alive })
		return dead
	}) {
		t.Fatal("the BE that was stopped still counts as alive")
	}
	_, err := s.rows("SELECT COUNT(*) FROM t")
	named := false
	for _, tablet := range c.table(t, "d", "t").Partitions[0].Tablets {
		named = named || tablet.Replicas[0].BackendID == gone && err != nil && strings.Contains(err.Error(), fmt.Sprintf("tablet %d", tablet.ID))
	}
	if !named || !strings.Contains(err.Error(), fmt.Sprintf("backend %d", gone)) {
		t.Errorf("with BE %d stopped: %v", gone, err)
	}
	s.exec("SET group_commit = sync_mode")
	s.refused("INSERT INTO t VALUES (70, 'n0', 0), (71, 'n0', 0), (72, 'n0', 0), (73, 'n0', 0), (74, 'n0', 0), (75, 'n0', 0), (76, 'n0', 0), (77, 'n0', 0)", "fewer than a majority")
	if err := c.StartBackend(t.Context(), down); err != nil {
		t.Fatal(err)
	}
	s.eventually(10*time.Second, "SELECT name, COUNT(*), SUM(n) FROM t GROUP BY name ORDER BY name", "n0,20,570", "n1,20,590", "n2,20,610")
	s.exec("INSERT INTO t VALUES (60, 'n0', 0), (61, 'n1', 0), (62, 'n2', 0)")
	s.want("SELECT COUNT(*) FROM t", "63")
}

// TestFailedStart: a node that cannot start leaves nothing behind and says why.
func TestFailedStart(t *testing.T) {
	c := start(t, 1, 1)
	if err := c.StopBackend(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	b := c.BEs[0]
	dir := b.dir
	b.dir = t.TempDir() + "/nowhere\x00"
	if err := c.StartBackend(t.Context(), 0); err == nil || b.Node != nil {
		t.Errorf("a BE without directories started: %v", err)
	}
	b.dir = dir
	if err := c.StartBackend(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
