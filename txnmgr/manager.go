package txnmgr

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// Node is the replicated state, as raftfsm.Node is.
type Node interface {
	Propose(ctx context.Context, c meta.Command) (meta.Result, error)
	View(f func(*meta.State))
	AppliedIndex() uint64
}

// Orders sends an FE's orders to a BE.
type Orders interface {
	Publish(ctx context.Context, be *meta.Backend, r *bepb.PublishRequest) (*bepb.PublishReply, error)
}

// Config is what a Manager works with.
type Config struct {
	Node   Node
	Orders Orders
	Logger *slog.Logger
	// Tick is the time between ticks of the FSM clock, 1 s by default.
	Tick time.Duration
	// Observe hears how long the steps of commits take: log (the commit in the
	// log), publish (an order to a BE), report (its answers in the log), visible
	// (from the log to VISIBLE). It may be nil.
	Observe func(step string, took time.Duration)
}

// Manager drives transactions on the leader. It is safe for concurrent use.
type Manager struct {
	cfg Config

	mu sync.Mutex
	// publishers are those of the present term, by backend; nil without one.
	publishers map[int64]*publisher
	// look asks the present term to look for new BEs.
	look  chan struct{}
	clock clock
	// moved is closed and replaced whenever a transaction may have become
	// VISIBLE.
	moved chan struct{}
	// ended is closed and replaced when a term ends.
	ended chan struct{}
}

// New returns a Manager without duties.
func New(cfg Config) *Manager {
	if cfg.Tick <= 0 {
		cfg.Tick = time.Second
	}
	return &Manager{cfg: cfg, moved: make(chan struct{}), ended: make(chan struct{}), look: make(chan struct{}, 1), clock: clock{ticking: make(chan struct{}, 1)}}
}

// Outcome is what a commit came to.
type Outcome struct {
	State txn.State
	// Index is a log index at which the state shows it.
	Index uint64
	Txn   *txn.Txn
}

// Commit proposes a commit, publishes it and waits up to wait for VISIBLE. It
// may be repeated: the answer is the transaction's state then. An error is a
// decision of the FSM, NotLeader, or Unknown. A commit of two phases ends
// PRECOMMITTED: nothing is published.
func (m *Manager) Commit(ctx context.Context, c *meta.CommitTxn, wait time.Duration) (Outcome, error) {
	if c.TwoPhase {
		// The time until it expires counts from now and not from the last tick.
		if err := m.advance(ctx, 0); err != nil {
			return Outcome{}, err
		}
	}
	return m.decide(ctx, c, wait)
}

// Finish is the second phase of a PRECOMMITTED transaction: a commit goes on as
// Commit does, an abort is done when it is decided.
func (m *Manager) Finish(ctx context.Context, c *meta.FinishTwoPhase, wait time.Duration) (Outcome, error) {
	return m.decide(ctx, c, wait)
}

// decide proposes a command that may commit a transaction.
func (m *Manager) decide(ctx context.Context, c meta.Command, wait time.Duration) (Outcome, error) {
	m.mu.Lock()
	ended := m.ended
	m.mu.Unlock()
	start := time.Now()
	res, err := m.cfg.Node.Propose(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	m.observe("log", start)
	if res.Txn == nil {
		return Outcome{}, doriserr.New(doriserr.Internal, "BUG: %s was answered without a transaction", meta.CommandName(c))
	}
	out := Outcome{State: res.Txn.State, Index: res.Index, Txn: res.Txn}
	if out.State != txn.Committed {
		m.bump()
		return out, nil
	}
	m.publish(res.Txn)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	defer m.observe("visible", time.Now())
	return m.waitVisible(ctx, out, ended)
}

func (m *Manager) observe(step string, start time.Time) {
	if m.cfg.Observe != nil {
		m.cfg.Observe(step, time.Since(start))
	}
}

// waitVisible returns when the transaction is VISIBLE or ctx ends: late
// visibility is no error. When the term ends, which ended says, somebody else
// publishes: the caller is sent there to ask again.
func (m *Manager) waitVisible(ctx context.Context, out Outcome, ended <-chan struct{}) (Outcome, error) {
	for {
		m.mu.Lock()
		moved := m.moved
		m.mu.Unlock()
		gone := false
		m.cfg.Node.View(func(s *meta.State) {
			t := s.Txn(out.Txn.ID)
			gone = t == nil
			if t != nil && t.State == txn.Visible {
				out.State, out.Txn = t.State, t
				out.Index = s.Index()
			}
		})
		if gone || out.State == txn.Visible {
			return out, nil
		}
		select {
		case <-ctx.Done():
			return out, nil
		case <-ended:
			return Outcome{}, doriserr.New(doriserr.Unknown, "this frontend does not lead any more, ask the next one when transaction %d is visible", out.Txn.ID)
		case <-moved:
		}
	}
}

// bump wakes everybody who waits for VISIBLE.
func (m *Manager) bump() {
	m.mu.Lock()
	close(m.moved)
	m.moved = make(chan struct{})
	m.mu.Unlock()
}

// publish hands a committed transaction's partitions to the publishers.
func (m *Manager) publish(t *txn.Txn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.publishers {
		p.dirty(t.Partitions)
	}
}

// Lead runs the leader's duties until ctx, which lives as long as the term,
// ends.
func (m *Manager) Lead(ctx context.Context, term uint64) {
	var wg sync.WaitGroup
	m.mu.Lock()
	m.publishers = map[int64]*publisher{}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.publishers = nil
		close(m.ended)
		m.ended = make(chan struct{})
		m.mu.Unlock()
		wg.Wait()
	}()
	m.clock.begin(term)
	defer m.clock.end()
	wg.Go(func() { m.tick(ctx) })
	ticker := time.NewTicker(m.cfg.Tick)
	defer ticker.Stop()
	var catalog uint64
	reports := newReports(m)
	for {
		m.hire(ctx, term, reports, &wg)
		m.placed(&catalog)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.bump() // a drop makes transactions VISIBLE without a publish
		case <-m.look:
		}
	}
}

// Registered tells the manager that a BE has a new life: what it did not
// report durable is sent again.
func (m *Manager) Registered(backendID int64) {
	m.mu.Lock()
	p := m.publishers[backendID]
	m.mu.Unlock()
	if p != nil {
		p.restart()
		return
	}
	select {
	case m.look <- struct{}{}:
	default:
	}
}

// placed has every publisher look at all partitions once the catalog changed: a
// BE that had no replica of one may have one now, and has to publish what was
// committed before.
func (m *Manager) placed(seen *uint64) {
	var now uint64
	m.cfg.Node.View(func(s *meta.State) { now = s.CatalogIndex() })
	if now == *seen {
		return
	}
	*seen = now
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.publishers {
		p.look()
	}
}

// hire starts a publisher for each BE that has none.
func (m *Manager) hire(ctx context.Context, term uint64, r *reports, wg *sync.WaitGroup) {
	var ids []int64
	m.cfg.Node.View(func(s *meta.State) {
		for _, b := range s.Backends() {
			ids = append(ids, b.ID)
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if m.publishers[id] == nil {
			p := newPublisher(m, id, term, r)
			m.publishers[id] = p
			wg.Go(func() { p.run(ctx) })
		}
	}
}
