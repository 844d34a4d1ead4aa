package rpc

import (
	"context"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
	"dorisgo/txnmgr"
)

// reportHoles tells the log of replicas that lack a version that they were
// believed to hold, and of those that have what they lacked.
func (s *Server) reportHoles(ctx context.Context, be *meta.Backend, states []*fepb.ReplicaState) error {
	var events []*meta.ReportReplica
	s.node.View(func(st *meta.State) { events = txnmgr.BeatEvents(st, be, states) })
	for _, e := range events {
		// A replica that is another one by now is told so by GoneReplicas.
		if _, err := s.node.Propose(ctx, e); err != nil && !doriserr.Is(err, doriserr.Conflict) {
			return err
		}
	}
	return nil
}

// GoneReplicas implements fepb.FrontendServer. A BE deletes by the answer: it is
// given like that of GonePartitions.
func (s *Server) GoneReplicas(ctx context.Context, r *fepb.GoneReplicasRequest) (*fepb.GoneReplicasReply, error) {
	if err := s.lead(); err != nil {
		return nil, err
	}
	if err := s.current(ctx); err != nil {
		return nil, err
	}
	reply := &fepb.GoneReplicasReply{}
	s.node.View(func(st *meta.State) {
		for _, x := range r.Replicas {
			if st.ReplicaGone(x.PartitionId, x.TabletId, x.ReplicaId) {
				reply.ReplicaIds = append(reply.ReplicaIds, x.ReplicaId)
			}
		}
	})
	return reply, nil
}
