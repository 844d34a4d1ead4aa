package storage_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// wantHoles publishes and compares the holes that the answer has, by tablet.
func wantHoles(t testing.TB, e *storage.Engine, p storage.Publish, want map[int64]int64) {
	t.Helper()
	holes, err := e.Publish(t.Context(), p)
	if err != nil {
		t.Fatalf("publish of version %d: %v", p.Version, err)
	}
	if got := byTablet(holes); !maps.Equal(got, want) {
		t.Errorf("publish of version %d: holes %v, want %v", p.Version, got, want)
	}
}

// byTablet are the versions of holes.
func byTablet(holes []storage.Hole) map[int64]int64 {
	out := map[int64]int64{}
	for _, h := range holes {
		out[h.TabletID] = h.Version
	}
	return out
}

func isGone(err error) bool { return doriserr.Is(err, doriserr.VersionGone) }

func isBehind(err error) bool {
	_, ok := errors.AsType[*storage.BehindError](err)
	return ok && doriserr.Is(err, doriserr.VersionGone)
}

func wantPending(t *testing.T, e *storage.Engine, want ...int64) {
	t.Helper()
	if got := e.PendingTxns(); !slices.Equal(got, want) {
		t.Errorf("pending %v, want %v", got, want)
	}
}

func TestPendingSurvivesRestart(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	small, large := rows(1, 5, 11, 3, 1), many(2, 5, 12, 0)
	write(t, e, 5, small, large)
	write(t, e, 5, small, large) // a repeated call changes nothing
	write(t, e, 6, rows(3, 6, 11, 7))
	closeEngine(t, e)

	e = opened(t, options(fs))
	wantPending(t, e, 5, 6)
	wantRows(t, fs, e, 11, 1)
	publish(t, e, order(2, 5, small, large))
	wantPending(t, e, 6)
	wantRows(t, fs, e, 11, 2, 1, 3)
	if got, err := read(t.Context(), fs, e, 12, 2); err != nil || len(got) != 200 {
		t.Errorf("large rowset: %d rows, %v", len(got), err)
	}
	write(t, e, 5, small) // nor does one that comes after the publish
	wantPending(t, e, 6)
}

func TestAbort(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	write(t, e, 5, rows(1, 5, 11, 3), many(2, 5, 12, 0))
	write(t, e, 6, rows(3, 6, 11, 4))
	for _, txn := range []int64{5, 5, 99} {
		if err := e.Abort(t.Context(), txn); err != nil {
			t.Fatal(err)
		}
	}
	wantPending(t, e, 6)
	wantHoles(t, e, order(2, 5, rows(1, 5, 11, 3)), map[int64]int64{11: 2})
	closeEngine(t, e)
	e = opened(t, options(fs))
	wantPending(t, e, 6)
	if files := list(t, fs, "/r1/data/12"); len(files) != 0 {
		t.Errorf("files %v are left", files)
	}
}

// TestOwnerEpochs: a later owner discards what earlier ones wrote and keeps them
// out, also after a restart.
func TestOwnerEpochs(t *testing.T) {
	for _, roots := range []int{1, 2} {
		fs := vfs.NewMem()
		o := options(fs)
		o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}[:roots]
		e := open(t, o)
		old := []storage.PendingRowset{rows(1, 5, 11, 3), many(2, 5, 12, 0), rows(3, 5, 13, 4)}
		write(t, e, 5, old...)
		fresh := rows(4, 5, 11, 8)
		if err := e.WritePending(t.Context(), 5, 2, []storage.PendingRowset{fresh}); err != nil {
			t.Fatal(err)
		}
		stale := func() {
			t.Helper()
			if err := e.WritePending(t.Context(), 5, 1, old); !doriserr.Is(err, doriserr.StaleEpoch) {
				t.Errorf("write by an earlier owner: %v", err)
			}
		}
		stale()
		closeEngine(t, e)
		e = open(t, o)
		stale()
		if files := append(list(t, fs, "/r1/data/12"), list(t, fs, "/r2/data/12")...); len(files) != 0 {
			t.Errorf("files %v are left", files)
		}
		wantHoles(t, e, order(2, 5, fresh, old[1]), map[int64]int64{12: 2}) // an earlier owner's rowset is not here
		wantRows(t, fs, e, 11, 2, 8)
		wantPending(t, e)
		closeEngine(t, e)
	}
}

