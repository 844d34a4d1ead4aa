package errlog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Shards is the number of sub-directories.
const Shards = 32

// Options are a store's limits.
type Options struct {
	// Dir holds the shards; it is made if missing.
	Dir string
	// Retention is how long files stay (load_error_log_reserve_hours).
	Retention time.Duration
	// MaxRows is how many rows a file holds, 0 for 50.
	MaxRows int
	Logger  *slog.Logger
}

// Store is a directory of error logs. Its methods may be called concurrently.
type Store struct{ o Options }

// Open makes a store and its directory.
func Open(o Options) (*Store, error) {
	if o.MaxRows == 0 {
		o.MaxRows = 50
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the error log directory: %w", err)
	}
	return &Store{o: o}, nil
}

var unsafe = regexp.MustCompile(`[^-_A-Za-z0-9:]`)

// New makes the log of one load. No file is made before its first row.
func (s *Store) New(db, label string, requestID [16]byte) *Log {
	sum := 0
	for _, b := range requestID {
		sum += int(b)
	}
	name := fmt.Sprintf("__shard_%d/error_log_%s_%s_%s_%s", sum%Shards,
		clip(unsafe.ReplaceAllString(db, "_"), 64), clip(unsafe.ReplaceAllString(label, "_"), 128),
		hex.EncodeToString(requestID[:8]), hex.EncodeToString(requestID[8:]))
	return &Log{s: s, name: name}
}

func clip(s string, n int) string { return s[:min(len(s), n)] }

var fileName = regexp.MustCompile(`^__shard_[0-9]{1,3}/error_log_[-_A-Za-z0-9:]{1,300}$`)

// Open opens a log by the name in an ErrorURL. Any name that is none of ours,
// or of a file that is gone, is fs.ErrNotExist.
func (s *Store) Open(name string) (io.ReadCloser, int64, error) {
	if !fileName.MatchString(name) {
		return nil, 0, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(s.o.Dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, 0, errors.Join(fs.ErrNotExist, f.Close())
	}
	return f, st.Size(), nil
}

// Sweep removes the files that are older than the retention at the time now.
func (s *Store) Sweep(ctx context.Context, now time.Time) error {
	err := filepath.WalkDir(s.o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.IsDir() || !strings.HasPrefix(d.Name(), "error_log_") {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if now.Sub(info.ModTime()) < s.o.Retention {
			return nil
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot sweep error logs: %w", err)
	}
	return nil
}

// Run sweeps at every interval until ctx ends. Errors are logged: a file too
// many harms nobody.
func (s *Store) Run(ctx context.Context, interval time.Duration) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			if err := s.Sweep(ctx, now); err != nil && ctx.Err() == nil {
				s.o.Logger.Warn("cannot sweep error logs", "err", err)
			}
		}
	}
}
