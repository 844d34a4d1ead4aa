package sink

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/be/catalog"
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
	"dorisgo/value"
)

func catalogOf(t *testing.T, tables ...*meta.Table) *catalog.Catalog {
	t.Helper()
	ev := &fepb.CatalogEvent{Index: 1, Snapshot: true}
	for _, tb := range tables {
		b, err := meta.EncodeTable(tb)
		if err != nil {
			t.Fatal(err)
		}
		ev.Tables = append(ev.Tables, b)
	}
	c := catalog.New()
	if err := c.Apply(ev); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGroupTable(t *testing.T) {
	for _, tc := range []struct {
		keys    meta.KeysType
		seq     string
		ordered bool
	}{{meta.DuplicateKeys, "", false}, {meta.UniqueKeys, "", true}, {meta.UniqueKeys, "s", false}, {meta.AggregateKeys, "", true}} {
		tb := table(tc.keys, []int{0}, []int64{1})
		tb.Props = meta.Properties{SequenceCol: tc.seq, GroupCommitIntervalMs: 200, GroupCommitDataBytes: 4096}
		g := GroupTable(tb)
		if g.Ordered != tc.ordered || g.ID != 7 || g.Epoch != 2 || g.SchemaVersion != 4 || g.IntervalMs != 200 || g.DataBytes != 4096 || g.Def != tb {
			t.Errorf("%d %q: %+v", tc.keys, tc.seq, g)
		}
		if len(g.Columns) != 2 || g.Columns[1].UniqueID != 3 || g.Columns[1].Name != "s" || !g.Columns[1].Nullable {
			t.Errorf("columns %+v", g.Columns)
		}
	}
}

func TestGroupBegin(t *testing.T) {
	tb := table(meta.DuplicateKeys, []int{0}, []int64{1})
	for _, tc := range []struct {
		intervalMs int32
		want       time.Duration
	}{{200, 600 * time.Second}, {120_000, 1200 * time.Second}} {
		tb.Props.GroupCommitIntervalMs = tc.intervalMs
		l := &leader{begin: func(r *fepb.BeginRequest) (*fepb.BeginReply, error) {
			if r.TimeoutMs != tc.want.Milliseconds() || !r.Group || !r.Async || r.Label != "group_commit_1" || r.IntervalMs != int64(tc.intervalMs) ||
				r.TableEpoch != 2 || r.SchemaVersion != 4 || r.Owner.BackendId != 1 || r.Owner.BootEpoch != 5 || r.Coordinator != "BE: h" {
				t.Errorf("request %v", r)
			}
			return &fepb.BeginReply{TxnId: 9, Label: r.Label, OwnerEpoch: 1}, nil
		}}
		g := Groups{Sink: newSink(l, nil), TimeoutMultiplier: 10}
		tx, err := g.Begin(t.Context(), groupcommit.BeginRequest{Table: GroupTable(tb), Async: true, RequestID: [16]byte{1}, Label: "group_commit_1"})
		if err != nil || tx != (groupcommit.Txn{ID: 9, Label: "group_commit_1", OwnerEpoch: 1}) {
			t.Errorf("%+v, %v", tx, err)
		}
	}
}

func TestGroupCommit(t *testing.T) {
	for _, tc := range []struct {
		state   txn.State
		visible bool
		bad     bool
	}{{txn.Visible, true, false}, {txn.Committed, false, false}, {txn.Aborted, false, true}, {txn.Prepare, false, true}} {
		l := &leader{commit: func(context.Context, *fepb.CommitRequest) (*fepb.CommitReply, error) {
			return &fepb.CommitReply{State: int32(tc.state), Index: 4}, nil
		}}
		out, err := Groups{Sink: newSink(l, nil)}.Commit(t.Context(), groupcommit.Txn{ID: 9}, &Written{}, 0)
		if (err != nil) != tc.bad || err == nil && (out.Visible != tc.visible || out.Index != 4) {
			t.Errorf("%s: %+v, %v", tc.state, out, err)
		}
	}
}

// TestGroupAbort: what is unknown needs no abort.
func TestGroupAbort(t *testing.T) {
	l := &leader{abort: func(*fepb.AbortRequest) error { return doriserr.New(doriserr.TxnNotFound, "transaction [9] not found") }}
	g := Groups{Sink: newSink(l, nil)}
	if err := g.Abort(t.Context(), groupcommit.Txn{ID: 9}, "why"); err != nil {
		t.Error(err)
	}
	l.abort = func(*fepb.AbortRequest) error { return doriserr.New(doriserr.TxnState, "too late") }
	if err := g.Abort(t.Context(), groupcommit.Txn{ID: 9}, "why"); !doriserr.Is(err, doriserr.TxnState) {
		t.Error(err)
	}
}

func TestGroupTakeOver(t *testing.T) {
	for _, tc := range []struct {
		state txn.State
		fate  fepb.TableFate
		want  groupcommit.State
	}{
		{txn.Prepare, fepb.TableFate_TABLE_LIVES, groupcommit.StatePrepare},
		{txn.Prepare, fepb.TableFate_TABLE_RECYCLED, groupcommit.StateRecycled},
		{txn.Prepare, fepb.TableFate_TABLE_ERASED, groupcommit.StateErased},
		{txn.Committed, fepb.TableFate_TABLE_RECYCLED, groupcommit.StateCommitted},
		{txn.Visible, fepb.TableFate_TABLE_ERASED, groupcommit.StateVisible},
		{txn.Aborted, fepb.TableFate_TABLE_ERASED, groupcommit.StateAborted},
	} {
		l := &leader{takeOver: func(r *fepb.TakeOverRequest) (*fepb.TakeOverReply, error) {
			if r.TxnId != 9 || r.BackendId != 1 || r.BootEpoch != 5 {
				t.Errorf("request %v", r)
			}
			return &fepb.TakeOverReply{State: int32(tc.state), OwnerEpoch: 3, Label: "l", Table: tc.fate}, nil
		}}
		tx, state, err := Groups{Sink: newSink(l, nil)}.TakeOver(t.Context(), &wal.Header{TxnID: 9})
		if err != nil || state != tc.want || tx != (groupcommit.Txn{ID: 9, Label: "l", OwnerEpoch: 3, Replay: true}) {
			t.Errorf("%s, %s: %+v, %d, %v", tc.state, tc.fate, tx, state, err)
		}
	}
	for _, tc := range []struct {
		err  error
		want doriserr.Kind
	}{
		{doriserr.New(doriserr.TxnNotFound, "transaction [9] not found"), 0},
		{doriserr.New(doriserr.Unknown, "leadership lost"), doriserr.Unknown},
		{doriserr.New(doriserr.StaleEpoch, "another life"), doriserr.StaleEpoch},
	} {
		l := &leader{takeOver: func(*fepb.TakeOverRequest) (*fepb.TakeOverReply, error) { return nil, tc.err }}
		_, state, err := Groups{Sink: newSink(l, nil)}.TakeOver(t.Context(), &wal.Header{TxnID: 9})
		if tc.want == 0 && (err != nil || state != groupcommit.StateUnknown) || tc.want != 0 && !doriserr.Is(err, tc.want) {
			t.Errorf("%v: %d, %v", tc.err, state, err)
		}
	}
}

// TestGroupWrite: a group that opened before a replica moved goes to where the
// tablets are now; one of another schema is written as it was planned.
func TestGroupWrite(t *testing.T) {
	planned := table(meta.DuplicateKeys, []int{0}, []int64{1})
	moved := table(meta.DuplicateKeys, []int{0}, []int64{2})
	later := table(meta.DuplicateKeys, []int{0}, []int64{3})
	later.SchemaVersion++
	for _, tc := range []struct {
		now  *meta.Table
		want int64
	}{{planned, 1}, {moved, 2}, {later, 1}} {
		w := &writer{}
		g := Groups{Sink: newSink(nil, w), Catalog: catalogOf(t, tc.now)}
		if _, err := g.Write(t.Context(), groupcommit.Txn{ID: 9}, GroupTable(planned), blockOf(planned, row{key(1), "a"})); err != nil {
			t.Fatal(err)
		}
		if len(w.got) != 1 || w.got[tc.want] == nil {
			t.Errorf("written to %v, want %d", w.got, tc.want)
		}
	}
}

// TestConvert maps rows of a WAL to the present schema by unique id.
func TestConvert(t *testing.T) {
	now := table(meta.DuplicateKeys, []int{0}, []int64{1})
	now.SchemaVersion = 5
	now.Columns = []meta.Column{
		{UniqueID: 0, Name: "id", Type: value.Type{Kind: value.BigInt}, Key: true, Nullable: true}, // was INT k
		{UniqueID: 5, Name: "s", Type: value.Type{Kind: value.Int}, Nullable: true},                // another column of an old name
		{UniqueID: 3, Name: "s2", Type: value.Type{Kind: value.VarChar, Length: 30}, Nullable: true},
		{UniqueID: 4, Name: "x", Type: value.Type{Kind: value.Int}, Default: &meta.Default{Kind: meta.DefaultLiteral, Text: "3"}},
	}
	h := &wal.Header{TableID: 7, Columns: GroupTable(table(meta.DuplicateKeys, []int{0}, []int64{1})).Columns}
	old := table(meta.DuplicateKeys, []int{0}, []int64{1})
	rows := blockOf(old, row{key(1), "a"}, row{nil, "b"})
	g := Groups{Catalog: catalogOf(t, now)}
	tb, out, err := g.Convert(t.Context(), h, rows)
	if err != nil {
		t.Fatal(err)
	}
	if tb.SchemaVersion != 5 || out.Rows() != 2 || out.NumCols() != 4 {
		t.Fatalf("%+v, %d rows of %d columns", tb, out.Rows(), out.NumCols())
	}
	if out.Col(0).Int64(0) != 1 || !out.Col(0).IsNull(1) || !out.Col(1).IsNull(0) || string(out.Col(2).Raw(1)) != "b" || out.Col(3).Int64(1) != 3 {
		t.Errorf("rows %v", dump(out))
	}
	// The same schema needs no work.
	g.Catalog = catalogOf(t, old)
	if _, same, err := g.Convert(t.Context(), h, rows); err != nil || same != rows {
		t.Errorf("%v, %v", same, err)
	}
}

func dump(b *block.Block) (out [][]string) {
	for i := range b.Rows() {
		var r []string
		for c := range b.NumCols() {
			r = append(r, string(value.AppendText(nil, b.Col(c).Type(), b.Col(c).Raw(i))))
		}
		out = append(out, r)
	}
	return out
}

// TestConvertWaits: the copy of the catalog may not know the table yet.
func TestConvertWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g := Groups{Catalog: catalogOf(t)}
		if _, _, err := g.Convert(ctx, &wal.Header{TableID: 7}, nil); err == nil {
			t.Error("rows of an unknown table were converted")
		}
	})
}
