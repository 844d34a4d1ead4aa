package meta

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"dorisgo/rpc/metapb"
	"dorisgo/value"
)

// EncodeTable is a table in its wire form, for copies of the catalog.
func EncodeTable(t *Table) ([]byte, error) { return marshal(tableToPB(t)) }

// DecodeTable reads EncodeTable's form.
func DecodeTable(b []byte) (*Table, error) { return decode(b, &metapb.Table{}, tableFromPB) }

// EncodeDatabase is a database in its wire form.
func EncodeDatabase(d *Database) ([]byte, error) { return marshal(databaseToPB(d)) }

// DecodeDatabase reads EncodeDatabase's form.
func DecodeDatabase(b []byte) (*Database, error) {
	return decode(b, &metapb.Database{}, databaseFromPB)
}

// EncodeBackend is a BE in its wire form.
func EncodeBackend(b *Backend) ([]byte, error) { return marshal(backendToPB(b)) }

// DecodeBackend reads EncodeBackend's form.
func DecodeBackend(b []byte) (*Backend, error) { return decode(b, &metapb.Backend{}, backendFromPB) }

// EncodeFrontend is an FE in its wire form.
func EncodeFrontend(f *Frontend) ([]byte, error) { return marshal(frontendToPB(f)) }

// DecodeFrontend reads EncodeFrontend's form.
func DecodeFrontend(b []byte) (*Frontend, error) {
	return decode(b, &metapb.Frontend{}, frontendFromPB)
}

// EncodeUser is an account in its wire form.
func EncodeUser(u *User) ([]byte, error) { return marshal(userToPB(u)) }

// DecodeUser reads EncodeUser's form.
func DecodeUser(b []byte) (*User, error) { return decode(b, &metapb.User{}, userFromPB) }

