package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/load/loadtest"
	"dorisgo/value"
)

// fakeFile has rows of texts; "NULL" is NULL.
type fakeFile struct {
	names  []string
	rows   [][]string
	each   int // rows of a block
	fail   error
	opened int
	closed int
}

func (f *fakeFile) Columns() []string { return f.names }

func (f *fakeFile) Close() error {
	f.closed++
	return nil
}

func (f *fakeFile) Read(columns []int) (Rows, error) {
	f.opened++
	return &fakeRows{f: f, columns: columns}, nil
}

type fakeRows struct {
	f       *fakeFile
	columns []int
	at      int
}

func (r *fakeRows) Close() error {
	r.f.opened--
	return nil
}

func (r *fakeRows) Next() (*block.Block, error) {
	if r.at >= len(r.f.rows) {
		if r.f.fail != nil {
			return nil, r.f.fail
		}
		return nil, io.EOF
	}
	types := make([]value.Type, len(r.columns))
	for i := range types {
		types[i] = value.Type{Kind: value.String}
	}
	b := block.New(types)
	for range min(r.f.each, len(r.f.rows)-r.at) {
		for i, c := range r.columns {
			if s := r.f.rows[r.at][c]; s == "NULL" {
				b.Col(i).AppendNull()
			} else {
				b.Col(i).AppendBytes([]byte(s))
			}
		}
		b.EndRow()
		r.at++
	}
	return b, nil
}

func decode(t *testing.T, table string, f *fakeFile, o load.MappingOptions, maxBytes int) *loadtest.Result {
	t.Helper()
	o.Now = loadtest.Now
	m, err := load.NewMapping(loadtest.Table(t, table), o)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(m, func() (File, error) { return f, nil })
	res := loadtest.Run(t, m, d, maxBytes, false)
	if err := d.Close(); err != nil || f.opened != 0 || f.closed != 1 {
		t.Errorf("close: %v, %d open, closed %d times", err, f.opened, f.closed)
	}
	return res
}

// TestDecode: columns are found by name, without case where that is needed;
// values are converted by the rules of every load.
func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, table string
		names       []string
		rows        [][]string
		o           load.MappingOptions
		want, errs  []string
	}{
		{
			"by name, in any order, others are skipped", loadtest.T3, []string{"N", "x", "s", "id"}, [][]string{{"2", "?", "a", "1"}, {"NULL", "?", "NULL", "2"}}, load.MappingOptions{},
			[]string{"1 | a | 2", "2 | NULL | NULL"}, nil,
		},
		{
			"the exact name goes before one of other case", loadtest.T3, []string{"ID", "id"}, [][]string{{"1", "2"}}, load.MappingOptions{Columns: []string{"id"}},
			[]string{"2 | NULL | NULL"}, nil,
		},
		{
			"a column that the file does not have", "id INT NOT NULL, s VARCHAR(8) DEFAULT \"d\", n INT", []string{"id"}, [][]string{{"1"}}, load.MappingOptions{},
			[]string{"1 | d | NULL"}, nil,
		},
		{
			"bad values", loadtest.T3, []string{"id", "s", "n"}, [][]string{{"1", "\xff", "2"}, {"x", "a", "2"}, {"2", "b", "y"}}, load.MappingOptions{},
			[]string{"2 | b | NULL"}, []string{
				"column_name[s], the value is not valid UTF-8 <- \"1\\t\\xff\\t2\"",
				"column_name[id], null value for not null column, type=INT: cannot convert 'x' <- \"x\\ta\\t2\"",
			},
		},
		{
			"strict", loadtest.T3, []string{"id", "s", "n"}, [][]string{{"2", "NULL", "y"}}, load.MappingOptions{Strict: true},
			nil, []string{"column_name[n], cannot convert 'y' to INT: malformed <- \"2\\t\\\\N\\ty\""},
		},
		{
			"other names and constants", loadtest.T3, []string{"a", "b"}, [][]string{{"1", "q"}}, load.MappingOptions{Columns: []string{"b", "a"}, Derived: []load.Derived{{Column: "id", Expr: "a"}, {Column: "s", Expr: "b"}, {Column: "n", Expr: "7"}}},
			[]string{"1 | q | 7"}, nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := decode(t, tt.table, &fakeFile{names: tt.names, rows: tt.rows, each: 2}, tt.o, 1<<20)
			if !slices.Equal(res.Rows, tt.want) || !slices.Equal(res.Errors, tt.errs) || res.Err != nil {
				t.Errorf("rows %q\nerrors %q, %v", res.Rows, res.Errors, res.Err)
			}
		})
	}
}

// TestBlocks: a small block size gives many blocks with all rows in order, also
// where a block ends in the middle of what the file gave.
func TestBlocks(t *testing.T) {
	f := &fakeFile{names: []string{"id", "s", "n"}, each: 300}
	for i := range 5000 {
		f.rows = append(f.rows, []string{fmt.Sprint(i), "text", "NULL"})
	}
	res := decode(t, loadtest.T3, f, load.MappingOptions{}, 4096)
	if len(res.Rows) != 5000 || res.Rows[4999] != "4999 | text | NULL" || res.Err != nil {
		t.Errorf("%d rows, %v", len(res.Rows), res.Err)
	}
}

// TestErrors: of the file's shape, of opening and of reading.
func TestErrors(t *testing.T) {
	res := decode(t, loadtest.T3, &fakeFile{names: []string{"a", "s"}, each: 1}, load.MappingOptions{}, 1<<20)
	if res.Err == nil || !strings.Contains(res.Err.Error(), "the Parquet file has no column id, its columns are a, s: Column has no default value, column=id") {
		t.Errorf("no key: %v", res.Err)
	}
	res = decode(t, "a INT, b INT", &fakeFile{names: []string{"x"}, each: 1}, load.MappingOptions{}, 1<<20)
	if res.Err == nil || !strings.Contains(res.Err.Error(), "the Parquet file has none of the columns of the load, its columns are x") {
		t.Errorf("no column: %v", res.Err)
	}
	broken := errors.New("damaged in the middle")
	res = decode(t, loadtest.T3, &fakeFile{names: []string{"id"}, rows: [][]string{{"1"}}, each: 1, fail: broken}, load.MappingOptions{}, 1<<20)
	if !errors.Is(res.Err, broken) {
		t.Errorf("reading: %v", res.Err)
	}
	m, err := load.NewMapping(loadtest.Table(t, loadtest.T3), load.MappingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d := NewDecoder(m, func() (File, error) { return nil, broken })
	if res := loadtest.Run(t, m, d, 1<<20, false); !errors.Is(res.Err, broken) || d.Close() != nil {
		t.Errorf("opening: %v", res.Err)
	}
}
