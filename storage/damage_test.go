package storage_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// rewrite changes a file in place.
func rewrite(t testing.TB, fs vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := fs.Remove(path); err != nil {
		t.Fatal(err)
	}
	if data = change(data); data == nil {
		return
	}
	f, err = fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func flip(b []byte) []byte  { b[len(b)/2] ^= 1; return b }
func short(b []byte) []byte { return b[:len(b)-1] }
func lose([]byte) []byte    { return nil }

// TestDamage: whoever meets a rowset that is damaged or lost, the replica is out
// of service from there on, and a clone repairs it.
func TestDamage(t *testing.T) {
	restart := func(t *testing.T, o storage.Options, e *storage.Engine) *storage.Engine {
		closeEngine(t, e)
		return open(t, o)
	}
	scrub := func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
		if err := e.Scrub(t.Context(), 11); !doriserr.Is(err, doriserr.VersionGone) {
			t.Errorf("scrub: %v", err)
		}
		return e
	}
	for _, c := range []struct {
		name string
		// file is what happens to the file of version 4; without it, the inline
		// rows of version 4 are changed.
		file func([]byte) []byte
		find func(*testing.T, storage.Options, *storage.Engine) *storage.Engine
	}{
		{"lost file at a start", lose, restart},
		{"short file at a start", short, restart},
		{"lost file in a scrub", lose, scrub},
		{"changed file in a scrub", flip, scrub},
		{"changed rows in a scrub", nil, scrub},
		{"changed rows in a read", nil, func(t *testing.T, o storage.Options, e *storage.Engine) *storage.Engine {
			if _, err := read(t.Context(), o.FS, e, 11, 6); !isBehind(err) {
				t.Errorf("read: %v", err)
			}
			return e
		}},
		{"changed rows in a flush", nil, func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
			if err := e.Flush(t.Context(), 11); !isBehind(err) {
				t.Errorf("flush: %v", err)
			}
			return e
		}},
		{"lost file in a compaction", lose, func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
			if _, err := e.Compact(t.Context(), 11); !isBehind(err) {
				t.Errorf("compaction: %v", err)
			}
			return e
		}},
		{"changed file in a compaction", flip, func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
			if _, err := e.Compact(t.Context(), 11); !isBehind(err) {
				t.Errorf("compaction: %v", err)
			}
			return e
		}},
		{"changed file in a clone", flip, func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
			_, _, to := second(t, 1)
			if _, err := cloneFrom(t.Context(), e, to, 6, storage.TabletReplica{TabletID: 11}, 6); !isBehind(err) {
				t.Errorf("clone: %v", err)
			}
			wantReplica(t, to, 11, 0, 2, 1)
			closeEngine(t, to)
			return e
		}},
		{"lost file in a clone", lose, func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
			s, err := e.OpenClone(t.Context(), part, 11, []int64{1}, 6)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(t.Context(), 2); !isBehind(err) {
				t.Errorf("clone: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return e
		}},
		{"changed rows in a clone", nil, func(t *testing.T, _ storage.Options, e *storage.Engine) *storage.Engine {
			s, err := e.OpenClone(t.Context(), part, 11, []int64{1}, 6)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(t.Context(), 2); !isBehind(err) {
				t.Errorf("clone: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return e
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := opened(t, options(vfs.NewMem()))
			fs := vfs.NewMem()
			o := options(fs)
			o.Rand, o.StaleSweep, o.CompactMinFiles = newRand(3), -1, 2
			e := open(t, o)
			for v := int64(2); v <= 6; v++ {
				rs := rows(v, v, 11, v*1000)
				if c.file != nil {
					rs = many(v, v, 11, v*1000)
				}
				load(t, e, v, v, rs)
				load(t, other, v, v, rs)
			}
			want, err := read(t.Context(), fs, e, 11, 6)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Scrub(t.Context(), 11); err != nil {
				t.Errorf("a sound tablet: %v", err)
			}
			if c.file != nil {
				rewrite(t, fs, files(t, e, 11, 6)[2].Path, c.file)
			} else if err := storage.SpoilInline(e, 11, 4); err != nil {
				t.Fatal(err)
			}
			e = c.find(t, o, e)
			for range 2 {
				wantReplica(t, e, 11, 0, 4, 3)
				wantBehind(t, fs, e, 11, 4)
				wantBehind(t, fs, e, 11, 6)
				if got, err := read(t.Context(), fs, e, 11, 3); err != nil || len(got) != len(want)*2/5 {
					t.Errorf("below the damage: %d rows, %v", len(got), err)
				}
				e = restart(t, o, e)
			}
			flush(t, e, 11)
			if _, err := e.Compact(t.Context(), 11); err != nil {
				t.Error(err)
			}
			wantHoles(t, e, order(7, 7), map[int64]int64{})
			wantClone(t, other, e, 1, storage.TabletReplica{TabletID: 11}, 6, 7)
			sweep(t, e)
			for range 2 {
				wantRows(t, fs, e, 11, 7, want...)
				if err := e.Scrub(t.Context(), 11); err != nil {
					t.Error(err)
				}
				e = restart(t, o, e)
			}
			if names := list(t, fs, "/r1/trash"); len(names) != 0 {
				t.Errorf("trash %v", names)
			}
			closeEngine(t, e)
		})
	}
}

// TestDamagedPending: a pending rowset whose file is lost can be written again.
func TestDamagedPending(t *testing.T) {
	fs := vfs.NewMem()
	e := open(t, options(fs))
	rs := many(21, 2, 11, 0)
	write(t, e, 2, rs)
	closeEngine(t, e)
	rewrite(t, fs, "/r1/data/11/"+list(t, fs, "/r1/data/11")[0], lose)
	e = opened(t, options(fs))
	wantHoles(t, e, order(2, 2, rs), map[int64]int64{11: 2})
	write(t, e, 2, rs)
	wantReplica(t, e, 11, 0, 0, 2)
	if err := e.Scrub(t.Context(), 11); err != nil {
		t.Error(err)
	}
}

// TestScrubInBackground: every tablet has its turn in ScrubInterval.
func TestScrubInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		o := options(fs)
		o.Now, o.ScrubInterval = time.Now, time.Hour
		e := open(t, o)
		for tablet := int64(11); tablet <= 14; tablet++ {
			load(t, e, tablet-9, tablet, many(tablet, tablet, tablet, 0))
			rewrite(t, fs, files(t, e, tablet, tablet-9)[0].Path, flip)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- e.Run(ctx) }()
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		for tablet := int64(11); tablet <= 14; tablet++ {
			wantReplica(t, e, tablet, 0, tablet-9, tablet-10)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		closeEngine(t, e)
	})
}
