package storage

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage/rowset"
)

// The entries of a root's directory.
const (
	fileLock   = "LOCK"
	dirMeta    = "meta"
	dirData    = "data"
	dirTrash   = "trash"
	fileSuffix = ".parquet"
	tmpSuffix  = ".tmp"
)

// pebbleFormat is the newest on-disk format of Pebble that this build writes.
const pebbleFormat = pebble.FormatTableFormatV6

// openRoot locks a root, checks that it is what it was, and opens its Pebble.
// An empty directory is formatted; nothing else ever is.
func (e *Engine) openRoot(index int, path string) (r *root, err error) {
	r = &root{
		index: index, path: path, fs: e.fs, log: e.opts.Logger, failed: e.rootFailed,
		cols: map[rowset.ColumnsID][]ColumnDesc{}, dirs: map[int64]struct{}{},
	}
	r.dur.wake = make(chan struct{}, 1)
	r.last = vfs.OnDiskFull(r.fs, func() { r.dropBallast("a write found no space") })
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot open storage root %s: %w", path, err)
			if cerr := r.close(); cerr != nil {
				e.opts.Logger.Warn("cannot close storage root", "root", path, "err", cerr)
			}
		}
	}()
	if err := r.fs.MkdirAll(path, 0o755); err != nil {
		return r, err
	}
	if err := syncDir(r.fs, r.fs.PathDir(path)); err != nil {
		return r, err
	}
	if r.lock, err = r.fs.Lock(r.fs.PathJoin(path, fileLock)); err != nil {
		return r, fmt.Errorf("another process uses it: %w", err)
	}
	r.id, err = readIdentity(r.fs, path)
	if isNotExist(err) {
		err = e.begin(r)
	}
	if err == nil {
		err = e.openBallast(r)
	}
	if err == nil && !r.id.ready {
		err = e.format(r)
	} else if err == nil {
		err = e.openPebble(r, false)
	}
	if err != nil {
		return r, err
	}
	if err := r.checkPebble(); err != nil {
		return r, err
	}
	e.keepBallast(r)
	return r, nil
}

// begin gives an empty directory its identity.
func (e *Engine) begin(r *root) error {
	names, err := r.fs.List(r.path)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains([]string{fileLock, identityTmp, "lost+found"}, name) {
			return fmt.Errorf("it has no %s file and is not empty (it contains %q): give an empty directory, "+
				"or mount the disk that belongs here", identityFile, name)
		}
	}
	uuid, err := newUUID(e.opts.Rand)
	if err != nil {
		return err
	}
	r.id = identity{uuid: uuid}
	return writeIdentity(r.fs, r.path, r.id)
}

// format fills a root whose identity says that nothing was stored in it yet: a
// formatting that was cut off starts again.
func (e *Engine) format(r *root) error {
	for _, dir := range []string{dirMeta, dirData, dirTrash} {
		p := r.fs.PathJoin(r.path, dir)
		if err := r.fs.RemoveAll(p); err != nil && !isNotExist(err) {
			return err
		}
		if err := r.fs.MkdirAll(p, 0o755); err != nil {
			return err
		}
	}
	if err := syncDir(r.fs, r.path); err != nil {
		return err
	}
	if err := e.openPebble(r, true); err != nil {
		return err
	}
	b := r.db.NewBatch()
	defer b.Close()
	if err := b.Set(key(keyIdentity), rootRecord{FormatVersion, r.id.uuid}.encode(), nil); err != nil {
		return err
	}
	if err := r.applySync(b); err != nil {
		return err
	}
	r.id.ready = true
	e.opts.Logger.Info("storage root is formatted", "root", r.path, "uuid", r.id.uuid.String())
	return writeIdentity(r.fs, r.path, r.id)
}

func (e *Engine) openPebble(r *root, create bool) error {
	dir := r.fs.PathJoin(r.path, dirMeta)
	if !create {
		desc, err := pebble.Peek(dir, r.fs)
		if err != nil && !isNotExist(err) {
			return err
		}
		if err != nil || !desc.Exists {
			return corrupt("its Pebble (%s) is missing although the root has an identity: files may have been lost, "+
				"nothing is changed", dir)
		}
	}
	o := &pebble.Options{
		FS:                 r.last,
		Cache:              e.cache,
		MemTableSize:       e.opts.MemTableBytes,
		FormatMajorVersion: pebbleFormat,
		ErrorIfNotExists:   !create,
		ErrorIfExists:      create,
		MaxOpenFiles:       256,
		Logger:             pebbleLogger{e.opts.Logger.With("root", r.path), func(msg string) { _ = r.fail(msg) }},
		EventListener:      pebbleEvents(e.opts.Logger.With("root", r.path)),
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return fmt.Errorf("cannot open its Pebble: %w", err)
	}
	r.db = db
	return nil
}

// checkPebble compares Pebble's identity with the directory's (docs/protocol.md,
// rule 12).
func (r *root) checkPebble() error {
	v, err := r.get(key(keyIdentity))
	if err != nil {
		return err
	}
	if v == nil {
		return corrupt("its Pebble is new although the root has an identity: files may have been lost, nothing is changed")
	}
	rec, err := decodeRoot(v)
	if err != nil {
		return err
	}
	if rec.format > FormatVersion {
		return doriserr.New(doriserr.Unsupported, "its Pebble has storage format %d, this build reads formats up to %d",
			rec.format, FormatVersion)
	}
	if rec.uuid != r.id.uuid {
		return corrupt("its Pebble belongs to root %s, the directory to root %s", rec.uuid, r.id.uuid)
	}
	return nil
}
