package storage

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// wanted are the tablets that some background work is due for.
type wanted struct {
	mu   sync.Mutex
	ids  map[int64]struct{}
	wake chan struct{}
}

func newWanted() *wanted {
	return &wanted{ids: map[int64]struct{}{}, wake: make(chan struct{}, 1)}
}

// want adds a tablet.
func (w *wanted) want(id int64) {
	w.mu.Lock()
	w.ids[id] = struct{}{}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take returns all and forgets them.
func (w *wanted) take() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := slices.Sorted(maps.Keys(w.ids))
	clear(w.ids)
	return ids
}

// next waits for a tablet, takes the one with the highest score, and forgets it;
// false if ctx ended first.
func (w *wanted) next(ctx context.Context, score func(id int64) int) (int64, bool) {
	for {
		w.mu.Lock()
		best, most := int64(0), -1
		for id := range w.ids {
			if n := score(id); n > most || n == most && id < best {
				best, most = id, n
			}
		}
		delete(w.ids, best)
		w.mu.Unlock()
		if most >= 0 {
			return best, ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return 0, false
		case <-w.wake:
		}
	}
}
