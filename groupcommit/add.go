package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
)

// Add puts a load into its table's open group and waits for the ack; ctx is the
// load's deadline. A load larger than its table's DataBytes goes alone
// (AddAlone); one without rows joins nothing and is answered at once.
//
// An error of kind Unknown means that the rows may become visible; every other
// error means that they will not, and NotAdmitted, Stopping and ExceededLimit
// that the same request may be sent again.
func (m *Manager) Add(ctx context.Context, l *Load) (Ack, error) {
	if l.Rows == 0 {
		return Ack{Visible: true}, nil
	}
	t := m.table(l.Table.DBID, l.Table.ID, l.Table.Name)
	if err := t.awaitRecovery(ctx); err != nil {
		m.counters.Refused.Add(1)
		return Ack{}, err
	}
	if l.bytes() > int64(l.Table.DataBytes) {
		return m.AddAlone(ctx, l, nil)
	}
	if err := m.mem.acquire(ctx, l.bytes(), m.stop); err != nil {
		m.counters.Refused.Add(1)
		return Ack{}, err
	}
	j, err := t.join(ctx, l)
	if err != nil || j.repeat {
		m.mem.release(l.bytes())
	}
	if err != nil {
		m.counters.Refused.Add(1)
		return Ack{}, err
	}
	m.added(l, &j)
	return j.wait(ctx)
}

// added tells of a load that has its place.
func (m *Manager) added(l *Load, j *joined) {
	if l.Joined != nil {
		l.Joined()
	}
	if j.repeat {
		m.counters.Repeats.Add(1)
	} else {
		m.counters.Loads.Add(1)
		m.counters.Rows.Add(int64(l.Rows))
	}
	if m.mem.pressed() {
		j.g.t.seal(j.g, SealMemory)
	}
}

// joined is a load that has its place, or the repeat of one.
type joined struct {
	g        *group
	rows     int
	pending  *wal.Pending // nil if sync, or on disk for long
	repeat   bool
	switched string
}

// join finds the place of a load. Until it returns without an error nothing of
// the load is anywhere.
func (t *table) join(ctx context.Context, l *Load) (joined, error) {
	async, switched := l.Async, ""
	if async && l.bytes() >= t.m.wals.Available()/10*8 {
		async, switched = false, "WAL space is short: "+t.m.walSpace()
	}
	for {
		j, wait, err := t.tryJoin(l, async, false)
		switch {
		case err == nil && wait == nil:
			if switched != "" {
				t.m.counters.Switched.Add(1)
			}
			j.switched = switched
			return j, nil
		case err == nil:
			err = t.awaitOpen(ctx, wait)
		}
		switch {
		case err == nil:
		case errors.Is(err, errNoWAL) || errors.Is(err, wal.ErrNoSpace):
			async, switched = false, err.Error()
		case errors.Is(err, wal.ErrDead) || errors.Is(err, wal.ErrClosed) || errors.Is(err, block.ErrFull):
			// That group is sealed; the next one takes the load.
		default:
			return joined{}, err
		}
	}
}

// tryJoin appends the load to the open group, or says for which one to wait.
func (t *table) tryJoin(l *Load, async, hold bool) (j joined, wait *group, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j, ok := t.repeat(l.RequestID); ok {
		return j, nil, nil
	}
	if t.m.stopping() {
		return joined{}, nil, errStopping
	}
	if limit := t.m.maxWALs.Load(); async && limit > 0 && int64(t.waiting()) >= limit {
		return joined{}, nil, doriserr.New(doriserr.ExceededLimit, "Too many group commit async WALs for table %s", l.Table.Name)
	}
	if async && time.Since(t.noWAL) < noWALPause {
		return joined{}, nil, errNoWAL
	}
	g := t.groupFor(l.Table, async)
	if !g.opened {
		g.waiters++
		return joined{}, g, nil
	}
	p, err := g.append(l, hold)
	if err != nil {
		return joined{}, nil, err
	}
	return joined{g: g, rows: l.Rows, pending: p}, nil, nil
}

// repeat finds the first load with the request id. t.mu is held.
func (t *table) repeat(id [16]byte) (joined, bool) {
	g := t.find(id)
	if g == nil {
		return joined{}, false
	}
	rows, _ := g.seen.find(id)
	j := joined{g: g, rows: rows, repeat: true}
	if g.w != nil {
		j.pending = g.w.Last() // its frame, or a later one
	}
	return j, true
}

// awaitOpen waits until the group's transaction has begun.
func (t *table) awaitOpen(ctx context.Context, g *group) error {
	var err error
	select {
	case <-g.ready:
		err = g.openErr
	case <-t.m.stop:
		err = errStopping
	case <-ctx.Done():
		t.mu.Lock()
		err = notJoined(ctx, "a group of table "+t.name, g.lastErr)
		t.mu.Unlock()
	}
	t.mu.Lock()
	g.waiters--
	t.mu.Unlock()
	return err
}

