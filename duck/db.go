package duck

import (
	"context"
	"sync"

	"dorisgo/doriserr"
)

// DB runs queries on one instance, which it replaces if a fatal error hit it.
// Its methods may be called from many goroutines. Flush and compaction on the
// one hand and queries on the other get a DB each, so that neither takes the
// other's slots, memory or life.
type DB struct {
	opts  Options
	slots chan struct{}
	files fileOps
	// life ends with Close and interrupts whatever still runs.
	life context.Context
	end  context.CancelCauseFunc

	mu     sync.Mutex
	in     *instance // nil once closed
	active sync.WaitGroup
}

// Open starts an instance with locked settings.
func Open(o Options) (*DB, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	in, err := openInstance(o)
	if err != nil {
		return nil, err
	}
	d := &DB{opts: o, slots: make(chan struct{}, o.MaxConcurrent), files: realFiles, in: in}
	d.life, d.end = context.WithCancelCause(context.Background())
	return d, nil
}

// Close interrupts what runs and waits until it has ended and every Rows is
// closed. The memory of the instance is free afterwards.
func (d *DB) Close() error {
	d.mu.Lock()
	in := d.in
	d.in = nil
	d.mu.Unlock()
	d.end(doriserr.New(doriserr.Stopping, "the query engine is stopping"))
	d.active.Wait()
	if in != nil {
		in.release()
	}
	return nil
}

// enter waits for a slot and opens a connection on the instance in service.
// The caller calls leave once it has closed the connection.
func (d *DB) enter(ctx context.Context) (*conn, error) {
	if err := d.slot(ctx); err != nil {
		return nil, err
	}
	c, err := d.connect()
	if err != nil {
		d.freeSlot()
	}
	return c, err
}

// slot waits for one of the places for threads in calls.
func (d *DB) slot(ctx context.Context) error {
	select {
	case d.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.life.Done():
		return context.Cause(d.life)
	}
}

func (d *DB) freeSlot() { <-d.slots }

func (d *DB) connect() (*conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.in == nil {
		return nil, context.Cause(d.life)
	}
	c, err := d.in.connect()
	if err != nil {
		if err := d.replaceLocked(d.in, err); err != nil {
			return nil, err
		}
		if c, err = d.in.connect(); err != nil {
			return nil, err
		}
	}
	c.files = d.files
	d.active.Add(1)
	return c, nil
}

func (d *DB) leave() {
	d.active.Done()
	d.freeSlot()
}

// inspect looks at an error of a connection on in and takes the instance out of
// service if the error made it useless. Others that work on it see their own
// error or end undisturbed; its memory goes with the last of them.
func (d *DB) inspect(in *instance, err error) {
	if !invalidates(err) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.replaceLocked(in, err); err != nil {
		d.opts.Logger.Error("cannot replace the query engine's instance", "err", err)
	}
}

func (d *DB) replaceLocked(in *instance, cause error) error {
	if d.in == nil || d.in != in {
		return nil
	}
	fresh, err := openInstance(d.opts)
	if err != nil {
		return err
	}
	d.opts.Logger.Error("query engine met a fatal error; its instance was replaced", "err", cause)
	d.in = fresh
	in.release()
	return nil
}

// run does work on a connection of its own; if the instance turns out to have
// been invalidated by somebody else's query before, it is done again once.
func (d *DB) run(ctx context.Context, work func(context.Context, *conn) error) error {
	ctx, cancel := d.bound(ctx)
	defer cancel()
	for attempt := 0; ; attempt++ {
		c, err := d.enter(ctx)
		if err != nil {
			return clientError(err)
		}
		in := c.in
		err = work(ctx, c)
		d.inspect(in, err)
		c.close()
		d.leave()
		if err == nil || attempt > 0 || !wasInvalid(err) {
			return clientError(err)
		}
	}
}

// bound makes a context that ends with ctx and with the DB.
func (d *DB) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(d.life, func() { cancel(context.Cause(d.life)) })
	return both, func() { stop(); cancel(nil) }
}
