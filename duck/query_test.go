package duck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/value"
)

func TestHotRowsSelfJoin(t *testing.T) {
	d, _ := open(t)
	in := []TableInput{{Name: "t", Columns: numberCols, Blocks: []*block.Block{numbers(0, 5000), numbers(5000, 5000)}}}
	for _, c := range []struct {
		sql  string
		want int64
	}{
		{`SELECT count(*) FROM t`, 10000},
		{`SELECT count(*) FROM t AS a JOIN t AS b ON a.n = b.n`, 10000},
		{`SELECT (SELECT count(*) FROM t) + (SELECT max(n) FROM t)`, 19999},
		{`WITH w AS (SELECT n FROM t) SELECT count(*) FROM w AS a JOIN w AS b USING (n) JOIN t AS c USING (n)`, 10000},
	} {
		if got := single(t, d, &Query{SQL: c.sql, Tables: in}); got != c.want {
			t.Errorf("%s: %d, want %d", c.sql, got, c.want)
		}
	}
}

func TestConcurrentQueries(t *testing.T) {
	d, _ := open(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 5 {
				n := 1000 + 100*g + i
				// All use the same relation name.
				q := &Query{SQL: `SELECT count(*) FROM t AS a JOIN t AS b USING (n)`,
					Tables: []TableInput{{Name: "t", Columns: numberCols, Blocks: []*block.Block{numbers(g, n)}}}}
				b, _, err := all(t, d, q)
				if err != nil {
					t.Error(err)
					return
				}
				if got := b.Col(0).Int64(0); got != int64(n) {
					t.Errorf("query %d/%d counted %d rows, want %d", g, i, got, n)
				}
			}
		})
	}
	wg.Wait()
}

func TestRelationsAreGoneAfterTheQuery(t *testing.T) {
	d, _ := open(t)
	single(t, d, &Query{SQL: `SELECT count(*) FROM t`, Tables: []TableInput{{Name: "t", Columns: numberCols, Blocks: []*block.Block{numbers(0, 3)}}}})
	if _, _, err := all(t, d, &Query{SQL: `SELECT count(*) FROM t`}); err == nil {
		t.Fatal("another query sees the relation")
	}
}

func TestEmptyRelation(t *testing.T) {
	d, _ := open(t)
	in := []TableInput{{Name: "t", Columns: numberCols}}
	if got := single(t, d, &Query{SQL: `SELECT count(*) FROM t`, Tables: in}); got != 0 {
		t.Fatalf("count = %d", got)
	}
	b, cols, err := all(t, d, &Query{SQL: `SELECT n FROM t`, Tables: in})
	if err != nil || b.Rows() != 0 || len(cols) != 1 || cols[0].Type != intT || cols[0].Name != "n" {
		t.Fatalf("rows %d, columns %v, err %v", b.Rows(), cols, err)
	}
}

// The shapes that DuckDB's vectors take inside: constants, dictionaries and
// NULLs come out flat.
func TestVectorShapes(t *testing.T) {
	d, _ := open(t)
	b := mustAll(t, d, &Query{SQL: `SELECT 7::INTEGER AS c, NULL::BIGINT AS n, 'a string that is long' AS s, i::INTEGER AS i,
		CASE WHEN i % 3 = 0 THEN NULL ELSE i END::BIGINT AS m FROM range(5000) AS r(i) WHERE i % 2 = 0 ORDER BY i`})
	if b.Rows() != 2500 {
		t.Fatalf("%d rows", b.Rows())
	}
	for r := range b.Rows() {
		i := int64(2 * r)
		if b.Col(0).Int64(r) != 7 || !b.Col(1).IsNull(r) || string(b.Col(2).Raw(r)) != "a string that is long" || b.Col(3).Int64(r) != i ||
			b.Col(4).IsNull(r) != (i%3 == 0) || (i%3 != 0 && b.Col(4).Int64(r) != i) {
			t.Fatalf("row %d is wrong", r)
		}
	}
}

