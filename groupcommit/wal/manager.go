package wal

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// category names our writes in the file system's statistics.
const category vfs.DiskWriteCategory = "group-commit-wal"

// tmpDir is where files are set aside, beside the directories of databases.
const tmpDir = "tmp"

// Options configure a Manager.
type Options struct {
	// Limit is group_commit_wal_max_disk_limit: bytes, or a percentage of the
	// disk space that is available. Empty means "10%".
	Limit string
	// NoSync is group_commit_wal_sync=false: acknowledged rows survive a crash
	// of the process, not one of the machine.
	NoSync bool
	// Rand draws UUIDs and salts, concurrently; nil means crypto/rand.
	Rand io.Reader
	// Logger takes what an operator should know; nil discards.
	Logger *slog.Logger
}

// Manager owns the WAL directories of one backend. All methods may be called
// concurrently.
type Manager struct {
	fs       vfs.FS
	dirs     []*dir
	opts     Options
	log      *slog.Logger
	turn     atomic.Uint64 // rotates among the directories with room
	counters counters

	mu sync.Mutex
	// files are the files in place: created and not removed, or found by Scan.
	files map[string]*openFile
	// durable are directories whose entry in their parent is on disk.
	durable map[string]bool
}

// openFile is a file's entry in the accounts.
type openFile struct {
	info FileInfo
	// size is what counts against the limit: header, frames that were handed
	// in, and padding.
	size atomic.Int64
}

func (f *openFile) grow(d *dir, n int64) {
	f.size.Add(n)
	d.used.Add(n)
}

type counters struct {
	frames, records, bytes, failures atomic.Int64
}

// Counters are totals since the start of the process.
type Counters struct {
	// Frames is also the number of fsyncs.
	Frames, Records, Bytes int64
	// Failures are files that died of a write or fsync error.
	Failures int64
}

// Counters returns the totals.
func (m *Manager) Counters() Counters {
	c := &m.counters
	return Counters{Frames: c.frames.Load(), Records: c.records.Load(), Bytes: c.bytes.Load(), Failures: c.failures.Load()}
}

// Open opens the directories, makes those that do not exist, and gives an
// identity to those that are empty and have none (docs/protocol.md, rule 6:
// whether a new identity may be used is the FSM's decision, see Dirs). Each
// directory is locked until Close.
func Open(fs vfs.FS, paths []string, opts Options) (*Manager, error) {
	if len(paths) == 0 {
		return nil, errors.New("no wal directory is configured")
	}
	l, err := parseLimit(opts.Limit)
	if err != nil {
		return nil, err
	}
	if opts.Rand == nil {
		opts.Rand = rand.Reader
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	m := &Manager{fs: fs, opts: opts, log: opts.Logger, files: map[string]*openFile{}, durable: map[string]bool{}}
	for _, path := range paths {
		d, err := openDir(fs, path, opts.Rand, l)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cannot open wal directory %q: %w", path, err), m.Close())
		}
		m.dirs = append(m.dirs, d)
	}
	return m, nil
}

// Close unlocks the directories. Writers must be closed before.
func (m *Manager) Close() error {
	var errs []error
	for _, d := range m.dirs {
		errs = append(errs, d.lock.Close())
	}
	return errors.Join(errs...)
}

