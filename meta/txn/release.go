package txn

import "dorisgo/doriserr"

// Release takes a backend's word that the WALs of groups are unlinked and
// their directories fsynced. The labels may be forgotten from now on. Groups
// that are unknown, released, another backend's or not decided yet are passed
// over; the number of released ones is returned.
func (b *Book) Release(backendID int64, txnIDs []int64) int {
	n := 0
	for _, id := range txnIDs {
		t := b.Get(id)
		if t == nil || !t.HasWAL() || t.Owner.BackendID != backendID || t.State.Undecided() {
			continue
		}
		b.release(t)
		n++
	}
	return n
}

// ReleaseLost is an operator's word that a lost group's rows are given up: an
// undecided one is aborted.
func (b *Book) ReleaseLost(txnID, wallMs int64) (*Txn, error) {
	t := b.Get(txnID)
	switch {
	case t == nil:
		return nil, notFound(txnID)
	case !t.HasWAL():
		return t, nil
	case !t.Group.Lost:
		return t, doriserr.New(doriserr.TxnState, "transaction [%d] is a group whose WAL is not lost", txnID)
	case t.State.Undecided():
		t = b.abort(t, "WAL lost, released by an operator", wallMs)
	}
	return b.release(t), nil
}

// release marks a decided group's WAL as gone.
func (b *Book) release(t *Txn) *Txn {
	next := b.setGroup(t, func(g *GroupRecord) { g.Released = true })
	if next.State.Final() {
		b.enqueue(next)
	}
	return next
}