// marshal is deterministic: no message of ours has a map.
func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func decode[M proto.Message, T any](b []byte, m M, from func(M) T) (T, error) {
	if err := proto.Unmarshal(b, m); err != nil {
		var zero T
		return zero, fmt.Errorf("cannot decode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return from(m), nil
}

// each converts a slice; an empty one becomes nil.
func each[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func databaseToPB(d *Database) *metapb.Database { return &metapb.Database{Id: d.ID, Name: d.Name} }

func databaseFromPB(p *metapb.Database) *Database {
	return &Database{ID: p.GetId(), Name: p.GetName()}
}

func tableToPB(t *Table) *metapb.Table {
	return &metapb.Table{
		Id: t.ID, DbId: t.DBID, Name: t.Name, Keys: uint32(t.Keys), KeyCount: int32(t.KeyCount),
		Columns: each(t.Columns, columnToPB), Comment: t.Comment,
		DistCols: each(t.DistCols, func(i int) int32 { return int32(i) }), Buckets: int32(t.Buckets), HashVersion: uint32(t.HashVersion),
		Partitions: each(t.Partitions, partitionToPB), SchemaVersion: t.SchemaVersion, Epoch: t.Epoch,
		Props: propertiesToPB(&t.Props), NextColumnId: t.NextColumnID, ModIndex: t.ModIndex,
	}
}

func tableFromPB(p *metapb.Table) *Table {
	return &Table{
		ID: p.GetId(), DBID: p.GetDbId(), Name: p.GetName(), Keys: KeysType(p.GetKeys()), KeyCount: int(p.GetKeyCount()),
		Columns: each(p.GetColumns(), columnFromPB), Comment: p.GetComment(),
		DistCols: each(p.GetDistCols(), func(i int32) int { return int(i) }), Buckets: int(p.GetBuckets()), HashVersion: uint8(p.GetHashVersion()),
		Partitions: each(p.GetPartitions(), partitionFromPB), SchemaVersion: p.GetSchemaVersion(), Epoch: p.GetEpoch(),
		Props: propertiesFromPB(p.GetProps()), NextColumnID: p.GetNextColumnId(), ModIndex: p.GetModIndex(),
	}
}

func columnToPB(c Column) *metapb.Column {
	p := &metapb.Column{
		UniqueId: c.UniqueID, Name: c.Name, Nullable: c.Nullable, Key: c.Key, Comment: c.Comment,
		Type: &metapb.Type{Kind: uint32(c.Type.Kind), Precision: uint32(c.Type.Precision), Scale: uint32(c.Type.Scale), Length: c.Type.Length},
	}
	if d := c.Default; d != nil {
		p.Default = &metapb.DefaultValue{Kind: uint32(d.Kind), Text: d.Text, Scale: uint32(d.Scale)}
	}
	return p
}

func columnFromPB(p *metapb.Column) Column {
	t := p.GetType()
	c := Column{
		UniqueID: p.GetUniqueId(), Name: p.GetName(), Nullable: p.GetNullable(), Key: p.GetKey(), Comment: p.GetComment(),
		Type: value.Type{Kind: value.Kind(t.GetKind()), Precision: uint8(t.GetPrecision()), Scale: uint8(t.GetScale()), Length: t.GetLength()},
	}
	if d := p.GetDefault(); d != nil {
		c.Default = &Default{Kind: DefaultKind(d.GetKind()), Text: d.GetText(), Scale: uint8(d.GetScale())}
	}
	return c
}

func partitionToPB(p *Partition) *metapb.Partition {
	return &metapb.Partition{Id: p.ID, Name: p.Name, Epoch: p.Epoch, Tablets: each(p.Tablets, tabletToPB)}
}

func partitionFromPB(p *metapb.Partition) *Partition {
	return &Partition{ID: p.GetId(), Name: p.GetName(), Epoch: p.GetEpoch(), Tablets: each(p.GetTablets(), tabletFromPB)}
}

func tabletToPB(t *Tablet) *metapb.Tablet {
	return &metapb.Tablet{Id: t.ID, Bucket: int32(t.Bucket), Replicas: each(t.Replicas, func(r Replica) *metapb.Replica {
		return &metapb.Replica{Id: r.ID, BackendId: r.BackendID, FromClone: r.Cloning}
	})}
}

func tabletFromPB(p *metapb.Tablet) *Tablet {
	return &Tablet{ID: p.GetId(), Bucket: int(p.GetBucket()), Replicas: each(p.GetReplicas(), func(r *metapb.Replica) Replica {
		return Replica{ID: r.GetId(), BackendID: r.GetBackendId(), Cloning: r.GetFromClone()}
	})}
}

func propertiesToPB(p *Properties) *metapb.Properties {
	return &metapb.Properties{
		ReplicationNum: p.ReplicationNum, GroupCommitIntervalMs: p.GroupCommitIntervalMs, GroupCommitDataBytes: p.GroupCommitDataBytes,
		GroupCommitMode: p.GroupCommitMode, LightSchemaChange: p.LightSchemaChange, MergeOnWrite: p.MergeOnWrite,
		SequenceCol: p.SequenceCol, StoreRowColumn: p.StoreRowColumn, DisableAutoCompaction: p.DisableAutoCompaction,
		Compression: p.Compression, EnableDuplicateNoKeys: p.EnableDuplicateNoKeys, BloomFilterColumns: p.BloomFilterColumns,
		StorageMedium: p.StorageMedium, InvertedIndexFormat: p.InvertedIndexFormat, CompactionPolicy: p.CompactionPolicy,
		EstimatePartitionSize: p.EstimatePartitionSize, AutoBucket: p.AutoBucket, TimeSeriesGoalSizeMb: p.TimeSeriesGoalSizeMB,
		TimeSeriesFileCount: p.TimeSeriesFileCount, TimeSeriesTimeThresholdS: p.TimeSeriesTimeThresholdS,
	}
}

func propertiesFromPB(p *metapb.Properties) Properties {
	return Properties{
		ReplicationNum: p.GetReplicationNum(), GroupCommitIntervalMs: p.GetGroupCommitIntervalMs(), GroupCommitDataBytes: p.GetGroupCommitDataBytes(),
		GroupCommitMode: p.GetGroupCommitMode(), LightSchemaChange: p.GetLightSchemaChange(), MergeOnWrite: p.GetMergeOnWrite(),
		SequenceCol: p.GetSequenceCol(), StoreRowColumn: p.GetStoreRowColumn(), DisableAutoCompaction: p.GetDisableAutoCompaction(),
		Compression: p.GetCompression(), EnableDuplicateNoKeys: p.GetEnableDuplicateNoKeys(), BloomFilterColumns: p.GetBloomFilterColumns(),
		StorageMedium: p.GetStorageMedium(), InvertedIndexFormat: p.GetInvertedIndexFormat(), CompactionPolicy: p.GetCompactionPolicy(),
		EstimatePartitionSize: p.GetEstimatePartitionSize(), AutoBucket: p.GetAutoBucket(), TimeSeriesGoalSizeMB: p.GetTimeSeriesGoalSizeMb(),
		TimeSeriesFileCount: p.GetTimeSeriesFileCount(), TimeSeriesTimeThresholdS: p.GetTimeSeriesTimeThresholdS(),
	}
}

func recycledToPB(r *RecycledTable) *metapb.RecycledTable {
	return &metapb.RecycledTable{
		Table: tableToPB(r.Table), DatabaseName: r.DatabaseName, DroppedMs: r.DroppedMs, DroppedFsm: r.DroppedFSM, Erased: r.Erased,
	}
}

func recycledFromPB(p *metapb.RecycledTable) *RecycledTable {
	return &RecycledTable{
		Table: tableFromPB(p.GetTable()), DatabaseName: p.GetDatabaseName(), DroppedMs: p.GetDroppedMs(), DroppedFSM: p.GetDroppedFsm(), Erased: p.GetErased(),
	}
}

func dirToPB(d BackendDir) *metapb.BackendDir {
	return &metapb.BackendDir{Uuid: d.UUID, Path: d.Path, Wal: d.WAL}
}

func dirFromPB(p *metapb.BackendDir) BackendDir {
	return BackendDir{UUID: p.GetUuid(), Path: p.GetPath(), WAL: p.GetWal()}
}

func tagToPB(t Tag) *metapb.Tag { return &metapb.Tag{Key: t.Key, Value: t.Value} }

func tagFromPB(p *metapb.Tag) Tag { return Tag{Key: p.GetKey(), Value: p.GetValue()} }

func backendToPB(b *Backend) *metapb.Backend {
	return &metapb.Backend{
		Id: b.ID, Uuid: b.UUID, Host: b.Host, HttpPort: int32(b.HTTPPort), RpcPort: int32(b.RPCPort), HeartbeatPort: int32(b.HeartbeatPort),
		BootEpoch: b.BootEpoch, Dirs: each(b.Dirs, dirToPB), Decommissioned: b.Decommissioned, Alive: b.Alive, LastStartMs: b.LastStartMs,
		Version: b.Version, ErrMsg: b.ErrMsg, UsedEpoch: b.UsedEpoch, DownSinceFsm: b.DownSinceFSM, Tags: each(b.Tags, tagToPB),
	}
}

func backendFromPB(p *metapb.Backend) *Backend {
	return &Backend{
		ID: p.GetId(), UUID: p.GetUuid(), Host: p.GetHost(), HTTPPort: int(p.GetHttpPort()), RPCPort: int(p.GetRpcPort()), HeartbeatPort: int(p.GetHeartbeatPort()),
		BootEpoch: p.GetBootEpoch(), Dirs: each(p.GetDirs(), dirFromPB), Decommissioned: p.GetDecommissioned(), Alive: p.GetAlive(), LastStartMs: p.GetLastStartMs(),
		Version: p.GetVersion(), ErrMsg: p.GetErrMsg(), UsedEpoch: p.GetUsedEpoch(), DownSinceFSM: p.GetDownSinceFsm(), Tags: each(p.GetTags(), tagFromPB),
	}
}

func frontendToPB(f *Frontend) *metapb.Frontend {
	return &metapb.Frontend{
		Id: f.ID, Host: f.Host, RaftAddr: f.RaftAddr, RpcAddr: f.RPCAddr, HttpPort: int32(f.HTTPPort), Mysql: int32(f.MySQL), Version: f.Version,
	}
}

func frontendFromPB(p *metapb.Frontend) *Frontend {
	return &Frontend{
		ID: p.GetId(), Host: p.GetHost(), RaftAddr: p.GetRaftAddr(), RPCAddr: p.GetRpcAddr(), HTTPPort: int(p.GetHttpPort()), MySQL: int(p.GetMysql()), Version: p.GetVersion(),
	}
}

func userToPB(u *User) *metapb.User {
	return &metapb.User{Name: u.Name, NativeHash: u.NativeHash, Sha2Hash: u.SHA2Hash, Grants: u.Grants}
}

func userFromPB(p *metapb.User) *User {
	return &User{Name: p.GetName(), NativeHash: p.GetNativeHash(), SHA2Hash: p.GetSha2Hash(), Grants: p.GetGrants()}
}
