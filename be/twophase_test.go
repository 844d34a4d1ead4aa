package be

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	behttp "dorisgo/be/http"
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
)

// blocks are the rows of one load, or an error after them.
type blocks struct {
	list []*block.Block
	end  error
}

func (b *blocks) Next(context.Context) (*block.Block, error) {
	if len(b.list) == 0 {
		return nil, b.end
	}
	first := b.list[0]
	b.list = b.list[1:]
	return first, nil
}

// normalLoad is a load of rows with ids from i*1000, under a label, that ends
// with io.EOF or another error.
func normalLoad(f *frontend, label string, i, rows int, end error) *behttp.NormalLoad {
	b := block.New(lifeTypes)
	for r := range rows {
		b.Col(0).AppendInt64(int64(i*1000 + r))
		b.Col(1).AppendBytes(fmt.Appendf(nil, "row %d of load %d", r, i))
		b.EndRow()
	}
	t := theTable(f)
	return &behttp.NormalLoad{
		Plan: &behttp.Plan{DBID: t.DBID, DBName: "d", Table: t}, Label: label, RequestID: [16]byte{byte(i), 1}, Timeout: time.Hour,
		Blocks: &blocks{[]*block.Block{b}, end}, Counts: func() (loaded, filtered int64) { return int64(rows), 0 },
	}
}

func stateOf(f *frontend, label string) (s txn.State) {
	t := theTable(f)
	f.View(func(st *meta.State) {
		if tx := st.TxnByLabel(t.DBID, label); tx != nil {
			s = tx.State
		}
	})
	return s
}

// life is a frontend and a backend on a disk that forgets what was not synced.
type life struct {
	*testing.T
	f    *frontend
	disk *vfs.MemFS
	n    *Node
	port int
}

func startFirstLife(t *testing.T) *life {
	t.Helper()
	l := &life{T: t, f: newFrontend(t, nil), disk: vfs.NewCrashableMem(), port: firstLife}
	if _, err := l.f.Propose(t.Context(), &meta.InitCluster{ClusterID: "c", MetaEpoch: 1}); err != nil {
		t.Fatal(err)
	}
	l.start()
	if err := makeTable(t.Context(), l.f, l.n); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *life) start() {
	l.Helper()
	n, err := startLife(l.Context(), l.f, l.disk, l.port)
	if err != nil {
		l.Fatal(err)
	}
	l.n = n
}

// powerFails cuts both nodes off: the frontend has its log, the disk what was
// synced.
func (l *life) powerFails() {
	l.Helper()
	disk := l.disk.CrashClone(vfs.CrashCloneCfg{})
	kill(l.n)
	log := slices.Clone(l.f.log)
	l.f.close()
	l.disk, l.f, l.port = disk, newFrontend(l.T, log), firstLife+secondLife-l.port
	l.start()
}

func (l *life) end() {
	l.Helper()
	if err := l.n.Stop(l.Context()); err != nil {
		l.Error(err)
	}
	l.f.close()
}

func (l *life) want(ids ...int64) {
	l.Helper()
	got, err := readAll(l.Context(), l.f, l.n)
	if err != nil || !slices.Equal(got, ids) {
		l.Errorf("rows %v, %v; want %v", got, err, ids)
	}
}

// TestPrecommittedOutlivesNodes: between the phases both nodes lose their
// power, twice; the rows stay pending, and the second phase by label shows them
// once.
func TestPrecommittedOutlivesNodes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		commit bool
		want   []int64
		state  txn.State
	}{{"commit", true, []int64{1000, 1001}, txn.Visible}, {"abort", false, nil, txn.Aborted}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := startFirstLife(t)
				res, err := l.n.Loader().Normal(t.Context(), func() *behttp.NormalLoad {
					n := normalLoad(l.f, "mine", 1, 2, io.EOF)
					n.TwoPhase = true
					return n
				}())
				if err != nil || res.TxnID == 0 || res.Visible {
					t.Fatalf("%+v, %v", res, err)
				}
				for range 2 {
					l.powerFails()
					// Long enough for everything that cleans up after restarts.
					time.Sleep(3 * settleEvery)
					if s := stateOf(l.f, "mine"); s != txn.Precommitted {
						t.Fatalf("%s after a restart", s)
					}
					if pending := l.n.Engine.PendingTxns(); !slices.Equal(pending, []int64{res.TxnID}) {
						t.Fatalf("pending are %v", pending)
					}
				}
				// The label stays taken, and tells by whom.
				_, err = l.n.Loader().Normal(t.Context(), normalLoad(l.f, "mine", 2, 1, io.EOF))
				var used *behttp.LabelExistsError
				if !errors.As(err, &used) || *used != (behttp.LabelExistsError{Label: "mine", TxnID: res.TxnID, State: "PRECOMMITTED"}) {
					t.Fatalf("%v", err)
				}
				if err := l.n.Loader().FinishTwoPhase(t.Context(), "", &behttp.TwoPhase{RequestID: [16]byte{1}, DB: "d", Label: "mine", Commit: tt.commit}); err != nil {
					t.Fatal(err)
				}
				if s := stateOf(l.f, "mine"); s != tt.state {
					t.Errorf("%s after the second phase", s)
				}
				l.want(tt.want...)
				time.Sleep(3 * settleEvery)
				if pending := l.n.Engine.PendingTxns(); len(pending) > 0 {
					t.Errorf("pending are %v", pending)
				}
				l.powerFails()
				time.Sleep(3 * settleEvery)
				l.want(tt.want...)
				l.end()
			})
		})
	}
}

