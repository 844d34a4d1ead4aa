package storage_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// cloneFrom clones what a replica lacks from another engine, as two BEs do.
func cloneFrom(ctx context.Context, from, to *storage.Engine, base int64, r storage.TabletReplica, least int64) (through int64, err error) {
	c, err := to.BeginClone(ctx, part, base, r)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if c.Whole(least) {
		return c.Through(), nil
	}
	src, err := from.OpenClone(ctx, part, r.TabletID, c.Ends(), c.Least(least))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := fetch(ctx, src, c); err != nil {
		return 0, err
	}
	return c.Finish(ctx, src.Keep, src.Through)
}

func fetch(ctx context.Context, src *storage.CloneSource, c *storage.CloneTarget) error {
	for i, rs := range src.Rowsets {
		r, err := src.Read(ctx, i)
		if err != nil {
			return err
		}
		if err := errors.Join(c.Add(ctx, rs, r), r.Close()); err != nil {
			return err
		}
	}
	return nil
}

func wantClone(t testing.TB, from, to *storage.Engine, base int64, r storage.TabletReplica, least, want int64) {
	t.Helper()
	if through, err := cloneFrom(t.Context(), from, to, base, r, least); err != nil || through != want {
		t.Fatalf("clone of tablet %d: through %d, %v, want %d", r.TabletID, through, err, want)
	}
}

// second opens another engine, with ids of its own.
func second(t testing.TB, roots int) (vfs.FS, storage.Options, *storage.Engine) {
	fs := vfs.NewMem()
	o := options(fs)
	o.Roots = []storage.Root{{Path: "/s1"}, {Path: "/s2"}, {Path: "/s3"}}[:roots]
	o.Rand, o.StaleSweep = newRand(2), -1
	return fs, o, open(t, o)
}

