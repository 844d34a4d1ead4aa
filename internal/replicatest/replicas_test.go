package replicatest

import (
	"errors"
	"fmt"
	"slices"

	"dorisgo/be/rpc"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/tabletsched"
	"dorisgo/txnmgr"
)

// beat is a heartbeat: what is durable, and how the replicas are.
func (c *cluster) beat(b *backend) {
	if b.down {
		return
	}
	be := c.st.Backend(b.id)
	if !be.Alive {
		c.do(&meta.SetBackendAlive{ID: b.id, BootEpoch: b.boot, Alive: true})
	}
	r := &meta.ReportDurable{BackendID: b.id, BootEpoch: b.boot}
	for _, p := range b.e.Partitions() {
		v := p.Durable
		if c.fault == earlyDurable {
			v = p.Published
		}
		r.Versions = append(r.Versions, meta.DurableVersion{PartitionID: p.PartitionID, Version: v})
	}
	c.do(r)
	var states []*fepb.ReplicaState
	for _, x := range b.e.Replicas() {
		states = append(states, &fepb.ReplicaState{
			PartitionId: x.PartitionID, TabletId: x.TabletID, ReplicaId: x.ReplicaID, Hole: x.Hole, Through: x.Through,
		})
	}
	for _, e := range txnmgr.BeatEvents(c.st, be, states) {
		if c.fault == skipMissing && e.Event == meta.ReplicaMissing {
			continue
		}
		c.report(e)
	}
	c.count("heartbeat")
}

// settle asks for the outcomes of what is pending on a backend.
func (c *cluster) settle(b *backend) {
	if b.down {
		return
	}
	c.spoilPending(b)
	for _, id := range b.e.PendingTxns() {
		o := &fepb.Outcome{TxnId: id, Gone: c.st.TxnGone(id)}
		if t := c.st.Txn(id); t != nil {
			o.State = int32(t.State)
			for _, pc := range t.Partitions {
				o.Partitions = append(o.Partitions, &fepb.PartitionWrite{PartitionId: pc.PartitionID, Version: pc.Version})
			}
		}
		c.must(rpc.Settle(c.ctx, b.e, o), "settle")
	}
	c.count("settle")
}

// removeGone removes replicas that the log has dropped.
func (c *cluster) removeGone(b *backend) {
	if b.down {
		return
	}
	for _, r := range b.e.Replicas() {
		if r.ReplicaID == 0 || !c.st.ReplicaGone(r.PartitionID, r.TabletID, r.ReplicaID) {
			continue
		}
		b.cut(func() { c.must(b.e.RemoveReplica(c.ctx, r.TabletID, r.ReplicaID), "remove") })
		c.count("remove replica")
		delete(b.damaged, r.TabletID)
		return
	}
}

// addReplica gives a tablet one more replica.
func (c *cluster) addReplica() {
	tablet := pick(c, c.tablets())
	b := pick(c, c.bes)
	if len(tablet.Replicas) > replication || slices.ContainsFunc(tablet.Replicas, func(r meta.Replica) bool { return r.BackendID == b.id }) {
		return
	}
	res := c.do(&meta.AddReplica{TabletID: tablet.ID, BackendID: b.id})
	c.note("tablet %d: replica %d on backend %d", tablet.ID, res.ID, b.id)
	c.count("add replica")
}

// dropReplica takes a replica out of a tablet, if that is allowed.
func (c *cluster) dropReplica() {
	tablet := pick(c, c.tablets())
	r := pick(c, tablet.Replicas)
	if len(tablet.Replicas) < replication || !c.spare(c.backend(r.BackendID), c.partitionOf(tablet.ID), tablet.ID) {
		return // what was damaged and not seen yet may be all that would be left
	}
	_, err := c.apply(&meta.DropReplica{TabletID: tablet.ID, ReplicaID: r.ID})
	if doriserr.Is(err, doriserr.Blocked) {
		return
	}
	c.must(err, "drop_replica")
	c.note("tablet %d: replica %d on backend %d is dropped", tablet.ID, r.ID, r.BackendID)
	c.count("drop replica")
}

