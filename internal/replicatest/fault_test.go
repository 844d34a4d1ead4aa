package replicatest

import (
	"fmt"
	"slices"
	"testing"

	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// faults are put in on purpose; each must be noticed.
var faults = []string{
	"skip missing", "done before holes", "no majority", "lose a rowset", "publish another version", "clone keeps too much",
	"clone skips the last rowset", "forget FromClone", "unlink under a reader", "abort what is visible", "drop what a hole waits for",
	"incomplete jump", "durable too early",
}

// fromClone is the mark of a replica that is to be cloned.
func (c *cluster) fromClone(cloning bool) bool { return cloning && c.fault != "forget FromClone" }

// loses has a backend say that it stored what it did not.
func (c *cluster) loses(b *backend, r *bepb.WriteRowsetsRequest) bool {
	if c.fault != "lose a rowset" || c.rng.IntN(30) > 0 {
		return false
	}
	c.note("backend %d: loses what transaction %d wrote", b.id, r.TxnId)
	return true
}

// spoilOrder changes a publish order.
func (c *cluster) spoilOrder(r *bepb.PublishRequest) {
	switch c.fault {
	case "publish another version":
		for i := 1; i < len(r.Versions); i++ {
			a, b := r.Versions[i-1], r.Versions[i]
			if a.PartitionId == b.PartitionId && c.rng.IntN(10) == 0 {
				a.TxnId, b.TxnId, a.Tablets, b.Tablets = b.TxnId, a.TxnId, b.Tablets, a.Tablets
			}
		}
	case "incomplete jump":
		for _, b := range r.Bases {
			c.shorten(b)
		}
	case "forget FromClone":
		for _, v := range r.Versions {
			for _, t := range v.Tablets {
				t.FromClone = false
			}
		}
		for _, b := range r.Bases {
			forget(b.Replicas)
		}
	}
}

func forget(list []*bepb.TabletReplica) {
	for _, r := range list {
		r.FromClone = false
	}
}

func (c *cluster) shorten(b *bepb.PartitionBase) {
	if len(b.Replicas) > 0 {
		i := c.rng.IntN(len(b.Replicas))
		b.Replicas = slices.Delete(slices.Clone(b.Replicas), i, i+1)
	}
}

// spoilClone changes the order of a clone.
func (c *cluster) spoilClone(r *bepb.CloneTabletRequest) {
	switch c.fault {
	case "incomplete jump":
		c.shorten(r.Base)
	case "forget FromClone":
		r.Replica.FromClone = false
		forget(r.Base.Replicas)
	}
}

// spoilPlan changes what the source of a clone sends.
func (c *cluster) spoilPlan(chunks []*bepb.FetchTabletChunk) {
	plan := chunks[0].Plan
	switch c.fault {
	case "clone keeps too much":
		plan.Keep++
	case "clone skips the last rowset":
		if n := len(plan.Rowsets); n > 0 {
			plan.Rowsets = plan.Rowsets[:n-1]
			for i := len(chunks) - 1; i > 0; i-- {
				chunks[i].Data = nil // the chunks of a rowset are not told apart
			}
		}
	}
}

// spoilPending aborts what must stay.
func (c *cluster) spoilPending(b *backend) {
	for _, id := range b.e.PendingTxns() {
		t := c.st.Txn(id)
		visible := t != nil && t.State == txn.Visible
		if c.fault == "abort what is visible" && visible || c.fault == "drop what a hole waits for" && visible && b.waitsFor(t) {
			c.must(b.e.Abort(c.ctx, id), "abort")
		}
	}
}

// waitsFor reports whether a transaction is published here and left pending.
func (b *backend) waitsFor(t *txn.Txn) bool {
	for i := range t.Partitions {
		if b.e.PublishedVersion(t.Partitions[i].PartitionID) < t.Partitions[i].Version {
			return false
		}
	}
	return true
}

// unlink removes a file that is being read.
func (c *cluster) unlink(b *backend) {
	if c.fault != "unlink under a reader" {
		return
	}
	for _, r := range b.readers {
		for _, f := range r.s.Files() {
			_ = b.disk.mem.Remove(f.Path)
		}
	}
}

// TestFaults puts each fault in, in one run after the other, until it is noticed.
func TestFaults(t *testing.T) {
	const most = 60
	for _, fault := range faults {
		t.Run(fault, func(t *testing.T) {
			for seed := range uint64(most) {
				if err := run(t.Context(), seed+1, fault, nil); err != nil {
					t.Logf("seed %d: %s", seed+1, first(err))
					return
				}
			}
			t.Errorf("nothing noticed it in %d runs", most)
		})
	}
}

func first(err error) string {
	text := fmt.Sprint(err)
	if i := slices.Index([]byte(text), '\n'); i >= 0 {
		return text[:i]
	}
	return text
}
