package meta

import "dorisgo/meta/txn"

// Command is a change of the State: one of the pointer types of this file. It
// travels through the raft log (codec.go). RequestID makes a repeat harmless
// and may be zero where nobody repeats; WallMs is the proposing leader's clock
// in Unix milliseconds, filled in by Stamp, and serves SHOW only.
type Command interface {
	// name is the command's name in logs.
	name() string
	// request is the command's request id for the memory of answers; zero if
	// a repeat is harmless by itself.
	request() [16]byte
	// stamp sets the wall clock, if the command has one and it is not set.
	stamp(wallMs int64)
}

// Stamp fills a command's wall clock, in Unix milliseconds, unless it is set.
func Stamp(c Command, wallMs int64) { c.stamp(wallMs) }

// CommandName is a command's name in logs and metrics, for example begin_txn.
func CommandName(c Command) string { return c.name() }

// InitCluster gives the cluster its identity and the users root and admin
// without password. A repeat with the same id succeeds.
type InitCluster struct {
	ClusterID string
	MetaEpoch uint64
}

// CreateDatabase makes a database. Result.ID is its id.
type CreateDatabase struct {
	RequestID   [16]byte
	Name        string
	IfNotExists bool
}

// DropDatabase drops a database and its tables.
type DropDatabase struct {
	RequestID [16]byte
	Name      string
	IfExists  bool
	// Force erases the tables at once instead of keeping them for RECOVER.
	Force  bool
	WallMs int64
}

// CreateTable makes a table in a database. The ids in Table are ignored: Apply
// gives them. Placement is in Table.Partitions: each tablet's replicas name
// their backends. Result.ID is the table's id.
type CreateTable struct {
	RequestID   [16]byte
	DB          string
	Table       *Table
	IfNotExists bool
}

// DropTable moves a table to the recycle bin, or erases it if Force is set.
type DropTable struct {
	RequestID [16]byte
	DB        string
	Name      string
	IfExists  bool
	Force     bool
	WallMs    int64
}

// RecoverTable brings the most recently dropped table of a name back.
type RecoverTable struct {
	RequestID [16]byte
	DB        string
	Name      string
}

// AlterTableProps replaces a table's properties. ExpectModIndex is the
// Table.ModIndex that the change was decided on, 0 for any.
type AlterTableProps struct {
	RequestID      [16]byte
	TableID        int64
	Props          Properties
	ExpectModIndex uint64
}

// RaiseTableEpoch makes new groups of a table use a new epoch, the first step
// of TRUNCATE (docs/protocol.md, rule 11). Result.Epoch is the new epoch.
type RaiseTableEpoch struct {
	RequestID [16]byte
	TableID   int64
}

// TruncateTable replaces every partition of a table by an empty one. It is
// refused (Blocked) while a group of an older epoch may still acknowledge
// rows: the caller asks again. Epoch is RaiseTableEpoch's; 0 raises it here.
type TruncateTable struct {
	RequestID [16]byte
	TableID   int64
	Epoch     uint64
	WallMs    int64
}

// SetGlobalVar sets a global variable (SET GLOBAL).
type SetGlobalVar struct {
	Name  string
	Value string
}

// SetConfig sets a cluster-wide mutable configuration key. Those that the
// rules depend on are in config.go.
type SetConfig struct {
	Key   string
	Value string
}

// CreateUser makes an account.
type CreateUser struct {
	RequestID   [16]byte
	User        User
	IfNotExists bool
}

// DropUser removes an account.
type DropUser struct {
	RequestID [16]byte
	Name      string
	IfExists  bool
}

// SetPassword replaces an account's password hashes; both empty for no
// password.
type SetPassword struct {
	Name       string
	NativeHash []byte
	SHA2Hash   []byte
}

// SetGrants replaces an account's grants.
type SetGrants struct {
	Name   string
	Grants []string
}

// RegisterBackend makes a starting BE known and gives it a boot epoch: a new
// UUID gets a new id, a known one its next boot epoch, which ends the
// transactions of its earlier lives that have no WAL. Result.ID is the backend
// id and Result.BootEpoch the epoch.
type RegisterBackend struct {
	RequestID     [16]byte
	UUID          string
	Host          string
	HTTPPort      int
	RPCPort       int
	HeartbeatPort int
	Version       string
	// Dirs are the storage roots and WAL directories that the BE found. A
	// registered one that is not among them stops the start unless its UUID
	// is in AcceptLoss (docs/protocol.md, rule 6).
	Dirs       []BackendDir
	AcceptLoss []string
	// LastBootEpoch is the highest one that the BE's directories remember.
	LastBootEpoch uint64
	// WALs are the transactions of the WAL files that the BE found, if
	// WALsReported says that it looked, after an fsync of the directories.
	WALsReported bool
	WALs         []int64
	// Replicas are those that the BE still has, if AcceptLoss gives up a storage
	// root: its others are replaced by new ones, which are Cloning.
	Replicas []int64
	WallMs   int64
}

// SetBackendAlive follows heartbeats. One of an older boot epoch is refused.
type SetBackendAlive struct {
	ID        int64
	BootEpoch uint64
	Alive     bool
	ErrMsg    string
}

// DecommissionBackend starts to drain a BE, or Cancel brings it back.
type DecommissionBackend struct {
	ID     int64
	Cancel bool
}

