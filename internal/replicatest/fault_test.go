package replicatest

import (
	"slices"
	"strings"
	"testing"

	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// The faults.
const (
	skipMissing   = "skip the report of a hole"
	doneFirst     = "report the publish before its holes"
	noMajority    = "commit without a majority"
	loseRowset    = "lose a rowset"
	otherVersion  = "publish as another version"
	keepTooMuch   = "a clone keeps a version too many"
	skipLast      = "a clone skips the last rowset"
	forgetClone   = "forget FromClone"
	unlinkRead    = "unlink under a reader"
	abortVisible  = "abort what is visible"
	dropWaiting   = "drop what a hole waits for"
	shortJump     = "a jump that names not all replicas"
	earlyDurable  = "report durable too early"
	believeCommit = "count a late write that never came"
)

// faults are put in on purpose; each must be noticed. The seed is one that did so
// lately: others are tried after it.
var faults = []struct {
	name string
	seed uint64
}{
	{skipMissing, 7}, {doneFirst, 2}, {noMajority, 1}, {loseRowset, 2}, {otherVersion, 1}, {keepTooMuch, 1}, {skipLast, 1}, {forgetClone, 2},
	{unlinkRead, 17}, {abortVisible, 1}, {dropWaiting, 64}, {shortJump, 1010}, {earlyDurable, 50}, {believeCommit, 2},
}

// fromClone is the mark of a replica that is to be cloned.
func (c *cluster) fromClone(cloning bool) bool { return cloning && c.fault != forgetClone }

// loses has a backend say that it stored what it did not.
func (c *cluster) loses(b *backend, r *bepb.WriteRowsetsRequest) bool {
	switch c.fault {
	case loseRowset:
		return c.rng.IntN(30) == 0
	case doneFirst: // what this is about: a hole that nobody knows of before the publish
		return int(r.TxnId)%backends == b.n
	}
	return false
}

// spoilOrder changes a publish order.
func (c *cluster) spoilOrder(r *bepb.PublishRequest) {
	switch c.fault {
	case otherVersion:
		for i := 1; i < len(r.Versions); i++ {
			a, b := r.Versions[i-1], r.Versions[i]
			if a.PartitionId == b.PartitionId && c.rng.IntN(10) == 0 {
				a.TxnId, b.TxnId, a.Tablets, b.Tablets = b.TxnId, a.TxnId, b.Tablets, a.Tablets
			}
		}
	case shortJump:
		for _, b := range r.Bases {
			c.shorten(b)
		}
	case forgetClone:
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
	case shortJump:
		c.shorten(r.Base)
	case forgetClone:
		r.Replica.FromClone = false
		forget(r.Base.Replicas)
	}
}

// spoilPlan changes what the source of a clone sends: a plan, and each rowset in a
// chunk of its own.
func (c *cluster) spoilPlan(chunks []*bepb.FetchTabletChunk) []*bepb.FetchTabletChunk {
	plan := chunks[0].Plan
	switch {
	case c.fault == keepTooMuch:
		plan.Keep++
	case c.fault == skipLast && len(plan.Rowsets) > 0:
		plan.Rowsets = plan.Rowsets[:len(plan.Rowsets)-1]
		return chunks[:len(chunks)-1]
	}
	return chunks
}

// spoilPending aborts what must stay.
func (c *cluster) spoilPending(b *backend) {
	for _, id := range b.e.PendingTxns() {
		t := c.st.Txn(id)
		visible := t != nil && t.State == txn.Visible
		if c.fault == abortVisible && visible || c.fault == dropWaiting && visible && b.waitsFor(t) {
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
	if c.fault != unlinkRead {
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
	const most = 300
	for _, fault := range faults {
		if testing.Short() && fault.seed > 1 {
			continue // those that show in the first run are enough for the race detector
		}
		t.Run(fault.name, func(t *testing.T) {
			seed := fault.seed
			for range most {
				if err := run(t.Context(), seed, fault.name, nil); err != nil {
					t.Logf("seed %d: %s", seed, first(err))
					return
				}
				seed++
			}
			t.Errorf("nothing noticed it in %d runs", most)
		})
	}
}

func first(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
