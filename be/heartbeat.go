package be

import (
	"context"
	"time"

	berpc "dorisgo/be/rpc"
	"dorisgo/doriserr"
	"dorisgo/rpc/fepb"
)

// heartbeats tells the leader that this life goes on, and which publishes are
// durable since the last report.
func (n *Node) heartbeats(ctx context.Context) {
	reported, told := map[int64]int64{}, replicaReports{}
	ticker := time.NewTicker(n.cfg.Heartbeat)
	defer ticker.Stop()
	for {
		if err := n.beat(ctx, reported, told); err != nil && ctx.Err() == nil {
			if doriserr.Is(err, doriserr.StaleEpoch) {
				n.fail(errStale)
				return
			}
			n.log.Warn("no heartbeat could be sent", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Node) beat(ctx context.Context, reported map[int64]int64, told replicaReports) error {
	ctx, cancel := context.WithTimeout(ctx, max(5*n.cfg.Heartbeat, 5*time.Second))
	defer cancel()
	r := &fepb.HeartbeatRequest{BackendId: n.ID, BootEpoch: n.Epoch, Durable: map[int64]int64{}}
	for _, p := range n.Engine.Partitions() {
		if p.Durable > reported[p.PartitionID] {
			r.Durable[p.PartitionID] = p.Durable
		}
	}
	for _, c := range n.WALs.Counts() {
		r.WalFiles += int64(c)
	}
	n.addUsage(r)
	at := time.Now()
	replicas := told.next(n.Engine.Replicas(), at)
	r.Replicas = replicaStates(replicas)
	select {
	case <-n.stopping:
		r.Stopping = true
	default:
	}
	err := n.cfg.Leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) error {
		_, err := c.Heartbeat(ctx, r)
		return err
	})
	if err == nil {
		for p, v := range r.Durable {
			reported[p] = v
		}
		told.told(replicas, at)
	}
	return err
}

// leave tells the leader at once that this BE takes no more loads, so that they
// are routed elsewhere. Without an answer in time they are refused here, and the
// next heartbeat tells it.
func (n *Node) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r := &fepb.HeartbeatRequest{BackendId: n.ID, BootEpoch: n.Epoch, Stopping: true}
	n.addUsage(r)
	err := n.cfg.Leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) error {
		_, err := c.Heartbeat(ctx, r)
		return err
	})
	if err != nil {
		n.log.Warn("the frontend could not be told that this backend stops", "err", err)
	}
}

// addUsage fills in the disks: those of the storage roots, each file system as
// it is.
func (n *Node) addUsage(r *fepb.HeartbeatRequest) {
	for _, root := range n.Engine.Roots() {
		u, err := n.cfg.FS.GetDiskUsage(root.Path)
		if root.Err != nil {
			r.FailedRoots++
		}
		if root.Err != nil || err != nil {
			continue // a root that is out of service has nothing to offer
		}
		r.AvailBytes += int64(u.AvailBytes)
		r.TotalBytes += int64(u.TotalBytes)
		r.DataBytes += int64(u.UsedBytes)
	}
	for _, id := range n.Catalog.TableIDs() {
		t, ok := n.Catalog.TableByID(id)
		if !ok {
			continue
		}
		for _, p := range t.Partitions {
			for _, tablet := range p.Tablets {
				for _, replica := range tablet.Replicas {
					if replica.BackendID == n.ID {
						r.Tablets++
					}
				}
			}
		}
	}
}

// settleEvery is how often rowsets of undecided transactions are looked at: a
// decision that could not reach this BE is asked for.
const settleEvery = 30 * time.Second

// settlePending removes the rowsets of transactions that are definitely
// aborted, and what attempts of a visible one left behind, forgotten ones too.
// Nothing else ever removes them (docs/protocol.md, rule 2).
func (n *Node) settlePending(ctx context.Context) {
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	seen := map[int64]bool{}
	for {
		pending := n.Engine.PendingTxns()
		var old []int64
		now := map[int64]bool{}
		for _, id := range pending {
			now[id] = true
			if seen[id] || len(seen) == 0 {
				old = append(old, id)
			}
		}
		seen = now
		if len(old) > 0 {
			if err := n.settle(ctx, old); err != nil && ctx.Err() == nil {
				n.log.Warn("the outcome of undecided transactions is not known yet", "transactions", len(old), "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Node) settle(ctx context.Context, ids []int64) error {
	ctx, cancel := context.WithTimeout(ctx, settleEvery)
	defer cancel()
	var reply *fepb.OutcomesReply
	err := n.cfg.Leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.Outcomes(ctx, &fepb.OutcomesRequest{TxnIds: ids})
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range reply.Outcomes {
		if err := berpc.Settle(ctx, n.Engine, o); err != nil {
			return err
		}
	}
	return nil
}

// dropEvery is how often partitions of dropped tables are looked for.
const dropEvery = 10 * time.Minute

// dropGone removes partitions whose drop is in the log for good; what they held
// stays in the trash for a while.
func (n *Node) dropGone(ctx context.Context) {
	ticker := time.NewTicker(dropEvery)
	defer ticker.Stop()
	for {
		if err := n.dropGoneOnce(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("dropped partitions could not be removed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *Node) dropGoneOnce(ctx context.Context) error {
	r := &fepb.GonePartitionsRequest{}
	for _, p := range n.Engine.Partitions() {
		r.PartitionIds = append(r.PartitionIds, p.PartitionID)
	}
	if len(r.PartitionIds) == 0 {
		return nil
	}
	var reply *fepb.GonePartitionsReply
	err := n.cfg.Leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.GonePartitions(ctx, r)
		return err
	})
	if err != nil {
		return err
	}
	for _, id := range reply.PartitionIds {
		if err := n.Engine.DropPartition(ctx, id); err != nil {
			return err
		}
		n.log.Info("a dropped partition was moved to the trash", "partition_id", id)
	}
	return nil
}

// sweepWALs removes WAL files that were set aside long ago and whose rows are
// in their tables, or whose tables are gone.
func (n *Node) sweepWALs(ctx context.Context) {
	expire := n.cfg.Storage.TrashExpire
	if expire <= 0 {
		expire = 72 * time.Hour
	}
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		if _, err := n.WALs.Sweep(ctx, time.Now().Add(-expire)); err != nil && ctx.Err() == nil {
			n.log.Warn("old WAL files could not be removed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
