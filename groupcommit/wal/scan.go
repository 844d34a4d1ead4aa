package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FileInfo is what a file's path and directory entry say.
type FileInfo struct {
	Path      string
	DBID      int64
	TableID   int64
	Version   uint64
	BackendID int64
	TxnID     int64
	Label     string
	Bytes     int64
	ModTime   time.Time
	// Foreign says that the path is not one of ours: only Path, Bytes and
	// ModTime are set. Such files are reported and left alone.
	Foreign bool
}

// Scan lists the files of all directories by database, table and transaction,
// and takes those of ours into the accounts. tmp is not scanned.
func (m *Manager) Scan(ctx context.Context) ([]FileInfo, error) {
	var all []FileInfo
	for _, d := range m.dirs {
		files, err := m.scanDir(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("cannot scan wal directory %s: %w", d.path, err)
		}
		all = append(all, files...)
	}
	slices.SortFunc(all, func(a, b FileInfo) int {
		return cmp.Or(cmp.Compare(a.DBID, b.DBID), cmp.Compare(a.TableID, b.TableID), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Path, b.Path))
	})
	return all, nil
}

func (m *Manager) scanDir(ctx context.Context, d *dir) ([]FileInfo, error) {
	var out []FileInfo
	err := m.eachEntry(ctx, d.path, func(name, path string, info vfs.FileInfo) error {
		db, isID := parseID(name)
		switch {
		case !info.IsDir() && (name == lockFile || strings.HasPrefix(name, identityFile)), info.IsDir() && !isID:
			return nil
		case !info.IsDir():
			out = append(out, foreign(path, info))
			return nil
		}
		return m.eachEntry(ctx, path, func(name, path string, info vfs.FileInfo) error {
			table, isID := parseID(name)
			if !info.IsDir() || !isID {
				out = append(out, foreign(path, info))
				return nil
			}
			return m.eachEntry(ctx, path, func(name, path string, info vfs.FileInfo) error {
				out = append(out, m.found(d, db, table, name, path, info))
				return nil
			})
		})
	})
	return out, err
}

func (m *Manager) eachEntry(ctx context.Context, dir string, visit func(name, path string, info vfs.FileInfo) error) error {
	names, err := m.fs.List(dir)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := m.fs.PathJoin(dir, name)
		info, err := m.fs.Stat(path)
		if oserror.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := visit(name, path, info); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) found(d *dir, db, table int64, name, path string, info vfs.FileInfo) FileInfo {
	version, be, txn, label, ok := parseFileName(name)
	if !ok || info.IsDir() {
		return foreign(path, info)
	}
	fi := FileInfo{Path: path, DBID: db, TableID: table, Version: version, BackendID: be, TxnID: txn, Label: label,
		Bytes: info.Size(), ModTime: info.ModTime()}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[path] == nil {
		file := &openFile{info: fi}
		file.grow(d, info.Size())
		m.files[path] = file
	}
	return fi
}

func foreign(path string, info vfs.FileInfo) FileInfo {
	return FileInfo{Path: path, Bytes: info.Size(), ModTime: info.ModTime(), Foreign: true}
}

// parseID reads the name of a database's or table's directory.
func parseID(name string) (int64, bool) {
	id, err := strconv.ParseInt(name, 10, 64)
	return id, err == nil
}

// Reason says why a file was set aside; it is the last part of its new name.
type Reason string

// The reasons. Torn and Erased may be swept after a time; the others stay until
// a person decides.
const (
	// Unknown: the FSM knows no such group.
	Unknown Reason = "unknown"
	// Damaged: sound frames follow a bad one, or the header is bad.
	Damaged Reason = "damaged"
	// NoHeader: the crash came while the file was made.
	NoHeader Reason = "noheader"
	// Aborted: the FSM says that the group was aborted, and it has records.
	Aborted Reason = "aborted"
	// Torn: replayed up to its torn tail and committed.
	Torn Reason = "torn"
	// Erased: its table was erased for good.
	Erased Reason = "erased"
)

// Quarantine moves a file to the tmp directory of its WAL directory, durably.
// The new name is <db>_<table>_<old name>.<unix seconds>.<reason>.
func (m *Manager) Quarantine(path string, reason Reason) (string, error) {
	d := m.dirOf(path)
	if d == nil {
		return "", fmt.Errorf("%s is in no wal directory", path)
	}
	fs := m.fs
	tmp := fs.PathJoin(d.path, tmpDir)
	if err := m.makeDir(tmp); err != nil {
		return "", err
	}
	tableDir := fs.PathDir(path)
	name := fmt.Sprintf("%s_%s_%s.%d.%s", fs.PathBase(fs.PathDir(tableDir)), fs.PathBase(tableDir), fs.PathBase(path), time.Now().Unix(), reason)
	to := fs.PathJoin(tmp, name)
	if err := fs.Rename(path, to); err != nil {
		return "", fmt.Errorf("cannot set wal file aside: %w", err)
	}
	m.forget(path)
	return to, errors.Join(syncDir(fs, tmp), syncDir(fs, tableDir))
}

// Sweep removes files from tmp that were set aside before the given time as
// Torn or Erased, and returns how many.
func (m *Manager) Sweep(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	for _, d := range m.dirs {
		tmp := m.fs.PathJoin(d.path, tmpDir)
		err := m.eachEntry(ctx, tmp, func(name, path string, _ vfs.FileInfo) error {
			parts := strings.Split(name, ".")
			if len(parts) < 3 {
				return nil
			}
			reason := Reason(parts[len(parts)-1])
			at, bad := strconv.ParseInt(parts[len(parts)-2], 10, 64)
			if bad == nil && (reason == Torn || reason == Erased) && at < before.Unix() {
				removed++
				return m.fs.Remove(path)
			}
			return nil // no name that we gave
		})
		if err != nil && !oserror.IsNotExist(err) {
			return removed, fmt.Errorf("cannot sweep %s: %w", tmp, err)
		}
	}
	return removed, nil
}
