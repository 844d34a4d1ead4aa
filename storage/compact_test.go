package storage_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

func files(t testing.TB, e *storage.Engine, tablet, version int64) []storage.File {
	t.Helper()
	s, err := e.Snapshot(t.Context(), part, tablet, version)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Files()
}

// TestCompact: files become one with the same rows; a version within it is
// readable until the inputs are swept, a snapshot for as long as it is open, and
// restarts see the same.
func TestCompact(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.CompactMinFiles, o.Now, o.StaleSweep = 3, c.Now, time.Minute
	e := open(t, o)
	for v := int64(2); v <= 4; v++ {
		load(t, e, v, v, many(v, v, 11, 1000*v))
	}
	load(t, e, 5, 5, rows(5, 5, 11, 7))
	old, err := e.Snapshot(t.Context(), part, 11, 3)
	if err != nil {
		t.Fatal(err)
	}
	compact(t, e, 11)
	if did, err := e.Compact(t.Context(), 11); did || err != nil {
		t.Errorf("one file was compacted: %v, %v", did, err)
	}
	check := func() {
		t.Helper()
		got := files(t, e, 11, 5)
		if len(got) != 1 || got[0].Rows != 600 || got[0].Start != 2 || got[0].End != 4 {
			t.Errorf("files %+v", got)
		}
		if rows, err := read(t.Context(), fs, e, 11, 5); err != nil || len(rows) != 601 || rows[0] != 7 || rows[600] != 4199 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
	}
	check()
	if got := files(t, e, 11, 3); len(got) != 2 {
		t.Errorf("version 3 has files %+v", got)
	}
	if s := e.Stats(); s.Compactions != 1 || s.Files != 1 || s.Inline != 1 || s.MostRowsets != 2 || s.CompactedBytes == 0 {
		t.Errorf("stats %+v", s)
	}
	c.advance(2 * time.Minute)
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows, err := snapshotRows(t.Context(), fs, old); err != nil || len(rows) != 400 {
		t.Errorf("the snapshot has %d rows, %v", len(rows), err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, fs, e, 11, 3)
	check()
	closeEngine(t, e)
	e = open(t, o)
	check()
	if names := list(t, fs, "/r1/data/11"); len(names) != 1 {
		t.Errorf("files %v", names)
	}
	closeEngine(t, e)
}

// TestCompactFails: whatever fails, the inputs stay and nothing else is left.
func TestCompactFails(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpRename} {
		mem := vfs.NewMem()
		b := &breaker{kind: kind, path: ".tmp"}
		o := options(errorfs.Wrap(mem, errorfs.InjectorFunc(b.MaybeError)))
		o.CompactMinFiles = 2
		e := open(t, o)
		load(t, e, 2, 1, many(1, 1, 11, 1000))
		load(t, e, 3, 2, many(2, 2, 11, 2000))
		b.on.Store(true)
		if did, err := e.Compact(t.Context(), 11); did || !errors.Is(err, errorfs.ErrInjected) || !strings.Contains(err.Error(), "tablet 11") {
			t.Errorf("%v, %v", did, err)
		}
		b.on.Store(false)
		if names := list(t, mem, "/r1/data/11"); len(names) != 2 {
			t.Errorf("files %v", names)
		}
		compact(t, e, 11)
		if got, err := read(t.Context(), mem, e, 11, 3); err != nil || len(got) != 400 {
			t.Errorf("%d rows, %v", len(got), err)
		}
		closeEngine(t, e)
	}
	fs := vfs.NewMem()
	o := options(fs)
	o.CompactMinFiles = 2
	e := open(t, o)
	load(t, e, 2, 1, many(1, 1, 11, 1000))
	load(t, e, 3, 2, many(2, 2, 11, 2000))
	if err := fs.Remove(files(t, e, 11, 3)[0].Path); err != nil {
		t.Fatal(err)
	}
	if did, err := e.Compact(t.Context(), 11); did || err == nil {
		t.Errorf("an input that is gone: %v, %v", did, err)
	}
	wantReplica(t, e, 11, 0, 2, 1)
	closeEngine(t, e)
}

// TestCompactInBackground: files that come one after another stay few.
func TestCompactInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		o := options(fs)
		o.Now, o.CompactMinFiles, o.FlushRowsets = time.Now, 4, 8
		e := open(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		most := 0
		for v := int64(2); v <= 300; v++ {
			if v%3 == 0 {
				load(t, e, v, v, many(v, v, 11, v*1000))
			} else {
				load(t, e, v, v, rows(v, v, 11, v))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			most = max(most, e.Stats().MostFiles)
		}
		if most > 20 {
			t.Errorf("up to %d files", most)
		}
		if got, err := read(t.Context(), fs, e, 11, 300); err != nil || len(got) != 100*200+199 {
			t.Errorf("%d rows, %v", len(got), err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeEngine(t, e)
	})
}

// TestTooManyVersions: a tablet that is full of rowsets takes no more, but for
// rows that were acknowledged earlier, until it was flushed or compacted.
func TestTooManyVersions(t *testing.T) {
	o := options(vfs.NewMem())
	o.MaxVersions = 3
	e := open(t, o)
	for v := int64(2); v <= 4; v++ {
		load(t, e, v, v, rows(v, v, 11, v))
	}
	err := e.WritePending(t.Context(), 5, 1, []storage.PendingRowset{rows(5, 5, 12, 5), rows(6, 5, 11, 5)})
	const want = "failed to init rowset builder. version count: 3, exceed limit: 3, tablet: 11. Please reduce the frequency of loading data or adjust the max_tablet_version_num in be.conf to a larger value."
	if !doriserr.Is(err, doriserr.TooManyVersions) || err.Error() != want || doriserr.KindOf(err).LoadCode() != "E-235" {
		t.Errorf("error %v", err)
	}
	wantPending(t, e)
	write(t, e, 5, rows(5, 5, 12, 5))
	if err := e.WriteReplayed(t.Context(), 6, 1, []storage.PendingRowset{rows(6, 6, 11, 6)}); err != nil {
		t.Errorf("replay: %v", err)
	}
	flush(t, e, 11)
	write(t, e, 7, rows(7, 7, 11, 7))
	closeEngine(t, e)
}

// TestCompactGoesOn: a tablet whose compaction fails does not keep the others
// from theirs, although it has most rowsets, and is compacted below what is lost.
func TestCompactGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		o := options(fs)
		o.Now, o.CompactMinFiles = time.Now, 2
		e := open(t, o)
		for v := int64(2); v <= 5; v++ {
			load(t, e, v, v, many(v, v, 11, 1000*v))
		}
		load(t, e, 6, 6, many(6, 6, 12, 6000))
		load(t, e, 7, 7, many(7, 7, 12, 7000))
		if err := fs.Remove(files(t, e, 11, 7)[3].Path); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(files(t, e, 12, 7)); n != 1 {
			t.Errorf("the sound tablet has %d files", n)
		}
		wantReplica(t, e, 11, 0, 5, 4) // out of service from the lost file on
		if n := len(files(t, e, 11, 4)); n != 1 {
			t.Errorf("the tablet with a lost file has %d files below it", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeEngine(t, e)
	})
}
