package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// writeFile makes a rowset's Parquet file, durably: the codec writes it under a
// temporary name, then come fsync, rename and the directory's fsync. The caller
// records it afterwards. A failed fsync is never repeated: the file goes and the
// write fails (docs/protocol.md, section 3).
func (e *Engine) writeFile(ctx context.Context, t *tabletState, id RowsetID, spec *FileSpec) (info FileInfo, err error) {
	r := t.root
	if err := r.err(); err != nil {
		return info, err
	}
	path := r.file(t.id, id)
	tmp := path + tmpSuffix
	defer func() {
		if err != nil {
			r.unlink(tmp)
			r.unlink(path)
			err = fmt.Errorf("cannot write rowset file %s: %w", path, err)
		}
	}()
	if err := e.makeTabletDir(t); err != nil {
		return info, err
	}
	info, err = e.opts.Codec.WriteParquet(ctx, tmp, spec)
	if err != nil {
		return info, err
	}
	if info.Rows != spec.Rows {
		return info, corrupt("it got %d rows instead of %d", info.Rows, spec.Rows)
	}
	f, err := e.fs.OpenReadWrite(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return info, err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return info, err
	}
	if err := e.fs.Rename(tmp, path); err != nil {
		return info, err
	}
	return info, syncDir(e.fs, r.tabletDir(t.id))
}

// makeTabletDir makes a tablet's directory, durably. The lock keeps others from
// using it before it is durable.
func (e *Engine) makeTabletDir(t *tabletState) error {
	t.root.dirMu.Lock()
	defer t.root.dirMu.Unlock()
	if _, ok := t.root.dirs[t.id]; ok {
		return nil
	}
	dir := t.root.tabletDir(t.id)
	if err := e.fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := syncDir(e.fs, e.fs.PathDir(dir)); err != nil {
		return err
	}
	t.root.dirs[t.id] = struct{}{}
	return nil
}
