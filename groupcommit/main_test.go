package groupcommit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"dorisgo/block"
	"dorisgo/groupcommit/wal"
	"dorisgo/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testColumns = []Column{
	{UniqueID: 0, Name: "id", Type: value.Type{Kind: value.Int}},
	{UniqueID: 1, Name: "name", Type: value.Type{Kind: value.VarChar, Length: 50}, Nullable: true},
	{UniqueID: 2, Name: "n", Type: value.Type{Kind: value.Int}, Nullable: true},
}

// testTable has an interval of a second and takes a MiB.
func testTable(id int64) *Table {
	return &Table{DBID: 1, ID: id, Name: fmt.Sprintf("t%d", id), Epoch: 1, SchemaVersion: 1, Columns: testColumns, IntervalMs: 1000, DataBytes: 1 << 20}
}

// countRand draws different and repeatable bytes.
type countRand struct{ n atomic.Uint64 }

func (r *countRand) Read(p []byte) (int, error) {
	for i := 0; i < len(p); i += 8 {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], r.n.Add(1)*0x9e3779b97f4a7c15)
		copy(p[i:], b[:])
	}
	return len(p), nil
}

// node is one life of a backend.
type node struct {
	*Manager
	t    testing.TB
	sink *sink
	wals *wal.Manager
}

// start starts a life on the file system; setup (may be nil) changes it first.
func start(t testing.TB, fs vfs.FS, f *fsm, setup func(*node, *Options)) *node {
	t.Helper()
	wals, err := wal.Open(fs, []string{"/wal"}, wal.Options{Rand: &countRand{}, Limit: "1000000000"})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, sink: f.newLife(), wals: wals}
	rand := &countRand{}
	rand.n.Store(uint64(n.sink.life) << 20)
	opts := Options{
		WAL: wals, Sink: n.sink, Rand: rand, Logger: slog.New(slog.DiscardHandler),
		ClusterID: "c", BackendUUID: "u", BackendID: 10001,
	}
	if setup != nil {
		setup(n, &opts)
	}
	if n.Manager, err = New(opts); err != nil {
		t.Fatal(err)
	}
	if err := n.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// end stops the life in good order.
func (n *node) end() {
	n.t.Helper()
	if err := errors.Join(n.Stop(context.Background()), n.wals.Close()); err != nil {
		n.t.Error(err)
	}
}

// die ends the life at once: nothing reaches the cluster any more.
func (n *node) die() {
	n.t.Helper()
	n.sink.cut.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.Stop(ctx) // it says that something is left, as it should
	if err := n.wals.Close(); err != nil {
		n.t.Error(err)
	}
}

func newRequest(i int64) (id [16]byte) {
	binary.BigEndian.PutUint64(id[8:], uint64(i)+1)
	return id
}

// newLoad has rows ids first to first+rows-1; the request id follows first.
func newLoad(tb *Table, async bool, first int64, rows int) *Load {
	b := block.New(types(tb.Columns))
	for i := range rows {
		b.Col(0).AppendInt64(first + int64(i))
		for c := 1; c < b.NumCols(); c++ {
			if b.Col(c).Type().IsVar() {
				b.Col(c).AppendBytes([]byte("abcdef"))
			} else {
				b.Col(c).AppendNull()
			}
		}
		b.EndRow()
	}
	return &Load{Table: tb, Async: async, RequestID: newRequest(first), Encoded: block.AppendEncoded(nil, b), Rows: rows}
}

// add is Add with a deadline of a minute.
func (n *node) add(l *Load) (Ack, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return n.Add(ctx, l)
}

func (n *node) mustAdd(l *Load) Ack {
	n.t.Helper()
	ack, err := n.add(l)
	if err != nil {
		n.t.Fatalf("load of row %v: %v", l.RequestID, err)
	}
	return ack
}

func wantRows(t testing.TB, f *fsm, table int64, want ...int64) {
	t.Helper()
	if got := f.visible(table); !slices.Equal(got, want) {
		t.Fatalf("table %d has rows %v, want %v", table, got, want)
	}
}

func ints(from, to int64) (out []int64) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }
