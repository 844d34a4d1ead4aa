package tabletsched

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

// CheckOrders are the calls of a Checker to a BE.
type CheckOrders interface {
	CheckTablet(ctx context.Context, be *meta.Backend, r *bepb.CheckTabletRequest) (*bepb.CheckTabletReply, error)
	DistrustReplica(ctx context.Context, be *meta.Backend, r *bepb.DistrustReplicaRequest) error
}

// CheckConfig is what a Checker works with.
type CheckConfig struct {
	Node   Node
	Orders CheckOrders
	Logger *slog.Logger
	// Hours are the local hours of the day from which and until which tablets are
	// compared without being asked; none if they are equal.
	Hours func() (start, end int)
	// Every is the least pause between two comparisons, 10 s by default; each
	// pause is at least as long as the comparison took. A tablet has its turn
	// again after Again, 7 days by default.
	Every, Again time.Duration
	// Timeout bounds the comparison of one tablet, 1 h by default.
	Timeout time.Duration
}

// Checker compares the rows of replicas. Replicas that differ from what most of
// the tablet's replicas agree on are taken out of service, to be cloned anew;
// without such a majority there is only an alarm. It is safe for concurrent use.
type Checker struct {
	cfg CheckConfig

	mu    sync.Mutex
	term  uint64 // 0 while this FE does not lead
	last  map[int64]Checked
	stats CheckStats
}

// Checked is a comparison that was made.
type Checked struct {
	At time.Time
	// Version is the one at which the replicas were compared.
	Version int64
	// Differ says that they were not equal.
	Differ bool
}

// CheckStats counts since the start of the process: tablets compared, those whose
// replicas differed, and replicas taken out of service.
type CheckStats struct{ Tablets, Differ, Distrusted int64 }

// NewChecker returns a Checker without duties.
func NewChecker(cfg CheckConfig) *Checker {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&cfg.Every, 10 * time.Second}, {&cfg.Again, 7 * 24 * time.Hour}, {&cfg.Timeout, time.Hour}} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return &Checker{cfg: cfg, last: map[int64]Checked{}}
}

// Stats tells what was done.
func (c *Checker) Stats() CheckStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Last is the newest comparison of a tablet by this FE.
func (c *Checker) Last(tabletID int64) (Checked, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.last[tabletID]
	return l, ok
}

// Lead runs the duties until ctx, which lives as long as the term, ends.
func (c *Checker) Lead(ctx context.Context, term uint64) {
	c.setTerm(term)
	defer c.setTerm(0)
	timer := time.NewTimer(c.cfg.Every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		if c.inHours(start) {
			c.next(ctx, start)
		}
		timer.Reset(max(c.cfg.Every, time.Since(start)))
	}
}

func (c *Checker) setTerm(term uint64) {
	c.mu.Lock()
	c.term = term
	c.mu.Unlock()
}

func (c *Checker) inHours(now time.Time) bool {
	start, end := c.cfg.Hours()
	h := now.Hour()
	if start <= end {
		return start <= h && h < end
	}
	return h >= start || h < end
}

// next compares one tablet whose turn it is, if there is any.
func (c *Checker) next(ctx context.Context, now time.Time) {
	var due []int64
	c.mu.Lock()
	c.cfg.Node.View(func(st *meta.State) {
		for _, t := range st.Tables(0) {
			for _, p := range t.Partitions {
				for _, tablet := range p.Tablets {
					if l, ok := c.last[tablet.ID]; len(tablet.Replicas) > 1 && (!ok || now.Sub(l.At) >= c.cfg.Again) {
						due = append(due, tablet.ID)
					}
				}
			}
		}
	})
	c.mu.Unlock()
	if len(due) == 0 {
		return
	}
	id := due[rand.IntN(len(due))]
	if _, err := c.Check(ctx, id); err != nil && ctx.Err() == nil {
		c.cfg.Logger.Info("the replicas of a tablet could not be compared", "tablet_id", id, "err", err)
	}
}

// Check compares the replicas of a tablet that have all of its visible rows, and
// takes out of service those that most others contradict. It needs the lead.
func (c *Checker) Check(ctx context.Context, tabletID int64) (Checked, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	c.mu.Lock()
	term := c.term
	c.mu.Unlock()
	if term == 0 {
		return Checked{}, doriserr.New(doriserr.NotLeader, "tablets are compared by the frontend that leads")
	}
	k, err := c.plan(tabletID)
	if err != nil {
		return Checked{}, err
	}
	differ := false
	var bad []int
	// What is seen once may be a disk that read wrongly once.
	for range 2 {
		k.ask(ctx, c.cfg.Orders)
		if bad, differ = k.judge(); !differ {
			break
		}
	}
	done := Checked{At: time.Now(), Version: k.version, Differ: differ}
	if k.answers() < 2 {
		return done, doriserr.New(doriserr.NoBackend, "tablet %d has no two replicas that could be compared", tabletID)
	}
	c.mu.Lock()
	c.last[tabletID] = done
	c.stats.Tablets++
	if differ {
		c.stats.Differ++
	}
	c.mu.Unlock()
	if differ {
		c.cfg.Logger.Error("the replicas of a tablet differ", "tablet_id", tabletID, "version", k.version, "rows_by_backend", k.rows(), "without_majority", len(bad) == 0)
	}
	for _, i := range bad {
		if err := c.distrust(ctx, term, k, i); err != nil {
			return done, err
		}
	}
	return done, nil
}

