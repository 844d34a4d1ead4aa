package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/load"
	"dorisgo/load/loadtest"
	"dorisgo/load/parquet"
	"dorisgo/value"
)

// TestParquetLoads: files with every type of ours come back as they were, and
// more loads than may read at a time, all with expressions, do not wait for each
// other for ever.
func TestParquetLoads(t *testing.T) {
	dir := t.TempDir()
	e := NewExpressions(func() (*duck.DB, error) {
		return duck.Open(duck.Options{Dirs: []string{dir}, MaxConcurrent: ParquetReads + 1, Threads: 1})
	})
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	const columns = "id INT, a BOOLEAN, b LARGEINT, c DECIMAL(38,10), d DOUBLE, e DATETIME(6), f STRING, g JSON, h DATE, i FLOAT"
	values := [][]string{
		{"1", "1", "-170141183460469231731687303715884105728", "9999999999999999999999999999.9999999999", "-1.7976931348623157e+308", "9999-12-31 23:59:59.999999", "中文\t\"x\"", `{"a":1}`, "0000-01-01", "3.4028235e+38"},
		{"2", "0", "170141183460469231731687303715884105727", "-0.0000000001", "5e-324", "0000-01-01 00:00:00", "", "null", "9999-12-31", "1e-45"},
		{"3", "", "", "", "", "", "", "", "", ""},
	}
	table := loadtest.Table(t, columns)
	var cols []duck.ColumnDesc
	var types []value.Type
	for i, c := range table.Columns {
		cols = append(cols, duck.ColumnDesc{UniqueID: int32(i), Name: strings.ToUpper(c.Name), Type: c.Type, Nullable: true})
		types = append(types, c.Type)
	}
	b := block.New(types)
	for _, row := range values {
		for i, s := range row {
			if s == "" && i != 6 {
				b.Col(i).AppendNull()
			} else if err := b.Col(i).AppendText([]byte(s), &block.ConvertOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		b.EndRow()
	}
	path := filepath.Join(dir, "types.parquet")
	db, err := e.engine()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.WriteParquet(t.Context(), path, cols, func(yield func(*block.Block, error) bool) { yield(b, nil) }, nil); err != nil {
		t.Fatal(err)
	}
	run := func(table string, o load.MappingOptions) *loadtest.Result {
		o.Now, o.Strict = loadtest.Now, true
		o.Compile = func(s *load.ProgramSpec) (*load.Program, error) { return e.Compile(t.Context(), s) }
		m, err := load.NewMapping(loadtest.Table(t, table), o)
		if err != nil {
			t.Fatal(err)
		}
		d := parquet.NewDecoder(m, func() (parquet.File, error) { return e.OpenParquet(t.Context(), path) })
		res := loadtest.Run(t, m, d, 1<<20, false)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		return res
	}
	res := run(columns, load.MappingOptions{})
	if want := loadtest.Dump(t, b); !slices.Equal(res.Rows, want) || res.Err != nil {
		t.Errorf("rows %q\nwant %q\nerrors %q, %v", res.Rows, want, res.Errors, res.Err)
	}
	var wg sync.WaitGroup
	for i := range 3 * ParquetReads {
		wg.Go(func() {
			res := run("id INT, s STRING", load.MappingOptions{
				Columns: []string{"id", "f"}, Derived: []load.Derived{{Column: "s", Expr: fmt.Sprintf("concat(f, '%d')", i)}}, Where: "s is not null and id < 3",
			})
			if want := []string{fmt.Sprintf("1 | 中文\t\"x\"%d", i), fmt.Sprintf("2 | %d", i)}; !slices.Equal(res.Rows, want) || res.Err != nil || res.Counts.Unselected != 1 {
				t.Errorf("rows %q, %+v, %v", res.Rows, res.Counts, res.Err)
			}
		})
	}
	wg.Wait()
	if len(e.reads) != 0 {
		t.Errorf("%d files are still counted", len(e.reads))
	}
	if err := os.WriteFile(path, []byte("no parquet"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := run("id INT", load.MappingOptions{}); !doriserr.Is(res.Err, doriserr.DataQuality) || len(e.reads) != 0 {
		t.Errorf("a damaged file: %v", res.Err)
	}
	for range ParquetReads {
		e.reads <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.OpenParquet(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended load that waited: %v", err)
	}
	for range ParquetReads {
		<-e.reads
	}
}
