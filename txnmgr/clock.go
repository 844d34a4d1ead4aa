package txnmgr

import (
	"context"
	"sync"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// maxTickPause bounds how far the FSM's clock stays behind while nothing is due
// soon: an idle cluster should not write its log.
const maxTickPause = time.Minute

// clock is how far the FSM's clock has been told of this leader's time.
type clock struct {
	// ticking has room for the one goroutine that proposes a tick.
	ticking chan struct{}

	mu sync.Mutex
	// term is the term that this node leads, 0 if it does not.
	term uint64
	last time.Time
}

func (c *clock) begin(term uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term, c.last = term, time.Now()
}

func (c *clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = 0
}

// tick lets the FSM's clock run while something can expire: every Tick when a
// deadline is near, at least once a minute.
func (m *Manager) tick(ctx context.Context) {
	ticker := time.NewTicker(m.cfg.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var left time.Duration
		due := false
		m.cfg.Node.View(func(s *meta.State) {
			var ms int64
			ms, due = s.NextDeadline()
			left = time.Duration(ms-s.Clock()) * time.Millisecond
		})
		pause := min(left, maxTickPause)
		if !due {
			pause = maxTickPause
		}
		if err := m.advance(ctx, pause); err != nil {
			if ctx.Err() == nil {
				m.cfg.Logger.Warn("the clock of the metadata could not tick", "err", err)
			}
			continue
		}
	}
}

// advance tells the FSM's clock the time since the last tick, if that is pause
// or more. On a node that does not lead it does nothing.
func (m *Manager) advance(ctx context.Context, pause time.Duration) error {
	c := &m.clock
	if delta, _ := c.passed(); delta < max(pause, m.cfg.Tick) {
		return nil
	}
	select {
	case c.ticking <- struct{}{}:
		defer func() { <-c.ticking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	delta, term := c.passed() // another tick may have come first
	if term == 0 || delta < max(pause, m.cfg.Tick) {
		return nil
	}
	due := false
	m.cfg.Node.View(func(s *meta.State) { _, due = s.NextDeadline() })
	if !due {
		// Nobody waits for this time: it passes without an entry in the log.
		c.told(term, delta)
		return nil
	}
	_, err := m.cfg.Node.Propose(ctx, &meta.Tick{DeltaMs: delta.Milliseconds(), Term: term})
	if err == nil || doriserr.Is(err, doriserr.Unknown) {
		// A tick that may have been applied is not repeated: time that the FSM
		// misses lets things expire later, time counted twice too early.
		c.told(term, delta)
	}
	if err == nil {
		m.bump()
	}
	return err
}

// passed is the time since the last tick and the term, 0 if this node does not
// lead.
func (c *clock) passed() (time.Duration, uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term == 0 {
		return 0, 0
	}
	return time.Since(c.last).Truncate(time.Millisecond), c.term
}

// told counts time as told in a term.
func (c *clock) told(term uint64, delta time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.term == term {
		c.last = c.last.Add(delta)
	}
}

// Begin opens a transaction. The FSM's clock is brought up to date before, so
// that its deadline counts from now and not from the last tick.
func (m *Manager) Begin(ctx context.Context, c *meta.BeginTxn) (meta.Result, error) {
	if err := m.advance(ctx, 0); err != nil {
		return meta.Result{}, err
	}
	return m.cfg.Node.Propose(ctx, c)
}
