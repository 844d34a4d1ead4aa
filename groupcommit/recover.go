package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dorisgo/groupcommit/wal"
)

// Recover scans the WAL directories, once, before loads are taken. It returns
// after the scan; then, in the background, each table's WALs are taken over
// oldest first, the table's loads are let in, and the WALs are replayed.
func (m *Manager) Recover(ctx context.Context) error {
	files, err := m.wals.Scan(ctx)
	if err != nil {
		return err
	}
	m.starting.Lock()
	defer m.starting.Unlock()
	if m.stopping() {
		return errStopping
	}
	var order []*table
	found := map[*table][]*group{}
	for _, f := range files {
		if f.Foreign {
			m.log.Warn("foreign file in a wal directory", "path", f.Path)
			if e := m.opts.Events.Foreign; e != nil {
				e(f.Path)
			}
			continue
		}
		t := m.table(f.DBID, f.TableID, fmt.Sprintf("table %d", f.TableID))
		if found[t] == nil {
			order = append(order, t)
			t.admit = make(chan struct{})
		}
		found[t] = append(found[t], newFound(t, f))
	}
	var claims sync.WaitGroup
	var mu sync.Mutex
	present := []int64{}
	for _, t := range order {
		claims.Add(1)
		m.wg.Go(func() {
			defer claims.Done()
			ids := t.takeOver(found[t])
			mu.Lock()
			defer mu.Unlock()
			present = append(present, ids...)
		})
	}
	close(m.scanned)
	if r, ok := m.sink.(WALReporter); ok {
		m.wg.Go(func() {
			claims.Wait()
			m.report(r, present)
		})
	}
	return nil
}

func newFound(t *table, f wal.FileInfo) *group {
	tb := &Table{DBID: f.DBID, ID: f.TableID, Name: t.name}
	g := newGroup(t, tb, key{async: true})
	g.opened, g.sealed, g.sealedAt = true, true, time.Now()
	g.txn, g.label, g.path, g.walBytes = Txn{ID: f.TxnID, Label: f.Label}, f.Label, f.Path, f.Bytes
	g.header = wal.Header{CreatedMs: f.ModTime.UnixMilli()}
	close(g.ready)
	t.live = append(t.live, g)
	return g
}

// takeOver claims the table's WALs in order and then lets its loads in. A claim
// without an answer is repeated at once; a file that cannot be read is parked
// and does not hold up the table. It returns the transactions that have a WAL.
func (t *table) takeOver(groups []*group) (present []int64) {
	defer close(t.admit)
	m := t.m
	for _, g := range groups {
		err := m.claim(g)
		for b := newBackoff(); unanswered(g, err); err = m.claim(g) {
			t.mu.Lock()
			t.noteFailure(err)
			t.mu.Unlock()
			if !b.wait(m.ctx, m.stop) {
				return present
			}
		}
		if !g.neverUsed {
			present = append(present, g.txn.ID)
		}
		if err != nil {
			t.attempted(g, err)
		}
		if errors.Is(err, errGone) {
			continue
		}
		t.mu.Lock()
		if g.header.Ordered {
			t.last = g
		}
		t.addParked(g)
		t.mu.Unlock()
	}
	return present
}

// unanswered says that the FSM gave no answer to a claim.
func unanswered(g *group, err error) bool {
	return err != nil && !errors.Is(err, errGone) && g.inspected && !g.recycled && !decided(err)
}

// report tells the FSM which groups have a WAL here.
func (m *Manager) report(r WALReporter, present []int64) {
	for b := newBackoff(); ; {
		if m.stopping() {
			return
		}
		ctx, cancel := context.WithTimeout(m.ctx, m.opts.BeginTimeout)
		err := r.ReportWALs(ctx, present)
		cancel()
		if err == nil || !b.wait(m.ctx, m.stop) {
			return
		}
		m.log.Warn("cannot report the wal files, trying again", "err", err)
	}
}
