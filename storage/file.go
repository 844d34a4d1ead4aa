package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/storage/rowset"
)

// writeFile makes a rowset's Parquet file, durably: the codec writes it under a
// temporary name, then come fsync, rename and the directory's fsync. The caller
// records it afterwards. A failed fsync is never repeated: the file goes and the
// write fails (docs/protocol.md, section 3). It sets the record's fields that
// describe the file.
func (e *Engine) writeFile(ctx context.Context, t *tabletState, rec *rowset.Record, spec *FileSpec) error {
	return e.makeFile(t, rec.ID, func(tmp string) error {
		info, err := e.opts.Codec.WriteParquet(ctx, tmp, spec)
		if err != nil {
			return err
		}
		if info.Rows != spec.Rows {
			return corrupt("it got %d rows instead of %d", info.Rows, spec.Rows)
		}
		rec.Kind = rowset.File
		rec.FileBytes, rec.FileChecksum, err = e.sum(ctx, tmp)
		return err
	})
}

// makeFile gives a rowset's file its name once write has written it under
// another one. All of it is durable on return, and gone after an error.
func (e *Engine) makeFile(t *tabletState, id RowsetID, write func(tmp string) error) (err error) {
	r := t.root
	if err := r.err(); err != nil {
		return err
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
		return err
	}
	if err := write(tmp); err != nil {
		return err
	}
	f, err := e.fs.OpenReadWrite(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := e.fs.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(e.fs, r.tabletDir(t.id))
}

// sum reads a whole file: its length and its CRC32C.
func (e *Engine) sum(ctx context.Context, path string) (bytes int64, checksum uint32, err error) {
	f, err := e.fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := rowset.NewHash()
	bytes, err = io.CopyBuffer(h, ctxReader{ctx, f}, make([]byte, copyBytes))
	return bytes, h.Sum32(), err
}

// copyBytes is how much of a file is in memory while it is read through.
const copyBytes = 256 << 10

// ctxReader ends with its context.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r ctxReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
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
