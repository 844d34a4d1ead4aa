package txn

// Txn is what is known of one transaction. An object in a Book is immutable.
type Txn struct {
	ID, DBID, TableID int64
	Label             string
	// RequestID is that of the begin: the same request gets the same
	// transaction (docs/protocol.md, rule 5).
	RequestID [16]byte
	State     State
	Source    Source
	Owner     Owner
	// Group is nil for a normal load.
	Group *GroupRecord
	// TableEpoch and SchemaVersion are those that the load was planned on.
	TableEpoch    uint64
	SchemaVersion int32
	// PrepareMs, PrecommitMs, CommitMs and FinishMs are the wall clock of the
	// leader that proposed the step, in Unix milliseconds, for SHOW only; 0 if
	// there was no such step.
	PrepareMs, PrecommitMs, CommitMs, FinishMs int64
	// DeadlineFSM is when an undecided transaction without WAL is aborted, in
	// milliseconds of the FSM's clock (rule 15).
	DeadlineFSM int64
	// FinishFSM is when it became VISIBLE or ABORTED, by the same clock.
	FinishFSM int64
	TimeoutMs int64
	// Reason says why it was aborted.
	Reason string
	// Partitions are the rowsets and versions, sorted by partition id. Empty
	// before (pre)commit.
	Partitions []PartitionCommit
	// Published are the backends that reported the publish, sorted.
	Published []int64
	// LoadedRows counts what the load gave; DroppedRows are those of them
	// whose partition was truncated or dropped before the commit (rule 11).
	LoadedRows, FilteredRows, DroppedRows int64
	// CoordinatorText is the Coordinator column of SHOW TRANSACTION.
	CoordinatorText string
	// Forgotten is set when the label is given up but a replica still needs
	// the publish list (rule 2); only PublishList finds such a transaction.
	Forgotten bool
}

// Owner is which life of which BE owns a transaction. A zero BackendID means
// that no BE does.
type Owner struct {
	BackendID int64
	// BootEpoch is the BE's life: a number that it got when it registered.
	BootEpoch uint64
	// OwnerEpoch is raised by each take-over; 1 at begin.
	OwnerEpoch uint64
}

// GroupRecord is what outlives labels until the group's WAL is gone
// (docs/protocol.md, rule 3).
type GroupRecord struct {
	// Async groups have a WAL; sync groups have none.
	Async bool
	// IntervalMs is after how long the group seals by itself on its BE.
	IntervalMs int64
	// Released is set when the owner reported that the WAL is unlinked and
	// its directory fsynced. A sync group is released when it is decided.
	Released bool
	// Lost is set when the owner came back without the WAL after a loss of
	// its directory that the operator accepted. It stays outstanding until
	// an operator releases it.
	Lost bool
}

// PartitionCommit is what a transaction wrote into one partition.
type PartitionCommit struct {
	PartitionID int64
	// Version is given by the commit; 0 before.
	Version int64
	// Tablets are those with rows, sorted by tablet id. A tablet that is not
	// named got none.
	Tablets []TabletCommit
}

// TabletCommit is what a transaction wrote into a tablet: one rowset, or
// several of a load that came as a stream.
type TabletCommit struct {
	TabletID int64
	// RowsetID names the bytes; every replica stores the same ones. With Parts
	// it is the first rowset's, and gives the others' (storage/rowset, ID.Part).
	RowsetID [16]byte
	// Parts counts the rowsets; 0 means 1.
	Parts uint32
	Rows  int64
	// Checksum is the CRC32C of the rowset's data; of several rowsets that of
	// their checksums in order, four bytes each, little endian.
	Checksum uint32
	// Backends hold the rowset durably, sorted.
	Backends []int64
	// Replicas are, in a commit that asks, the replicas on Backends that were
	// written, so that one which was replaced since counts for nothing. Empty in
	// a Book.
	Replicas []int64
}

// HasWAL reports whether the transaction is a group whose WAL may exist.
func (t *Txn) HasWAL() bool {
	return t.Group != nil && t.Group.Async && !t.Group.Released
}

// Holds reports whether a backend is known to have the transaction's rows in a
// tablet of a partition; a tablet without rows has them everywhere.
func (t *Txn) Holds(partitionID, tabletID, backendID int64) bool {
	for i := range t.Partitions {
		if t.Partitions[i].PartitionID != partitionID {
			continue
		}
		for j := range t.Partitions[i].Tablets {
			if tc := &t.Partitions[i].Tablets[j]; tc.TabletID == tabletID {
				return holds(tc, backendID)
			}
		}
	}
	return true
}

// HoldsAny reports whether a backend is known to have rows of the transaction.
func (t *Txn) HoldsAny(backendID int64) bool {
	for i := range t.Partitions {
		for j := range t.Partitions[i].Tablets {
			if holds(&t.Partitions[i].Tablets[j], backendID) {
				return true
			}
		}
	}
	return false
}

// Version is the version that the transaction has in a partition, 0 if none.
func (t *Txn) Version(partitionID int64) int64 {
	for i := range t.Partitions {
		if t.Partitions[i].PartitionID == partitionID {
			return t.Partitions[i].Version
		}
	}
	return 0
}
