package groupcommit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// budget bounds the bytes of all queues (group_commit_queue_mem_limit). It is
// first come, first served, so that a large load is not passed for ever.
type budget struct {
	limit atomic.Int64
	used  atomic.Int64
	// queued counts waiters; nobody takes the fast path while there are any.
	queued atomic.Int64
	waits  atomic.Int64 // how often anybody had to wait

	// full is called, without locks, when somebody begins to wait and when a
	// release was not enough for whoever waits first.
	full func()

	mu    sync.Mutex
	queue []*budgetWaiter
}

type budgetWaiter struct {
	n     int64
	ready chan struct{}
}

// try takes n bytes if they are free. Whoever asks alone gets what it asks,
// so that a load larger than the budget can pass.
func (b *budget) try(n int64) bool {
	for {
		used := b.used.Load()
		if used > 0 && used+n > b.limit.Load() {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// tryAcquire takes n bytes if they are free and nobody waits.
func (b *budget) tryAcquire(n int64) bool { return b.queued.Load() == 0 && b.try(n) }

// acquire takes n bytes and waits for them if it must.
func (b *budget) acquire(ctx context.Context, n int64, stop <-chan struct{}) error {
	if b.tryAcquire(n) {
		return nil
	}
	w := &budgetWaiter{n: n, ready: make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, w)
	b.queued.Add(1)
	b.serve()
	b.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	default:
	}
	b.waits.Add(1)
	b.full()
	select {
	case <-w.ready:
		return nil
	case <-stop:
		return b.leave(w, errStopping)
	case <-ctx.Done():
		return b.leave(w, notJoined(ctx, "room in the group commit queues (group_commit_queue_mem_limit)", nil))
	}
}

// leave gives up waiting; bytes that came at the last moment are given back.
func (b *budget) leave(w *budgetWaiter, err error) error {
	b.mu.Lock()
	i := slices.Index(b.queue, w)
	if i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.queued.Add(-1)
		b.serve()
	}
	b.mu.Unlock()
	if i < 0 {
		b.release(w.n)
	}
	return err
}

// serve lets the waiters in from the front as far as there is room.
func (b *budget) serve() {
	for len(b.queue) > 0 && b.try(b.queue[0].n) {
		close(b.queue[0].ready)
		b.queue = b.queue[1:]
		b.queued.Add(-1)
	}
}

func (b *budget) release(n int64) {
	b.used.Add(-n)
	if b.queued.Load() > 0 {
		b.mu.Lock()
		b.serve()
		more := len(b.queue) > 0
		b.mu.Unlock()
		if more {
			b.full()
		}
	}
}

// pressed says that somebody waits.
func (b *budget) pressed() bool { return b.queued.Load() > 0 }