// ModifyBackend sets tags of a BE; an empty value takes the tag away. Others stay.
type ModifyBackend struct {
	ID   int64
	Tags []Tag
}

// DropBackend removes a BE. Unless Force names the loss it is refused while
// the BE has replicas or unreleased groups.
type DropBackend struct {
	ID     int64
	Force  bool
	WallMs int64
}

// RegisterFrontend makes an FE known, or updates it.
type RegisterFrontend struct {
	Frontend Frontend
}

// DropFrontend removes an FE.
type DropFrontend struct {
	ID string
}

// RaiseFeatureLevel allows newer commands, once all FEs understand them.
type RaiseFeatureLevel struct {
	Level uint32
}

// BeginTxn opens a transaction. Result.Txn is it; of LabelExists, the one that
// has the label.
type BeginTxn struct {
	RequestID     [16]byte
	DBID          int64
	TableID       int64
	TableEpoch    uint64
	SchemaVersion int32
	Label         string
	Owner         txn.Owner
	// Group is nil for a normal load.
	Group       *txn.GroupRecord
	TimeoutMs   int64
	Source      txn.Source
	Coordinator string
	WallMs      int64
}

// CommitTxn decides COMMITTED, or PRECOMMITTED if TwoPhase: then for
// PrecommitTimeoutMs, or if that is 0 for the cluster's
// stream_load_default_precommit_timeout_second. Result.Txn is the transaction
// with its versions.
type CommitTxn struct {
	TxnID              int64
	Owner              txn.Owner
	Partitions         []txn.PartitionCommit
	LoadedRows         int64
	FilteredRows       int64
	TwoPhase           bool
	PrecommitTimeoutMs int64
	WallMs             int64
}

// FinishTwoPhase commits or aborts a PRECOMMITTED transaction, by id or, if
// TxnID is 0, by label. An abort takes one in PREPARE as well. The request id
// makes a repeat find its own decision and not one that was made before.
type FinishTwoPhase struct {
	RequestID [16]byte
	DBID      int64
	TxnID     int64
	Label     string
	Commit    bool
	WallMs    int64
}

// AbortTxn decides ABORTED. The zero Owner is an FE or an operator.
type AbortTxn struct {
	TxnID  int64
	Owner  txn.Owner
	Reason string
	// Force names a loss: a group's WAL may hold acknowledged rows.
	Force  bool
	WallMs int64
}

// TakeOver gives a group to a later life of its BE. Result.Txn has the new
// owner epoch; a decided one is answered as it is.
type TakeOver struct {
	TxnID     int64
	BackendID int64
	BootEpoch uint64
}

// PublishDone records which BEs published a committed transaction. Result.Txn
// is VISIBLE once a majority of each tablet's holders did.
type PublishDone struct {
	TxnID      int64
	BackendIDs []int64
	WallMs     int64
}

// ReleaseGroups takes a BE's word that WALs are gone. Result.Count is how many
// records that released.
type ReleaseGroups struct {
	BackendID int64
	BootEpoch uint64
	TxnIDs    []int64
}

// ReleaseLost gives up a lost group's rows, by an operator.
type ReleaseLost struct {
	TxnID  int64
	WallMs int64
}

// ReportDurable takes a BE's word through which versions it holds partitions
// durably.
type ReportDurable struct {
	BackendID int64
	BootEpoch uint64
	Versions  []DurableVersion
}

// DurableVersion is a partition's durable version on a BE.
type DurableVersion struct {
	PartitionID int64
	Version     int64
}

// ReplicaEvent is what became known of a replica.
type ReplicaEvent uint8

// The replica events.
const (
	// ReplicaWritten is a write that ended after its commit.
	ReplicaWritten ReplicaEvent = 1
	// ReplicaMissing is a version that the replica lacks.
	ReplicaMissing ReplicaEvent = 2
	// ReplicaRepaired is a clone through a version.
	ReplicaRepaired ReplicaEvent = 3
)

// ReportReplica records a replica event.
type ReportReplica struct {
	Event     ReplicaEvent
	TabletID  int64
	BackendID int64
	BootEpoch uint64
	// TxnID and RowsetID belong to ReplicaWritten, Version to the others.
	TxnID    int64
	RowsetID [16]byte
	Version  int64
	// ReplicaID is the replica's, so that what is said of one that was replaced
	// counts for nothing; 0 means the present one.
	ReplicaID int64
	WallMs    int64
}

// AddReplica gives a tablet one more replica on a BE that has none of it.
// It is Cloning until ReplicaRepaired says that it has every committed version.
// Result.ID is the replica's id.
type AddReplica struct {
	RequestID [16]byte
	TabletID  int64
	BackendID int64
}

// DropReplica takes a replica out of its tablet. It is refused (Blocked) unless
// a majority of those that stay holds every committed version, and what is
// PRECOMMITTED (docs/protocol.md, rule 10); one that is Cloning may go unless it
// is the last.
type DropReplica struct {
	TabletID  int64
	ReplicaID int64
	WallMs    int64
}

// Tick advances the FSM clock (docs/protocol.md, rule 15) and expires what is
// due. DeltaMs is what the leader of Term measured by its monotonic clock
// since its last tick in that term.
type Tick struct {
	DeltaMs int64
	Term    uint64
	WallMs  int64
}

// CleanLabel forgets finished transactions of a database: those with the
// label, or all if it is empty. Result.Count is their number.
type CleanLabel struct {
	DBID  int64
	Label string
}
