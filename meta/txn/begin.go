package txn

import "dorisgo/doriserr"

// Begin asks for a transaction.
type Begin struct {
	RequestID     [16]byte
	DBID, TableID int64
	TableEpoch    uint64
	SchemaVersion int32
	Label         string
	// Owner's OwnerEpoch is ignored.
	Owner Owner
	// Group is nil for a normal load.
	Group       *GroupRecord
	TimeoutMs   int64
	Source      Source
	Coordinator string
	WallMs      int64
}

// Begin opens a transaction. A repeat of its request gets the same one,
// whatever became of it. On LabelExists the transaction that has the label is
// returned beside the error. What depends on the catalog (table, schema,
// backend) is checked by the caller.
func (b *Book) Begin(r *Begin, lim *Limits) (*Txn, error) {
	if t := b.ByRequest(r.RequestID); t != nil {
		return t, nil
	}
	check := CheckClientLabel
	if r.Group != nil {
		check = CheckLabel
	}
	if err := check(r.Label); err != nil {
		return nil, err
	}
	if t := b.ByLabel(r.DBID, r.Label); t != nil && t.State != Aborted {
		return t, doriserr.New(doriserr.LabelExists,
			"Label [%s] has already been used, relate to txn [%d], status [%s].", r.Label, t.ID, t.State)
	}
	if withWAL := r.Group != nil && r.Group.Async; !withWAL && b.Running(r.DBID) >= lim.MaxRunningPerDB {
		return nil, doriserr.New(doriserr.ExceededLimit,
			"current running txns on db %d is %d, larger than limit %d", r.DBID, b.Running(r.DBID), lim.MaxRunningPerDB)
	}
	t := &Txn{
		ID: b.nextID, DBID: r.DBID, TableID: r.TableID, Label: r.Label, RequestID: r.RequestID,
		State: Prepare, Source: r.Source, Owner: r.Owner,
		TableEpoch: r.TableEpoch, SchemaVersion: r.SchemaVersion,
		PrepareMs: r.WallMs, DeadlineFSM: b.clock + r.TimeoutMs, TimeoutMs: r.TimeoutMs,
		CoordinatorText: r.Coordinator,
	}
	t.Owner.OwnerEpoch = 1
	if r.Group != nil {
		t.Group = &GroupRecord{Async: r.Group.Async, IntervalMs: r.Group.IntervalMs}
	}
	b.nextID++
	b.insert(t)
	return t, nil
}

// notFound is the answer for an id that is unknown or forgotten. Whoever sent
// a commit of that id before must take it for "the outcome is not known".
func notFound(id int64) error {
	return doriserr.New(doriserr.TxnNotFound, "transaction [%d] not found", id)
}

// checkOwner refuses another owner and an older life of the same one (rule 4).
// The zero owner is an FE or operator and passes: the caller decides what it
// may do.
func checkOwner(t *Txn, o Owner) error {
	if o.BackendID == 0 {
		return nil
	}
	if o.BackendID != t.Owner.BackendID || o.OwnerEpoch != t.Owner.OwnerEpoch {
		return doriserr.New(doriserr.StaleEpoch,
			"transaction [%d] is owned by backend %d in owner epoch %d, not by backend %d in owner epoch %d",
			t.ID, t.Owner.BackendID, t.Owner.OwnerEpoch, o.BackendID, o.OwnerEpoch)
	}
	return nil
}
