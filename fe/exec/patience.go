package exec

import (
	"context"
	"time"
)

// patience is the context of a session's INSERTs into groups: it ends with the
// connection's, and when insert_timeout has passed. To arm a timer for each
// statement and take it back costs as much as to decode a row, so one context
// serves the statements of a while: it lives a tenth longer than insert_timeout,
// and the next one is made when less than insert_timeout is left. A statement
// waits for insert_timeout at least and for a tenth more at most.
//
// What is started under it must end by itself and not with the statement. It
// belongs to the session's goroutine.
type patience struct {
	parent  context.Context
	timeout time.Duration
	ctx     context.Context
	cancel  context.CancelFunc
	end     time.Time
}

// of returns a context for a statement that begins now.
func (p *patience) of(parent context.Context, timeout time.Duration, now time.Time) context.Context {
	if p.parent != parent || p.timeout != timeout || p.end.Sub(now) < timeout || p.ctx.Err() != nil {
		p.drop()
		p.parent, p.timeout, p.end = parent, timeout, now.Add(timeout+timeout/10)
		p.ctx, p.cancel = context.WithDeadline(parent, p.end)
	}
	return p.ctx
}

// drop ends the context and forgets it.
func (p *patience) drop() {
	if p.cancel != nil {
		p.cancel()
	}
	*p = patience{}
}
