package txnmgr

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is the state of a cluster and its BEs as fakes.
type cluster struct {
	t *testing.T

	mu    sync.Mutex
	st    *meta.State
	index uint64
	// leads says whether this FE leads.
	leads bool
	// ticks counts the ticks in the log.
	ticks int
	// reports are the backends of the PublishDone commands in the log.
	reports [][]int64
	// refuse, if set, is asked before a command is proposed.
	refuse func(meta.Command) error
	// bes are the BEs' published versions by partition.
	bes map[int64]*backend
	// answer, if set, is asked before a BE takes an order: an error is what the
	// FE gets instead.
	answer func(ctx context.Context, be *meta.Backend, r *bepb.PublishRequest) error
}

// backend is a fake BE: it publishes in order or fails.
type backend struct {
	published map[int64]int64
	// orders are what it was sent: "partition:version" for each order.
	orders [][]string
	// stuck are versions that it cannot publish.
	stuck map[string]bool
	// holes are the tablets that lack a version.
	holes map[int64]int64
	bases []*bepb.PartitionBase
	terms []uint64
}

// newCluster has n BEs and d.t1, d.t2 with a tablet each on all of them.
func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{t: t, st: meta.New(), leads: true, bes: map[int64]*backend{}}
	c.do(&meta.InitCluster{ClusterID: "c", MetaEpoch: 7})
	c.do(&meta.CreateDatabase{Name: "d"})
	var replicas []meta.Replica
	for i := range n {
		id := c.register(i)
		replicas = append(replicas, meta.Replica{BackendID: id})
	}
	for _, name := range []string{"t1", "t2"} {
		c.do(&meta.CreateTable{DB: "d", Table: &meta.Table{
			Name: name, Keys: meta.DuplicateKeys, KeyCount: 1, DistCols: []int{0}, Buckets: 1, HashVersion: 1, SchemaVersion: 1, NextColumnID: 1,
			Columns:    []meta.Column{{Name: "k", Type: value.Type{Kind: value.Int}, Key: true}},
			Props:      meta.Properties{ReplicationNum: int32(n)},
			Partitions: []*meta.Partition{{Name: name, Tablets: []*meta.Tablet{{Replicas: slices.Clone(replicas)}}}},
		}})
	}
	return c
}

// register starts a life of BE number i and returns its id.
func (c *cluster) register(i int) int64 {
	id := c.do(&meta.RegisterBackend{
		UUID: fmt.Sprint(i), Host: fmt.Sprintf("be%d", i), HeartbeatPort: 9050, WALsReported: true, LastBootEpoch: 99,
		Dirs: []meta.BackendDir{{UUID: fmt.Sprint("root", i), Path: "/r"}},
	}).ID
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bes[id] == nil {
		c.bes[id] = &backend{stuck: map[string]bool{}, holes: map[int64]int64{}}
	}
	c.bes[id].published = map[int64]int64{} // nothing was durable
	return id
}

func (c *cluster) do(cmd meta.Command) meta.Result {
	c.t.Helper()
	res, err := c.apply(cmd)
	if err != nil {
		c.t.Fatalf("%s: %v", meta.CommandName(cmd), err)
	}
	return res
}

func (c *cluster) apply(cmd meta.Command) (meta.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := cmd.(*meta.Tick); ok {
		c.ticks++
	}
	if r, ok := cmd.(*meta.PublishDone); ok {
		c.reports = append(c.reports, r.BackendIDs)
	}
	c.index++
	return c.st.Apply(c.index, cmd)
}

// Propose implements Node.
func (c *cluster) Propose(ctx context.Context, cmd meta.Command) (meta.Result, error) {
	if err := ctx.Err(); err != nil {
		return meta.Result{}, err
	}
	c.mu.Lock()
	leads, refuse := c.leads, c.refuse
	c.mu.Unlock()
	if refuse != nil {
		if err := refuse(cmd); err != nil {
			return meta.Result{}, err
		}
	}
	if !leads {
		return meta.Result{}, doriserr.New(doriserr.NotLeader, "FE is not master")
	}
	return c.apply(cmd)
}

// View implements Node.
func (c *cluster) View(f func(*meta.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.st)
}

