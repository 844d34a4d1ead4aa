package tabletsched

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

// Node is the replicated state, as raftfsm.Node is.
type Node interface {
	Propose(ctx context.Context, c meta.Command) (meta.Result, error)
	View(f func(*meta.State))
}

// Orders sends an FE's orders to a BE.
type Orders interface {
	CloneTablet(ctx context.Context, be *meta.Backend, r *bepb.CloneTabletRequest) (*bepb.CloneTabletReply, error)
}

// Config is what a Scheduler works with.
type Config struct {
	Node   Node
	Orders Orders
	Logger *slog.Logger
	// Limits may change between two looks.
	Limits func() Limits
	// Usage tells of the backends' disks; nil if nothing is known.
	Usage func() map[int64]Usage
	// Every is the pause between two looks, 1 s by default.
	Every time.Duration
	// CloneTimeout bounds one clone, 2 h by default.
	CloneTimeout time.Duration
}

// Scheduler keeps tablets whole. It is safe for concurrent use.
type Scheduler struct {
	cfg   Config
	start time.Time

	mu    sync.Mutex
	busy  map[int64]Clone
	fails map[int64]failure
	// holes, down and bare are Input.HoleSeen, DownSeen and EmptySeen of the
	// present term.
	holes, down, bare map[int64]int64
	stats             Stats
	wake              chan struct{}
}

// failure is a clone that failed.
type failure struct {
	times int
	until time.Time
}

// Stats counts since the start of the process.
type Stats struct {
	Cloned, Failed, Added, Dropped int64
	Bytes                          int64
	// Running and Unhealthy are of now.
	Running, Unhealthy int
}

// New returns a Scheduler without duties.
func New(cfg Config) *Scheduler {
	if cfg.Every <= 0 {
		cfg.Every = time.Second
	}
	if cfg.CloneTimeout <= 0 {
		cfg.CloneTimeout = 2 * time.Hour
	}
	if cfg.Limits == nil {
		cfg.Limits = DefaultLimits
	}
	if cfg.Usage == nil {
		cfg.Usage = func() map[int64]Usage { return nil }
	}
	return &Scheduler{cfg: cfg, busy: map[int64]Clone{}, fails: map[int64]failure{}, start: time.Now(), wake: make(chan struct{}, 1)}
}

// Stats tells what was done.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Running = len(s.busy)
	return st
}

// Look asks for a look soon.
func (s *Scheduler) Look() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Lead runs the duties until ctx, which lives as long as the term, ends.
func (s *Scheduler) Lead(ctx context.Context, term uint64) {
	var wg sync.WaitGroup
	defer wg.Wait()
	s.mu.Lock()
	s.holes, s.down, s.bare = nil, nil, nil
	s.mu.Unlock()
	ticker := time.NewTicker(s.cfg.Every)
	defer ticker.Stop()
	for {
		s.look(ctx, term, &wg)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.wake:
		}
	}
}

// look plans and takes the steps; clones go on in goroutines of wg.
func (s *Scheduler) look(ctx context.Context, term uint64, wg *sync.WaitGroup) {
	in := &Input{Limits: s.cfg.Limits(), Usage: s.cfg.Usage(), Rest: map[int64]bool{}, Tries: map[int64]int{}}
	now := time.Now()
	s.mu.Lock()
	in.Busy, in.NowMs = maps.Clone(s.busy), now.Sub(s.start).Milliseconds()
	in.HoleSeen, in.DownSeen, in.EmptySeen = s.holes, s.down, s.bare
	for id, f := range s.fails {
		in.Tries[id] = f.times
		if now.Before(f.until) {
			in.Rest[id] = true
		}
	}
	s.mu.Unlock()
	var plan Plan
	s.cfg.Node.View(func(st *meta.State) { plan = Make(st, in) })
	s.mu.Lock()
	s.holes, s.down, s.bare = in.HoleSeen, in.DownSeen, in.EmptySeen
	for id := range s.fails {
		if _, ok := s.holes[id]; !ok {
			delete(s.fails, id)
		}
	}
	s.stats.Unhealthy = plan.Unhealthy
	s.mu.Unlock()
	for _, c := range plan.Clones {
		s.mu.Lock()
		s.busy[c.Replica.ID] = c
		s.mu.Unlock()
		wg.Go(func() { s.clone(ctx, term, c) })
	}
	s.change(ctx, &plan)
}

