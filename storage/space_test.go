package storage_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// smallDisk is a file system of a fixed size, part of which others take. Writes
// beyond it fail as those of a full disk do.
type smallDisk struct {
	vfs.FS
	total  uint64
	others atomic.Uint64
}

func (d *smallDisk) used(dir string) uint64 {
	names, err := d.List(dir)
	if err != nil {
		return 0
	}
	var n uint64
	for _, name := range names {
		path := d.PathJoin(dir, name)
		switch info, err := d.Stat(path); {
		case err != nil:
		case info.IsDir():
			n += d.used(path)
		default:
			n += uint64(info.Size())
		}
	}
	return n
}

func (d *smallDisk) avail() uint64 {
	used := d.used("/") + d.others.Load()
	return d.total - min(used, d.total)
}

// leave has others take all but so much.
func (d *smallDisk) leave(n uint64) { d.others.Store(d.total - d.used("/") - n) }

// GetDiskUsage implements vfs.FS.
func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	a := d.avail()
	return vfs.DiskUsage{AvailBytes: a, TotalBytes: d.total, UsedBytes: d.total - a}, nil
}

// Create implements vfs.FS.
func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return &smallFile{f, d}, err
}

// ReuseForWrite implements vfs.FS.
func (d *smallDisk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return &smallFile{f, d}, err
}

type smallFile struct {
	vfs.File
	disk *smallDisk
}

