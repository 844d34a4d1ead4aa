package groupcommit

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/block"
	"dorisgo/groupcommit/wal"
)

// nullSink decides everything at once and keeps nothing.
type nullSink struct{ id atomic.Int64 }

func (s *nullSink) Begin(_ context.Context, r BeginRequest) (Txn, error) {
	return Txn{ID: s.id.Add(1), Label: r.Label, OwnerEpoch: 1}, nil
}
func (*nullSink) Write(context.Context, Txn, *Table, *block.Block) (Written, error) { return nil, nil }
func (*nullSink) Commit(context.Context, Txn, Written, int64) (Outcome, error) {
	return Outcome{Visible: true}, nil
}
func (*nullSink) Abort(context.Context, Txn, string) error { return nil }
func (*nullSink) TakeOver(_ context.Context, h *wal.Header) (Txn, State, error) {
	return Txn{ID: h.TxnID}, StatePrepare, nil
}
func (*nullSink) Convert(_ context.Context, _ *wal.Header, b *block.Block) (*Table, *block.Block, error) {
	return testTable(1), b, nil
}
func (*nullSink) Release(context.Context, []int64) error { return nil }

// BenchmarkAdd: one-row loads (int, varchar of 6, int) into one table. "disk" is
// the real one; "memory" is tmpfs, where an fsync costs nothing: what our own
// work allows. sync loads commit each 10 ms.
func BenchmarkAdd(b *testing.B) {
	dirs := map[string]string{"disk": b.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "wal"); err == nil {
		dirs["memory"] = dir
		defer os.RemoveAll(dir)
	}
	for name, dir := range dirs {
		for _, async := range []bool{true, false} {
			for _, clients := range []int{32, 500} {
				b.Run(fmt.Sprintf("%s/async=%t/clients=%d", name, async, clients), func(b *testing.B) {
					benchmarkAdd(b, dir, async, clients)
				})
			}
		}
	}
}

func benchmarkAdd(b *testing.B, dir string, async bool, clients int) {
	wals, err := wal.Open(vfs.Default, []string{dir}, wal.Options{Limit: "1000000000"})
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(Options{WAL: wals, Sink: &nullSink{}})
	if err != nil {
		b.Fatal(err)
	}
	if err := m.Recover(b.Context()); err != nil {
		b.Fatal(err)
	}
	tb := testTable(1)
	tb.DataBytes = 64 << 20
	if tb.IntervalMs = 10_000; !async {
		tb.IntervalMs = 10
	}
	template := newLoad(tb, async, 0, 1)
	var next atomic.Uint64
	var wg sync.WaitGroup
	ctx := b.Context()
	b.ReportAllocs()
	b.ResetTimer()
	for range clients {
		wg.Go(func() {
			l := *template
			for {
				i := next.Add(1)
				if i > uint64(b.N) {
					return
				}
				binary.LittleEndian.PutUint64(l.RequestID[:], i)
				if _, err := m.Add(ctx, &l); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	c := wals.Counters()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "loads/s")
	b.ReportMetric(float64(c.Frames)/float64(b.N), "fsyncs/op")
	if err := m.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	if err := wals.Close(); err != nil {
		b.Fatal(err)
	}
}
