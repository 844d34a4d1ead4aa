package rpc

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
	"dorisgo/txnmgr"
)

// Node is the replicated state, as raftfsm.Node is.
type Node interface {
	Propose(ctx context.Context, c meta.Command) (meta.Result, error)
	View(f func(*meta.State))
	Changed() <-chan struct{}
	AppliedIndex() uint64
	Leader() (id, addr string, ok bool)
	IsLeader() bool
	// Ready reports whether this FE leads and has passed its term's barrier.
	Ready() (index uint64, ok bool)
	// VerifyLeader asks a majority whether this FE still leads.
	VerifyLeader(ctx context.Context) error
}

// Server implements fepb.FrontendServer.
type Server struct {
	fepb.UnimplementedFrontendServer
	node Node
	txns *txnmgr.Manager
	log  *slog.Logger

	stopping atomic.Int32 // BEs that stop

	mu    sync.Mutex
	beats map[int64]Beat

	replicas replicas
}

// Beat is the newest heartbeat of a BE, on the leader.
type Beat struct {
	At                               time.Time
	BootEpoch                        uint64
	DataBytes, AvailBytes, TotalByte int64
	WALFiles, Tablets                int64
	// FailedRoots are the storage roots that the BE goes on without.
	FailedRoots int64
	// Stopping: the BE takes no more loads in this life.
	Stopping bool
}

// New returns a server over a node and the leader's transaction driver.
func New(node Node, txns *txnmgr.Manager, log *slog.Logger) *Server {
	return &Server{node: node, txns: txns, log: log, beats: map[int64]Beat{}}
}

// fail is an error for the wire; an FE that does not lead names the leader.
func (s *Server) fail(err error) error {
	if doriserr.Is(err, doriserr.NotLeader) {
		return doriserr.ToStatus(peer.NotLeaderError(s.leaderAddr()))
	}
	return doriserr.ToStatus(err)
}

func (s *Server) leaderAddr() (addr string) {
	id, _, ok := s.node.Leader()
	if !ok || s.node.IsLeader() {
		return ""
	}
	s.node.View(func(st *meta.State) {
		if f := st.Frontend(id); f != nil {
			addr = f.RPCAddr
		}
	})
	return addr
}

// lead refuses what only the leader may answer. An FE that was elected and has
// not passed the barrier of its term would answer from an old or empty state: a
// BE would hear that its life is over, or that its cluster is another one
// (docs/protocol.md, rule 12, H15). It asks again.
func (s *Server) lead() error {
	if _, ready := s.node.Ready(); ready {
		return nil
	}
	return doriserr.ToStatus(peer.NotLeaderError(s.leaderAddr()))
}

func owner(o *fepb.Owner) txn.Owner {
	return txn.Owner{BackendID: o.GetBackendId(), BootEpoch: o.GetBootEpoch(), OwnerEpoch: o.GetOwnerEpoch()}
}

func requestID(b []byte) (id [16]byte) {
	copy(id[:], b)
	return id
}

// Register implements fepb.FrontendServer.
func (s *Server) Register(ctx context.Context, r *fepb.RegisterRequest) (*fepb.RegisterReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	var cluster string
	var epoch uint64
	s.node.View(func(st *meta.State) { cluster, epoch = st.ClusterID(), st.MetaEpoch() })
	if r.ClusterId != "" && r.ClusterId != cluster {
		return nil, s.fail(doriserr.New(doriserr.Conflict,
			"the directories of this backend belong to cluster %s, this frontend to cluster %s", r.ClusterId, cluster))
	}
	dirs := make([]meta.BackendDir, len(r.Dirs))
	for i, d := range r.Dirs {
		dirs[i] = meta.BackendDir{UUID: d.Uuid, Path: d.Path, WAL: d.Wal}
	}
	res, err := s.node.Propose(ctx, &meta.RegisterBackend{
		RequestID: requestID(r.RequestId), UUID: r.Uuid, Host: r.Host, HTTPPort: int(r.HttpPort), RPCPort: int(r.RpcPort),
		HeartbeatPort: int(r.HeartbeatPort), Version: r.Version, Dirs: dirs, AcceptLoss: r.AcceptLoss,
		LastBootEpoch: r.LastBootEpoch, WALsReported: true, WALs: r.Wals, Replicas: s.replicaIDs(r),
	})
	if err != nil {
		return nil, s.fail(err)
	}
	s.mu.Lock()
	s.beats[res.ID] = Beat{At: time.Now(), BootEpoch: res.BootEpoch}
	s.count()
	s.mu.Unlock()
	s.txns.Registered(res.ID)
	s.log.Info("backend registered", "backend_id", res.ID, "host", r.Host, "boot_epoch", res.BootEpoch)
	return &fepb.RegisterReply{BackendId: res.ID, BootEpoch: res.BootEpoch, ClusterId: cluster, MetaEpoch: epoch}, nil
}

