package be

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
	"dorisgo/rpc/peer"
)

// TestStartedLoads: loads that an FE in the same process starts are written when
// they are kicked, their FE is told of each, and what would have to wait for its
// place is not started and leaves nothing behind.
func TestStartedLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		f, n := oneLife(t)
		defer f.close()
		var told atomic.Int32
		wake := func() { told.Add(1) }
		if _, ok := n.Start(loadItem(f, modeAsync, 1, 1), wake); ok {
			t.Error("a load of a table without an open group was started")
		}
		opened, err := n.Load(ctx, loadItem(f, modeAsync, 0, 2))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := n.Start(loadItem(f, modeSync, 1, 1), wake); ok {
			t.Error("a sync load was started")
		}
		late := loadItem(f, modeAsync, 1, 1)
		late.SchemaVersion++
		if _, ok := n.Start(late, wake); ok {
			t.Error("a load of another schema was started")
		}
		want := []int64{0, 1}
		var loads []peer.Started
		for i := 1; i < 10; i++ {
			s, ok := n.Start(loadItem(f, modeAsync, i, 1), wake)
			if !ok {
				t.Fatalf("load %d was not started", i)
			}
			loads = append(loads, s)
			want = append(want, int64(i)*1000)
		}
		synctest.Wait()
		if told.Load() != 0 {
			t.Errorf("%d loads were written without a kick", told.Load())
		}
		loads[len(loads)-1].Kick()
		synctest.Wait()
		if got := int(told.Load()); got != len(loads) {
			t.Errorf("%d of %d loads were told", got, len(loads))
		}
		for i, s := range loads {
			if !s.Ready() {
				t.Errorf("load %d is not ready", i)
			}
			r, err := s.Reply(ctx)
			if err != nil || r.TxnId != opened.TxnId || !r.Group || txn.State(r.State) != txn.Prepare {
				t.Errorf("load %d: %v, %v", i, r, err)
			}
		}
		if err := f.idle(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := readAll(ctx, f, n); err != nil || !slices.Equal(got, want) {
			t.Errorf("rows %v, %v, want %v", got, err, want)
		}
		// Stop waits for the answer to a load that it finds: its group is sealed.
		if _, err := n.Load(ctx, loadItem(f, modeAsync, 20, 1)); err != nil {
			t.Fatal(err)
		}
		last, ok := n.Start(loadItem(f, modeAsync, 21, 1), wake)
		if !ok {
			t.Fatal("the last load was not started")
		}
		stopped := make(chan error, 1)
		go func() { stopped <- n.Stop(ctx) }()
		if _, err := last.Reply(ctx); err != nil {
			t.Errorf("the last load: %v", err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if _, ok := n.Start(loadItem(f, modeAsync, 22, 1), wake); ok {
			t.Error("a stopped node starts loads")
		}
		if _, err := n.Load(ctx, loadItem(f, modeAsync, 22, 1)); !doriserr.Is(err, doriserr.NotAdmitted) {
			t.Errorf("a stopped node: %v", err)
		}
	})
}
