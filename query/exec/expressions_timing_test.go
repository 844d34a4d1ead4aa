package exec

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/loadtest"
)

func BenchmarkExpressions(b *testing.B) {
	e := newExpressions(b)
	p := doubled(b, e, "x*2")
	for _, n := range []int{1, 100, load.MaxBatch} {
		in := numbers(0, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := p.Eval(b.Context(), in); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkMapped loads 100,000 CSV rows of three columns: as they are, with an
// expression, with a condition.
func BenchmarkMapped(b *testing.B) {
	e := newExpressions(b)
	var body strings.Builder
	const rows = 100_000
	for i := range rows {
		fmt.Fprintf(&body, "%d,name of row %d,%d\n", i, i, i%100)
	}
	for _, tt := range []struct {
		name string
		o    load.MappingOptions
	}{
		{"as it is", load.MappingOptions{}},
		{"other names", load.MappingOptions{Columns: []string{"a", "b", "c"}, Derived: []load.Derived{{Column: "id", Expr: "a"}, {Column: "s", Expr: "b"}, {Column: "n", Expr: "c"}}}},
		{"an expression", load.MappingOptions{Columns: []string{"id", "t", "n"}, Derived: []load.Derived{{Column: "s", Expr: "concat(t, '-', n)"}}}},
		{"where", load.MappingOptions{Where: "n > 50"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(body.Len()))
			for b.Loop() {
				if n := decodeOnly(b, e, body.String(), tt.o); n != rows {
					b.Fatal(n)
				}
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// decodeOnly is how many rows a body has.
func decodeOnly(b *testing.B, e *Expressions, body string, o load.MappingOptions) int64 {
	b.Helper()
	o.Now = loadtest.Now
	o.Compile = func(s *load.ProgramSpec) (*load.Program, error) { return e.Compile(b.Context(), s) }
	m, err := load.NewMapping(loadtest.Table(b, loadtest.T3), o)
	if err != nil {
		b.Fatal(err)
	}
	in := load.NewInput(strings.NewReader(body), -1, 0)
	defer in.Close()
	d := csv.NewDecoder(in, m.Fields(), csv.Options{Separator: ","})
	rows := load.NewRows(m, load.RowOptions{Evaluate: func(p *load.Program, in *block.Block) (*block.Block, error) { return p.Eval(b.Context(), in) }})
	for {
		rows.Start(block.New(m.Types()))
		err := d.Decode(rows, 4<<20)
		if err := rows.Flush(); err != nil {
			b.Fatal(err)
		}
		if errors.Is(err, io.EOF) {
			return rows.Counts().Total
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
