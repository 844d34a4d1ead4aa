package behttp

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"dorisgo/doriserr"
)

// smallShare is how much a load may hold, in bytes, and count as a small one.
const smallShare = 64 << 10

// budget is the memory that the bodies of all loads of this node may take while
// they wait to become complete, in bytes (docs/protocol.md, rule 9). A quarter of
// it is for small loads alone: however many senders of large bodies take their
// time, small loads find room.
type budget struct {
	small, bulk pool
	total       int64
	wait        time.Duration
	// turns bounds the large loads that are decoded at the same time: one
	// processor is left for everybody else, whose work would wait behind theirs.
	turns *semaphore.Weighted
}

// pool is one part of the budget.
type pool struct {
	sem   *semaphore.Weighted
	total int64
	held  atomic.Int64
}

func newBudget(total int64, wait time.Duration) *budget {
	b := &budget{total: total, wait: wait, turns: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1)))}
	b.small.total = total / 4
	b.bulk.total = total - b.small.total
	for _, p := range []*pool{&b.small, &b.bulk} {
		p.sem = semaphore.NewWeighted(p.total)
	}
	return b
}

// held is what all loads hold, in bytes.
func (b *budget) held() int64 { return b.small.held.Load() + b.bulk.held.Load() }

// room is how much one large load may hold, in bytes: a part of what the others
// leave, so that each newcomer finds something.
func (b *budget) room(part int64, own *share) int64 {
	return (b.bulk.total - b.bulk.held.Load() + own.bulk()) / part
}

// share is one load's part of the budget. It is used by one goroutine, but for
// release, which may come from any and more than once.
type share struct {
	b     *budget
	state atomic.Pointer[holding]
}

// holding is what a share has: n bytes of one pool.
type holding struct {
	of *pool
	n  int64
}

var nothing = &holding{}

func (b *budget) share() *share {
	s := &share{b: b}
	s.state.Store(nothing)
	return s
}

func (s *share) size() int64 { return s.state.Load().n }

func (s *share) bulk() int64 {
	if h := s.state.Load(); h.of == &s.b.bulk {
		return h.n
	}
	return 0
}

// poolOf is the pool for a share of n bytes. One that became large stays so.
func (s *share) poolOf(n int64, have *holding) *pool {
	if n <= min(smallShare, s.b.small.total) && have.of != &s.b.bulk {
		return &s.b.small
	}
	return &s.b.bulk
}

// grow makes the share at least n bytes. While there is no room it waits, which
// slows the sender, as nothing is read meanwhile; after the budget's wait the
// load is refused.
func (s *share) grow(ctx context.Context, n int64) error {
	if s.tryGrow(n) {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, s.b.wait)
	defer cancel()
	if s.change(n, func(p *pool, more int64) bool { return p.sem.Acquire(waiting, more) == nil }) {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return doriserr.New(doriserr.ExceededLimit, "the memory for loads of this backend (%d bytes) is in use by other loads; try again later", s.b.total)
}

// tryGrow is grow without waiting; it reports whether there was room.
func (s *share) tryGrow(n int64) bool {
	return s.change(n, func(p *pool, more int64) bool { return p.sem.TryAcquire(more) })
}

func (s *share) change(n int64, acquire func(p *pool, more int64) bool) bool {
	have := s.state.Load()
	p := s.poolOf(n, have)
	n = min(n, p.total)
	more := n
	if have.of == p {
		if more -= have.n; more <= 0 {
			return true
		}
	}
	if !acquire(p, more) {
		return false
	}
	p.held.Add(more)
	next := &holding{p, n}
	if s.state.CompareAndSwap(have, next) {
		if have.of != p {
			have.free()
		}
		return true
	}
	// It was released meanwhile: nothing may be held any more.
	(&holding{p, more}).free()
	return true
}

// shrink gives back what is above n bytes.
func (s *share) shrink(n int64) {
	for {
		have := s.state.Load()
		if have.n <= n {
			return
		}
		next := nothing
		if n > 0 {
			next = &holding{have.of, n}
		}
		if s.state.CompareAndSwap(have, next) {
			(&holding{have.of, have.n - n}).free()
			return
		}
	}
}

func (s *share) release() { s.shrink(0) }

func (h *holding) free() {
	if h.n > 0 {
		h.of.held.Add(-h.n)
		h.of.sem.Release(h.n)
	}
}
