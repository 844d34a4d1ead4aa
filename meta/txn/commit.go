package txn

import (
	"cmp"
	"slices"

	"dorisgo/doriserr"
)

// Commit asks for the decision that a transaction's rows count.
type Commit struct {
	TxnID int64
	Owner Owner
	// Partitions name every rowset with the backends that hold it durably;
	// versions in it are ignored. Of a PRECOMMITTED transaction the stored
	// list counts.
	Partitions               []PartitionCommit
	LoadedRows, FilteredRows int64
	// TwoPhase makes it PRECOMMITTED only, for PrecommitTimeoutMs.
	TwoPhase           bool
	PrecommitTimeoutMs int64
	// Ordered demands that earlier groups of the same table and backend are
	// decided first (rule 14): UNIQUE tables without a sequence column.
	Ordered bool
	WallMs  int64
}

// CommitPlacement is what a commit needs to know of the present catalog.
type CommitPlacement interface {
	Placement
	// PartitionEpoch is the table epoch in which a partition of the table was
	// made; ok is false if the table has no such partition (any more).
	PartitionEpoch(tableID, partitionID int64) (epoch uint64, ok bool)
	// TableEpoch is a table's present epoch.
	TableEpoch(tableID int64) uint64
}

// Commit decides COMMITTED and gives each partition that got rows its next
// version. It demands a gap-free majority of every tablet's present replicas
// (rule 1); without one the transaction stays as it is and may be committed
// later. A repeat gets the decision again. A transaction without rows is
// VISIBLE at once.
//
// Rows of partitions that were truncated or dropped after the load began are
// left out and counted (rule 11). Partitions that went in the very epoch in
// which the load began are SchemaChanged: its rows belong into the partitions
// that are there now, so the owner builds them anew. On errors the transaction, if it is
// known, is returned beside the error.
//
// Once a transaction is PRECOMMITTED its client decides, whoever wrote it: a
// commit that a backend sends is refused. Its rows count all or not at all: if
// a partition of them is gone the commit is refused and the transaction may
// still be aborted.
func (b *Book) Commit(r *Commit, place CommitPlacement) (*Txn, error) {
	t := b.Get(r.TxnID)
	if t == nil {
		return nil, notFound(r.TxnID)
	}
	if err := checkOwner(t, r.Owner); err != nil {
		return t, err
	}
	if r.Owner.BackendID == 0 && t.Owner.BackendID != 0 && t.State == Prepare {
		return t, doriserr.New(doriserr.StaleEpoch, "transaction [%d] is owned by backend %d, which alone may commit it", t.ID, t.Owner.BackendID)
	}
	if r.TwoPhase && t.Group != nil {
		return t, doriserr.New(doriserr.TxnState, "transaction [%d] is a group, which has no second phase", t.ID)
	}
	switch t.State {
	case Committed, Visible:
		if r.TwoPhase && t.PrecommitMs == 0 {
			return t, doriserr.New(doriserr.TxnState, "transaction [%d] is already %s, not pre-committed.", t.ID, lower(t.State))
		}
		return t, nil
	case Aborted:
		return t, alreadyAborted(t)
	case Precommitted:
		if r.TwoPhase {
			return t, nil
		}
		if r.Owner.BackendID != 0 {
			return t, doriserr.New(doriserr.TxnState, "transaction [%d] is pre-committed, which its client alone may commit", t.ID)
		}
	}
	if earlier, found := b.earlierGroup(t); r.Ordered && found {
		return t, doriserr.New(doriserr.Blocked,
			"transaction [%d] waits for group [%d] of the same table and backend, which was opened earlier", t.ID, earlier)
	}
	next := *t
	if t.State == Prepare {
		parts, err := normalize(r.Partitions)
		if err != nil {
			return t, err
		}
		next.Partitions, next.LoadedRows, next.FilteredRows = parts, r.LoadedRows, r.FilteredRows
	}
	kept, dropped, err := present(next.Partitions, t, place)
	if err != nil {
		return t, err
	}
	if len(kept) < len(next.Partitions) && (r.TwoPhase || t.State == Precommitted) {
		return t, doriserr.New(doriserr.TxnState,
			"transaction [%d] cannot be committed: partitions of its table were truncated or dropped, %d of its rows belong to them. Abort it and load again.", t.ID, dropped)
	}
	next.Partitions = kept
	next.DroppedRows += dropped
	if err := b.checkMajority(&next, place); err != nil {
		return t, err
	}
	if r.TwoPhase {
		next.State, next.PrecommitMs = Precommitted, max(r.WallMs, 1)
		next.DeadlineFSM, next.TimeoutMs = b.clock+r.PrecommitTimeoutMs, r.PrecommitTimeoutMs
		b.replace(t, &next)
		return &next, nil
	}
	next.State, next.CommitMs = Committed, r.WallMs
	b.giveVersions(&next, place)
	b.replace(t, &next)
	b.advance(next.ID, r.WallMs, place)
	return b.txns[next.ID], nil
}

