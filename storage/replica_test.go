package storage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// ofReplica makes rowsets those of a replica.
func ofReplica(replica int64, fromClone bool, rowsets ...storage.PendingRowset) []storage.PendingRowset {
	for i := range rowsets {
		rowsets[i].ReplicaID, rowsets[i].FromClone = replica, fromClone
	}
	return rowsets
}

func wantBehind(t testing.TB, fs vfs.FS, e *storage.Engine, tablet, version int64) {
	t.Helper()
	if got, err := read(t.Context(), fs, e, tablet, version); !isBehind(err) {
		t.Errorf("tablet %d at version %d, which it lacks: %v, %v", tablet, version, got, err)
	}
}

// replica is what the engine reports of a tablet.
func replica(e *storage.Engine, tablet int64) storage.ReplicaInfo {
	for _, r := range e.Replicas() {
		if r.TabletID == tablet {
			return r
		}
	}
	return storage.ReplicaInfo{}
}

func wantReplica(t testing.TB, e *storage.Engine, tablet, id, hole, through int64) {
	t.Helper()
	if r := replica(e, tablet); r.ReplicaID != id || r.Hole != hole || r.Through != through {
		t.Errorf("tablet %d: %+v, want replica %d with a hole at %d, through %d", tablet, r, id, hole, through)
	}
}

// eachRoots runs a test with one root and with three, which restarts the engine
// by the function that it is given.
func eachRoots(t *testing.T, f func(t *testing.T, fs vfs.FS, e *storage.Engine, restart func() *storage.Engine)) {
	for _, roots := range []int{1, 3} {
		t.Run(fmt.Sprint(roots), func(t *testing.T) {
			fs := vfs.NewMem()
			o := options(fs)
			o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}, {Path: "/r3"}}[:roots]
			e := open(t, o)
			defer func() { closeEngine(t, e) }()
			f(t, fs, e, func() *storage.Engine {
				closeEngine(t, e)
				e = open(t, o)
				return e
			})
		})
	}
}

// TestHoles: a tablet without its rowset has a hole, and all others go on.
func TestHoles(t *testing.T) {
	eachRoots(t, func(t *testing.T, fs vfs.FS, e *storage.Engine, restart func() *storage.Engine) {
		load(t, e, 2, 2, rows(21, 2, 11, 1), rows(22, 2, 12, 2))
		write(t, e, 3, rows(31, 3, 11, 3), rows(39, 3, 13, 3))
		v3 := order(3, 3, rows(31, 3, 11, 3), rows(32, 3, 12, 3), rows(33, 3, 13, 3))
		wantHoles(t, e, v3, map[int64]int64{12: 3, 13: 3}) // 13 has another attempt's rowset
		wantPending(t, e)
		write(t, e, 4, rows(41, 4, 11, 4), rows(42, 4, 12, 4), rows(49, 4, 12, 4))
		v4 := order(4, 4, rows(41, 4, 11, 4), rows(42, 4, 12, 4))
		wantHoles(t, e, v4, map[int64]int64{12: 3})
		check := func() {
			t.Helper()
			wantPending(t, e, 4) // what the commit did not name is gone, what waits is not
			wantRows(t, fs, e, 11, 4, 1, 3, 4)
			wantRows(t, fs, e, 12, 2, 2)
			wantRows(t, fs, e, 13, 2)
			for v := int64(3); v <= 4; v++ {
				wantBehind(t, fs, e, 12, v)
				wantBehind(t, fs, e, 13, v)
			}
			wantReplica(t, e, 11, 0, 0, 4)
			wantReplica(t, e, 12, 0, 3, 2)
			wantReplica(t, e, 13, 0, 3, 2)
		}
		check()
		e = restart()
		check()
		wantHoles(t, e, v3, map[int64]int64{12: 3, 13: 3})
		wantHoles(t, e, v4, map[int64]int64{12: 3})
		for _, txn := range []int64{3, 4} {
			if err := e.DropLeft(t.Context(), txn); err != nil {
				t.Fatal(err)
			}
		}
		check()
		// A tablet that is heard of first by the order that names its rows.
		wantHoles(t, e, order(5, 5, rows(51, 5, 14, 5)), map[int64]int64{14: 5})
		wantRows(t, fs, e, 14, 4)
		wantBehind(t, fs, e, 14, 5)
		e = restart()
		wantBehind(t, fs, e, 14, 5)
		// A transaction of which nothing is here.
		wantHoles(t, e, order(6, 6, rows(61, 6, 11, 6)), map[int64]int64{11: 6})
		wantRows(t, fs, e, 11, 5, 1, 3, 4)
	})
}

