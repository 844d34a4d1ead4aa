package tabletsched

import (
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

// Request is the order as its BE gets it.
func (c *Clone) Request(s *meta.State, term uint64) *bepb.CloneTabletRequest {
	r := &bepb.CloneTabletRequest{
		MetaEpoch: s.MetaEpoch(), Term: term, Index: s.Index(),
		Replica: &bepb.TabletReplica{TabletId: c.Tablet, ReplicaId: c.Replica.ID, FromClone: c.Replica.Cloning},
		Base:    &bepb.PartitionBase{PartitionId: c.Partition, Base: c.Base}, SourceId: c.Source, Version: c.Version,
	}
	for _, o := range c.Replicas {
		r.Base.Replicas = append(r.Base.Replicas, &bepb.TabletReplica{TabletId: o.Tablet, ReplicaId: o.Replica.ID, FromClone: o.Replica.Cloning})
	}
	return r
}
