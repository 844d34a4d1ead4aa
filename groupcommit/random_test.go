package groupcommit

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dorisgo/doriserr"
)

var (
	firstSeed = flag.Uint64("first-seed", 0, "where TestRandomFaults begins")
	seeds     = flag.Uint64("seeds", 10, "how many runs TestRandomFaults makes")
)

// TestRandomFaults runs clients against several lives of a backend in which
// calls fail or lose their answers, the disk fails now and then, schemas change,
// and each life but the last ends in a crash. Then: a load that was answered
// with success is there once, one that was told "failed" is not there, and one
// with an unknown outcome at most once.
func TestRandomFaults(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		bubble(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("go test -run RandomFaults -first-seed %d -seeds 1", seed)
				}
			}()
			randomFaults(t, seed)
		})
	}
}

type randomRun struct {
	t   *testing.T
	mu  sync.Mutex
	rng *rand.Rand
	// What clients were told about each row.
	ok, failed, unknown []int64
	calm                atomic.Bool
}

func (r *randomRun) chance(percent int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.calm.Load() && r.rng.IntN(100) < percent
}

func (r *randomRun) pause(most time.Duration) {
	r.mu.Lock()
	d := time.Duration(r.rng.Int64N(int64(most)))
	r.mu.Unlock()
	time.Sleep(d)
}

func (r *randomRun) fault(op string, open bool) error {
	r.pause(20 * time.Millisecond)
	switch {
	case r.chance(15):
		return errBroken
	case r.chance(10):
		return doriserr.New(doriserr.Unknown, "lost")
	case r.chance(5) && open && (op == "Commit" || op == "Write"):
		return doriserr.New(doriserr.ExceededLimit, "too many versions")
	}
	return nil
}

func (r *randomRun) told(row int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.ok = append(r.ok, row)
	case doriserr.Is(err, doriserr.Unknown):
		r.unknown = append(r.unknown, row)
	default:
		r.failed = append(r.failed, row)
	}
}

func randomFaults(t *testing.T, seed uint64) {
	r := &randomRun{t: t, rng: rand.New(rand.NewPCG(seed, 7))}
	f := newFSM(t)
	disk := vfs.NewCrashableMem()
	const lives = 3
	for life := range int64(lives) {
		faulty := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpRemove) && r.chance(3) {
				return errors.New("input/output error")
			}
			return nil
		}))
		r.calm.Store(true) // a start needs its directory
		n := start(t, faulty, f, func(n *node, o *Options) {
			o.MaxWALsPerTable = 20
			n.sink.before = func(_ context.Context, op string, x Txn) error {
				// What was decided is not decided otherwise later.
				f.mu.Lock()
				open := f.txns[x.ID] != nil && f.txns[x.ID].state == StatePrepare
				f.mu.Unlock()
				return r.fault(op, open)
			}
			n.sink.after = func(_ context.Context, op string, _ Txn) error {
				if r.chance(15) && op != "Write" {
					return errBroken
				}
				return nil
			}
		})
		r.calm.Store(false)
		var wg sync.WaitGroup
		for client := range int64(8) {
			wg.Go(func() { r.client(n, life, client) })
		}
		if life < lives-1 {
			r.pause(8 * time.Second)
			r.mu.Lock()
			crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: r.rng})
			r.mu.Unlock()
			n.die()
			wg.Wait()
			disk = crashed
			continue
		}
		wg.Wait()
		r.calm.Store(true)
		time.Sleep(2 * time.Hour)
		n.end()
	}
	synctest.Wait()
	r.check(f)
}

func (r *randomRun) client(n *node, life, client int64) {
	for i := range int64(30) {
		r.pause(500 * time.Millisecond)
		row := life*10_000 + client*1000 + i*10
		tb := testTable(1 + client%2)
		tb.Ordered = client%2 == 1
		tb.SchemaVersion = int32(life*10 + i/10)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		l := newLoad(tb, client < 5, row, 1)
		if r.chance(5) {
			l.Bytes = int64(tb.DataBytes) + 1 // alone
		}
		_, err := n.Add(ctx, l)
		if r.chance(30) && !n.sink.cut.Load() && (err == nil || doriserr.Is(err, doriserr.Unknown)) {
			if _, again := n.Add(ctx, l); err != nil {
				err = again
			}
		}
		cancel()
		r.told(row, err)
	}
}

func (r *randomRun) check(f *fsm) {
	rows := append(f.visible(1), f.visible(2)...)
	slices.Sort(rows)
	for _, row := range r.ok {
		if _, ok := slices.BinarySearch(rows, row); !ok {
			r.t.Errorf("row %d was acknowledged and is lost", row)
		}
	}
	for _, row := range r.failed {
		if _, ok := slices.BinarySearch(rows, row); ok {
			r.t.Errorf("row %d was told to have failed and is there", row)
		}
	}
	if len(r.ok) < 100 || len(r.failed) == 0 {
		r.t.Errorf("%d loads succeeded, %d failed: the test tests little", len(r.ok), len(r.failed))
	}
	for id, x := range f.txns {
		if x.state == StatePrepare {
			r.t.Errorf("transaction %d is left open: %+v", id, *x)
		}
	}
}
