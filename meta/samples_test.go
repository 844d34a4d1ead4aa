package meta

import (
	"testing"

	"dorisgo/meta/txn"
	"dorisgo/value"
)

// sampleTable has every kind of thing that a table may have.
func sampleTable(name string, backend int64) *Table {
	return &Table{
		Name: name, Keys: UniqueKeys, KeyCount: 1, Comment: "a table", DistCols: []int{0}, Buckets: 2, HashVersion: 1, SchemaVersion: 3,
		Columns: []Column{
			{Name: "k", Type: value.Type{Kind: value.Int}, Key: true, Comment: "key"},
			{Name: "d", Type: value.Type{Kind: value.Decimal, Precision: 9, Scale: 3}, Nullable: true, Default: &Default{Kind: DefaultLiteral, Text: "1.5"}},
			{Name: "t", Type: value.Type{Kind: value.DateTime, Scale: 3}, Default: &Default{Kind: DefaultCurrentTimestamp, Scale: 3}},
			{Name: "v", Type: value.Type{Kind: value.VarChar, Length: 50}, Nullable: true, Default: &Default{Kind: DefaultNull}},
		},
		Props: Properties{
			ReplicationNum: 1, GroupCommitIntervalMs: 200, GroupCommitDataBytes: 1 << 20, GroupCommitMode: "async_mode", LightSchemaChange: true,
			MergeOnWrite: true, SequenceCol: "k", StoreRowColumn: true, DisableAutoCompaction: true, Compression: "ZSTD", EnableDuplicateNoKeys: true,
			BloomFilterColumns: "k", StorageMedium: "ssd", InvertedIndexFormat: "V3", CompactionPolicy: "size_based", EstimatePartitionSize: "1G",
			AutoBucket: true, TimeSeriesGoalSizeMB: 1, TimeSeriesFileCount: 2, TimeSeriesTimeThresholdS: 3,
		},
		Partitions: []*Partition{{Name: name, Tablets: []*Tablet{
			{Replicas: []Replica{{BackendID: backend}}},
			{Bucket: 1, Replicas: []Replica{{BackendID: backend}}},
		}}},
	}
}

// sampleOwner is the owner that samples name.
var sampleOwner = txn.Owner{BackendID: 10001, BootEpoch: 1, OwnerEpoch: 1}

