package sink

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/value"
)

// table is a table whose tablet i, with id 100+i, is on the given backends.
func table(keys meta.KeysType, dist []int, replicas ...[]int64) *meta.Table {
	t := &meta.Table{
		ID: 7, DBID: 1, Name: "t", Keys: keys, KeyCount: 1, DistCols: dist, Buckets: len(replicas), HashVersion: 1, SchemaVersion: 4, Epoch: 2,
		Columns: []meta.Column{
			{UniqueID: 0, Name: "k", Type: value.Type{Kind: value.Int}, Key: true, Nullable: true},
			{UniqueID: 3, Name: "s", Type: value.Type{Kind: value.VarChar, Length: 20}, Nullable: true, Default: &meta.Default{Kind: meta.DefaultLiteral, Text: "x"}},
		},
		Partitions: []*meta.Partition{{ID: 50, Name: "t"}},
	}
	for i, on := range replicas {
		tablet := &meta.Tablet{ID: int64(100 + i), Bucket: i}
		for _, be := range on {
			tablet.Replicas = append(tablet.Replicas, meta.Replica{BackendID: be})
		}
		t.Partitions[0].Tablets = append(t.Partitions[0].Tablets, tablet)
	}
	return t
}

// row is a key, nil for NULL, and the row's ordinal in s.
type row struct {
	k *int64
	s string
}

func key(n int64) *int64 { return &n }

func blockOf(t *meta.Table, rows ...row) *block.Block {
	b := block.New(Types(t))
	for _, r := range rows {
		if r.k == nil {
			b.Col(0).AppendNull()
		} else {
			b.Col(0).AppendInt64(*r.k)
		}
		b.Col(1).AppendBytes([]byte(r.s))
		b.EndRow()
	}
	return b
}

func decode(tb testing.TB, t *meta.Table, data []byte) (out []row) {
	tb.Helper()
	b := block.New(Types(t))
	if rest, err := block.DecodeAppend(b, data); err != nil || len(rest) > 0 {
		tb.Fatalf("%v, %d bytes left", err, len(rest))
	}
	for i := range b.Rows() {
		r := row{s: string(b.Col(1).Raw(i))}
		if !b.Col(0).IsNull(i) {
			r.k = key(b.Col(0).Int64(i))
		}
		out = append(out, r)
	}
	return out
}

// writer keeps what it is given; fail makes it refuse.
type writer struct {
	mu    sync.Mutex
	got   map[int64]*bepb.WriteRowsetsRequest
	fail  map[int64]error
	delay func(ctx context.Context, id int64)
}

