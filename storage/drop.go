package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// DropTablets drops tablets by a decision that is in the metadata log. They
// are unreadable when it returns, durably, and pending rowsets in them are
// removed; what they held stays in the trash for Options.TrashExpire. Tablets
// that are not here are no error.
func (e *Engine) DropTablets(ctx context.Context, tabletIDs []int64) error {
	if err := e.markDropped(tabletIDs); err != nil {
		return err
	}
	e.forgetLost(func(id int64, _ lostTablet) bool { return slices.Contains(tabletIDs, id) })
	return e.dropPending(ctx)
}

// DropPartition drops a partition: its tablets and its publish entries.
func (e *Engine) DropPartition(ctx context.Context, partitionID int64) error {
	if err := e.markPartition(partitionID); err != nil {
		return err
	}
	var ids []int64
	for _, t := range e.tabletsSorted() {
		if t.partitionID == partitionID {
			ids = append(ids, t.id)
		}
	}
	e.forgetLost(func(_ int64, l lostTablet) bool { return l.partitionID == partitionID })
	return e.DropTablets(ctx, ids)
}

func (e *Engine) markPartition(partitionID int64) error {
	p := e.partition(partitionID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped {
		return nil
	}
	if !slices.ContainsFunc(p.homes, func(h *home) bool { return h != nil }) {
		r := e.homeRoot(partitionID)
		p.homes[r.index] = newHome(r, 1)
	}
	now := e.opts.Now().UnixMilli()
	for _, h := range p.homes {
		if h == nil {
			continue
		}
		rec := h.partitionRecord
		rec.droppedMs = now
		if err := h.root.setSync(key(keyPartition, partitionID), rec.encode()); err != nil {
			return err
		}
		h.partitionRecord = rec
	}
	p.dropped = true
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

// markDropped makes the tablets' end durable.
func (e *Engine) markDropped(tabletIDs []int64) error {
	e.dropMu.Lock()
	defer e.dropMu.Unlock()
	now := e.opts.Now().UnixMilli()
	for _, r := range e.roots {
		if r.left.Load() {
			continue
		}
		var dropped []*tabletState
		b := r.db.NewBatch()
		var errs []error
		for _, id := range tabletIDs {
			t := e.tablet(id)
			if t == nil || t.root != r || t.isDropped() {
				continue
			}
			t.mu.Lock()
			rec := t.tabletRecord
			t.mu.Unlock()
			rec.droppedMs = now
			errs = append(errs, b.Set(key(keyTablet, id), rec.encode(), nil))
			dropped = append(dropped, t)
		}
		if len(dropped) > 0 {
			errs = append(errs, r.applySync(b))
		}
		if err := errors.Join(append(errs, b.Close())...); err != nil {
			return err
		}
		for _, t := range dropped {
			t.mu.Lock()
			t.droppedMs, t.recorded = now, true
			t.mu.Unlock()
		}
	}
	return nil
}

// dropPending removes the pending rowsets of dropped tablets. None is added
// after markDropped.
func (e *Engine) dropPending(ctx context.Context) error {
	for _, id := range e.PendingTxns() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.dropPendingOf(id); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) dropPendingOf(txnID int64) error {
	tx := e.lockTxn(txnID)
	defer e.unlockTxn(tx)
	var gone []*pendingRowset
	for _, rs := range tx.rowsets {
		if rs.tablet.isDropped() {
			gone = append(gone, rs)
		}
	}
	return e.removePending(tx, gone, len(gone) == len(tx.rowsets) && len(gone) > 0)
}

func (r *root) setSync(k, v []byte) error {
	b := r.db.NewBatch()
	defer b.Close()
	if err := b.Set(k, v, nil); err != nil {
		return err
	}
	return r.applySync(b)
}

// erase removes what Pebble has of a dropped tablet.
func (e *Engine) erase(t *tabletState) error {
	b := t.root.db.NewBatch()
	defer b.Close()
	errs := []error{b.Delete(key(keyTablet, t.id), nil)}
	for _, letter := range []byte{keyLive, keyReplaced, keyData} {
		errs = append(errs, deleteRange(b, key(letter, t.id)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := t.root.applySync(b); err != nil {
		return err
	}
	e.mu.Lock()
	delete(e.tablets, t.id)
	e.mu.Unlock()
	t.root.tablets.Add(-1)
	return nil
}

func deleteRange(b *pebble.Batch, prefix []byte) error {
	return b.DeleteRange(prefix, prefixEnd(prefix), nil)
}
