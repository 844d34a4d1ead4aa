package exec

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
)

// late is a storage in which no version is published.
type late struct{}

// Snapshot implements Storage.
func (late) Snapshot(_ context.Context, partition, _, version int64) (*storage.Snapshot, error) {
	return nil, &storage.NotYetError{PartitionID: partition, Version: version, Have: 1}
}

// WaitPublished implements Storage.
func (late) WaitPublished(ctx context.Context, partition, version int64) error {
	<-ctx.Done()
	return &storage.NotYetError{PartitionID: partition, Version: version, Have: 1}
}

// A read waits for a publish as long as it has to, and less where another BE
// has the version.
func TestPublishWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Executor{Self: 7, Storage: late{}}
		for _, tc := range []struct {
			alternatives bool
			patience     time.Duration
		}{{true, time.Second}, {false, 10 * time.Second}} {
			start := time.Now()
			_, err := e.pin(t.Context(), &bepb.ScanTablet{PartitionId: part, TabletId: 101, Version: 2, Alternatives: tc.alternatives})
			place, _ := doriserr.PlaceOf(err)
			if !doriserr.Is(err, doriserr.NotPublished) || place != (doriserr.Place{BackendID: 7, TabletID: 101}) || !strings.Contains(err.Error(), "tablet 101 on backend 7") {
				t.Errorf("error %v at %v", err, place)
			}
			if took := time.Since(start); took != tc.patience {
				t.Errorf("it was waited for %s, want %s", took, tc.patience)
			}
		}
		// The end of the query is not the replica's fault.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.pin(ctx, &bepb.ScanTablet{TabletId: 101, Version: 2}); doriserr.Is(err, doriserr.NotPublished) {
			t.Errorf("a canceled query: %v", err)
		}
	})
}

// Errors of reading say where, from another BE as well; others do not.
func TestErrorsSayWhere(t *testing.T) {
	boxes := newBoxes(t, 2, 4)
	for _, b := range boxes {
		for i := range 4 {
			b.load(101, schema1, numbered(t, i, 1))
		}
		old := b.on(101)
		old[0].Version = 3
		if err := errors.Join(b.engine.Flush(t.Context(), 101), b.engine.Sweep(t.Context())); err != nil {
			t.Fatal(err)
		}
		_, err := boxes[0].query(t.Context(), `SELECT 1 FROM t`, table("t", columnsPB(id1), old))
		if place, ok := doriserr.PlaceOf(err); !ok || place != (doriserr.Place{BackendID: b.Self, TabletID: 101}) {
			t.Errorf("from backend %d: %v at %v", b.Self, err, place)
		}
	}
	away := []*bepb.ScanTablet{{PartitionId: part, TabletId: 205, Version: 2, BackendId: 9}}
	_, err := boxes[0].query(t.Context(), `SELECT 1 FROM t`, table("t", columnsPB(id1), boxes[0].on(101), away))
	if place, ok := doriserr.PlaceOf(err); !ok || place != (doriserr.Place{BackendID: 9}) || !doriserr.Is(err, doriserr.Unknown) {
		t.Errorf("a BE that is down: %v at %v", err, place)
	}
	_, err = boxes[0].query(t.Context(), `SELECT CAST('x' AS INT) FROM t`, table("t", columnsPB(id1), boxes[1].on(101)))
	if place, ok := doriserr.PlaceOf(err); ok || err == nil {
		t.Errorf("a statement that fails anywhere: %v at %v", err, place)
	}
}