// append gives the load its place in the block and the WAL, where it is held for
// a Kick if hold says so. t.mu is held. On error nothing of it is anywhere.
func (g *group) append(l *Load, hold bool) (*wal.Pending, error) {
	before := g.blk.Rows()
	rest, err := block.DecodeAppend(g.blk, l.Encoded)
	if err == nil && (len(rest) != 0 || g.blk.Rows()-before != l.Rows) {
		err = fmt.Errorf("%d rows and %d more bytes where %d rows were promised", g.blk.Rows()-before, len(rest), l.Rows)
	}
	var p *wal.Pending
	if err == nil && g.w != nil {
		if hold {
			p, err = g.w.Hold(l.RequestID, l.Rows, l.Encoded)
		} else {
			p, err = g.w.Enqueue(l.RequestID, l.Rows, l.Encoded)
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, wal.ErrNoSpace):
		g.blk.Truncate(before)
		return nil, err
	case errors.Is(err, wal.ErrDead), errors.Is(err, wal.ErrClosed), errors.Is(err, block.ErrFull) && before > 0:
		g.blk.Truncate(before)
		g.seal(SealWAL)
		return nil, err
	default:
		g.blk.Truncate(before)
		return nil, doriserr.Wrap(doriserr.Corrupt, err, "cannot read the load's rows")
	}
	if l.RequestID != [16]byte{} {
		g.seen.put(l.RequestID, l.Rows)
	}
	g.rows += int64(l.Rows)
	g.bytes += l.bytes()
	if g.loads++; g.loads == 1 {
		close(g.first)
	}
	// A group that takes half of the memory of all queues is committed while the
	// other half fills: if it had all of it, loads would have to wait for the commit.
	share := g.t.m.mem.limit.Load() / 2
	switch {
	case g.bytes >= g.maxBytes:
		g.seal(SealBytes)
	case g.bytes >= share:
		g.seal(SealMemory)
	case g.bytes >= min(g.maxBytes, share)/2 && !g.halfFull:
		g.halfFull = true
		close(g.half)
	}
	return p, nil
}

// wait waits for what the group's mode promises.
func (j *joined) wait(ctx context.Context) (Ack, error) {
	g := j.g
	if g.key.async {
		if durable, err := j.awaitFrame(ctx); durable || err != nil {
			return Ack{Label: g.txn.Label, TxnID: g.txn.ID, Rows: j.rows, Async: true}, err
		}
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		if g.key.async {
			return Ack{}, unknownAsync()
		}
		return Ack{}, unknownSync(g.label)
	}
	if g.err != nil {
		return Ack{}, g.err
	}
	return Ack{
		Label: g.txn.Label, TxnID: g.txn.ID, Rows: j.rows, Switched: j.switched,
		Visible: g.outcome.Visible, Index: g.outcome.Index,
	}, nil
}

// awaitFrame waits for the fsync of the load's frame. Neither durable nor an
// error: the file died, or the commit came first; the group's outcome counts.
func (j *joined) awaitFrame(ctx context.Context) (durable bool, err error) {
	if j.pending == nil {
		return true, nil // found on disk by a recovery
	}
	select {
	case <-j.pending.Done():
		return j.pending.Err() == nil, nil
	case <-j.g.done:
		return false, nil
	case <-ctx.Done():
		return false, unknownAsync()
	}
}

// awaitRecovery waits until the table's WALs of earlier lives are taken over:
// until then it is not known which requests were acknowledged.
func (t *table) awaitRecovery(ctx context.Context) error {
	if t.admitted.Load() {
		return nil
	}
	select {
	case <-t.m.scanned:
	case <-t.m.stop:
		return errStopping
	case <-ctx.Done():
		return notJoined(ctx, "the scan of the WAL directories", nil)
	}
	t.mu.Lock()
	admit := t.admit
	t.mu.Unlock()
	if admit == nil {
		t.admitted.Store(true)
		return nil
	}
	select {
	case <-admit:
		t.admitted.Store(true)
		return nil
	case <-t.m.stop:
		return errStopping
	case <-ctx.Done():
		t.mu.Lock()
		cause, name := t.lastErr, t.name
		t.mu.Unlock()
		return notJoined(ctx, "the take-over of the WALs of table "+name, cause)
	}
}

func (m *Manager) walSpace() string {
	var b strings.Builder
	for _, s := range m.wals.Space() {
		b.WriteString(s.String())
	}
	return b.String()
}