// Create makes the file of a group: its header and its directory entry are on
// disk when Create returns. It takes a directory with room; if that one fails
// it tries the others. onDead (may be nil) is told in the writer's goroutine
// when the file dies, before anybody who waits is. Create sets h.Salt.
func (m *Manager) Create(ctx context.Context, h *Header, onDead func(error)) (*Writer, error) {
	var salt [8]byte
	if _, err := io.ReadFull(m.opts.Rand, salt[:]); err != nil {
		return nil, fmt.Errorf("cannot draw a salt: %w", err)
	}
	h.Salt = binary.LittleEndian.Uint64(salt[:])
	head, seed := appendHeader(nil, h)
	var errs []error
	for _, d := range m.byRoom() {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
		if !d.fits(int64(len(head))) {
			errs = append(errs, fmt.Errorf("%w: %s", ErrNoSpace, d))
			continue
		}
		w, err := m.createIn(d, h, head, seed, onDead)
		if err == nil {
			return w, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("cannot create wal file for transaction %d: %w", h.TxnID, errors.Join(errs...))
}

func (m *Manager) createIn(d *dir, h *Header, head []byte, seed uint32, onDead func(error)) (*Writer, error) {
	dbDir := m.fs.PathJoin(d.path, strconv.FormatInt(h.DBID, 10))
	tableDir := m.fs.PathJoin(dbDir, strconv.FormatInt(h.TableID, 10))
	path := m.fs.PathJoin(tableDir, h.FileName())
	if err := errors.Join(m.makeDir(dbDir), m.makeDir(tableDir)); err != nil {
		return nil, err
	}
	if _, err := m.fs.Stat(path); err == nil {
		return nil, fmt.Errorf("wal file %s exists already", path)
	} else if !oserror.IsNotExist(err) {
		return nil, fmt.Errorf("cannot look for %s: %w", path, err)
	}
	f, err := m.fs.Create(path, category)
	if err != nil {
		return nil, fmt.Errorf("cannot create %s: %w", path, err)
	}
	_, err = f.Write(append([]byte(nil), head...))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = syncDir(m.fs, tableDir)
	}
	if err != nil {
		// Nothing was acknowledged from it. If the removal fails too, the file
		// is found without a complete header, or with no record.
		return nil, errors.Join(fmt.Errorf("cannot write header of %s: %w", path, err), f.Close(), m.fs.Remove(path))
	}
	file := &openFile{info: FileInfo{Path: path, DBID: h.DBID, TableID: h.TableID, BackendID: h.BackendID,
		TxnID: h.TxnID, Label: h.Label, Version: FormatVersion, ModTime: time.UnixMilli(h.CreatedMs)}}
	file.grow(d, int64(len(head)))
	m.mu.Lock()
	m.files[path] = file
	m.mu.Unlock()
	return newWriter(m, d, file, f, int64(len(head)), seed, onDead), nil
}

// makeDir makes a directory and its entry in its parent durable, once in the
// life of the process: an entry that an earlier life made may not be on disk.
func (m *Manager) makeDir(path string) error {
	m.mu.Lock()
	done := m.durable[path]
	m.mu.Unlock()
	if done {
		return nil
	}
	if err := m.fs.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("cannot make directory: %w", err)
	}
	if err := syncDir(m.fs, m.fs.PathDir(path)); err != nil {
		return err
	}
	m.mu.Lock()
	m.durable[path] = true
	m.mu.Unlock()
	return nil
}

// Remove unlinks a file and makes that durable: only then may its group be
// released (docs/protocol.md, rule 3). A file that is gone already is no error.
// The caller has the FSM's word that the group is COMMITTED, VISIBLE or empty.
func (m *Manager) Remove(path string) error {
	if err := m.fs.Remove(path); err != nil && !oserror.IsNotExist(err) {
		return fmt.Errorf("cannot remove wal file: %w", err)
	}
	m.forget(path)
	return syncDir(m.fs, m.fs.PathDir(path))
}

func (m *Manager) forget(path string) {
	m.mu.Lock()
	file := m.files[path]
	delete(m.files, path)
	m.mu.Unlock()
	if d := m.dirOf(path); file != nil && d != nil {
		d.used.Add(-file.size.Load())
	}
}

// Counts is the number of files in place for each table id, from creation to
// removal: what get_wal_size reports.
func (m *Manager) Counts() map[int64]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[int64]int)
	for _, f := range m.files {
		counts[f.info.TableID]++
	}
	return counts
}

func syncDir(fs vfs.FS, path string) error {
	d, err := fs.OpenDir(path)
	if err != nil {
		return fmt.Errorf("cannot open directory for fsync: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("cannot fsync directory %s: %w", path, err)
	}
	return nil
}
