package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/json"
	"dorisgo/load/loadtest"
	"dorisgo/meta"
	"dorisgo/sql/insert"
	"dorisgo/value"
)

// cpu is this process's CPU time. Rates for one core are taken from it: on a
// shared machine the clock also measures the neighbours.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// perCore reports rates of one core: rows of rowBytes bytes each in all.
func perCore(b *testing.B, used time.Duration, rows, bytes int) {
	b.Helper()
	b.ReportMetric(float64(b.N)*float64(rows)/used.Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(b.N)*float64(bytes)/1e6/used.Seconds(), "MB/cpu-s")
}

// metaOf is the catalog's form of a workload's table.
func metaOf(b *testing.B, t *Table) (*meta.Table, []value.Type) {
	b.Helper()
	m := loadtest.Table(b, t.Definitions())
	var types []value.Type
	for _, c := range m.Columns {
		types = append(types, c.Type)
	}
	return m, types
}

// each runs a benchmark for each table and number of rows.
func each(b *testing.B, rows []int, run func(b *testing.B, t *Table, n int)) {
	for _, t := range Tables {
		for _, n := range rows {
			b.Run(fmt.Sprintf("columns=%d/rows=%d", t.Columns(), n), func(b *testing.B) { run(b, t, n) })
		}
	}
}

// BenchmarkTextToBlock: from the packet of an INSERT with literals to columns,
// header included.
func BenchmarkTextToBlock(b *testing.B) {
	each(b, []int{1, 100}, func(b *testing.B, t *Table, n int) {
		s, err := textStock(t, NewGenerator(t, 1), "db.t", n)
		if err != nil {
			b.Fatal(err)
		}
		m, types := metaOf(b, t)
		target, err := insert.NewTarget(m, nil, loadtest.Now, time.UTC, true)
		if err != nil {
			b.Fatal(err)
		}
		var heads insert.Headers
		var d insert.Decoder
		out := block.New(types)
		c := s.start(0, 1)
		start := cpu(b)
		for b.Loop() {
			sql := c.next()[5:]
			out.Reset()
			h, err := heads.Parse(sql)
			if err != nil {
				b.Fatal(err)
			}
			if got, err := d.Text(sql, h.ValuesPos, target, out); err != nil || got.Loaded != n {
				b.Fatal(got, err)
			}
		}
		perCore(b, cpu(b)-start, n, len(s.packets[0])-5)
	})
}

// BenchmarkParamsToBlock: from the packet of an execution to columns.
func BenchmarkParamsToBlock(b *testing.B) {
	each(b, []int{1, 100}, func(b *testing.B, t *Table, n int) {
		s, err := paramStock(t, NewGenerator(t, 1), n)
		if err != nil {
			b.Fatal(err)
		}
		prep, err := insert.Prepare([]byte(prepareText(t, "db.t", n)), false)
		if err != nil {
			b.Fatal(err)
		}
		m, types := metaOf(b, t)
		target, err := insert.NewTarget(m, nil, loadtest.Now, time.UTC, true)
		if err != nil {
			b.Fatal(err)
		}
		var p insert.Params
		var d insert.Decoder
		out := block.New(types)
		x := &preparedExchange{cursor: s.start(0, 1), types: appendParamTypes(nil, t, n)}
		start := cpu(b)
		for b.Loop() {
			out.Reset()
			if err := p.Parse(x.request()[14:], prep.Params, nil); err != nil {
				b.Fatal(err)
			}
			if got, err := d.Binary(prep.SQL, prep.Header.ValuesPos, &p, target, out); err != nil || got.Loaded != n {
				b.Fatal(got, err)
			}
		}
		perCore(b, cpu(b)-start, n, len(s.packets[0])-14)
	})
}

// BenchmarkCSVToBlock: from the body of a Stream Load to columns.
func BenchmarkCSVToBlock(b *testing.B) {
	each(b, []int{1, 100, 100_000}, func(b *testing.B, t *Table, n int) {
		decodeBodies(b, t, n, (*Generator).WriteCSV, func(in *load.Input, m *load.Mapping) load.Decoder {
			return csv.NewDecoder(in, m.Fields(), csv.Options{Separator: ","})
		})
	})
}

// BenchmarkJSONToBlock: the same from lines of JSON.
func BenchmarkJSONToBlock(b *testing.B) {
	each(b, []int{1, 100, 100_000}, func(b *testing.B, t *Table, n int) {
		decodeBodies(b, t, n, (*Generator).WriteJSON, func(in *load.Input, m *load.Mapping) load.Decoder {
			return json.NewDecoder(in, m, json.Options{ByLine: true})
		})
	})
}

func decodeBodies(b *testing.B, t *Table, n int, write func(*Generator, io.Writer, int) error, decoder func(*load.Input, *load.Mapping) load.Decoder) {
	var body bytes.Buffer
	if err := write(NewGenerator(t, 1), &body, n); err != nil {
		b.Fatal(err)
	}
	table, types := metaOf(b, t)
	m, err := load.NewMapping(table, load.MappingOptions{})
	if err != nil {
		b.Fatal(err)
	}
	out := block.New(types)
	start := cpu(b)
	for b.Loop() {
		in := load.NewInput(bytes.NewReader(body.Bytes()), int64(body.Len()), 0)
		d := decoder(in, m)
		rows := load.NewRows(m, load.RowOptions{StopEarly: true})
		rows.Start(out)
		for {
			out.Reset()
			if err := d.Decode(rows, 8<<20); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		if c := rows.Counts(); c.Loaded != int64(n) {
			b.Fatal(c, rows.FirstError())
		}
		in.Close()
	}
	perCore(b, cpu(b)-start, n, body.Len())
}