// AppliedIndex implements Node.
func (c *cluster) AppliedIndex() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index
}

// Publish implements Orders.
func (c *cluster) Publish(ctx context.Context, be *meta.Backend, r *bepb.PublishRequest) (*bepb.PublishReply, error) {
	c.mu.Lock()
	answer := c.answer
	c.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, be, r); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.bes[be.ID]
	reply := &bepb.PublishReply{Failed: map[int64]string{}}
	var order []string
	for _, base := range r.Bases {
		b.bases = append(b.bases, base)
		if max(b.published[base.PartitionId], 1) < base.Base {
			for _, t := range base.Replicas {
				b.holes[t.TabletId] = b.published[base.PartitionId] + 1
				reply.Holes = append(reply.Holes, &bepb.TabletHole{PartitionId: base.PartitionId, TabletId: t.TabletId, ReplicaId: t.ReplicaId, Version: b.holes[t.TabletId]})
			}
			b.published[base.PartitionId] = base.Base
		}
	}
	for _, v := range r.Versions {
		name := fmt.Sprintf("%d:%d", v.PartitionId, v.Version)
		order = append(order, name)
		switch have := max(b.published[v.PartitionId], 1); {
		case b.stuck[name]:
			reply.Failed[v.TxnId] = "stuck"
		case v.Version > have+1:
			reply.Failed[v.TxnId] = fmt.Sprintf("hole: have %d", have)
		default:
			b.published[v.PartitionId] = max(have, v.Version)
			reply.DoneTxnIds = append(reply.DoneTxnIds, v.TxnId)
			for _, t := range v.Tablets {
				if h := b.holes[t.TabletId]; h != 0 {
					reply.Holes = append(reply.Holes, &bepb.TabletHole{PartitionId: v.PartitionId, TabletId: t.TabletId, ReplicaId: t.ReplicaId, Version: h})
				}
			}
		}
	}
	b.orders, b.terms = append(b.orders, order), append(b.terms, r.Term)
	return reply, nil
}

func (c *cluster) setAnswer(f func(ctx context.Context, be *meta.Backend, r *bepb.PublishRequest) error) {
	c.mu.Lock()
	c.answer = f
	c.mu.Unlock()
}

func (c *cluster) setLeads(leads bool) {
	c.mu.Lock()
	c.leads = leads
	c.mu.Unlock()
}

func (c *cluster) be(id int64) (b backend) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = *c.bes[id]
	b.orders = slices.Clone(b.orders)
	return b
}

func (c *cluster) ticked() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ticks
}

func (c *cluster) table(name string) (t *meta.Table) {
	c.View(func(s *meta.State) { t = s.TableByName(s.DatabaseByName("d").ID, name) })
	return t
}

func (c *cluster) state(id int64) (s txn.State) {
	c.View(func(st *meta.State) { s = st.Txn(id).State })
	return s
}

// begin opens a transaction on a table and returns its commit: one row on all
// of the tablet's replicas.
func (c *cluster) begin(table string) *meta.CommitTxn {
	c.t.Helper()
	t := c.table(table)
	res := c.do(&meta.BeginTxn{
		DBID: t.DBID, TableID: t.ID, TableEpoch: t.Epoch, SchemaVersion: t.SchemaVersion, Label: fmt.Sprintf("l%d", c.AppliedIndex()), TimeoutMs: 600_000,
	})
	tc := txn.TabletCommit{TabletID: t.Partitions[0].Tablets[0].ID, RowsetID: [16]byte{byte(res.ID), 1}, Rows: 1}
	for _, r := range t.Partitions[0].Tablets[0].Replicas {
		tc.Backends = append(tc.Backends, r.BackendID)
	}
	return &meta.CommitTxn{TxnID: res.ID, LoadedRows: 1, Partitions: []txn.PartitionCommit{{PartitionID: t.Partitions[0].ID, Tablets: []txn.TabletCommit{tc}}}}
}

func (c *cluster) manager() *Manager {
	return New(Config{Node: c, Orders: c, Logger: slog.New(slog.DiscardHandler)})
}

// lead begins a term and returns how it ends.
func lead(m *Manager, term uint64) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Lead(ctx, term)
	}()
	return func() {
		cancel()
		<-done
	}
}
