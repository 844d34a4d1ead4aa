package groupcommit

import (
	"context"
	"fmt"
	"time"

	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
)

// errEarlier: a group of an ordered table that opened before this one cannot be
// committed now.
var errEarlier = doriserr.New(doriserr.ExceededLimit, "an earlier group of the table waits for the replay of its WAL, try again later")

// finish writes and commits a sealed group. Failures of sync groups are final
// and told to their waiters; async groups are parked for replay.
func (g *group) finish() {
	if g.w != nil {
		g.w.Seal()
	}
	g.finishWith(g.t.m.ctx, func(ctx context.Context) (Written, error) {
		return g.t.m.sink.Write(ctx, g.txn, g.tbl, g.blk)
	})
}

// finishWith is finish with the way that the rows are written; ctx is that of
// the write.
func (g *group) finishWith(ctx context.Context, write func(context.Context) (Written, error)) {
	m := g.t.m
	for again := (backoff{rewritePause, 4 * rewritePause}); ; {
		wctx, cancel := context.WithTimeout(ctx, m.opts.WriteTimeout)
		w, err := write(wctx)
		cancel()
		if err != nil {
			g.failed(writeError(err))
			return
		}
		if g.w != nil && g.onDisk() {
			// The rows are on the replicas, and in the WAL if they must be written again.
			g.blk = nil
			g.freeMemory()
		}
		if err := g.awaitPrev(); err != nil {
			g.failed(err)
			return
		}
		out, err := m.commit(g.txn, w, g.rows)
		switch {
		case err == nil:
			g.freeMemory()
			g.committed(out, g.reason)
			return
		case !doriserr.Is(err, doriserr.FewReplicas) || g.blk == nil || g.rewrites == maxRewrites:
			g.failed(err)
			return
		}
		// Replicas moved between the write and the commit: those that are there now
		// get the rows.
		g.rewrites++
		m.log.Info("a group is written again", "txn_id", g.txn.ID, "label", g.txn.Label, "err", err)
		if !again.wait(ctx, m.stop) {
			g.failed(err)
			return
		}
	}
}

// rewritePause is the first pause before a group whose replicas moved is written
// again, maxRewrites how often that is done. A group with a WAL has its replay.
const (
	rewritePause = 100 * time.Millisecond
	maxRewrites  = 3
)

// writeError is the error of a Write: never "unknown", since nobody commits what
// was written in part.
func writeError(err error) error {
	if decided(err) {
		return fmt.Errorf("cannot write the group: %w", err)
	}
	return doriserr.Wrap(doriserr.Internal, err, "cannot write the group")
}

// onDisk says that the rows need not be kept in memory: the WAL holds them all.
func (g *group) onDisk() bool {
	if g.w == nil {
		return true
	}
	select {
	case <-g.w.Finished():
		return g.w.Err() == nil
	default:
		return false
	}
}

// awaitPrev waits, in ordered tables, until the groups that opened before are
// decided. One that failed or was discarded leaves its own predecessor to wait
// for.
func (g *group) awaitPrev() error {
	for p := g.prev; p != nil; p = p.prev {
		select {
		case <-p.decided:
			continue
		case <-p.gone:
		case <-g.t.m.ctx.Done():
			return g.t.m.ctx.Err()
		}
		select {
		case <-p.decided:
		default:
			return errEarlier
		}
	}
	g.prev = nil
	return nil
}

// blockedPatience is how long a commit that the FSM refuses for now, since a
// group of an earlier life is not decided, is tried before it counts as refused.
const blockedPatience = 10 * time.Second