// Write implements vfs.File.
func (f *smallFile) Write(p []byte) (int, error) {
	if f.disk.avail() < uint64(len(p)) {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}

// Preallocate implements vfs.File: this disk cannot.
func (f *smallFile) Preallocate(int64, int64) error { return errors.ErrUnsupported }

func refusedForSpace(t *testing.T, what string, err error) {
	t.Helper()
	if !doriserr.Is(err, doriserr.ExceededLimit) || !strings.Contains(err.Error(), "exceed capacity limit, path: /r1: it has") {
		t.Errorf("%s: %v", what, err)
	}
}

func ballastOf(t *testing.T, e *storage.Engine, held, drops int64) {
	t.Helper()
	if d := e.Disks()[0]; d.Ballast != held || d.BallastDrops != drops || !d.InService {
		t.Errorf("disk %+v, want a ballast of %d that was dropped %d times", d, held, drops)
	}
}

// TestDiskFull: below the floor nothing new is taken; publishes, reads,
// compactions and rows out of WALs go on, at last in the space of the ballast,
// and all is as before once there is room again.
func TestDiskFull(t *testing.T) {
	const floor, ballast = 8 << 20, 4 << 20
	disk := &smallDisk{FS: vfs.NewMem(), total: 64 << 20}
	o := options(disk)
	o.MinFreeBytes, o.BallastBytes, o.CompactMinFiles, o.Fatal = floor, ballast, 2, nil
	e := open(t, o)
	ballastOf(t, e, ballast, 0)
	load(t, e, 2, 1, many(1, 1, 11, 0))
	load(t, e, 3, 2, many(2, 2, 11, 200))
	load(t, e, 4, 3, rows(3, 3, 12, 3))
	write(t, e, 4, rows(4, 4, 12, 4))

	disk.leave(floor - 1<<20)
	refusedForSpace(t, "write", e.WritePending(t.Context(), 5, 1, []storage.PendingRowset{rows(5, 5, 12, 5)}))
	refusedForSpace(t, "flush", e.Flush(t.Context(), 12))
	publish(t, e, order(5, 4, rows(4, 4, 12, 4)))
	compact(t, e, 11)
	if err := e.WriteReplayed(t.Context(), 6, 1, []storage.PendingRowset{rows(6, 6, 12, 6)}); err != nil {
		t.Errorf("rows out of a WAL: %v", err)
	}
	publish(t, e, order(6, 6, rows(6, 6, 12, 6)))
	wantRows(t, disk, e, 12, 6, 3, 4, 6)
	ballastOf(t, e, ballast, 0)

	// The last of the space is for what frees some.
	disk.leave(floor/4 - 1<<20)
	if err := e.WriteReplayed(t.Context(), 7, 1, []storage.PendingRowset{rows(7, 7, 12, 7)}); err != nil {
		t.Errorf("rows out of a WAL: %v", err)
	}
	publish(t, e, order(7, 7, rows(7, 7, 12, 7)))
	ballastOf(t, e, 0, 1)
	disk.leave(floor) // what the ballast left is not for new rows
	refusedForSpace(t, "write", e.WritePending(t.Context(), 8, 1, []storage.PendingRowset{rows(8, 8, 12, 8)}))
	storage.LookAtSpace(e)
	ballastOf(t, e, 0, 1)

	disk.others.Store(0)
	storage.LookAtSpace(e)
	ballastOf(t, e, ballast, 1)
	load(t, e, 8, 8, rows(8, 8, 12, 8))
	if err := e.Flush(t.Context(), 12); err != nil {
		t.Errorf("flush: %v", err)
	}
	wantRows(t, disk, e, 12, 8, 3, 4, 6, 7, 8)

	// Somebody else takes everything at once: Pebble finds no space.
	disk.leave(0)
	refusedForSpace(t, "write", e.WritePending(t.Context(), 9, 1, []storage.PendingRowset{rows(9, 9, 12, 9)}))
	publish(t, e, storage.Publish{PartitionID: part, Version: 9, TxnID: 99})
	if err := errors.Join(e.SyncPublished(t.Context()), e.SetBootEpoch(t.Context(), 3)); err != nil {
		t.Errorf("sync: %v", err)
	}
	ballastOf(t, e, 0, 2)
	closeEngine(t, e)

	// A start on a full disk, without a ballast and with one.
	e = open(t, o)
	wantRows(t, disk, e, 12, 9, 3, 4, 6, 7, 8)
	ballastOf(t, e, 0, 0)
	disk.others.Store(0)
	storage.LookAtSpace(e)
	ballastOf(t, e, ballast, 0)
	closeEngine(t, e)
	disk.leave(0)
	e = opened(t, o)
	ballastOf(t, e, 0, 1)
	wantRows(t, disk, e, 12, 9, 3, 4, 6, 7, 8)
}

// TestCloneNeedsSpace: a clone is new data.
func TestCloneNeedsSpace(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem(), total: 64 << 20}
	o := options(disk)
	o.MinFreeBytes, o.BallastBytes = 8<<20, -1
	e, from := opened(t, o), opened(t, options(vfs.NewMem()))
	load(t, from, 2, 1, rows(1, 1, 11, 1))
	c, err := e.BeginClone(t.Context(), part, 1, storage.TabletReplica{TabletID: 11, ReplicaID: 111, FromClone: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := from.OpenClone(t.Context(), part, 11, c.Ends(), 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	disk.leave(7 << 20)
	r, err := s.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	refusedForSpace(t, "clone", c.Add(t.Context(), s.Rowsets[0], r))
}

// TestRootWithRoom: a new tablet goes to the root with the fewest of those that
// have room.
func TestRootWithRoom(t *testing.T) {
	type disk struct{ avail, total uint64 }
	for _, c := range []struct {
		name string
		r1   disk
		want int64
	}{
		{"room", disk{50, 100}, 1},
		{"below the floor", disk{9, 1 << 30}, 0},
		{"too full", disk{15, 200}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := &unevenDisks{FS: vfs.NewMem(), usage: map[string]vfs.DiskUsage{
				"/r1": {AvailBytes: c.r1.avail, TotalBytes: c.r1.total}, "/r2": {AvailBytes: 50, TotalBytes: 100},
			}}
			o := options(fs)
			o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
			o.MinFreeBytes, o.BallastBytes, o.InlineLimitBytes = 10, -1, 1<<20
			e := opened(t, o)
			_ = e.WritePending(t.Context(), 1, 1, []storage.PendingRowset{rows(1, 1, 11, 1), rows(2, 1, 12, 2)}) // 10 bytes are few
			if n := storage.TabletsOn(e); n[0] != c.want {
				t.Errorf("tablets by root %v, want %d on the first", n, c.want)
			}
		})
	}
}

type unevenDisks struct {
	vfs.FS
	usage map[string]vfs.DiskUsage
}

// GetDiskUsage implements vfs.FS.
func (d *unevenDisks) GetDiskUsage(path string) (vfs.DiskUsage, error) { return d.usage[path], nil }
