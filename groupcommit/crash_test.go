package groupcommit

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var update = flag.Bool("update", false, "write golden files anew")

// tracedFS tells every operation that changes something, before it happens;
// unlike vfs.WithLogging also writes.
type tracedFS struct {
	vfs.FS
	note func(op string)
}

type tracedFile struct {
	vfs.File
	name string
	note func(op string)
}

func (f *tracedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f.note("create " + name)
	file, err := f.FS.Create(name, c)
	return &tracedFile{file, name, f.note}, err
}

func (f *tracedFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	return &tracedFile{file, name, f.note}, err
}

func (f *tracedFS) Remove(name string) error {
	f.note("remove " + name)
	return f.FS.Remove(name)
}

func (f *tracedFS) Rename(from, to string) error {
	f.note("rename " + from + " to " + to)
	return f.FS.Rename(from, to)
}

func (f *tracedFS) MkdirAll(dir string, perm os.FileMode) error {
	f.note("mkdir " + dir)
	return f.FS.MkdirAll(dir, perm)
}

func (f *tracedFile) Write(p []byte) (int, error) {
	f.note("write " + f.name)
	return f.File.Write(p)
}

func (f *tracedFile) WriteAt(p []byte, off int64) (int, error) {
	f.note("write " + f.name)
	return f.File.WriteAt(p, off)
}

func (f *tracedFile) Sync() error {
	f.note("fsync " + f.name)
	return f.File.Sync()
}

func (f *tracedFile) SyncData() error {
	f.note("fdatasync " + f.name)
	return f.File.SyncData()
}

// TestTraceOfAGroup pins the order of file operations, calls of the sink and
// acks of one async group: the ack comes after its fsync, the removal after the
// commit, the release after the removal's fsync.
func TestTraceOfAGroup(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var trace bytes.Buffer
		note := func(op string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(&trace, op)
		}
		f := newFSM(t)
		n := start(t, &tracedFS{vfs.NewMem(), note}, f, func(n *node, _ *Options) {
			n.sink.before = func(_ context.Context, op string, _ Txn) error { note("call " + op); return nil }
		})
		synctest.Wait()
		for i := range int64(3) {
			n.mustAdd(newLoad(testTable(1), true, i, 1))
			note("ack")
		}
		time.Sleep(10 * time.Second)
		n.end()
		path := filepath.Join("testdata", "trace_of_a_group.txt")
		if *update {
			if err := os.WriteFile(path, trace.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, trace.Bytes()) {
			t.Fatalf("got\n%s", trace.String())
		}
	})
}

// crash is the world at one moment: what is on the disk, what the cluster knows,
// and what clients were told.
type crash struct {
	at    string
	disk  *vfs.MemFS
	fsm   *fsm
	acked []int64
}

// copy is the cluster's state as of now.
func (f *fsm) copy() *fsm {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := newFSM(f.t)
	c.nextID, c.boot, c.commits = f.nextID, f.boot, slices.Clone(f.commits)
	for id, x := range f.txns {
		y := *x
		y.pending = slices.Clone(x.pending)
		c.txns[id] = &y
	}
	for id, x := range f.byReq {
		c.byReq[id] = x
	}
	for id, rows := range f.rows {
		c.rows[id] = slices.Clone(rows)
	}
	return c
}

// TestCrashAtEveryFileOperation lets clients load rows in async and sync mode
// and takes the disk away before every file operation and around every call to
// the cluster, with nothing, some or all of what was not fsynced. After each
// crash a new life must bring every acknowledged row exactly once, no other row
// twice, and leave no open group behind.
func TestCrashAtEveryFileOperation(t *testing.T) {
	const seed = 20240607
	t.Logf("seed %d", seed)
	var crashes []crash
	bubble(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 1))
		disk := vfs.NewCrashableMem()
		f := newFSM(t)
		var mu sync.Mutex
		var acked []int64
		record := func(at string) {
			mu.Lock()
			defer mu.Unlock()
			state := f.copy()
			for _, percent := range []int{0, 50, 100} {
				crashes = append(crashes, crash{fmt.Sprintf("%s, %d%% unsynced", at, percent),
					disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}), state, slices.Clone(acked)})
			}
		}
		n := start(t, &tracedFS{disk, record}, f, func(n *node, _ *Options) {
			n.sink.before = func(_ context.Context, op string, _ Txn) error { record("before " + op); return nil }
			n.sink.after = func(_ context.Context, op string, _ Txn) error { record("after " + op); return nil }
		})
		tb := testTable(1)
		var wg sync.WaitGroup
		for i := range int64(12) {
			wg.Go(func() {
				n.mustAdd(newLoad(tb, i%3 > 0, i*10, 2))
				mu.Lock()
				acked = append(acked, i*10, i*10+1)
				mu.Unlock()
			})
			time.Sleep(200 * time.Millisecond)
		}
		wg.Wait()
		time.Sleep(10 * time.Second)
		n.end()
		if got := f.visible(1); len(got) != 24 {
			t.Fatalf("without a crash: %v", got)
		}
	})
	t.Logf("%d crashes", len(crashes))
	for k := range 2 * len(crashes) {
		i, repeats := k/2, k%2 == 1
		c := crashes[i]
		bubble(t, func(t *testing.T) {
			f := c.fsm.copy()
			f.t = t
			n := start(t, c.disk.CrashClone(vfs.CrashCloneCfg{}), f, nil)
			// Routers repeat what was under way, answered or not: every request
			// counts once.
			before := f.visible(1)
			for row := int64(10); row < 120; row += 10 {
				if repeats && row%30 > 0 && !slices.Contains(before, row) && (row%20 == 0 || slices.Contains(c.acked, row)) {
					n.mustAdd(newLoad(testTable(1), true, row, 2))
				}
			}
			time.Sleep(time.Minute)
			n.end()
			rows := f.visible(1)
			for _, row := range c.acked {
				if !slices.Contains(rows, row) {
					t.Errorf("crash %d (%s): acknowledged row %d is lost; rows %v", i, c.at, row, rows)
				}
			}
			for _, row := range rows {
				if row%10 == 0 && !slices.Contains(rows, row+1) {
					t.Errorf("crash %d (%s): half of a load is there: %v", i, c.at, rows)
				}
			}
			if _, prepare := f.groups(); prepare != 0 {
				t.Errorf("crash %d (%s): %d groups are left in PREPARE", i, c.at, prepare)
			}
			files, err := n.wals.Scan(t.Context())
			if err != nil || len(files) != 0 {
				t.Errorf("crash %d (%s): files left: %v, %v", i, c.at, files, err)
			}
		})
		if t.Failed() {
			break
		}
	}
}

func TestTraceHasNoSurprises(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "trace_of_a_group.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	index := func(part string, from int) int {
		for i := from; i < len(lines); i++ {
			if strings.Contains(lines[i], part) {
				return i
			}
		}
		t.Fatalf("no %q after line %d", part, from)
		return -1
	}
	file := index("create /wal/1/1/", 0)
	at := file
	for _, step := range []string{"fsync /wal/1/1/2_", "fsync /wal/1/1", "fdatasync", "ack", "call Write", "call Commit", "remove /wal/1/1/", "fsync /wal/1/1", "call Release"} {
		at = index(step, at+1)
	}
}
