package storage_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/storage"
)

// TestTimeSeries: files of a time-series partition are merged once there are
// enough of them, or after a while, and never again, over restarts too; those of
// other partitions are merged by size.
func TestTimeSeries(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.Now, o.CompactMinFiles, o.StaleSweep = c.Now, 2, -1
	series := true
	o.TimeSeries = func(partitionID int64) (storage.TimeSeries, bool) {
		return storage.TimeSeries{GoalBytes: 1 << 30, FileCount: 4, After: time.Hour}, series && partitionID == part
	}
	e := open(t, o)
	version := int64(1)
	add := func(n int) {
		t.Helper()
		for range n {
			version++
			load(t, e, version, version, many(version, version, 11, 1000*version))
		}
	}
	merge := func(want bool) {
		t.Helper()
		if did, err := e.Compact(t.Context(), 11); did != want || err != nil {
			t.Errorf("at version %d: compacted %v, %v", version, did, err)
		}
	}
	wantFiles := func(rows ...int64) {
		t.Helper()
		got := files(t, e, 11, version)
		if len(got) != len(rows) {
			t.Fatalf("at version %d: files %+v, want rows %v", version, got, rows)
		}
		for i, f := range got {
			if f.Rows != rows[i] {
				t.Errorf("at version %d: file %d has %d rows, want %d", version, i, f.Rows, rows[i])
			}
		}
	}
	add(3)
	merge(false)
	add(1)
	merge(true)
	merge(false)
	wantFiles(800)
	add(5)
	merge(true)
	wantFiles(800, 800, 200)

	// What waits is merged after a while, but not alone.
	merge(false) // takes down since when it waits
	c.advance(time.Hour)
	merge(false)
	closeEngine(t, e)
	e = open(t, o)
	add(1)
	merge(false)
	c.advance(time.Hour)
	merge(true)
	wantFiles(800, 800, 400)
	closeEngine(t, e)
	e = opened(t, o)
	c.advance(24 * time.Hour)
	merge(false)
	c.advance(24 * time.Hour)
	merge(false)
	wantFiles(800, 800, 400)

	// An ALTER TABLE makes it a table like others.
	series = false
	merge(true)
	wantFiles(1600, 400)
}

// TestTimeSeriesIsBounded: however slowly rows come, files are few in the end.
func TestTimeSeriesIsBounded(t *testing.T) {
	o := options(vfs.NewMem())
	c := newClock()
	o.Now, o.CompactMinFiles, o.StaleSweep, o.MaxVersions = c.Now, 4, -1, 40
	o.TimeSeries = func(int64) (storage.TimeSeries, bool) {
		return storage.TimeSeries{GoalBytes: 1 << 30, FileCount: 1000, After: time.Minute}, true
	}
	e := opened(t, o)
	for v := int64(2); v < 122; v++ {
		load(t, e, v, v, many(v, v, 11, v))
		if _, err := e.Compact(t.Context(), 11); err != nil {
			t.Fatal(err)
		}
		c.advance(time.Minute)
	}
	if n := len(files(t, e, 11, 121)); n > 14 {
		t.Errorf("%d files", n)
	}
}
