package txnmgr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// maxPublish is how many versions one order carries.
const maxPublish = 512

// publisher sends one BE, for one term, what it has to publish: for each
// partition the committed versions in order, starting above what the BE
// reported durable. One order is under way at a time; what is committed
// meanwhile goes with the next one, so that orders grow with the load.
type publisher struct {
	m         *Manager
	backendID int64
	term      uint64
	wake      chan struct{}
	// reborn tells of a new life of the BE.
	reborn chan struct{}

	mu sync.Mutex
	// todo are partitions that may have unpublished versions.
	todo map[int64]bool
	// all asks for a look at every partition: at the start and in each new
	// life of the BE.
	all bool
	// through is what the BE confirmed in this term and life.
	through map[int64]int64
	life    uint64
	// giveUp ends the order that is under way, nil without one.
	giveUp context.CancelFunc
}

func newPublisher(m *Manager, backendID int64, term uint64) *publisher {
	return &publisher{
		m: m, backendID: backendID, term: term, wake: make(chan struct{}, 1), reborn: make(chan struct{}, 1),
		todo: map[int64]bool{}, all: true, through: map[int64]int64{},
	}
}

// dirty notes partitions with a new committed version.
func (p *publisher) dirty(parts []txn.PartitionCommit) {
	p.mu.Lock()
	for i := range parts {
		p.todo[parts[i].PartitionID] = true
	}
	p.mu.Unlock()
	p.signal()
}

// look has the publisher look at every partition.
func (p *publisher) look() {
	p.mu.Lock()
	p.all = true
	p.mu.Unlock()
	p.signal()
}

// restart forgets what the BE confirmed in its former life.
func (p *publisher) restart() {
	p.mu.Lock()
	p.all = true
	clear(p.through)
	p.life++
	if p.giveUp != nil {
		p.giveUp()
	}
	p.mu.Unlock()
	select {
	case p.reborn <- struct{}{}:
	default:
	}
	p.signal()
}

func (p *publisher) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *publisher) run(ctx context.Context) {
	const first, longest = 20 * time.Millisecond, 2 * time.Second
	wait := first
	for {
		order := p.next()
		if order == nil {
			select {
			case <-ctx.Done():
				return
			case <-p.wake:
			}
			continue
		}
		if err := p.send(ctx, order); err != nil {
			if ctx.Err() != nil {
				return
			}
			p.m.cfg.Logger.Warn("publish is tried again", "backend_id", p.backendID, "versions", len(order.request.Versions), "err", err)
			p.again(order)
			select {
			case <-ctx.Done():
				return
			case <-p.reborn:
				wait = first
				continue
			case <-time.After(wait):
			}
			wait = min(2*wait, longest)
			continue
		}
		wait = first
	}
}

// order is one Publish call.
type order struct {
	backend *meta.Backend
	request *bepb.PublishRequest
	// last is the highest version of each partition in it.
	last map[int64]int64
	life uint64
}

// next takes what is to be published, nil if there is nothing.
func (p *publisher) next() *order {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.all && len(p.todo) == 0 {
		return nil
	}
	o := &order{last: map[int64]int64{}, life: p.life}
	p.m.cfg.Node.View(func(s *meta.State) {
		o.backend = s.Backend(p.backendID)
		if o.backend == nil {
			p.all = false
			clear(p.todo)
			return
		}
		if p.all {
			p.all = false
			for _, t := range s.Tables(0) {
				p.addTable(t)
			}
			for _, r := range s.RecycledTables() {
				p.addTable(r.Table)
			}
		}
		o.request = &bepb.PublishRequest{MetaEpoch: s.MetaEpoch(), Term: p.term, Index: s.Index()}
		for id := range p.todo {
			if len(o.request.Versions) >= maxPublish {
				break
			}
			if p.collect(s, id, o) {
				delete(p.todo, id)
			}
		}
	})
	if o.request == nil || len(o.request.Versions) == 0 && len(o.request.Bases) == 0 {
		return nil
	}
	return o
}

func (p *publisher) addTable(t *meta.Table) {
	for _, part := range t.Partitions {
		p.todo[part.ID] = true
	}
}

// collect adds a partition's versions above what the BE confirmed; whole says
// that none is left.
func (p *publisher) collect(s *meta.State, partition int64, o *order) (whole bool) {
	t := s.PartitionTable(partition)
	if t == nil {
		return true
	}
	i := slices.IndexFunc(t.Partitions, func(x *meta.Partition) bool { return x.ID == partition })
	if i < 0 {
		return true
	}
	mine := map[int64]meta.Replica{}
	for _, tablet := range t.Partitions[i].Tablets {
		for _, r := range tablet.Replicas {
			if r.BackendID == p.backendID {
				mine[tablet.ID] = r
			}
		}
	}
	if len(mine) == 0 {
		return true
	}
	if have, ok := p.through[partition]; ok && have < s.LogBase(partition) || !ok && s.BehindLog(partition, p.backendID) {
		base := &bepb.PartitionBase{PartitionId: partition, Base: s.LogBase(partition)}
		for _, tablet := range t.Partitions[i].Tablets {
			if r, ok := mine[tablet.ID]; ok {
				base.Replicas = append(base.Replicas, &bepb.TabletReplica{TabletId: tablet.ID, ReplicaId: r.ID, FromClone: r.Cloning})
			}
		}
		o.request.Bases = append(o.request.Bases, base)
		o.last[partition] = base.Base
	}
	after := s.DurableThrough(partition, p.backendID)
	if v, ok := s.PartitionVersion(partition); ok {
		// What is not VISIBLE is ordered again although the BE has it: the
		// report that it was published may be what is missing.
		after = min(after, v.Visible)
	}
	after = max(after, p.through[partition])
	list, _ := s.PublishList(partition, after)
	for _, tx := range list {
		if len(o.request.Versions) >= maxPublish {
			return false
		}
		for j := range tx.Partitions {
			pc := &tx.Partitions[j]
			if pc.PartitionID != partition {
				continue
			}
			v := &bepb.PublishVersion{TxnId: tx.ID, PartitionId: partition, Version: pc.Version}
			for k := range pc.Tablets {
				tc := &pc.Tablets[k]
				if r, ok := mine[tc.TabletID]; ok {
					v.Tablets = append(v.Tablets, &bepb.PublishTablet{TabletId: tc.TabletID, RowsetId: tc.RowsetID[:], Parts: tc.Parts, ReplicaId: r.ID, FromClone: r.Cloning})
				}
			}
			o.request.Versions = append(o.request.Versions, v)
			o.last[partition] = max(o.last[partition], pc.Version)
		}
	}
	return true
}

