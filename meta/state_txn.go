package meta

import "dorisgo/meta/txn"

// Txn is a transaction by id, nil if it is unknown or forgotten.
func (s *State) Txn(id int64) *txn.Txn { return s.book.Get(id) }

// TxnGone reports whether a transaction was decided and nobody needs anything of
// it any more.
func (s *State) TxnGone(id int64) bool { return s.book.Gone(id) }

// TxnByLabel is the newest transaction with a label, nil if there is none.
func (s *State) TxnByLabel(dbID int64, label string) *txn.Txn { return s.book.ByLabel(dbID, label) }

// TxnByRequest is the transaction that a request began, nil if there is none.
func (s *State) TxnByRequest(id [16]byte) *txn.Txn { return s.book.ByRequest(id) }

// Txns are the known transactions of a database (0: of all) by id; for SHOW.
func (s *State) Txns(dbID int64) []*txn.Txn { return s.book.All(dbID) }

// CommittedTxns are those that wait to become VISIBLE, by id.
func (s *State) CommittedTxns() []*txn.Txn { return s.book.Committed() }

// UndecidedTxns are those in PREPARE and PRECOMMITTED, by id.
func (s *State) UndecidedTxns() []*txn.Txn { return s.book.Undecided() }

// RunningTxns is how many transactions of a database count towards
// max_running_txn_num_per_db.
func (s *State) RunningTxns(dbID int64) int { return s.book.Running(dbID) }

// Groups are the unreleased groups with WAL of a BE, dead or alive, by id.
// Their number is what decommission and DROP BACKEND wait for (rule 10).
func (s *State) Groups(backendID int64) []*txn.Txn { return s.book.Groups(backendID) }

// GroupCount is the number of Groups.
func (s *State) GroupCount(backendID int64) int { return s.book.GroupCount(backendID) }

// TableGroups are the unreleased groups with WAL of a table, by id.
func (s *State) TableGroups(tableID int64) []*txn.Txn { return s.book.TableGroups(tableID) }

// EnoughPublished reports whether a committed transaction needs no more BEs than
// those that it has and the given ones to become VISIBLE in its turn; true of one
// that is not waiting.
func (s *State) EnoughPublished(txnID int64, backends []int64) bool {
	return s.book.Enough(txnID, backends, placement{s})
}

// OpenGroups are the groups of a table, sync ones included, that are not
// decided, by id.
func (s *State) OpenGroups(tableID int64) []*txn.Txn { return s.book.OpenGroups(tableID) }

// PublishList are the committed transactions of a partition above a version, in
// version order; complete is false if the log does not reach back that far.
func (s *State) PublishList(partitionID, after int64) (list []*txn.Txn, complete bool) {
	return s.book.PublishList(partitionID, after)
}

// DurableThrough is the version through which a BE reported a partition
// durable.
func (s *State) DurableThrough(partitionID, backendID int64) int64 {
	return s.book.Durable(partitionID, backendID)
}

// GapFree is the version through which a replica holds every committed version
// (rule 1).
func (s *State) GapFree(partitionID, tabletID, backendID int64) int64 {
	return s.book.GapFree(partitionID, tabletID, backendID)
}

// LogBase is the version after which a partition's publish log begins: a BE that
// is behind it needs a clone (rule 2).
func (s *State) LogBase(partitionID int64) int64 { return s.book.LogBase(partitionID) }

// BehindLog reports whether a BE is not known to have what a partition's publish
// log does not reach any more.
func (s *State) BehindLog(partitionID, backendID int64) bool {
	return s.book.Behind(partitionID, backendID)
}

// FirstMissing is the first committed version that a replica lacks, 0 if it
// lacks none.
func (s *State) FirstMissing(partitionID, tabletID, backendID int64) int64 {
	return s.book.Missing(partitionID, tabletID, backendID)
}

// Clock is the FSM's time in milliseconds.
func (s *State) Clock() int64 { return s.book.Clock() }

// NextDeadline is the FSM time at which something is due that only a tick does:
// the end of a transaction or label, of a dropped table, or of the patience
// with a BE that is down. ok is false if there is nothing: the clock may stand
// then. It walks what may expire.
func (s *State) NextDeadline() (ms int64, ok bool) {
	ms, ok = s.book.NextDeadline(&s.limits)
	take := func(at int64) {
		if !ok || at < ms {
			ms, ok = at, true
		}
	}
	keep := configInt(s.config, ConfigTrashS, defaultTrashS) * 1000
	for _, r := range s.recycled {
		if !r.Erased {
			take(r.DroppedFSM + keep)
		} else if len(s.book.TableGroups(r.Table.ID)) == 0 {
			take(s.book.Clock())
		}
	}
	for _, b := range s.backends {
		// A TRUNCATE may wait for a group of a BE that is down (rule 11).
		if !b.Alive && s.book.GroupCount(b.ID) > 0 {
			take(s.book.Clock())
		}
	}
	return ms, ok
}

// ReplicasOn counts the replicas on a BE, those of recycled tables included.
func (s *State) ReplicasOn(backendID int64) int { return s.replicasOn(backendID) }

// NextTxnID is the id that the next transaction gets.
func (s *State) NextTxnID() int64 { return s.book.NextID() }

// placement shows the present catalog to the transaction rules.
type placement struct{ s *State }

// Holders implements txn.Placement.
func (p placement) Holders(partitionID, tabletID int64) ([]int64, bool) {
	place := p.s.places[partitionID]
	if place == nil {
		return nil, false
	}
	h, ok := place.holders[tabletID]
	return h, ok
}

// Cloning implements txn.Placement.
func (p placement) Cloning(partitionID, tabletID int64) []int64 {
	if place := p.s.places[partitionID]; place != nil {
		return place.cloning[tabletID]
	}
	return nil
}

// PartitionEpoch implements txn.CommitPlacement.
func (p placement) PartitionEpoch(tableID, partitionID int64) (uint64, bool) {
	place := p.s.places[partitionID]
	if place == nil || place.tableID != tableID {
		return 0, false
	}
	return place.epoch, true
}

// TableEpoch implements txn.CommitPlacement.
func (p placement) TableEpoch(tableID int64) uint64 {
	if t := p.s.tables[tableID]; t != nil {
		return t.Epoch
	}
	return 0
}

// place makes a table's partitions known to the transaction rules.
func (s *State) place(t *Table) {
	for _, p := range t.Partitions {
		pp := &partitionPlace{tableID: t.ID, epoch: p.Epoch, holders: make(map[int64][]int64, len(p.Tablets)), ids: map[tabletBackend]int64{}}
		for _, tablet := range p.Tablets {
			pp.holders[tablet.ID] = nil
			for _, r := range tablet.Replicas {
				pp.ids[tabletBackend{tablet.ID, r.BackendID}] = r.ID
				if r.Cloning {
					if pp.cloning == nil {
						pp.cloning = map[int64][]int64{}
					}
					pp.cloning[tablet.ID] = append(pp.cloning[tablet.ID], r.BackendID)
					continue
				}
				pp.holders[tablet.ID] = append(pp.holders[tablet.ID], r.BackendID)
			}
		}
		s.places[p.ID] = pp
	}
}

// holdersOf are the backends of a partition, one entry for each replica.
func holdersOf(p *Partition) []int64 {
	var out []int64
	for _, t := range p.Tablets {
		for _, r := range t.Replicas {
			out = append(out, r.BackendID)
		}
	}
	return out
}