// samples is one command of each type with every field set, in an order in
// which they may be applied.
func samples() []Command {
	id := func(b byte) [16]byte { return [16]byte{0: b, 15: 0xff} }
	commit := []txn.PartitionCommit{{PartitionID: 10004, Tablets: []txn.TabletCommit{
		{TabletID: 10005, RowsetID: id(90), Rows: 7, Checksum: 0xdeadbeef, Backends: []int64{10001}},
	}}}
	return []Command{
		&InitCluster{ClusterID: "c1", MetaEpoch: 1},
		&RegisterBackend{
			RequestID: id(1), UUID: "be-uuid", Host: "be.example", HTTPPort: 8040, RPCPort: 9060, HeartbeatPort: 9050, Version: "v1",
			Dirs: []BackendDir{{UUID: "r1", Path: "/data"}, {UUID: "w1", Path: "/wal", WAL: true}}, AcceptLoss: []string{"x"},
			LastBootEpoch: 4, WALsReported: true, WALs: []int64{5, 6}, WallMs: 1700000000001,
		},
		&RegisterFrontend{Frontend: Frontend{ID: "fe-uuid", Host: "fe.example", RaftAddr: "fe.example:9010", RPCAddr: "fe.example:9020", HTTPPort: 8030, MySQL: 9030, Version: "v1"}},
		&CreateDatabase{RequestID: id(2), Name: "d", IfNotExists: true},
		&CreateTable{RequestID: id(3), DB: "d", Table: sampleTable("t", 10001), IfNotExists: true},
		&AlterTableProps{RequestID: id(4), TableID: 10003, Props: sampleTable("t", 1).Props, ExpectModIndex: 5},
		&SetGlobalVar{Name: "time_zone", Value: "UTC"},
		&SetConfig{Key: ConfigLabelMax, Value: "100"},
		&CreateUser{RequestID: id(5), User: User{Name: "u", NativeHash: []byte{1}, SHA2Hash: []byte{2}, Grants: []string{"SELECT", "LOAD"}}, IfNotExists: true},
		&SetPassword{Name: "u", NativeHash: []byte{3}, SHA2Hash: []byte{4}},
		&SetGrants{Name: "u", Grants: []string{"LOAD"}},
		&SetBackendAlive{ID: 10001, BootEpoch: 1, Alive: true, ErrMsg: "none"},
		&DecommissionBackend{ID: 10001, Cancel: true},
		&ModifyBackend{ID: 10001, Tags: []Tag{{TagPublicEndpoint, "lb.example:80"}, {TagPrivateEndpoint, "10.0.0.1:8040"}}},
		&RaiseFeatureLevel{Level: 1},
		&Tick{DeltaMs: 1000, Term: 3, WallMs: 1700000000002},
		&BeginTxn{
			RequestID: id(6), DBID: 10002, TableID: 10003, TableEpoch: 1, SchemaVersion: 3, Label: "group_commit_1_2", Owner: sampleOwner,
			Group: &txn.GroupRecord{Async: true, IntervalMs: 200}, TimeoutMs: 60000, Source: txn.InsertStreaming, Coordinator: "BE: be.example", WallMs: 1700000000003,
		},
		&TakeOver{TxnID: 1, BackendID: 10001, BootEpoch: 1},
		&CommitTxn{TxnID: 1, Owner: sampleOwner, Partitions: commit, LoadedRows: 7, FilteredRows: 1, WallMs: 1700000000004},
		&ReportReplica{Event: ReplicaWritten, TabletID: 10005, BackendID: 10001, BootEpoch: 1, TxnID: 1, RowsetID: id(90), Version: 2, WallMs: 1700000000005},
		&PublishDone{TxnID: 1, BackendIDs: []int64{10001}, WallMs: 1700000000006},
		&ReportDurable{BackendID: 10001, BootEpoch: 1, Versions: []DurableVersion{{PartitionID: 10004, Version: 1}}},
		&ReleaseGroups{BackendID: 10001, BootEpoch: 1, TxnIDs: []int64{1}},
		&BeginTxn{RequestID: id(7), DBID: 10002, TableID: 10003, TableEpoch: 1, SchemaVersion: 3, Label: "mine", Owner: sampleOwner, TimeoutMs: 1000, Source: txn.BackendStreaming, WallMs: 7},
		&CommitTxn{TxnID: 2, Owner: sampleOwner, Partitions: commit, LoadedRows: 7, TwoPhase: true, PrecommitTimeoutMs: 3600000, WallMs: 8},
		&FinishTwoPhase{DBID: 10002, TxnID: 2, Label: "mine", Commit: true, WallMs: 9},
		&BeginTxn{RequestID: id(8), DBID: 10002, TableID: 10003, TableEpoch: 1, SchemaVersion: 3, Label: "gone", Owner: sampleOwner, TimeoutMs: 1000, Source: txn.InsertStreaming, WallMs: 10},
		&AbortTxn{TxnID: 3, Owner: sampleOwner, Reason: "data quality", Force: true, WallMs: 11},
		&ReleaseLost{TxnID: 3, WallMs: 12},
		&CleanLabel{DBID: 10002, Label: "gone"},
		&CreateTable{DB: "d", Table: sampleTable("t2", 10001)},
		&RaiseTableEpoch{RequestID: id(9), TableID: 10009},
		&TruncateTable{RequestID: id(10), TableID: 10009, Epoch: 2, WallMs: 13},
		&DropTable{RequestID: id(11), DB: "d", Name: "t2", IfExists: true, WallMs: 14},
		&RecoverTable{RequestID: id(12), DB: "d", Name: "t2"},
		&DropTable{RequestID: id(13), DB: "d", Name: "t2", Force: true, WallMs: 15},
		&CreateTable{DB: "d", Table: sampleTable("t3", 10001)},
		&DropTable{DB: "d", Name: "t3", WallMs: 16},
		&CreateDatabase{Name: "e"},
		&DropDatabase{RequestID: id(14), Name: "e", IfExists: true, Force: true, WallMs: 17},
		&CreateUser{User: User{Name: "x"}},
		&DropUser{RequestID: id(15), Name: "x", IfExists: true},
		&DropFrontend{ID: "nobody"},
		&RegisterBackend{RequestID: id(16), UUID: "be2", Host: "be2.example", HeartbeatPort: 9050, WallMs: 18},
		&DropBackend{ID: 10027, Force: true, WallMs: 19},
		&RegisterBackend{RequestID: id(18), UUID: "be3", Host: "be3.example", HeartbeatPort: 9050, WALsReported: true, Replicas: []int64{7}, WallMs: 20},
		&AddReplica{RequestID: id(19), TabletID: 10005, BackendID: 10028},
		&ReportReplica{Event: ReplicaMissing, TabletID: 10005, BackendID: 10028, BootEpoch: 1, ReplicaID: 10029, Version: 2, WallMs: 21},
		&AddReplica{RequestID: id(20), TabletID: 10007, BackendID: 10028},
		&DropReplica{TabletID: 10007, ReplicaID: 10030, WallMs: 22},
		&CreateDatabase{RequestID: id(17), Name: "d"},
	}
}

// applySamples applies the samples to a new State.
func applySamples(t *testing.T) *State {
	t.Helper()
	s := New()
	for i, c := range samples() {
		_, err := s.Apply(uint64(i)+1, c)
		if last := i == len(samples())-1; (err != nil) != last {
			t.Fatalf("sample %d, %s: %v", i, CommandName(c), err)
		}
	}
	return s
}
