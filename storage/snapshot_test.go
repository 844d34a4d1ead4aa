package storage_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

func flush(t testing.TB, e *storage.Engine, tablet int64) {
	t.Helper()
	if err := e.Flush(t.Context(), tablet); err != nil {
		t.Fatal(err)
	}
}

func sweep(t testing.TB, e *storage.Engine) {
	t.Helper()
	if err := errors.Join(e.Sweep(t.Context()), e.SyncPublished(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func wantGone(t testing.TB, fs vfs.FS, e *storage.Engine, tablet, version int64) {
	t.Helper()
	if got, err := read(t.Context(), fs, e, tablet, version); !doriserr.Is(err, doriserr.VersionGone) {
		t.Errorf("tablet %d at version %d: %v, %v", tablet, version, got, err)
	}
}

// TestFlush is H20 of docs/protocol.md.
func TestFlush(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.Now, o.StaleSweep = c.Now, time.Minute
	e := open(t, o)
	for v := int64(2); v <= 6; v++ {
		load(t, e, v, v, rows(v, v, 11, 10-v), rows(100+v, v, 12, v))
	}
	pinned, err := e.Snapshot(t.Context(), part, 11, 4)
	if err != nil {
		t.Fatal(err)
	}
	flush(t, e, 11)
	flush(t, e, 11)
	flush(t, e, 99)
	load(t, e, 7, 7, rows(7, 7, 11, 3))

	all := []int64{3, 4, 5, 6, 7, 8}
	for range 2 { // the inputs serve until their time is over and nobody holds them
		wantRows(t, fs, e, 11, 1)
		wantRows(t, fs, e, 11, 4, 6, 7, 8)
		wantRows(t, fs, e, 11, 6, 4, 5, 6, 7, 8)
		wantRows(t, fs, e, 11, 7, all...)
		sweep(t, e)
		c.advance(time.Hour)
	}
	sweep(t, e)
	if got, err := snapshotRows(t.Context(), fs, pinned); err != nil || len(got) != 3 {
		t.Errorf("pinned: %v, %v", got, err)
	}
	if err := pinned.Close(); err != nil {
		t.Fatal(err)
	}
	sweep(t, e)
	wantGone(t, fs, e, 11, 4)
	wantRows(t, fs, e, 11, 6, 4, 5, 6, 7, 8)
	wantRows(t, fs, e, 11, 7, all...)
	s, err := e.Snapshot(t.Context(), part, 11, 7)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Files(); len(f) != 1 || f[0].Rows != 5 || f[0].Start != 2 || f[0].End != 6 || f[0].Columns[0] != cols[0] {
		t.Errorf("files: %+v", f)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// Replaced inputs do not survive a restart.
	flush(t, e, 12)
	closeEngine(t, e)
	e = opened(t, o)
	wantGone(t, fs, e, 12, 3)
	wantRows(t, fs, e, 12, 6, 2, 3, 4, 5, 6)
	wantRows(t, fs, e, 11, 7, all...)
	load(t, e, 8, 8, rows(8, 8, 12, 1))
	flush(t, e, 12)
	wantRows(t, fs, e, 12, 8, 1, 2, 3, 4, 5, 6)
}

// TestFlushSchemaChange: rows that were written with other columns get another
// file.
func TestFlushSchemaChange(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs))
	for v := int64(2); v <= 7; v++ {
		rs := rows(v, v, 11, v)
		if v > 4 {
			rs.SchemaVersion = 2
			rs.Columns = []storage.ColumnDesc{{UniqueID: 1, Name: "renamed", Type: cols[0].Type, Key: true}}
		}
		load(t, e, v, v, rs)
	}
	flush(t, e, 11)
	s, err := e.Snapshot(t.Context(), part, 11, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Files(); len(f) != 2 || f[0].Columns[0].Name != "k" || f[0].End != 4 || f[1].Columns[0].Name != "renamed" || f[1].Start != 5 {
		t.Errorf("files: %+v", f)
	}
	wantRows(t, fs, e, 11, 7, 2, 3, 4, 5, 6, 7)
}

// TestSeveralRowsets: a transaction's rowsets in one tablet stay in order.
func TestSeveralRowsets(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	load(t, e, 2, 1, rows(2, 1, 11, 5), rows(1, 1, 11, 4), many(3, 1, 11, 1000), rows(4, 1, 11, 6))
	load(t, e, 3, 2, rows(5, 2, 11, 7))
	count := func() {
		t.Helper()
		s, err := e.Snapshot(t.Context(), part, 11, 3)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got, err := snapshotRows(t.Context(), fs, s); err != nil || len(got) != 204 || got[0] != 4 {
			t.Errorf("%d rows, %v", len(got), err)
		}
	}
	count()
	for in, err := range inline(t, e, 11, 2) {
		if err != nil || in.ID != id(2) {
			t.Errorf("the first rowset is %s, %v", in.ID, err)
		}
		break
	}
	flush(t, e, 11)
	count()
	closeEngine(t, e)
	e = open(t, options(fs))
	count()
	closeEngine(t, e)
}

func inline(t *testing.T, e *storage.Engine, tablet, version int64) func(func(storage.InlineRowset, error) bool) {
	return func(yield func(storage.InlineRowset, error) bool) {
		s, err := e.Snapshot(t.Context(), part, tablet, version)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		s.Inline(t.Context())(yield)
	}
}

func TestDrop(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.Now, o.TrashExpire = c.Now, time.Hour
	e := open(t, o)
	load(t, e, 2, 1, rows(1, 1, 11, 1), many(2, 1, 11, 100), rows(3, 1, 12, 2))
	write(t, e, 2, rows(4, 2, 11, 3), rows(5, 2, 12, 4))
	pinned, err := e.Snapshot(t.Context(), part, 11, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.DropTablets(t.Context(), []int64{11, 99}); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if _, err := read(t.Context(), fs, e, 11, 2); !doriserr.Is(err, doriserr.StaleEpoch) {
			t.Errorf("read of a dropped tablet: %v", err)
		}
		if err := e.WritePending(t.Context(), 3, 1, []storage.PendingRowset{rows(6, 3, 11, 1)}); !doriserr.Is(err, doriserr.StaleEpoch) {
			t.Errorf("write to a dropped tablet: %v", err)
		}
		flush(t, e, 11)
		wantRows(t, fs, e, 12, 2, 2)
		wantPending(t, e, 2)
	}
	check()
	trash := func(want string) {
		t.Helper()
		if err := e.Trash(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(list(t, fs, "/r1/trash"), " "); got != want {
			t.Errorf("trash: %q, want %q", got, want)
		}
	}
	trash("")
	if got, err := snapshotRows(t.Context(), fs, pinned); err != nil || len(got) != 201 {
		t.Errorf("pinned: %d rows, %v", len(got), err)
	}
	if err := pinned.Close(); err != nil {
		t.Fatal(err)
	}
	trash("1700000000000-tablet-11")
	closeEngine(t, e)
	e = opened(t, o)
	check()
	trash("1700000000000-tablet-11")
	wantHoles(t, e, order(3, 3, rows(7, 3, 11, 3)), map[int64]int64{11: 2}) // nothing is published in a dropped tablet
	c.advance(time.Hour)
	trash("")
	load(t, e, 4, 2, rows(5, 2, 12, 4))
	wantRows(t, fs, e, 12, 4, 2, 4)
	wantRows(t, fs, e, 11, 4) // forgotten: as if it never was
}

func TestDropPartition(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.Now, o.TrashExpire = c.Now, time.Hour
	e := open(t, o)
	load(t, e, 2, 1, rows(1, 1, 11, 1))
	for _, p := range []int64{part, 300} {
		if err := e.DropPartition(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, p := range []storage.Publish{order(3, 2), order(2, 1), {PartitionID: 300, Version: 2, TxnID: 1}} {
			if _, err := e.Publish(t.Context(), p); !doriserr.Is(err, doriserr.StaleEpoch) {
				t.Errorf("publish in a dropped partition: %v", err)
			}
		}
		if err := e.WaitPublished(t.Context(), part, 9); !doriserr.Is(err, doriserr.StaleEpoch) {
			t.Errorf("wait for a dropped partition: %v", err)
		}
		closeEngine(t, e)
		e = open(t, o)
	}
	c.advance(2 * time.Hour)
	if err := e.Trash(t.Context()); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	e = opened(t, o)
	if got := e.Partitions(); len(got) != 0 {
		t.Errorf("partitions %+v are left", got)
	}
}

// TestRun: the background work makes publishes durable, flushes and sweeps.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		o := options(fs)
		o.Now, o.FlushRowsets, o.StaleSweep = time.Now, 4, time.Minute
		e := open(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		for v := int64(2); v <= 6; v++ {
			load(t, e, v, v, rows(v, v, 11, v))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if d := e.DurableVersion(part); d != 6 {
			t.Errorf("durable through %d", d)
		}
		if files := list(t, fs, "/r1/data/11"); len(files) == 0 {
			t.Error("nothing was flushed")
		}
		wantRows(t, fs, e, 11, 3, 2, 3)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		wantGone(t, fs, e, 11, 3)
		wantRows(t, fs, e, 11, 6, 2, 3, 4, 5, 6)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeEngine(t, e)
	})
}
