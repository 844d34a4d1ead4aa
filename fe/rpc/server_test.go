package rpc

import (
	"context"
	"log/slog"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// node is a replicated state that was elected; ready says that it has passed
// the barrier of its term.
type node struct {
	state   *meta.State
	ready   bool
	changed chan struct{}
}

func (n *node) Propose(_ context.Context, c meta.Command) (meta.Result, error) {
	return n.state.Apply(n.state.Index()+1, c)
}
func (n *node) View(f func(*meta.State))           { f(n.state) }
func (n *node) Changed() <-chan struct{}           { return n.changed }
func (n *node) AppliedIndex() uint64               { return n.state.Index() }
func (n *node) Leader() (id, addr string, ok bool) { return "self", "self:9010", true }
func (n *node) IsLeader() bool                     { return true }
func (n *node) Ready() (index uint64, ok bool)     { return n.state.Index(), n.ready }
func (n *node) VerifyLeader(context.Context) error { return nil }
func newServer(n *node) *Server                    { return New(n, nil, slog.New(slog.DiscardHandler)) }

// events is a BE's end of a catalog stream.
type events struct {
	fepb.Frontend_WatchCatalogServer
	ctx  context.Context
	sent int
}

func (e *events) Context() context.Context      { return e.ctx }
func (e *events) Send(*fepb.CatalogEvent) error { e.sent++; return nil }

// TestNotReady: a restarted FE is elected before it has read its log again.
// Nothing that it says then may count: a BE would take "your life is over" or
// an empty catalog for the truth.
func TestNotReady(t *testing.T) {
	n := &node{state: meta.New(), changed: make(chan struct{})}
	s := newServer(n)
	ctx := t.Context()
	calls := map[string]func() error{
		"Heartbeat": func() error {
			_, err := s.Heartbeat(ctx, &fepb.HeartbeatRequest{BackendId: 10001, BootEpoch: 1})
			return err
		},
		"Register": func() error {
			_, err := s.Register(ctx, &fepb.RegisterRequest{Uuid: "u", ClusterId: "c"})
			return err
		},
		"Outcomes": func() error {
			_, err := s.Outcomes(ctx, &fepb.OutcomesRequest{TxnIds: []int64{1}})
			return err
		},
		"CatalogIndex": func() error {
			_, err := s.CatalogIndex(ctx, &fepb.CatalogIndexRequest{})
			return err
		},
		"WatchCatalog": func() error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			e := &events{ctx: ctx}
			err := s.WatchCatalog(&fepb.WatchCatalogRequest{BackendId: 10001}, e)
			if e.sent > 0 {
				t.Errorf("WatchCatalog sent %d events", e.sent)
			}
			return err
		},
	}
	for name, call := range calls {
		if err := doriserr.FromStatus(call()); !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("%s: %v, want NotLeader", name, err)
		}
	}
	n.ready = true
	for name, call := range calls {
		if name == "WatchCatalog" {
			continue // it sends the catalog now
		}
		if err := doriserr.FromStatus(call()); doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("%s once ready: %v", name, err)
		}
	}
}
