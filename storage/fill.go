package storage

import (
	"errors"
)

// fillWritten publishes what a write that came late brought to tablets that
// have a hole.
func (e *Engine) fillWritten(rowsets []PendingRowset) error {
	for i := range rowsets {
		t := e.tablet(rowsets[i].TabletID)
		if t == nil || t.holeNow() == 0 {
			continue
		}
		if err := e.fillTablet(t); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) fillTablet(t *tabletState) error {
	part := e.partition(t.partitionID)
	part.mu.Lock()
	defer part.mu.Unlock()
	return e.fill(part, t)
}

// fill publishes into a tablet, in order, the versions from its hole up whose
// rowsets are here, as the partition's entries name them, and moves the hole to
// the first version that still lacks. Like a publish it is not durable on
// return; what a crash takes back is done again at the start. Versions whose
// entries are not kept can only be cloned. part.mu is held.
func (e *Engine) fill(part *partition, t *tabletState) error {
	t.mu.Lock()
	hole, base := t.hole, t.base
	// Rowsets at or above the hole are there if it is a damaged one's.
	stuck := hole == 0 || t.added || t.droppedMs != 0 || t.graph.Last() >= hole
	t.mu.Unlock()
	h := part.homes[t.root.index]
	if stuck || h == nil || part.dropped || hole <= max(h.floor, base) {
		return nil
	}
	version := hole
	for ; version <= h.through; version++ {
		entry, err := h.entry(part.id, version)
		if err != nil {
			return err
		}
		if filled, err := e.fillVersion(t, version, &entry); err != nil || !filled {
			return errors.Join(err, e.moveHole(t, version))
		}
	}
	return e.moveHole(t, 0)
}

// fillVersion publishes one version into a tablet; false if it lacks.
func (e *Engine) fillVersion(t *tabletState, version int64, entry *entryRecord) (bool, error) {
	if !entry.names(t.id) {
		return true, nil
	}
	tx := e.lockTxn(entry.txnID)
	defer e.unlockTxn(tx)
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	rowsets, ok := tx.named(t, entry.rowsets)
	if !ok || t.isDropped() {
		return false, nil
	}
	b := t.root.db.NewBatch()
	defer b.Close()
	nodes, err := publishRowsets(b, rowsets, version)
	err = errors.Join(err, t.record(b, func(r *tabletRecord) { r.hole = version + 1 }))
	if err == nil {
		err = t.root.apply(b)
	}
	if err != nil {
		return false, err
	}
	if err := e.publishedRowsets(tx, rowsets, nodes); err != nil {
		return false, err
	}
	t.setHole(version + 1) // after the rowsets: a read below it finds them
	return true, nil
}

// moveHole notes the first version that a tablet lacks, 0 for none.
func (e *Engine) moveHole(t *tabletState, version int64) error {
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	if t.holeNow() == version || t.isDropped() {
		return nil
	}
	b := t.root.db.NewBatch()
	defer b.Close()
	err := t.record(b, func(r *tabletRecord) { r.hole = version })
	if err == nil {
		err = t.root.apply(b)
	}
	if err != nil {
		return err
	}
	t.setHole(version)
	e.opts.Logger.Info("tablet has versions that it lacked", "tablet_id", t.id, "hole", version)
	return nil
}

// names reports whether the version brought a tablet rows.
func (r *entryRecord) names(tabletID int64) bool {
	for i := range r.rowsets {
		if r.rowsets[i].TabletID == tabletID {
			return true
		}
	}
	return false
}
