package txnmgr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// publisher sends one BE, for one term, what it has to publish: for each
// partition the committed versions in order, starting above what the BE
// reported durable. One order is under way at a time; what is committed
// meanwhile goes with the next one, so that orders grow with the load.
type publisher struct {
	m         *Manager
	backendID int64
	term      uint64
	// reports are those of all BEs of the term.
	reports *reports
	wake    chan struct{}
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

func newPublisher(m *Manager, backendID int64, term uint64, r *reports) *publisher {
	return &publisher{
		m: m, backendID: backendID, term: term, reports: r, wake: make(chan struct{}, 1), reborn: make(chan struct{}, 1),
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
			p.m.cfg.Logger.Warn("publish is tried again", "backend_id", p.backendID, "versions", len(order.Request.Versions), "err", err)
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
	Order
	backend *meta.Backend
	life    uint64
}

// next takes what is to be published, nil if there is nothing.
func (p *publisher) next() *order {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.all && len(p.todo) == 0 {
		return nil
	}
	o := &order{life: p.life}
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
		o.Order = NewOrder(s, p.backendID, p.term)
		for id := range p.todo {
			if len(o.Request.Versions) >= maxPublish {
				break
			}
			if o.Collect(s, id, p.through) {
				delete(p.todo, id)
			}
		}
	})
	if o.Request == nil || o.Empty() {
		return nil
	}
	return o
}

func (p *publisher) addTable(t *meta.Table) {
	for _, part := range t.Partitions {
		p.todo[part.ID] = true
	}
}

// send gives the order, and the log the BE's answer.
func (p *publisher) send(ctx context.Context, o *order) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if !p.during(o, cancel) {
		return errReborn
	}
	start := time.Now()
	reply, err := p.m.cfg.Orders.Publish(ctx, o.backend, o.Request)
	p.during(o, nil)
	if err != nil {
		return err
	}
	p.m.observe("publish", start)
	p.mu.Lock()
	if o.life == p.life {
		for _, partition := range o.Confirm(reply, p.through) {
			p.todo[partition] = true
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
	var events []*meta.ReportReplica
	p.m.cfg.Node.View(func(s *meta.State) { events = o.Events(s, o.backend.BootEpoch, reply) })
	for _, e := range events {
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
	p.m.cfg.Node.View(func(s *meta.State) { waiting = Unreported(s, p.backendID, ids) })
	errs := make(chan error, len(waiting))
	for _, id := range waiting {
		go func() { errs <- p.reports.add(ctx, id, p.backendID) }()
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
	for partition := range o.Last {
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
