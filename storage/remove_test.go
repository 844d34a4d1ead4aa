package storage_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

func removeReplica(t testing.TB, e *storage.Engine, tablet, replica int64) {
	t.Helper()
	if err := e.RemoveReplica(t.Context(), tablet, replica); err != nil {
		t.Fatal(err)
	}
}

// TestRemoveReplica: a removed replica is gone at once, its files are in the
// trash, and the tablet can come again as another replica, which lacks
// everything.
func TestRemoveReplica(t *testing.T) {
	from := opened(t, options(vfs.NewMem()))
	fs := vfs.NewMem()
	o := options(fs)
	e := open(t, o)
	small, large := ofReplica(700, false, rows(21, 2, 11, 1)), ofReplica(700, false, many(31, 3, 11, 100))
	for _, engine := range []*storage.Engine{from, e} {
		load(t, engine, 2, 2, small...)
		load(t, engine, 3, 3, large...)
	}
	write(t, e, 4, ofReplica(700, false, rows(41, 4, 11, 4), many(42, 4, 11, 4))...)
	write(t, e, 4, rows(43, 4, 12, 4))
	removeReplica(t, e, 11, 701) // another replica
	removeReplica(t, e, 99, 700)
	wantReplica(t, e, 11, 700, 0, 3)
	for range 2 {
		removeReplica(t, e, 11, 700)
		wantReplica(t, e, 11, 0, 0, 0)
		wantPending(t, e, 4) // tablet 12's
		if files := list(t, fs, "/r1/data/11"); len(files) != 0 {
			t.Errorf("files %v are left", files)
		}
		if got := strings.Join(list(t, fs, "/r1/trash"), " "); got != "1700000000000-replica-11" {
			t.Errorf("trash: %s", got)
		}
		// It is not a tablet that never had rows.
		wantBehind(t, fs, e, 11, 3)
		if _, err := e.OpenClone(t.Context(), part, 11, []int64{1}, 1); !doriserr.Is(err, doriserr.VersionGone) {
			t.Errorf("clone from a removed replica: %v", err)
		}
		err := e.WritePending(t.Context(), 5, 1, ofReplica(700, false, rows(51, 5, 11, 5)))
		if !doriserr.Is(err, doriserr.Conflict) {
			t.Errorf("write to the removed replica: %v", err)
		}
		wantHoles(t, e, order(3, 3, large...), map[int64]int64{11: 2})
		closeEngine(t, e)
		e = open(t, o)
	}
	p := order(4, 4, ofReplica(700, false, rows(41, 4, 11, 4))...)
	p.Tablets = append(p.Tablets, order(4, 4, rows(43, 4, 12, 4)).Tablets...)
	wantHoles(t, e, p, map[int64]int64{11: 2})
	wantRows(t, fs, e, 12, 4, 4)

	// Whoever names it, what comes anew lacks what the removed one had.
	write(t, e, 5, ofReplica(701, false, many(51, 5, 11, 5000))...)
	wantReplica(t, e, 11, 701, 2, 1)
	wantBehind(t, fs, e, 11, 4)
	load(t, from, 4, 4, rows(41, 4, 11, 4))
	wantClone(t, from, e, 1, storage.TabletReplica{TabletID: 11, ReplicaID: 701}, 4, 4)
	publish(t, e, order(5, 5, ofReplica(701, false, many(51, 5, 11, 5000))...))
	for range 2 {
		if got, err := read(t.Context(), fs, e, 11, 5); err != nil || len(got) != 402 {
			t.Errorf("%d rows, %v", len(got), err)
		}
		closeEngine(t, e)
		e = open(t, o)
	}
	closeEngine(t, e)
}

// TestRemovePinned: a reader keeps the files of a removed replica, while the
// tablet is here anew.
func TestRemovePinned(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs))
	load(t, e, 2, 2, ofReplica(700, false, rows(21, 2, 11, 1), many(22, 2, 11, 100))...)
	pinned, err := e.Snapshot(t.Context(), part, 11, 2)
	if err != nil {
		t.Fatal(err)
	}
	old := list(t, fs, "/r1/data/11")
	removeReplica(t, e, 11, 700)
	write(t, e, 3, ofReplica(701, true, many(31, 3, 11, 1000))...)
	trash := func() {
		t.Helper()
		if err := errors.Join(e.Trash(t.Context()), e.Sweep(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	trash()
	if got, err := snapshotRows(t.Context(), fs, pinned); err != nil || len(got) != 201 {
		t.Errorf("pinned: %d rows, %v", len(got), err)
	}
	if err := pinned.Close(); err != nil {
		t.Fatal(err)
	}
	trash()
	if files := list(t, fs, "/r1/data/11"); len(files) != 1 || slices.Contains(files, old[0]) {
		t.Errorf("files %v", files)
	}
	if got := list(t, fs, "/r1/trash"); len(got) != 1 || !strings.HasSuffix(got[0], "-replica-11-"+old[0]) {
		t.Errorf("trash %v", got)
	}
}

// TestRemoveWithPartition: that a replica was here is forgotten with its
// partition.
func TestRemoveWithPartition(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.Now, o.TrashExpire = c.Now, time.Hour
	e := open(t, o)
	load(t, e, 2, 2, ofReplica(700, false, rows(21, 2, 11, 1))...)
	removeReplica(t, e, 11, 700)
	if err := e.DropPartition(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	c.advance(2 * time.Hour)
	if err := e.Trash(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		load(t, e, 2, 2, ofReplica(700, false, rows(21, 2, 11, 1))...)
		wantRows(t, fs, e, 11, 2, 1)
		closeEngine(t, e)
		e = open(t, o)
	}
	closeEngine(t, e)
}
