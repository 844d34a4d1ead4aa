package groupcommit

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestTryAdd: an async load joins an open group without a wait; whatever would
// have to wait, to run as sync or to be refused is left to Add, and nothing of
// it stays anywhere.
func TestTryAdd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		n := start(t, vfs.NewMem(), f, nil)
		synctest.Wait()
		tb := testTable(1)
		refused := func(what string, l *Load) {
			t.Helper()
			used := n.mem.used.Load()
			if _, ok := n.TryAdd(l); ok {
				t.Errorf("%s joined at once", what)
			}
			if now := n.mem.used.Load(); now != used {
				t.Errorf("%s left %d bytes in the memory budget", what, now-used)
			}
		}
		first := newLoad(tb, true, 0, 1)
		refused("a load of a table that was not admitted", first)
		n.mustAdd(newLoad(testTable(1), false, 50, 1)) // admits the table; a sync group
		refused("a load whose group is not open", first)
		opened := n.mustAdd(first)

		j, ok := n.TryAdd(newLoad(tb, true, 1, 2))
		if !ok {
			t.Fatal("an async load of an open group did not join at once")
		}
		told := 0
		j.Then(func() { told++ })
		synctest.Wait()
		if j.Ready() || told != 0 {
			t.Error("a load that waits for a kick was written without one")
		}
		j.Kick()
		synctest.Wait()
		if !j.Ready() || told != 1 {
			t.Errorf("after the kick: ready %t, told %d times", j.Ready(), told)
		}
		j.Then(func() { told++ })
		if told != 2 {
			t.Error("what comes after the answer is not told at once")
		}
		if ack, err := j.Wait(t.Context()); err != nil || !ack.Async || ack.Rows != 2 || ack.TxnID != opened.TxnID || ack.Label != opened.Label {
			t.Errorf("%+v, %v, the group is %+v", ack, err, opened)
		}
		again, ok := n.TryAdd(newLoad(tb, true, 1, 2))
		if !ok || !again.Together(&j) {
			t.Error("a repeated request is not answered from its first load")
		}
		if ack, err := again.Wait(t.Context()); err != nil || ack.Rows != 2 || n.Counters().Repeats.Load() != 1 {
			t.Errorf("a repeated request: %+v, %v, %d repeats", ack, err, n.Counters().Repeats.Load())
		}

		refused("a repeated request of a sync load", func() *Load {
			l := newLoad(testTable(1), false, 50, 1)
			l.Async = true
			return l
		}())
		refused("a sync load", newLoad(tb, false, 10, 1))
		refused("a load without rows", &Load{Table: tb, Async: true, RequestID: newRequest(11)})
		large := newLoad(tb, true, 12, 1)
		large.Bytes = int64(tb.DataBytes) + 1
		refused("a load larger than its group", large)
		bad := newLoad(tb, true, 13, 1)
		bad.Encoded = bad.Encoded[:len(bad.Encoded)-1]
		refused("a load that cannot be decoded", bad)
		limit := n.mem.limit.Load()
		n.mem.limit.Store(1)
		refused("a load without memory", newLoad(tb, true, 14, 1))
		n.mem.limit.Store(limit)

		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantRows(t, f, 1, 0, 1, 2, 50)
		n.end()
		refused("a load after Stop", newLoad(tb, true, 15, 1))
	})
}

// TestTryAddWaitsForTheFile: a load that joined at once and whose WAL file dies
// is answered when its group is committed from memory.
func TestTryAddWaitsForTheFile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var broken atomic.Bool
		n := start(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileSyncData && broken.Load() {
				return errors.New("input/output error")
			}
			return nil
		})), f, nil)
		defer n.end()
		tb := testTable(1)
		n.mustAdd(newLoad(tb, true, 0, 1))
		broken.Store(true)
		j, ok := n.TryAdd(newLoad(tb, true, 1, 1))
		if !ok {
			t.Fatal("an async load of an open group did not join at once")
		}
		told := false
		j.Then(func() { told = true })
		j.Kick()
		synctest.Wait()
		if !told {
			t.Error("nobody is told that the file died")
		}
		ack, err := j.Wait(t.Context())
		if !j.Ready() {
			t.Error("the group is committed, and its load is not ready")
		}
		if err != nil || ack.Async || !ack.Visible {
			t.Errorf("%+v, %v", ack, err)
		}
		broken.Store(false)
		wantRows(t, f, 1, 0, 1)
		if ack := n.mustAdd(newLoad(tb, true, 2, 1)); !ack.Async {
			t.Errorf("healed: %+v", ack)
		}
	})
}

// TestHeldLoadsAreNotLost: a group whose loads nobody kicks is committed at its
// interval like any other, and its loads are answered.
func TestHeldLoadsAreNotLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		n := start(t, vfs.NewMem(), f, nil)
		defer n.end()
		tb := testTable(1)
		n.mustAdd(newLoad(tb, true, 0, 1))
		j, ok := n.TryAdd(newLoad(tb, true, 1, 2))
		if !ok {
			t.Fatal("an async load of an open group did not join at once")
		}
		if ack, err := j.Wait(t.Context()); err != nil || !ack.Async && !ack.Visible {
			t.Errorf("%+v, %v", ack, err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantRows(t, f, 1, 0, 1, 2)
	})
}

// TestDecidedBeforeTheDisk: a load whose frame hangs on the disk is told when its
// group is committed from memory.
func TestDecidedBeforeTheDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFSM(t)
		var hangs atomic.Bool
		disk := make(chan struct{})
		n := start(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileSyncData && hangs.Load() {
				<-disk
			}
			return nil
		})), f, nil)
		defer n.end()
		tb := testTable(1)
		n.mustAdd(newLoad(tb, true, 0, 1))
		hangs.Store(true)
		j, ok := n.TryAdd(newLoad(tb, true, 1, 1))
		if !ok {
			t.Fatal("an async load of an open group did not join at once")
		}
		var told atomic.Int32
		j.Then(func() { told.Add(1) })
		go j.Flush()
		synctest.Wait()
		if told.Load() != 0 || j.Ready() {
			t.Fatalf("told %d times, ready %t, and the disk hangs", told.Load(), j.Ready())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if told.Load() != 1 || !j.Ready() {
			t.Errorf("told %d times, ready %t, and the group is committed", told.Load(), j.Ready())
		}
		if ack, err := j.Wait(t.Context()); err != nil || !ack.Visible {
			t.Errorf("%+v, %v", ack, err)
		}
		wantRows(t, f, 1, 0, 1)
		hangs.Store(false)
		close(disk)
		synctest.Wait()
		if told.Load() != 1 {
			t.Errorf("told %d times", told.Load())
		}
		if ack := n.mustAdd(newLoad(tb, true, 2, 1)); !ack.Async {
			t.Errorf("healed: %+v", ack)
		}
	})
}
