package storage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

func isHole(err error) bool {
	h, ok := errors.AsType[*storage.HoleError](err)
	return ok && h.Have > 0
}

func isNotYet(err error) bool {
	_, ok := errors.AsType[*storage.NotYetError](err)
	return ok
}

// TestPublish has the answers to publishes that are not simply the next one.
func TestPublish(t *testing.T) {
	for _, roots := range []int{1, 3} {
		for _, restart := range []bool{false, true} {
			fs := vfs.NewMem()
			o := options(fs)
			o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}, {Path: "/r3"}}[:roots]
			e := open(t, o)
			a, b, c := rows(1, 1, 11, 1), rows(2, 1, 12, 2), rows(3, 3, 11, 3)
			write(t, e, 1, a, b, rows(9, 1, 13, 9)) // 9 is of an attempt that the commit does not name
			publish(t, e, order(2, 1, a, b))
			wantPending(t, e)
			publish(t, e, order(3, 2)) // no rows here
			load(t, e, 4, 3, c)
			d := rows(4, 4, 14, 4) // on a root that had nothing of the partition, perhaps
			load(t, e, 5, 4, d)
			write(t, e, 6, rows(6, 6, 11, 6))
			if restart {
				closeEngine(t, e)
				e = open(t, o)
			}
			for name, p := range map[string]storage.Publish{
				"same": order(2, 1, a, b), "other order": order(2, 1, b, a), "same, no rows": order(3, 2), "last": order(5, 4, d),
			} {
				if _, err := e.Publish(t.Context(), p); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for name, p := range map[string]storage.Publish{
				"other transaction": order(2, 7, a, b), "fewer": order(2, 1, a), "none": order(2, 1),
				"more": order(3, 2, a), "other rowset": order(4, 3, rows(5, 3, 11, 3)),
			} {
				if _, err := e.Publish(t.Context(), p); !doriserr.Is(err, doriserr.Conflict) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if _, err := e.Publish(t.Context(), order(6, 6, rows(6, 6, 11, 6), rows(6, 6, 11, 6))); !doriserr.Is(err, doriserr.Conflict) {
				t.Errorf("twice: %v", err)
			}
			if _, err := e.Publish(t.Context(), order(7, 6, rows(6, 6, 11, 6))); !isHole(err) {
				t.Errorf("hole: %v", err)
			}
			if _, err := e.Publish(t.Context(), storage.Publish{PartitionID: 7, Version: 3, TxnID: 1}); !isHole(err) {
				t.Errorf("hole at the start: %v", err)
			}
			publish(t, e, order(6, 6, rows(6, 6, 11, 6)))
			wantRows(t, fs, e, 11, 6, 1, 3, 6)
			wantRows(t, fs, e, 11, 3, 1)
			wantRows(t, fs, e, 12, 6, 2)
			wantRows(t, fs, e, 13, 6)
			wantRows(t, fs, e, 14, 6, 4)
			wantRows(t, fs, e, 14, 4)
			closeEngine(t, e)
		}
	}
}

