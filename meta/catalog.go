package meta

import (
	"dorisgo/value"
)

// Objects of the catalog are immutable once they are in a State: a change puts
// a new object in the place of the old one, so that a reader may keep a
// pointer as long as it likes without a lock.

// Database is a namespace of tables.
type Database struct {
	ID   int64
	Name string
}

// KeysType is the table model.
type KeysType uint8

// The table models.
const (
	DuplicateKeys KeysType = 1
	UniqueKeys    KeysType = 2
	AggregateKeys KeysType = 3
)

// Table is a table's definition and placement. Versions are not here: they
// change with every commit (PartitionVersion).
type Table struct {
	ID   int64
	DBID int64
	Name string
	Keys KeysType
	// KeyCount is how many leading columns form the key; 0 for a DUPLICATE
	// table without keys.
	KeyCount int
	Columns  []Column
	Comment  string
	// DistCols are the indexes in Columns of the HASH columns; empty for
	// RANDOM distribution.
	DistCols []int
	Buckets  int
	// HashVersion names the bucket hash (docs/format/bucket.md).
	HashVersion   uint8
	Partitions    []*Partition
	SchemaVersion int32
	// Epoch is the table epoch (docs/protocol.md): raised by TRUNCATE, DROP
	// PARTITION and heavy schema switches.
	Epoch uint64
	Props Properties
	// NextColumnID is the unique id of the next column to be added.
	NextColumnID int32
	// ModIndex is the raft index of the last change of this object, for
	// compare-and-set.
	ModIndex uint64
}

// Column is a column's definition.
type Column struct {
	// UniqueID never changes and is never used again within the table; it is
	// the field_id of Parquet files.
	UniqueID int32
	Name     string
	Type     value.Type
	Nullable bool
	Key      bool
	Default  *Default
	Comment  string
}

// DefaultKind tells literal defaults from evaluated ones.
type DefaultKind uint8

// The kinds of defaults.
const (
	DefaultLiteral DefaultKind = 1
	DefaultNull    DefaultKind = 2
	// DefaultCurrentTimestamp is evaluated once per request, in its zone.
	DefaultCurrentTimestamp DefaultKind = 3
	DefaultCurrentDate      DefaultKind = 4
)

// Default is a column's DEFAULT clause.
type Default struct {
	Kind DefaultKind
	// Text is the literal; for CURRENT_TIMESTAMP(p) Scale is p.
	Text  string
	Scale uint8
}

// Properties are the table properties that have a meaning to us, parsed. Their
// names, defaults and SHOW order are the table in meta/prop.
type Properties struct {
	ReplicationNum           int32
	GroupCommitIntervalMs    int32
	GroupCommitDataBytes     int32
	GroupCommitMode          string // off_mode, sync_mode or async_mode
	LightSchemaChange        bool
	MergeOnWrite             bool
	SequenceCol              string
	StoreRowColumn           bool
	DisableAutoCompaction    bool
	Compression              string
	EnableDuplicateNoKeys    bool
	BloomFilterColumns       string
	StorageMedium            string
	InvertedIndexFormat      string
	CompactionPolicy         string
	EstimatePartitionSize    string
	AutoBucket               bool
	TimeSeriesGoalSizeMB     int64
	TimeSeriesFileCount      int64
	TimeSeriesTimeThresholdS int64
}

// Partition is a part of a table with its own versions; an unpartitioned table
// has one, named like the table.
type Partition struct {
	ID   int64
	Name string
	// Epoch is the table epoch in which the partition was made or truncated.
	Epoch   uint64
	Tablets []*Tablet
}

// Tablet is one bucket of a partition.
type Tablet struct {
	ID       int64
	Bucket   int
	Replicas []Replica
}

// Replica is a tablet's copy on one BE.
type Replica struct {
	ID        int64
	BackendID int64
	// Cloning says that the replica was added later than its tablet was made and
	// has not been filled from another one yet: it gets new rows and counts for no
	// majority (docs/protocol.md, rule 10).
	Cloning bool
}

// PartitionVersion are a partition's versions: 1 at creation.
type PartitionVersion struct {
	// Visible is what queries read; Committed is the last version given out.
	Visible   int64
	Committed int64
	// VisibleTimeMs is the wall clock of the last publish, for SHOW only.
	VisibleTimeMs int64
}

// Backend is a BE known to the catalog.
type Backend struct {
	ID int64
	// UUID is the identity on the BE's disks.
	UUID     string
	Host     string
	HTTPPort int
	RPCPort  int
	// HeartbeatPort is the port that operators name the BE by, as Doris does.
	HeartbeatPort int
	BootEpoch     uint64
	// Dirs are the registered storage roots and WAL directories.
	Dirs           []BackendDir
	Decommissioned bool
	// Alive follows heartbeats by command; LastStartMs is for SHOW.
	Alive       bool
	LastStartMs int64
	Version     string
	ErrMsg      string
	// UsedEpoch is the highest boot epoch in which the BE wrote something: its
	// directories remember at least that one.
	UsedEpoch uint64
	// DownSinceFSM is when it was last set not alive, in FSM milliseconds.
	DownSinceFSM int64
	// Tags are what operators said about the BE, by key.
	Tags []Tag
}

// Tag is a property of a BE that operators set.
type Tag struct{ Key, Value string }

// Tag is the value of a tag, empty without one.
func (b *Backend) Tag(key string) string {
	for _, t := range b.Tags {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// The tags that mean something: host:port at which clients outside and inside of
// the operator's network reach the BE's HTTP port.
const (
	TagPublicEndpoint  = "public_endpoint"
	TagPrivateEndpoint = "private_endpoint"
)

// RecycledTable is a dropped table. It can be recovered until it is erased;
// then it is a tombstone that stays until no group record names the table.
type RecycledTable struct {
	Table        *Table
	DatabaseName string
	// DroppedMs is the wall clock of the drop, DroppedFSM the FSM's.
	DroppedMs, DroppedFSM int64
	Erased                bool
}

// BackendDir is a directory with an identity of its own (docs/protocol.md,
// rule 6).
type BackendDir struct {
	UUID string
	Path string
	WAL  bool
}

// Frontend is an FE known to the catalog.
type Frontend struct {
	// ID is the raft server id: the UUID in the FE's directory.
	ID       string
	Host     string
	RaftAddr string
	RPCAddr  string
	HTTPPort int
	MySQL    int
	Version  string
}

// User is an account.
type User struct {
	Name string
	// NativeHash is SHA1(SHA1(password)), empty for no password.
	NativeHash []byte
	// SHA2Hash is SHA256(SHA256(password)), empty for no password.
	SHA2Hash []byte
	// Grants are global privileges; "ADMIN" allows everything.
	Grants []string
}
