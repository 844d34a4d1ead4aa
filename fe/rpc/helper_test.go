package rpc

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/txnmgr"
	"dorisgo/value"
)

// node is the replicated state of one FE; another one leads unless leads is
// set.
type node struct {
	t testing.TB

	mu      sync.Mutex
	st      *meta.State
	index   uint64
	changed chan struct{}
	leads   bool
	// unready: it was elected and has not passed the barrier of its term.
	unready bool
}

func newNode(t testing.TB) *node {
	n := &node{t: t, st: meta.New(), changed: make(chan struct{}), leads: true}
	n.do(&meta.InitCluster{ClusterID: "c", MetaEpoch: 3})
	return n
}

// Propose implements Node.
func (n *node) Propose(_ context.Context, c meta.Command) (meta.Result, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.leads {
		return meta.Result{}, doriserr.New(doriserr.NotLeader, "FE is not master")
	}
	n.index++
	res, err := n.st.Apply(n.index, c)
	close(n.changed)
	n.changed = make(chan struct{})
	return res, err
}

func (n *node) do(c meta.Command) meta.Result {
	n.t.Helper()
	res, err := n.Propose(context.Background(), c)
	if err != nil {
		n.t.Fatalf("%s: %v", meta.CommandName(c), err)
	}
	return res
}

// View implements Node.
func (n *node) View(f func(*meta.State)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n.st)
}

// Changed implements Node.
func (n *node) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

// AppliedIndex implements Node.
func (n *node) AppliedIndex() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.index
}

// Leader implements Node.
func (n *node) Leader() (id, addr string, ok bool) {
	if n.IsLeader() {
		return "self", "raft-self", true
	}
	return "other", "raft-other", true
}

// IsLeader implements Node.
func (n *node) IsLeader() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leads
}

// Ready implements Node.
func (n *node) Ready() (index uint64, ok bool) { return n.AppliedIndex(), n.IsLeader() && !n.unready }

// VerifyLeader implements Node.
func (n *node) VerifyLeader(context.Context) error {
	if !n.IsLeader() {
		return doriserr.New(doriserr.NotLeader, "FE is not master")
	}
	return nil
}

func (n *node) setLeads(leads bool) {
	n.mu.Lock()
	n.leads = leads
	n.mu.Unlock()
}

// Publish implements txnmgr.Orders: nobody publishes.
func (n *node) Publish(context.Context, *meta.Backend, *bepb.PublishRequest) (*bepb.PublishReply, error) {
	return nil, doriserr.New(doriserr.Unknown, "no backend is there")
}

func newServer(n *node) *Server {
	log := slog.New(slog.DiscardHandler)
	return New(n, txnmgr.New(txnmgr.Config{Node: n, Orders: n, Logger: log}), log)
}

// table is a table for CreateTable on one backend.
func table(name string, backend int64) *meta.Table {
	return &meta.Table{
		Name: name, Keys: meta.DuplicateKeys, KeyCount: 1, DistCols: []int{0}, Buckets: 2, HashVersion: 1, SchemaVersion: 1, NextColumnID: 1,
		Columns: []meta.Column{{Name: "k", Type: value.Type{Kind: value.Int}, Key: true}}, Props: meta.Properties{ReplicationNum: 1},
		Partitions: []*meta.Partition{{Name: name, Tablets: []*meta.Tablet{
			{Replicas: []meta.Replica{{BackendID: backend}}}, {Bucket: 1, Replicas: []meta.Replica{{BackendID: backend}}},
		}}},
	}
}

func (n *node) tableByName(db, name string) (t *meta.Table) {
	n.View(func(s *meta.State) {
		if d := s.DatabaseByName(db); d != nil {
			t = s.TableByName(d.ID, name)
		}
	})
	return t
}