// TestOtherReplica: calls for another replica than the one that is here change
// nothing in it.
func TestOtherReplica(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	load(t, e, 2, 2, ofReplica(700, false, rows(21, 2, 11, 1))...)
	wantReplica(t, e, 11, 700, 0, 2)
	for range 2 {
		err := e.WritePending(t.Context(), 3, 1, ofReplica(701, false, rows(31, 3, 11, 3)))
		if !doriserr.Is(err, doriserr.Conflict) {
			t.Errorf("write to another replica: %v", err)
		}
		wantPending(t, e)
		closeEngine(t, e)
		e = open(t, options(fs))
	}
	write(t, e, 3, ofReplica(700, false, rows(31, 3, 11, 3))...)
	p := order(3, 3, rows(31, 3, 11, 3))
	p.Tablets[0].ReplicaID = 701
	holes, err := e.Publish(t.Context(), p)
	if want := (storage.Hole{PartitionID: part, TabletID: 11, ReplicaID: 701, Version: 2}); err != nil || len(holes) != 1 || holes[0] != want {
		t.Errorf("order for another replica: %v, %v", holes, err)
	}
	wantReplica(t, e, 11, 700, 3, 2) // it lacks what it was not told to publish
	wantPending(t, e, 3)
	closeEngine(t, e)
}

// TestFromClone: a replica that was added to a tablet lacks everything,
// whatever it is told first.
func TestFromClone(t *testing.T) {
	eachRoots(t, func(t *testing.T, fs vfs.FS, e *storage.Engine, restart func() *storage.Engine) {
		load(t, e, 2, 2, rows(21, 2, 11, 1))
		write(t, e, 3, ofReplica(702, true, rows(32, 3, 12, 3))...)
		p := order(3, 3, ofReplica(702, true, rows(32, 3, 12, 3), rows(33, 3, 13, 3))...)
		wantHoles(t, e, p, map[int64]int64{12: 2, 13: 2})
		holes, err := e.Jump(t.Context(), part, 2, []storage.TabletReplica{{TabletID: 11}, {TabletID: 14, ReplicaID: 704, FromClone: true}, {TabletID: 15, ReplicaID: 705}})
		if got := byTablet(holes); err != nil || len(got) != 1 || got[14] != 2 {
			t.Errorf("holes %v, %v", holes, err)
		}
		for range 2 {
			for _, tablet := range []int64{12, 13, 14} {
				wantBehind(t, fs, e, tablet, 3)
				wantBehind(t, fs, e, tablet, 2)
				wantRows(t, fs, e, tablet, 1)
			}
			wantReplica(t, e, 14, 704, 2, 1)
			wantReplica(t, e, 15, 0, 0, 0)
			wantPending(t, e, 3)
			e = restart()
		}
		// An order that was on its way when the replica was added is repeated with it.
		later := ofReplica(704, true, rows(24, 2, 14, 1), rows(44, 4, 14, 4))
		wantHoles(t, e, order(2, 2, rows(21, 2, 11, 1), later[0]), map[int64]int64{14: 2})
		load(t, e, 4, 4, rows(41, 4, 11, 4))
		for range 2 {
			wantHoles(t, e, order(4, 4, rows(41, 4, 11, 4), later[1]), map[int64]int64{14: 2})
			e = restart()
		}
	})
}

