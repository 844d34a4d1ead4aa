package wal

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestAppendIsDurable drops everything that was not fsynced, after each append:
// the records of all appends that returned are there.
func TestAppendIsDurable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	m := openTest(t, fs)
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := w.Append(t.Context(), reqID(i), i+1, payload(i)); err != nil {
			t.Fatal(err)
		}
		h, recs, err := readAll(fs.CrashClone(vfs.CrashCloneCfg{}), w.Path())
		if err != nil {
			t.Fatal(err)
		}
		checkRecords(t, recs, i+1, "after a crash")
		if h.Label != testHeader(7).Label || len(h.Columns) != 3 {
			t.Fatalf("header %+v", h)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Enqueue(reqID(9), 1, nil); !errors.Is(err, ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

// TestConcurrentAppends: nothing is lost or mixed up, and loads share fsyncs.
func TestConcurrentAppends(t *testing.T) {
	gate := make(chan struct{})
	var syncs atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && syncs.Add(1) == 1 {
			<-gate
		}
		return nil
	}))
	m := openTest(t, fs)
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	first, err := w.Enqueue(reqID(0), 1, payload(0))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() {
			if err := w.Append(t.Context(), reqID(i), i+1, payload(i)); err != nil {
				t.Error(err)
			}
		})
	}
	close(gate)
	wg.Wait()
	if err := errors.Join(first.Wait(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
	_, recs, err := readAll(fs, w.Path())
	if err != nil || len(recs) != n {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	seen := map[[16]byte]bool{}
	for _, r := range recs {
		seen[r.RequestID] = true
		if !bytes.Equal(r.Encoded, payload(r.Rows-1)) {
			t.Fatalf("record %+v", r)
		}
	}
	if frames, records := w.Counts(); len(seen) != n || records != n || frames != syncs.Load() {
		t.Fatalf("%d ids, %d frames, %d records, %d fsyncs", len(seen), frames, records, syncs.Load())
	}
}

// TestOneRowFrameIsSmall: a one-row load of (int, varchar of 6, int) is at most
// 20 bytes in the block codec; its frame has less than 60.
func TestOneRowFrameIsSmall(t *testing.T) {
	frame := appendRecord(make([]byte, frameHeader), reqID(0), 1, make([]byte, 20))
	if len(frame) >= 60 {
		t.Fatalf("%d bytes", len(frame))
	}
}

// TestDeadAfterError: after a failed write or fsync everybody who waits gets an
// error, the owner is told first, and the file takes nothing more.
func TestDeadAfterError(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFileWriteAt, errorfs.OpFileSyncData} {
		mem := vfs.NewMem()
		var armed atomic.Bool
		boom := errors.New("input/output error")
		reached, gate := make(chan struct{}), make(chan struct{})
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == kind && armed.Load() {
				close(reached)
				<-gate
				return boom
			}
			return nil
		}))
		m := openTest(t, fs)
		var told atomic.Bool
		w, err := m.Create(t.Context(), testHeader(7), func(error) { told.Store(true) })
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(t.Context(), reqID(0), 1, payload(0)); err != nil {
			t.Fatal(err)
		}
		armed.Store(true)
		p1, err1 := w.Enqueue(reqID(1), 2, payload(1))
		<-reached
		p2, err2 := w.Enqueue(reqID(2), 3, payload(2))
		close(gate)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Pending{p1, p2} {
			if err := p.Wait(t.Context()); !errors.Is(err, ErrDead) || !errors.Is(err, boom) || !told.Load() {
				t.Fatalf("waiter got %v, owner told: %v", err, told.Load())
			}
		}
		size := len(readFile(t, mem, w.Path()))
		if _, err := w.Enqueue(reqID(3), 1, payload(3)); !errors.Is(err, ErrDead) {
			t.Fatal(err)
		}
		if err := w.Close(); !errors.Is(err, boom) {
			t.Fatal(err)
		}
		if got := len(readFile(t, mem, w.Path())); got != size {
			t.Fatalf("file grew from %d to %d after the error", size, got)
		}
		if m.Counters().Failures != 1 {
			t.Fatalf("%+v", m.Counters())
		}
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	gate := make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			<-gate
		}
		return nil
	}))
	m := openTest(t, fs)
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Append(ctx, reqID(0), 1, payload(0)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(gate)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNoSync: group_commit_wal_sync=false acknowledges from the page cache.
func TestNoSync(t *testing.T) {
	var syncs atomic.Int64
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			syncs.Add(1)
		}
		return nil
	}))
	m, err := Open(fs, []string{"/wal"}, Options{NoSync: true, Rand: &fixedRand{}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(t.Context(), reqID(0), 1, payload(0)), w.Close(), m.Close()); err != nil {
		t.Fatal(err)
	}
	if syncs.Load() != 0 {
		t.Fatalf("%d fsyncs", syncs.Load())
	}
}

