package groupcommit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
)

// errGone ends the work on a WAL that was set aside or needed no replay.
var errGone = errors.New("wal is dealt with")

// park hands an async group to the table's replay. Its memory is free if its
// WAL is sound; otherwise the block is kept.
func (t *table) park(g *group, cause error) {
	if g.w != nil {
		timer := time.NewTimer(time.Second)
		select {
		case <-g.w.Finished():
		case <-timer.C:
		}
		timer.Stop()
		g.walBytes = g.w.Bytes()
		if g.onDisk() {
			g.blk = nil
			g.freeMemory()
		}
	}
	g.inspected, g.taken = true, false
	t.mu.Lock()
	t.noteFailure(cause)
	g.due = time.Now().Add(t.m.retryDelay(0))
	t.addParked(g)
	g.markGone()
	t.mu.Unlock()
}

// markGone lets groups that must commit after g know that it takes a while.
// t.mu is held.
func (g *group) markGone() {
	select {
	case <-g.gone:
	default:
		close(g.gone)
	}
}

// addParked puts g in line. t.mu is held.
func (t *table) addParked(g *group) {
	i, _ := slices.BinarySearchFunc(t.parked, g, func(a, b *group) int { return cmp.Compare(a.txn.ID, b.txn.ID) })
	t.parked = slices.Insert(t.parked, i, g)
	if !t.replaying && !t.m.stopping() {
		t.replaying = true
		t.m.wg.Go(t.replay)
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// noteFailure keeps the last error for Stats. t.mu is held.
func (t *table) noteFailure(err error) {
	t.lastErr = err
	t.stats.LastError, t.stats.LastErrorAt = err.Error(), time.Now()
}

// retryDelay is the pause after a failed attempt: exponential, then the maximum.
func (m *Manager) retryDelay(failures int) time.Duration {
	if failures >= min(m.opts.ReplayRetryNum, 30) {
		return m.opts.ReplayRetryMax
	}
	return min(m.opts.ReplayRetryInterval<<failures, m.opts.ReplayRetryMax)
}

// replay lives while the table has parked groups and tries one at a time.
func (t *table) replay() {
	for {
		g, pause := t.nextParked()
		if g == nil {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			if pause <= 0 && t.m.stopping() {
				return
			}
		case <-t.wake:
			timer.Stop()
			if pause > 0 {
				continue
			}
		case <-t.m.stop:
			timer.Stop()
			return
		}
		select {
		case t.m.replaySlots <- struct{}{}:
		case <-t.m.stop:
			return
		}
		err := t.m.attempt(g)
		<-t.m.replaySlots
		t.attempted(g, err)
	}
}

// nextParked is the group to try next and how long to wait for it: the one due
// first, in an ordered table the oldest. nil ends the replay.
func (t *table) nextParked() (*group, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parked) == 0 {
		t.replaying = false
		return nil, 0
	}
	next := t.parked[0]
	for _, g := range t.parked {
		if g.header.Ordered && !g.recycled {
			break
		}
		if g.due.Before(next.due) {
			next = g
		}
	}
	return next, time.Until(next.due)
}

// attempted takes g out of the line if it is dealt with, or says when it is
// tried again.
func (t *table) attempted(g *group, err error) {
	m := t.m
	if err == nil || errors.Is(err, errGone) {
		g.settle(Outcome{}, unknownAsync()) // unless it was committed
		g.markDecided()
		t.mu.Lock()
		t.parked = slices.DeleteFunc(t.parked, func(o *group) bool { return o == g })
		t.mu.Unlock()
		return
	}
	if m.ctx.Err() != nil {
		return
	}
	m.counters.ReplayFailures.Add(1)
	t.mu.Lock()
	g.markGone()
	t.stats.ReplayFailures++
	t.noteFailure(err)
	g.attempts++
	g.due = time.Now().Add(m.retryDelay(g.attempts))
	if g.recycled {
		g.due = time.Now().Add(m.opts.ReplayRetryMax)
	}
	due, info := g.due, g.info()
	t.mu.Unlock()
	m.log.Warn("wal cannot be replayed now", "table", info.Table, "txn_id", info.TxnID, "label", info.Label, "path", g.path, "attempts", g.attempts, "next", due, "err", err)
	if f := m.opts.Events.ReplayFailed; f != nil {
		f(info, err, due)
	}
}

// attempt tries to bring a parked group to its end: nil if it is committed,
// errGone if nothing is left to do.
func (m *Manager) attempt(g *group) error {
	if !g.taken {
		if err := m.claim(g); err != nil {
			return err
		}
	}
	if g.rows == 0 {
		if !g.abort("the wal holds no rows") {
			return m.ctx.Err()
		}
		return m.drop(g)
	}
	if err := m.replayMem.acquire(m.ctx, g.walBytes, m.stop); err != nil {
		return err
	}
	defer m.replayMem.release(g.walBytes)
	rows, err := m.rowsOf(g)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(m.ctx, m.opts.WriteTimeout)
	defer cancel()
	table, rows, err := m.sink.Convert(ctx, &g.header, rows)
	if err != nil {
		return fmt.Errorf("cannot convert the rows to the table's schema: %w", err)
	}
	g.taken = false // the next attempt must discard what this one wrote
	n := int64(rows.Rows())
	w, err := m.sink.Write(ctx, g.owner, table, rows)
	if err != nil {
		return writeError(err)
	}
	out, err := m.commit(g.owner, w, n)
	if err != nil {
		return err
	}
	m.counters.Replayed.Add(1)
	g.committed(out, "")
	return nil
}

// rowsOf are the rows of a parked group: from memory if its WAL died, otherwise
// from the WAL, a request that is there twice once.
func (m *Manager) rowsOf(g *group) (*block.Block, error) {
	if g.blk != nil {
		return g.blk, nil
	}
	rows := block.New(g.header.Types())
	seen := map[[16]byte]bool{}
	_, err := m.eachRecord(g.path, func(rec wal.Record) error {
		if seen[rec.RequestID] {
			return nil
		}
		if rec.RequestID != [16]byte{} {
			seen[rec.RequestID] = true
		}
		rest, err := block.DecodeAppend(rows, rec.Encoded)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes after the rows", len(rest))
		}
		return err
	})
	if err != nil && !errors.Is(err, wal.ErrTorn) {
		return nil, err
	}
	return rows, nil
}

