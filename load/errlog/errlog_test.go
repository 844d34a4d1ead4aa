package errlog

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(Options{Dir: t.TempDir(), Retention: 48 * time.Hour, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLogHoldsFirstRows(t *testing.T) {
	s := open(t)
	l := s.New("db", "label-1", [16]byte{0: 1, 15: 2})
	if l.Name() != "" {
		t.Fatal("a log without rows has a name")
	}
	for range 60 {
		l.RowError("bad", []byte("1,x"))
	}
	l.Close()
	want := "__shard_3/error_log_db_label-1_0100000000000000_0000000000000002"
	if l.Name() != want {
		t.Fatalf("name %q, want %q", l.Name(), want)
	}
	r, size, err := s.Open(l.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if wantText := strings.Repeat("Reason: bad. src line [1,x]; \n", 50); string(got) != wantText || size != int64(len(wantText)) {
		t.Errorf("log %q (size %d)", got, size)
	}
}

func TestOpenTakesOnlyItsOwnNames(t *testing.T) {
	s := open(t)
	if err := os.WriteFile(filepath.Join(s.o.Dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "secret", "../secret", "__shard_1/../../secret", "/etc/passwd", "__shard_1/error_log_..", "__shard_1/error_log_none_l_0_0"} {
		if _, _, err := s.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestNamesAreSafe(t *testing.T) {
	s := open(t)
	l := s.New("../d/编", "a/b\x00"+strings.Repeat("x", 500), [16]byte{})
	l.RowError("r", nil)
	l.Close()
	if _, _, err := s.Open(l.Name()); err != nil {
		t.Errorf("%q: %v", l.Name(), err)
	}
}

func TestSweepRemovesOldFiles(t *testing.T) {
	s := open(t)
	l := s.New("db", "l", [16]byte{1})
	l.RowError("r", nil)
	l.Close()
	for _, tt := range []struct {
		after time.Duration
		gone  bool
	}{{47 * time.Hour, false}, {49 * time.Hour, true}} {
		if err := s.Sweep(t.Context(), time.Now().Add(tt.after)); err != nil {
			t.Fatal(err)
		}
		r, _, err := s.Open(l.Name())
		if gone := err != nil; gone != tt.gone {
			t.Errorf("after %s: gone %v", tt.after, gone)
		}
		if err == nil {
			r.Close()
		}
	}
}