// replicaIDs are the replicas that a BE still has. One that has not heard its id
// yet is what the catalog has.
func (s *Server) replicaIDs(r *fepb.RegisterRequest) (ids []int64) {
	s.node.View(func(st *meta.State) {
		be := st.BackendByUUID(r.Uuid)
		for _, x := range r.Replicas {
			id := x.ReplicaId
			if id == 0 && be != nil {
				id = st.ReplicaID(x.TabletId, be.ID)
			}
			ids = append(ids, id)
		}
	})
	return ids
}

// Heartbeat implements fepb.FrontendServer.
func (s *Server) Heartbeat(ctx context.Context, r *fepb.HeartbeatRequest) (*fepb.HeartbeatReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	var be *meta.Backend
	var index uint64
	s.node.View(func(st *meta.State) { be, index = st.Backend(r.BackendId), st.CatalogIndex() })
	if be == nil || be.BootEpoch != r.BootEpoch {
		return nil, s.fail(doriserr.New(doriserr.StaleEpoch, "backend %d is not in boot epoch %d", r.BackendId, r.BootEpoch))
	}
	s.mu.Lock()
	failed := s.beats[r.BackendId].FailedRoots
	s.beats[r.BackendId] = Beat{
		At: time.Now(), BootEpoch: r.BootEpoch, DataBytes: r.DataBytes, AvailBytes: r.AvailBytes, TotalByte: r.TotalBytes,
		WALFiles: r.WalFiles, Tablets: r.Tablets, FailedRoots: r.FailedRoots, Stopping: r.Stopping,
	}
	s.count()
	s.mu.Unlock()
	s.noteReplicas(be.ID, r.Replicas)
	if r.FailedRoots > failed {
		s.log.Error("a backend goes on without storage roots", "backend_id", be.ID, "failed_roots", r.FailedRoots)
	}
	if !be.Alive {
		if _, err := s.node.Propose(ctx, &meta.SetBackendAlive{ID: be.ID, BootEpoch: be.BootEpoch, Alive: true}); err != nil {
			return nil, s.fail(err)
		}
		s.log.Info("backend is back", "backend_id", be.ID)
	}
	if len(r.Durable) > 0 {
		report := &meta.ReportDurable{BackendID: be.ID, BootEpoch: be.BootEpoch}
		for p, v := range r.Durable {
			report.Versions = append(report.Versions, meta.DurableVersion{PartitionID: p, Version: v})
		}
		if _, err := s.node.Propose(ctx, report); err != nil {
			return nil, s.fail(err)
		}
	}
	if err := s.reportHoles(ctx, be, r.Replicas); err != nil {
		return nil, s.fail(err)
	}
	return &fepb.HeartbeatReply{CatalogIndex: index}, nil
}

// count keeps the number of stopping BEs; s.mu is held.
func (s *Server) count() {
	n := int32(0)
	for _, b := range s.beats {
		if b.Stopping {
			n++
		}
	}
	s.stopping.Store(n)
}

// Leaving reports whether a BE said that it stops. It costs nothing while none
// does.
func (s *Server) Leaving(backendID int64) bool {
	if s.stopping.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beats[backendID].Stopping
}

// Beats are the newest heartbeats by backend.
func (s *Server) Beats() map[int64]Beat {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[int64]Beat, len(s.beats))
	for id, b := range s.beats {
		out[id] = b
	}
	return out
}

