package storage_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/storage"
)

func sumOf(t *testing.T, e *storage.Engine, tablet, version int64) storage.ContentSum {
	t.Helper()
	sum, err := e.Checksum(t.Context(), part, tablet, 0, version)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestChecksum: replicas with the same rows have the same sum whatever was
// flushed, merged or cloned, and others have not.
func TestChecksum(t *testing.T) {
	mem := vfs.NewMem()
	o := options(mem)
	o.CompactMinFiles = 2
	a, b, c := opened(t, o), opened(t, options(vfs.NewMem())), opened(t, options(vfs.NewMem()))
	loads := []storage.PendingRowset{many(1, 1, 11, 0), rows(2, 2, 11, 7, 7), many(3, 3, 11, 100), rows(4, 4, 11, 1)}
	for i, rs := range loads {
		load(t, a, int64(i)+2, int64(i)+1, rs)
		load(t, b, int64(i)+2, int64(i)+1, rs)
		if i == 1 {
			rs = rows(2, 2, 11, 7, 8) // a replica that took down something else
		}
		load(t, c, int64(i)+2, int64(i)+1, rs)
	}
	want := sumOf(t, b, 11, 5)
	if want.Rows != 403 || sumOf(t, a, 11, 5) != want || sumOf(t, a, 11, 4) == want {
		t.Errorf("sums %+v and %+v", want, sumOf(t, a, 11, 5))
	}
	if err := a.Flush(t.Context(), 11); err != nil {
		t.Fatal(err)
	}
	compact(t, a, 11)
	if got := sumOf(t, a, 11, 5); got != want {
		t.Errorf("after flush and compaction: %+v, want %+v", got, want)
	}
	if got := sumOf(t, c, 11, 5); got.Rows != want.Rows || got.Sum == want.Sum {
		t.Errorf("other rows: %+v against %+v", got, want)
	}
	if _, err := a.Checksum(t.Context(), part, 11, 0, 6); err == nil {
		t.Error("a sum at a version that is not published")
	}

	// The one that differs is taken out of service, over a restart, and cloned.
	r := storage.TabletReplica{TabletID: 11, ReplicaID: 111}
	if err := c.Distrust(t.Context(), part, r); err != nil {
		t.Fatal(err)
	}
	wantHole(t, c, 11, 111, 2)
	if _, err := c.Checksum(t.Context(), part, 11, 111, 5); err == nil {
		t.Error("a sum of a replica that is out of service")
	}
	cloneTablet(t, c, a, 11, 111)
	wantHole(t, c, 11, 111, 0)
	if got := sumOf(t, c, 11, 5); got != want {
		t.Errorf("after a clone: %+v, want %+v", got, want)
	}

	// So is one of which nothing is here.
	if err := c.Distrust(t.Context(), part, storage.TabletReplica{TabletID: 12, ReplicaID: 112}); err != nil {
		t.Fatal(err)
	}
	wantHole(t, c, 12, 112, 2)
}

// TestDistrustIsDurable: a restart does not bring a replica back.
func TestDistrustIsDurable(t *testing.T) {
	mem := vfs.NewMem()
	e := open(t, options(mem))
	load(t, e, 2, 1, rows(1, 1, 11, 1))
	if err := e.Distrust(t.Context(), part, storage.TabletReplica{TabletID: 11, ReplicaID: 111}); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	e = opened(t, options(mem))
	wantHole(t, e, 11, 111, 2)
	rs := asReplica(rows(2, 2, 11, 2), 111)
	write(t, e, 2, rs)
	if holes, err := e.Publish(t.Context(), order(3, 2, rs)); err != nil || len(holes) != 1 || holes[0].Version != 2 {
		t.Errorf("holes %v, %v", holes, err)
	}
	if err := e.Flush(t.Context(), 11); err != nil {
		t.Error(err)
	}
}
