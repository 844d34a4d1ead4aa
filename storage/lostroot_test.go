package storage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dorisgo/storage"
)

// twoRoots are engines over two roots, the first of which breaks when the
// breaker is on.
func twoRoots(mem vfs.FS) (storage.Options, *breaker) {
	b := &breaker{kind: errorfs.OpFileSyncData, path: "/r1/meta"}
	o := options(errorfs.Wrap(mem, errorfs.InjectorFunc(b.MaybeError)))
	o.Codec = options(mem).Codec
	o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
	return o, b
}

// asReplica names the replica that a rowset is for.
func asReplica(rs storage.PendingRowset, id int64) storage.PendingRowset {
	rs.ReplicaID = id
	return rs
}

// loseRoot breaks the first root and waits until the engine goes on without it.
func loseRoot(t *testing.T, e *storage.Engine, b *breaker) {
	t.Helper()
	b.on.Store(true)
	if err := e.WritePending(t.Context(), 900, 1, []storage.PendingRowset{rows(900, 900, 11, 0)}); err == nil {
		t.Fatal("a write to the broken root was acknowledged")
	}
	b.on.Store(false)
	if err := storage.LeaveRoots(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// cloneTablet fills a tablet of e from another engine.
func cloneTablet(t *testing.T, e, from *storage.Engine, tablet, replicaID int64) {
	t.Helper()
	c, err := e.BeginClone(t.Context(), part, 1, storage.TabletReplica{TabletID: tablet, ReplicaID: replicaID})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := from.OpenClone(t.Context(), part, tablet, c.Ends(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, rs := range s.Rowsets {
		r, err := s.Read(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Add(t.Context(), rs, r), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Finish(t.Context(), s.Keep, s.Through); err != nil {
		t.Fatal(err)
	}
}

func wantHole(t *testing.T, e *storage.Engine, tablet, replicaID, hole int64) {
	t.Helper()
	for _, r := range e.Replicas() {
		if r.TabletID == tablet {
			if r.ReplicaID != replicaID || r.Hole != hole {
				t.Errorf("tablet %d is replica %d with a hole at %d, want replica %d and %d", tablet, r.ReplicaID, r.Hole, replicaID, hole)
			}
			return
		}
	}
	t.Errorf("tablet %d is not reported", tablet)
}

// TestLoseRoot: with a root gone the others go on; its tablets are reported as
// lost, are made anew on another root, and when the root comes back the newer
// claim wins.
func TestLoseRoot(t *testing.T) {
	mem, other := vfs.NewMem(), vfs.NewMem()
	o, b := twoRoots(mem)
	e, peer := open(t, o), opened(t, options(other))
	// Tablets 11, 13 and 15 are on /r1, 12 and 14 on /r2.
	first := []storage.PendingRowset{
		asReplica(rows(1, 1, 11, 1), 111), asReplica(many(2, 1, 12, 0), 112), asReplica(many(3, 1, 13, 0), 113), asReplica(rows(4, 1, 14, 4), 114), asReplica(rows(5, 1, 15, 5), 115),
	}
	load(t, e, 2, 1, first...)
	load(t, peer, 2, 1, first...)
	if err := e.SyncPublished(t.Context()); err != nil {
		t.Fatal(err)
	}
	loseRoot(t, e, b)
	for _, tablet := range []int64{11, 13, 15} {
		wantHole(t, e, tablet, 100+tablet, 2)
	}
	if _, err := read(t.Context(), mem, e, 13, 2); err == nil || !strings.Contains(err.Error(), "storage root /r1 is out of service") {
		t.Errorf("read: %v", err)
	}
	wantRows(t, mem, e, 14, 2, 4)
	// The next version brings rows to a lost tablet, and to one that is not.
	second := []storage.PendingRowset{asReplica(rows(6, 2, 11, 6), 111), asReplica(rows(7, 2, 14, 7), 114)}
	write(t, e, 2, second...)
	load(t, peer, 3, 2, second...)
	holes, err := e.Publish(t.Context(), order(3, 2, second...))
	if err != nil || len(holes) != 1 || holes[0].TabletID != 11 || holes[0].Version != 2 {
		t.Fatalf("holes %v, %v", holes, err)
	}
	wantRows(t, mem, e, 14, 3, 4, 7)
	cloneTablet(t, e, peer, 11, 111)
	cloneTablet(t, e, peer, 13, 113)
	wantRows(t, mem, e, 11, 3, 1, 6)
	wantHole(t, e, 11, 111, 0)
	if err := e.Close(); err != nil && !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("close: %v", err)
	}

	// The root is back: what was made anew stays, and what was not is whole.
	for range 2 { // a second start finds nothing left to settle
		e = open(t, o)
		if v := e.PublishedVersion(part); v != 3 {
			t.Errorf("published through %d", v)
		}
		wantRows(t, mem, e, 11, 3, 1, 6)
		wantRows(t, mem, e, 14, 3, 4, 7)
		wantRows(t, mem, e, 15, 3, 5)
		for _, tablet := range []int64{11, 13, 15} {
			wantHole(t, e, tablet, 100+tablet, 0)
		}
		if got, err := read(t.Context(), mem, e, 13, 3); err != nil || len(got) != 200 {
			t.Errorf("tablet 13: %d rows, %v", len(got), err)
		}
		if files := list(t, mem, "/r1/data/13"); len(files) != 0 {
			t.Errorf("files %v are left of what was lost", files)
		}
		if len(list(t, mem, "/r1/trash")) != 1 {
			t.Errorf("trash %v", list(t, mem, "/r1/trash"))
		}
		publish(t, e, order(3, 2, second...)) // a repeat
		closeEngine(t, e)
	}
	e = opened(t, o)
	load(t, e, 4, 3, asReplica(rows(8, 3, 11, 8), 111), asReplica(rows(9, 3, 15, 9), 115))
	wantRows(t, mem, e, 11, 4, 1, 6, 8)
	wantRows(t, mem, e, 15, 4, 5, 9)
}

// TestRootReturnsOlder: publishes that the root lost with its failure are holes
// when it comes back, since nobody may send them again.
func TestRootReturnsOlder(t *testing.T) {
	mem := vfs.NewCrashableMem()
	o, b := twoRoots(mem)
	e := open(t, o)
	load(t, e, 2, 1, asReplica(rows(1, 1, 11, 1), 111), asReplica(rows(2, 1, 12, 2), 112))
	if err := e.SyncPublished(t.Context()); err != nil {
		t.Fatal(err)
	}
	load(t, e, 3, 2, asReplica(rows(3, 2, 11, 3), 111), asReplica(rows(4, 2, 12, 4), 112))
	loseRoot(t, e, b)
	if err := e.SyncPublished(t.Context()); err != nil || e.DurableVersion(part) != 3 {
		t.Fatalf("durable through %d, %v", e.DurableVersion(part), err)
	}
	crashed := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := e.Close(); err != nil && !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("close: %v", err)
	}
	o2, _ := twoRoots(crashed)
	e = opened(t, o2)
	wantHole(t, e, 11, 111, 3)
	wantHole(t, e, 12, 112, 0)
	wantRows(t, crashed, e, 12, 3, 2, 4)
	wantRows(t, crashed, e, 11, 2, 1)
}

// TestNewerReplicaWins: a root whose loss was accepted comes back with an older
// replica of a tablet that was made anew.
func TestNewerReplicaWins(t *testing.T) {
	mem := vfs.NewMem()
	o, _ := twoRoots(mem)
	e := open(t, o)
	load(t, e, 2, 1, asReplica(rows(1, 1, 11, 1), 111), asReplica(rows(2, 1, 12, 2), 112))
	lost := e.Roots()[0].UUID
	closeEngine(t, e)
	one := o
	one.Roots, one.Rand = o.Roots[1:], newRand(7)
	e = open(t, one)
	if err := e.GiveUp(t.Context(), []storage.UUID{lost}); err != nil {
		t.Fatal(err)
	}
	load(t, e, 3, 2, asReplica(rows(3, 2, 11, 3), 211), asReplica(rows(4, 2, 12, 4), 112))
	closeEngine(t, e)
	e = opened(t, o)
	if v := e.PublishedVersion(part); v != 3 {
		t.Errorf("published through %d", v)
	}
	wantHole(t, e, 11, 211, 0)
	wantRows(t, mem, e, 11, 3, 3)
	wantRows(t, mem, e, 12, 3, 2, 4)
}