// WriteRowsets implements Writer.
func (w *writer) WriteRowsets(ctx context.Context, id int64, r *bepb.WriteRowsetsRequest) error {
	if w.delay != nil {
		w.delay(ctx, id)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.fail[id]; err != nil {
		return err
	}
	if w.got == nil {
		w.got = map[int64]*bepb.WriteRowsetsRequest{}
	}
	w.got[id] = r
	return nil
}

// leader is an FE that answers by functions; nil is never asked.
type leader struct {
	fepb.FrontendClient
	begin    func(*fepb.BeginRequest) (*fepb.BeginReply, error)
	commit   func(context.Context, *fepb.CommitRequest) (*fepb.CommitReply, error)
	abort    func(*fepb.AbortRequest) error
	takeOver func(*fepb.TakeOverRequest) (*fepb.TakeOverReply, error)
}

// Call implements Leader.
func (l *leader) Call(ctx context.Context, f func(context.Context, fepb.FrontendClient) error) error {
	return f(ctx, l)
}

func (l *leader) Begin(_ context.Context, r *fepb.BeginRequest, _ ...grpc.CallOption) (*fepb.BeginReply, error) {
	return l.begin(r)
}

func (l *leader) Commit(ctx context.Context, r *fepb.CommitRequest, _ ...grpc.CallOption) (*fepb.CommitReply, error) {
	return l.commit(ctx, r)
}

func (l *leader) Abort(_ context.Context, r *fepb.AbortRequest, _ ...grpc.CallOption) (*fepb.AbortReply, error) {
	return &fepb.AbortReply{}, l.abort(r)
}

func (l *leader) TakeOver(_ context.Context, r *fepb.TakeOverRequest, _ ...grpc.CallOption) (*fepb.TakeOverReply, error) {
	return l.takeOver(r)
}

func newSink(l *leader, w *writer) *Sink {
	return New(Identity{BackendID: 1, BootEpoch: 5, Name: "BE: h"}, l, w, slog.New(slog.DiscardHandler))
}

// TestWriteSplitsAndSorts: each bucket's rows go to its tablet, by key, equal
// keys in their order, NULL first; all replicas get the same bytes.
func TestWriteSplitsAndSorts(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3}, []int64{2, 3, 4}, []int64{3, 4, 1})
	var rows []row
	for i := range 90 {
		rows = append(rows, row{key(int64(i * 7 % 30)), strings.Repeat("x", i%3) + string(rune('a'+i%26))})
	}
	rows = append(rows, row{nil, "null"})
	w := &writer{}
	got, err := newSink(nil, w).Write(t.Context(), Txn{ID: 9, OwnerEpoch: 2}, tb, blockOf(tb, rows...), true)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64][]row{}
	for i, n := range blockOf(tb, rows...).Buckets([]int{0}, 3, nil) {
		want[int64(100+n)] = append(want[int64(100+n)], rows[i])
	}
	if len(got.Partitions) != 1 || got.Partitions[0].PartitionId != 50 || len(got.Partitions[0].Tablets) != 3 || got.Rows != 91 {
		t.Fatalf("written: %v", got)
	}
	for _, tw := range got.Partitions[0].Tablets {
		replicas := tb.Partitions[0].Tablets[tw.TabletId-100].Replicas
		var first []byte
		for _, r := range replicas {
			req := w.got[r.BackendID]
			if req.TxnId != 9 || req.OwnerEpoch != 2 || req.TableId != 7 || req.SchemaVersion != 4 || !req.Replay {
				t.Errorf("request to %d: %v", r.BackendID, req)
			}
			i := slices.IndexFunc(req.Rowsets, func(rs *bepb.Rowset) bool { return rs.TabletId == tw.TabletId })
			if i < 0 {
				t.Fatalf("backend %d has nothing of tablet %d", r.BackendID, tw.TabletId)
			}
			rs := req.Rowsets[i]
			if !bytes.Equal(rs.Id, tw.RowsetId) || rs.Rows != tw.Rows || rs.Checksum != tw.Checksum || rs.PartitionId != 50 ||
				rs.Checksum != crc32.Checksum(rs.Data, crc32.MakeTable(crc32.Castagnoli)) {
				t.Errorf("rowset %v, written %v", rs, tw)
			}
			if first == nil {
				first = rs.Data
			}
			if !bytes.Equal(first, rs.Data) {
				t.Errorf("tablet %d has other bytes on backend %d", tw.TabletId, r.BackendID)
			}
			if !slices.Contains(tw.Backends, r.BackendID) {
				t.Errorf("tablet %d: backends %v, and %d has it", tw.TabletId, tw.Backends, r.BackendID)
			}
		}
		if !slices.IsSorted(tw.Backends) || len(tw.Backends) != 3 {
			t.Errorf("backends %v", tw.Backends)
		}
		sorted := slices.Clone(want[tw.TabletId])
		slices.SortStableFunc(sorted, func(a, b row) int {
			switch {
			case a.k == nil || b.k == nil:
				return map[bool]int{true: -1, false: 1}[a.k == nil]
			default:
				return int(*a.k - *b.k)
			}
		})
		if text(decode(t, tb, first)) != text(sorted) {
			t.Errorf("tablet %d has\n%s, want\n%s", tw.TabletId, text(decode(t, tb, first)), text(sorted))
		}
	}
}

func text(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		if r.k == nil {
			b.WriteString("NULL")
		} else {
			b.WriteString(string(rune('0' + *r.k)))
		}
		b.WriteString(":" + r.s + " ")
	}
	return b.String()
}

// TestWriteEmptyBuckets: a tablet without rows gets no rowset, and its backends
// none if they hold nothing else.
func TestWriteEmptyBuckets(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1}, []int64{2}, []int64{3})
	w := &writer{}
	got, err := newSink(nil, w).Write(t.Context(), Txn{ID: 9}, tb, blockOf(tb, row{key(4), "a"}, row{key(4), "b"}), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Partitions[0].Tablets) != 1 || len(w.got) != 1 {
		t.Errorf("written %v to %v", got, w.got)
	}
	got, err = newSink(nil, &writer{}).Write(t.Context(), Txn{ID: 9}, tb, blockOf(tb), false)
	if err != nil || len(got.Partitions) > 0 || got.Rows > 0 {
		t.Errorf("without rows: %v, %v", got, err)
	}
}

// TestWriteRandom: without HASH columns a load goes whole into one bucket, and
// loads spread.
func TestWriteRandom(t *testing.T) {
	tb := table(meta.DuplicateKeys, nil, []int64{1}, []int64{1}, []int64{1}, []int64{1})
	used := map[int64]bool{}
	for range 100 {
		got, err := newSink(nil, &writer{}).Write(t.Context(), Txn{ID: 9}, tb, blockOf(tb, row{key(1), ""}, row{key(2), ""}, row{key(3), ""}), false)
		if err != nil || len(got.Partitions[0].Tablets) != 1 || got.Rows != 3 {
			t.Fatalf("%v, %v", got, err)
		}
		used[got.Partitions[0].Tablets[0].TabletId] = true
	}
	if len(used) != 4 {
		t.Errorf("100 loads used tablets %v", used)
	}
}

