package txnmgr

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// state of a replica in the log.
func (c *cluster) missing(table string, backend int64) (v int64) {
	part := c.table(table).Partitions[0]
	c.View(func(s *meta.State) { v = s.FirstMissing(part.ID, part.Tablets[0].ID, backend) })
	return v
}

func (c *cluster) ids() []int64 { return slices.Sorted(maps.Keys(c.bes)) }

// without takes backends out of a commit's list.
func without(commit *meta.CommitTxn, backends ...int64) *meta.CommitTxn {
	tc := &commit.Partitions[0].Tablets[0]
	tc.Backends = slices.DeleteFunc(slices.Clone(tc.Backends), func(id int64) bool { return slices.Contains(backends, id) })
	return commit
}

// TestHoleIsReported: a BE that lacks what it was believed to hold counts for no
// majority, and the log learns of the hole before it learns of the publish.
func TestHoleIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		be := c.ids()
		tablet := c.table("t1").Partitions[0].Tablets[0].ID
		m := c.manager()
		defer lead(m, 1)()
		c.bes[be[1]].holes[tablet] = 2
		out, err := m.Commit(t.Context(), c.begin("t1"), time.Minute)
		if err != nil || out.State != txn.Visible {
			t.Fatalf("%+v, %v", out, err)
		}
		synctest.Wait()
		if v := c.missing("t1", be[1]); v != 2 {
			t.Errorf("the hole is known from version %d", v)
		}
		// A second one leaves no majority.
		c.bes[be[2]].holes[tablet] = 3
		out, err = m.Commit(t.Context(), c.begin("t1"), time.Second)
		if err != nil || out.State != txn.Committed {
			t.Errorf("with two replicas that lack it: %+v, %v", out, err)
		}
	})
}

// TestLateWriteIsReported: a BE that publishes what the commit did not know it
// had holds it from then on.
func TestLateWriteIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		be := c.ids()
		m := c.manager()
		defer lead(m, 1)()
		commit := without(c.begin("t1"), be[0])
		if out, err := m.Commit(t.Context(), commit, time.Minute); err != nil || out.State != txn.Visible {
			t.Fatalf("%+v, %v", out, err)
		}
		synctest.Wait()
		if v := c.missing("t1", be[0]); v != 0 {
			t.Errorf("version %d is still missing", v)
		}
		c.View(func(s *meta.State) {
			if tx := s.Txn(commit.TxnID); !tx.Holds(commit.Partitions[0].PartitionID, commit.Partitions[0].Tablets[0].TabletID, be[0]) {
				t.Error("the transaction does not know the replica")
			}
		})
	})
}

// TestALaterHoleIsReportedFirst: a late write closes the hole that the log knows
// of, and uncovers one that it does not know of. At no moment the replica counts
// as whole.
func TestALaterHoleIsReportedFirst(t *testing.T) {
	c := newCluster(t, 3)
	be := c.ids()
	part := c.table("t1").Partitions[0]
	late := without(c.begin("t1"), be[0])
	c.do(late)
	c.do(c.begin("t1"))
	var o Order
	var events []*meta.ReportReplica
	c.View(func(s *meta.State) {
		o = NewOrder(s, be[0], 1)
		o.Collect(s, part.ID, map[int64]int64{})
		reply := &bepb.PublishReply{Holes: []*bepb.TabletHole{{PartitionId: part.ID, TabletId: part.Tablets[0].ID, Version: 3}}}
		for _, v := range o.Request.Versions {
			reply.DoneTxnIds = append(reply.DoneTxnIds, v.TxnId)
		}
		events = o.Events(s, 1, reply)
	})
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	for i, want := range []int64{2, 3} {
		c.do(events[i])
		if v := c.missing("t1", be[0]); v != want {
			t.Errorf("after event %d, version %d is missing", i, v)
		}
	}
}

// TestBehindTheLog: a BE that was away for longer than the log is kept is told
// where the log begins, and its holes are known.
func TestBehindTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		be := c.ids()
		part := c.table("t1").Partitions[0].ID
		c.do(&meta.SetConfig{Key: meta.ConfigPublishLogMax, Value: "5"})
		c.do(&meta.SetBackendAlive{ID: be[2], BootEpoch: 1})
		for range 12 {
			commit := without(c.begin("t1"), be[2])
			c.do(commit)
			c.do(&meta.PublishDone{TxnID: commit.TxnID, BackendIDs: be[:2]})
		}
		for _, id := range be[:2] {
			c.do(&meta.ReportDurable{BackendID: id, BootEpoch: 1, Versions: []meta.DurableVersion{{PartitionID: part, Version: 11}}})
			c.bes[id].published[part] = 11
		}
		c.do(&meta.Tick{DeltaMs: 6000, Term: 1})
		c.View(func(s *meta.State) {
			if base := s.LogBase(part); base != 11 {
				t.Errorf("the log begins after version %d", base)
			}
		})
		c.do(&meta.SetBackendAlive{ID: be[2], BootEpoch: 1, Alive: true})
		defer lead(c.manager(), 1)()
		synctest.Wait()
		b := c.be(be[2])
		if len(b.bases) != 1 || b.bases[0].Base != 11 || len(b.bases[0].Replicas) != 1 || b.published[part] != 13 {
			t.Errorf("bases %v, published %d", b.bases, b.published[part])
		}
		if v := c.missing("t1", be[2]); v != 1+1 {
			t.Errorf("missing from version %d", v)
		}
		for _, id := range be[:2] {
			if b := c.be(id); len(b.bases) > 0 {
				t.Errorf("BE %d has what it needs and was told %v", id, b.bases)
			}
		}
	})
}
