package storage_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dorisgo/storage"
)

// holeRowsets are what version v of the script brings to the tablets 11, of
// inline rows, and 12, of files.
func holeRowsets(v int64) []storage.PendingRowset {
	return []storage.PendingRowset{rows(10*v, v, 11, v), many(10*v+1, v, 12, v*1000)}
}

// holeScript brings a replica holes by lost writes and by a jump, fills them by a
// late write and by clones, replaces it by another one, and goes on to version
// 12. Version 3 of tablet 11 comes late, 5 of both is cloned, 7 to 9 are jumped
// over.
func (l *crashLog) holeScript(t *testing.T, o storage.Options, src *storage.Engine) {
	e := open(t, o)
	replicas := []storage.TabletReplica{{TabletID: 11, ReplicaID: 701}, {TabletID: 12, ReplicaID: 702}}
	step := func(v int64, rowsets ...storage.PendingRowset) {
		t.Helper()
		write(t, e, v, rowsets...)
		if _, err := e.Publish(t.Context(), order(v, v, holeRowsets(v)...)); err != nil {
			t.Fatal(err)
		}
	}
	step(2, holeRowsets(2)...)
	step(3, holeRowsets(3)[1])
	step(4, holeRowsets(4)...)
	write(t, e, 3, holeRowsets(3)[0])
	step(5)
	step(6, holeRowsets(6)...)
	flush(t, e, 11)
	for _, r := range replicas {
		if _, err := cloneFrom(t.Context(), src, e, 2, r, 5); err != nil {
			t.Fatal(err)
		}
		l.promise(func(p *promises) { p.cloned = append(p.cloned, r.TabletID) })
	}
	if _, err := e.Jump(t.Context(), part, 9, replicas); err != nil {
		t.Fatal(err)
	}
	l.promise(func(p *promises) { p.durable = 9 })
	step(10, holeRowsets(10)...)
	for _, r := range replicas {
		if _, err := cloneFrom(t.Context(), src, e, 9, r, 10); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, e)
	if err := e.RemoveReplica(t.Context(), 12, 702); err != nil {
		t.Fatal(err)
	}
	l.promise(func(p *promises) { p.removed = true })
	step(11, holeRowsets(11)...)
	closeEngine(t, e)
	e = open(t, o)
	if _, err := cloneFrom(t.Context(), src, e, 9, storage.TabletReplica{TabletID: 12, ReplicaID: 712, FromClone: true}, 11); err != nil {
		t.Fatal(err)
	}
	step(12, holeRowsets(12)...)
	sweep(t, e)
	closeEngine(t, e)
}

// TestCloneCrash cuts the power at every file operation of a script with holes,
// clones, a jump and a removal. What is left never reads wrong rows, and the FE's
// next orders bring it back.
func TestCloneCrash(t *testing.T) {
	src := opened(t, options(vfs.NewMem()))
	for v := int64(2); v <= 12; v++ {
		load(t, src, v, v, holeRowsets(v)...)
	}
	for _, roots := range []int{1, 2} {
		t.Run(fmt.Sprint(roots), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			l := &crashLog{mem: vfs.NewCrashableMem(), rng: rand.New(rand.NewPCG(seed, 1))}
			o := options(errorfs.Wrap(gateFS{l.mem, &l.gate}, errorfs.InjectorFunc(l.before)))
			o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}[:roots]
			o.StaleSweep, o.Rand = -1, newRand(seed)
			l.holeScript(t, o, src)
			t.Logf("%d crashes", len(l.pictures))
			for i, p := range l.pictures {
				if roots > 1 && (uint64(i)+seed)%3 > 0 {
					continue // each run looks at others
				}
				after := options(p.fs)
				after.Roots, after.Rand, after.StaleSweep = o.Roots, newRand(seed+uint64(i)+1), -1
				err := p.checkHoles(t.Context(), after, src)
				if err != nil && p.percent%100 != 0 && strings.Contains(err.Error(), "could not open manifest file") {
					continue // as in TestCrash
				}
				if err != nil {
					t.Fatalf("crash before operation %s, keeping %d%% of what was not synced, after %+v: %v", p.op, p.percent, p.promises, err)
				}
			}
		})
	}
}

