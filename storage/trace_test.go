package storage_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var update = flag.Bool("update", false, "write the golden files")

// tracer writes down the calls that change the disk.
type tracer struct {
	mu  sync.Mutex
	out strings.Builder
}

var traced = map[errorfs.OpKind]string{
	errorfs.OpCreate: "create", errorfs.OpRemove: "remove", errorfs.OpRemoveAll: "remove all", errorfs.OpRename: "rename",
	errorfs.OpMkdirAll: "mkdir", errorfs.OpFileWrite: "write", errorfs.OpFileSync: "fsync", errorfs.OpFileSyncData: "fdatasync",
	errorfs.OpFileSyncTo: "sync range", errorfs.OpReuseForWrite: "reuse", errorfs.OpLink: "link", errorfs.OpFileWriteAt: "write at",
}

func (tr *tracer) MaybeError(op errorfs.Op) error {
	if name, ok := traced[op.Kind]; ok {
		tr.mu.Lock()
		fmt.Fprintf(&tr.out, "%s %s\n", name, op.Path)
		tr.mu.Unlock()
	}
	return nil
}

func (tr *tracer) step(name string, f func()) {
	fmt.Fprintf(&tr.out, "# %s\n", name)
	f()
}

// TestTrace compares every call that changes the disk with testdata/trace.txt: a
// lost or added fsync shows up there.
func TestTrace(t *testing.T) {
	tr := &tracer{}
	o := options(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(tr.MaybeError)))
	o.StaleSweep = -1
	e := open(t, o)
	tr.out.Reset()
	tr.step("write one row to one tablet", func() { write(t, e, 1, rows(1, 1, 11, 1)) })
	tr.step("publish it", func() { publish(t, e, order(2, 1, rows(1, 1, 11, 1))) })
	tr.step("write to two tablets, the second one's rows as a file", func() { write(t, e, 2, rows(2, 2, 11, 2), many(3, 2, 12, 2)) })
	tr.step("publish it", func() { publish(t, e, order(3, 2, rows(2, 2, 11, 2), many(3, 2, 12, 2))) })
	tr.step("make it durable", func() {
		if err := e.SyncPublished(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	tr.step("flush", func() { flush(t, e, 11) })
	tr.step("sweep", func() { sweep(t, e) })
	tr.step("write a file and abort", func() {
		write(t, e, 3, many(4, 3, 12, 2))
		if err := e.Abort(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		sweep(t, e)
	})
	tr.step("record a boot epoch", func() {
		if err := e.SetBootEpoch(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	})
	tr.step("drop a tablet", func() {
		if err := e.DropTablets(t.Context(), []int64{11}); err != nil {
			t.Fatal(err)
		}
		if err := e.Trash(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	got := tr.out.String()
	closeEngine(t, e)
	if *update {
		if err := os.WriteFile("testdata/trace.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the calls changed: got\n%s\nwant\n%s", got, want)
	}
}