func TestDurableVersion(t *testing.T) {
	e := opened(t, options(vfs.NewMem()))
	if v := e.DurableVersion(part); v != 1 {
		t.Errorf("unknown partition: %d", v)
	}
	load(t, e, 2, 1, rows(1, 1, 11, 1))
	if v, d := e.PublishedVersion(part), e.DurableVersion(part); v != 2 || d != 1 {
		t.Errorf("after the publish: %d, durable %d", v, d)
	}
	write(t, e, 2, rows(2, 2, 11, 1)) // its fsync makes the publish durable as well
	if d := e.DurableVersion(part); d != 2 {
		t.Errorf("after the next write: %d", d)
	}
	publish(t, e, order(3, 2, rows(2, 2, 11, 1)))
	publish(t, e, order(4, 3))
	if err := e.SyncPublished(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := e.DurableVersion(part); d != 4 {
		t.Errorf("after the sync: %d", d)
	}
	if got := e.Partitions(); len(got) != 1 || got[0] != (storage.PartitionVersions{PartitionID: part, Published: 4, Durable: 4}) {
		t.Errorf("report: %+v", got)
	}
}

func TestWaitPublished(t *testing.T) {
	e := opened(t, options(vfs.NewMem()))
	done := make(chan error)
	go func() { done <- e.WaitPublished(t.Context(), part, 3) }()
	load(t, e, 2, 1, rows(1, 1, 11, 1))
	load(t, e, 3, 2, rows(2, 2, 11, 1))
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := e.WaitPublished(ctx, part, 4); !isNotYet(err) {
		t.Errorf("wait for a version that does not come: %v", err)
	}
	if _, err := e.Snapshot(t.Context(), part, 11, 4); !isNotYet(err) {
		t.Errorf("read of a version that did not come: %v", err)
	}
}

// TestParallel publishes partitions side by side while others write and read.
func TestParallel(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
	e := opened(t, o)
	var wg sync.WaitGroup
	for p := range int64(4) {
		wg.Go(func() {
			for v := int64(2); v < 30; v++ {
				txn := p*1000 + v
				rs := rows(txn, txn, 1000+p, v)
				rs.PartitionID = 1 + p
				pub := order(v, txn, rs)
				pub.PartitionID = 1 + p
				err := e.WritePending(t.Context(), txn, 1, []storage.PendingRowset{rs})
				holes, perr := e.Publish(t.Context(), pub)
				if err = errors.Join(err, perr); err != nil || len(holes) > 0 {
					t.Error(holes, err)
					return
				}
			}
		})
		wg.Go(func() {
			for range 10 {
				if err := errors.Join(e.Flush(t.Context(), 1000+p), e.Sweep(t.Context())); err != nil {
					t.Error(err)
				}
				s, err := e.Snapshot(t.Context(), 1+p, 1000+p, e.PublishedVersion(1+p))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := snapshotRows(t.Context(), fs, s)
				if err := errors.Join(err, s.Close()); err != nil || int64(len(got)) != s.Version-1 {
					t.Errorf("at version %d: %d rows, %v", s.Version, len(got), err)
				}
			}
		})
	}
	wg.Wait()
	for p := range int64(4) {
		if v := e.PublishedVersion(1 + p); v != 29 {
			t.Errorf("partition %d ended at %d", 1+p, v)
		}
	}
}

// TestParallelHoles publishes, writes late, clones and reads one tablet at the
// same time.
func TestParallelHoles(t *testing.T) {
	src := opened(t, options(vfs.NewMem()))
	fs := vfs.NewMem()
	o := options(fs)
	o.Rand, o.StaleSweep, o.CompactMinFiles = newRand(5), -1, 2
	e := opened(t, o)
	const last = 60
	late := make(chan int64, last)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(late)
		for v := int64(2); v <= last; v++ {
			rs := []storage.PendingRowset{rows(v, v, 11, v)}
			err := errors.Join(src.WritePending(t.Context(), v, 1, rs))
			if v%5 > 0 {
				err = errors.Join(err, e.WritePending(t.Context(), v, 1, rs))
			}
			_, perr := src.Publish(t.Context(), order(v, v, rs...))
			_, lerr := e.Publish(t.Context(), order(v, v, rs...))
			if err := errors.Join(err, perr, lerr); err != nil {
				t.Error(err)
			}
			if v%5 == 0 && v%2 == 0 {
				late <- v
			}
		}
	})
	wg.Go(func() {
		for v := range late {
			err := e.WritePending(t.Context(), v, 1, []storage.PendingRowset{rows(v, v, 11, v)})
			if err = errors.Join(err, e.DropLeft(t.Context(), v)); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 30 {
			_, err := cloneFrom(t.Context(), src, e, 1, storage.TabletReplica{TabletID: 11}, 1)
			if _, cerr := e.Compact(t.Context(), 11); err != nil && !isGone(err) || cerr != nil {
				t.Error(err, cerr)
			}
			if err := errors.Join(e.Flush(t.Context(), 11), e.Scrub(t.Context(), 11), e.Sweep(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Go(func() {
		for range 200 {
			v := e.PublishedVersion(part)
			got, err := read(t.Context(), fs, e, 11, v)
			if r := replica(e, 11); isGone(err) || r.TabletID == 0 {
				continue
			}
			if err != nil || int64(len(got)) != v-1 {
				t.Errorf("at version %d: %d rows, %v", v, len(got), err)
			}
		}
	})
	wg.Wait()
	wantClone(t, src, e, 1, storage.TabletReplica{TabletID: 11}, last, last)
	if got, err := read(t.Context(), fs, e, 11, last); err != nil || len(got) != last-1 {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// TestEntriesAreTrimmed: old entries go, and a publish that could no longer be
// compared is refused.
func TestEntriesAreTrimmed(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.KeepEntries = 3
	e := open(t, o)
	for v := int64(2); v < 20; v++ {
		load(t, e, v, v, rows(v, v, 11, v))
	}
	if err := errors.Join(e.SyncPublished(t.Context()), e.TrimEntries()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := e.Publish(t.Context(), order(16, 16, rows(16, 16, 11, 16))); !doriserr.Is(err, doriserr.StaleEpoch) {
			t.Errorf("trimmed: %v", err)
		}
		publish(t, e, order(17, 17, rows(17, 17, 11, 17)))
		if _, err := e.Publish(t.Context(), order(17, 18)); !doriserr.Is(err, doriserr.Conflict) {
			t.Errorf("kept: %v", err)
		}
		closeEngine(t, e)
		e = open(t, o)
	}
	load(t, e, 20, 20, rows(20, 20, 11, 20))
	closeEngine(t, e)
}
