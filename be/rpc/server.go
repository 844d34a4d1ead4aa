package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"dorisgo/doriserr"
	"dorisgo/query/exec"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
	"dorisgo/storage"
	"dorisgo/storage/rowset"
	"dorisgo/value"
)

// Server implements bepb.BackendServer.
type Server struct {
	bepb.UnimplementedBackendServer
	Engine *storage.Engine
	Exec   *exec.Executor
	// WALs counts the WAL files of each table.
	WALs func() map[int64]int
	// StreamLoadRecords lists the finished Stream Loads of a database.
	StreamLoadRecords func(db string) []*bepb.StreamLoadRecord
	// Fetch reads a tablet of another BE.
	Fetch  func(ctx context.Context, backendID int64, r *bepb.FetchTabletRequest) (bepb.Backend_FetchTabletClient, error)
	Logger *slog.Logger

	orders orders
}

// orders refuses what a deposed leader sends (docs/protocol.md, rule 12).
// Publish needs no memory across restarts: the storage compares transaction
// and rowsets of each version.
type orders struct {
	mu        sync.Mutex
	metaEpoch uint64
	term      uint64
}

func (o *orders) check(metaEpoch, term uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if metaEpoch < o.metaEpoch || metaEpoch == o.metaEpoch && term < o.term {
		return doriserr.New(doriserr.StaleEpoch, "the order is of meta epoch %d, term %d; this backend has seen %d, %d", metaEpoch, term, o.metaEpoch, o.term)
	}
	o.metaEpoch, o.term = metaEpoch, term
	return nil
}

func columnType(c *bepb.ColumnDesc) value.Type { return exec.Type(c) }

// Register makes a server offer what s does.
func (s *Server) Register(srv *peer.Server) {
	bepb.RegisterBackendServer(srv, s)
	peer.HandleCalls(srv, writeService, func(ctx context.Context, r *bepb.WriteRowsetsRequest) (proto.Message, error) {
		return nil, write(ctx, s.Engine, r)
	})
	peer.HandleCalls(srv, peer.PublishService, func(ctx context.Context, r *bepb.PublishRequest) (proto.Message, error) {
		return s.Publish(ctx, r)
	})
}

// WriteRowsets implements bepb.BackendServer.
func (s *Server) WriteRowsets(stream bepb.Backend_WriteRowsetsServer) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&bepb.WriteRowsetsReply{})
		}
		if err != nil {
			return err
		}
		if err := write(stream.Context(), s.Engine, r); err != nil {
			return doriserr.ToStatus(err)
		}
	}
}

// Publish answers a call to peer.PublishService. A transaction is done when all of
// its versions in the request are published here; after a failure in a partition
// the later versions of that partition are not tried.
func (s *Server) Publish(ctx context.Context, r *bepb.PublishRequest) (*bepb.PublishReply, error) {
	if err := s.orders.check(r.MetaEpoch, r.Term); err != nil {
		return nil, err
	}
	reply := &bepb.PublishReply{Failed: map[int64]string{}}
	stuck := map[int64]error{}
	seen := map[int64]bool{}
	for _, b := range r.Bases {
		holes, err := s.Engine.Jump(ctx, b.PartitionId, b.Base, tabletReplicas(b.Replicas))
		if err != nil {
			// Its versions fail as well and name it.
			stuck[b.PartitionId] = err
		}
		reply.Holes = appendHoles(reply.Holes, holes)
	}
	for _, v := range r.Versions {
		err := stuck[v.PartitionId]
		if err == nil {
			var holes []storage.Hole
			holes, err = s.publish(ctx, v)
			reply.Holes = appendHoles(reply.Holes, holes)
		}
		if err != nil {
			stuck[v.PartitionId] = err
			reply.Failed[v.TxnId] = err.Error()
		}
		seen[v.TxnId] = true
	}
	for id := range seen {
		if _, failed := reply.Failed[id]; !failed {
			reply.DoneTxnIds = append(reply.DoneTxnIds, id)
		}
	}
	return reply, nil
}

func tabletReplicas(list []*bepb.TabletReplica) []storage.TabletReplica {
	out := make([]storage.TabletReplica, len(list))
	for i, r := range list {
		out[i] = storage.TabletReplica{TabletID: r.TabletId, ReplicaID: r.ReplicaId, FromClone: r.FromClone}
	}
	return out
}

// appendHoles adds holes to a reply; the last one of a tablet is what holds.
func appendHoles(list []*bepb.TabletHole, holes []storage.Hole) []*bepb.TabletHole {
	for _, h := range holes {
		hole := &bepb.TabletHole{PartitionId: h.PartitionID, TabletId: h.TabletID, ReplicaId: h.ReplicaID, Version: h.Version}
		list = append(slices.DeleteFunc(list, func(o *bepb.TabletHole) bool { return o.TabletId == h.TabletID }), hole)
	}
	return list
}

func (s *Server) publish(ctx context.Context, v *bepb.PublishVersion) ([]storage.Hole, error) {
	p := storage.Publish{PartitionID: v.PartitionId, Version: v.Version, TxnID: v.TxnId}
	for _, t := range v.Tablets {
		if len(t.RowsetId) != len(rowset.ID{}) {
			return nil, doriserr.New(doriserr.Corrupt, "a rowset id has %d bytes", len(t.RowsetId))
		}
		for part := range max(t.Parts, 1) {
			p.Tablets = append(p.Tablets, storage.PublishTablet{
				TabletID: t.TabletId, RowsetID: rowset.ID(t.RowsetId).Part(part), ReplicaID: t.ReplicaId, FromClone: t.FromClone,
			})
		}
	}
	return s.Engine.Publish(ctx, p)
}

// AbortTxn implements bepb.BackendServer.
func (s *Server) AbortTxn(ctx context.Context, r *bepb.AbortTxnRequest) (*bepb.AbortTxnReply, error) {
	if err := s.orders.check(r.MetaEpoch, r.Term); err != nil {
		return nil, doriserr.ToStatus(err)
	}
	for _, id := range r.TxnIds {
		if err := s.Engine.Abort(ctx, id); err != nil {
			return nil, doriserr.ToStatus(err)
		}
	}
	return &bepb.AbortTxnReply{}, nil
}

// Query implements bepb.BackendServer.
func (s *Server) Query(r *bepb.QueryRequest, stream bepb.Backend_QueryServer) error {
	return doriserr.ToStatus(s.Exec.Query(stream.Context(), r, stream.Send))
}

// Scan implements bepb.BackendServer.
func (s *Server) Scan(r *bepb.ScanRequest, stream bepb.Backend_ScanServer) error {
	return doriserr.ToStatus(s.Exec.Scan(stream.Context(), r, stream.Send))
}

// Status implements bepb.BackendServer.
func (s *Server) Status(context.Context, *bepb.StatusRequest) (*bepb.StatusReply, error) {
	reply := &bepb.StatusReply{Wals: map[int64]int64{}}
	for table, n := range s.WALs() {
		reply.Wals[table] = int64(n)
	}
	return reply, nil
}

// recordsAtOnce is how many records go in one message.
const recordsAtOnce = 256

// StreamLoads implements bepb.BackendServer.
func (s *Server) StreamLoads(r *bepb.StreamLoadsRequest, stream bepb.Backend_StreamLoadsServer) error {
	for part := range slices.Chunk(s.StreamLoadRecords(r.Db), recordsAtOnce) {
		if err := stream.Send(&bepb.StreamLoadsReply{Records: part}); err != nil {
			return err
		}
	}
	return nil
}
