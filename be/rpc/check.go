package rpc

import (
	"context"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
)

// CheckTablet implements bepb.BackendServer.
func (s *Server) CheckTablet(ctx context.Context, r *bepb.CheckTabletRequest) (*bepb.CheckTabletReply, error) {
	sum, err := s.Engine.Checksum(ctx, r.PartitionId, r.TabletId, r.ReplicaId, r.Version)
	if err != nil {
		return nil, doriserr.ToStatus(err)
	}
	return &bepb.CheckTabletReply{Sum: sum.Sum, Rows: sum.Rows}, nil
}

// DistrustReplica implements bepb.BackendServer.
func (s *Server) DistrustReplica(ctx context.Context, r *bepb.DistrustReplicaRequest) (*bepb.DistrustReplicaReply, error) {
	if err := s.orders.check(r.MetaEpoch, r.Term); err != nil {
		return nil, doriserr.ToStatus(err)
	}
	if err := s.Engine.Distrust(ctx, r.PartitionId, storage.TabletReplica{TabletID: r.TabletId, ReplicaID: r.ReplicaId}); err != nil {
		return nil, doriserr.ToStatus(err)
	}
	return &bepb.DistrustReplicaReply{}, nil
}
