package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dorisgo/block"
	"dorisgo/doriserr"
)

// failN makes the first n calls of op fail; after says whether they took effect.
func failN(s *sink, op string, n int, after bool, err error) {
	var mu sync.Mutex
	f := func(_ context.Context, o string, _ Txn) error {
		mu.Lock()
		defer mu.Unlock()
		if o == op && n > 0 {
			n--
			return err
		}
		return nil
	}
	if after {
		s.after = f
	} else {
		s.before = f
	}
}

// TestSyncFailureIsTold: every waiter of a sync group that cannot be written or
// committed gets the error, its transaction is aborted, and the next group works.
func TestSyncFailureIsTold(t *testing.T) {
	for _, tc := range []struct {
		op   string
		err  error
		kind doriserr.Kind
	}{
		{"Write", errors.New("tablet 5 has 1 of 3 replicas"), doriserr.Internal},
		{"Write", doriserr.New(doriserr.Unknown, "backend 3: connection broken"), doriserr.Internal},
		{"Commit", doriserr.New(doriserr.ExceededLimit, "too many versions"), doriserr.ExceededLimit},
	} {
		bubble(t, func(t *testing.T) {
			f := newFSM(t)
			var failed int
			n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
				failN(n.sink, tc.op, 1, false, tc.err)
				o.Events.Failed = func(g GroupInfo, err error) { failed = g.Loads }
			})
			defer n.end()
			tb := testTable(1)
			var wg sync.WaitGroup
			for i := range int64(20) {
				wg.Go(func() {
					if _, err := n.add(newLoad(tb, false, i, 1)); !doriserr.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.err.Error()) {
						t.Errorf("%s: load %d: %v", tc.op, i, err)
					}
				})
			}
			wg.Wait()
			if _, err := n.add(newLoad(tb, false, 0, 1)); !doriserr.Is(err, tc.kind) {
				t.Errorf("a repeat got %v", err)
			}
			n.mustAdd(newLoad(tb, false, 100, 1))
			wantRows(t, f, 1, 100)
			time.Sleep(10 * time.Second)
			if all, _ := f.groups(); all != 0 || failed != 20 || n.Counters().Failed.Load() != 1 {
				t.Fatalf("%d groups left, %d loads failed", all, failed)
			}
		})
	}
}

// TestUnknownOutcomesAreAskedAgain: every call takes effect and its answer is
// lost, five times each: each row is there once, nobody hears "failed".
func TestUnknownOutcomesAreAskedAgain(t *testing.T) {
	for _, err := range []error{errBroken, doriserr.New(doriserr.Unknown, "lost"), context.DeadlineExceeded, doriserr.New(doriserr.NotLeader, "no leader")} {
		bubble(t, func(t *testing.T) {
			f := newFSM(t)
			n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
				lost := map[string]int{}
				var mu sync.Mutex
				fail := func(_ context.Context, op string, x Txn) error {
					mu.Lock()
					defer mu.Unlock()
					k := fmt.Sprint(op, x.ID)
					if lost[k]++; lost[k] <= 5 && op != "Write" {
						return err
					}
					return nil
				}
				if n.sink.after = fail; doriserr.Is(err, doriserr.NotLeader) {
					n.sink.before, n.sink.after = fail, nil
				}
			})
			defer n.end()
			tb := testTable(1)
			var wg sync.WaitGroup
			for i := range int64(20) {
				wg.Go(func() {
					if ack := n.mustAdd(newLoad(tb, i%2 == 0, i, 1)); ack.Visible == ack.Async {
						t.Errorf("%+v", ack)
					}
				})
			}
			wg.Wait()
			time.Sleep(20 * time.Second)
			wantRows(t, f, 1, ints(0, 20)...)
			if all, _ := f.groups(); all != 0 {
				t.Fatalf("%d groups left", all)
			}
		})
	}
}

// TestUndecidedCommit: a waiter whose time is up hears that the outcome is
// unknown; only a sync one is pointed to the label.
func TestUndecidedCommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var down atomic.Bool
		down.Store(true)
		n := start(t, vfs.NewMem(), f, func(n *node, _ *Options) {
			n.sink.before = func(_ context.Context, op string, _ Txn) error {
				if op == "Commit" && down.Load() {
					return errBroken
				}
				return nil
			}
		})
		defer n.end()
		tb := testTable(1)
		_, err := n.add(newLoad(tb, false, 1, 1))
		if !doriserr.Is(err, doriserr.Unknown) || !strings.Contains(err.Error(), "timeout") || !strings.Contains(err.Error(), "group_commit_") {
			t.Fatal(err)
		}
		down.Store(false)
		time.Sleep(2 * time.Second)
		wantRows(t, f, 1, 1)
	})
}

