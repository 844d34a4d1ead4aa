package storage_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	fs2 "io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"dorisgo/block"
	"dorisgo/storage"
	"dorisgo/storage/rowset"
	"dorisgo/storage/storagetest"
	"dorisgo/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lockedRand is a deterministic source of ids.
type lockedRand struct {
	mu sync.Mutex
	r  *rand.ChaCha8
}

func newRand(seed uint64) io.Reader {
	var s [32]byte
	binary.LittleEndian.PutUint64(s[:], seed)
	return &lockedRand{r: rand.NewChaCha8(s)}
}

func (l *lockedRand) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r.Read(p)
}

// clock is a wall clock that stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_700_000_000_000)} }

// options are those of a small engine over fs with one root.
func options(fs vfs.FS) storage.Options {
	return storage.Options{
		FS: fs, Roots: []storage.Root{{Path: "/r1"}}, Codec: storagetest.Codec{FS: fs},
		Rand: newRand(1), Now: newClock().Now, MemTableBytes: 1 << 20, CacheBytes: 1 << 20, InlineLimitBytes: 1 << 10,
		Fatal: func(string, string) {},
	}
}

func open(t testing.TB, o storage.Options) *storage.Engine {
	t.Helper()
	e, err := storage.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func closeEngine(t testing.TB, e *storage.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// opened opens an engine for the length of the test.
func opened(t testing.TB, o storage.Options) *storage.Engine {
	t.Helper()
	e := open(t, o)
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}

const part = int64(100)

var cols = []storage.ColumnDesc{{UniqueID: 1, Name: "k", Type: value.Type{Kind: value.BigInt}, Key: true}}

func id(n int64) (id storage.RowsetID) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	id[15] = 1
	return id
}

// rows makes the rowset n of a transaction in a tablet of the partition.
func rows(n, txn, tablet int64, values ...int64) storage.PendingRowset {
	b := block.New([]value.Type{cols[0].Type})
	for _, v := range values {
		b.Col(0).AppendInt64(v)
		b.EndRow()
	}
	data := block.AppendEncoded(nil, b)
	return storage.PendingRowset{
		RowsetMeta: storage.RowsetMeta{
			ID: id(n), TabletID: tablet, PartitionID: part, TxnID: txn, SchemaVersion: 1, Columns: cols,
			Rows: int64(len(values)), Bytes: int64(len(data)), Checksum: rowset.Checksum(data),
		},
		Data: data,
	}
}

// many is a rowset that is too large to be inline.
func many(n, txn, tablet, first int64) storage.PendingRowset {
	values := make([]int64, 200)
	for i := range values {
		values[i] = first + int64(i)
	}
	return rows(n, txn, tablet, values...)
}

func write(t testing.TB, e *storage.Engine, txn int64, rowsets ...storage.PendingRowset) {
	t.Helper()
	if err := e.WritePending(t.Context(), txn, 1, rowsets); err != nil {
		t.Fatal(err)
	}
}

// order is the publish of rowsets that were given to write.
func order(version, txn int64, rowsets ...storage.PendingRowset) storage.Publish {
	p := storage.Publish{PartitionID: part, Version: version, TxnID: txn}
	for _, rs := range rowsets {
		p.Tablets = append(p.Tablets, storage.PublishTablet{
			TabletID: rs.TabletID, RowsetID: rs.ID, ReplicaID: rs.ReplicaID, FromClone: rs.FromClone,
		})
	}
	return p
}

func publish(t testing.TB, e *storage.Engine, p storage.Publish) {
	t.Helper()
	if holes, err := e.Publish(t.Context(), p); err != nil || len(holes) > 0 {
		t.Fatalf("holes %v, %v", holes, err)
	}
}

// load writes and publishes.
func load(t testing.TB, e *storage.Engine, version, txn int64, rowsets ...storage.PendingRowset) {
	t.Helper()
	write(t, e, txn, rowsets...)
	publish(t, e, order(version, txn, rowsets...))
}

// snapshotRows reads all values of a snapshot, sorted.
func snapshotRows(ctx context.Context, fs vfs.FS, s *storage.Snapshot) ([]int64, error) {
	var out []int64
	add := func(b *block.Block) {
		for i := range b.Rows() {
			out = append(out, b.Col(0).Int64(i))
		}
	}
	for in, err := range s.Inline(ctx) {
		if err != nil {
			return nil, err
		}
		b, err := storagetest.Decode(in.Columns, in.Data)
		if err != nil {
			return nil, err
		}
		add(b)
	}
	for _, f := range s.Files() {
		b, err := storagetest.Codec{FS: fs}.Read(f)
		if err != nil {
			return nil, err
		}
		if int64(b.Rows()) != f.Rows {
			return nil, fmt.Errorf("%s has %d rows, not %d", f.Path, b.Rows(), f.Rows)
		}
		add(b)
	}
	if int64(len(out)) != s.Rows() {
		return nil, fmt.Errorf("%d rows, not %d", len(out), s.Rows())
	}
	slices.Sort(out)
	return out, nil
}

func read(ctx context.Context, fs vfs.FS, e *storage.Engine, tablet, version int64) ([]int64, error) {
	s, err := e.Snapshot(ctx, part, tablet, version)
	if err != nil {
		return nil, err
	}
	out, err := snapshotRows(ctx, fs, s)
	return out, errors.Join(err, s.Close())
}

func wantRows(t testing.TB, fs vfs.FS, e *storage.Engine, tablet, version int64, want ...int64) {
	t.Helper()
	got, err := read(t.Context(), fs, e, tablet, version)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("tablet %d at version %d: %v, %v, want %v", tablet, version, got, err, want)
	}
}

// list is what a directory contains, sorted.
func list(t testing.TB, fs vfs.FS, dir string) []string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, fs2.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func compact(t testing.TB, e *storage.Engine, tablet int64) {
	t.Helper()
	if did, err := e.Compact(t.Context(), tablet); err != nil || !did {
		t.Fatalf("compaction of tablet %d: %v, %v", tablet, did, err)
	}
}
