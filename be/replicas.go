package be

import (
	"context"
	"time"

	"dorisgo/rpc/fepb"
	"dorisgo/storage"
)

const (
	// replicasAtOnce is how many replicas go with one heartbeat.
	replicasAtOnce = 2000
	// sizesEvery is how often the size of a replica is told again, refreshEvery
	// how often it is told although nothing changed: the leader may be new.
	sizesEvery, refreshEvery = 10 * time.Second, 5 * time.Minute
	// removeEvery is how often replicas are looked for that the catalog has not
	// any more.
	removeEvery = 10 * time.Second
)

// replicaReports is what the leader was told of the replicas here.
type replicaReports map[int64]toldReplica

type toldReplica struct {
	storage.ReplicaInfo
	at time.Time
}

// next are the replicas that are worth a report.
func (told replicaReports) next(now []storage.ReplicaInfo, at time.Time) []storage.ReplicaInfo {
	var out []storage.ReplicaInfo
	for _, r := range now {
		if len(out) == replicasAtOnce {
			break
		}
		old, known := told[r.TabletID]
		age := at.Sub(old.at)
		sizes := r.Rows != old.Rows || r.Bytes != old.Bytes || r.Versions != old.Versions
		if !known || r.Hole != old.Hole || r.ReplicaID != old.ReplicaID || sizes && age >= sizesEvery || age >= refreshEvery {
			out = append(out, r)
		}
	}
	return out
}

// told notes what the leader has answered.
func (told replicaReports) told(list []storage.ReplicaInfo, at time.Time) {
	for _, r := range list {
		told[r.TabletID] = toldReplica{r, at}
	}
}

func replicaStates(list []storage.ReplicaInfo) []*fepb.ReplicaState {
	out := make([]*fepb.ReplicaState, len(list))
	for i, r := range list {
		out[i] = &fepb.ReplicaState{
			PartitionId: r.PartitionID, TabletId: r.TabletID, ReplicaId: r.ReplicaID, Hole: r.Hole, Through: r.Through,
			Rows: r.Rows, Bytes: r.Bytes, Versions: r.Versions,
		}
	}
	return out
}

// removeGone removes replicas that were dropped from the catalog. What the copy
// of the catalog lacks is only asked for: the leader's word counts.
func (n *Node) removeGone(ctx context.Context) {
	ticker := time.NewTicker(removeEvery)
	defer ticker.Stop()
	for {
		if err := n.removeGoneOnce(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("dropped replicas could not be removed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Node) removeGoneOnce(ctx context.Context) error {
	if _, loaded := n.Catalog.Index(); !loaded {
		return nil
	}
	mine := map[int64]int64{}
	for _, id := range n.Catalog.TableIDs() {
		t, ok := n.Catalog.TableByID(id)
		if !ok {
			continue
		}
		for _, p := range t.Partitions {
			for _, tablet := range p.Tablets {
				for _, r := range tablet.Replicas {
					if r.BackendID == n.ID {
						mine[tablet.ID] = r.ID
					}
				}
			}
		}
	}
	byID := map[int64]storage.ReplicaInfo{}
	var ask []storage.ReplicaInfo
	for _, r := range n.Engine.Replicas() {
		if r.ReplicaID != 0 && mine[r.TabletID] != r.ReplicaID && len(ask) < replicasAtOnce {
			ask = append(ask, r)
			byID[r.ReplicaID] = r
		}
	}
	if len(ask) == 0 {
		return nil
	}
	var reply *fepb.GoneReplicasReply
	err := n.cfg.Leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.GoneReplicas(ctx, &fepb.GoneReplicasRequest{BackendId: n.ID, BootEpoch: n.Epoch, Replicas: replicaStates(ask)})
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range reply.ReplicaIds {
		r, ok := byID[id]
		if !ok {
			continue
		}
		if err := n.Engine.RemoveReplica(ctx, r.TabletID, id); err != nil {
			return err
		}
		n.log.Info("a dropped replica was moved to the trash", "tablet_id", r.TabletID, "replica_id", id)
	}
	return nil
}
