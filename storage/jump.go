package storage

import (
	"context"
	"errors"
	"slices"
)

// Jump tells this BE where the list of a partition's versions begins that can
// still be published: above base. If it has not published base it has missed
// versions for good: every tablet of the partition that is here or in replicas,
// and did not get them by a clone, has a hole after what it has, and the
// partition counts as published through base, durably, with the entries through
// it gone. Otherwise nothing changes, but replicas that are to be cloned and
// that it had not heard of are noted, durably.
//
// The answer has the holes that the replicas have now, as Publish's has. A
// repeated call is no error; one that was cut off must be repeated. A dropped
// partition is doriserr.StaleEpoch.
func (e *Engine) Jump(ctx context.Context, partitionID, base int64, replicas []TabletReplica) ([]Hole, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	part := e.partition(partitionID)
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.dropped {
		return nil, errDropped("partition", partitionID)
	}
	if err := e.jump(part, base, replicas); err != nil {
		return nil, err
	}
	known := slices.DeleteFunc(slices.Clone(replicas), func(r TabletReplica) bool {
		// One that never had rows, and missed none, is not here and lacks nothing.
		return e.tablet(r.TabletID) == nil && !e.wasRemoved(r.TabletID, 0)
	})
	return e.holes(partitionID, known), nil
}

// jump is Jump; part.mu is held.
func (e *Engine) jump(part *partition, base int64, replicas []TabletReplica) error {
	jumps := base > part.published.Load()
	var here []TabletReplica
	for _, r := range replicas {
		t := e.tablet(r.TabletID)
		switch {
		case t == nil && r.ReplicaID != 0 && e.wasRemoved(r.TabletID, r.ReplicaID):
		case t == nil && !jumps && !r.FromClone:
		case t != nil && !t.isReplica(r.ReplicaID):
		default:
			here = append(here, r)
		}
	}
	if err := e.place(part, here, true); err != nil || !jumps {
		return err
	}
	if !slices.ContainsFunc(part.homes, func(h *home) bool { return h != nil }) {
		r := e.homeRoot(part.id)
		part.homes[r.index] = newHome(r, part.published.Load())
	}
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	for _, h := range part.homes {
		if h != nil && h.through < base {
			if err := e.jumpOn(part, h, base); err != nil {
				return err
			}
		}
	}
	part.advance()
	return nil
}

// jumpOn moves one root's part of a partition in one synced batch; dropMu is
// held.
func (e *Engine) jumpOn(part *partition, h *home, base int64) error {
	rec := h.partitionRecord
	rec.floor = base
	b := h.root.db.NewBatch()
	defer b.Close()
	errs := []error{
		b.Set(key(keyPartition, part.id), rec.encode(), nil),
		b.DeleteRange(key(keyEntry, part.id, h.floor+1), key(keyEntry, part.id, h.through+1), nil),
	}
	holed := map[*tabletState]int64{}
	for _, t := range e.tabletsSorted() {
		t.mu.Lock()
		lacks := t.partitionID == part.id && t.root == h.root && t.droppedMs == 0 && t.hole == 0 && t.cloned < base
		hole := max(h.through, t.cloned) + 1
		t.mu.Unlock()
		if lacks {
			holed[t] = hole
			errs = append(errs, t.record(b, func(r *tabletRecord) { r.hole = hole }))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := h.root.applySync(b); err != nil {
		return err
	}
	for t, hole := range holed {
		t.setHole(hole)
	}
	h.partitionRecord, h.through = rec, base
	h.reached(base)
	return nil
}
