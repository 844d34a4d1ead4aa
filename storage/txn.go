package storage

import (
	"maps"
	"slices"
	"sync"

	"dorisgo/storage/rowset"
)

// txn is what this BE holds of an undecided transaction.
type txn struct {
	id int64
	mu sync.Mutex // guards what follows
	// epoch is the highest owner epoch that was seen.
	epoch   uint64
	rowsets map[rowset.ID]*pendingRowset
	// fenced are the roots that have an owner record.
	fenced map[*root]struct{}
	// gone says that the map of transactions does not have it any more.
	gone bool
}

type pendingRowset struct {
	rowset.Record
	tablet *tabletState
	// damaged says that its file was missing at the start.
	damaged bool
	// waits is the version of the publish that named the rowset while its tablet
	// had a hole, 0 if none did since the start. It waits for the hole.
	waits int64
}

// lockTxn finds or makes a transaction and locks it.
func (e *Engine) lockTxn(id int64) *txn {
	for {
		e.mu.Lock()
		tx := e.txns[id]
		if tx == nil {
			tx = &txn{id: id, rowsets: map[rowset.ID]*pendingRowset{}, fenced: map[*root]struct{}{}}
			e.txns[id] = tx
		}
		e.mu.Unlock()
		tx.mu.Lock()
		if !tx.gone {
			return tx
		}
		tx.mu.Unlock()
	}
}

// unlockTxn unlocks a transaction and forgets it if nothing of it is left.
func (e *Engine) unlockTxn(tx *txn) {
	if len(tx.rowsets) == 0 && len(tx.fenced) == 0 {
		tx.gone = true
		e.mu.Lock()
		delete(e.txns, tx.id)
		e.mu.Unlock()
	}
	tx.mu.Unlock()
}

// named finds the rowsets of a tablet that a list names; false if one is not
// here or lost its file. tx.mu is held.
func (tx *txn) named(t *tabletState, list []PublishTablet) (rowsets []*pendingRowset, ok bool) {
	for _, n := range list {
		if n.TabletID != t.id {
			continue
		}
		rs := tx.rowsets[n.RowsetID]
		if rs == nil || rs.tablet != t || rs.damaged {
			return nil, false
		}
		rowsets = append(rowsets, rs)
	}
	return rowsets, true
}

// PendingTxns are the undecided transactions of which this BE holds something,
// in order. A starting BE asks for the outcome of each and then publishes or
// aborts it; nothing else ever removes them (docs/protocol.md, rule 2).
func (e *Engine) PendingTxns() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.txns))
}