// eachRecord reads a WAL from its beginning.
func (m *Manager) eachRecord(path string, visit func(wal.Record) error) (wal.Header, error) {
	r, h, err := m.wals.OpenReader(path)
	if err != nil {
		return h, err
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return h, nil
		}
		if err == nil {
			err = visit(rec)
		}
		if err != nil {
			return h, err
		}
	}
}

// claim makes this life the owner of a parked group and deals with one that
// needs no replay (errGone).
func (m *Manager) claim(g *group) error {
	var damaged error
	if !g.inspected {
		var err error
		if damaged, err = m.inspect(g); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(m.ctx, m.opts.BeginTimeout)
	txn, state, err := m.sink.TakeOver(ctx, &g.header)
	cancel()
	if doriserr.Is(err, doriserr.TxnNotFound) {
		state, err = StateUnknown, nil
	}
	if err != nil {
		return fmt.Errorf("cannot take the group over: %w", err)
	}
	g.t.mu.Lock()
	g.recycled = state == StateRecycled
	g.t.mu.Unlock()
	switch {
	case state == StateCommitted || state == StateVisible:
		g.settle(Outcome{Visible: state == StateVisible}, nil)
		return m.drop(g)
	case state == StateUnknown:
		return m.lose(g, wal.Unknown, errors.New("the cluster knows no such group"))
	case damaged != nil:
		// Its group record stays, so that nobody takes the rows for stored.
		return m.lose(g, wal.Damaged, damaged)
	case state == StateAborted && g.rows == 0:
		return m.drop(g)
	case state == StateAborted:
		return m.lose(g, wal.Aborted, errors.New("the group was aborted"))
	case state == StateErased:
		if err := m.setAside(g, wal.Erased, errors.New("the table was erased")); err != nil {
			return err
		}
		m.release(g)
		return errGone
	case state == StateRecycled:
		return errors.New("the table is in the recycle bin")
	}
	g.owner, g.taken = txn, true
	g.owner.Replay = true
	return nil
}

// inspect reads a WAL that a recovery found: its header, its request ids, its
// end. damaged says that sound frames follow a bad one.
func (m *Manager) inspect(g *group) (damaged, err error) {
	var seen requests
	var rows int64
	h, err := m.eachRecord(g.path, func(rec wal.Record) error {
		if _, twice := seen.find(rec.RequestID); twice && rec.RequestID != [16]byte{} {
			return nil
		}
		seen.put(rec.RequestID, rec.Rows)
		rows += int64(rec.Rows)
		return nil
	})
	switch {
	case errors.Is(err, wal.ErrNoHeader):
		return nil, m.lose(g, wal.NoHeader, err)
	case errors.Is(err, wal.ErrDamaged) && h.TxnID == 0:
		return nil, m.lose(g, wal.Damaged, err)
	case errors.Is(err, wal.ErrDamaged):
		damaged = err
	case errors.Is(err, wal.ErrTorn):
		g.torn = err
		m.counters.Torn.Add(1)
		m.log.Warn("wal has a torn tail, what precedes it is replayed", "path", g.path, "err", err)
		if f := m.opts.Events.Torn; f != nil {
			f(g.path, err)
		}
	case err != nil:
		return nil, err
	}
	if h.TxnID != g.txn.ID || h.TableID != g.t.id {
		return nil, m.lose(g, wal.Unknown, fmt.Errorf("its header names transaction %d of table %d", h.TxnID, h.TableID))
	}
	g.t.mu.Lock()
	defer g.t.mu.Unlock()
	g.header, g.seen, g.rows, g.loads = h, seen, rows, seen.len()
	// A file that is set aside as damaged is inspected again if that fails.
	g.inspected = damaged == nil
	return damaged, nil
}

// drop removes the WAL of a group that is decided and releases the group.
func (m *Manager) drop(g *group) error {
	if !g.removeWAL() {
		return m.ctx.Err()
	}
	m.release(g)
	return errGone
}

// lose sets a WAL aside that cannot be replayed; the group is not released.
func (m *Manager) lose(g *group, reason wal.Reason, detail error) error {
	if err := m.setAside(g, reason, detail); err != nil {
		return err
	}
	g.neverUsed = reason == wal.NoHeader
	g.t.forget(g)
	return errGone
}

// setAside moves a WAL to tmp and says so; it does not come back by itself. A
// file without a header is nothing a person must look into: any kill may come
// between the file's creation and its header, before the first acknowledgement.
func (m *Manager) setAside(g *group, reason wal.Reason, detail error) error {
	to, err := m.wals.Quarantine(g.path, reason)
	if err != nil {
		return err
	}
	if reason == wal.NoHeader {
		m.log.Warn("wal file without a header set aside: nothing was acknowledged from it", "table_id", g.t.id, "txn_id", g.txn.ID, "label", g.label, "path", to)
		return nil
	}
	m.counters.Quarantined.Add(1)
	m.log.Error("wal file set aside", "table_id", g.t.id, "txn_id", g.txn.ID, "label", g.label, "path", to, "reason", string(reason), "err", detail)
	if f := m.opts.Events.Quarantined; f != nil {
		f(to, reason, detail)
	}
	return nil
}
