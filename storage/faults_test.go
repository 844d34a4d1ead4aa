package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// breaker fails the operations that match while it is on.
type breaker struct {
	on    atomic.Bool
	kind  errorfs.OpKind
	path  string // a part of the path
	fails atomic.Int64
}

func (b *breaker) MaybeError(op errorfs.Op) error {
	if b.on.Load() && op.Kind == b.kind && strings.Contains(op.Path, b.path) {
		b.fails.Add(1)
		return errorfs.ErrInjected
	}
	return nil
}

// TestFileFaults: whatever fails while a file is made, the write fails, nothing
// names the file, and nothing of it is left; the same call works afterwards.
func TestFileFaults(t *testing.T) {
	for _, c := range []struct {
		kind errorfs.OpKind
		path string
	}{
		{errorfs.OpMkdirAll, "/data/11"},
		{errorfs.OpCreate, ".tmp"},
		{errorfs.OpFileWrite, ".tmp"},
		{errorfs.OpFileSync, ".tmp"},
		{errorfs.OpRename, ".tmp"},
		{errorfs.OpFileSync, "/data"},
		{errorfs.OpOpenDir, "/data/11"},
	} {
		t.Run(fmt.Sprintf("%d %s", c.kind, c.path), func(t *testing.T) {
			mem := vfs.NewMem()
			b := &breaker{kind: c.kind, path: c.path}
			fs := errorfs.Wrap(mem, errorfs.InjectorFunc(b.MaybeError))
			e := open(t, options(fs))
			b.on.Store(true)
			rs := many(1, 1, 11, 0)
			err := e.WritePending(t.Context(), 1, 1, []storage.PendingRowset{rs})
			if !errors.Is(err, errorfs.ErrInjected) || b.fails.Load() != 1 {
				t.Errorf("%v after %d faults", err, b.fails.Load())
			}
			b.on.Store(false)
			wantPending(t, e)
			if files := list(t, mem, "/r1/data/11"); len(files) != 0 {
				t.Errorf("files %v are left", files)
			}
			load(t, e, 2, 1, rs)
			b.on.Store(true)
			load(t, e, 3, 2, rows(2, 2, 11, 1))
			if c.kind == errorfs.OpFileSync || c.kind == errorfs.OpRename {
				if err := e.Flush(t.Context(), 11); !errors.Is(err, errorfs.ErrInjected) {
					t.Errorf("flush: %v", err)
				}
			}
			b.on.Store(false)
			closeEngine(t, e)
			e = opened(t, options(mem))
			if got, err := read(t.Context(), mem, e, 11, 3); err != nil || len(got) != 201 {
				t.Errorf("%d rows, %v", len(got), err)
			}
		})
	}
}

// TestFaults: a failed fsync of Pebble's log takes the root out of service, and
// is never tried again.
func TestFaults(t *testing.T) {
	mem := vfs.NewMem()
	b := &breaker{kind: errorfs.OpFileSyncData, path: "/r1/meta"}
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(b.MaybeError))
	o := options(fs)
	o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
	var fatal atomic.Int64
	o.Fatal = func(string, string) { fatal.Add(1) }
	e := open(t, o)
	load(t, e, 2, 1, rows(1, 1, 11, 1), rows(2, 1, 12, 2))
	b.on.Store(true)
	err := e.WritePending(t.Context(), 2, 1, []storage.PendingRowset{rows(3, 2, 11, 3), rows(4, 2, 12, 4)})
	if err == nil || !strings.Contains(err.Error(), "storage root /r1 is out of service") {
		t.Errorf("write: %v", err)
	}
	b.on.Store(false)
	for range 2 {
		if err := e.WritePending(t.Context(), 3, 1, []storage.PendingRowset{rows(5, 3, 11, 3)}); err == nil {
			t.Error("a write to the root was acknowledged after its failure")
		}
	}
	if _, err := e.Publish(t.Context(), order(3, 2, rows(4, 2, 12, 4))); err == nil {
		t.Error("a publish was acknowledged by a partition with a failed root")
	}
	if err := e.SyncPublished(t.Context()); err == nil || e.DurableVersion(part) != 1 {
		t.Errorf("sync: %v, durable through %d", err, e.DurableVersion(part))
	}
	if _, err := read(t.Context(), mem, e, 11, 2); err == nil || !strings.Contains(err.Error(), "storage root /r1 is out of service") {
		t.Errorf("a read of the failed root: %v", err)
	}
	wantRows(t, mem, e, 12, 2, 2)
	write(t, e, 4, rows(6, 4, 13, 6)) // the other root takes new tablets
	if r := e.Roots(); r[0].Err == nil || r[1].Err != nil {
		t.Errorf("roots: %+v", r)
	}
	if n := fatal.Load(); n != 0 {
		t.Errorf("fatal was called %d times while there is another root", n)
	}
	b.path = "/r2/meta"
	b.on.Store(true)
	if err := e.WritePending(t.Context(), 5, 1, []storage.PendingRowset{rows(7, 5, 14, 7)}); err == nil {
		t.Error("a write to the last root was acknowledged after its failure")
	}
	b.on.Store(false)
	if err := e.Run(t.Context()); err == nil {
		t.Error("the background work goes on without any root")
	}
	if n := fatal.Load(); n != 1 {
		t.Errorf("fatal was called %d times", n)
	}
	if err := e.Close(); err != nil && !errors.Is(err, errorfs.ErrInjected) {
		t.Errorf("close: %v", err)
	}
}

// TestCodecErrors: a codec that fails, stops or miscounts.
func TestCodecErrors(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	codec := &badCodec{Codec: o.Codec}
	o.Codec = codec
	e := opened(t, o)
	load(t, e, 2, 1, rows(1, 1, 11, 1, 2))
	for _, how := range []string{"error", "rows", "cancel"} {
		codec.how = how
		if err := e.Flush(t.Context(), 11); err == nil {
			t.Errorf("%s: no error", how)
		}
		if err := e.WritePending(t.Context(), 2, 1, []storage.PendingRowset{many(2, 2, 11, 1)}); err == nil {
			t.Errorf("%s: no error", how)
		}
	}
	if files := list(t, fs, "/r1/data/11"); len(files) != 0 {
		t.Errorf("files %v are left", files)
	}
	wantRows(t, fs, e, 11, 2, 1, 2)
}

type badCodec struct {
	storage.Codec
	how string
}

func (c *badCodec) WriteParquet(ctx context.Context, path string, spec *storage.FileSpec) (storage.FileInfo, error) {
	if c.how == "cancel" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	info, err := c.Codec.WriteParquet(ctx, path, spec)
	switch c.how {
	case "error":
		err = doriserr.New(doriserr.Internal, "the codec fails")
	case "rows":
		info.Rows++
	}
	return info, err
}