func TestResultTypes(t *testing.T) {
	d, _ := open(t)
	for _, c := range []struct {
		sql  string
		hint value.Type
		want string
	}{
		{"true", value.Type{}, "boolean"},
		{"1::TINYINT", value.Type{}, "tinyint"},
		{"1::UTINYINT", value.Type{}, "smallint"},
		{"1::USMALLINT", value.Type{}, "int"},
		{"1::UINTEGER", value.Type{}, "bigint"},
		{"1::UBIGINT", value.Type{}, "largeint"},
		{"sum(1)", value.Type{}, "largeint"},
		{"1.50", value.Type{}, "decimal(3,2)"},
		{"NULL", value.Type{}, "int"},
		{"DATE '2024-02-29'", value.Type{}, "date"},
		{"TIMESTAMP '2024-02-29 01:02:03'", value.Type{}, "datetime(6)"},
		{"TIMESTAMP '2024-02-29 01:02:03'", value.Type{Kind: value.DateTime}, "datetime"},
		{"'x'", value.Type{Kind: value.VarChar, Length: 5}, "varchar(5)"},
		{"'x'", value.Type{Kind: value.Int}, "text"},
		{"'{}'", value.Type{Kind: value.JSON}, "json"},
	} {
		_, cols, err := all(t, d, &Query{SQL: "SELECT " + c.sql, Types: []value.Type{c.hint}})
		if err != nil || cols[0].Type.String() != c.want {
			t.Errorf("%s: %v, %v, want %s", c.sql, cols, err, c.want)
		}
	}
	for _, sql := range []string{"[1, 2]", "INTERVAL 1 DAY", "{'a': 1}", "'a'::BLOB", "MAP {1: 2}", "TIME '10:00:00'"} {
		if _, _, err := all(t, d, &Query{SQL: "SELECT " + sql}); !doriserr.Is(err, doriserr.Unsupported) {
			t.Errorf("%s: %v, want a refusal", sql, err)
		}
	}
}

func TestErrorsAreWordedForClients(t *testing.T) {
	d, _ := open(t)
	for _, c := range []struct {
		sql  string
		kind doriserr.Kind
	}{
		{"SELECT 'x'::INTEGER", doriserr.Analysis},
		{"SELECT 170141183460469231731687303715884105727::HUGEINT + 1::HUGEINT", doriserr.Analysis},
		{"SELECT no_such_function(1)", doriserr.Internal},
		// The error comes while rows are fetched.
		{"SELECT CASE WHEN i > 400000 THEN 'x'::INTEGER ELSE i END FROM range(500000) AS r(i)", doriserr.Analysis},
	} {
		_, _, err := all(t, d, &Query{SQL: c.sql})
		if !doriserr.Is(err, c.kind) {
			t.Errorf("%s: %v (%s), want %s", c.sql, err, doriserr.KindOf(err), c.kind)
			continue
		}
		if msg := err.Error(); len(msg) == 0 || containsAny(msg, "LINE ", "\n", "Error:") {
			t.Errorf("%s: text %q", c.sql, msg)
		}
	}
}

const endless = `SELECT count(*) FROM range(100000000000) AS a(i), range(1000) AS b(j) WHERE (i * j) % 7 = 8`

func TestCancel(t *testing.T) {
	d, _ := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := drain(ctx, d, endless)
	if doriserr.KindOf(err) != doriserr.Timeout {
		t.Fatalf("%v, want the deadline", err)
	}
	cause := errors.New("killed by KILL QUERY")
	ctx2, kill := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { kill(cause) })
	if err := drain(ctx2, d, endless); !errors.Is(err, cause) {
		t.Fatalf("%v, want the cause", err)
	}
	if got := single(t, d, &Query{SQL: "SELECT 1"}); got != 1 {
		t.Fatal("the instance does not work after a cancelled query")
	}
}