// Begin implements fepb.FrontendServer.
func (s *Server) Begin(ctx context.Context, r *fepb.BeginRequest) (*fepb.BeginReply, error) {
	c := &meta.BeginTxn{
		RequestID: requestID(r.RequestId), DBID: r.DbId, TableID: r.TableId, TableEpoch: r.TableEpoch, SchemaVersion: r.SchemaVersion,
		Label: r.Label, Owner: owner(r.Owner), TimeoutMs: r.TimeoutMs, Source: txn.Source(r.Source), Coordinator: r.Coordinator,
	}
	if r.Group {
		c.Group = &txn.GroupRecord{Async: r.Async, IntervalMs: r.IntervalMs}
	}
	res, err := s.txns.Begin(ctx, c)
	if doriserr.Is(err, doriserr.LabelExists) && res.Txn != nil {
		return &fepb.BeginReply{TxnId: res.Txn.ID, Label: res.Txn.Label, ExistingState: int32(res.Txn.State)}, nil
	}
	if err != nil {
		return nil, s.fail(err)
	}
	return &fepb.BeginReply{TxnId: res.Txn.ID, Label: res.Txn.Label, OwnerEpoch: res.Txn.Owner.OwnerEpoch}, nil
}

// Commit implements fepb.FrontendServer.
func (s *Server) Commit(ctx context.Context, r *fepb.CommitRequest) (*fepb.CommitReply, error) {
	out, err := s.txns.Commit(ctx, &meta.CommitTxn{
		TxnID: r.TxnId, Owner: owner(r.Owner), Partitions: partitions(r.Partitions), LoadedRows: r.LoadedRows, FilteredRows: r.FilteredRows,
		TwoPhase: r.TwoPhase,
	}, time.Duration(r.WaitVisibleMs)*time.Millisecond)
	if err != nil {
		return nil, s.fail(err)
	}
	return &fepb.CommitReply{State: int32(out.State), Index: out.Index}, nil
}

func partitions(in []*fepb.PartitionWrite) []txn.PartitionCommit {
	out := make([]txn.PartitionCommit, len(in))
	for i, p := range in {
		out[i] = txn.PartitionCommit{PartitionID: p.PartitionId, Tablets: make([]txn.TabletCommit, len(p.Tablets))}
		for j, t := range p.Tablets {
			out[i].Tablets[j] = txn.TabletCommit{
				TabletID: t.TabletId, RowsetID: requestID(t.RowsetId), Parts: t.Parts, Rows: t.Rows, Checksum: t.Checksum, Backends: t.Backends,
				Replicas: t.Replicas,
			}
		}
	}
	return out
}

// Abort implements fepb.FrontendServer.
func (s *Server) Abort(ctx context.Context, r *fepb.AbortRequest) (*fepb.AbortReply, error) {
	if _, err := s.node.Propose(ctx, &meta.AbortTxn{TxnID: r.TxnId, Owner: owner(r.Owner), Reason: r.Reason}); err != nil {
		return nil, s.fail(err)
	}
	return &fepb.AbortReply{}, nil
}

// FinishTwoPhase implements fepb.FrontendServer. The database is looked up by
// the leader, so that a client may name one that a BE has not heard of yet, or
// one that was dropped.
func (s *Server) FinishTwoPhase(ctx context.Context, r *fepb.FinishTwoPhaseRequest) (*fepb.FinishTwoPhaseReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	var db int64
	var known bool
	s.node.View(func(st *meta.State) { db, known = st.TwoPhaseDatabase(r.Db, r.TxnId, r.Label) })
	// Of an unknown database too: the answer to an earlier attempt of this
	// request may be remembered.
	out, err := s.txns.Finish(ctx, &meta.FinishTwoPhase{
		RequestID: requestID(r.RequestId), DBID: db, TxnID: r.TxnId, Label: r.Label, Commit: r.Commit,
	}, time.Duration(r.WaitVisibleMs)*time.Millisecond)
	if !known && doriserr.Is(err, doriserr.TxnNotFound) {
		err = doriserr.New(doriserr.UnknownDatabase, "unknown database, database=%s", r.Db)
	}
	if err != nil {
		return nil, s.fail(err)
	}
	return &fepb.FinishTwoPhaseReply{State: int32(out.State)}, nil
}

