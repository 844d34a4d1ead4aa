package meta

import (
	"dorisgo/meta/txn"
	"dorisgo/rpc/metapb"
)

// EncodeResult is an answer in its wire form, for nodes that forward commands.
func EncodeResult(r *Result) ([]byte, error) { return marshal(resultToPB(r)) }

// DecodeResult reads EncodeResult's form.
func DecodeResult(b []byte) (Result, error) { return decode(b, &metapb.Result{}, resultFromPB) }

// EncodeTxn is a transaction in its wire form.
func EncodeTxn(t *txn.Txn) ([]byte, error) { return marshal(txnToPB(t)) }

// DecodeTxn reads EncodeTxn's form.
func DecodeTxn(b []byte) (*txn.Txn, error) { return decode(b, &metapb.Txn{}, txnFromPB) }

func resultToPB(r *Result) *metapb.Result {
	return &metapb.Result{
		Index: r.Index, Id: r.ID, BootEpoch: r.BootEpoch, Epoch: r.Epoch, Count: int64(r.Count), Existed: r.Existed, Txn: txnToPB(r.Txn),
	}
}

func resultFromPB(p *metapb.Result) Result {
	return Result{
		Index: p.GetIndex(), ID: p.GetId(), BootEpoch: p.GetBootEpoch(), Epoch: p.GetEpoch(), Count: int(p.GetCount()), Existed: p.GetExisted(), Txn: txnFromPB(p.GetTxn()),
	}
}

func ownerToPB(o txn.Owner) *metapb.Owner {
	if o == (txn.Owner{}) {
		return nil
	}
	return &metapb.Owner{BackendId: o.BackendID, BootEpoch: o.BootEpoch, OwnerEpoch: o.OwnerEpoch}
}

func ownerFromPB(p *metapb.Owner) txn.Owner {
	return txn.Owner{BackendID: p.GetBackendId(), BootEpoch: p.GetBootEpoch(), OwnerEpoch: p.GetOwnerEpoch()}
}

func groupToPB(g *txn.GroupRecord) *metapb.GroupRecord {
	if g == nil {
		return nil
	}
	return &metapb.GroupRecord{Async: g.Async, IntervalMs: g.IntervalMs, Released: g.Released, Lost: g.Lost}
}

func groupFromPB(p *metapb.GroupRecord) *txn.GroupRecord {
	if p == nil {
		return nil
	}
	return &txn.GroupRecord{Async: p.GetAsync(), IntervalMs: p.GetIntervalMs(), Released: p.GetReleased(), Lost: p.GetLost()}
}

func partCommitToPB(p txn.PartitionCommit) *metapb.PartitionCommit {
	return &metapb.PartitionCommit{
		PartitionId: p.PartitionID, Version: p.Version,
		Tablets: each(p.Tablets, func(t txn.TabletCommit) *metapb.TabletCommit {
			return &metapb.TabletCommit{TabletId: t.TabletID, RowsetId: idToPB(t.RowsetID), Parts: t.Parts, Rows: t.Rows, Checksum: t.Checksum, Backends: t.Backends, Replicas: t.Replicas}
		}),
	}
}

func partCommitFromPB(p *metapb.PartitionCommit) txn.PartitionCommit {
	return txn.PartitionCommit{
		PartitionID: p.GetPartitionId(), Version: p.GetVersion(),
		Tablets: each(p.GetTablets(), func(t *metapb.TabletCommit) txn.TabletCommit {
			return txn.TabletCommit{TabletID: t.GetTabletId(), RowsetID: idFromPB(t.GetRowsetId()), Parts: t.GetParts(), Rows: t.GetRows(), Checksum: t.GetChecksum(), Backends: t.GetBackends(), Replicas: t.GetReplicas()}
		}),
	}
}

func txnToPB(t *txn.Txn) *metapb.Txn {
	if t == nil {
		return nil
	}
	return &metapb.Txn{
		Id: t.ID, DbId: t.DBID, TableId: t.TableID, Label: t.Label, RequestId: idToPB(t.RequestID), State: uint32(t.State), Source: uint32(t.Source),
		Owner: ownerToPB(t.Owner), Group: groupToPB(t.Group), TableEpoch: t.TableEpoch, SchemaVersion: t.SchemaVersion,
		PrepareMs: t.PrepareMs, PrecommitMs: t.PrecommitMs, CommitMs: t.CommitMs, FinishMs: t.FinishMs,
		DeadlineFsm: t.DeadlineFSM, FinishFsm: t.FinishFSM, TimeoutMs: t.TimeoutMs, Reason: t.Reason,
		Partitions: each(t.Partitions, partCommitToPB), Published: t.Published,
		LoadedRows: t.LoadedRows, FilteredRows: t.FilteredRows, DroppedRows: t.DroppedRows,
		CoordinatorText: t.CoordinatorText, Forgotten: t.Forgotten,
	}
}

func txnFromPB(p *metapb.Txn) *txn.Txn {
	if p == nil {
		return nil
	}
	return &txn.Txn{
		ID: p.GetId(), DBID: p.GetDbId(), TableID: p.GetTableId(), Label: p.GetLabel(), RequestID: idFromPB(p.GetRequestId()), State: txn.State(p.GetState()), Source: txn.Source(p.GetSource()),
		Owner: ownerFromPB(p.GetOwner()), Group: groupFromPB(p.GetGroup()), TableEpoch: p.GetTableEpoch(), SchemaVersion: p.GetSchemaVersion(),
		PrepareMs: p.GetPrepareMs(), PrecommitMs: p.GetPrecommitMs(), CommitMs: p.GetCommitMs(), FinishMs: p.GetFinishMs(),
		DeadlineFSM: p.GetDeadlineFsm(), FinishFSM: p.GetFinishFsm(), TimeoutMs: p.GetTimeoutMs(), Reason: p.GetReason(),
		Partitions: each(p.GetPartitions(), partCommitFromPB), Published: p.GetPublished(),
		LoadedRows: p.GetLoadedRows(), FilteredRows: p.GetFilteredRows(), DroppedRows: p.GetDroppedRows(),
		CoordinatorText: p.GetCoordinatorText(), Forgotten: p.GetForgotten(),
	}
}

// idToPB is a 16-byte id, nil for the zero one.
func idToPB(id [16]byte) []byte {
	if id == [16]byte{} {
		return nil
	}
	return id[:]
}

func idFromPB(b []byte) (id [16]byte) {
	copy(id[:], b)
	return id
}
