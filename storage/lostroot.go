package storage

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
)

// lostTablet is a tablet whose root went out of service in this life, while it
// is on no other root.
type lostTablet struct {
	partitionID int64
	replica     int64
	gen         uint32
	root        string
}

// rootFailed is told once of each root that goes out of service. The engine goes
// on while it has another one; with the last root it is unfit.
func (e *Engine) rootFailed(r *root, msg string) {
	if e.healthy.Add(-1) == 0 || !e.open.Load() {
		e.opts.Fatal(r.path, msg)
		return
	}
	select {
	case e.rootWake <- struct{}{}:
	default:
	}
}

// runRoots takes leave of roots that go out of service; it ends with an error
// when none is left.
func (e *Engine) runRoots(ctx context.Context) error {
	for {
		for _, r := range e.roots {
			if r.err() == nil || r.left.Load() {
				continue
			}
			if err := e.leaveRoot(ctx, r); err != nil && ctx.Err() == nil {
				e.opts.Logger.Error("cannot take leave of a storage root yet", "root", r.path, "err", err)
			}
		}
		if err := e.rootsErr(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-e.rootWake:
		}
	}
}

// leaveRoot goes on without a root that is out of service. Its tablets are lost
// here: they are reported with a hole at version 2 and are made anew, for a
// clone, on another root. The other roots note it first, with how far each
// partition was published on it, so that what it claims is judged when it comes
// back (settleReturned). What it had is not touched.
func (e *Engine) leaveRoot(ctx context.Context, r *root) error {
	e.mu.Lock()
	parts := slices.Collect(maps.Values(e.partitions))
	e.mu.Unlock()
	slices.SortFunc(parts, func(a, b *partition) int { return cmp.Compare(a.id, b.id) })
	note := lostRecord{atMs: e.opts.Now().UnixMilli()}
	for _, p := range parts {
		p.mu.Lock()
		if h := p.homes[r.index]; h != nil {
			note.partitions = append(note.partitions, PartitionVersions{PartitionID: p.id, Published: h.through})
		}
		p.mu.Unlock()
	}
	if err := e.noteLost(r.id.uuid, note); err != nil {
		return err
	}
	n := 0
	for _, p := range parts {
		lost, err := e.leaveHome(p, r)
		if err != nil {
			return err
		}
		n += lost
	}
	for _, id := range e.PendingTxns() {
		tx := e.lockTxn(id)
		maps.DeleteFunc(tx.rowsets, func(_ RowsetID, rs *pendingRowset) bool { return rs.tablet.root == r })
		delete(tx.fenced, r)
		e.unlockTxn(tx)
	}
	r.left.Store(true)
	e.opts.Logger.Error("this backend goes on without a storage root: its tablets have to be cloned from other backends",
		"root", r.path, "tablets", n, "err", r.err())
	return ctx.Err()
}

// noteLost notes, durably on every root that is in service, that they go on
// without the root.
func (e *Engine) noteLost(id UUID, note lostRecord) error {
	noted := false
	var errs []error
	for _, o := range e.roots {
		if o.err() != nil || o.id.uuid == id {
			continue
		}
		err := o.setSync(lostKey(id), note.encode())
		noted = noted || err == nil
		errs = append(errs, err)
	}
	if noted {
		return nil // a root that could not note it is out of service as well
	}
	return errors.Join(append(errs, e.rootsErr())...)
}

// leaveHome takes a root's part of a partition and its tablets out of memory.
func (e *Engine) leaveHome(p *partition, r *root) (lost int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.homes[r.index] == nil {
		return 0, nil
	}
	alone := true
	for i, h := range p.homes {
		alone = alone && (h == nil || i == r.index)
	}
	if alone && !p.dropped {
		// Somebody has to know how far the partition is published.
		o := e.homeRoot(p.id)
		h := newHome(o, p.published.Load())
		if err := o.setSync(key(keyPartition, p.id), h.encode()); err != nil {
			return 0, err
		}
		p.homes[o.index] = h
	}
	p.homes[r.index] = nil
	for _, t := range e.tabletsSorted() {
		if t.root != r || t.partitionID != p.id {
			continue
		}
		t.mu.Lock()
		l := lostTablet{t.partitionID, t.replica, t.gen, r.path}
		dropped := t.droppedMs != 0
		t.mu.Unlock()
		e.mu.Lock()
		delete(e.tablets, t.id)
		if !dropped {
			e.lost[t.id] = l
			lost++
		}
		e.mu.Unlock()
	}
	p.advance()
	return lost, nil
}

// lostOf reports whether a tablet is lost with its root.
func (e *Engine) lostOf(tabletID int64) (lostTablet, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l, ok := e.lost[tabletID]
	return l, ok
}

// lostReplicas reports the replicas that are lost with their roots.
func (e *Engine) lostReplicas() []ReplicaInfo {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]ReplicaInfo, 0, len(e.lost))
	for id, l := range e.lost {
		out = append(out, ReplicaInfo{PartitionID: l.partitionID, TabletID: id, ReplicaID: l.replica, Hole: 2, Through: 1})
	}
	return out
}

// forgetLost forgets lost tablets whose end was decided; that they were here stays
// known in this life.
func (e *Engine) forgetLost(gone func(id int64, l lostTablet) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, l := range e.lost {
		if !gone(id, l) {
			continue
		}
		delete(e.lost, id)
		if e.removed[id] == nil {
			e.removed[id] = map[int64]int64{}
		}
		e.removed[id][l.replica] = l.partitionID
	}
}

// GiveUp notes that this BE goes on without roots that it does not have, because
// the operator accepted their loss: if one of them comes back, nothing that it
// claims counts against what was made anew.
func (e *Engine) GiveUp(ctx context.Context, ids []UUID) error {
	for _, id := range ids {
		if slices.ContainsFunc(e.roots, func(r *root) bool { return r.id.uuid == id }) {
			continue
		}
		if err := errors.Join(ctx.Err(), e.noteLost(id, lostRecord{atMs: e.opts.Now().UnixMilli()})); err != nil {
			return err
		}
	}
	return nil
}