// commit asks until there is a decision (docs/protocol.md, rule 5).
func (m *Manager) commit(t Txn, w Written, rows int64) (Outcome, error) {
	maybe, begin := false, time.Now() // whether an earlier call may have committed
	for b := newBackoff(); ; {
		ctx, cancel := context.WithTimeout(m.ctx, m.opts.CommitTimeout)
		out, err := m.sink.Commit(ctx, t, w, rows)
		cancel()
		if doriserr.Is(err, doriserr.StaleEpoch) && maybe {
			// Another life owns the transaction by now and knows its state.
			return out, doriserr.Wrap(doriserr.Unknown, err, "the outcome is that of label %s", t.Label)
		}
		early := doriserr.Is(err, doriserr.Blocked) && time.Since(begin) < blockedPatience
		if err == nil || decided(err) && !early {
			return out, err
		}
		maybe = maybe || !notInLog(err) && !early
		m.log.Warn("commit is not decided yet, asking again", "txn_id", t.ID, "label", t.Label, "err", err)
		if !b.wait(m.ctx, nil) {
			return Outcome{}, doriserr.Wrap(doriserr.Unknown, err, "be is stopping, the outcome is that of label %s", t.Label)
		}
	}
}

// committed ends a group that is COMMITTED or VISIBLE.
func (g *group) committed(out Outcome, sealed SealReason) {
	m := g.t.m
	m.counters.Groups.Add(1)
	if f := m.opts.Events.Committed; f != nil {
		f(g.info(), sealed, time.Since(g.sealedAt))
	}
	g.blk, g.prev = nil, nil
	g.settle(out, nil)
	g.markDecided()
	if g.removeWAL() {
		m.release(g)
	}
}

// failed ends a sync group and parks an async one. When the process stops,
// both are left as they are.
func (g *group) failed(err error) {
	m := g.t.m
	if g.key.async {
		// Its replay must not overtake a group that opened before; whether that
		// one is decided or parked by now does not matter.
		_ = g.awaitPrev()
	}
	stopped := m.ctx.Err() != nil
	switch {
	case stopped && g.key.async:
		g.settle(Outcome{}, unknownAsync())
		g.closeWAL()
	case !g.key.async && doriserr.Is(err, doriserr.Unknown):
		g.settle(Outcome{}, err)
	case stopped:
		// Its transaction ends with this life of the backend.
		g.settle(Outcome{}, errStopping)
	case g.key.async:
		m.counters.Parked.Add(1)
		m.log.Warn("group cannot be committed now, it will be replayed", "table", g.tbl.Name, "txn_id", g.txn.ID, "label", g.txn.Label, "err", err)
		if f := m.opts.Events.Parked; f != nil {
			f(g.info(), err)
		}
		g.t.park(g, err)
	default:
		m.counters.Failed.Add(1)
		if f := m.opts.Events.Failed; f != nil {
			f(g.info(), err)
		}
		g.settle(Outcome{}, asClientError(err))
		if g.abort(err.Error()) {
			m.release(g)
		}
	}
}

// abort ends the transaction of a group in which nothing was acknowledged; it
// returns false if the process stops before that is decided.
func (g *group) abort(reason string) bool {
	m, txn := g.t.m, g.txn
	if g.taken {
		txn = g.owner
	}
	for b := newBackoff(); ; {
		ctx, cancel := context.WithTimeout(m.ctx, m.opts.BeginTimeout)
		err := m.sink.Abort(ctx, txn, reason)
		cancel()
		if err == nil || decided(err) {
			g.markDecided()
			return true
		}
		if !b.wait(m.ctx, nil) {
			return false
		}
	}
}

// closeWAL seals the file and waits until it is closed; a disk that hangs is
// waited for until the process stops, and no longer than a second then.
func (g *group) closeWAL() {
	if g.w == nil {
		return
	}
	g.w.Seal()
	select {
	case <-g.w.Finished():
		return
	case <-g.t.m.ctx.Done():
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-g.w.Finished():
	case <-timer.C:
	}
}

// removeWAL unlinks the file of a group that needs it no more, until that is
// durable; false if the process stops first. The start after it will do it.
func (g *group) removeWAL() bool {
	if g.path == "" {
		return true
	}
	g.closeWAL()
	m := g.t.m
	for b := newBackoff(); ; {
		var err error
		if g.torn != nil {
			err = m.setAside(g, wal.Torn, g.torn)
		} else {
			err = m.wals.Remove(g.path)
		}
		if err == nil {
			return true
		}
		m.log.Error("cannot remove wal file, trying again", "path", g.path, "err", err)
		if !b.wait(m.ctx, nil) {
			return false
		}
	}
}