// TakeOver implements fepb.FrontendServer.
func (s *Server) TakeOver(ctx context.Context, r *fepb.TakeOverRequest) (*fepb.TakeOverReply, error) {
	res, err := s.node.Propose(ctx, &meta.TakeOver{TxnID: r.TxnId, BackendID: r.BackendId, BootEpoch: r.BootEpoch})
	if err != nil {
		return nil, s.fail(err)
	}
	reply := &fepb.TakeOverReply{State: int32(res.Txn.State), OwnerEpoch: res.Txn.Owner.OwnerEpoch, Label: res.Txn.Label}
	s.node.View(func(st *meta.State) {
		switch {
		case st.Table(res.Txn.TableID) != nil:
		case st.Recycled(res.Txn.TableID) != nil && !st.Recycled(res.Txn.TableID).Erased:
			reply.Table = fepb.TableFate_TABLE_RECYCLED
		default:
			reply.Table = fepb.TableFate_TABLE_ERASED
		}
	})
	return reply, nil
}

// Release implements fepb.FrontendServer.
func (s *Server) Release(ctx context.Context, r *fepb.ReleaseRequest) (*fepb.ReleaseReply, error) {
	if _, err := s.node.Propose(ctx, &meta.ReleaseGroups{BackendID: r.BackendId, BootEpoch: r.BootEpoch, TxnIDs: r.TxnIds}); err != nil {
		return nil, s.fail(err)
	}
	return &fepb.ReleaseReply{}, nil
}

// Outcomes implements fepb.FrontendServer. A BE deletes by the answer, so it is
// given by a leader that has passed the barrier of its term and proved that it
// still leads (docs/protocol.md, H15).
func (s *Server) Outcomes(ctx context.Context, r *fepb.OutcomesRequest) (*fepb.OutcomesReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	if err := s.node.VerifyLeader(ctx); err != nil {
		return nil, s.fail(err)
	}
	reply := &fepb.OutcomesReply{}
	s.node.View(func(st *meta.State) {
		for _, id := range r.TxnIds {
			o := &fepb.Outcome{TxnId: id, Gone: st.TxnGone(id)}
			if t := st.Txn(id); t != nil {
				o.State = int32(t.State)
				for i := range t.Partitions {
					o.Partitions = append(o.Partitions, partitionPB(&t.Partitions[i]))
				}
			}
			reply.Outcomes = append(reply.Outcomes, o)
		}
	})
	return reply, nil
}

// current refuses an answer that a BE deletes by unless this FE leads, shows
// everything that was decided before, and a majority agrees.
func (s *Server) current(ctx context.Context) error {
	if _, ready := s.node.Ready(); !ready {
		return doriserr.ToStatus(peer.NotLeaderError(""))
	}
	if err := s.node.VerifyLeader(ctx); err != nil {
		return s.fail(err)
	}
	return nil
}

// GonePartitions implements fepb.FrontendServer.
func (s *Server) GonePartitions(ctx context.Context, r *fepb.GonePartitionsRequest) (*fepb.GonePartitionsReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	if err := s.current(ctx); err != nil {
		return nil, err
	}
	reply := &fepb.GonePartitionsReply{}
	s.node.View(func(st *meta.State) {
		for _, id := range r.PartitionIds {
			if st.Erased(id) {
				reply.PartitionIds = append(reply.PartitionIds, id)
			}
		}
	})
	return reply, nil
}

func partitionPB(p *txn.PartitionCommit) *fepb.PartitionWrite {
	out := &fepb.PartitionWrite{PartitionId: p.PartitionID, Version: p.Version}
	for i := range p.Tablets {
		t := &p.Tablets[i]
		out.Tablets = append(out.Tablets, &fepb.TabletWrite{TabletId: t.TabletID, RowsetId: t.RowsetID[:], Parts: t.Parts, Rows: t.Rows, Checksum: t.Checksum, Backends: t.Backends})
	}
	return out
}

// CatalogIndex implements fepb.FrontendServer.
func (s *Server) CatalogIndex(context.Context, *fepb.CatalogIndexRequest) (*fepb.CatalogIndexReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	reply := &fepb.CatalogIndexReply{}
	s.node.View(func(st *meta.State) { reply.Index = st.CatalogIndex() })
	return reply, nil
}

// Change implements fepb.FrontendServer.
func (s *Server) Change(ctx context.Context, r *fepb.ChangeRequest) (*fepb.ChangeReply, error) {
	c, err := meta.DecodeCommand(r.Command)
	if err != nil {
		return nil, s.fail(err)
	}
	res, err := s.node.Propose(ctx, c)
	if err != nil {
		return nil, s.fail(err)
	}
	return &fepb.ChangeReply{Index: res.Index, Id: res.ID, Count: int64(res.Count), Existed: res.Existed, Epoch: res.Epoch}, nil
}
