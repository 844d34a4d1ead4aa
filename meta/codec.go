package meta

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"dorisgo/meta/txn"
	"dorisgo/rpc/metapb"
)

// CommandVersion is the newest version of commands that this build knows
// (docs/format/commands.md). A change of a command's fields or meaning raises
// it, behind a feature level.
const CommandVersion = 1

// ErrUnknownCommand means that a log entry was written by a newer build. The
// node must stop: to skip it would let the states of the FEs diverge
// (docs/protocol.md, scenario H45).
var ErrUnknownCommand = errors.New("command of unknown type or newer version")

// EncodeCommand is a command as a raft log entry.
func EncodeCommand(c Command) ([]byte, error) {
	p := &metapb.Command{Version: CommandVersion}
	switch c := c.(type) {
	case *InitCluster:
		p.Body = &metapb.Command_InitCluster{InitCluster: &metapb.InitCluster{ClusterId: c.ClusterID, MetaEpoch: c.MetaEpoch}}
	case *CreateDatabase:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{Name: c.Name, IfNotExists: c.IfNotExists}}
	case *DropDatabase:
		p.RequestId = idToPB(c.RequestID)
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{Name: c.Name, IfExists: c.IfExists, Force: c.Force}}
	case *CreateTable:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{Db: c.DB, Table: tablePB(c.Table), IfNotExists: c.IfNotExists}}
	case *DropTable:
		p.RequestId = idToPB(c.RequestID)
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_DropTable{DropTable: &metapb.DropTable{Db: c.DB, Name: c.Name, IfExists: c.IfExists, Force: c.Force}}
	case *RecoverTable:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_RecoverTable{RecoverTable: &metapb.RecoverTable{Db: c.DB, Name: c.Name}}
	case *AlterTableProps:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_AlterTableProps{AlterTableProps: &metapb.AlterTableProps{TableId: c.TableID, Props: propertiesToPB(&c.Props), ExpectModIndex: c.ExpectModIndex}}
	case *RaiseTableEpoch:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_RaiseTableEpoch{RaiseTableEpoch: &metapb.RaiseTableEpoch{TableId: c.TableID}}
	case *TruncateTable:
		p.RequestId = idToPB(c.RequestID)
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{TableId: c.TableID, Epoch: c.Epoch}}
	case *SetGlobalVar:
		p.Body = &metapb.Command_SetGlobalVar{SetGlobalVar: &metapb.SetGlobalVar{Name: c.Name, Value: c.Value}}
	case *SetConfig:
		p.Body = &metapb.Command_SetConfig{SetConfig: &metapb.SetConfig{Key: c.Key, Value: c.Value}}
	case *CreateUser:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_CreateUser{CreateUser: &metapb.CreateUser{User: userToPB(&c.User), IfNotExists: c.IfNotExists}}
	case *DropUser:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_DropUser{DropUser: &metapb.DropUser{Name: c.Name, IfExists: c.IfExists}}
	case *SetPassword:
		p.Body = &metapb.Command_SetPassword{SetPassword: &metapb.SetPassword{Name: c.Name, NativeHash: c.NativeHash, Sha2Hash: c.SHA2Hash}}
	case *SetGrants:
		p.Body = &metapb.Command_SetGrants{SetGrants: &metapb.SetGrants{Name: c.Name, Grants: c.Grants}}
	case *RegisterBackend:
		p.RequestId = idToPB(c.RequestID)
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_RegisterBackend{RegisterBackend: &metapb.RegisterBackend{Uuid: c.UUID, Host: c.Host, HttpPort: int32(c.HTTPPort), RpcPort: int32(c.RPCPort), HeartbeatPort: int32(c.HeartbeatPort), Version: c.Version, Dirs: each(c.Dirs, dirToPB), AcceptLoss: c.AcceptLoss, LastBootEpoch: c.LastBootEpoch, WalsReported: c.WALsReported, Wals: c.WALs, Replicas: c.Replicas}}
	case *SetBackendAlive:
		p.Body = &metapb.Command_SetBackendAlive{SetBackendAlive: &metapb.SetBackendAlive{Id: c.ID, BootEpoch: c.BootEpoch, Alive: c.Alive, ErrMsg: c.ErrMsg}}
	case *DecommissionBackend:
		p.Body = &metapb.Command_DecommissionBackend{DecommissionBackend: &metapb.DecommissionBackend{Id: c.ID, Cancel: c.Cancel}}
	case *ModifyBackend:
		p.Body = &metapb.Command_ModifyBackend{ModifyBackend: &metapb.ModifyBackend{Id: c.ID, Tags: each(c.Tags, tagToPB)}}
	case *DropBackend:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_DropBackend{DropBackend: &metapb.DropBackend{Id: c.ID, Force: c.Force}}
	case *RegisterFrontend:
		p.Body = &metapb.Command_RegisterFrontend{RegisterFrontend: &metapb.RegisterFrontend{Frontend: frontendToPB(&c.Frontend)}}
	case *DropFrontend:
		p.Body = &metapb.Command_DropFrontend{DropFrontend: &metapb.DropFrontend{Id: c.ID}}
	case *RaiseFeatureLevel:
		p.Body = &metapb.Command_RaiseFeatureLevel{RaiseFeatureLevel: &metapb.RaiseFeatureLevel{Level: c.Level}}
	case *BeginTxn:
		p.RequestId = idToPB(c.RequestID)
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_BeginTxn{BeginTxn: &metapb.BeginTxn{DbId: c.DBID, TableId: c.TableID, TableEpoch: c.TableEpoch, SchemaVersion: c.SchemaVersion, Label: c.Label, Owner: ownerToPB(c.Owner), Group: groupToPB(c.Group), TimeoutMs: c.TimeoutMs, Source: uint32(c.Source), Coordinator: c.Coordinator}}
	case *CommitTxn:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_CommitTxn{CommitTxn: &metapb.CommitTxn{TxnId: c.TxnID, Owner: ownerToPB(c.Owner), Partitions: each(c.Partitions, partCommitToPB), LoadedRows: c.LoadedRows, FilteredRows: c.FilteredRows, TwoPhase: c.TwoPhase, PrecommitTimeoutMs: c.PrecommitTimeoutMs}}
	case *FinishTwoPhase:
		p.WallMs = c.WallMs
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_FinishTwoPhase{FinishTwoPhase: &metapb.FinishTwoPhase{DbId: c.DBID, TxnId: c.TxnID, Label: c.Label, Commit: c.Commit}}
	case *AbortTxn:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_AbortTxn{AbortTxn: &metapb.AbortTxn{TxnId: c.TxnID, Owner: ownerToPB(c.Owner), Reason: c.Reason, Force: c.Force}}
	case *TakeOver:
		p.Body = &metapb.Command_TakeOver{TakeOver: &metapb.TakeOver{TxnId: c.TxnID, BackendId: c.BackendID, BootEpoch: c.BootEpoch}}
	case *PublishDone:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_PublishDone{PublishDone: &metapb.PublishDone{TxnId: c.TxnID, BackendIds: c.BackendIDs}}
	case *ReleaseGroups:
		p.Body = &metapb.Command_ReleaseGroups{ReleaseGroups: &metapb.ReleaseGroups{BackendId: c.BackendID, BootEpoch: c.BootEpoch, TxnIds: c.TxnIDs}}
	case *ReleaseLost:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_ReleaseLost{ReleaseLost: &metapb.ReleaseLost{TxnId: c.TxnID}}
	case *ReportDurable:
		p.Body = &metapb.Command_ReportDurable{ReportDurable: &metapb.ReportDurable{BackendId: c.BackendID, BootEpoch: c.BootEpoch, Versions: each(c.Versions, durableToPB)}}
	case *ReportReplica:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_ReportReplica{ReportReplica: &metapb.ReportReplica{Event: uint32(c.Event), TabletId: c.TabletID, BackendId: c.BackendID, BootEpoch: c.BootEpoch, TxnId: c.TxnID, RowsetId: idToPB(c.RowsetID), Version: c.Version, ReplicaId: c.ReplicaID}}
	case *AddReplica:
		p.RequestId = idToPB(c.RequestID)
		p.Body = &metapb.Command_AddReplica{AddReplica: &metapb.AddReplica{TabletId: c.TabletID, BackendId: c.BackendID}}
	case *DropReplica:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_DropReplica{DropReplica: &metapb.DropReplica{TabletId: c.TabletID, ReplicaId: c.ReplicaID}}
	case *Tick:
		p.WallMs = c.WallMs
		p.Body = &metapb.Command_Tick{Tick: &metapb.Tick{DeltaMs: c.DeltaMs, Term: c.Term}}
	case *CleanLabel:
		p.Body = &metapb.Command_CleanLabel{CleanLabel: &metapb.CleanLabel{DbId: c.DBID, Label: c.Label}}
	default:
		return nil, fmt.Errorf("cannot encode command %T", c)
	}
	return marshal(p)
}