// TestLabelIsFreeAfterAFailedLoad, at once, whatever the failure was.
func TestLabelIsFreeAfterAFailedLoad(t *testing.T) {
	for _, tt := range []struct {
		name string
		// break makes the first load fail.
		load func(l *life, n *behttp.NormalLoad) error
		end  error
	}{
		{"bad rows", nil, doriserr.New(doriserr.DataQuality, "too many filtered rows")},
		{"the client went away within the body", func(l *life, n *behttp.NormalLoad) error {
			ctx, cancel := context.WithCancel(l.Context())
			n.Blocks.(*blocks).end = errors.New("sender is gone")
			cancel()
			_, err := l.n.Loader().Normal(ctx, n)
			return err
		}, nil},
		{"the client went away before the begin was answered", func(l *life, n *behttp.NormalLoad) error {
			ctx, cancel := context.WithCancel(l.Context())
			l.f.setGate(func(gate context.Context, c meta.Command) error {
				if _, ok := c.(*meta.BeginTxn); ok {
					cancel()
					<-gate.Done()
					return doriserr.New(doriserr.Unknown, "no answer")
				}
				return nil
			})
			defer l.f.setGate(nil)
			_, err := l.n.Loader().Normal(ctx, n)
			return err
		}, nil},
		{"the time was up", func(l *life, n *behttp.NormalLoad) error {
			ctx, cancel := context.WithTimeout(l.Context(), time.Second)
			defer cancel()
			time.Sleep(2 * time.Second)
			_, err := l.n.Loader().Normal(ctx, n)
			return err
		}, nil},
		{"the backend lost its power", func(l *life, n *behttp.NormalLoad) error {
			failed := make(chan error, 1)
			reached := make(chan struct{})
			n.Blocks = stuck(reached)
			loader := l.n.Loader()
			go func() {
				ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
				defer cancel()
				_, err := loader.Normal(ctx, n)
				failed <- err
			}()
			<-reached
			l.powerFails()
			return <-failed
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := startFirstLife(t)
				end := tt.end
				if end == nil {
					end = io.EOF
				}
				load := normalLoad(l.f, "mine", 1, 1, end)
				run := tt.load
				if run == nil {
					run = func(l *life, n *behttp.NormalLoad) error {
						_, err := l.n.Loader().Normal(l.Context(), n)
						return err
					}
				}
				if err := run(l, load); err == nil {
					t.Fatal("the load succeeded")
				}
				synctest.Wait() // what settles open transactions is done
				res, err := l.n.Loader().Normal(t.Context(), normalLoad(l.f, "mine", 2, 1, io.EOF))
				if err != nil || !res.Visible {
					t.Fatalf("the retry: %+v, %v", res, err)
				}
				l.want(2000)
				l.end()
			})
		})
	}
}

// stuck is a body that never comes: its sender waits.
type stuck chan struct{}

func (s stuck) Next(ctx context.Context) (*block.Block, error) {
	close(s)
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestPublishTimeout: a load whose rows are committed and that nobody publishes
// is answered after half of txn_commit_rpc_timeout_ms, and is no failure.
func TestPublishTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startFirstLife(t)
		l.f.setGate(func(ctx context.Context, c meta.Command) error {
			if _, ok := c.(*meta.PublishDone); ok {
				return doriserr.New(doriserr.Unknown, "no answer")
			}
			return nil
		})
		start := time.Now()
		res, err := l.n.Loader().Normal(t.Context(), normalLoad(l.f, "late", 1, 1, io.EOF))
		if took := time.Since(start); err != nil || res.Visible || took < 90*time.Second || took > 91*time.Second {
			t.Errorf("%+v, %v after %s", res, err, took)
		}
		if s := stateOf(l.f, "late"); s != txn.Committed {
			t.Errorf("the load is %s", s)
		}
		l.f.setGate(nil)
		if err := l.f.idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.want(1000)
		l.end()
	})
}

// TestForgottenLeavesNothing: rowsets of an aborted load go even if nobody knows
// its label any more when their backend asks.
func TestForgottenLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startFirstLife(t)
		load := normalLoad(l.f, "mine", 1, 1, io.EOF)
		load.TwoPhase = true
		loader := l.n.Loader()
		if _, err := loader.Normal(t.Context(), load); err != nil {
			t.Fatal(err)
		}
		if err := loader.FinishTwoPhase(t.Context(), "", &behttp.TwoPhase{DB: "d", Label: "mine"}); err != nil {
			t.Fatal(err)
		}
		if res, err := l.f.Propose(t.Context(), &meta.CleanLabel{DBID: load.Plan.DBID}); err != nil || res.Count != 1 {
			t.Fatalf("%+v, %v", res, err)
		}
		if pending := l.n.Engine.PendingTxns(); len(pending) != 1 {
			t.Fatalf("pending are %v: the test shows nothing", pending)
		}
		time.Sleep(3 * settleEvery)
		if pending := l.n.Engine.PendingTxns(); len(pending) > 0 {
			t.Errorf("pending are %v", pending)
		}
		l.end()
	})
}