// change proposes the changes of the catalog. One that the log refuses is
// planned again.
func (s *Scheduler) change(ctx context.Context, plan *Plan) {
	log := s.cfg.Logger
	again := false
	for _, a := range plan.Adds {
		c := &meta.AddReplica{TabletID: a.Tablet, BackendID: a.Backend}
		rand.Read(c.RequestID[:])
		res, err := s.cfg.Node.Propose(ctx, c)
		if err != nil {
			log.Warn("a replica cannot be added", "tablet_id", a.Tablet, "backend_id", a.Backend, "err", err)
			continue
		}
		log.Info("a replica is added", "tablet_id", a.Tablet, "backend_id", a.Backend, "replica_id", res.ID)
		s.count(func(st *Stats) { st.Added++ })
		again = true
	}
	for _, d := range plan.Drops {
		_, err := s.cfg.Node.Propose(ctx, &meta.DropReplica{TabletID: d.Tablet, ReplicaID: d.Replica})
		switch {
		case err == nil:
			log.Info("a replica is dropped", "tablet_id", d.Tablet, "backend_id", d.Backend, "replica_id", d.Replica)
			s.count(func(st *Stats) { st.Dropped++ })
		case !doriserr.Is(err, doriserr.Blocked) && ctx.Err() == nil:
			log.Warn("a replica cannot be dropped", "tablet_id", d.Tablet, "replica_id", d.Replica, "err", err)
		}
	}
	for _, id := range plan.Empty {
		_, err := s.cfg.Node.Propose(ctx, &meta.DropBackend{ID: id})
		switch {
		case err == nil:
			log.Info("a decommissioned backend has nothing left and is dropped", "backend_id", id)
		case !doriserr.Is(err, doriserr.Blocked) && ctx.Err() == nil:
			log.Warn("a decommissioned backend cannot be dropped", "backend_id", id, "err", err)
		}
	}
	if again {
		s.Look()
	}
}

func (s *Scheduler) count(f func(*Stats)) {
	s.mu.Lock()
	f(&s.stats)
	s.mu.Unlock()
}

// clone orders a clone and tells the log what it came to.
func (s *Scheduler) clone(ctx context.Context, term uint64, c Clone) {
	start := time.Now()
	reply, err := s.order(ctx, term, c)
	s.mu.Lock()
	delete(s.busy, c.Replica.ID)
	if err == nil {
		delete(s.fails, c.Replica.ID)
		s.stats.Cloned++
		s.stats.Bytes += reply.Bytes
	} else {
		f := s.fails[c.Replica.ID]
		f.times++
		f.until = time.Now().Add(min(time.Second<<min(f.times, 10), time.Minute))
		s.fails[c.Replica.ID] = f
		s.stats.Failed++
	}
	s.mu.Unlock()
	log := s.cfg.Logger.With("tablet_id", c.Tablet, "replica_id", c.Replica.ID, "backend_id", c.Replica.BackendID, "source", c.Source)
	switch {
	case err == nil:
		log.Info("a replica was repaired", "version", reply.Through, "bytes", reply.Bytes, "rowsets", reply.Rowsets, "took", time.Since(start))
		s.Look()
	case ctx.Err() == nil:
		log.Warn("a replica could not be repaired, it is tried again", "err", err)
	}
}

func (s *Scheduler) order(ctx context.Context, term uint64, c Clone) (*bepb.CloneTabletReply, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CloneTimeout)
	defer cancel()
	var be *meta.Backend
	var r *bepb.CloneTabletRequest
	s.cfg.Node.View(func(st *meta.State) { be, r = st.Backend(c.Replica.BackendID), c.Request(st, term) })
	if be == nil {
		return nil, doriserr.New(doriserr.NoBackend, "Backend [%d] does not exist", c.Replica.BackendID)
	}
	reply, err := s.cfg.Orders.CloneTablet(ctx, be, r)
	if err != nil {
		return nil, err
	}
	_, err = s.cfg.Node.Propose(ctx, &meta.ReportReplica{
		Event: meta.ReplicaRepaired, TabletID: c.Tablet, BackendID: be.ID, BootEpoch: be.BootEpoch, ReplicaID: c.Replica.ID, Version: reply.Through,
	})
	return reply, err
}
