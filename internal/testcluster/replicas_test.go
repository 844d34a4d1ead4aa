package testcluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dorisgo/meta"
)

// replicaRows are the rows of each replica of a tablet at the visible version,
// by backend id.
func (c *Cluster) replicaRows(t *testing.T, part *meta.Partition, tablet *meta.Tablet) map[int64]int64 {
	t.Helper()
	var version int64
	c.FEs[0].Node.Raft.View(func(s *meta.State) {
		v, _ := s.PartitionVersion(part.ID)
		version = v.Visible
	})
	out := map[int64]int64{}
	for _, r := range tablet.Replicas {
		for _, b := range c.BEs {
			if b.Node == nil || b.Node.ID != r.BackendID {
				continue
			}
			snap, err := b.Node.Engine.Snapshot(t.Context(), part.ID, tablet.ID, version)
			if err != nil {
				out[r.BackendID] = -1
				t.Logf("tablet %d on backend %d at version %d: %v", tablet.ID, r.BackendID, version, err)
				continue
			}
			out[r.BackendID] = snap.Rows()
			if err := snap.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	return out
}

// published is the version through which a running backend can read a partition.
func (c *Cluster) published(partition, backend int64) (version int64, ok bool) {
	for _, b := range c.BEs {
		if b.Node != nil && b.Node.ID == backend {
			return b.Node.Engine.PublishedVersion(partition), true
		}
	}
	return 0, false
}

// hole is the first version that a running backend knows its replica to lack. It
// may know of one before the frontend does.
func (c *Cluster) hole(tabletID, backend int64) int64 {
	for _, b := range c.BEs {
		if b.Node == nil || b.Node.ID != backend {
			continue
		}
		for _, r := range b.Node.Engine.Replicas() {
			if r.TabletID == tabletID {
				return r.Hole
			}
		}
	}
	return 0
}

// whole waits until every tablet of a table has n replicas, all of them with
// every version, as the frontend and the backends themselves know it.
func (c *Cluster) whole(t *testing.T, name string, n int) {
	t.Helper()
	why := ""
	ok := poll(t, 30*time.Second, func() bool {
		why = ""
		table := c.table(t, "d", name)
		c.FEs[0].Node.Raft.View(func(s *meta.State) {
			for _, part := range table.Partitions {
				v, _ := s.PartitionVersion(part.ID)
				if v.Visible != v.Committed {
					why = fmt.Sprintf("version %d of %d is visible", v.Visible, v.Committed)
				}
				for _, tablet := range part.Tablets {
					if len(tablet.Replicas) != n {
						why = fmt.Sprintf("tablet %d has the replicas %v", tablet.ID, tablet.Replicas)
					}
					for _, r := range tablet.Replicas {
						if have, ok := c.published(part.ID, r.BackendID); ok && have < v.Visible {
							why = fmt.Sprintf("backend %d has published version %d of %d", r.BackendID, have, v.Visible)
						}
						if m := s.FirstMissing(part.ID, tablet.ID, r.BackendID); m != 0 || r.Cloning {
							why = fmt.Sprintf("tablet %d: %+v lacks version %d", tablet.ID, r, m)
						}
						if hole := c.hole(tablet.ID, r.BackendID); hole != 0 {
							why = fmt.Sprintf("tablet %d: backend %d found that it lacks version %d", tablet.ID, r.BackendID, hole)
						}
					}
				}
			}
		})
		return why == ""
	})
	if !ok {
		t.Fatal(why)
	}
}

// sameRows checks that all replicas of each tablet have the same rows, and want
// together.
func (c *Cluster) sameRows(t *testing.T, name string, want int64) {
	t.Helper()
	total := int64(0)
	table := c.table(t, "d", name)
	for _, part := range table.Partitions {
		for _, tablet := range part.Tablets {
			rows := c.replicaRows(t, part, tablet)
			first := int64(-2)
			for _, n := range rows {
				if first == -2 {
					first = n
				}
				if n != first || n < 0 {
					t.Errorf("tablet %d (%+v): rows by backend %v", tablet.ID, tablet.Replicas, rows)
					break
				}
			}
			total += first
		}
	}
	if total != want {
		t.Errorf("table %s has %d rows in its replicas, want %d", name, total, want)
	}
}

// manyWALs refuses an async load while the groups that could not be committed at
// once (their replicas moved) wait for their replay.
const manyWALs = "Too many group commit async WALs"

// inserter inserts one row after the other until ctx ends, and tells how many
// were acknowledged. A row that is refused for too many WALs is sent again, as a
// client would.
func inserter(ctx context.Context, t *testing.T, c *Cluster, mode string, first int) func() int64 {
	s := connect(t, c, 0)
	s.exec("USE d")
	s.exec("SET group_commit = " + mode)
	var wg sync.WaitGroup
	n := int64(0)
	wg.Go(func() {
		for i := first; ctx.Err() == nil; i++ {
			err := s.try(fmt.Sprintf("INSERT INTO t VALUES (%d, 'x', 1)", i))
			switch {
			case err == nil:
				n++
			case strings.Contains(err.Error(), manyWALs):
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
				i--
			default:
				t.Errorf("%s: %v", mode, err)
				return
			}
		}
	})
	return func() int64 {
		wg.Wait()
		return n
	}
}

// TestReplicasMove adds and drops replicas at random under load, on backends
// that had earlier ones as well: no row is lost or doubled in any of them.
func TestReplicasMove(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	c := start(t, 1, 5)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 4, 3, 20))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	waits := []func() int64{
		inserter(ctx, t, c, "async_mode", 0), inserter(ctx, t, c, "sync_mode", 1_000_000), inserter(ctx, t, c, "off_mode", 2_000_000),
	}
	raft := c.FEs[0].Node.Raft
	for range 12 {
		table := c.table(t, "d", "t")
		for _, tablet := range table.Partitions[0].Tablets {
			b := c.BEs[rng.IntN(len(c.BEs))].Node.ID
			if slices.ContainsFunc(tablet.Replicas, func(r meta.Replica) bool { return r.BackendID == b }) {
				continue
			}
			if _, err := raft.Propose(t.Context(), &meta.AddReplica{TabletID: tablet.ID, BackendID: b}); err != nil {
				t.Log(err)
			}
		}
		// The scheduler clones the new ones, then drops what is too many.
		c.whole2(t, 3)
	}
	stop()
	rows := int64(0)
	for _, wait := range waits {
		rows += wait()
	}
	s.eventually(10*time.Second, "SELECT COUNT(*), COUNT(DISTINCT id) FROM t", fmt.Sprintf("%d,%d", rows, rows))
	c.whole(t, "t", 3)
	c.sameRows(t, "t", rows)
}

// whole2 waits until the tablets have n replicas, none of which is cloned.
func (c *Cluster) whole2(t *testing.T, n int) {
	t.Helper()
	why := errors.New("")
	if !poll(t, 30*time.Second, func() bool {
		for _, tablet := range c.table(t, "d", "t").Partitions[0].Tablets {
			if len(tablet.Replicas) != n || slices.ContainsFunc(tablet.Replicas, func(r meta.Replica) bool { return r.Cloning }) {
				why = fmt.Errorf("tablet %d has the replicas %+v", tablet.ID, tablet.Replicas)
				return false
			}
		}
		return true
	}) {
		t.Fatal(why)
	}
}
