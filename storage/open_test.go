package storage_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

func writeFile(t *testing.T, fs vfs.FS, path, text string) {
	t.Helper()
	if err := fs.MkdirAll(fs.PathDir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIdentity(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
	e := open(t, o)
	before := e.Roots()
	if !before[0].New || before[0].UUID == before[1].UUID || before[1].Path != "/r2" {
		t.Errorf("new roots: %+v", before)
	}
	if err := e.SetBootEpoch(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if err := e.SetBootEpoch(t.Context(), 6); !doriserr.Is(err, doriserr.StaleEpoch) {
		t.Errorf("going back: %v", err)
	}
	closeEngine(t, e)
	e = opened(t, o)
	for i, r := range e.Roots() {
		if r.New || r.UUID != before[i].UUID || r.BootEpoch != 7 {
			t.Errorf("after the restart: %+v", r)
		}
	}
	if _, err := storage.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("second open: %v", err)
	}
}

// TestOpenRefuses has the roots that must not be opened.
func TestOpenRefuses(t *testing.T) {
	identity := func(t *testing.T, fs vfs.FS) string {
		f, err := fs.Open("/r1/IDENTITY")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b := make([]byte, 500)
		n, _ := f.Read(b)
		return string(b[:n])
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, fs vfs.FS)
		want string
	}{
		{"a directory in use", func(t *testing.T, fs vfs.FS) {
			if err := fs.RemoveAll("/r1"); err != nil {
				t.Fatal(err)
			}
			writeFile(t, fs, "/r1/data/file", "x")
		}, `it has no IDENTITY file and is not empty (it contains "data")`},
		{"no identity", func(t *testing.T, fs vfs.FS) {
			if err := fs.Remove("/r1/IDENTITY"); err != nil {
				t.Fatal(err)
			}
		}, "it has no IDENTITY file and is not empty"},
		{"no Pebble", func(t *testing.T, fs vfs.FS) {
			if err := fs.RemoveAll("/r1/meta"); err != nil {
				t.Fatal(err)
			}
		}, "its Pebble (/r1/meta) is missing although the root has an identity"},
		{"an empty Pebble directory", func(t *testing.T, fs vfs.FS) {
			if err := fs.RemoveAll("/r1/meta"); err != nil {
				t.Fatal(err)
			}
			if err := fs.MkdirAll("/r1/meta", 0o755); err != nil {
				t.Fatal(err)
			}
		}, "is missing although the root has an identity"},
		{"another root's Pebble", func(t *testing.T, fs vfs.FS) {
			o := options(fs)
			o.Roots, o.Rand = []storage.Root{{Path: "/other"}}, newRand(99)
			closeEngine(t, open(t, o))
			if err := fs.RemoveAll("/r1/meta"); err != nil {
				t.Fatal(err)
			}
			if err := fs.Rename("/other/meta", "/r1/meta"); err != nil {
				t.Fatal(err)
			}
		}, "its Pebble belongs to root"},
		{"a later format", func(t *testing.T, fs vfs.FS) {
			writeFile(t, fs, "/r1/IDENTITY", strings.Replace(identity(t, fs), "format 1", "format 2", 1)+"more 5\n")
		}, "cannot read /r1/IDENTITY: it was written in storage format 2, this build reads formats up to 1"},
		{"a damaged identity", func(t *testing.T, fs vfs.FS) {
			writeFile(t, fs, "/r1/IDENTITY", strings.Replace(identity(t, fs), "boot_epoch 0", "boot_epoch 9", 1))
		}, "cannot read /r1/IDENTITY: its contents are damaged"},
		{"a foreign file", func(t *testing.T, fs vfs.FS) {
			writeFile(t, fs, "/r1/IDENTITY", "hello")
		}, "cannot read /r1/IDENTITY: its contents are damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			closeEngine(t, open(t, options(fs)))
			c.do(t, fs)
			before := fs.String()
			e, err := storage.Open(t.Context(), options(fs))
			if err == nil {
				closeEngine(t, e)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "/r1") {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if after := fs.String(); strings.Count(after, "\n") < strings.Count(before, "\n") {
				t.Errorf("files went away: before\n%safter\n%s", before, after)
			}
		})
	}
}

func TestOpenRefusesCopies(t *testing.T) {
	fs := vfs.NewMem()
	closeEngine(t, open(t, options(fs)))
	if ok, err := vfs.Clone(fs, fs, "/r1", "/r2"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	o := options(fs)
	o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}
	if _, err := storage.Open(t.Context(), o); !doriserr.Is(err, doriserr.Corrupt) {
		t.Errorf("a copy of a root: %v", err)
	}
}

func TestOptions(t *testing.T) {
	fs := vfs.NewMem()
	for name, change := range map[string]func(*storage.Options){
		"no root":    func(o *storage.Options) { o.Roots = nil },
		"empty root": func(o *storage.Options) { o.Roots = []storage.Root{{}} },
		"root twice": func(o *storage.Options) { o.Roots = append(o.Roots, o.Roots[0]) },
		"no codec":   func(o *storage.Options) { o.Codec = nil },
	} {
		o := options(fs)
		change(&o)
		if _, err := storage.Open(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestUnknownFiles: what no record names goes to the trash and from there after
// its time.
func TestUnknownFiles(t *testing.T) {
	fs, c := vfs.NewMem(), newClock()
	o := options(fs)
	o.Now = c.Now
	e := open(t, o)
	load(t, e, 2, 1, many(1, 1, 11, 0))
	closeEngine(t, e)
	known := list(t, fs, "/r1/data/11")
	writeFile(t, fs, "/r1/data/11/stray.parquet", "x")
	writeFile(t, fs, "/r1/data/11/left.parquet.tmp", "x")
	writeFile(t, fs, "/r1/data/12/other.parquet", "x")
	writeFile(t, fs, "/r1/trash/README", "kept")

	e = opened(t, o)
	if got := list(t, fs, "/r1/data"); len(got) != 1 || got[0] != "11" {
		t.Errorf("data: %v", got)
	}
	if got := list(t, fs, "/r1/data/11"); len(got) != 1 || got[0] != known[0] {
		t.Errorf("tablet: %v", got)
	}
	want := "1700000000000-unknown-11-left.parquet.tmp 1700000000000-unknown-11-stray.parquet 1700000000000-unknown-12 README"
	if got := strings.Join(list(t, fs, "/r1/trash"), " "); got != want {
		t.Errorf("trash: %s", got)
	}
	c.advance(o.TrashExpire + 3*24*60*60*1e9)
	if err := e.Trash(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(list(t, fs, "/r1/trash"), " "); got != "README" {
		t.Errorf("trash after its time: %s", got)
	}
}

// TestMissingFile: a lost file damages its tablet, nothing else.
func TestMissingFile(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	load(t, e, 2, 1, many(1, 1, 11, 0), rows(2, 1, 12, 5))
	write(t, e, 2, many(3, 2, 12, 0))
	closeEngine(t, e)
	for _, dir := range []string{"/r1/data/11", "/r1/data/12"} {
		if err := fs.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	e = opened(t, options(fs))
	wantBehind(t, fs, e, 11, 2)
	wantRows(t, fs, e, 12, 2, 5)
	wantHoles(t, e, order(3, 2, many(3, 2, 12, 0)), map[int64]int64{12: 3})
	wantRows(t, fs, e, 12, 2, 5)
}
