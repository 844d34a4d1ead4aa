package behttp

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"dorisgo/doriserr"
)

// budget is the memory that the bodies of all loads of this node may take while
// they wait to become complete, in bytes (docs/protocol.md, rule 9).
type budget struct {
	sem   *semaphore.Weighted
	total int64
	wait  time.Duration
	held  atomic.Int64
}

func newBudget(total int64, wait time.Duration) *budget {
	return &budget{sem: semaphore.NewWeighted(total), total: total, wait: wait}
}

// share is one load's part of the budget. It is used by one goroutine, but for
// release, which may come from any and more than once.
type share struct {
	b *budget
	n atomic.Int64
}

func (b *budget) share() *share { return &share{b: b} }

// grow makes the share at least n bytes. While there is no room it waits, which
// slows the sender, as nothing is read meanwhile; after the budget's wait the
// load is refused.
func (s *share) grow(ctx context.Context, n int64) error {
	more := min(n, s.b.total) - s.n.Load()
	if more <= 0 {
		return nil
	}
	if !s.b.sem.TryAcquire(more) {
		waiting, cancel := context.WithTimeout(ctx, s.b.wait)
		defer cancel()
		if s.b.sem.Acquire(waiting, more) != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			return doriserr.New(doriserr.ExceededLimit, "the memory for loads of this backend (%d bytes) is in use by other loads; try again later", s.b.total)
		}
	}
	s.n.Add(more)
	s.b.held.Add(more)
	return nil
}

// shrink gives back what is above n bytes.
func (s *share) shrink(n int64) {
	for {
		have := s.n.Load()
		if have <= n {
			return
		}
		if s.n.CompareAndSwap(have, n) {
			s.b.held.Add(n - have)
			s.b.sem.Release(have - n)
			return
		}
	}
}

func (s *share) release() { s.shrink(0) }
