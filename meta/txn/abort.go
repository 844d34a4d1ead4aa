package txn

import (
	"math"

	"dorisgo/doriserr"
)

// Abort asks for the decision that a transaction's rows never count.
type Abort struct {
	TxnID  int64
	Owner  Owner
	Reason string
	// Force lets an operator abort a group whose WAL may hold acknowledged
	// rows: it names a loss.
	Force  bool
	WallMs int64
}

// Abort decides ABORTED. The label is free again at once; the group record of
// a group with WAL stays until it is released. A repeat succeeds. A group with
// WAL is aborted only by its owner, which knows whether a row was
// acknowledged, or by force. A PRECOMMITTED transaction belongs to its client:
// the backend that wrote it may not abort it, whatever it knows of the answer to
// its commit. On errors the transaction, if it is known, is returned beside the
// error.
func (b *Book) Abort(r *Abort) (*Txn, error) {
	t := b.Get(r.TxnID)
	if t == nil {
		return nil, notFound(r.TxnID)
	}
	if err := checkOwner(t, r.Owner); err != nil {
		return t, err
	}
	switch {
	case t.State == Aborted:
		return t, nil
	case !t.State.Undecided():
		return t, doriserr.New(doriserr.TxnState, "transaction [%d] is already %s, could not abort.", t.ID, t.State)
	case t.State == Precommitted && r.Owner.BackendID != 0:
		return t, doriserr.New(doriserr.TxnState, "transaction [%d] is pre-committed, which its client alone may abort", t.ID)
	case t.HasWAL() && r.Owner.BackendID == 0 && !r.Force:
		return t, doriserr.New(doriserr.TxnState,
			"transaction [%d] is a group whose WAL may hold acknowledged rows, could not abort.", t.ID)
	}
	return b.abort(t, r.Reason, r.WallMs), nil
}

func alreadyAborted(t *Txn) error {
	return doriserr.New(doriserr.TxnState, "transaction [%d] is already aborted. abort reason: %s", t.ID, t.Reason)
}

func (b *Book) abort(t *Txn, reason string, wallMs int64) *Txn {
	next := *t
	next.State, next.Reason = Aborted, reason
	next.FinishMs, next.FinishFSM = wallMs, b.clock
	next.Partitions = nil
	b.finish(t, &next)
	return &next
}

// finish puts a transaction that became final in its place, and into the queue
// of labels that may be given up unless a WAL may still bear the label.
func (b *Book) finish(old, t *Txn) {
	if t.Group != nil && !t.Group.Async {
		g := *t.Group
		g.Released = true
		t.Group = &g
	}
	b.replace(old, t)
	if !t.HasWAL() {
		b.enqueue(t)
	}
}

func (b *Book) enqueue(t *Txn) {
	d := b.db(t.DBID)
	d.finished = append(d.finished, finished{t.ID, b.clock})
}

// The reasons of aborts that nobody asked for.
const (
	ReasonTimeout = "timeout by txn manager"
	ReasonRestart = "coordinate BE restart"
	ReasonDown    = "coordinate BE is down"
)

// EndOwner aborts the PREPARE transactions of a backend's lives before
// bootEpoch. Groups with WAL stay, since their rows may be acknowledged.
func (b *Book) EndOwner(backendID int64, bootEpoch uint64, reason string, wallMs int64) {
	for _, t := range b.Undecided() {
		if t.State == Prepare && t.Owner.BackendID == backendID && t.Owner.BootEpoch < bootEpoch && !t.HasWAL() {
			b.abort(t, reason, wallMs)
		}
	}
}

// DropOwner ends everything that a backend owns when it is dropped by force:
// undecided transactions are aborted and group records released, whatever
// their WALs may hold.
func (b *Book) DropOwner(backendID, wallMs int64) {
	b.EndOwner(backendID, math.MaxUint64, ReasonDown, wallMs)
	for _, t := range b.Groups(backendID) {
		if t.State.Undecided() {
			t = b.abort(t, "backend dropped by force", wallMs)
		}
		b.release(t)
	}
}