// TestFailedCommitIsReplayed: an async group that cannot be written or committed
// gives its memory back, is tried again from its WAL, and each row comes once.
func TestFailedCommitIsReplayed(t *testing.T) {
	for _, op := range []string{"Write", "Commit", "TakeOver"} {
		bubble(t, func(t *testing.T) {
			f := newFSM(t)
			mem := vfs.NewMem()
			n := start(t, mem, f, func(n *node, _ *Options) {
				left := map[string]int{"Commit": 1, op: 3}
				n.sink.before = func(_ context.Context, o string, _ Txn) error {
					if left[o] > 0 {
						left[o]--
						return doriserr.New(doriserr.ExceededLimit, "too many versions")
					}
					return nil
				}
			})
			defer n.end()
			tb := testTable(1)
			for i := range int64(10) {
				n.mustAdd(newLoad(tb, true, i, 1))
			}
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			wantRows(t, f, 1)
			s := n.Stats()[1]
			if used, _ := n.Memory(); used != 0 || s.Waiting != 1 || s.WaitingBytes == 0 || !strings.Contains(s.LastError, "too many versions") || s.Oldest.IsZero() {
				t.Fatalf("%d bytes held, %+v", used, s)
			}
			n.mustAdd(newLoad(tb, true, 5, 1)) // a repeat while it waits
			time.Sleep(5 * time.Minute)
			wantRows(t, f, 1, ints(0, 10)...)
			if s := n.Stats()[1]; s.Waiting != 0 || s.Groups != 0 || n.Counters().Replayed.Load() != 1 {
				t.Fatalf("%s: %+v", op, s)
			}
			if files, err := n.wals.Scan(t.Context()); err != nil || len(files) != 0 {
				t.Fatalf("%v %v", files, err)
			}
		})
	}
}

// TestWALErrorCommitsFromMemory: the disk fails while loads wait. Confirmed ones
// are safe, unconfirmed ones wait for VISIBLE, nobody hears "failed", and the
// next group works.
func TestWALErrorCommitsFromMemory(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFileWriteAt, errorfs.OpFileSyncData} {
		for _, commitFails := range []int{0, 2} {
			bubble(t, func(t *testing.T) {
				f := newFSM(t)
				var broken atomic.Bool
				gate := make(chan struct{})
				fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
					if op.Kind == kind && broken.Load() {
						<-gate
						return errors.New("input/output error")
					}
					return nil
				}))
				var dead GroupInfo
				n := start(t, fs, f, func(n *node, o *Options) {
					failN(n.sink, "Commit", commitFails, false, doriserr.New(doriserr.ExceededLimit, "too many versions"))
					o.Events.WALFailed = func(g GroupInfo, _ error) { dead = g }
				})
				defer n.end()
				tb := testTable(1)
				for i := range int64(5) {
					if ack := n.mustAdd(newLoad(tb, true, i, 1)); !ack.Async {
						t.Fatalf("%+v", ack)
					}
				}
				broken.Store(true)
				begin := time.Now()
				var wg sync.WaitGroup
				for i := int64(5); i < 8; i++ {
					wg.Go(func() {
						if ack := n.mustAdd(newLoad(tb, true, i, 1)); ack.Async || !ack.Visible {
							t.Errorf("%+v", ack)
						}
					})
				}
				synctest.Wait() // one is in the frame that fails, two wait
				close(gate)
				wg.Wait()
				if took := time.Since(begin); commitFails == 0 && took > 0 {
					t.Fatalf("the group was not sealed at once: %v", took)
				}
				broken.Store(false)
				time.Sleep(2 * time.Second)
				if ack := n.mustAdd(newLoad(tb, true, 10, 1)); !ack.Async {
					t.Fatalf("healed: %+v", ack)
				}
				time.Sleep(time.Minute)
				wantRows(t, f, 1, append(ints(0, 8), 10)...)
				if used, _ := n.Memory(); used != 0 || dead.Table != "t1" {
					t.Fatalf("%d bytes held, event %+v", used, dead)
				}
			})
		}
	}
}

