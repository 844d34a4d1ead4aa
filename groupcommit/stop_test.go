package groupcommit

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
)

// TestStop: an orderly stop commits what is open; when its time is up sync
// waiters have an answer and async rows are in their WAL. goleak sees to
// the rest.
func TestStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		fs := vfs.NewMem()
		n := start(t, fs, f, nil)
		tb := testTable(1)
		tb.IntervalMs = 60_000
		var wg sync.WaitGroup
		for i := range int64(10) {
			wg.Go(func() {
				if ack := n.mustAdd(newLoad(tb, i%2 == 0, i, 1)); ack.Async != (i%2 == 0) {
					t.Errorf("%+v", ack)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		n.end()
		wg.Wait()
		if took := time.Since(begin); took > 0 {
			t.Fatalf("stop took %v", took)
		}
		wantRows(t, f, 1, ints(0, 10)...)
		if all, _ := f.groups(); all != 0 {
			t.Fatalf("%d groups left", all)
		}
		if _, err := n.add(newLoad(tb, true, 100, 1)); !doriserr.Is(err, doriserr.Stopping) {
			t.Fatal(err)
		}
		if _, err := n.AddAlone(t.Context(), newLoad(tb, true, 100, 1), nil); !doriserr.Is(err, doriserr.Stopping) {
			t.Fatal(err)
		}
	})
}

// TestStopWithoutCluster: the FE is gone at the same time.
func TestStopWithoutCluster(t *testing.T) {
	for _, op := range []string{"Begin", "Write", "Commit", "Release"} {
		bubble(t, func(t *testing.T) {
			f := newFSM(t)
			fs := vfs.NewMem()
			var down atomic.Bool
			n := start(t, fs, f, func(n *node, _ *Options) {
				n.sink.before = func(ctx context.Context, o string, _ Txn) error {
					if down.Load() && o == op {
						if op == "Write" {
							<-ctx.Done()
							return ctx.Err()
						}
						return errBroken
					}
					return nil
				}
			})
			tb := testTable(1)
			tb.IntervalMs = 60_000
			down.Store(op == "Begin")
			var wg sync.WaitGroup
			var mu sync.Mutex
			errs := map[int64]error{}
			for i := range int64(10) {
				wg.Go(func() {
					_, err := n.add(newLoad(tb, i%2 == 0, i, 1))
					mu.Lock()
					errs[i] = err
					mu.Unlock()
				})
			}
			synctest.Wait()
			down.Store(true)
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			begin := time.Now()
			err := n.Stop(ctx)
			if took := time.Since(begin); took > 11*time.Second || (err == nil) != (op == "Begin" || op == "Release") {
				t.Errorf("%s: stop: %v after %v", op, err, took)
			}
			synctest.Wait()
			if len(errs) != 10 {
				t.Errorf("%s: only %d of 10 have an answer", op, len(errs))
			}
			wg.Wait()
			if err := n.wals.Close(); err != nil {
				t.Fatal(err)
			}
			want := map[string][2]doriserr.Kind{"Begin": {doriserr.Stopping, doriserr.Stopping}, "Write": {0, doriserr.Stopping}, "Commit": {0, doriserr.Unknown}}[op]
			for i, err := range errs {
				if k := want[i%2]; (k == 0) != (err == nil) || err != nil && !doriserr.Is(err, k) {
					t.Errorf("%s: load %d: %v", op, i, err)
				}
			}
			n = start(t, fs, f, nil)
			time.Sleep(10 * time.Second)
			n.end()
			var rows []int64
			for i := range int64(10) {
				if errs[i] == nil {
					rows = append(rows, i)
				}
			}
			if op == "Commit" { // the sync group ends with its life
				rows = []int64{0, 2, 4, 6, 8}
			}
			wantRows(t, f, 1, rows...)
			if _, prepare := f.groups(); prepare != 0 {
				t.Errorf("%s: %d groups in PREPARE", op, prepare)
			}
		})
	}
}

// TestStopWhileParked: unconfirmed loads of a group that waits for replay are
// answered by the stop.
func TestStopWhileParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		mem := vfs.NewMem()
		hang := make(chan struct{})
		fs := &hangingFS{FS: mem, hang: hang}
		n := start(t, fs, f, func(n *node, _ *Options) {
			failN(n.sink, "Commit", 1000, false, doriserr.New(doriserr.ExceededLimit, "too many versions"))
		})
		got := make(chan error, 1)
		go func() {
			_, err := n.Add(context.Background(), newLoad(testTable(1), true, 1, 1))
			got <- err
		}()
		time.Sleep(20 * time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err := n.Stop(ctx)
		close(hang)
		if addErr := <-got; !doriserr.Is(addErr, doriserr.Unknown) && addErr != nil {
			t.Fatalf("stop %v, load: %v", err, addErr)
		}
		if err := n.wals.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// hangingFS has a disk whose fsyncs of data do not return until hang is closed.
type hangingFS struct {
	vfs.FS
	hang chan struct{}
}

type hangingFile struct {
	vfs.File
	hang chan struct{}
}

func (f *hangingFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &hangingFile{File: file, hang: f.hang}, nil
}

func (f *hangingFile) SyncData() error {
	<-f.hang
	return f.File.SyncData()
}

// TestHungDisk: a disk that hangs holds up nobody whose group can be committed.
func TestHungDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		hang := make(chan struct{})
		n := start(t, &hangingFS{FS: vfs.NewMem(), hang: hang}, f, nil)
		if ack := n.mustAdd(newLoad(testTable(1), true, 1, 1)); ack.Async || !ack.Visible {
			t.Fatalf("%+v", ack)
		}
		close(hang)
		n.end()
		wantRows(t, f, 1, 1)
	})
}

func TestNewNeedsItsParts(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Fatal(errors.New("made without WAL and Sink"))
	}
}

// TestStopWhileRecovering: the take-over of the WALs either counts for the stop
// or does not begin; the race detector is the judge.
func TestStopWhileRecovering(t *testing.T) {
	f := newFSM(t)
	disk, _ := crashWith(t, f, nil)
	for i := range 40 {
		wals, err := wal.Open(disk.CrashClone(vfs.CrashCloneCfg{}), []string{"/wal"}, wal.Options{Rand: &countRand{}, Limit: "1000000000"})
		if err != nil {
			t.Fatal(err)
		}
		sink := f.newLife()
		sink.before = func(ctx context.Context, _ string, _ Txn) error {
			<-ctx.Done()
			return ctx.Err()
		}
		m, err := New(Options{
			WAL: wals, Sink: sink, Rand: &countRand{}, Logger: slog.New(slog.DiscardHandler),
			ClusterID: "c", BackendUUID: "u", BackendID: 10001,
		})
		if err != nil {
			t.Fatal(err)
		}
		recovered := make(chan error, 1)
		go func() { recovered <- m.Recover(context.Background()) }()
		for range i * i { // now the stop comes first, now the recovery
			runtime.Gosched()
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = m.Stop(ctx) // it says that something is left, or nothing was begun
		if err := <-recovered; err != nil && !doriserr.Is(err, doriserr.Stopping) {
			t.Error(err)
		}
		if err := wals.Close(); err != nil {
			t.Error(err)
		}
	}
}
