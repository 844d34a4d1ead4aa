package duck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dorisgo/block"
	"dorisgo/value"
)

func strings2(n int, f func(int) (int64, string)) *block.Block {
	b := block.New([]value.Type{intT, stringT})
	for i := range n {
		k, s := f(i)
		b.Col(0).AppendInt64(k)
		b.Col(1).AppendBytes([]byte(s))
		b.EndRow()
	}
	return b
}

var keyed = []ColumnDesc{{UniqueID: 3, Name: "k", Type: intT}, {UniqueID: 9, Name: "s", Type: stringT, Nullable: true}}

func list(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	return out
}

func TestWriteParquetIsDurable(t *testing.T) {
	d, dir := open(t)
	path := filepath.Join(dir, "a.parquet")
	info, err := d.WriteParquet(t.Context(), path, numberCols, sequence([]*block.Block{numbers(0, 10)}), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() != info.Bytes {
		t.Fatalf("size %v, %v, want %d", st, err, info.Bytes)
	}
	if names := list(t, dir); len(names) != 1 {
		t.Fatalf("files %v, want the final one only", names)
	}
	bad := errors.New("cannot read the input")
	failing := func(yield func(*block.Block, error) bool) {
		_ = yield(numbers(0, 5000), nil) && yield(nil, bad)
	}
	if _, err := d.WriteParquet(t.Context(), filepath.Join(dir, "b.parquet"), numberCols, failing, nil); !errors.Is(err, bad) {
		t.Fatalf("%v, want the input's error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := func(yield func(*block.Block, error) bool) {
		cancel()
		yield(numbers(0, 5000), nil)
	}
	if _, err := d.WriteParquet(ctx, filepath.Join(dir, "c.parquet"), numberCols, cancelling, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want Canceled", err)
	}
	if _, err := d.WriteParquet(t.Context(), filepath.Join(t.TempDir(), "out.parquet"), numberCols, sequence(nil), nil); err == nil {
		t.Fatal("a file outside Dirs was written")
	}
	if names := list(t, dir); len(names) != 1 {
		t.Fatalf("files %v after errors", names)
	}
}

// The order of the calls is what makes the file durable, and each may fail.
func TestDurabilityTrace(t *testing.T) {
	bad := errors.New("disk is broken")
	for fail := range 4 {
		d, dir := open(t)
		var trace []string
		step := func(what string) error {
			trace = append(trace, strings.ReplaceAll(what, dir, "DIR"))
			if len(trace) == fail {
				return bad
			}
			return nil
		}
		mask := func(path string) string {
			if strings.HasSuffix(path, ".tmp") {
				return filepath.Join(filepath.Dir(path), "x.tmp")
			}
			return path
		}
		d.files.sync = func(path string) (int64, error) {
			if err := step("sync " + mask(path)); err != nil {
				return 0, err
			}
			return syncFile(path)
		}
		d.files.rename = func(from, to string) error {
			if err := step("rename " + mask(from) + " " + to); err != nil {
				return err
			}
			return os.Rename(from, to)
		}
		_, err := d.WriteParquet(t.Context(), filepath.Join(dir, "a.parquet"), numberCols, sequence([]*block.Block{numbers(0, 10)}), nil)
		want := []string{"sync DIR/x.tmp", "rename DIR/x.tmp DIR/a.parquet", "sync DIR"}
		if fail > 0 {
			want = want[:fail]
		}
		if fmt.Sprint(trace) != fmt.Sprint(want) || (fail > 0) != errors.Is(err, bad) {
			t.Errorf("failing call %d: %v, trace %v", fail, err, trace)
		}
		if names := list(t, dir); fail > 0 && len(names) > 0 {
			t.Errorf("failing call %d: files %v are left", fail, names)
		}
	}
}

func TestRenameFails(t *testing.T) {
	d, dir := open(t)
	path := filepath.Join(dir, "is-a-directory")
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.WriteParquet(t.Context(), path, numberCols, sequence([]*block.Block{numbers(0, 1)}), nil); err == nil {
		t.Fatal("no error")
	}
	if names := list(t, dir); len(names) != 1 {
		t.Fatalf("files %v after the error", names)
	}
}

// Rows with equal keys keep their order, whatever the number of threads.
func TestSortIsStable(t *testing.T) {
	d, dir := open(t, func(o *Options) { o.Threads = 4 })
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 300_000
	var blocks []*block.Block
	for from := 0; from < n; from += 50_000 {
		blocks = append(blocks, strings2(50_000, func(i int) (int64, string) { return rng.Int64N(50), fmt.Sprintf("%08d", from+i) }))
	}
	path := filepath.Join(dir, "sorted.parquet")
	if _, err := d.WriteParquet(t.Context(), path, keyed, sequence(blocks), []int{0}); err != nil {
		t.Fatal(err)
	}
	in := TableInput{Name: "t", Columns: keyed, Files: []File{{Path: path}}}
	check := func(b *block.Block) {
		t.Helper()
		if b.Rows() != n {
			t.Fatalf("%d rows", b.Rows())
		}
		for i := 1; i < n; i++ {
			a, c := b.Col(0).Int64(i-1), b.Col(0).Int64(i)
			if a > c || (a == c && string(b.Col(1).Raw(i-1)) >= string(b.Col(1).Raw(i))) {
				t.Fatalf("row %d is out of order", i)
			}
		}
	}
	check(mustAll(t, d, &Query{SQL: "SELECT * FROM t", Tables: []TableInput{in}}))
	// Halves of the rows in two files and hot rows merge to the same.
	two := TableInput{Columns: keyed, Blocks: blocks[:2]}
	for i, part := range [][]*block.Block{blocks[2:4], blocks[4:]} {
		p := filepath.Join(dir, fmt.Sprintf("part%d.parquet", i))
		if _, err := d.WriteParquet(t.Context(), p, keyed, sequence(part), nil); err != nil {
			t.Fatal(err)
		}
		two.Files = append(two.Files, File{Path: p})
	}
	merged := filepath.Join(dir, "merged.parquet")
	if _, err := d.MergeParquet(t.Context(), merged, two, []int{0}); err != nil {
		t.Fatal(err)
	}
	in.Files = []File{{Path: merged}}
	check(mustAll(t, d, &Query{SQL: "SELECT * FROM t", Tables: []TableInput{in}}))
}

// A LARGEINT is text in the file but sorts as a number, NULL first.
func TestSortOfLargeInt(t *testing.T) {
	d, dir := open(t)
	cols := []ColumnDesc{{UniqueID: 1, Name: "v", Type: value.Type{Kind: value.LargeInt}}}
	b := block.New([]value.Type{cols[0].Type})
	for _, v := range []string{"10", "9", "-170141183460469231731687303715884105728", "", "100"} {
		if v == "" {
			b.Col(0).AppendNull()
		} else if err := b.Col(0).AppendText([]byte(v), &block.ConvertOptions{}); err != nil {
			t.Fatal(err)
		}
		b.EndRow()
	}
	path := filepath.Join(dir, "v.parquet")
	if _, err := d.WriteParquet(t.Context(), path, cols, sequence([]*block.Block{b}), []int{0}); err != nil {
		t.Fatal(err)
	}
	got := mustAll(t, d, &Query{SQL: "SELECT v FROM t", Tables: []TableInput{{Name: "t", Columns: cols, Files: []File{{Path: path}}}}}).Col(0)
	var out []string
	for i := range got.Len() {
		if got.IsNull(i) {
			out = append(out, "NULL")
			continue
		}
		out = append(out, got.Int128(i).String())
	}
	if s := strings.Join(out, " "); s != "NULL -170141183460469231731687303715884105728 9 10 100" {
		t.Fatal(s)
	}
}

func TestDeletedRows(t *testing.T) {
	d, dir := open(t)
	in := TableInput{Name: "t", Columns: numberCols, Blocks: []*block.Block{numbers(1000, 3)}}
	for i, deleted := range [][]uint32{nil, {0, 1, 4999}, {2500}} {
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", i))
		if _, err := d.WriteParquet(t.Context(), path, numberCols, sequence([]*block.Block{numbers(0, 5000)}), nil); err != nil {
			t.Fatal(err)
		}
		in.Files = append(in.Files, File{Path: path, Deleted: deleted})
	}
	for sql, want := range map[string]int64{
		"SELECT count(*) FROM t":                                     3 + 5000 + 4997 + 4999,
		"SELECT count(*) FROM t WHERE n IN (0, 1, 2500, 4999)":       8,
		"SELECT count(*) FROM t AS a JOIN t AS b USING (n)":          45001,
		"SELECT sum(n) FROM t":                                       1000 + 1001 + 1002 + 3*12497500 - (0 + 1 + 4999) - 2500,
		"SELECT count(*) FROM (SELECT DISTINCT n FROM t) AS x":       5000,
		"SELECT count(*) FROM t WHERE n = 2500 OR n BETWEEN 0 AND 1": 6,
	} {
		if got := single(t, d, &Query{SQL: sql, Tables: []TableInput{in}}); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
}

func TestSchemaChangeTouchesNoFile(t *testing.T) {
	d, dir := open(t)
	path := filepath.Join(dir, "old.parquet")
	old := []ColumnDesc{{UniqueID: 0, Name: "id", Type: intT}, {UniqueID: 1, Name: "name", Type: stringT}, {UniqueID: 2, Name: "gone", Type: intT},
		{UniqueID: 3, Name: "price", Type: value.Type{Kind: value.Decimal, Precision: 5, Scale: 2}}}
	b := block.New([]value.Type{intT, stringT, intT, old[3].Type})
	b.Col(0).AppendInt64(7)
	b.Col(1).AppendBytes([]byte("x"))
	b.Col(2).AppendInt64(1)
	b.Col(3).AppendInt128(value.Int128{Lo: 12345})
	b.EndRow()
	if _, err := d.WriteParquet(t.Context(), path, old, sequence([]*block.Block{b}), nil); err != nil {
		t.Fatal(err)
	}
	text := func(s string) *string { return &s }
	cols := []ColumnDesc{
		{UniqueID: 4, Name: "note", Type: stringT, Default: text("it's new")},
		{UniqueID: 0, Name: "ID", Type: value.Type{Kind: value.BigInt}},
		{UniqueID: 1, Name: "gone", Type: stringT},
		{UniqueID: 5, Name: "n", Type: intT},
		{UniqueID: 6, Name: "big", Type: value.Type{Kind: value.LargeInt}, Default: text("170141183460469231731687303715884105727")},
		{UniqueID: 7, Name: "day", Type: value.Type{Kind: value.Date}, Default: text("2024-02-29")},
		{UniqueID: 3, Name: "price", Type: value.Type{Kind: value.Decimal, Precision: 9, Scale: 2}},
		{UniqueID: 8, Name: "flag", Type: value.Type{Kind: value.Boolean}, Default: text("1")},
		{UniqueID: 9, Name: "at", Type: value.Type{Kind: value.DateTime}, Default: text("2024-01-01 00:00:00")},
		{UniqueID: 10, Name: "dec", Type: value.Type{Kind: value.Decimal, Precision: 27, Scale: 9}, Default: text("-1.5")},
	}
	types := make([]value.Type, len(cols))
	for i, c := range cols {
		types[i] = c.Type
	}
	got := mustAll(t, d, &Query{SQL: "SELECT * FROM t", Types: types, Tables: []TableInput{{Name: "t", Columns: cols, Files: []File{{Path: path}}}}})
	var out []string
	for i := range cols {
		if got.Col(i).IsNull(0) {
			out = append(out, "NULL")
			continue
		}
		out = append(out, string(value.AppendText(nil, got.Col(i).Type(), got.Col(i).Raw(0))))
	}
	const want = "it's new|7|x|NULL|170141183460469231731687303715884105727|2024-02-29|123.45|1|2024-01-01 00:00:00|-1.500000000"
	if s := strings.Join(out, "|"); s != want {
		t.Fatalf("%s\nwant %s", s, want)
	}
}

// Any tool can open the files: human names, field ids, plain types.
func TestFilesAreForEveryone(t *testing.T) {
	d, dir := open(t)
	path := filepath.Join(dir, "x.parquet")
	if _, err := d.WriteParquet(t.Context(), path, keyed, sequence([]*block.Block{strings2(1, func(int) (int64, string) { return 1, "a" })}), []int{0}); err != nil {
		t.Fatal(err)
	}
	b := mustAll(t, d, &Query{SQL: "SELECT name || ':' || field_id || ':' || type FROM parquet_schema('" + path + "') WHERE field_id IS NOT NULL ORDER BY field_id"})
	if b.Rows() != 2 || string(b.Col(0).Raw(0)) != "k:3:INT32" || string(b.Col(0).Raw(1)) != "s:9:BYTE_ARRAY" {
		t.Fatalf("%d rows, %q", b.Rows(), b.Col(0).Raw(0))
	}
}

func TestBlockLargerThanOneFlush(t *testing.T) {
	d, _ := open(t)
	in := []TableInput{{Name: "t", Columns: numberCols, Blocks: []*block.Block{numbers(0, 700_000)}}}
	if got := single(t, d, &Query{SQL: "SELECT sum(n) FROM t", Tables: in}); got != 700_000*699_999/2 {
		t.Fatalf("sum %d", got)
	}
}
