package wal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

var update = flag.Bool("update", false, "write golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Fatalf("%s differs; got:\n%s", name, got)
	}
}

// TestGoldenFile pins the bytes of the format that is written, and what is read
// from files of every version.
func TestGoldenFile(t *testing.T) {
	data, _ := makeFile(t, 3)
	golden(t, "v2.wal", data)
	for _, name := range []string{"v1", "v2"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+".wal"))
		if err != nil {
			t.Fatal(err)
		}
		fs := vfs.NewMem()
		writeFile(t, fs, "/f", data)
		var text strings.Builder
		if err := Inspect(&text, fs, "/f"); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", []byte(text.String()))
		_, recs, err := readAll(fs, "/f")
		if err != nil {
			t.Fatal(err)
		}
		checkRecords(t, recs, 3, name)
	}
}

// TestTrace pins every file operation of a file's life: a lost fsync shows.
func TestTrace(t *testing.T) {
	var trace strings.Builder
	fs := vfs.WithLogging(vfs.NewMem(), func(format string, args ...any) { fmt.Fprintf(&trace, format+"\n", args...) })
	step := func(s string) { fmt.Fprintf(&trace, "# %s\n", s) }
	step("open a new directory")
	m := openTest(t, fs)
	step("boot epoch")
	err := m.SetBootEpoch(3)
	step("create the first file of a table")
	w, err1 := m.Create(t.Context(), testHeader(7), nil)
	if err := errors.Join(err, err1); err != nil {
		t.Fatal(err)
	}
	step("two appends")
	err = errors.Join(w.Append(t.Context(), reqID(0), 1, payload(0)), w.Append(t.Context(), reqID(1), 1, payload(1)))
	step("close")
	err = errors.Join(err, w.Close())
	step("create the second file")
	w2, err2 := m.Create(t.Context(), testHeader(8), nil)
	if err := errors.Join(err, err2, w2.Close()); err != nil {
		t.Fatal(err)
	}
	step("remove")
	err = m.Remove(w.Path())
	step("end")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "trace.txt", []byte(trace.String()))
}

func TestIdentity(t *testing.T) {
	fs := vfs.NewMem()
	m, err := Open(fs, []string{"/a", "/b"}, Options{Rand: &fixedRand{}})
	if err != nil {
		t.Fatal(err)
	}
	first := m.Dirs()
	if !first[0].New || !first[1].New || first[0].UUID == first[1].UUID {
		t.Fatalf("%+v", first)
	}
	if _, err := Open(fs, []string{"/a"}, Options{}); err == nil {
		t.Fatal("opened twice")
	}
	if err := errors.Join(m.SetBootEpoch(5), m.Close()); err != nil {
		t.Fatal(err)
	}
	m, err = Open(fs, []string{"/a/", "/b"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range m.Dirs() {
		if d.New || d.UUID != first[i].UUID || d.BootEpoch != 5 || d.Path != first[i].Path {
			t.Fatalf("%+v", d)
		}
	}
	if err := m.SetBootEpoch(4); err == nil {
		t.Fatal("boot epoch went back")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, fs, "/a/IDENTITY", []byte("dorisgo wal directory 1\nuuid x\nboot_epoch 5\ncrc32c 00000000\n"))
	if _, err := Open(fs, []string{"/a"}, Options{}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("damaged identity: %v", err)
	}
	// A newer format is named, and needs no damage to be refused.
	text := "dorisgo wal directory 2\nwhatever comes then\n"
	newer := text + fmt.Sprintf("crc32c %08x\n", crc32.Checksum([]byte(text), castagnoli))
	writeFile(t, fs, "/a/IDENTITY", []byte(newer))
	if _, err := Open(fs, []string{"/a"}, Options{}); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "format version 2") || !strings.Contains(err.Error(), "newer dorisgo") {
		t.Fatalf("newer identity: %v", err)
	}
	writeFile(t, fs, "/a/IDENTITY", []byte(strings.Replace(newer, "what", "that", 1)))
	if _, err := Open(fs, []string{"/a"}, Options{}); errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("damaged newer identity: %v", err)
	}
	// Files without an identity: some other volume, or half of ours.
	if err := errors.Join(fs.MkdirAll("/c/11/22", 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fs, []string{"/c"}, Options{}); err == nil || !strings.Contains(err.Error(), "IDENTITY") {
		t.Fatalf("directory without identity: %v", err)
	}
	// A crash at any point of making it leaves the old or the new one.
	for _, bad := range []string{"", "0", "-5", "0%", "101%", "ten"} {
		if _, err := Open(fs, []string{"/d"}, Options{Limit: bad}); (err == nil) != (bad == "") {
			t.Fatalf("limit %q: %v", bad, err)
		}
	}
	if _, err := Open(fs, nil, Options{}); err == nil {
		t.Fatal("no directory is no error")
	}
}

func TestScan(t *testing.T) {
	fs := vfs.NewMem()
	m := openTest(t, fs, "/a", "/b")
	for _, txn := range []int64{12, 9, 10, 11} {
		w, err := m.Create(t.Context(), testHeader(txn), nil)
		if err := errors.Join(err, w.Append(t.Context(), reqID(0), 1, payload(0)), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, fs, "/a/readme.txt", []byte("hello"))
	writeFile(t, fs, "/a/11/notes", []byte("hello"))
	writeFile(t, fs, "/a/11/22/core.123", []byte("hello"))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = openTest(t, fs, "/a", "/b")
	files, err := m.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ours []int64
	foreign := 0
	for _, f := range files {
		if f.Foreign {
			foreign++
			continue
		}
		h := testHeader(f.TxnID)
		if f.DBID != 11 || f.TableID != 22 || f.BackendID != 10001 || f.Version != FormatVersion || f.Label != h.Label || f.Bytes == 0 {
			t.Errorf("%+v", f)
		}
		ours = append(ours, f.TxnID)
	}
	if fmt.Sprint(ours) != "[9 10 11 12]" || foreign != 3 || m.Counts()[22] != 4 {
		t.Fatalf("transactions %v, %d foreign, counts %v", ours, foreign, m.Counts())
	}
	used := m.Space()[0].Used + m.Space()[1].Used
	if again, err := m.Scan(t.Context()); err != nil || len(again) != len(files) || m.Space()[0].Used+m.Space()[1].Used != used {
		t.Fatalf("second scan: %d files, %v", len(again), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewCrashableMem()
		m := openTest(t, fs)
		var moved []string
		for i, reason := range []Reason{Unknown, Damaged, Torn, Erased} {
			w, err := m.Create(t.Context(), testHeader(int64(i)), nil)
			if err := errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			to, err := m.Quarantine(w.Path(), reason)
			if err != nil {
				t.Fatal(err)
			}
			moved = append(moved, to)
		}
		if m.Space()[0].Used != 0 || m.Counts()[22] != 0 {
			t.Fatalf("%v %v", m.Space(), m.Counts())
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{})
		for _, path := range moved {
			if _, _, err := readAll(crashed, path); err != nil {
				t.Fatalf("%s after a crash: %v", path, err)
			}
		}
		if files, err := m.Scan(t.Context()); err != nil || len(files) != 0 {
			t.Fatalf("scan: %v, %v", files, err)
		}
		time.Sleep(time.Hour)
		if n, err := m.Sweep(t.Context(), time.Now().Add(-2*time.Hour)); n != 0 || err != nil {
			t.Fatalf("early sweep: %d, %v", n, err)
		}
		if n, err := m.Sweep(t.Context(), time.Now()); n != 2 || err != nil {
			t.Fatalf("sweep: %d, %v", n, err)
		}
		for i, path := range moved {
			if _, err := fs.Stat(path); (err == nil) != (i < 2) {
				t.Fatalf("%s: %v", path, err)
			}
		}
	})
}

// diskFS reports free space by directory and fails writes in one of them.
type diskFS struct {
	vfs.FS
	free map[string]uint64
}

func (f *diskFS) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.free[path]}, nil
}