// TestEmptyTakeOver: an owner without rows fences the earlier one off as well.
func TestEmptyTakeOver(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	write(t, e, 5, rows(1, 5, 11, 3))
	if err := e.WriteReplayed(t.Context(), 5, 2, nil); err != nil {
		t.Fatal(err)
	}
	if err := e.WriteReplayed(t.Context(), 6, 3, nil); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	e = opened(t, options(fs))
	wantPending(t, e, 5, 6)
	for _, txn := range []int64{5, 6} {
		if err := e.WritePending(t.Context(), txn, 1, []storage.PendingRowset{rows(2, txn, 11, 3)}); !doriserr.Is(err, doriserr.StaleEpoch) {
			t.Errorf("write by an earlier owner: %v", err)
		}
	}
	publish(t, e, order(2, 5))
	if err := e.Abort(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	wantPending(t, e)
}

func TestWriteRefuses(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs))
	write(t, e, 4, rows(9, 4, 11, 1))
	damaged := rows(1, 5, 11, 3)
	damaged.Data[len(damaged.Data)-1] ^= 1
	short := rows(1, 5, 11, 3)
	short.Data = short.Data[1:]
	noID := rows(1, 5, 11, 3)
	noID.ID = storage.RowsetID{}
	elsewhere := rows(1, 5, 11, 3)
	elsewhere.PartitionID++
	for _, c := range []struct {
		name    string
		rowsets []storage.PendingRowset
		want    doriserr.Kind
	}{
		{"damaged", []storage.PendingRowset{damaged}, doriserr.Corrupt},
		{"short", []storage.PendingRowset{short}, doriserr.Corrupt},
		{"no id", []storage.PendingRowset{noID}, doriserr.Internal},
		{"other transaction", []storage.PendingRowset{rows(1, 6, 11, 3)}, doriserr.Internal},
		{"other partition", []storage.PendingRowset{elsewhere}, doriserr.Conflict},
		{"twice", []storage.PendingRowset{rows(1, 5, 11, 3), rows(1, 5, 11, 3)}, doriserr.Conflict},
	} {
		if err := e.WritePending(t.Context(), 5, 1, c.rowsets); !doriserr.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	wantPending(t, e, 4)
	if err := e.WritePending(t.Context(), 4, 2, []storage.PendingRowset{rows(9, 4, 11, 1)}); !doriserr.Is(err, doriserr.Conflict) {
		t.Errorf("a later owner's rowset with an earlier one's id: %v", err)
	}
}

// TestSpaceFloor is H41 of docs/protocol.md.
func TestSpaceFloor(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.MinFreeBytes = 100 << 20
	e := opened(t, o)
	load(t, e, 2, 1, rows(1, 1, 11, 1)) // a disk that cannot be asked is not refused
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 90 << 20, TotalBytes: math.MaxInt64})
	err := e.WritePending(t.Context(), 2, 1, []storage.PendingRowset{rows(2, 2, 11, 2)})
	if !doriserr.Is(err, doriserr.ExceededLimit) || !strings.Contains(err.Error(), "exceed capacity limit, path: /r1: it has 90 MB free, and 100 MB must stay free") {
		t.Errorf("below the floor: %v", err)
	}
	if err := e.Flush(t.Context(), 11); !doriserr.Is(err, doriserr.ExceededLimit) {
		t.Errorf("flush below the floor: %v", err)
	}
	if err := e.WriteReplayed(t.Context(), 2, 1, []storage.PendingRowset{rows(2, 2, 11, 2)}); err != nil {
		t.Errorf("replay below the floor: %v", err)
	}
	publish(t, e, order(3, 2, rows(2, 2, 11, 2)))
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 20 << 20, TotalBytes: math.MaxInt64})
	if err := e.WriteReplayed(t.Context(), 3, 1, []storage.PendingRowset{rows(3, 3, 11, 2)}); !doriserr.Is(err, doriserr.ExceededLimit) {
		t.Errorf("replay at the bottom: %v", err)
	}
	wantRows(t, fs, e, 11, 3, 1, 2)
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 200 << 20, TotalBytes: math.MaxInt64})
	load(t, e, 4, 3, rows(3, 3, 11, 3)) // room again: no restart is needed
}

// TestInlineBatch: more inline rows than a batch may have go into files.
func TestInlineBatch(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.InlineBatchBytes = 100
	e := opened(t, o)
	var rowsets []storage.PendingRowset
	for i := range int64(10) {
		rowsets = append(rowsets, rows(i, 1, 11+i, i, i+1))
	}
	load(t, e, 2, 1, rowsets...)
	files := 0
	for i := range int64(10) {
		wantRows(t, fs, e, 11+i, 2, i, i+1)
		files += len(list(t, fs, "/r1/data/"+string([]byte{'1' + byte(i)/9, '1' + byte(i)%9})))
	}
	if files == 0 || files == 10 {
		t.Errorf("%d files", files)
	}
}