// send gives the order, and the log the BE's answer.
func (p *publisher) send(ctx context.Context, o *order) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if !p.during(o, cancel) {
		return errReborn
	}
	start := time.Now()
	reply, err := p.m.cfg.Orders.Publish(ctx, o.backend, o.request)
	p.during(o, nil)
	if err != nil {
		return err
	}
	p.m.observe("publish", start)
	defer p.m.observe("report", time.Now())
	p.mu.Lock()
	if o.life == p.life {
		for partition, version := range o.last {
			p.through[partition] = max(p.through[partition], version)
		}
		for _, v := range o.request.Versions {
			if _, failed := reply.Failed[v.TxnId]; failed {
				p.through[v.PartitionId] = min(p.through[v.PartitionId], v.Version-1)
				p.todo[v.PartitionId] = true
			}
		}
	}
	p.mu.Unlock()
	if err := p.reportReplicas(ctx, o, reply); err != nil {
		return err
	}
	if err := p.report(ctx, reply.DoneTxnIds); err != nil {
		return err
	}
	for id, why := range reply.Failed {
		return &publishError{txnID: id, why: why}
	}
	return nil
}

// reportReplicas tells the log, before it hears that the BE published, which
// replicas lack what they were believed to hold, and which hold what was written
// after the commit.
func (p *publisher) reportReplicas(ctx context.Context, o *order, reply *bepb.PublishReply) error {
	hole := map[int64]int64{}
	for _, h := range reply.Holes {
		hole[h.TabletId] = h.Version
	}
	done := map[int64]bool{}
	for _, id := range reply.DoneTxnIds {
		done[id] = true
	}
	var events []*meta.ReportReplica
	p.m.cfg.Node.View(func(s *meta.State) {
		for _, h := range reply.Holes {
			if m := s.FirstMissing(h.PartitionId, h.TabletId, p.backendID); m == 0 || m > h.Version {
				events = append(events, &meta.ReportReplica{Event: meta.ReplicaMissing, TabletID: h.TabletId, ReplicaID: h.ReplicaId, Version: h.Version})
			}
		}
		for _, v := range o.request.Versions {
			t := s.Txn(v.TxnId)
			if !done[v.TxnId] || t == nil {
				continue
			}
			for _, tablet := range v.Tablets {
				if h := hole[tablet.TabletId]; h != 0 && h <= v.Version {
					continue
				}
				if !t.Holds(v.PartitionId, tablet.TabletId, p.backendID) && !tablet.FromClone {
					events = append(events, &meta.ReportReplica{
						Event: meta.ReplicaWritten, TabletID: tablet.TabletId, ReplicaID: tablet.ReplicaId, TxnID: v.TxnId, RowsetID: [16]byte(tablet.RowsetId),
					})
				}
			}
		}
	})
	for _, e := range events {
		e.BackendID, e.BootEpoch = p.backendID, o.backend.BootEpoch
		if _, err := p.m.cfg.Node.Propose(ctx, e); err != nil && !doriserr.Is(err, doriserr.Conflict) {
			return err
		}
	}
	return nil
}

// errReborn: the order was made for an earlier life of the BE.
var errReborn = errors.New("the backend has started anew")

// during notes how the order that is under way is given up; false says that
// the BE has another life by now.
func (p *publisher) during(o *order, giveUp context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveUp = giveUp
	return o.life == p.life
}

// report tells the log that the BE published the transactions, those of which it
// has rows: no other counts for a majority.
func (p *publisher) report(ctx context.Context, ids []int64) error {
	defer p.m.bump()
	var waiting []int64
	p.m.cfg.Node.View(func(s *meta.State) {
		for _, id := range ids {
			if t := s.Txn(id); t != nil && t.HoldsAny(p.backendID) && !slices.Contains(t.Published, p.backendID) {
				waiting = append(waiting, id)
			}
		}
	})
	errs := make(chan error, len(waiting))
	for _, id := range waiting {
		go func() {
			_, err := p.m.cfg.Node.Propose(ctx, &meta.PublishDone{TxnID: id, BackendIDs: []int64{p.backendID}})
			errs <- err
		}()
	}
	var first error
	for range waiting {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// again puts a failed order's partitions back. What the BE confirmed stays
// confirmed.
func (p *publisher) again(o *order) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for partition := range o.last {
		p.todo[partition] = true
		if o.life == p.life {
			// The report may have failed after the BE did its part: the order
			// is repeated, and the BE answers it again.
			delete(p.through, partition)
		}
	}
}

type publishError struct {
	txnID int64
	why   string
}

func (e *publishError) Error() string {
	return fmt.Sprintf("transaction %d cannot be published: %s", e.txnID, e.why)
}
