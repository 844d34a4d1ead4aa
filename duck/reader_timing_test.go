package duck

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"dorisgo/bench"
	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/json"
	"dorisgo/load/loadtest"
)

// BenchmarkReaders reads the same files of rows with load's decoders and with
// DuckDB's readers on one thread, in alternation: MB of file for each second of
// CPU time, and how many times the bytes of DuckDB the decoders read.
func BenchmarkReaders(b *testing.B) {
	for _, table := range bench.Tables {
		for _, form := range []string{"csv", "json"} {
			b.Run(fmt.Sprintf("%s/columns=%d", form, table.Columns()), func(b *testing.B) { compareReaders(b, table, form) })
		}
	}
}

const readerRows = 200_000

func compareReaders(b *testing.B, table *bench.Table, form string) {
	d, dir := open(b, func(o *Options) { o.Threads = 1 })
	path := filepath.Join(dir, "rows."+form)
	size := writeRows(b, table, form, path)
	sql := duckReader(table, form, path)
	decode := blockReader(b, table, form, path)
	var ours, theirs time.Duration
	for b.Loop() {
		start := processTime(b)
		decode()
		middle := processTime(b)
		row := mustAll(b, d, &Query{SQL: sql})
		theirs += processTime(b) - middle
		ours += middle - start
		for i := range row.NumCols() {
			if n := row.Col(i).Int64(0); n != readerRows {
				b.Fatalf("DuckDB reads %d values of column %d", n, i)
			}
		}
	}
	rate := func(used time.Duration) float64 { return float64(size) * float64(b.N) / 1e6 / used.Seconds() }
	b.ReportMetric(rate(ours), "MB/cpu-s")
	b.ReportMetric(rate(theirs), "DuckDB_MB/cpu-s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times_DuckDB")
}

func processTime(b *testing.B) time.Duration {
	b.Helper()
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func writeRows(b *testing.B, table *bench.Table, form, path string) int64 {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	write := (*bench.Generator).WriteCSV
	if form == "json" {
		write = (*bench.Generator).WriteJSON
	}
	if err := errors.Join(write(bench.NewGenerator(table, 1), w, readerRows), w.Flush()); err != nil {
		b.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	return st.Size()
}

// duckReader is a query that needs every value of the file converted, and no
// more.
func duckReader(table *bench.Table, form, path string) string {
	var counts, columns []string
	for def := range strings.SplitSeq(table.Definitions(), ", ") {
		name, rest, _ := strings.Cut(def, " ")
		typ, _, _ := strings.Cut(rest, " ")
		counts = append(counts, "count("+name+")::BIGINT")
		columns = append(columns, fmt.Sprintf("%s: '%s'", name, typ))
	}
	reader := fmt.Sprintf("read_csv('%s', auto_detect=false, header=false, delim=',', quote='', escape='', columns={%s})", path, strings.Join(columns, ", "))
	if form == "json" {
		reader = fmt.Sprintf("read_json('%s', format='newline_delimited', auto_detect=false, columns={%s})", path, strings.Join(columns, ", "))
	}
	return "SELECT " + strings.Join(counts, ", ") + " FROM " + reader
}

// blockReader decodes the file into blocks.
func blockReader(b *testing.B, table *bench.Table, form, path string) func() {
	m, err := load.NewMapping(loadtest.Table(b, table.Definitions()), load.MappingOptions{})
	if err != nil {
		b.Fatal(err)
	}
	out := block.New(m.Types())
	return func() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		in := load.NewInput(f, -1, 0)
		defer in.Close()
		var d load.Decoder = csv.NewDecoder(in, m.Fields(), csv.Options{Separator: ","})
		if form == "json" {
			d = json.NewDecoder(in, m, json.Options{ByLine: true})
		}
		rows := load.NewRows(m, load.RowOptions{StopEarly: true})
		rows.Start(out)
		for !errors.Is(err, io.EOF) {
			out.Reset()
			if err = d.Decode(rows, 8<<20); err != nil && !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
		}
		if c := rows.Counts(); c.Loaded != readerRows {
			b.Fatal(c, rows.FirstError())
		}
	}
}
