package replicatest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dorisgo/meta"
	"dorisgo/meta/txn"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// steps are what may happen, with how often.
var steps = []struct {
	weight int
	do     func(c *cluster)
}{
	{24, (*cluster).begin},
	{24, func(c *cluster) {
		if l := c.undecided(); len(l) > 0 {
			c.commit(pick(c, l))
		}
	}},
	{2, func(c *cluster) {
		if l := c.undecided(); len(l) > 0 {
			c.abort(pick(c, l))
		}
	}},
	{40, func(c *cluster) {
		if b := pick(c, c.bes); c.publish(b) && !b.down {
			c.checkDelivered(b)
		}
	}},
	{4, (*cluster).deliverStale},
	{8, (*cluster).deliverLate},
	{14, func(c *cluster) { c.beat(pick(c, c.bes)) }},
	{12, func(c *cluster) {
		if b := c.pickUp(); b != nil {
			b.work(pick(c, c.tablets()).ID)
		}
	}},
	{6, func(c *cluster) { c.settle(pick(c, c.bes)) }},
	{12, (*cluster).cloneRandom},
	{2, (*cluster).addReplica},
	{2, (*cluster).dropReplica},
	{4, func(c *cluster) { c.removeGone(pick(c, c.bes)) }},
	{3, func(c *cluster) { c.stop(pick(c, c.bes)) }},
	{20, (*cluster).start},
	{1, func(c *cluster) { c.leave(pick(c, c.bes)) }},
	{1, (*cluster).lose},
	{1, (*cluster).damage},
	{1, (*cluster).lead},
	{3, (*cluster).tick},
	{14, (*cluster).readSome},
	{4, func(c *cluster) { pick(c, c.bes).closeReaders(true) }},
	{3, func(c *cluster) { c.checkBelief(pick(c, c.bes)) }},
}

// length is how many steps a run has.
const length = 350

// run takes one seed's steps, settles everything and looks at what there is.
func run(ctx context.Context, seed uint64, fault string, counts map[string]int) (err error) {
	c := newCluster(ctx, seed, fault)
	defer func() {
		if f, ok := recover().(failure); ok {
			err = fmt.Errorf("%s\nseed %d, after:\n%s", f.text, seed, strings.Join(c.trace[max(0, len(c.trace)-400):], "\n"))
			_ = c.close() // readers may be open in the middle of something
		} else if err == nil {
			err = c.close()
		}
		for what, n := range c.counts {
			if counts != nil {
				counts[what] += n
			}
		}
	}()
	total := 0
	for _, s := range steps {
		total += s.weight
	}
	if c.one(3) {
		c.leave(pick(c, c.bes))
	}
	for range length {
		for _, b := range c.bes {
			b.away = max(b.away-1, 0)
		}
		n := c.rng.IntN(total)
		for _, s := range steps {
			if n -= s.weight; n < 0 {
				s.do(c)
				break
			}
		}
	}
	c.end()
	return nil
}

// tick moves the log's clock, which trims publish lists. Damage is seen before: the
// log takes a replica for whole until it is, and gives up what the lists of those
// that are away have for it (docs/protocol.md, H50).
func (c *cluster) tick() {
	for _, b := range c.bes {
		if len(b.damaged) > 0 && b.down {
			return
		}
		for _, tablet := range slices.Sorted(maps.Keys(b.damaged)) {
			_ = b.e.Scrub(c.ctx, tablet)
			c.beat(b)
		}
	}
	c.do(&meta.Tick{DeltaMs: 6000 + c.rng.Int64N(60_000), Term: c.term})
}

// end settles everything and compares all replicas with the model.
func (c *cluster) end() {
	c.calm = true
	c.note("end")
	for _, b := range c.bes {
		b.closeReaders(true)
	}
	c.come()
	c.checkEnd()
	for _, b := range c.bes {
		b.crash(nil, unchanged)
		b.register()
	}
	c.come()
	c.checkEnd()
}

// come lets everything come to rest.
func (c *cluster) come() {
	for range 40 {
		for _, b := range c.bes {
			if b.away = 0; b.down {
				b.register()
			}
		}
		for _, l := range slices.Clone(c.undecided()) {
			if !c.commit(l) {
				c.abort(l)
			}
		}
		for len(c.late) > 0 {
			c.deliverLate()
		}
		c.stale = nil
		for _, b := range c.bes {
			c.publish(b)
			c.must(b.e.SyncPublished(c.ctx), "sync")
			for _, tablet := range slices.Sorted(maps.Keys(b.damaged)) {
				_ = b.e.Scrub(c.ctx, tablet) // finds what is damaged
			}
			c.beat(b)
			c.settle(b)
			c.removeGone(b)
		}
		c.do(&meta.Tick{DeltaMs: 6000, Term: c.term})
		if c.schedule() == 0 && c.restless() == "" {
			return
		}
	}
	c.describeReplicas()
	c.fail("it does not come to rest: %s", c.restless())
}

