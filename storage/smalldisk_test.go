//go:build smalldisk

package storage_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/storage"
	"dorisgo/storage/storagetest"
)

// mountSmall mounts a file system of its own, which takes root and a loop device.
func mountSmall(t *testing.T, megabytes int64) string {
	t.Helper()
	dir := t.TempDir()
	image, mount := filepath.Join(dir, "disk.img"), filepath.Join(dir, "disk")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, megabytes<<20), os.Mkdir(mount, 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range [][]string{{"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, mount}} {
		if out, err := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd, err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Error(err)
		}
	})
	return mount
}

// fill takes all the space that a file system has left.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 1 << 20; n > 0; {
		if _, err := f.Write(make([]byte, n)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			n /= 2
		}
	}
}

// TestSmallDisk fills a real file system to the last block: publishes, reads and
// the background work go on, and writes after room was made, without a restart.
func TestSmallDisk(t *testing.T) {
	const floor, ballast = 64 << 20, 16 << 20
	mount := mountSmall(t, 300)
	root := filepath.Join(mount, "root")
	o := options(vfs.Default)
	o.Roots, o.Codec = []storage.Root{{Path: root}}, storagetest.Codec{FS: vfs.Default}
	o.MinFreeBytes, o.BallastBytes, o.TrashExpire, o.Fatal = floor, ballast, -1, nil
	e := open(t, o)
	ballastOf(t, e, ballast, 0)

	// Loads fill the disk to the floor and not beyond.
	values := make([]int64, 100_000)
	n := int64(1)
	var err error
	for ; err == nil; n++ {
		rs := rows(n, n, 11, values...)
		if err = e.WritePending(t.Context(), n, 1, []storage.PendingRowset{rs}); err == nil {
			publish(t, e, order(n+1, n, rs))
		}
	}
	loaded := (n - 2) * int64(len(values))
	if d := e.Disks()[0]; d.Refused != 1 || d.Avail < floor-(4<<20) || loaded == 0 {
		t.Errorf("disk %+v after %d rows: %v", d, loaded, err)
	}
	if err := e.WriteReplayed(t.Context(), 9000, 1, []storage.PendingRowset{rows(9000, 9000, 12, 1)}); err != nil {
		t.Fatal(err)
	}

	// Somebody else takes all that is left.
	other := filepath.Join(mount, "other")
	fill(t, other)
	publish(t, e, order(n, 9000, rows(9000, 9000, 12, 1)))
	for i := range int64(2000) { // more than the key-value store has allocated
		publish(t, e, storage.Publish{PartitionID: part, Version: n + 1 + i, TxnID: 10_000 + i})
	}
	if err := e.SyncPublished(t.Context()); err != nil {
		t.Fatal(err)
	}
	n += 2000
	storage.LookAtSpace(e)
	ballastOf(t, e, 0, 1)
	wantRows(t, vfs.Default, e, 12, n, 1)
	closeEngine(t, e)
	e = opened(t, o) // a start needs no space of its own
	wantRows(t, vfs.Default, e, 12, n, 1)

	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	// A table is dropped, which gives the loads room.
	if err := errors.Join(e.DropTablets(t.Context(), []int64{11}), e.Trash(t.Context()), e.Trash(t.Context())); err != nil {
		t.Fatal(err)
	}
	storage.LookAtSpace(e)
	ballastOf(t, e, ballast, 0)
	load(t, e, n+1, 20_000, rows(20_000, 20_000, 12, 2))
	wantRows(t, vfs.Default, e, 12, n+1, 1, 2)
}