func TestWriteRefusesPartitions(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1})
	tb.Partitions = append(tb.Partitions, &meta.Partition{ID: 51})
	if _, err := newSink(nil, &writer{}).Write(t.Context(), Txn{}, tb, blockOf(tb, row{key(1), ""}), false); !doriserr.Is(err, doriserr.Unsupported) {
		t.Errorf("error %v", err)
	}
}

// TestWriteMajority: a write succeeds if every tablet has a majority, and names
// only those that have it.
func TestWriteMajority(t *testing.T) {
	down := doriserr.New(doriserr.Unknown, "connection refused")
	full := doriserr.New(doriserr.ExceededLimit, "the disk is full")
	for _, tc := range []struct {
		name     string
		replicas []int64
		fail     map[int64]error
		want     []int64
		kind     doriserr.Kind
	}{
		{"all", []int64{3, 1, 2}, nil, []int64{1, 2, 3}, 0},
		{"two of three", []int64{1, 2, 3}, map[int64]error{2: down}, []int64{1, 3}, 0},
		{"one of three", []int64{1, 2, 3}, map[int64]error{2: down, 3: down}, nil, doriserr.NoBackend},
		{"one of two", []int64{1, 2}, map[int64]error{2: down}, nil, doriserr.NoBackend},
		{"none of one", []int64{1}, map[int64]error{1: full}, nil, doriserr.ExceededLimit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tb := table(meta.DuplicateKeys, []int{0}, tc.replicas)
			got, err := newSink(nil, &writer{fail: tc.fail}).Write(t.Context(), Txn{ID: 9}, tb, blockOf(tb, row{key(1), ""}), false)
			if tc.want != nil {
				if err != nil || !slices.Equal(got.Partitions[0].Tablets[0].Backends, tc.want) {
					t.Errorf("%v, %v, want backends %v", got, err, tc.want)
				}
				return
			}
			if !doriserr.Is(err, tc.kind) || !strings.Contains(err.Error(), "tablet 100") || !strings.Contains(err.Error(), "backend") {
				t.Errorf("error %v (%s), want %s that names the tablet and the backend", err, doriserr.KindOf(err), tc.kind)
			}
		})
	}
}

// TestWriteGoesOutAtOnce: no replica waits for another one.
func TestWriteGoesOutAtOnce(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1, 2, 3})
	var barrier sync.WaitGroup
	barrier.Add(3)
	w := &writer{delay: func(context.Context, int64) {
		barrier.Done()
		barrier.Wait()
	}}
	if _, err := newSink(nil, w).Write(t.Context(), Txn{}, tb, blockOf(tb, row{key(1), ""}), false); err != nil {
		t.Error(err)
	}
}

func TestCommitOutcome(t *testing.T) {
	w := &Written{Rows: 3, Partitions: []*fepb.PartitionWrite{{PartitionId: 50}}}
	tx := Txn{ID: 9, Label: "l", OwnerEpoch: 2}
	l := &leader{commit: func(_ context.Context, r *fepb.CommitRequest) (*fepb.CommitReply, error) {
		if r.TxnId != 9 || r.Owner.OwnerEpoch != 2 || r.Owner.BootEpoch != 5 || r.LoadedRows != 3 || r.FilteredRows != 4 || r.WaitVisibleMs != 1500 {
			t.Errorf("request %v", r)
		}
		return &fepb.CommitReply{State: int32(txn.Visible), Index: 77}, nil
	}}
	if out, err := newSink(l, nil).Commit(t.Context(), tx, w, 4, 1500*time.Millisecond); err != nil || out != (Outcome{txn.Visible, 77}) {
		t.Errorf("%+v, %v", out, err)
	}
	// A time that is up while the FE is asked leaves the outcome open.
	ctx, cancel := context.WithCancel(t.Context())
	l.commit = func(ctx context.Context, _ *fepb.CommitRequest) (*fepb.CommitReply, error) {
		cancel()
		return nil, ctx.Err()
	}
	if _, err := newSink(l, nil).Commit(ctx, tx, w, 0, 0); !doriserr.Is(err, doriserr.Unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Unknown", err)
	}
	l.commit = func(context.Context, *fepb.CommitRequest) (*fepb.CommitReply, error) {
		return nil, doriserr.New(doriserr.TxnState, "aborted")
	}
	if _, err := newSink(l, nil).Commit(t.Context(), tx, w, 0, 0); !doriserr.Is(err, doriserr.TxnState) {
		t.Errorf("a decision became %v", err)
	}
}
