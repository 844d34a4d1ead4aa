package txn

import (
	"slices"

	"dorisgo/doriserr"
)

// TakeOver gives a group to a later life of its backend, which replays the WAL
// under the same transaction and label (rule 4). It raises the owner epoch
// once for each life, so a repeat gets the same answer. A group that is
// decided is answered as it is. An unknown transaction is TxnNotFound: the WAL
// is set aside, never replayed (rule 3).
func (b *Book) TakeOver(txnID, backendID int64, bootEpoch uint64) (*Txn, error) {
	t := b.Get(txnID)
	if t == nil {
		return nil, notFound(txnID)
	}
	if t.Group == nil || t.Owner.BackendID != backendID {
		return t, doriserr.New(doriserr.StaleEpoch, "transaction [%d] is not a group of backend %d", txnID, backendID)
	}
	if t.Owner.BootEpoch > bootEpoch {
		return t, doriserr.New(doriserr.StaleEpoch,
			"transaction [%d] was taken over in boot epoch %d, later than %d", txnID, t.Owner.BootEpoch, bootEpoch)
	}
	if t.State != Prepare || t.Owner.BootEpoch == bootEpoch {
		return t, nil
	}
	next := *t
	next.Owner.BootEpoch = bootEpoch
	next.Owner.OwnerEpoch++
	if t.Group.Lost {
		g := *t.Group
		g.Lost = false
		next.Group = &g
	}
	b.replace(t, &next)
	return &next, nil
}

// ReportWALs is what a restarted backend found in its WAL directories, which
// it has fsynced. A decided group without WAL is released. An undecided one
// never acknowledged a row if the directories are intact, since the file and
// its directory are fsynced before the first acknowledgement: it is aborted.
// If a directory was lost the group is marked Lost and stays.
func (b *Book) ReportWALs(backendID int64, wals []int64, dirLost bool, wallMs int64) {
	found := slices.Sorted(slices.Values(wals))
	for _, t := range b.Groups(backendID) {
		_, has := slices.BinarySearch(found, t.ID)
		switch {
		case has && t.Group.Lost:
			b.setGroup(t, func(g *GroupRecord) { g.Lost = false })
		case has:
		case !t.State.Undecided():
			b.release(t)
		case dirLost:
			b.setGroup(t, func(g *GroupRecord) { g.Lost = true })
		default:
			b.release(b.abort(t, ReasonRestart, wallMs))
		}
	}
}

func (b *Book) setGroup(t *Txn, change func(*GroupRecord)) *Txn {
	next, g := *t, *t.Group
	change(&g)
	next.Group = &g
	b.replace(t, &next)
	return &next
}
