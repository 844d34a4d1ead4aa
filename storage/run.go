package storage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Run does the background work until ctx ends: it makes publishes durable soon
// after they return, flushes tablets that have many inline rowsets, and removes
// what was replaced or expired, and scrubs. The engine starts no goroutine of its own; the
// caller stops Run before it closes the engine. A flush or compaction that fails is
// logged and tried again. A root that goes out of service is left while there is
// another one (see leaveRoot); Run ends with an error when none is left.
func (e *Engine) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return e.runRoots(ctx) })
	g.Go(func() error { return e.runSpace(ctx) })
	for _, r := range e.roots {
		g.Go(func() error { return e.runSync(ctx, r) })
	}
	g.Go(func() error { return e.runFlush(ctx) })
	g.Go(func() error { return e.runCompact(ctx) })
	g.Go(func() error { return e.runSweep(ctx) })
	g.Go(func() error { return e.runScrub(ctx) })
	return g.Wait()
}

// runSync syncs a root's publishes SyncInterval after the first of them.
func (e *Engine) runSync(ctx context.Context, r *root) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.dur.wake:
		}
		if !sleep(ctx, e.opts.SyncInterval) {
			return nil
		}
		if r.sync() != nil {
			return e.rootsErr()
		}
	}
}

// flushRetry is how long a tablet waits after a failed flush.
const flushRetry = 5 * time.Second

func (e *Engine) runFlush(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-e.flush.wake:
		}
		failed := false
		for _, id := range e.flush.take() {
			if err := e.Flush(ctx, id); err != nil && ctx.Err() == nil {
				e.opts.Logger.Warn("flush failed, it is tried again", "tablet_id", id, "err", err)
				e.flush.want(id)
				failed = true
			}
		}
		if failed && !sleep(ctx, flushRetry) {
			return nil
		}
		if err := e.rootsErr(); err != nil {
			return err
		}
	}
}

// sweepInterval is how often replaced rowsets, trash and old entries are
// looked at.
const sweepInterval = 30 * time.Second

func (e *Engine) runSweep(ctx context.Context) error {
	for sleep(ctx, sweepInterval) {
		err := errors.Join(e.Sweep(ctx), e.Trash(ctx), e.TrimEntries())
		e.wantAged()
		if err != nil && ctx.Err() == nil {
			e.opts.Logger.Warn("cannot remove what is replaced or expired", "err", err)
		}
		if err := e.rootsErr(); err != nil {
			return err
		}
	}
	return nil
}

// rootsErr is why the engine cannot go on: no root is in service.
func (e *Engine) rootsErr() error {
	for _, r := range e.roots {
		if r.err() == nil {
			return nil
		}
	}
	return e.roots[0].err()
}

// TrimEntries removes old publish entries of partitions that have more than
// twice Options.KeepEntries.
func (e *Engine) TrimEntries() error {
	e.mu.Lock()
	parts := slices.Collect(maps.Values(e.partitions))
	e.mu.Unlock()
	var errs []error
	for _, p := range parts {
		p.mu.Lock()
		durable := p.durableLocked() // of all homes: what is above it comes again
		for _, h := range p.homes {
			if h != nil && !p.dropped && h.root.err() == nil && h.through-h.floor > 2*e.opts.KeepEntries {
				errs = append(errs, h.trim(p.id, min(h.through-e.opts.KeepEntries, durable)))
			}
		}
		p.mu.Unlock()
	}
	return errors.Join(errs...)
}

func (h *home) trim(partitionID, floor int64) error {
	rec := h.partitionRecord
	rec.floor = max(floor, rec.floor)
	b := h.root.db.NewBatch()
	defer b.Close()
	err := errors.Join(
		b.Set(key(keyPartition, partitionID), rec.encode(), nil),
		b.DeleteRange(key(keyEntry, partitionID, h.floor+1), key(keyEntry, partitionID, rec.floor+1), nil))
	if err == nil {
		err = h.root.apply(b)
	}
	if err == nil {
		h.partitionRecord = rec
	}
	return err
}

// sleep reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
