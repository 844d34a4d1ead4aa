package meta

import (
	"slices"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// schemaChanged is the text that clients retry on (Doris' own).
const schemaChanged = "schema version not match, maybe a schema change is in process. Please retry this load manually."

func (s *State) beginTxn(c *BeginTxn) (Result, error) {
	if c.Owner.BackendID != 0 {
		if err := s.checkBoot(c.Owner.BackendID, c.Owner.BootEpoch); err != nil {
			return Result{}, err
		}
	}
	if t := s.book.ByRequest(c.RequestID); t != nil {
		return Result{ID: t.ID, Txn: t}, nil
	}
	if err := s.admit(c); err != nil {
		return Result{}, err
	}
	t, err := s.book.Begin(&txn.Begin{
		RequestID: c.RequestID, DBID: c.DBID, TableID: c.TableID, TableEpoch: c.TableEpoch, SchemaVersion: c.SchemaVersion,
		Label: c.Label, Owner: c.Owner, Group: c.Group, TimeoutMs: c.TimeoutMs, Source: c.Source, Coordinator: c.Coordinator,
		WallMs: c.WallMs,
	}, &s.limits)
	if err != nil {
		return Result{Txn: t}, err
	}
	if b := s.backends[c.Owner.BackendID]; b != nil && b.UsedEpoch < b.BootEpoch {
		next := *b
		next.UsedEpoch = b.BootEpoch
		s.backends[b.ID] = &next
	}
	return Result{ID: t.ID, Txn: t}, nil
}

// admit checks a begin against the catalog.
func (s *State) admit(c *BeginTxn) error {
	if s.config[ConfigDisableLoad] == "true" {
		return doriserr.New(doriserr.ExceededLimit, "disable_load_job is set to true, all load jobs are prevented")
	}
	if b := s.backends[c.Owner.BackendID]; b != nil && b.Decommissioned && c.Group != nil {
		return doriserr.New(doriserr.NotAdmitted, "backend %d is being decommissioned and opens no group, try another", b.ID)
	}
	if c.Group != nil && c.Owner.BackendID == 0 {
		return doriserr.New(doriserr.Internal, "a group needs a backend that owns it")
	}
	t, err := s.liveTable(c.TableID)
	if err != nil {
		return err
	}
	if t.DBID != c.DBID {
		return doriserr.New(doriserr.UnknownTable, "table %d is not in database %d", c.TableID, c.DBID)
	}
	if t.Epoch != c.TableEpoch || t.SchemaVersion != c.SchemaVersion {
		return doriserr.New(doriserr.SchemaChanged, "%s", schemaChanged)
	}
	return nil
}

func (s *State) commitTxn(c *CommitTxn) (Result, error) {
	if c.Owner.BackendID != 0 {
		if err := s.checkBoot(c.Owner.BackendID, c.Owner.BootEpoch); err != nil {
			return Result{Txn: s.book.Get(c.TxnID)}, err
		}
	}
	timeout := c.PrecommitTimeoutMs
	if timeout == 0 {
		timeout = configInt(s.config, ConfigPrecommitS, defaultPrecommitS) * 1000
	}
	return s.commit(&txn.Commit{
		TxnID: c.TxnID, Owner: c.Owner, Partitions: s.present(c.Partitions), LoadedRows: c.LoadedRows, FilteredRows: c.FilteredRows,
		TwoPhase: c.TwoPhase, PrecommitTimeoutMs: timeout, WallMs: c.WallMs,
	})
}

// present leaves of what a load wrote the replicas that are still there: one of
// the same backend that took another's place has none of it (docs/protocol.md,
// H23).
func (s *State) present(parts []txn.PartitionCommit) []txn.PartitionCommit {
	out := slices.Clone(parts)
	for i := range out {
		place := s.places[out[i].PartitionID]
		out[i].Tablets = slices.Clone(out[i].Tablets)
		for j := range out[i].Tablets {
			tc := &out[i].Tablets[j]
			if place != nil && len(tc.Replicas) == len(tc.Backends) {
				var left []int64
				for k, b := range tc.Backends {
					if id := place.ids[tabletBackend{tc.TabletID, b}]; id == tc.Replicas[k] {
						left = append(left, b)
					}
				}
				tc.Backends = left
			}
			tc.Replicas = nil
		}
	}
	return out
}

// commit asks the rules for a commit, unless the table is gone.
func (s *State) commit(c *txn.Commit) (Result, error) {
	if t := s.book.Get(c.TxnID); t != nil && t.State.Undecided() {
		table, err := s.liveTable(t.TableID)
		if err != nil {
			return Result{ID: t.ID, Txn: t}, err
		}
		c.Ordered = table.Keys != DuplicateKeys && table.Props.SequenceCol == ""
	}
	t, err := s.book.Commit(c, placement{s})
	return txnResult(t), err
}

func (s *State) abortTxn(c *AbortTxn) (Result, error) {
	if c.Owner.BackendID != 0 {
		if err := s.checkBoot(c.Owner.BackendID, c.Owner.BootEpoch); err != nil {
			return Result{Txn: s.book.Get(c.TxnID)}, err
		}
	}
	t, err := s.book.Abort(&txn.Abort{TxnID: c.TxnID, Owner: c.Owner, Reason: c.Reason, Force: c.Force, WallMs: c.WallMs})
	return txnResult(t), err
}

func (s *State) takeOver(c *TakeOver) (Result, error) {
	if err := s.checkBoot(c.BackendID, c.BootEpoch); err != nil {
		return Result{}, err
	}
	t, err := s.book.TakeOver(c.TxnID, c.BackendID, c.BootEpoch)
	return txnResult(t), err
}

func (s *State) publishDone(c *PublishDone) (Result, error) {
	t, err := s.book.Publish(c.TxnID, c.BackendIDs, c.WallMs, placement{s})
	return txnResult(t), err
}

func txnResult(t *txn.Txn) Result {
	if t == nil {
		return Result{}
	}
	return Result{ID: t.ID, Txn: t}
}

func (s *State) releaseGroups(c *ReleaseGroups) (Result, error) {
	if err := s.checkBoot(c.BackendID, c.BootEpoch); err != nil {
		return Result{}, err
	}
	return Result{Count: s.book.Release(c.BackendID, c.TxnIDs)}, nil
}

func (s *State) releaseLost(c *ReleaseLost) (Result, error) {
	t, err := s.book.ReleaseLost(c.TxnID, c.WallMs)
	return txnResult(t), err
}

func (s *State) reportDurable(c *ReportDurable) (Result, error) {
	if err := s.checkBoot(c.BackendID, c.BootEpoch); err != nil {
		return Result{}, err
	}
	for _, v := range c.Versions {
		s.book.ReportDurable(c.BackendID, v.PartitionID, v.Version)
	}
	return Result{}, nil
}

func (s *State) reportReplica(c *ReportReplica) (Result, error) {
	if err := s.checkBoot(c.BackendID, c.BootEpoch); err != nil {
		return Result{}, err
	}
	at, ok := s.replicaOf(c.TabletID, c.BackendID)
	if !ok || c.ReplicaID != 0 && at.replica.ID != c.ReplicaID {
		return Result{}, doriserr.New(doriserr.Conflict, "backend %d has no such replica of tablet %d", c.BackendID, c.TabletID)
	}
	partition := at.partition.ID
	switch c.Event {
	case ReplicaWritten:
		if at.replica.Cloning {
			return Result{ID: at.replica.ID}, nil // a clone tells what it has
		}
		return Result{}, s.book.ReportWritten(c.TxnID, partition, c.TabletID, c.BackendID, c.RowsetID, c.WallMs, placement{s})
	case ReplicaMissing:
		s.book.ReportMissing(partition, c.TabletID, c.BackendID, c.Version)
	case ReplicaRepaired:
		s.book.ReportRepaired(partition, c.TabletID, c.BackendID, c.Version, c.WallMs, placement{s})
		if at.replica.Cloning && s.book.Missing(partition, c.TabletID, c.BackendID) == 0 {
			s.promote(at, c.WallMs)
		}
	}
	return Result{ID: at.replica.ID}, nil
}

func (s *State) tick(c *Tick) (Result, error) {
	s.book.Tick(c.DeltaMs, c.Term, c.WallMs, &s.limits)
	if !s.book.Settled(&s.limits) {
		return Result{}, nil
	}
	down := configInt(s.config, ConfigAbortDownS, defaultAbortDownS) * 1000
	for _, b := range s.Backends() {
		if !b.Alive && s.book.Clock()-b.DownSinceFSM >= down {
			s.book.EndOwner(b.ID, b.BootEpoch+1, txn.ReasonDown, c.WallMs)
		}
	}
	s.book.TrimLagging(&s.limits, func(id int64) bool { return s.backends[id] != nil && s.backends[id].Alive }, s.tabletsOn, placement{s})
	if len(s.recycled) > 0 && s.sweepRecycled(c.WallMs) {
		s.catalogIndex = s.index
	}
	return Result{}, nil
}

func (s *State) cleanLabel(c *CleanLabel) (Result, error) {
	return Result{Count: s.book.CleanLabel(c.DBID, c.Label)}, nil
}
