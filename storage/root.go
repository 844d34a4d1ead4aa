package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage/rowset"
)

// root is one storage root: a directory with an identity, a lock, one Pebble
// and the Parquet files of its tablets. A tablet lives in one root.
type root struct {
	index int
	path  string
	fs    vfs.FS
	// last is fs for what must not fail for lack of space: it takes the ballast.
	last vfs.FS
	log  *slog.Logger
	// failed is told once that the root went out of service.
	failed func(r *root, msg string)
	lock   io.Closer
	db     *pebble.DB
	dur    durability

	idMu sync.Mutex // guards id and the file
	id   identity

	failure atomic.Pointer[error]
	ballast ballast
	// left says that the engine goes on without the root.
	left atomic.Bool

	colMu sync.RWMutex
	// cols are the column lists in Pebble, durably.
	cols map[rowset.ColumnsID][]ColumnDesc

	tablets atomic.Int64

	dirMu sync.Mutex
	// dirs are the tablets whose directories are durable.
	dirs map[int64]struct{}
}

// err is why the root is out of service, nil while it is not.
func (r *root) err() error {
	if p := r.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// fail takes the root out of service for good.
func (r *root) fail(msg string) error {
	err := error(doriserr.New(doriserr.Internal, "storage root %s is out of service: %s", r.path, msg))
	if r.failure.CompareAndSwap(nil, &err) {
		r.log.Error("storage root is out of service", "root", r.path, "err", msg)
		r.failed(r, msg)
	}
	return r.err()
}

// apply commits a batch without an fsync; r.dur.after tells when it is durable.
func (r *root) apply(b *pebble.Batch) error { return r.commit(b, pebble.NoSync) }

// applySync commits a batch and returns when it and all before it are durable.
func (r *root) applySync(b *pebble.Batch) error {
	mark := r.dur.mark()
	if err := r.commit(b, pebble.Sync); err != nil {
		return err
	}
	r.dur.reached(mark)
	return nil
}

func (r *root) commit(b *pebble.Batch, o *pebble.WriteOptions) error {
	if err := r.err(); err != nil {
		return err
	}
	if err := r.db.Apply(b, o); err != nil {
		return r.fail(err.Error())
	}
	// Pebble reports success after a fatal error whose handler returned.
	return r.err()
}

// sync makes every commit that returned durable.
func (r *root) sync() error {
	if !r.dur.waiting() {
		return r.err()
	}
	b := r.db.NewBatch()
	defer b.Close()
	if err := b.LogData([]byte{0}, nil); err != nil {
		return fmt.Errorf("cannot sync root %s: %w", r.path, err)
	}
	return r.applySync(b)
}

// get copies a value out of Pebble; nil if there is none.
func (r *root) get(k []byte) ([]byte, error) {
	v, closer, err := r.db.Get(k)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read root %s: %w", r.path, err)
	}
	v = append([]byte{}, v...)
	return v, closer.Close()
}

// scan walks the keys of a letter. k and v are valid during the call of f.
func (r *root) scan(ctx context.Context, letter byte, f func(k, v []byte) error) error {
	it, err := r.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: []byte{letter}, UpperBound: []byte{letter + 1}})
	if err != nil {
		return fmt.Errorf("cannot read root %s: %w", r.path, err)
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		if len(it.Key()) != keyLengths[letter] {
			err = corrupt("storage root %s has a key %x of a wrong length", r.path, it.Key())
			break
		}
		var v []byte
		if v, err = it.ValueAndErr(); err == nil {
			err = f(it.Key(), v)
		}
	}
	return errors.Join(err, it.Close())
}

// columns is the list that a record names.
func (r *root) columns(id rowset.ColumnsID) ([]ColumnDesc, bool) {
	r.colMu.RLock()
	defer r.colMu.RUnlock()
	cols, ok := r.cols[id]
	return cols, ok
}

// addColumns notes a list as durable.
func (r *root) addColumns(id rowset.ColumnsID, cols []ColumnDesc) {
	r.colMu.Lock()
	r.cols[id] = cols
	r.colMu.Unlock()
}

func (r *root) tabletDir(tabletID int64) string {
	return r.fs.PathJoin(r.path, dirData, fmt.Sprint(tabletID))
}

// file is the path of a rowset's Parquet file.
func (r *root) file(tabletID int64, id rowset.ID) string {
	return r.fs.PathJoin(r.tabletDir(tabletID), UUID(id).String()+fileSuffix)
}

// unlink removes a file that a durable decision gave up. An error leaves an
// unknown file, which the next start moves to the trash.
func (r *root) unlink(path string) {
	if err := r.fs.Remove(path); err != nil && !isNotExist(err) {
		r.log.Warn("cannot remove file", "path", path, "err", err)
	}
}

// close releases what openRoot took.
func (r *root) close() error {
	var err error
	if r.db != nil {
		err = r.db.Close()
	}
	if r.lock != nil {
		err = errors.Join(err, r.lock.Close())
	}
	return err
}