func TestJump(t *testing.T) {
	eachRoots(t, func(t *testing.T, fs vfs.FS, e *storage.Engine, restart func() *storage.Engine) {
		load(t, e, 2, 2, rows(21, 2, 11, 1), rows(22, 2, 12, 2))
		write(t, e, 5, rows(51, 5, 11, 5))
		wantHoles(t, e, order(3, 3, rows(31, 3, 11, 3)), map[int64]int64{11: 3})
		replicas := []storage.TabletReplica{{TabletID: 11, ReplicaID: 701}, {TabletID: 12, ReplicaID: 702}, {TabletID: 13, ReplicaID: 703}, {TabletID: 14, ReplicaID: 704, FromClone: true}}
		want := map[int64]int64{11: 3, 12: 4, 13: 4, 14: 2}
		for range 3 {
			holes, err := e.Jump(t.Context(), part, 10, replicas)
			if got := byTablet(holes); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("holes %v, %v, want %v", got, err, want)
			}
			if v, d := e.PublishedVersion(part), e.DurableVersion(part); v != 10 || d != 10 {
				t.Errorf("published through %d, durable through %d", v, d)
			}
			for tablet, hole := range want {
				wantReplica(t, e, tablet, 690+tablet, hole, hole-1)
				wantBehind(t, fs, e, tablet, 10)
			}
			wantRows(t, fs, e, 12, 3, 2)
			wantRows(t, fs, e, 13, 3)
			if _, err := e.Publish(t.Context(), order(5, 5)); !doriserr.Is(err, doriserr.StaleEpoch) {
				t.Errorf("publish of a version that was jumped over: %v", err)
			}
			e = restart()
		}
		// No hole waits for it any more: the entries are gone.
		if err := e.DropLeft(t.Context(), 5); err != nil {
			t.Fatal(err)
		}
		wantPending(t, e)
		write(t, e, 11, rows(111, 11, 12, 11), rows(112, 11, 15, 11))
		wantHoles(t, e, order(11, 11, rows(111, 11, 12, 11), rows(112, 11, 15, 11)), map[int64]int64{12: 4})
		wantRows(t, fs, e, 15, 11, 11)

		// A partition that this BE knows nothing of.
		holes, err := e.Jump(t.Context(), 300, 7, []storage.TabletReplica{{TabletID: 31}, {TabletID: 32, FromClone: true}})
		if got := byTablet(holes); err != nil || len(got) != 2 || got[31] != 2 || got[32] != 2 {
			t.Errorf("holes %v, %v", holes, err)
		}
		if _, err := e.Jump(t.Context(), 301, 7, nil); err != nil || e.PublishedVersion(301) != 7 || e.PublishedVersion(300) != 7 {
			t.Errorf("jumped to %d, %d, %v", e.PublishedVersion(300), e.PublishedVersion(301), err)
		}
	})
}

