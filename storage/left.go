package storage

import (
	"context"
	"maps"
	"slices"
)

// waiting reports whether a hole waits for a rowset that a publish named. A
// hole that closed or that a clone filled waits for nothing.
func (rs *pendingRowset) waiting() bool {
	if rs.waits == 0 {
		return false
	}
	rs.tablet.mu.Lock()
	defer rs.tablet.mu.Unlock()
	return rs.tablet.hole != 0 && rs.tablet.hole <= rs.waits && rs.tablet.droppedMs == 0
}

// removeLeft removes the transaction's rowsets in a partition that were not
// published with it: the commit decided against their attempts, or their
// tablets have its rows by a clone. Those that a hole waits for stay.
func (e *Engine) removeLeft(tx *txn, p *Publish) error {
	for _, t := range p.Tablets {
		if rs := tx.rowsets[t.RowsetID]; rs != nil && rs.TabletID == t.TabletID {
			rs.waits = p.Version
		}
	}
	return e.dropLeft(tx, p.PartitionID)
}

// dropLeft removes the transaction's rowsets in a partition that no hole waits
// for, once it is known which do; tx.mu is held.
func (e *Engine) dropLeft(tx *txn, partitionID int64) error {
	var left []*pendingRowset
	for _, rs := range tx.rowsets {
		if rs.PartitionID == partitionID && !rs.waiting() {
			left = append(left, rs)
		}
	}
	all := len(left) == len(tx.rowsets)
	if len(left) == 0 && (!all || len(tx.fenced) == 0) {
		return nil
	}
	return e.removePending(tx, left, all)
}

// DropLeft removes what this BE still holds of a transaction that is visible
// and published here, but for the rowsets that a hole waits for: what attempts
// left that its commit did not name, and what clones made needless. Like
// Abort's, the removal need not be durable on return.
func (e *Engine) DropLeft(ctx context.Context, txnID int64) error {
	tx := e.lockTxn(txnID)
	parts := map[int64]struct{}{}
	for _, rs := range tx.rowsets {
		parts[rs.PartitionID] = struct{}{}
	}
	e.unlockTxn(tx)
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.dropLeftIn(e.partition(id), txnID); err != nil {
			return err
		}
	}
	tx = e.lockTxn(txnID)
	defer e.unlockTxn(tx)
	if len(tx.rowsets) > 0 {
		return nil
	}
	return e.removePending(tx, nil, true)
}

func (e *Engine) dropLeftIn(part *partition, txnID int64) error {
	part.mu.Lock()
	defer part.mu.Unlock()
	tx := e.lockTxn(txnID)
	defer e.unlockTxn(tx)
	for _, rs := range tx.rowsets {
		if rs.PartitionID != part.id || rs.waits != 0 {
			continue
		}
		if err := e.findWaits(part, tx, rs.tablet); err != nil {
			return err
		}
	}
	return e.dropLeft(tx, part.id)
}

// findWaits looks for the entry that published the transaction while a tablet
// had the hole that it has, after a start or a late write. part.mu and tx.mu
// are held.
func (e *Engine) findWaits(part *partition, tx *txn, t *tabletState) error {
	h, hole := part.homes[t.root.index], t.holeNow()
	if h == nil || hole == 0 {
		return nil
	}
	for v := max(hole, h.floor+1); v <= h.through; v++ {
		entry, err := h.entry(part.id, v)
		if err != nil {
			return err
		}
		if entry.txnID != tx.id {
			continue
		}
		for _, n := range entry.rowsets {
			if rs := tx.rowsets[n.RowsetID]; rs != nil && rs.TabletID == n.TabletID {
				rs.waits = v
			}
		}
		return nil
	}
	return nil
}
