package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
	"dorisgo/storage"
	"dorisgo/value"
)

// TestInlineAndFiles reads rows of both kinds, of several tablets, together.
func TestInlineAndFiles(t *testing.T) {
	b := newBoxes(t, 1, 4)[0]
	b.load(101, schema1, numbered(t, 1, 300)) // a file
	b.load(101, schema1, numbered(t, 1001, 2))
	b.load(102, schema1, numbered(t, 2001, 300)) // a file
	b.load(103, schema1, numbered(t, 3001, 1))
	b.load(101, schema1, rowsOf(t, schema1, []string{"-1", "NULL", "NULL"}))
	if b.files(101) != 1 || b.files(102) != 1 || b.files(103) != 0 {
		t.Fatalf("files: %d, %d, %d", b.files(101), b.files(102), b.files(103))
	}
	all := []*bepb.QueryTable{table("t", columnsPB(schema1...), b.on(101, 102, 103, 104))}
	b.want(`SELECT count(*), count(name), sum(id), min(n), max(n) FROM t`, all, "604,603,695303,10,30010")
	b.want(`SELECT id, name, n FROM t WHERE id IN (-1, 1, 1001, 2300, 3001) ORDER BY id`, all,
		"-1,NULL,NULL", "1,name 1,10", "1001,name 1001,10010", "2300,name 2300,23000", "3001,name 3001,30010")
	if err := b.engine.Flush(t.Context(), 101); err != nil {
		t.Fatal(err)
	}
	b.want(`SELECT count(*), count(name), sum(id), min(n), max(n) FROM t`, all, "604,603,695303,10,30010")
	b.want(`SELECT n FROM t WHERE id > 3000`, []*bepb.QueryTable{table("t", columnsPB(n1, id1), b.on(103))}, "30010")
}

// TestVersions reads a tablet as it was.
func TestVersions(t *testing.T) {
	b := newBoxes(t, 1, 4)[0]
	for i := range 3 {
		b.load(101, schema1, numbered(t, i, 1))
	}
	for version := int64(1); version <= 4; version++ {
		at := table("t", columnsPB(id1), []*bepb.ScanTablet{{PartitionId: part, TabletId: 101, Version: version, BackendId: 1}})
		b.want(`SELECT count(*) FROM t`, []*bepb.QueryTable{at}, fmt.Sprint(version-1))
	}
}

// TestProjection: the unique id decides which stored column is meant, in rows
// that are inline and in files.
func TestProjection(t *testing.T) {
	for _, kind := range []string{"inline", "files"} {
		t.Run(kind, func(t *testing.T) {
			b := newBoxes(t, 1, 4)[0]
			n := map[string]int{"inline": 3, "files": 300}[kind]
			b.load(101, schema1, numbered(t, 1, n))
			// Since then: id became BIGINT, name was renamed, n was dropped and
			// another n added, x came with a default, d without.
			three := "3"
			id2 := storage.ColumnDesc{UniqueID: 0, Name: "id", Type: value.Type{Kind: value.BigInt}}
			label := storage.ColumnDesc{UniqueID: 1, Name: "label", Type: value.Type{Kind: value.VarChar, Length: 40}, Nullable: true}
			n2 := storage.ColumnDesc{UniqueID: 5, Name: "n", Type: value.Type{Kind: value.VarChar, Length: 8}, Nullable: true}
			x := storage.ColumnDesc{UniqueID: 6, Name: "x", Type: value.Type{Kind: value.Int}}
			d := storage.ColumnDesc{UniqueID: 7, Name: "d", Type: value.Type{Kind: value.Date}, Nullable: true}
			schema2 := []storage.ColumnDesc{x, label, id2, n2, d}
			b.load(101, schema2, rowsOf(t, schema2, []string{"4", "new", "5000000000", "five", "2024-02-29"}))
			cols := columnsPB(schema2...)
			cols[0].DefaultValue = &three
			all := []*bepb.QueryTable{table("t", cols, b.on(101))}
			b.want(`SELECT id, label, n, x, d FROM t WHERE id IN (2, 5000000000) ORDER BY id`, all,
				"2,name 2,NULL,3,NULL", "5000000000,new,five,4,2024-02-29")
			b.want(`SELECT count(*), sum(x) FROM t`, all, fmt.Sprintf("%d,%d", n+1, 3*n+4))
			if want := map[string]int{"inline": 0, "files": 1}[kind]; b.files(101) != want {
				t.Errorf("%d files", b.files(101))
			}
		})
	}
}

