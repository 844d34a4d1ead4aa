package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/value"
)

// prepared is made of two columns, s and k.
func prepared(t testing.TB, d *DB, exprs ...string) *Prepared {
	t.Helper()
	types := make([]value.Type, len(exprs))
	p := d.Prepare([]ColumnDesc{{Name: "s", Type: stringT}, {Name: "k", Type: bigT}}, exprs, types)
	t.Cleanup(p.Close)
	return p
}

func pairs(n int, f func(i int) (string, int64, bool)) *block.Block {
	b := block.New([]value.Type{stringT, bigT})
	for i := range n {
		s, k, null := f(i)
		b.Col(0).AppendBytes([]byte(s))
		if null {
			b.Col(1).AppendNull()
		} else {
			b.Col(1).AppendInt64(k)
		}
		b.EndRow()
	}
	return b
}

func strs(c *block.Column) string {
	var out []string
	for i := range c.Len() {
		if c.IsNull(i) {
			out = append(out, "NULL")
			continue
		}
		out = append(out, string(value.AppendText(nil, c.Type(), c.Raw(i))))
	}
	return strings.Join(out, ",")
}

// TestPreparedRows: parameters and a table give the same results, in order, and
// a run leaves nothing behind for the next.
func TestPreparedRows(t *testing.T) {
	d, _ := open(t)
	p := prepared(t, d, "s || '!'", "k + 1")
	for _, n := range []int{1, 255, 256, 257, 2048, 2049, 4096, 3} {
		in := pairs(n, func(i int) (string, int64, bool) { return fmt.Sprintf("a text of row %d", i), int64(i), i%3 == 1 })
		out, err := p.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if out.Rows() != n {
			t.Fatalf("%d rows of %d", out.Rows(), n)
		}
		for i := range n {
			if got, want := string(out.Col(0).Raw(i)), fmt.Sprintf("a text of row %d!", i); got != want {
				t.Fatalf("%d rows: row %d is %q, want %q", n, i, got, want)
			}
			if null := out.Col(1).IsNull(i); null != (i%3 == 1) || !null && out.Col(1).Int64(i) != int64(i)+1 {
				t.Fatalf("%d rows: number of row %d", n, i)
			}
		}
	}
}

// TestPreparedTry: a value that an expression fails for is NULL in its row and
// no matter to the others.
func TestPreparedTry(t *testing.T) {
	d, _ := open(t)
	p := prepared(t, d, "TRY(CAST(s AS INTEGER))", "TRY(k * 9223372036854775807)")
	for _, pad := range []int{0, 1000} {
		in := pairs(4+pad, func(i int) (string, int64, bool) {
			return []string{"1", "x", "3", ""}[i%4], []int64{1, 2, 0, -1}[i%4], false
		})
		out, err := p.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := strs(out.Col(0)); !strings.HasPrefix(got, "1,NULL,3,NULL") {
			t.Errorf("texts: %.80s", got)
		}
		if got := strs(out.Col(1)); !strings.HasPrefix(got, "9223372036854775807,NULL,0,-9223372036854775807") {
			t.Errorf("numbers: %.80s", got)
		}
	}
}

// TestPreparedTypes: every type at its limits comes through parameters and
// tables bit for bit.
func TestPreparedTypes(t *testing.T) {
	d, _ := open(t)
	for _, tt := range []struct {
		typ   value.Type
		texts []string
	}{
		{value.Type{Kind: value.Boolean}, []string{"0", "1"}},
		{value.Type{Kind: value.TinyInt}, []string{"-128", "127"}},
		{value.Type{Kind: value.BigInt}, []string{"-9223372036854775808", "9223372036854775807"}},
		{value.Type{Kind: value.LargeInt}, []string{"-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"}},
		{value.Type{Kind: value.Float}, []string{"3.4028235e+38", "1e-45", "nan", "inf"}},
		{value.Type{Kind: value.Double}, []string{"1.7976931348623157e+308", "5e-324", "-inf"}},
		{value.Type{Kind: value.Decimal, Precision: 38, Scale: 10}, []string{"9999999999999999999999999999.9999999999", "-0.0000000001"}},
		{value.Type{Kind: value.Date}, []string{"0000-01-01", "9999-12-31"}},
		{value.Type{Kind: value.DateTime, Scale: 6}, []string{"0000-01-01 00:00:00", "9999-12-31 23:59:59.999999"}},
		{value.Type{Kind: value.String}, []string{"", "a\x00b", "中文", `\N`}},
	} {
		in := block.New([]value.Type{tt.typ})
		for range 300 {
			for _, s := range tt.texts {
				if err := in.Col(0).AppendText([]byte(s), &block.ConvertOptions{}); err != nil {
					t.Fatal(err)
				}
				in.EndRow()
			}
		}
		p := d.Prepare([]ColumnDesc{{Name: "x", Type: tt.typ}}, []string{"x"}, []value.Type{tt.typ})
		for _, n := range []int{len(tt.texts), in.Rows()} {
			some := block.New([]value.Type{tt.typ})
			for i := range n {
				some.AppendRow(in, i)
			}
			out, err := p.Run(t.Context(), some)
			if err != nil {
				t.Fatalf("%s, %d rows: %v", tt.typ, n, err)
			}
			for i := range n {
				if string(out.Col(0).Raw(i)) != string(in.Col(0).Raw(i)) {
					t.Errorf("%s, %d rows: %q became %q", tt.typ, n, tt.texts[i%len(tt.texts)], value.AppendText(nil, tt.typ, out.Col(0).Raw(i)))
					break
				}
			}
		}
		p.Close()
	}
}

// TestPreparedErrors: an error, a fatal one of the instance included, costs its
// run alone; an ended context stops one; many may run at the same time.
func TestPreparedErrors(t *testing.T) {
	d, _ := open(t)
	bad, good := prepared(t, d, "no_such_function(s)"), prepared(t, d, "k")
	in := pairs(2, func(i int) (string, int64, bool) { return "s", int64(i), false })
	for range 2 {
		if _, err := bad.Run(t.Context(), in); err == nil || doriserr.KindOf(err) == doriserr.Internal && !strings.Contains(err.Error(), "no_such_function") {
			t.Errorf("an unknown function: %v", err)
		}
		if out, err := good.Run(t.Context(), in); err != nil || strs(out.Col(0)) != "0,1" {
			t.Errorf("after an error: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := good.Run(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	d.mu.Lock()
	old := d.in
	d.mu.Unlock()
	d.inspect(old, &engineError{"FATAL Error: a test"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := good.Run(t.Context(), in); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := good.Run(t.Context(), block.New([]value.Type{stringT})); err == nil {
		t.Error("a block without the columns was taken")
	}
}