// earlierGroup is an undecided group of the same table and backend that was
// opened before t.
func (b *Book) earlierGroup(t *Txn) (int64, bool) {
	if t.Group == nil {
		return 0, false
	}
	open := b.open[tableBackend{t.TableID, t.Owner.BackendID}]
	if len(open) == 0 || open[0] >= t.ID {
		return 0, false
	}
	return open[0], true
}

// normalize sorts a copy of a commit's list and refuses what names a partition
// or tablet twice.
func normalize(in []PartitionCommit) ([]PartitionCommit, error) {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b PartitionCommit) int { return cmp.Compare(a.PartitionID, b.PartitionID) })
	for i := range out {
		p := &out[i]
		if i > 0 && out[i-1].PartitionID == p.PartitionID {
			return nil, doriserr.New(doriserr.TxnState, "partition %d is named twice in a commit", p.PartitionID)
		}
		p.Version, p.Tablets = 0, slices.Clone(p.Tablets)
		slices.SortFunc(p.Tablets, func(a, b TabletCommit) int { return cmp.Compare(a.TabletID, b.TabletID) })
		for j := range p.Tablets {
			if j > 0 && p.Tablets[j-1].TabletID == p.Tablets[j].TabletID {
				return nil, doriserr.New(doriserr.TxnState, "tablet %d is named twice in a commit", p.Tablets[j].TabletID)
			}
			p.Tablets[j].Backends = slices.Compact(slices.Sorted(slices.Values(p.Tablets[j].Backends)))
		}
	}
	return slices.DeleteFunc(out, func(p PartitionCommit) bool { return len(p.Tablets) == 0 }), nil
}

// present keeps the partitions that still are what the load was planned on and
// counts the rows of the others.
func present(parts []PartitionCommit, t *Txn, place CommitPlacement) (kept []PartitionCommit, dropped int64, err error) {
	for _, p := range parts {
		epoch, ok := place.PartitionEpoch(t.TableID, p.PartitionID)
		if ok && epoch <= t.TableEpoch {
			kept = append(kept, p)
			continue
		}
		if t.TableEpoch >= place.TableEpoch(t.TableID) {
			return nil, 0, doriserr.New(doriserr.SchemaChanged,
				"transaction [%d] was planned on partition %d, which was replaced: plan it again", t.ID, p.PartitionID)
		}
		for i := range p.Tablets {
			dropped += p.Tablets[i].Rows
		}
	}
	return kept, dropped, nil
}

// checkMajority demands of every tablet that a majority of its present
// replicas holds the rowset and every committed version before it.
func (b *Book) checkMajority(t *Txn, place Placement) error {
	for i := range t.Partitions {
		pc := &t.Partitions[i]
		p := b.parts[pc.PartitionID]
		if p == nil {
			return doriserr.New(doriserr.Internal, "partition %d has no versions", pc.PartitionID)
		}
		for j := range pc.Tablets {
			tc := &pc.Tablets[j]
			holders, ok := place.Holders(pc.PartitionID, tc.TabletID)
			if !ok {
				return doriserr.New(doriserr.TxnState, "partition %d has no tablet %d", pc.PartitionID, tc.TabletID)
			}
			good := 0
			for _, h := range holders {
				if holds(tc, h) && p.gapFreeThrough(replica{tc.TabletID, h}, p.committed) {
					good++
				}
			}
			if need := len(holders)/2 + 1; good < need {
				return doriserr.New(doriserr.FewReplicas,
					"Failed to commit txn %d, cause tablet %d succ replica num %d < load required replica num %d", t.ID, tc.TabletID, good, need)
			}
		}
	}
	return nil
}

// giveVersions takes the next version of each partition, in t, which is not
// in the Book yet.
func (b *Book) giveVersions(t *Txn, place Placement) {
	t.Partitions = slices.Clone(t.Partitions)
	for i := range t.Partitions {
		pc := &t.Partitions[i]
		p := b.parts[pc.PartitionID]
		p.committed++
		pc.Version = p.committed
		p.log = append(p.log, t.ID)
		b.pins[t.ID]++
		for j := range pc.Tablets {
			tc := &pc.Tablets[j]
			holders, _ := place.Holders(pc.PartitionID, tc.TabletID)
			for _, h := range slices.Concat(holders, place.Cloning(pc.PartitionID, tc.TabletID)) {
				if !holds(tc, h) {
					p.addMissing(replica{tc.TabletID, h}, pc.Version)
				}
			}
		}
	}
}

func holds(tc *TabletCommit, backend int64) bool {
	_, ok := slices.BinarySearch(tc.Backends, backend)
	return ok
}

func lower(s State) string {
	switch s {
	case Prepare:
		return "prepare"
	case Committed:
		return "committed"
	case Visible:
		return "visible"
	case Aborted:
		return "aborted"
	default:
		return "pre-committed"
	}
}
