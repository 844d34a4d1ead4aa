package sink

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// holders are the backends that a commit names for the first tablet.
func holders(w *Written) []int64 { return w.Partitions[0].Tablets[0].Backends }

// TestSlowReplica: a majority is enough. A slow replica costs a bounded wait the
// first time and none as long as it is slow, its write goes on, and it is waited
// for again once it was in time.
func TestSlowReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3})
		var slow atomic.Int64
		slow.Store(int64(30 * time.Second))
		wr := &writer{delay: func(ctx context.Context, id int64) {
			d := 10 * time.Millisecond
			if id == 3 {
				d = time.Duration(slow.Load())
			}
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		}}
		s := newSink(nil, wr)
		defer s.Close()
		write := func(id int64) ([]int64, time.Duration) {
			start := time.Now()
			// The load's own context ends with it.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w, err := s.Write(ctx, Txn{ID: id}, tb, blockOf(tb, row{key(1), "a"}), false)
			if err != nil {
				t.Fatal(err)
			}
			return holders(w), time.Since(start)
		}
		if on, took := write(1); !slices.Equal(on, []int64{1, 2}) || took != 110*time.Millisecond {
			t.Errorf("first: %v after %v", on, took)
		}
		if on, took := write(2); !slices.Equal(on, []int64{1, 2}) || took != 10*time.Millisecond {
			t.Errorf("second: %v after %v", on, took)
		}
		time.Sleep(31 * time.Second)
		wr.mu.Lock()
		if got := wr.got[3]; got == nil || got.TxnId != 2 {
			t.Errorf("the late write came to %v", got)
		}
		wr.mu.Unlock()
		slow.Store(int64(5 * time.Millisecond))
		if on, _ := write(3); !slices.Equal(on, []int64{1, 2, 3}) {
			t.Errorf("in time: %v", on)
		}
		slow.Store(int64(50 * time.Millisecond))
		if on, took := write(4); !slices.Equal(on, []int64{1, 2, 3}) || took != 50*time.Millisecond {
			t.Errorf("after it was in time: %v after %v", on, took)
		}
		// One that is well again, but always a little behind the majority, is waited
		// for again as well.
		slow.Store(int64(time.Second))
		write(5)
		time.Sleep(2 * time.Second)
		slow.Store(int64(15 * time.Millisecond))
		write(6)
		time.Sleep(time.Second)
		if on, took := write(7); !slices.Equal(on, []int64{1, 2, 3}) || took != 15*time.Millisecond {
			t.Errorf("a little behind: %v after %v", on, took)
		}
	})
}

// TestHungReplica: what is kept for a backend that never answers is bounded, and
// given up after a while.
func TestHungReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3})
		var hung, ended atomic.Int32
		wr := &writer{delay: func(ctx context.Context, id int64) {
			if id == 3 {
				hung.Add(1)
				<-ctx.Done()
				ended.Add(1)
			}
		}}
		s := newSink(nil, wr)
		defer s.Close()
		big := make([]byte, 20<<20)
		for i := range int64(6) {
			w, err := s.Write(t.Context(), Txn{ID: i}, tb, blockOf(tb, row{key(1), string(big)}), false)
			if err != nil || !slices.Equal(holders(w), []int64{1, 2}) {
				t.Fatal(w, err)
			}
		}
		if n := hung.Load(); n != 3 {
			t.Errorf("%d writes of 20 MB are on their way, want 3", n)
		}
		time.Sleep(lateLimit + time.Second)
		if n := ended.Load(); n != 3 {
			t.Errorf("%d of 3 were given up", n)
		}
	})
}

// TestReplicasThatCount: one that is cloned gets the rows and counts for no
// majority; too few replicas fail the write, whose context ends it at once.
func TestReplicasThatCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3, 4})
		replicas := tb.Partitions[0].Tablets[0].Replicas
		replicas[3].Cloning, replicas[3].ID = true, 77
		refused := errors.New("disk full")
		wr := &writer{fail: map[int64]error{1: refused}}
		s := newSink(nil, wr)
		defer s.Close()
		w, err := s.Write(t.Context(), Txn{ID: 1}, tb, blockOf(tb, row{key(1), "a"}), false)
		if err != nil || !slices.Equal(holders(w), []int64{2, 3, 4}) {
			t.Fatal(w, err)
		}
		if r := wr.got[4].Replicas; len(r) != 1 || r[0].ReplicaId != 77 || !r[0].FromClone || r[0].TabletId != 100 {
			t.Errorf("the clone was named %v", r)
		}
		wr.fail[2] = refused
		if _, err := s.Write(t.Context(), Txn{ID: 2}, tb, blockOf(tb, row{key(1), "a"}), false); err == nil || err.Error() != "tablet 100 has 1 of 3 replicas written, fewer than a majority: backend 2: disk full" {
			t.Error(err)
		}
		wr.fail = nil
		wr.delay = func(ctx context.Context, id int64) {
			if id > 1 {
				<-ctx.Done()
				wr.mu.Lock()
				defer wr.mu.Unlock()
				wr.fail = map[int64]error{id: ctx.Err()}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Write(ctx, Txn{ID: 3}, tb, blockOf(tb, row{key(1), "a"}), false); err == nil {
			t.Error("a write without a majority succeeded")
		}
		s.Close()
		if _, err := s.Write(t.Context(), Txn{ID: 4}, tb, blockOf(tb, row{key(1), "a"}), false); !doriserr.Is(err, doriserr.Stopping) {
			t.Error("after Close:", err)
		}
	})
}
