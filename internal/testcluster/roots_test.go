package testcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// brokenDisk fails every fsync below a directory while it is on.
type brokenDisk struct {
	on  atomic.Bool
	dir string
}

func (b *brokenDisk) MaybeError(op errorfs.Op) error {
	sync := op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncTo
	if b.on.Load() && sync && strings.HasPrefix(op.Path, b.dir+string(filepath.Separator)) {
		return errorfs.ErrInjected
	}
	return nil
}

// TestABackendLosesADisk: a backend goes on without one of its two storage roots,
// and what was there is cloned onto the other one. The root may come back, or its
// loss is accepted: no row is lost or doubled.
func TestABackendLosesADisk(t *testing.T) {
	dir := t.TempDir()
	disk := &brokenDisk{dir: filepath.Join(dir, "be0", "storage")}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Start(ctx, Options{Dir: dir, Frontends: 1, Backends: 3, Roots: 2, FS: func(i int) vfs.FS {
		if i == 0 {
			return errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(disk.MaybeError))
		}
		return vfs.Default
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil && !strings.Contains(err.Error(), "injected") {
			t.Error(err)
		}
	})
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 6, 3, 20))
	load := func(mode string, first int) int64 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return inserter(ctx, t, c, mode, first)()
	}
	rows := load("sync_mode", 0)

	disk.on.Store(true)
	rows += load("async_mode", 1_000_000) + load("sync_mode", 2_000_000)
	disk.on.Store(false) // the root stays out of service all the same
	c.whole(t, "t", 3)
	c.sameRows(t, "t", rows)
	if roots := c.BEs[0].Node.Engine.Roots(); roots[0].Err == nil || roots[1].Err != nil {
		t.Errorf("roots %+v", roots)
	}
	if out, err := s.rows("SHOW BACKENDS"); err != nil || !strings.Contains(strings.Join(out, "\n"), "1 storage roots are out of service") {
		t.Errorf("SHOW BACKENDS: %v, %v", out, err)
	}

	// It comes back with what it had.
	stop := func() {
		if err := c.StopBackend(ctx, 0); err != nil && !strings.Contains(err.Error(), "injected") {
			t.Error(err)
		}
	}
	stop()
	rows += load("sync_mode", 3_000_000)
	if err := c.StartBackend(ctx, 0); err != nil {
		t.Fatal(err)
	}
	rows += load("sync_mode", 4_000_000)
	c.whole(t, "t", 3)
	c.sameRows(t, "t", rows)

	// Its disk is gone for good.
	lost := c.BEs[0].Node.Engine.Roots()[1]
	stop()
	if err := os.RemoveAll(lost.Path); err != nil {
		t.Fatal(err)
	}
	b := c.BEs[0]
	b.Roots = b.Roots[:1]
	if err := c.StartBackend(ctx, 0); err == nil || !strings.Contains(err.Error(), "--accept-loss="+lost.UUID.String()) {
		t.Fatalf("start without a root: %v", err)
	}
	b.AcceptLoss = []string{lost.UUID.String()}
	if err := c.StartBackend(ctx, 0); err != nil {
		t.Fatal(err)
	}
	rows += load("sync_mode", 5_000_000)
	c.whole(t, "t", 3)
	c.sameRows(t, "t", rows)
}