// comparison is one tablet's.
type comparison struct {
	partition, tablet, version int64
	all                        int // replicas that the tablet has
	replicas                   []meta.Replica
	backends                   []*meta.Backend
	sums                       []*bepb.CheckTabletReply
}

func (c *Checker) plan(tabletID int64) (*comparison, error) {
	k := &comparison{tablet: tabletID}
	c.cfg.Node.View(func(st *meta.State) {
		for _, t := range st.Tables(0) {
			for _, p := range t.Partitions {
				for _, tablet := range p.Tablets {
					if tablet.ID != tabletID {
						continue
					}
					v, _ := st.PartitionVersion(p.ID)
					k.partition, k.version, k.all = p.ID, v.Visible, len(tablet.Replicas)
					for _, r := range tablet.Replicas {
						if b := st.Backend(r.BackendID); b != nil && b.Alive && !r.Cloning && st.GapFree(p.ID, tabletID, b.ID) >= v.Visible {
							k.replicas, k.backends = append(k.replicas, r), append(k.backends, b)
						}
					}
				}
			}
		}
	})
	if k.all == 0 {
		return nil, doriserr.New(doriserr.Conflict, "Unknown tablet: %d", tabletID)
	}
	return k, nil
}

// ask has each BE sum up its replica; one that cannot is left out.
func (k *comparison) ask(ctx context.Context, o CheckOrders) {
	k.sums = make([]*bepb.CheckTabletReply, len(k.replicas))
	var g errgroup.Group
	for i, r := range k.replicas {
		g.Go(func() error {
			sum, err := o.CheckTablet(ctx, k.backends[i], &bepb.CheckTabletRequest{
				PartitionId: k.partition, TabletId: k.tablet, ReplicaId: r.ID, Version: k.version,
			})
			if err == nil {
				k.sums[i] = sum
			}
			return nil
		})
	}
	_ = g.Wait() // none has an error
}

func (k *comparison) answers() (n int) {
	for _, s := range k.sums {
		if s != nil {
			n++
		}
	}
	return n
}

func same(a, b *bepb.CheckTabletReply) bool { return a.Sum == b.Sum && a.Rows == b.Rows }

// judge reports whether replicas differ, and which ones a majority of all of the
// tablet's replicas contradicts.
func (k *comparison) judge() (bad []int, differ bool) {
	var most *bepb.CheckTabletReply
	for _, a := range k.sums {
		n := 0
		for _, b := range k.sums {
			if a != nil && b != nil && same(a, b) {
				n++
			}
			differ = differ || a != nil && b != nil && !same(a, b)
		}
		if 2*n > k.all {
			most = a
		}
	}
	for i, s := range k.sums {
		if most != nil && s != nil && !same(most, s) {
			bad = append(bad, i)
		}
	}
	return bad, differ
}

func (k *comparison) rows() map[int64]int64 {
	out := map[int64]int64{}
	for i, s := range k.sums {
		if s != nil {
			out[k.replicas[i].BackendID] = s.Rows
		}
	}
	return out
}

// distrust takes a replica out of service on its BE, which then reports that it
// lacks everything, and in the log.
func (c *Checker) distrust(ctx context.Context, term uint64, k *comparison, i int) error {
	r, be := k.replicas[i], k.backends[i]
	o := &bepb.DistrustReplicaRequest{Term: term, PartitionId: k.partition, TabletId: k.tablet, ReplicaId: r.ID}
	c.cfg.Node.View(func(st *meta.State) { o.MetaEpoch, o.Index = st.MetaEpoch(), st.Index() })
	if err := c.cfg.Orders.DistrustReplica(ctx, be, o); err != nil {
		return err
	}
	_, err := c.cfg.Node.Propose(ctx, &meta.ReportReplica{
		Event: meta.ReplicaMissing, TabletID: k.tablet, BackendID: be.ID, BootEpoch: be.BootEpoch, ReplicaID: r.ID, Version: 2,
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.stats.Distrusted++
	c.mu.Unlock()
	c.cfg.Logger.Error("a replica is taken out of service: most others have other rows; it is cloned anew",
		"tablet_id", k.tablet, "replica_id", r.ID, "backend_id", be.ID)
	return nil
}