// TestDirectoryWithRoomIsUsed: the account follows the disk, a full directory
// is passed over, a failing one too, and all of it heals without a restart.
func TestDirectoryWithRoomIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := ""
		fs := &diskFS{free: map[string]uint64{"/a": 1 << 20, "/b": 1 << 20}}
		fs.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if fail != "" && op.Kind == errorfs.OpFileSync && strings.HasPrefix(op.Path, fail) {
				return syscall.ENOSPC
			}
			return nil
		}))
		m := openTest(t, fs, "/a", "/b")
		txn := int64(0)
		create := func() (string, error) {
			txn++
			w, err := m.Create(t.Context(), testHeader(txn), nil)
			if err != nil {
				return "", err
			}
			return w.Path()[:2], w.Close()
		}
		expect := func(what string, want map[string]int) {
			t.Helper()
			got := map[string]int{}
			for range 4 {
				dir, err := create()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				got[dir]++
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		expect("both have room", map[string]int{"/a": 2, "/b": 2})
		if got := m.Available(); got > 1<<20/10 || got < 1<<20/10-4096 {
			t.Fatalf("10%% of 1 MiB: %d", got)
		}
		fs.free["/a"] = 0
		time.Sleep(time.Second)
		expect("a is full", map[string]int{"/b": 4})
		fs.free["/a"] = 1 << 20
		time.Sleep(time.Second)
		expect("a is free again", map[string]int{"/a": 2, "/b": 2})
		fail = "/b"
		expect("b fails", map[string]int{"/a": 4})
		fail = "/"
		if _, err := create(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("both fail: %v", err)
		}
		fail = ""
		expect("healed", map[string]int{"/a": 2, "/b": 2})
		if files, err := m.Scan(t.Context()); err != nil || len(files) != 20 {
			t.Fatalf("failed creations left files: %d, %v", len(files), err)
		}
		fs.free["/a"], fs.free["/b"] = 0, 0
		time.Sleep(time.Second)
		if _, err := create(); !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "[/a: limit 165 Bytes, used 1650 Bytes") {
			t.Fatalf("both full: %v", err)
		}
	})
}
