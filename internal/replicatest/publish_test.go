package replicatest

import (
	"google.golang.org/protobuf/proto"

	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/txnmgr"
)

// staleOrder is a publish order that is still under way when nobody waits for its
// answer any more.
type staleOrder struct {
	b *backend
	r *bepb.PublishRequest
}

// publish gives a backend what it has to publish, and the log its answer. It
// reports whether all of it was done.
func (c *cluster) publish(b *backend) bool {
	if b.down {
		return false
	}
	o := txnmgr.NewOrder(c.st, b.id, c.term)
	for _, p := range c.parts {
		o.Collect(c.st, p, b.through)
	}
	if o.Empty() {
		return true
	}
	c.spoilOrder(o.Request)
	again := func(why string) bool {
		for p := range o.Last {
			delete(b.through, p)
		}
		c.count(why)
		return false
	}
	sent := o.Request
	switch {
	case c.one(15):
		c.stale = append(c.stale, &staleOrder{b, o.Request})
		return again("order that is late")
	case c.one(15):
		sent = proto.CloneOf(o.Request)
		sent.Versions = sent.Versions[:c.rng.IntN(len(sent.Versions)+1)]
	}
	var reply *bepb.PublishReply
	var err error
	if !b.cut(func() { reply, err = b.srv.Publish(c.ctx, sent) }) {
		return again("order and crash")
	}
	c.must(err, "publish")
	c.note("backend %d: ordered %v, done %v, holes %v", b.id, o.Last, reply.DoneTxnIds, reply.Holes)
	if sent != o.Request || c.one(30) {
		return again("answer that is lost")
	}
	whole := len(o.Confirm(reply, b.through)) == 0
	if !c.answer(b, &o, reply) {
		return again("report that is cut off")
	}
	for id, why := range reply.Failed {
		c.note("backend %d: transaction %d failed: %s", b.id, id, why)
	}
	if !whole {
		again("order that failed")
	}
	c.count("publish")
	return whole
}

// answer tells the log what a backend's answer means, as far as the leader lives.
func (c *cluster) answer(b *backend, o *txnmgr.Order, reply *bepb.PublishReply) bool {
	holes := func() bool {
		for _, e := range o.Events(c.st, b.boot, reply) {
			if c.fault == skipMissing && e.Event == meta.ReplicaMissing {
				continue
			}
			if c.one(50) {
				return false
			}
			c.report(e)
		}
		return true
	}
	done := func() bool {
		for _, id := range txnmgr.Unreported(c.st, b.id, reply.DoneTxnIds) {
			if c.one(50) {
				return false
			}
			c.do(&meta.PublishDone{TxnID: id, BackendIDs: []int64{b.id}})
		}
		return true
	}
	if c.fault == doneFirst {
		return done() && holes()
	}
	return holes() && done()
}

// deliverStale executes an order whose answer nobody hears.
func (c *cluster) deliverStale() {
	if len(c.stale) == 0 {
		return
	}
	i := c.rng.IntN(len(c.stale))
	o := c.stale[i]
	if c.rng.IntN(2) == 0 {
		c.stale = append(c.stale[:i:i], c.stale[i+1:]...)
	}
	if o.b.down {
		return
	}
	// A deposed leader's is refused, and what is out of date fails.
	o.b.cut(func() { _, _ = o.b.srv.Publish(c.ctx, o.r) })
	c.count("stale order")
}

// lead begins another term: nothing is known of what was confirmed.
func (c *cluster) lead() {
	c.term++
	for _, b := range c.bes {
		clear(b.through)
	}
	c.count("term")
}
