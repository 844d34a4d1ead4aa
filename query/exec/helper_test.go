package exec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
	"dorisgo/value"
)

// codec makes the files of the storage, as a BE does.
type codec struct{ db *duck.DB }

// WriteParquet implements storage.Codec.
func (c codec) WriteParquet(ctx context.Context, path string, spec *storage.FileSpec) (storage.FileInfo, error) {
	cols := make([]duck.ColumnDesc, len(spec.Columns))
	for i, s := range spec.Columns {
		cols[i] = duck.ColumnDesc{UniqueID: s.UniqueID, Name: s.Name, Type: s.Type, Nullable: s.Nullable}
	}
	info, err := c.db.WriteParquet(ctx, path, cols, blocks(spec), spec.SortKey)
	return storage.FileInfo{Rows: info.Rows, Bytes: info.Bytes}, err
}

// SumRows implements storage.Codec: no query asks for it.
func (c codec) SumRows(context.Context, *storage.FileSpec) (sum uint64, rows int64, err error) {
	return 0, 0, errors.ErrUnsupported
}

func blocks(spec *storage.FileSpec) iter.Seq2[*block.Block, error] {
	return func(yield func(*block.Block, error) bool) {
		for chunk, err := range spec.Chunks {
			b := block.New(storedTypes(spec.Columns))
			if err == nil {
				_, err = block.DecodeAppend(b, chunk)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// part is the partition of all tablets, inline the size from which rowsets are
// files.
const (
	part   = int64(50)
	inline = 2000
)

// box is a BE with storage and DuckDB.
type box struct {
	*Executor
	t      testing.TB
	engine *storage.Engine
	dir    string
	// version is the newest version of the partition, txn the last transaction.
	version, txn int64
}

// boxes are BEs that reach each other, ids 1, 2, …; slots is what each DuckDB
// runs at the same time.
func newBoxes(t testing.TB, n, slots int) []*box {
	t.Helper()
	all := peers{}
	var out []*box
	for id := range int64(n) {
		dir := t.TempDir()
		opts := duck.Options{Dirs: []string{dir}, TempDir: filepath.Join(dir, "tmp"), MemoryLimitBytes: 256 << 20, Threads: 1, MaxConcurrent: slots}
		db, err := duck.Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		flush, err := duck.Open(opts)
		if err != nil {
			t.Fatal(err)
		}
		e, err := storage.Open(t.Context(), storage.Options{
			Roots: []storage.Root{{Path: filepath.Join(dir, "root")}}, Codec: codec{flush}, InlineLimitBytes: inline, MinFreeBytes: -1, StaleSweep: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		b := &box{Executor: &Executor{Self: id + 1, Storage: e, Peers: all, Duck: db}, t: t, engine: e, dir: dir, version: 1}
		all[b.Self] = b.Executor
		out = append(out, b)
		t.Cleanup(func() {
			for _, c := range []io.Closer{e, db, flush} {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	return out
}

// peers reach each other without a network.
type peers map[int64]*Executor

// Scan implements Peers.
func (p peers) Scan(ctx context.Context, id int64, r *bepb.ScanRequest) (bepb.Backend_ScanClient, error) {
	e, ok := p[id]
	if !ok {
		return nil, doriserr.New(doriserr.Unknown, "backend %d is down", id)
	}
	s := &scanStream{ctx: ctx, chunks: make(chan *bepb.ScanChunk), end: make(chan error, 1)}
	go func() {
		s.end <- doriserr.ToStatus(e.Scan(ctx, r, func(c *bepb.ScanChunk) error {
			select {
			case s.chunks <- c:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}))
	}()
	return s, nil
}

type scanStream struct {
	grpc.ClientStream
	ctx    context.Context
	chunks chan *bepb.ScanChunk
	end    chan error
}

// Header implements bepb.Backend_ScanClient: the scan was taken.
func (s *scanStream) Header() (metadata.MD, error) { return nil, nil }

// Recv implements bepb.Backend_ScanClient.
func (s *scanStream) Recv() (*bepb.ScanChunk, error) {
	select {
	case c := <-s.chunks:
		return c, nil
	case err := <-s.end:
		if err == nil {
			err = io.EOF
		}
		return nil, err
	}
}

// The columns of the tests' table in its versions of the schema.
var (
	id1  = storage.ColumnDesc{UniqueID: 0, Name: "id", Type: value.Type{Kind: value.Int}, Key: true}
	name = storage.ColumnDesc{UniqueID: 1, Name: "name", Type: value.Type{Kind: value.VarChar, Length: 20}, Nullable: true}
	n1   = storage.ColumnDesc{UniqueID: 2, Name: "n", Type: value.Type{Kind: value.Int}, Nullable: true}
)

var schema1 = []storage.ColumnDesc{id1, name, n1}

// rowsOf makes rows from texts, "NULL" for NULL.
func rowsOf(t testing.TB, cols []storage.ColumnDesc, rows ...[]string) *block.Block {
	t.Helper()
	b := block.New(storedTypes(cols))
	for _, r := range rows {
		for i, text := range r {
			if text == "NULL" {
				b.Col(i).AppendNull()
			} else if err := b.Col(i).AppendText([]byte(text), &block.ConvertOptions{Strict: true}); err != nil {
				t.Fatal(err)
			}
		}
		b.EndRow()
	}
	return b
}

// numbered are n rows of schema1 from id first on.
func numbered(t testing.TB, first, n int) *block.Block {
	var rows [][]string
	for i := range n {
		rows = append(rows, []string{fmt.Sprint(first + i), fmt.Sprint("name ", first+i), fmt.Sprint((first + i) * 10)})
	}
	return rowsOf(t, schema1, rows...)
}

// load writes and publishes rows of one tablet as the next version.
func (b *box) load(tablet int64, cols []storage.ColumnDesc, rows *block.Block) {
	b.t.Helper()
	b.publish(b.write(tablet, cols, rows))
}

// write stores rows; publish makes them the next version.
func (b *box) write(tablet int64, cols []storage.ColumnDesc, rows *block.Block) storage.Publish {
	b.t.Helper()
	b.txn++
	data := block.AppendEncoded(nil, rows)
	rs := storage.PendingRowset{
		RowsetMeta: storage.RowsetMeta{
			TabletID: tablet, PartitionID: part, TxnID: b.txn, SchemaVersion: 1, Columns: cols, Rows: int64(rows.Rows()), Bytes: int64(len(data)),
			Checksum: crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)),
		},
		Data: data,
	}
	binary.BigEndian.PutUint64(rs.ID[:], uint64(b.txn))
	if err := b.engine.WritePending(b.t.Context(), b.txn, 1, []storage.PendingRowset{rs}); err != nil {
		b.t.Fatal(err)
	}
	b.version++
	return storage.Publish{PartitionID: part, Version: b.version, TxnID: b.txn, Tablets: []storage.PublishTablet{{TabletID: tablet, RowsetID: rs.ID}}}
}

func (b *box) publish(p storage.Publish) {
	b.t.Helper()
	if _, err := b.engine.Publish(b.t.Context(), p); err != nil {
		b.t.Fatal(err)
	}
}

// on names a box's tablets at its newest version.
func (b *box) on(tablets ...int64) (out []*bepb.ScanTablet) {
	for _, id := range tablets {
		out = append(out, &bepb.ScanTablet{PartitionId: part, TabletId: id, Version: b.version, BackendId: b.Self})
	}
	return out
}

func columnsPB(cols ...storage.ColumnDesc) (out []*bepb.ColumnDesc) {
	for _, c := range cols {
		pb := columnPB(c.Name, c.Type)
		pb.UniqueId, pb.Nullable = c.UniqueID, c.Nullable
		out = append(out, pb)
	}
	return out
}

// t0 is a table of a query.
func table(relation string, cols []*bepb.ColumnDesc, tablets ...[]*bepb.ScanTablet) *bepb.QueryTable {
	return &bepb.QueryTable{Name: relation, TableId: 7, Columns: cols, Tablets: slices.Concat(tablets...)}
}

// query runs a statement and returns its rows as texts.
func (b *box) query(ctx context.Context, sql string, tables ...*bepb.QueryTable) (rows []string, err error) {
	var out *block.Block
	err = b.Query(ctx, &bepb.QueryRequest{QueryId: "q", Sql: sql, Tables: tables}, func(c *bepb.QueryChunk) error {
		if out == nil {
			out = block.New(types(c.Columns))
			return nil
		}
		_, err := block.DecodeAppend(out, c.Block)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range out.Rows() {
		var r []string
		for c := range out.NumCols() {
			col := out.Col(c)
			if col.IsNull(i) {
				r = append(r, "NULL")
			} else {
				r = append(r, string(value.AppendText(nil, col.Type(), col.Raw(i))))
			}
		}
		rows = append(rows, strings.Join(r, ","))
	}
	return rows, nil
}

func (b *box) want(sql string, tables []*bepb.QueryTable, want ...string) {
	b.t.Helper()
	got, err := b.query(b.t.Context(), sql, tables...)
	if err != nil || !slices.Equal(got, want) {
		b.t.Errorf("%s: %v, %v, want %v", sql, got, err, want)
	}
}

// files counts the files of a tablet at the newest version.
func (b *box) files(tablet int64) int {
	b.t.Helper()
	s, err := b.engine.Snapshot(b.t.Context(), part, tablet, b.version)
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	return len(s.Files())
}