// TestLateWrite: what comes after the publish that named it is published then,
// in order, with all that waited for it.
func TestLateWrite(t *testing.T) {
	eachRoots(t, func(t *testing.T, fs vfs.FS, e *storage.Engine, restart func() *storage.Engine) {
		load(t, e, 2, 2, rows(21, 2, 11, 1), rows(22, 2, 12, 2))
		late3, late6 := many(31, 3, 11, 1000), []storage.PendingRowset{rows(61, 6, 11, 6), rows(62, 6, 11, 7)}
		wantHoles(t, e, order(3, 3, late3), map[int64]int64{11: 3})
		write(t, e, 4, rows(41, 4, 11, 4), rows(42, 4, 12, 4))
		wantHoles(t, e, order(4, 4, rows(41, 4, 11, 4), rows(42, 4, 12, 4)), map[int64]int64{11: 3})
		publish(t, e, order(5, 5))
		write(t, e, 6, late6[0])
		wantHoles(t, e, order(6, 6, late6...), map[int64]int64{11: 3})
		write(t, e, 7, rows(71, 7, 11, 9))
		wantHoles(t, e, order(7, 7, rows(71, 7, 11, 9)), map[int64]int64{11: 3})
		e = restart()
		write(t, e, 8, rows(81, 8, 11, 10)) // fills nothing
		wantReplica(t, e, 11, 0, 3, 2)

		write(t, e, 3, late3)
		wantReplica(t, e, 11, 0, 6, 5)
		wantPending(t, e, 6, 7, 8)
		if got, err := read(t.Context(), fs, e, 11, 5); err != nil || len(got) != 202 || got[1] != 4 {
			t.Errorf("%d rows, %v", len(got), err)
		}
		wantBehind(t, fs, e, 11, 6)
		e = restart()
		wantReplica(t, e, 11, 0, 6, 5)
		write(t, e, 6, late6[1])
		wantReplica(t, e, 11, 0, 0, 7)
		wantPending(t, e, 8)
		wantHoles(t, e, order(3, 3, late3), map[int64]int64{})
		publish(t, e, order(8, 8, rows(81, 8, 11, 10)))
		for range 2 {
			if got, err := read(t.Context(), fs, e, 11, 8); err != nil || len(got) != 206 || got[5] != 10 {
				t.Errorf("%d rows, %v", len(got), err)
			}
			wantRows(t, fs, e, 12, 8, 2, 4)
			e = restart()
		}
	})
}

// TestLateWriteCannotFill: a late write fills no hole whose entries are gone, and
// none that only a clone can fill.
func TestLateWriteCannotFill(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.KeepEntries = 2
	e := opened(t, o)
	late := rows(21, 2, 11, 1)
	wantHoles(t, e, order(2, 2, late), map[int64]int64{11: 2})
	write(t, e, 3, ofReplica(0, true, rows(32, 3, 12, 1))...)
	for v := int64(3); v < 9; v++ {
		publish(t, e, order(v, v))
	}
	if err := errors.Join(e.SyncPublished(t.Context()), e.TrimEntries()); err != nil {
		t.Fatal(err)
	}
	write(t, e, 2, late)
	wantReplica(t, e, 11, 0, 2, 1)
	wantReplica(t, e, 12, 0, 2, 1)
	if err := e.DropLeft(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	wantPending(t, e)
}

// TestHoleOfNewTablet: that a tablet which the order is the first to name lacks
// its rows outlives a power failure that keeps another root's entry. So it does if
// a clone that came to nothing named the tablet a moment before.
func TestHoleOfNewTablet(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, e *storage.Engine){
		"first named by the order": func(*testing.T, *storage.Engine) {},
		"named by a clone": func(t *testing.T, e *storage.Engine) {
			c, err := e.BeginClone(t.Context(), part, 1, storage.TabletReplica{TabletID: 12})
			if err == nil {
				err = c.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			o := options(fs)
			o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
			e := open(t, o)
			load(t, e, 2, 2, rows(21, 2, 11, 1))
			write(t, e, 3, rows(31, 3, 11, 3))
			before(t, e)
			wantHoles(t, e, order(3, 3, rows(31, 3, 11, 3), rows(32, 3, 12, 3)), map[int64]int64{12: 3})
			write(t, e, 4, rows(41, 4, 11, 4)) // an fsync of the first root
			left := fs.CrashClone(vfs.CrashCloneCfg{})
			closeEngine(t, e)
			o = options(left)
			o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
			e = opened(t, o)
			if got, err := read(t.Context(), left, e, 12, 3); err == nil {
				t.Errorf("rows %v", got)
			}
			wantHoles(t, e, order(3, 3, rows(31, 3, 11, 3), rows(32, 3, 12, 3)), map[int64]int64{12: 3})
			wantRows(t, left, e, 11, 3, 1, 3)
		})
	}
}