func TestEnqueueRespectsLimit(t *testing.T) {
	fs := vfs.NewMem()
	m, err := Open(fs, []string{"/wal"}, Options{Limit: "1000", Rand: &fixedRand{}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	w, err := m.Create(t.Context(), testHeader(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Enqueue(reqID(0), 1, make([]byte, 1000)); !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "/wal") {
		t.Fatalf("error %v, want ErrNoSpace that names the directory", err)
	}
	if err := errors.Join(w.Append(t.Context(), reqID(0), 1, make([]byte, 100)), w.Close()); err != nil {
		t.Fatal(err)
	}
	if s := m.Space()[0]; s.Used != w.Bytes() || s.Available != 1000-w.Bytes() {
		t.Fatalf("%+v, file has %d", s, w.Bytes())
	}
	if err := m.Remove(w.Path()); err != nil {
		t.Fatal(err)
	}
	if got := m.Available(); got != 1000 {
		t.Fatalf("%d bytes available after removal", got)
	}
}

// TestHold: held records are written when they are kicked, when a record joins
// that is not held, and when the file is sealed; each time in one frame. What
// waits for a frame is told once.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		name string
		let  func(w *Writer) error
		more int
	}{
		{"kick", func(w *Writer) error { w.Kick(); return nil }, 0},
		{"two kicks", func(w *Writer) error { w.Kick(); w.Kick(); return nil }, 0},
		{"another record", func(w *Writer) error { _, err := w.Enqueue(reqID(3), 4, payload(3)); return err }, 1},
		{"seal", func(w *Writer) error { w.Seal(); return nil }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			fs := vfs.NewMem()
			m := openTest(t, fs)
			w, err := m.Create(t.Context(), testHeader(7), nil)
			if err != nil {
				t.Fatal(err)
			}
			w.Kick() // nothing is held
			var last *Pending
			told := 0
			for i := range 3 {
				if last, err = w.Hold(reqID(i), i+1, payload(i)); err != nil {
					t.Fatal(err)
				}
				last.Then(func() { told++ })
			}
			synctest.Wait()
			if frames, _ := w.Counts(); frames != 0 || told != 0 {
				t.Errorf("%s: %d frames, %d told before it", c.name, frames, told)
			}
			if err := c.let(w); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			frames, records := w.Counts()
			if frames != 1 || records != int64(3+c.more) || told != 3 || last.Err() != nil {
				t.Errorf("%s: %d frames, %d records, %d told, %v", c.name, frames, records, told, last.Err())
			}
			last.Then(func() { told++ })
			if told != 4 {
				t.Errorf("%s: a frame that is done tells nobody", c.name)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			_, recs, err := readAll(fs, w.Path())
			if err != nil {
				t.Fatal(err)
			}
			checkRecords(t, recs, 3+c.more, c.name)
		})
	}
}

// TestDeathIsTold: who waits for a frame hears of the file's death, also if the
// frame was held.
func TestDeathIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		m := openTest(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileSyncData {
				<-gate
				return errors.New("input/output error")
			}
			return nil
		})))
		w, err := m.Create(t.Context(), testHeader(7), nil)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for i, enqueue := range []func([16]byte, int, []byte) (*Pending, error){w.Enqueue, w.Hold} {
			p, err := enqueue(reqID(i), i+1, payload(i))
			if err != nil {
				t.Fatal(err)
			}
			p.Then(func() {
				if told++; !errors.Is(p.Err(), ErrDead) {
					t.Errorf("record %d: %v", i, p.Err())
				}
			})
			synctest.Wait() // the first one is being written
		}
		close(gate)
		synctest.Wait()
		if told != 2 {
			t.Errorf("%d of 2 were told", told)
		}
		if err := w.Close(); err == nil {
			t.Error("a dead file closes without its error")
		}
	})
}