func drain(ctx context.Context, d *DB, sql string) error {
	r, err := d.Query(ctx, &Query{SQL: sql})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		if _, err := r.Next(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

// A result is produced while it is fetched: closing early ends the query.
func TestResultIsStreamed(t *testing.T) {
	d, _ := open(t)
	r, err := d.Query(t.Context(), &Query{SQL: `SELECT i FROM range(1000000000000) AS r(i)`})
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil || b.Rows() == 0 {
		t.Fatalf("%v", err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(t.Context()); err != io.EOF {
		t.Fatalf("Next after Close: %v", err)
	}
}

func TestNextHearsItsOwnContext(t *testing.T) {
	d, _ := open(t)
	r, err := d.Query(t.Context(), &Query{SQL: `SELECT i FROM range(100000000000) AS r(i) WHERE i < 1000000 OR i % 10000000000 = 1`})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for err == nil {
		_, err = r.Next(ctx)
	}
	if doriserr.KindOf(err) != doriserr.Timeout {
		t.Fatalf("%v, want the deadline", err)
	}
}

func TestMaxConcurrent(t *testing.T) {
	d, _ := open(t, func(o *Options) { o.MaxConcurrent = 1 })
	r, err := d.Query(t.Context(), &Query{SQL: "SELECT 1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Query(ctx, &Query{SQL: "SELECT 2"}); doriserr.KindOf(err) != doriserr.Timeout {
		t.Fatalf("%v, want to wait for the slot", err)
	}
	r.Close()
	if got := single(t, d, &Query{SQL: "SELECT 2"}); got != 2 {
		t.Fatal("no slot after Close")
	}
}

func TestCloseEndsQueries(t *testing.T) {
	d, _ := open(t)
	errs := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		r, err := d.Query(t.Context(), &Query{SQL: `SELECT i FROM range(100000000000) AS r(i)`})
		close(started)
		for err == nil {
			_, err = r.Next(t.Context())
		}
		r.Close()
		errs <- err
	}()
	<-started
	d.Close()
	if err := <-errs; !doriserr.Is(err, doriserr.Stopping) {
		t.Fatalf("%v, want Stopping", err)
	}
	if _, err := d.Query(t.Context(), &Query{SQL: "SELECT 1"}); !doriserr.Is(err, doriserr.Stopping) {
		t.Fatalf("%v, want Stopping", err)
	}
}

func TestNullOrder(t *testing.T) {
	d, _ := open(t)
	for sql, wantFirst := range map[string]bool{"SELECT x FROM (VALUES (1), (NULL), (0)) v(x) ORDER BY x": true,
		"SELECT x FROM (VALUES (1), (NULL), (0)) v(x) ORDER BY x DESC": false} {
		b := mustAll(t, d, &Query{SQL: sql})
		if b.Col(0).IsNull(0) != wantFirst || b.Col(0).IsNull(2) == wantFirst {
			t.Errorf("%s: NULL is at the wrong end", sql)
		}
	}
}

func TestBlocksMustFitTheColumns(t *testing.T) {
	d, _ := open(t)
	for i, in := range []TableInput{
		{Name: "t", Columns: []ColumnDesc{{Name: "n", Type: bigT}}, Blocks: []*block.Block{numbers(0, 1)}},
		{Name: "t", Columns: append(numberCols[:1:1], ColumnDesc{Name: "m", Type: intT}), Blocks: []*block.Block{numbers(0, 1)}},
		{Name: "t"},
	} {
		if _, err := d.Query(t.Context(), &Query{SQL: "SELECT 1", Tables: []TableInput{in}}); err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
}

func TestSpillAndMemoryLimit(t *testing.T) {
	const sql = `SELECT count(*) FROM (SELECT i, md5(i::VARCHAR) AS h FROM range(1000000) AS r(i) ORDER BY h) WHERE i >= 0`
	d, _ := open(t, func(o *Options) { o.MemoryLimitBytes = 48 << 20 })
	big := `SELECT count(*), max(s) FROM (SELECT string_agg(h, ',') AS s FROM (SELECT md5(i::VARCHAR) AS h FROM range(2000000) AS r(i)))`
	if _, _, err := all(t, d, &Query{SQL: big}); !doriserr.Is(err, doriserr.ExceededLimit) {
		t.Errorf("%v, want ExceededLimit", err)
	}
	if got := single(t, d, &Query{SQL: sql}); got != 1000000 {
		t.Errorf("count %d", got)
	}
}

func TestFatalErrorReplacesInstance(t *testing.T) {
	d, _ := open(t)
	other, err := d.Query(t.Context(), &Query{SQL: "SELECT i FROM range(100000) AS r(i)"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	old := d.in
	for _, msg := range []string{"FATAL Error: index is broken", "INTERNAL Error: assertion"} {
		now := d.in
		d.inspect(now, fmt.Errorf("query: %w", &engineError{msg}))
		if d.in == now {
			t.Fatalf("%s: the instance is still in service", msg)
		}
		// A late second error of the same instance replaces nothing.
		now2 := d.in
		d.inspect(now, &engineError{msg})
		if d.in != now2 {
			t.Fatal("a healthy instance was replaced")
		}
	}
	now := d.in
	d.inspect(now, &engineError{"Binder Error: no"})
	if d.in != now {
		t.Fatal("a harmless error replaced the instance")
	}
	rows := 0
	for {
		b, err := other.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("a running query failed: %v", err)
		}
		rows += b.Rows()
	}
	if rows != 100000 {
		t.Fatalf("%d rows", rows)
	}
	select {
	case <-old.closed:
		t.Fatal("the old instance closed under a query")
	default:
	}
	other.Close()
	<-old.closed
	if got := single(t, d, &Query{SQL: "SELECT 3"}); got != 3 {
		t.Fatal("the new instance does not work")
	}
}
