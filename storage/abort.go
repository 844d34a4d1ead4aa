package storage

import (
	"context"
	"errors"
	"maps"
	"slices"

	"dorisgo/storage/rowset"
)

// Abort removes what this BE holds of a transaction that is definitely aborted.
// The removal need not be durable on return: what a crash brings back is
// in PendingTxns again. A transaction of which nothing is held is no error.
func (e *Engine) Abort(_ context.Context, txnID int64) error {
	tx := e.lockTxn(txnID)
	defer e.unlockTxn(tx)
	return e.removePending(tx, slices.Collect(maps.Values(tx.rowsets)), true)
}

// removePending removes rowsets of a transaction by a definite decision, with
// its owner records if all is set; tx.mu is held.
func (e *Engine) removePending(tx *txn, gone []*pendingRowset, all bool) error {
	for _, r := range e.roots {
		b := r.db.NewBatch()
		var errs []error
		var files []string
		for _, rs := range gone {
			if rs.tablet.root == r {
				errs = append(errs, deletePending(b, rs))
				if rs.Kind == rowset.File {
					files = append(files, r.file(rs.TabletID, rs.ID))
				}
			}
		}
		if _, ok := tx.fenced[r]; ok && all {
			errs = append(errs, b.Delete(key(keyOwner, tx.id), nil))
		}
		if !b.Empty() {
			errs = append(errs, r.apply(b))
		}
		if err := errors.Join(append(errs, b.Close())...); err != nil {
			return err
		}
		if len(files) > 0 {
			r.dur.after(func() {
				for _, f := range files {
					r.unlink(f)
				}
			})
		}
		if all {
			delete(tx.fenced, r)
		}
	}
	for _, rs := range gone {
		delete(tx.rowsets, rs.ID)
	}
	return nil
}