// cloneRandom orders a clone as the scheduler does, from any source.
func (c *cluster) cloneRandom() {
	p := pick(c, c.places(nil))
	missing := c.st.FirstMissing(p.partition, p.tablet, p.BackendID)
	if missing == 0 && c.rng.IntN(10) > 0 {
		return
	}
	version := max(missing, 2)
	if p.Cloning {
		version = c.model.last(p.partition)
	}
	var sources []place
	for _, o := range c.places(nil) {
		if o.tablet == p.tablet && o.ID != p.ID && !o.Cloning && c.st.GapFree(o.partition, o.tablet, o.BackendID) >= version {
			sources = append(sources, o)
		}
	}
	if len(sources) == 0 {
		return
	}
	o := tabletsched.Clone{
		Partition: p.partition, Tablet: p.tablet, Replica: p.Replica, Source: pick(c, sources).BackendID, Version: version, Base: c.st.LogBase(p.partition),
	}
	for _, x := range c.places(c.backend(p.BackendID)) {
		if x.partition == p.partition {
			o.Replicas = append(o.Replicas, tabletsched.TabletReplica{Tablet: x.tablet, Replica: x.Replica})
		}
	}
	c.clone(&o)
}

// errBroken breaks a clone off.
var errBroken = errors.New("broken off")

// clone executes a clone and reports it.
func (c *cluster) clone(o *tabletsched.Clone) {
	b := c.backend(o.Replica.BackendID)
	if b.down {
		return
	}
	r := o.Request(c.st, c.term)
	c.spoilClone(r)
	broken := c.one(8)
	b.chunk = func(last bool) error {
		switch {
		case broken && c.rng.IntN(3) == 0:
			return errBroken
		case last && c.one(3):
			c.publish0(b)
		case last && c.one(5):
			c.deliverLate0(b)
		}
		return nil
	}
	var reply *bepb.CloneTabletReply
	var err error
	done := b.cut(func() { reply, err = b.srv.CloneTablet(c.ctx, r) })
	b.chunk = nil
	if !done {
		c.count("clone and crash")
		return
	}
	if err != nil {
		c.count("clone that failed")
		c.tries[o.Replica.ID]++
		c.note("clone of tablet %d to %d from %d: %v", o.Tablet, b.id, o.Source, err)
		return
	}
	c.note("clone of tablet %d to %d from %d: through %d, %d rowsets", o.Tablet, b.id, o.Source, reply.Through, reply.Rowsets)
	c.count("clone")
	c.checkReplica(b, o.Partition, o.Tablet)
	if c.one(15) {
		c.count("clone whose answer is lost")
		return
	}
	c.report(&meta.ReportReplica{
		Event: meta.ReplicaRepaired, TabletID: o.Tablet, BackendID: b.id, BootEpoch: b.boot, ReplicaID: o.Replica.ID, Version: reply.Through,
	})
}

// publish0 has a backend publish in the middle of a clone; the answer is lost.
func (c *cluster) publish0(b *backend) {
	o := txnmgr.NewOrder(c.st, b.id, c.term)
	for _, p := range c.parts {
		o.Collect(c.st, p, b.through)
	}
	if !o.Empty() {
		c.spoilOrder(o.Request)
		_, err := b.srv.Publish(c.ctx, o.Request)
		c.must(err, "publish")
		c.count("publish during a clone")
	}
}

// deliverLate0 ends a late write in the middle of a clone.
func (c *cluster) deliverLate0(b *backend) {
	for i, w := range c.late {
		if w.b == b {
			c.late = slices.Delete(c.late, i, i+1)
			_ = b.peers.WriteRowsets(c.ctx, b.n0(), w.req) // of another replica, perhaps
			c.count("late write during a clone")
			return
		}
	}
}

// schedule takes the steps that the scheduler plans.
func (c *cluster) schedule() (steps int) {
	in := &tabletsched.Input{Limits: tabletsched.DefaultLimits(), Tries: c.tries}
	in.Limits.RepairDelayMs, in.Limits.HoleDelayMs, in.Limits.DisableBalance = 0, 0, true
	plan := tabletsched.Make(c.st, in)
	for i := range plan.Clones {
		c.clone(&plan.Clones[i])
	}
	for _, a := range plan.Adds {
		c.do(&meta.AddReplica{TabletID: a.Tablet, BackendID: a.Backend})
	}
	for _, d := range plan.Drops {
		if _, err := c.apply(&meta.DropReplica{TabletID: d.Tablet, ReplicaID: d.Replica}); err != nil && !doriserr.Is(err, doriserr.Blocked) {
			c.must(err, fmt.Sprintf("drop of replica %d", d.Replica))
		}
	}
	return len(plan.Clones) + len(plan.Adds) + len(plan.Drops)
}
