package wal

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// hangingDisk is a disk whose fsyncs of data wait for a word on gate while it
// hangs; what comes on gate is their result.
type hangingDisk struct {
	hangs atomic.Bool
	gate  chan error
}

func newHangingDisk() (*hangingDisk, vfs.FS) {
	d := &hangingDisk{gate: make(chan error)}
	return d, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && d.hangs.Load() {
			return <-d.gate
		}
		return nil
	}))
}

func isDone(p *Pending) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// TestFlush: small frames are written by the goroutine that flushes, unless
// another one writes; then the file's own goroutine does it, and all else.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, fs := newHangingDisk()
		m := openTest(t, fs)
		w, err := m.Create(t.Context(), testHeader(7), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		hold := func(size int) *Pending {
			t.Helper()
			p, err := w.Hold(reqID(n), n+1, append(payload(n), make([]byte, size)...))
			if err != nil {
				t.Fatal(err)
			}
			n++
			return p
		}
		w.Flush() // of nothing
		first := hold(0)
		if again := hold(0); again != first || isDone(first) {
			t.Error("held records have a frame each, or are written at once")
		}
		told := false
		first.Then(func() { told = true })
		w.Flush()
		if !isDone(first) || first.Err() != nil || !told {
			t.Errorf("after Flush: done %t, told %t", isDone(first), told)
		}

		disk.hangs.Store(true)
		large := hold(flushMost)
		w.Flush() // waits for nothing
		synctest.Wait()
		if isDone(large) {
			t.Error("a large frame is done, and the disk hangs")
		}
		disk.gate <- nil
		synctest.Wait()
		if !isDone(large) {
			t.Error("a large frame was not written")
		}

		// Two goroutines: the second one must not wait for the first one's disk.
		slow := hold(0)
		go w.Flush()
		synctest.Wait()
		next := hold(0)
		w.Flush()
		third := hold(0)
		if third != next || isDone(slow) {
			t.Error("a frame was written beside another one")
		}
		disk.gate <- nil
		synctest.Wait()
		if !isDone(slow) || isDone(next) {
			t.Errorf("slow %t, next %t: the next frame is to be written now", isDone(slow), isDone(next))
		}
		disk.gate <- nil
		synctest.Wait()
		if !isDone(next) {
			t.Error("the frame of a Flush beside another one was not written")
		}

		// Seal during a Flush: what waits is written, and the file closed.
		last := hold(0)
		go w.Flush()
		synctest.Wait()
		waits := hold(0)
		w.Seal()
		w.Flush()
		disk.gate <- nil
		synctest.Wait()
		disk.gate <- nil
		<-w.Finished()
		if !isDone(last) || !isDone(waits) || w.Err() != nil {
			t.Error("Seal lost a frame")
		}
		_, recs, err := readAll(fs, w.Path())
		if err != nil || len(recs) != n {
			t.Fatalf("%d records of %d, %v", len(recs), n, err)
		}
		if !slices.IsSortedFunc(recs, func(a, b Record) int { return a.Rows - b.Rows }) {
			t.Error("the records are in another order than they were given")
		}
	})
}

// TestFlushDies: an error of the disk during Flush is everybody's.
func TestFlushDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, fs := newHangingDisk()
		m := openTest(t, fs)
		var why error
		w, err := m.Create(t.Context(), testHeader(7), func(err error) { why = err })
		if err != nil {
			t.Fatal(err)
		}
		disk.hangs.Store(true)
		p, err := w.Hold(reqID(0), 1, payload(0))
		if err != nil {
			t.Fatal(err)
		}
		go w.Flush()
		synctest.Wait()
		q, err := w.Hold(reqID(1), 1, payload(1))
		if err != nil {
			t.Fatal(err)
		}
		boom := errors.New("input/output error")
		disk.gate <- boom
		<-w.Finished()
		for _, p := range []*Pending{p, q} {
			if !isDone(p) || !errors.Is(p.Err(), ErrDead) || !errors.Is(p.Err(), boom) {
				t.Errorf("done %t, %v", isDone(p), p.Err())
			}
		}
		if !errors.Is(why, boom) || !errors.Is(w.Err(), boom) {
			t.Errorf("the owner heard %v, the file says %v", why, w.Err())
		}
		w.Flush() // of a dead file
	})
}

// TestWaive: who waits by Then for frames that a disk does not finish is told
// once, and not again when it does.
func TestWaive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, fs := newHangingDisk()
		m := openTest(t, fs)
		w, err := m.Create(t.Context(), testHeader(7), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Waive() // nobody
		disk.hangs.Store(true)
		var told [2]int
		for i := range told {
			p, err := w.Hold(reqID(i), 1, payload(i))
			if err != nil {
				t.Fatal(err)
			}
			p.Then(func() { told[i]++ })
			w.Kick()
			synctest.Wait()
		}
		w.Waive()
		if told != [2]int{1, 1} {
			t.Errorf("told %v times", told)
		}
		late, err := w.Hold(reqID(2), 1, payload(2))
		if err != nil {
			t.Fatal(err)
		}
		lateTold := 0
		late.Then(func() { lateTold++ })
		if lateTold != 1 {
			t.Error("who begins to wait after Waive is not told at once")
		}
		disk.gate <- nil
		synctest.Wait()
		disk.hangs.Store(false)
		disk.gate <- nil
		if err := w.Close(); err != nil || told != [2]int{1, 1} || lateTold != 1 {
			t.Errorf("%v, told %v and %d times", err, told, lateTold)
		}
	})
}