// DecodeCommand reads a raft log entry. Damage and what a newer build wrote
// are errors, the latter wrapping ErrUnknownCommand.
func DecodeCommand(data []byte) (Command, error) {
	p := &metapb.Command{}
	if err := proto.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("cannot decode a command of %d bytes: %w", len(data), err)
	}
	if p.GetVersion() == 0 || p.GetVersion() > CommandVersion {
		return nil, fmt.Errorf("%w: version %d, this build knows up to %d", ErrUnknownCommand, p.GetVersion(), CommandVersion)
	}
	if len(p.ProtoReflect().GetUnknown()) > 0 {
		return nil, fmt.Errorf("%w: fields that this build does not know", ErrUnknownCommand)
	}
	switch v := p.GetBody().(type) {
	case *metapb.Command_InitCluster:
		b := v.InitCluster
		return known(b, &InitCluster{ClusterID: b.GetClusterId(), MetaEpoch: b.GetMetaEpoch()})
	case *metapb.Command_CreateDatabase:
		b := v.CreateDatabase
		return known(b, &CreateDatabase{RequestID: idFromPB(p.GetRequestId()), Name: b.GetName(), IfNotExists: b.GetIfNotExists()})
	case *metapb.Command_DropDatabase:
		b := v.DropDatabase
		return known(b, &DropDatabase{RequestID: idFromPB(p.GetRequestId()), WallMs: p.GetWallMs(), Name: b.GetName(), IfExists: b.GetIfExists(), Force: b.GetForce()})
	case *metapb.Command_CreateTable:
		b := v.CreateTable
		return known(b, &CreateTable{RequestID: idFromPB(p.GetRequestId()), DB: b.GetDb(), Table: tableOrNil(b.GetTable()), IfNotExists: b.GetIfNotExists()})
	case *metapb.Command_DropTable:
		b := v.DropTable
		return known(b, &DropTable{RequestID: idFromPB(p.GetRequestId()), WallMs: p.GetWallMs(), DB: b.GetDb(), Name: b.GetName(), IfExists: b.GetIfExists(), Force: b.GetForce()})
	case *metapb.Command_RecoverTable:
		b := v.RecoverTable
		return known(b, &RecoverTable{RequestID: idFromPB(p.GetRequestId()), DB: b.GetDb(), Name: b.GetName()})
	case *metapb.Command_AlterTableProps:
		b := v.AlterTableProps
		return known(b, &AlterTableProps{RequestID: idFromPB(p.GetRequestId()), TableID: b.GetTableId(), Props: propertiesFromPB(b.GetProps()), ExpectModIndex: b.GetExpectModIndex()})
	case *metapb.Command_RaiseTableEpoch:
		b := v.RaiseTableEpoch
		return known(b, &RaiseTableEpoch{RequestID: idFromPB(p.GetRequestId()), TableID: b.GetTableId()})
	case *metapb.Command_TruncateTable:
		b := v.TruncateTable
		return known(b, &TruncateTable{RequestID: idFromPB(p.GetRequestId()), WallMs: p.GetWallMs(), TableID: b.GetTableId(), Epoch: b.GetEpoch()})
	case *metapb.Command_SetGlobalVar:
		b := v.SetGlobalVar
		return known(b, &SetGlobalVar{Name: b.GetName(), Value: b.GetValue()})
	case *metapb.Command_SetConfig:
		b := v.SetConfig
		return known(b, &SetConfig{Key: b.GetKey(), Value: b.GetValue()})
	case *metapb.Command_CreateUser:
		b := v.CreateUser
		return known(b, &CreateUser{RequestID: idFromPB(p.GetRequestId()), User: *userFromPB(b.GetUser()), IfNotExists: b.GetIfNotExists()})
	case *metapb.Command_DropUser:
		b := v.DropUser
		return known(b, &DropUser{RequestID: idFromPB(p.GetRequestId()), Name: b.GetName(), IfExists: b.GetIfExists()})
	case *metapb.Command_SetPassword:
		b := v.SetPassword
		return known(b, &SetPassword{Name: b.GetName(), NativeHash: b.GetNativeHash(), SHA2Hash: b.GetSha2Hash()})
	case *metapb.Command_SetGrants:
		b := v.SetGrants
		return known(b, &SetGrants{Name: b.GetName(), Grants: b.GetGrants()})
	case *metapb.Command_RegisterBackend:
		b := v.RegisterBackend
		return known(b, &RegisterBackend{RequestID: idFromPB(p.GetRequestId()), WallMs: p.GetWallMs(), UUID: b.GetUuid(), Host: b.GetHost(), HTTPPort: int(b.GetHttpPort()), RPCPort: int(b.GetRpcPort()), HeartbeatPort: int(b.GetHeartbeatPort()), Version: b.GetVersion(), Dirs: each(b.GetDirs(), dirFromPB), AcceptLoss: b.GetAcceptLoss(), LastBootEpoch: b.GetLastBootEpoch(), WALsReported: b.GetWalsReported(), WALs: b.GetWals(), Replicas: b.GetReplicas()})
	case *metapb.Command_SetBackendAlive:
		b := v.SetBackendAlive
		return known(b, &SetBackendAlive{ID: b.GetId(), BootEpoch: b.GetBootEpoch(), Alive: b.GetAlive(), ErrMsg: b.GetErrMsg()})
	case *metapb.Command_DecommissionBackend:
		b := v.DecommissionBackend
		return known(b, &DecommissionBackend{ID: b.GetId(), Cancel: b.GetCancel()})
	case *metapb.Command_ModifyBackend:
		b := v.ModifyBackend
		return known(b, &ModifyBackend{ID: b.GetId(), Tags: each(b.GetTags(), tagFromPB)})
	case *metapb.Command_DropBackend:
		b := v.DropBackend
		return known(b, &DropBackend{WallMs: p.GetWallMs(), ID: b.GetId(), Force: b.GetForce()})
	case *metapb.Command_RegisterFrontend:
		b := v.RegisterFrontend
		return known(b, &RegisterFrontend{Frontend: *frontendFromPB(b.GetFrontend())})
	case *metapb.Command_DropFrontend:
		b := v.DropFrontend
		return known(b, &DropFrontend{ID: b.GetId()})
	case *metapb.Command_RaiseFeatureLevel:
		b := v.RaiseFeatureLevel
		return known(b, &RaiseFeatureLevel{Level: b.GetLevel()})
	case *metapb.Command_BeginTxn:
		b := v.BeginTxn
		return known(b, &BeginTxn{RequestID: idFromPB(p.GetRequestId()), WallMs: p.GetWallMs(), DBID: b.GetDbId(), TableID: b.GetTableId(), TableEpoch: b.GetTableEpoch(), SchemaVersion: b.GetSchemaVersion(), Label: b.GetLabel(), Owner: ownerFromPB(b.GetOwner()), Group: groupFromPB(b.GetGroup()), TimeoutMs: b.GetTimeoutMs(), Source: txn.Source(b.GetSource()), Coordinator: b.GetCoordinator()})
	case *metapb.Command_CommitTxn:
		b := v.CommitTxn
		return known(b, &CommitTxn{WallMs: p.GetWallMs(), TxnID: b.GetTxnId(), Owner: ownerFromPB(b.GetOwner()), Partitions: each(b.GetPartitions(), partCommitFromPB), LoadedRows: b.GetLoadedRows(), FilteredRows: b.GetFilteredRows(), TwoPhase: b.GetTwoPhase(), PrecommitTimeoutMs: b.GetPrecommitTimeoutMs()})
	case *metapb.Command_FinishTwoPhase:
		b := v.FinishTwoPhase
		return known(b, &FinishTwoPhase{RequestID: idFromPB(p.GetRequestId()), WallMs: p.GetWallMs(), DBID: b.GetDbId(), TxnID: b.GetTxnId(), Label: b.GetLabel(), Commit: b.GetCommit()})
	case *metapb.Command_AbortTxn:
		b := v.AbortTxn
		return known(b, &AbortTxn{WallMs: p.GetWallMs(), TxnID: b.GetTxnId(), Owner: ownerFromPB(b.GetOwner()), Reason: b.GetReason(), Force: b.GetForce()})
	case *metapb.Command_TakeOver:
		b := v.TakeOver
		return known(b, &TakeOver{TxnID: b.GetTxnId(), BackendID: b.GetBackendId(), BootEpoch: b.GetBootEpoch()})
	case *metapb.Command_PublishDone:
		b := v.PublishDone
		return known(b, &PublishDone{WallMs: p.GetWallMs(), TxnID: b.GetTxnId(), BackendIDs: b.GetBackendIds()})
	case *metapb.Command_ReleaseGroups:
		b := v.ReleaseGroups
		return known(b, &ReleaseGroups{BackendID: b.GetBackendId(), BootEpoch: b.GetBootEpoch(), TxnIDs: b.GetTxnIds()})
	case *metapb.Command_ReleaseLost:
		b := v.ReleaseLost
		return known(b, &ReleaseLost{WallMs: p.GetWallMs(), TxnID: b.GetTxnId()})
	case *metapb.Command_ReportDurable:
		b := v.ReportDurable
		return known(b, &ReportDurable{BackendID: b.GetBackendId(), BootEpoch: b.GetBootEpoch(), Versions: each(b.GetVersions(), durableFromPB)})
	case *metapb.Command_AddReplica:
		b := v.AddReplica
		return known(b, &AddReplica{RequestID: idFromPB(p.GetRequestId()), TabletID: b.GetTabletId(), BackendID: b.GetBackendId()})
	case *metapb.Command_DropReplica:
		b := v.DropReplica
		return known(b, &DropReplica{WallMs: p.GetWallMs(), TabletID: b.GetTabletId(), ReplicaID: b.GetReplicaId()})
	case *metapb.Command_ReportReplica:
		b := v.ReportReplica
		return known(b, &ReportReplica{WallMs: p.GetWallMs(), Event: ReplicaEvent(b.GetEvent()), TabletID: b.GetTabletId(), BackendID: b.GetBackendId(), BootEpoch: b.GetBootEpoch(), TxnID: b.GetTxnId(), RowsetID: idFromPB(b.GetRowsetId()), Version: b.GetVersion(), ReplicaID: b.GetReplicaId()})
	case *metapb.Command_Tick:
		b := v.Tick
		return known(b, &Tick{WallMs: p.GetWallMs(), DeltaMs: b.GetDeltaMs(), Term: b.GetTerm()})
	case *metapb.Command_CleanLabel:
		b := v.CleanLabel
		return known(b, &CleanLabel{DBID: b.GetDbId(), Label: b.GetLabel()})
	default:
		return nil, fmt.Errorf("%w: no known body", ErrUnknownCommand)
	}
}

// known is a decoded command, unless its body has fields of a newer build.
func known(body proto.Message, c Command) (Command, error) {
	if len(body.ProtoReflect().GetUnknown()) > 0 {
		return nil, fmt.Errorf("%w: %s has fields that this build does not know", ErrUnknownCommand, CommandName(c))
	}
	return c, nil
}

func tablePB(t *Table) *metapb.Table {
	if t == nil {
		return nil
	}
	return tableToPB(t)
}

func tableOrNil(p *metapb.Table) *Table {
	if p == nil {
		return nil
	}
	return tableFromPB(p)
}

func durableToPB(v DurableVersion) *metapb.DurableVersion {
	return &metapb.DurableVersion{PartitionId: v.PartitionID, Version: v.Version}
}

func durableFromPB(p *metapb.DurableVersion) DurableVersion {
	return DurableVersion{PartitionID: p.GetPartitionId(), Version: p.GetVersion()}
}