// restless says what is not as it should be in the end.
func (c *cluster) restless() string {
	for _, p := range c.parts {
		if v, _ := c.st.PartitionVersion(p); v.Visible != v.Committed {
			return fmt.Sprintf("partition %d is visible at %d of %d", p, v.Visible, v.Committed)
		}
	}
	for _, p := range c.places(nil) {
		b := c.backend(p.BackendID)
		if m := c.st.FirstMissing(p.partition, p.tablet, p.BackendID); m != 0 || p.Cloning {
			return fmt.Sprintf("tablet %d on backend %d lacks version %d, cloning %v", p.tablet, p.BackendID, m, p.Cloning)
		}
		if v := b.e.PublishedVersion(p.partition); v != c.model.last(p.partition) {
			return fmt.Sprintf("backend %d published %d of %d of partition %d", b.id, v, c.model.last(p.partition), p.partition)
		}
	}
	for _, b := range c.bes {
		for _, r := range b.e.Replicas() {
			if c.st.ReplicaGone(r.PartitionID, r.TabletID, r.ReplicaID) {
				return fmt.Sprintf("replica %d is still on backend %d", r.ReplicaID, b.id)
			}
		}
	}
	return ""
}

// checkEnd wants every replica to have the rows of the model, and no more.
func (c *cluster) checkEnd() {
	for _, p := range c.places(nil) {
		b := c.backend(p.BackendID)
		delete(b.damaged, p.tablet) // a clone has replaced it
		last := c.model.last(p.partition)
		if err := c.read(b, p.partition, p.tablet, last); err != nil && !c.removedEmpty(b, p.partition, p.tablet, last, err) {
			c.fail("in the end backend %d cannot read tablet %d at version %d: %v", b.id, p.tablet, last, err)
		}
		c.must(b.e.Scrub(c.ctx, p.tablet), "scrub")
	}
	for _, b := range c.bes {
		if ids := b.e.PendingTxns(); len(ids) > 0 {
			c.fail("in the end backend %d has pending transactions: %s", b.id, c.describe(ids))
		}
	}
}

// describeReplicas notes how all replicas are, by the log and by their engines.
func (c *cluster) describeReplicas() {
	for _, p := range c.places(nil) {
		b := c.backend(p.BackendID)
		text := fmt.Sprintf("tablet %d on backend %d: replica %d, cloning %v, missing %d, published %d", p.tablet, b.id, p.ID, p.Cloning,
			c.st.FirstMissing(p.partition, p.tablet, b.id), b.e.PublishedVersion(p.partition))
		for _, r := range b.e.Replicas() {
			if r.TabletID == p.tablet {
				text += fmt.Sprintf("; there %d, hole %d, through %d", r.ReplicaID, r.Hole, r.Through)
			}
		}
		c.note("%s", text)
	}
}

func (c *cluster) describe(ids []int64) string {
	var out []string
	for _, id := range ids {
		state := txn.Unknown
		if t := c.st.Txn(id); t != nil {
			state = t.State
		}
		out = append(out, fmt.Sprint(id, " ", state, " gone ", c.st.TxnGone(id)))
	}
	return strings.Join(out, ", ")
}

// TestReplication runs seeds for a few seconds, or for REPLICATEST_FOR.
func TestReplication(t *testing.T) {
	limit := 5 * time.Second
	if testing.Short() {
		limit = 2 * time.Second
	}
	if s := os.Getenv("REPLICATEST_FOR"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		limit = d
	}
	seed, once := rand.Uint64(), false
	if s := os.Getenv("REPLICATEST_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed, once = n, true
	}
	counts := map[string]int{}
	runs := 0
	for end := time.Now().Add(limit); ; runs++ {
		if err := run(t.Context(), seed, "", counts); err != nil {
			t.Fatalf("%v\nagain with REPLICATEST_SEED=%d", err, seed)
		}
		if once || !time.Now().Before(end) {
			break
		}
		seed++
	}
	t.Logf("%d runs, the last with seed %d", runs+1, seed)
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%7d %s", counts[what], what)
	}
}