// TestTypes: every type comes back as it was stored, from rows that are inline
// and from files, through a scan as well.
func TestTypes(t *testing.T) {
	long := strings.Repeat("x", 3000)
	var cols []storage.ColumnDesc
	var low, high []string
	for i, c := range []struct {
		t         value.Type
		low, high string
	}{
		{value.Type{Kind: value.Boolean}, "0", "1"},
		{value.Type{Kind: value.TinyInt}, "-128", "127"},
		{value.Type{Kind: value.SmallInt}, "-32768", "32767"},
		{value.Type{Kind: value.Int}, "-2147483648", "2147483647"},
		{value.Type{Kind: value.BigInt}, "-9223372036854775808", "9223372036854775807"},
		{value.Type{Kind: value.LargeInt}, "-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"},
		{value.Type{Kind: value.Decimal, Precision: 38, Scale: 9}, "-99999999999999999999999999999.999999999", "99999999999999999999999999999.999999999"},
		{value.Type{Kind: value.Double}, "-1.5", "1.5"},
		{value.Type{Kind: value.Date}, "0001-01-01", "9999-12-31"},
		{value.Type{Kind: value.DateTime, Scale: 6}, "0001-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999"},
		{value.Type{Kind: value.String}, "", long},
	} {
		cols = append(cols, storage.ColumnDesc{UniqueID: int32(i), Name: fmt.Sprint("c", i), Type: c.t, Nullable: true})
		low, high = append(low, c.low), append(high, c.high)
	}
	null := make([]string, len(cols))
	for i := range null {
		null[i] = "NULL"
	}
	boxes := newBoxes(t, 2, 4)
	for _, b := range boxes {
		b.load(101, cols, rowsOf(t, cols, low, null))
		b.load(102, cols, rowsOf(t, cols, high)) // long: a file
	}
	if boxes[1].files(101) != 0 || boxes[1].files(102) != 1 {
		t.Fatalf("files: %d, %d", boxes[1].files(101), boxes[1].files(102))
	}
	want := []string{strings.Join(null, ","), strings.Join(low, ","), strings.Join(high, ",")}
	for _, from := range boxes {
		got, err := boxes[0].query(t.Context(), `SELECT * FROM t ORDER BY c3`, table("t", columnsPB(cols...), from.on(101, 102)))
		if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("from backend %d: %v\n got %v\nwant %v", from.Self, err, got, want)
		}
	}
}

// TestTwoBackends joins the tablets of BEs into one table.
func TestTwoBackends(t *testing.T) {
	boxes := newBoxes(t, 3, 4)
	for i, b := range boxes {
		b.load(int64(101+i), schema1, numbered(t, i*1000, 300)) // a file
		b.load(int64(101+i), schema1, numbered(t, i*1000+500, 3))
	}
	all := []*bepb.QueryTable{table("t", columnsPB(schema1...), boxes[0].on(101), boxes[1].on(102), boxes[2].on(103))}
	for _, b := range boxes {
		b.want(`SELECT id // 1000, count(*), sum(n) - 10 * sum(id) FROM t GROUP BY 1 ORDER BY 1`, all, "0,303,0", "1,303,0", "2,303,0")
	}
	// A self-join: each mention is an input of its own.
	join := []*bepb.QueryTable{
		table("a", columnsPB(id1), boxes[0].on(101), boxes[1].on(102)), table("b", columnsPB(id1, name), boxes[1].on(102), boxes[2].on(103)),
	}
	boxes[2].want(`SELECT count(*), min(b.name) FROM a JOIN b ON a.id = b.id`, join, "303,name 1000")
}

// TestSelfJoinOverHotRows: one input is scanned as often as the statement
// mentions it (docs/protocol.md, section 3).
func TestSelfJoinOverHotRows(t *testing.T) {
	b := newBoxes(t, 1, 4)[0]
	b.load(101, schema1, numbered(t, 1, 5))
	one := []*bepb.QueryTable{table("t", columnsPB(id1, n1), b.on(101))}
	b.want(`SELECT count(*), sum(x.n) FROM t AS x JOIN t AS y ON x.id = y.id`, one, "5,150")
	b.want(`WITH c AS (SELECT * FROM t) SELECT (SELECT count(*) FROM c), (SELECT max(id) FROM c), (SELECT count(*) FROM t)`, one, "5,5,5")
	two := []*bepb.QueryTable{table("x", columnsPB(id1), b.on(101)), table("y", columnsPB(id1, n1), b.on(101))}
	b.want(`SELECT count(*), sum(y.n) FROM x JOIN y ON x.id = y.id`, two, "5,150")
}

// TestNotYet: a version that is on its way is waited for, here and on another
// BE.
func TestNotYet(t *testing.T) {
	boxes := newBoxes(t, 2, 4)
	for _, from := range boxes {
		late := from.write(101, schema1, numbered(t, 1, 1))
		at := table("t", columnsPB(id1), from.on(101))
		var wg sync.WaitGroup
		wg.Go(func() { boxes[0].want(`SELECT count(*) FROM t`, []*bepb.QueryTable{at}, "1") })
		from.publish(late)
		wg.Wait()
	}
	// One that does not come is given up with the caller's time.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := boxes[0].query(ctx, `SELECT 1 FROM t`, table("t", columnsPB(id1), []*bepb.ScanTablet{{PartitionId: part, TabletId: 101, Version: 99, BackendId: 1}}))
	if err == nil || !strings.Contains(err.Error(), "tablet 101 on backend 1") {
		t.Errorf("error %v", err)
	}
}

