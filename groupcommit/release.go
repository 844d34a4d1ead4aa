package groupcommit

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// releaser reports finished groups to the FSM, many at a time. Until then their
// request ids are remembered.
type releaser struct {
	mu      sync.Mutex
	groups  []*group
	running bool
}

// release takes a group whose WAL is gone for good, or that had none.
func (m *Manager) release(g *group) {
	r := &m.releases
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups = append(r.groups, g)
	if !r.running && !m.stopping() {
		r.running = true
		m.wg.Go(m.releaseLoop)
	}
}

// releaseLoop lives while there is something to release.
func (m *Manager) releaseLoop() {
	pause := backoff{m.opts.ReleaseDelay, m.opts.ReleaseDelay}
	for {
		// Those that come during the pause wait for the next one.
		m.releases.mu.Lock()
		n := len(m.releases.groups)
		m.releases.mu.Unlock()
		if !pause.wait(m.ctx, m.stop) {
			return // Stop does the rest
		}
		if err := m.releaseFirst(m.ctx, n); err != nil {
			m.log.Warn("cannot release groups, trying again", "err", err)
		}
		m.releases.mu.Lock()
		more := len(m.releases.groups) > 0
		m.releases.running = more
		m.releases.mu.Unlock()
		if !more {
			return
		}
	}
}

func (m *Manager) releaseFirst(ctx context.Context, n int) error {
	r := &m.releases
	r.mu.Lock()
	batch := slices.Clone(r.groups[:min(n, len(r.groups))])
	r.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	ids := make([]int64, len(batch))
	for i, g := range batch {
		ids[i] = g.txn.ID
	}
	ctx, cancel := context.WithTimeout(ctx, m.opts.BeginTimeout)
	defer cancel()
	if err := m.sink.Release(ctx, ids); err != nil {
		return err
	}
	r.mu.Lock()
	r.groups = r.groups[len(batch):]
	r.mu.Unlock()
	for _, g := range batch {
		g.t.forget(g)
	}
	return nil
}

// flushReleases makes one last attempt. What is not released is reported by the
// next start, which finds no WAL of it.
func (m *Manager) flushReleases(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := m.releaseFirst(ctx, math.MaxInt); err != nil {
		m.log.Warn("groups are left unreleased", "err", err)
	}
}
