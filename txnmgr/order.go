package txnmgr

import (
	"slices"

	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// maxPublish is how many versions one order carries.
const maxPublish = 512

// Order is what one BE is to publish, made from the state alone: for each
// partition the committed versions in order.
type Order struct {
	BackendID int64
	Request   *bepb.PublishRequest
	// Last is the highest version of each partition in it.
	Last map[int64]int64
}

// NewOrder is an order without versions.
func NewOrder(s *meta.State, backendID int64, term uint64) Order {
	return Order{
		BackendID: backendID, Last: map[int64]int64{},
		Request: &bepb.PublishRequest{MetaEpoch: s.MetaEpoch(), Term: term, Index: s.Index()},
	}
}

// Empty reports whether there is nothing to publish.
func (o *Order) Empty() bool { return len(o.Request.Versions) == 0 && len(o.Request.Bases) == 0 }

// Collect adds a partition's versions above what the BE confirmed in this term
// and life, by partition; whole says that none is left.
func (o *Order) Collect(s *meta.State, partition int64, through map[int64]int64) (whole bool) {
	t := s.PartitionTable(partition)
	if t == nil {
		return true
	}
	i := slices.IndexFunc(t.Partitions, func(x *meta.Partition) bool { return x.ID == partition })
	if i < 0 {
		return true
	}
	mine := map[int64]meta.Replica{}
	for _, tablet := range t.Partitions[i].Tablets {
		for _, r := range tablet.Replicas {
			if r.BackendID == o.BackendID {
				mine[tablet.ID] = r
			}
		}
	}
	if len(mine) == 0 {
		return true
	}
	if have, ok := through[partition]; ok && have < s.LogBase(partition) || !ok && s.BehindLog(partition, o.BackendID) {
		base := &bepb.PartitionBase{PartitionId: partition, Base: s.LogBase(partition)}
		for _, tablet := range t.Partitions[i].Tablets {
			if r, ok := mine[tablet.ID]; ok {
				base.Replicas = append(base.Replicas, &bepb.TabletReplica{TabletId: tablet.ID, ReplicaId: r.ID, FromClone: r.Cloning})
			}
		}
		o.Request.Bases = append(o.Request.Bases, base)
		o.Last[partition] = base.Base
	}
	after := s.DurableThrough(partition, o.BackendID)
	if v, ok := s.PartitionVersion(partition); ok {
		// What is not VISIBLE is ordered again although the BE has it: the
		// report that it was published may be what is missing.
		after = min(after, v.Visible)
	}
	after = max(after, through[partition])
	list, _ := s.PublishList(partition, after)
	for _, tx := range list {
		if len(o.Request.Versions) >= maxPublish {
			return false
		}
		for j := range tx.Partitions {
			pc := &tx.Partitions[j]
			if pc.PartitionID != partition {
				continue
			}
			v := &bepb.PublishVersion{TxnId: tx.ID, PartitionId: partition, Version: pc.Version}
			for k := range pc.Tablets {
				tc := &pc.Tablets[k]
				if r, ok := mine[tc.TabletID]; ok {
					v.Tablets = append(v.Tablets, &bepb.PublishTablet{TabletId: tc.TabletID, RowsetId: tc.RowsetID[:], Parts: tc.Parts, ReplicaId: r.ID, FromClone: r.Cloning})
				}
			}
			o.Request.Versions = append(o.Request.Versions, v)
			o.Last[partition] = max(o.Last[partition], pc.Version)
		}
	}
	return true
}

// Confirm takes down what the BE confirmed, and returns the partitions of which
// it could not publish everything.
func (o *Order) Confirm(reply *bepb.PublishReply, through map[int64]int64) (failed []int64) {
	for partition, version := range o.Last {
		through[partition] = max(through[partition], version)
	}
	for _, v := range o.Request.Versions {
		if _, no := reply.Failed[v.TxnId]; no {
			through[v.PartitionId] = min(through[v.PartitionId], v.Version-1)
			failed = append(failed, v.PartitionId)
		}
	}
	return failed
}

// Events are what the log is to learn of replicas from the BE's answer, before it
// hears that the BE published: which lack what they were believed to hold, and
// which hold what was written after the commit.
func (o *Order) Events(s *meta.State, bootEpoch uint64, reply *bepb.PublishReply) []*meta.ReportReplica {
	hole := map[int64]int64{}
	for _, h := range reply.Holes {
		hole[h.TabletId] = h.Version
	}
	done := map[int64]bool{}
	for _, id := range reply.DoneTxnIds {
		done[id] = true
	}
	var events []*meta.ReportReplica
	add := func(e *meta.ReportReplica) {
		e.BackendID, e.BootEpoch = o.BackendID, bootEpoch
		events = append(events, e)
	}
	for _, h := range reply.Holes {
		// A first one that is earlier may be closed by what is reported below.
		if s.FirstMissing(h.PartitionId, h.TabletId, o.BackendID) != h.Version {
			add(&meta.ReportReplica{Event: meta.ReplicaMissing, TabletID: h.TabletId, ReplicaID: h.ReplicaId, Version: h.Version})
		}
	}
	for _, v := range o.Request.Versions {
		t := s.Txn(v.TxnId)
		if !done[v.TxnId] || t == nil {
			continue
		}
		for _, tablet := range v.Tablets {
			if h := hole[tablet.TabletId]; h != 0 && h <= v.Version {
				continue
			}
			if !t.Holds(v.PartitionId, tablet.TabletId, o.BackendID) && !tablet.FromClone {
				add(&meta.ReportReplica{
					Event: meta.ReplicaWritten, TabletID: tablet.TabletId, ReplicaID: tablet.ReplicaId, TxnID: v.TxnId, RowsetID: [16]byte(tablet.RowsetId),
				})
			}
		}
	}
	return events
}

// Unreported are those of the transactions that are not VISIBLE yet, of which the
// log does not know that the BE published them, and of which the BE has rows: no
// other counts for a majority.
func Unreported(s *meta.State, backendID int64, ids []int64) []int64 {
	var out []int64
	for _, id := range ids {
		if t := s.Txn(id); t != nil && t.State != txn.Visible && t.HoldsAny(backendID) && !slices.Contains(t.Published, backendID) {
			out = append(out, id)
		}
	}
	return out
}