// TestVersionGone: the FE hears that it must plan again, whoever noticed.
func TestVersionGone(t *testing.T) {
	boxes := newBoxes(t, 2, 4)
	for _, b := range boxes {
		for i := range 4 {
			b.load(101, schema1, numbered(t, i, 1))
		}
		old := b.on(101)
		old[0].Version = 3
		at := []*bepb.QueryTable{table("t", columnsPB(id1), old)}
		boxes[0].want(`SELECT count(*) FROM t`, at, "2")
		if err := errors.Join(b.engine.Flush(t.Context(), 101), b.engine.Sweep(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := boxes[0].query(t.Context(), `SELECT count(*) FROM t`, at...); !doriserr.Is(err, doriserr.VersionGone) {
			t.Errorf("from backend %d: error %v (%s), want VersionGone", b.Self, err, doriserr.KindOf(err))
		}
	}
}

// TestPinsAreHeld: what a query reads stays although it is replaced while the
// rows are on their way, and is let go afterwards.
func TestPinsAreHeld(t *testing.T) {
	b := newBoxes(t, 1, 4)[0]
	b.load(101, schema1, numbered(t, 1, 5000)) // a file
	b.load(101, schema1, numbered(t, 5001, 10))
	sent := 0
	err := b.Query(t.Context(), &bepb.QueryRequest{Sql: `SELECT id FROM t`, Tables: []*bepb.QueryTable{table("t", columnsPB(id1), b.on(101))}}, func(c *bepb.QueryChunk) error {
		if c.Columns != nil {
			if err := errors.Join(b.engine.Flush(t.Context(), 101), b.engine.Sweep(t.Context())); err != nil {
				return err
			}
			return nil
		}
		n, err := block.DecodeRows(c.Block)
		sent += n
		return err
	})
	if err != nil || sent != 5010 {
		t.Errorf("%d rows, %v", sent, err)
	}
	if err := b.engine.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestErrors: they name the tablet and the BE, and leave nothing pinned.
func TestErrors(t *testing.T) {
	b := newBoxes(t, 1, 2)[0]
	b.load(101, schema1, numbered(t, 1, 300)) // a file
	away := []*bepb.ScanTablet{{PartitionId: part, TabletId: 205, Version: 2, BackendId: 9}}
	_, err := b.query(t.Context(), `SELECT 1 FROM t`, table("t", columnsPB(id1), b.on(101), away))
	if err == nil || !strings.Contains(err.Error(), "tablet 205 on backend 9") {
		t.Errorf("a BE that is down: %v", err)
	}
	_, err = b.query(t.Context(), `SELECT 10 // (id - id) + CAST(name AS INT) FROM t`, table("t", columnsPB(id1, name), b.on(101)))
	if !doriserr.Is(err, doriserr.Analysis) {
		t.Errorf("a value that cannot be cast: %v (%s)", err, doriserr.KindOf(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.query(ctx, `SELECT 1 FROM t`, table("t", columnsPB(id1), b.on(101))); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled query: %v", err)
	}
	stop := errors.New("the client is gone")
	err = b.Query(t.Context(), &bepb.QueryRequest{Sql: `SELECT 1 FROM t`, Tables: []*bepb.QueryTable{table("t", columnsPB(id1), b.on(101))}}, func(*bepb.QueryChunk) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("a client that is gone: %v", err)
	}
	for range 4 { // more than there are slots
		b.want(`SELECT count(*) FROM t`, []*bepb.QueryTable{table("t", columnsPB(id1), b.on(101))}, "300")
	}
}

// TestNoRing: BEs that coordinate for each other, each with all the statements
// that it may have, do not wait for each other's scans for ever.
func TestNoRing(t *testing.T) {
	boxes := newBoxes(t, 2, 3)
	for i, b := range boxes {
		b.Statements = make(chan struct{}, 2)
		b.load(int64(101+i), schema1, numbered(t, i*1000, 300)) // a file: its scan needs DuckDB
	}
	all := []*bepb.QueryTable{table("t", columnsPB(id1), boxes[0].on(101), boxes[1].on(102))}
	var wg sync.WaitGroup
	for range 10 {
		for _, b := range boxes {
			wg.Go(func() { b.want(`SELECT count(*) FROM t`, all, "600") })
		}
	}
	wg.Wait()
	// Who waits for a place gives up with its time.
	for range cap(boxes[0].Statements) {
		boxes[0].Statements <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := boxes[0].query(ctx, `SELECT 1`); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
