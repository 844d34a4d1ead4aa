package txnmgr

import (
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// BeatEvents are what the log is to learn of replicas from a BE's heartbeat: those
// that lack a version that they were believed to hold, and those that have what
// they lacked.
func BeatEvents(s *meta.State, be *meta.Backend, states []*fepb.ReplicaState) []*meta.ReportReplica {
	var events []*meta.ReportReplica
	for _, r := range states {
		missing := s.FirstMissing(r.PartitionId, r.TabletId, be.ID)
		e := &meta.ReportReplica{TabletID: r.TabletId, BackendID: be.ID, BootEpoch: be.BootEpoch, ReplicaID: r.ReplicaId}
		switch {
		case r.ReplicaId == 0:
			continue // one that nothing was ever written to
		case r.Hole > 0 && (missing == 0 || missing > r.Hole):
			e.Event, e.Version = meta.ReplicaMissing, r.Hole
		case r.Hole == 0 && missing > 0 && missing <= r.Through:
			e.Event, e.Version = meta.ReplicaRepaired, r.Through
		default:
			continue
		}
		events = append(events, e)
	}
	return events
}