// TestOrderedTableCommitsInOrder: the first group's write is slow, or its commit
// is refused at first; later ones wait for it, whatever their mode.
func TestOrderedTableCommitsInOrder(t *testing.T) {
	for _, refused := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			f := newFSM(t)
			var writes atomic.Int64
			n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
				o.MaxWALsPerTable = -1
				n.sink.before = func(_ context.Context, op string, _ Txn) (err error) {
					if op == "Write" && writes.Add(1) == 1 {
						if time.Sleep(3500 * time.Millisecond); refused {
							err = errors.New("no replica")
						}
					}
					return err
				}
			})
			defer n.end()
			tb := testTable(1)
			tb.Ordered = true
			var wg sync.WaitGroup
			ok := ints(0, 0)
			var mu sync.Mutex
			for i := range int64(30) {
				wg.Go(func() {
					if _, err := n.add(newLoad(tb, i%10 < 7, i, 1)); err == nil {
						mu.Lock()
						ok = append(ok, i)
						mu.Unlock()
					} else if !refused || !doriserr.Is(err, doriserr.ExceededLimit) {
						t.Errorf("load %d: %v", i, err)
					}
				})
				time.Sleep(250 * time.Millisecond)
			}
			wg.Wait()
			time.Sleep(time.Hour)
			slices.Sort(ok)
			wantRows(t, f, 1, ok...)
			if n := f.early.Load(); n > 0 {
				t.Fatalf("%d commits were asked for too early", n)
			}
			if !slices.IsSorted(f.commits) || len(f.commits) < 5 {
				t.Fatalf("commits %v", f.commits)
			}
			if !slices.IsSorted(f.rows[1]) {
				t.Fatalf("rows in order of commits: %v", f.rows[1])
			}
		})
	}
}

// streamSink takes blocks as they come.
type streamSink struct {
	*sink
	blocks int
}

func (s *streamSink) WriteStream(ctx context.Context, t Txn, table *Table, next Stream) (Written, error) {
	all := block.New(types(table.Columns))
	for {
		b, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return s.Write(ctx, t, table, all)
		}
		if err != nil {
			return nil, err
		}
		s.blocks++
		all.AppendBlock(b)
	}
}

// TestAlone: a load larger than a group goes alone and sync, whole or not at all.
func TestAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var st *streamSink
		n := start(t, vfs.NewMem(), f, func(n *node, o *Options) {
			st = &streamSink{sink: n.sink}
			o.Sink = st
		})
		defer n.end()
		tb := testTable(1)
		tb.DataBytes = 100
		begin := time.Now()
		var wg sync.WaitGroup
		for range 3 { // repeats
			wg.Go(func() {
				if ack := n.mustAdd(newLoad(tb, true, 0, 50)); ack.Async || !ack.Visible || ack.Rows != 50 || ack.Switched == "" {
					t.Errorf("%+v", ack)
				}
			})
		}
		wg.Wait()
		blocks := func(fail error) Stream {
			i := int64(0)
			return func(context.Context) (*block.Block, error) {
				if i++; i > 5 {
					return nil, errors.Join(fail, io.EOF)
				}
				b := block.New(types(tb.Columns))
				l := newLoad(tb, false, 100*i, 2)
				_, err := block.DecodeAppend(b, l.Encoded)
				return b, err
			}
		}
		if ack, err := n.AddAlone(t.Context(), &Load{Table: tb, RequestID: newRequest(1000)}, blocks(nil)); err != nil || ack.Rows != 10 || !ack.Visible {
			t.Fatalf("%+v, %v", ack, err)
		}
		if took := time.Since(begin); took > 0 || st.blocks != 6 {
			t.Fatalf("took %v, %d blocks", took, st.blocks)
		}
		gone := func(ctx context.Context) (*block.Block, error) { <-ctx.Done(); return nil, ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.AddAlone(ctx, &Load{Table: tb, RequestID: newRequest(1001)}, gone); err == nil {
			t.Fatal("a load whose client went away was stored")
		}
		time.Sleep(10 * time.Second)
		wantRows(t, f, 1, append(ints(0, 50), 100, 101, 200, 201, 300, 301, 400, 401, 500, 501)...)
		if all, _ := f.groups(); all != 0 {
			t.Fatalf("%d groups left", all)
		}
		if used, _ := n.Memory(); used != 0 {
			t.Fatalf("%d bytes held", used)
		}
		bad := newLoad(tb, true, 900, 50)
		bad.Rows = 49
		if _, err := n.add(bad); !doriserr.Is(err, doriserr.Corrupt) {
			t.Fatal(err)
		}
	})
}