// checkHoles opens what is left, and goes through what the FE does then.
func (p *picture) checkHoles(ctx context.Context, o storage.Options, src *storage.Engine) (err error) {
	e, err := storage.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if v := e.PublishedVersion(part); v < p.durable {
		return fmt.Errorf("published through %d", v)
	}
	if err := sameAsSource(ctx, o.FS, e); err != nil {
		return fmt.Errorf("after the start: %w", err)
	}
	for _, r := range e.Replicas() {
		if slices.Contains(p.cloned, r.TabletID) && !p.removed && r.Through < 6 {
			return fmt.Errorf("a clone is lost: %+v", r)
		}
		if p.removed && r.ReplicaID == 702 {
			return fmt.Errorf("a replica came back: %+v", r)
		}
	}
	replicas := []storage.TabletReplica{{TabletID: 11}, {TabletID: 12, FromClone: true}}
	if _, err := e.Jump(ctx, part, 9, replicas); err != nil {
		return err
	}
	for v := max(e.DurableVersion(part), 9) + 1; v <= 12; v++ {
		if _, err := e.Publish(ctx, order(v, v, holeRowsets(v)...)); err != nil {
			return err
		}
	}
	if err := sameAsSource(ctx, o.FS, e); err != nil {
		return fmt.Errorf("after the orders: %w", err)
	}
	for _, r := range replicas {
		if through, err := cloneFrom(ctx, src, e, 9, r, 12); err != nil || through != 12 {
			return fmt.Errorf("clone of tablet %d: through %d, %w", r.TabletID, through, err)
		}
	}
	for _, txn := range e.PendingTxns() {
		if err := e.DropLeft(ctx, txn); err != nil {
			return err
		}
	}
	for _, r := range e.Replicas() {
		if r.Hole != 0 {
			return fmt.Errorf("after the clones: %+v", r)
		}
		if err := e.Scrub(ctx, r.TabletID); err != nil {
			return err
		}
	}
	if pending := e.PendingTxns(); len(pending) > 0 {
		return fmt.Errorf("pending %v", pending)
	}
	return sameAsSource(ctx, o.FS, e)
}

// sameAsSource reads the tablets at all versions that are published: the rows
// are the source's, or the read is refused, and not below a replica's hole.
func sameAsSource(ctx context.Context, fs vfs.FS, e *storage.Engine) error {
	holes := map[int64]int64{}
	for _, r := range e.Replicas() {
		holes[r.TabletID] = r.Hole
	}
	for _, tablet := range []int64{11, 12} {
		for v := int64(1); v <= e.PublishedVersion(part); v++ {
			got, err := read(ctx, fs, e, tablet, v)
			if isBehind(err) {
				if hole, here := holes[tablet]; here && (hole == 0 || v < hole) {
					return fmt.Errorf("tablet %d with a hole at %d: %w", tablet, hole, err)
				}
				continue
			}
			if isGone(err) && v < e.PublishedVersion(part) {
				continue // within a rowset that covers several versions
			}
			want := wantOf(tablet, v)
			if err != nil || !slices.Equal(got, want) {
				return fmt.Errorf("tablet %d at version %d: %d rows instead of %d, %w", tablet, v, len(got), len(want), err)
			}
		}
	}
	return nil
}

// wantOf are the rows of a tablet of the script.
func wantOf(tablet, version int64) []int64 {
	var want []int64
	for v := int64(2); v <= version; v++ {
		if tablet == 11 {
			want = append(want, v)
			continue
		}
		for i := range int64(200) {
			want = append(want, v*1000+i)
		}
	}
	return want
}