// TestClone: a replica that missed versions in the middle, at the end, or all of
// them gets what it lacks, and goes on.
func TestClone(t *testing.T) {
	eachRoots(t, func(t *testing.T, fs vfs.FS, from *storage.Engine, _ func() *storage.Engine) {
		sfs, so, to := second(t, 2)
		for v := int64(2); v <= 9; v++ {
			small, large := rows(10*v, v, 11, v), many(10*v+1, v, 12, v*1000)
			load(t, from, v, v, small, large)
			var here []storage.PendingRowset
			if v != 5 && v != 9 {
				here = []storage.PendingRowset{small, large}
				write(t, to, v, here...)
			}
			if _, err := to.Publish(t.Context(), order(v, v, small, large)); err != nil {
				t.Fatal(err)
			}
			if v == 7 {
				flush(t, from, 11) // what the target keeps must not lie within it
			}
		}
		wantReplica(t, to, 11, 0, 5, 4)
		pinned, err := to.Snapshot(t.Context(), part, 12, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, tablet := range []int64{11, 12} {
			wantClone(t, from, to, 0, storage.TabletReplica{TabletID: tablet}, 9, 9)
			wantReplica(t, to, tablet, 0, 0, 9)
		}
		wantClone(t, from, to, 0, storage.TabletReplica{TabletID: 13, FromClone: true}, 9, 9) // never had rows
		for v := int64(6); v <= 8; v++ {
			if err := to.DropLeft(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		load(t, to, 10, 10, rows(100, 10, 11, 10), rows(103, 10, 13, 10))
		for range 2 {
			wantPending(t, to)
			wantRows(t, sfs, to, 11, 9, 2, 3, 4, 5, 6, 7, 8, 9)
			wantRows(t, sfs, to, 11, 10, 2, 3, 4, 5, 6, 7, 8, 9, 10)
			wantRows(t, sfs, to, 13, 9)
			wantRows(t, sfs, to, 13, 10, 10)
			if got, err := read(t.Context(), sfs, to, 12, 9); err != nil || len(got) != 1600 {
				t.Errorf("%d rows, %v", len(got), err)
			}
			if pinned != nil {
				sweep(t, to)
				if got, err := snapshotRows(t.Context(), sfs, pinned); err != nil || len(got) != 600 {
					t.Errorf("pinned: %d rows, %v", len(got), err)
				}
				if err := pinned.Close(); err != nil {
					t.Fatal(err)
				}
				pinned = nil
			}
			closeEngine(t, to)
			to = open(t, so)
		}
		// A repeat of what was cloned is known, and no conflict.
		wantHoles(t, to, order(5, 5, rows(50, 5, 11, 5), many(51, 5, 12, 5000)), map[int64]int64{})
		closeEngine(t, to)
	})
}

// TestCloneTakesNothingBack: a replica that is filled anew as a whole has published
// versions that a source may not have reached. The metadata count on those, and a
// clone without them would take them away until the next one.
func TestCloneTakesNothingBack(t *testing.T) {
	from := opened(t, options(vfs.NewMem()))
	sfs, _, to := second(t, 1)
	r := storage.TabletReplica{TabletID: 11, ReplicaID: 9}
	for v := int64(2); v <= 5; v++ {
		if v < 5 {
			load(t, from, v, v, rows(v, v, 11, v))
		}
		load(t, to, v, v, rows(v, v, 11, v))
	}
	write(t, to, 7, rows(7, 7, 11, 7)) // waits behind the hole and stays
	if err := to.Distrust(t.Context(), part, r); err != nil {
		t.Fatal(err)
	}
	c, err := to.BeginClone(t.Context(), part, 1, r)
	if err != nil {
		t.Fatal(err)
	}
	if least := c.Least(2); least != 5 {
		t.Errorf("it wants at least version %d", least)
	}
	src, err := from.OpenClone(t.Context(), part, 11, c.Ends(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := fetch(t.Context(), src, c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Finish(t.Context(), src.Keep, src.Through); !doriserr.Is(err, doriserr.VersionGone) {
		t.Errorf("a clone through version %d: %v", src.Through, err)
	}
	if err := errors.Join(src.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	load(t, from, 5, 5, rows(5, 5, 11, 5))
	wantClone(t, from, to, 1, r, 2, 5)
	load(t, from, 6, 6, rows(6, 6, 12, 6))
	load(t, to, 6, 6, rows(6, 6, 12, 6))
	wantHoles(t, to, order(7, 7, rows(7, 7, 11, 7)), map[int64]int64{})
	wantRows(t, sfs, to, 11, 7, 2, 3, 4, 5, 7)
	closeEngine(t, to)
}

// TestCloneAhead: a clone may be ahead of what is published here, and what the
// orders bring later is there already.
func TestCloneAhead(t *testing.T) {
	fs := vfs.NewMem()
	from := opened(t, options(fs))
	sfs, so, to := second(t, 1)
	for v := int64(2); v <= 6; v++ {
		load(t, from, v, v, rows(v, v, 11, v))
	}
	write(t, to, 4, rows(4, 4, 11, 4))
	wantClone(t, from, to, 2, storage.TabletReplica{TabletID: 11, ReplicaID: 9, FromClone: true}, 6, 6)
	wantReplica(t, to, 11, 9, 0, 6)
	// What the clone brought is not missed by a jump.
	if holes, err := to.Jump(t.Context(), part, 3, []storage.TabletReplica{{TabletID: 11}}); err != nil || len(holes) > 0 {
		t.Errorf("holes %v, %v", holes, err)
	}
	if _, err := read(t.Context(), sfs, to, 11, 6); !isNotYet(err) {
		t.Errorf("read ahead of the partition: %v", err)
	}
	write(t, to, 5, rows(5, 5, 11, 5))
	closeEngine(t, to)
	to = open(t, so)
	for v := int64(4); v <= 7; v++ {
		if v == 7 {
			write(t, to, 7, rows(7, 7, 11, 7))
		}
		publish(t, to, order(v, v, rows(v, v, 11, v)))
	}
	wantPending(t, to)
	wantRows(t, sfs, to, 11, 5, 2, 3, 4, 5)
	wantRows(t, sfs, to, 11, 7, 2, 3, 4, 5, 6, 7)
	closeEngine(t, to)
}

// TestCloneFills: versions above the clone's that are here are published with
// it, and what the entries name and is not here stays a hole.
func TestCloneFills(t *testing.T) {
	from := opened(t, options(vfs.NewMem()))
	sfs, so, to := second(t, 1)
	load(t, from, 2, 2, rows(2, 2, 11, 2))
	load(t, from, 3, 3, rows(3, 3, 11, 3))
	from3, err := from.OpenClone(t.Context(), part, 11, []int64{1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer from3.Close()
	load(t, from, 4, 4, rows(4, 4, 11, 4))
	replica := storage.TabletReplica{TabletID: 11, ReplicaID: 9, FromClone: true}
	if _, err := to.Jump(t.Context(), part, 2, []storage.TabletReplica{replica}); err != nil {
		t.Fatal(err)
	}
	// Version 4 was on its way when the replica was added: the first order does
	// not name it.
	publish(t, to, order(3, 3))
	publish(t, to, order(4, 4))
	for v := int64(5); v <= 8; v++ {
		rs := ofReplica(9, true, rows(v, v, 11, v))
		if v != 7 {
			write(t, to, v, rs...)
		}
		wantHoles(t, to, order(v, v, rs...), map[int64]int64{11: 2})
	}
	wantHoles(t, to, order(4, 4, ofReplica(9, true, rows(4, 4, 11, 4))...), map[int64]int64{11: 2})
	c, err := to.BeginClone(t.Context(), part, 2, replica)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.BeginClone(t.Context(), part, 2, replica); !doriserr.Is(err, doriserr.Blocked) {
		t.Errorf("two clones at a time: %v", err)
	}
	if err := fetch(t.Context(), from3, c); err != nil {
		t.Fatal(err)
	}
	if through, err := c.Finish(t.Context(), from3.Keep, from3.Through); err != nil || through != 3 {
		t.Errorf("through %d, %v", through, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	wantReplica(t, to, 11, 9, 4, 3)
	wantRows(t, sfs, to, 11, 3, 2, 3)
	wantClone(t, from, to, 2, replica, 4, 6)
	for range 2 {
		wantReplica(t, to, 11, 9, 7, 6)
		wantRows(t, sfs, to, 11, 6, 2, 3, 4, 5, 6)
		wantBehind(t, sfs, to, 11, 7)
		wantPending(t, to, 8)
		closeEngine(t, to)
		to = open(t, so)
	}
	write(t, to, 7, ofReplica(9, true, rows(7, 7, 11, 7))...)
	wantRows(t, sfs, to, 11, 8, 2, 3, 4, 5, 6, 7, 8)
	closeEngine(t, to)
}

// TestCloneRefuses has what a source and a target do not do.
func TestCloneRefuses(t *testing.T) {
	from := opened(t, options(vfs.NewMem()))
	sfs, so, to := second(t, 1)
	load(t, from, 2, 2, rows(21, 2, 11, 1), many(22, 2, 12, 0))
	load(t, from, 3, 3, rows(31, 3, 11, 2))
	wantHoles(t, from, order(4, 4, rows(41, 4, 11, 2)), map[int64]int64{11: 4})
	for tablet, least := range map[int64]int64{11: 4, 12: 5, 99: 5} {
		if _, err := from.OpenClone(t.Context(), part, tablet, []int64{1}, least); !doriserr.Is(err, doriserr.VersionGone) {
			t.Errorf("source of tablet %d: %v", tablet, err)
		}
	}
	begin := func(r storage.TabletReplica, base int64) *storage.CloneTarget {
		t.Helper()
		c, err := to.BeginClone(t.Context(), part, base, r)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	finish := func(c *storage.CloneTarget, keep, through int64, want doriserr.Kind) {
		t.Helper()
		if _, err := c.Finish(t.Context(), keep, through); !doriserr.Is(err, want) {
			t.Errorf("finish with %d to %d: %v", keep, through, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	r11 := storage.TabletReplica{TabletID: 11, ReplicaID: 9, FromClone: true}
	finish(begin(r11, 3), 1, 2, doriserr.VersionGone) // below the floor
	finish(begin(r11, 3), 3, 3, doriserr.VersionGone) // keeps what is not here
	if _, err := to.BeginClone(t.Context(), part, 3, storage.TabletReplica{TabletID: 11, ReplicaID: 8}); !doriserr.Is(err, doriserr.Conflict) {
		t.Errorf("another replica: %v", err)
	}
	// A replica that is added when the entries go on does not know what they say.
	for v := int64(4); v <= 6; v++ {
		publish(t, to, order(v, v))
	}
	r13 := storage.TabletReplica{TabletID: 13, ReplicaID: 13, FromClone: true}
	finish(begin(r13, 3), 1, 5, doriserr.VersionGone)
	// Damage on the way.
	c := begin(storage.TabletReplica{TabletID: 12, ReplicaID: 10, FromClone: true}, 3)
	src, err := from.OpenClone(t.Context(), part, 12, c.Ends(), 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close(), src.Close()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, "short": func(b []byte) []byte { return b[1:] },
		"long": func(b []byte) []byte { return append(b, 0) },
	} {
		if err := c.Add(t.Context(), src.Rowsets[0], &slowReader{change(slices.Clone(data))}); !doriserr.Is(err, doriserr.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := src.Rowsets[0]
	other.Columns = append(slices.Clone(other.Columns), 0)
	if err := c.Add(t.Context(), other, &slowReader{data}); err == nil {
		t.Error("columns that are not the record's")
	}
	if files := list(t, sfs, "/s1/data/12"); len(files) != 0 {
		t.Errorf("files %v are left", files)
	}
	// A crash before the switch leaves a file that no record names.
	if err := c.Add(t.Context(), src.Rowsets[0], &slowReader{data}); err != nil {
		t.Fatal(err)
	}
	if files := list(t, sfs, "/s1/data/12"); len(files) != 1 {
		t.Errorf("files %v", files)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if files := list(t, sfs, "/s1/data/12"); len(files) != 0 {
		t.Errorf("files %v are left", files)
	}
	closeEngine(t, to)
	to = open(t, so)
	wantReplica(t, to, 12, 10, 2, 1)
	closeEngine(t, to)
}

// slowReader gives a byte at a time.
type slowReader struct{ b []byte }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], r.b)
	r.b = r.b[n:]
	return n, nil
}

// TestCloneInlineLimit: inline rows that are more than a batch may have become
// files.
func TestCloneInlineLimit(t *testing.T) {
	from := opened(t, options(vfs.NewMem()))
	for v := int64(2); v <= 20; v++ {
		load(t, from, v, v, rows(v, v, 11, v, v+100))
	}
	fs := vfs.NewMem()
	o := options(fs)
	o.Rand, o.InlineBatchBytes = newRand(2), 100
	to := opened(t, o)
	wantClone(t, from, to, 20, storage.TabletReplica{TabletID: 11, FromClone: true}, 20, 20)
	var want []int64
	for v := int64(2); v <= 20; v++ {
		want = append(want, v, v+100)
	}
	slices.Sort(want)
	wantRows(t, fs, to, 11, 20, want...)
	if s := to.Stats(); s.Files == 0 || s.Inline == 0 {
		t.Errorf("%+v", s)
	}
}

// TestCloneOfNothing: a replica that was added to a tablet without rows takes
// part after a clone, and not before.
func TestCloneOfNothing(t *testing.T) {
	from := opened(t, options(vfs.NewMem()))
	fs, so, to := second(t, 1)
	replica := storage.TabletReplica{TabletID: 11, ReplicaID: 9, FromClone: true}
	write(t, to, 2, ofReplica(9, true, rows(2, 2, 11, 2))...)
	wantReplica(t, to, 11, 9, 2, 1)
	closeEngine(t, to)
	to = open(t, so)
	wantReplica(t, to, 11, 9, 2, 1)
	wantClone(t, from, to, 1, replica, 1, 1)
	publish(t, to, order(2, 2, ofReplica(9, true, rows(2, 2, 11, 2))...))
	wantRows(t, fs, to, 11, 2, 2)
	closeEngine(t, to)
}
