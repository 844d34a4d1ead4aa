package be

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"dorisgo/be/catalog"
	"dorisgo/be/sink"
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/value"
)

// asked is an FE that answers each call by a function, and does what
// peer.Leader does: it asks again until there is a decision or ctx ends.
type asked struct {
	fepb.FrontendClient
	begin  func(ctx context.Context) error
	commit func(ctx context.Context) error
	abort  func(ctx context.Context) error

	mu      sync.Mutex
	begun   map[[16]byte]int64
	aborted []int64
}

func (a *asked) Call(ctx context.Context, f func(context.Context, fepb.FrontendClient) error) error {
	for {
		err := f(ctx, a)
		if !doriserr.Is(err, doriserr.Unknown) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

func (a *asked) Begin(ctx context.Context, r *fepb.BeginRequest, _ ...grpc.CallOption) (*fepb.BeginReply, error) {
	a.mu.Lock()
	id := a.begun[[16]byte(r.RequestId)]
	if id == 0 {
		id = int64(len(a.begun) + 1)
		a.begun[[16]byte(r.RequestId)] = id
	}
	a.mu.Unlock()
	if err := a.begin(ctx); err != nil {
		return nil, err
	}
	return &fepb.BeginReply{TxnId: id, Label: r.Label}, nil
}

func (a *asked) Commit(ctx context.Context, _ *fepb.CommitRequest, _ ...grpc.CallOption) (*fepb.CommitReply, error) {
	if err := a.commit(ctx); err != nil {
		return nil, err
	}
	return &fepb.CommitReply{State: int32(txn.Visible)}, nil
}

func (a *asked) Abort(ctx context.Context, r *fepb.AbortRequest, _ ...grpc.CallOption) (*fepb.AbortReply, error) {
	if err := a.abort(ctx); err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.aborted = append(a.aborted, r.TxnId)
	a.mu.Unlock()
	return &fepb.AbortReply{}, nil
}

// WriteRowsets makes it a sink.Writer whose replicas take everything.
func (a *asked) WriteRowsets(context.Context, int64, *bepb.WriteRowsetsRequest) error { return nil }

// TestSettle: a plain load that ends without a decision leaves no transaction
// open, wherever it ended and however long the FE is away.
func TestSettle(t *testing.T) {
	ok := func(context.Context) error { return nil }
	hang := func(ctx context.Context) error {
		<-ctx.Done()
		return doriserr.Wrap(doriserr.Unknown, ctx.Err(), "no answer")
	}
	lost := doriserr.New(doriserr.Unknown, "the connection broke")
	for name, c := range map[string]struct {
		begin, commit func(int) func(context.Context) error
		away          int
	}{
		"during begin":        {func(i int) func(context.Context) error { return []func(context.Context) error{hang, ok}[min(i, 1)] }, nil, 0},
		"during commit":       {nil, func(int) func(context.Context) error { return hang }, 0},
		"FE away for minutes": {nil, func(int) func(context.Context) error { return hang }, 300},
		"commit refused": {nil, func(int) func(context.Context) error {
			return func(context.Context) error { return doriserr.New(doriserr.NoBackend, "no") }
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				always := func(int) func(context.Context) error { return ok }
				if c.begin == nil {
					c.begin = always
				}
				if c.commit == nil {
					c.commit = always
				}
				begins, commits, aborts := 0, 0, 0
				fe := &asked{begun: map[[16]byte]int64{}}
				fe.begin = func(ctx context.Context) error { begins++; return c.begin(begins - 1)(ctx) }
				fe.commit = func(ctx context.Context) error { commits++; return c.commit(commits - 1)(ctx) }
				fe.abort = func(context.Context) error {
					if aborts++; aborts <= c.away {
						return lost
					}
					return nil
				}
				log := slog.New(slog.DiscardHandler)
				s := sink.New(sink.Identity{BackendID: 1, BootEpoch: 1}, fe, fe, log)
				l := &loads{catalog: catalog.New(), sink: s, settler: newSettler(s, log)}
				ctx, stop := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				wg.Go(func() { l.settler.run(ctx) })
				load, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := l.normal(load, plainTable(), plainLoad(t)); err == nil {
					t.Error("the load succeeded")
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				stop()
				wg.Wait()
				if len(fe.begun) != 1 || len(fe.aborted) != 1 || fe.aborted[0] != 1 {
					t.Errorf("%d transactions began, %v were aborted; want the one", len(fe.begun), fe.aborted)
				}
			})
		})
	}
}

// TestSettleDecided: an abort that comes too late is no matter.
func TestSettleDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fe := &asked{begun: map[[16]byte]int64{}, abort: func(context.Context) error { return doriserr.New(doriserr.TxnState, "visible") }}
		log := slog.New(slog.DiscardHandler)
		s := newSettler(sink.New(sink.Identity{}, fe, fe, log), log)
		ctx, stop := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.run(ctx) })
		s.add(undecided{tx: sink.Txn{ID: 7}})
		synctest.Wait()
		if len(s.todo) != 0 {
			t.Errorf("%d left", len(s.todo))
		}
		stop(errors.New("end"))
		wg.Wait()
	})
}

func plainTable() *meta.Table {
	return &meta.Table{ID: 10, DBID: 9, Name: "t", KeyCount: 1, Columns: []meta.Column{{UniqueID: 0, Name: "id", Type: value.Type{Kind: value.Int}}},
		Partitions: []*meta.Partition{{ID: 11, Tablets: []*meta.Tablet{{ID: 12, Replicas: []meta.Replica{{BackendID: 1}}}}}}}
}

func plainLoad(t *testing.T) *bepb.LoadItem {
	t.Helper()
	b := block.New([]value.Type{{Kind: value.Int}})
	if err := b.Col(0).AppendText([]byte("1"), &block.ConvertOptions{}); err != nil {
		t.Fatal(err)
	}
	b.EndRow()
	return &bepb.LoadItem{RequestId: []byte("0123456789abcdef"), TableId: 10, Rows: 1, Block: block.AppendEncoded(nil, b), Label: "l", TimeoutMs: 1000}
}
