package exec

import (
	"sync"
	"time"
)

// suspectFor is how long a backend that a query could not reach is not asked by
// others, as long as they have a choice: by then it answers or counts as dead.
const suspectFor = 10 * time.Second

// suspects are the backends that queries could not reach a short while ago, so
// that one query waits for a backend that hangs and not every one. The zero
// value has none; it is safe for concurrent use.
type suspects struct {
	mu    sync.Mutex
	until map[int64]time.Time
}

func (s *suspects) add(id int64, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[int64]time.Time{}
	}
	s.until[id] = now.Add(suspectFor)
}

// list are the suspects of this moment, in no order.
func (s *suspects) list(now time.Time) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int64
	for id, until := range s.until {
		if now.Before(until) {
			out = append(out, id)
		} else {
			delete(s.until, id)
		}
	}
	return out
}
