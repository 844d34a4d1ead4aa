package load_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/loadtest"
)

const wide = "id INT NOT NULL, s VARCHAR(8), n INT, d DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), m INT NOT NULL DEFAULT \"7\""

// fake knows the expressions of these tests.
func fake() *loadtest.Fake {
	text := func(s string) *string { return &s }
	return &loadtest.Fake{Exprs: map[string]loadtest.Expr{
		"concat(tmp, '-', n)": {Uses: []string{"tmp", "n"}, Eval: func(in []*string) *string {
			if in[0] == nil || in[1] == nil {
				return nil
			}
			return text(*in[0] + "-" + *in[1])
		}},
		"upper(s)": {Uses: []string{"s"}, Eval: func(in []*string) *string {
			if in[0] == nil {
				return nil
			}
			return text(strings.ToUpper(*in[0]))
		}},
		"abs(x)": {Uses: []string{"x"}, Eval: func(in []*string) *string {
			if in[0] == nil {
				return nil
			}
			return text(strings.TrimPrefix(*in[0], "-"))
		}},
		"n > 1": {Uses: []string{"n"}, Eval: func(in []*string) *string {
			if in[0] == nil {
				return nil
			}
			var n int
			_, _ = fmt.Sscan(*in[0], &n)
			return text(map[bool]string{true: "1", false: "0"}[n > 1])
		}},
		"s = 'A'": {Uses: []string{"s"}, Eval: func(in []*string) *string {
			return text(map[bool]string{true: "1", false: "0"}[in[0] != nil && *in[0] == "A"])
		}},
		"nosuch > 1": {Uses: []string{"nosuch"}},
		"f(nosuch)":  {Uses: []string{"nosuch"}},
	}}
}

func run(t *testing.T, table, header, body string, change func(*load.MappingOptions)) (*loadtest.Result, *loadtest.Fake, error) {
	t.Helper()
	o := load.MappingOptions{Now: loadtest.Now}
	f := fake()
	o.Compile = f.Compile
	if header != "" {
		var err error
		if o.Columns, o.Derived, err = load.ParseColumns(header); err != nil {
			return nil, f, err
		}
	}
	if change != nil {
		change(&o)
	}
	m, err := load.NewMapping(loadtest.Table(t, table), o)
	if err != nil {
		return nil, f, err
	}
	in := load.NewInput(strings.NewReader(body), -1, 0)
	defer in.Close()
	return loadtest.Run(t, m, csv.NewDecoder(in, m.Fields(), csv.Options{Separator: ","}), 1<<20, false), f, nil
}

// TestMappingWithoutEngine: order, skips, other names, constants, defaults and
// the request's time need no engine.
func TestMappingWithoutEngine(t *testing.T) {
	for _, tt := range []struct {
		columns, body string
		want          []string
	}{
		{"n, skip1, id", "2,zz,1\n", []string{"1 | NULL | 2 | 2024-05-06 07:08:09.123 | 7"}},
		{"a, b, id=b, s=`a`, n=b", "x,1\n", []string{"1 | x | 1 | 2024-05-06 07:08:09.123 | 7"}},
		{"id, s='it''s', n=-5", "1\n", []string{"1 | it's | -5 | 2024-05-06 07:08:09.123 | 7"}},
		{"id, s=NULL, n=null, d=NULL, m=DEFAULT", "1\n", []string{"1 | NULL | NULL | NULL | 7"}},
		{"id, s=\"a\\tb\", n=+7, d='2024-01-02', m=1e2", "1\n", []string{"1 | a\tb | 7 | 2024-01-02 00:00:00.000 | 100"}},
		{"id, d=now(), n=true", "1\n", []string{"1 | NULL | 1 | 2024-05-06 07:08:09.000 | 7"}},
		{"id, d=now(2), s=1.50", "1\n", []string{"1 | 1.50 | NULL | 2024-05-06 07:08:09.120 | 7"}},
		{"id, d=curdate()", "1\n", []string{"1 | NULL | NULL | 2024-05-06 00:00:00.000 | 7"}},
		{"now, id, s=now", "x,1\n", []string{"1 | x | NULL | 2024-05-06 07:08:09.123 | 7"}},
		// Expressions alone: the sources are the table's columns.
		{"s='k'", "1,a,2,2024-01-01,3\n", []string{"1 | k | 2 | 2024-01-01 00:00:00.000 | 3"}},
		// A derived column goes before the source of its name.
		{"id, s, n, s=n", "1,a,2\n", []string{"1 | 2 | 2 | 2024-05-06 07:08:09.123 | 7"}},
	} {
		res, f, err := run(t, wide, tt.columns, tt.body, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.columns, err)
			continue
		}
		if !slices.Equal(res.Rows, tt.want) || len(f.Batches) > 0 {
			t.Errorf("%s: %q, %d evaluations, want %q", tt.columns, res.Rows, len(f.Batches), tt.want)
		}
	}
}

// TestMappingRefused: what is wrong is known before a byte of the body is read,
// and its text names header and expression.
func TestMappingRefused(t *testing.T) {
	for _, tt := range []struct{ columns, where, want string }{
		{"id, s=nofunc(id)", "", "Header `columns`: s=nofunc(id): no such expression"},
		{"id, s=f(nosuch)", "", "Header `columns`: s=f(nosuch): unknown reference column, column=s, reference=nosuch"},
		{"id, nosuch=1", "", "Header `columns`: unknown column nosuch in table t: nosuch=1"},
		{"id, n='x'", "", "Header `columns`: n='x': value \"x\" is not a valid int"},
		{"id, m=NULL", "", "Header `columns`: m=NULL: column m is NOT NULL"},
		{"s, n", "", "Column has no default value, column=id"},
		{"id=DEFAULT, s", "", "Column has no default value, column=id"},
		{"id", "nosuch > 1", "Header `where`: nosuch > 1: unknown column reference in where statement, reference=nosuch"},
		{"id, d=CURRENT_TIMESTAMP, s=current_date()", "", "s=current_date(): the length of the value is too long for varchar(8): 10 bytes"},
	} {
		_, f, err := run(t, wide, tt.columns, "", func(o *load.MappingOptions) { o.Where, o.Strict = tt.where, true })
		if err == nil || !strings.Contains(err.Error(), tt.want) || doriserr.KindOf(err) == doriserr.Internal || len(f.Batches) > 0 {
			t.Errorf("%s where %s: %v, want %q", tt.columns, tt.where, err, tt.want)
		}
	}
}

// TestDerived: expressions, conditions and counters together.
func TestDerived(t *testing.T) {
	for _, tt := range []struct {
		name, columns, filter, where, body string
		strict                             bool
		want, errs                         []string
		unselected                         int64
		batches                            int
	}{
		{
			"an expression", "n, skip1, tmp, id, s=concat(tmp, '-', n)", "", "", "2,zz,ab,1\n\\N,zz,cd,2\n", false,
			[]string{"1 | ab-2 | 2 | NOW | 7", "2 | NULL | NULL | NOW | 7"}, nil, 0, 1,
		},
		{
			"where over converted columns", "id,s,n", "", "n > 1", "1,a,5\n2,b,1\n3,c,x\n4,d,\\N\n", false,
			[]string{"1 | a | 5 | NOW | 7"}, nil, 3, 1,
		},
		{
			"strict mode filters before where", "id,s,n", "", "n > 1", "1,a,5\n2,b,1\n3,c,x\n", true,
			[]string{"1 | a | 5 | NOW | 7"}, []string{"column_name[n], cannot convert 'x' to INT: malformed <- \"3,c,x\""}, 1, 1,
		},
		{
			"where over a derived column", "id,s,s=upper(s)", "", "s = 'A'", "1,a\n2,b\n", false,
			[]string{"1 | A | NULL | NOW | 7"}, nil, 1, 2,
		},
		{
			"strict mode is no matter to derived columns", "id,x,n=abs(x)", "", "", "1,-5\n2,-z\n", true,
			[]string{"1 | NULL | 5 | NOW | 7", "2 | NULL | NULL | NOW | 7"}, nil, 0, 1,
		},
		{
			"a derived column that is NOT NULL", "id,x,m=abs(x)", "", "", "1,-5\n2,-z\n3,\\N\n", false,
			[]string{"1 | NULL | NULL | NOW | 5"}, []string{
				"column_name[m], null value for not null column, type=INT: cannot convert 'z' <- \"2,-z\"",
				"column_name[m], null value for not null column, type=INT <- \"3,\\\\N\"",
			}, 0, 1,
		},
		{
			"too long, not strict", "id,s,s=upper(s)", "", "", "1,abcdefghij\n", false,
			[]string{"1 | ABCDEFGH | NULL | NOW | 7"}, nil, 0, 1,
		},
		{
			"too long, strict", "id,x,s=abs(x)", "", "", "1,abcdefghij\n2,b\n", true,
			[]string{"2 | b | NULL | NOW | 7"}, []string{
				"column_name[s], the length of input is too long than schema. first 32 bytes of input str: [abcdefghij] schema length: 8; actual length: 10;  <- \"1,abcdefghij\"",
			}, 0, 1,
		},
		{
			"a filter comes before conversion", "id,s,n", "n > 1", "", "x,a,1\nx,a,2\n3,c,2\n", true,
			[]string{"3 | c | 2 | NOW | 7"}, []string{"column_name[id], cannot convert 'x' to INT: malformed <- \"x,a,2\""}, 1, 1,
		},
		{
			"rows that are none", "id,s,s=upper(s)", "", "", "1,a\n2\n\n3,\xff\n4,b\n", false,
			[]string{"1 | A | NULL | NOW | 7", "4 | B | NULL | NOW | 7"}, []string{
				"Column count mismatch: expected 2, but found 1 (sep:,, delim:\\n) <- \"2\"",
				"column_name[s], the value is not valid UTF-8 <- \"3,\\xff\"",
			}, 0, 1,
		},
		{
			"rows that are none are filtered whatever is chosen", "id,s,n", "n > 1", "n > 1", "1\n2,\xff,1\n", false,
			nil, []string{"Column count mismatch: expected 3, but found 1 (sep:,, delim:\\n) <- \"1\""}, 1, 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, f, err := run(t, wide, tt.columns, tt.body, func(o *load.MappingOptions) {
				o.Filter, o.Where, o.Strict = tt.filter, tt.where, tt.strict
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range tt.want {
				tt.want[i] = strings.ReplaceAll(tt.want[i], "NOW", "2024-05-06 07:08:09.123")
			}
			if !slices.Equal(res.Rows, tt.want) || !slices.Equal(res.Errors, tt.errs) || res.Counts.Unselected != tt.unselected || res.Err != nil {
				t.Errorf("rows %q\nerrors %q\ncounts %+v, %v", res.Rows, res.Errors, res.Counts, res.Err)
			}
			if len(f.Batches) != tt.batches {
				t.Errorf("evaluated %d times, want %d", len(f.Batches), tt.batches)
			}
		})
	}
}

// TestBatches: many rows are evaluated 4,096 at a time, in order, whatever the
// size of blocks; long rows earlier.
func TestBatches(t *testing.T) {
	var body strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&body, "%d,r%d,%d\n", i, i, i%3)
	}
	res, f, err := run(t, wide, "id,s,n,s=upper(s)", body.String(), func(o *load.MappingOptions) { o.Where = "n > 1" })
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 3333 || !strings.HasPrefix(res.Rows[3332], "9998 | R9998 | 2") || res.Counts.Unselected != 6667 {
		t.Errorf("%d rows, %+v, the last is %q", len(res.Rows), res.Counts, res.Rows[len(res.Rows)-1])
	}
	if len(f.Batches) == 0 || slices.Max(f.Batches) > load.MaxBatch {
		t.Errorf("batches %v", f.Batches)
	}
	res, f, err = run(t, "s STRING", "s,s=upper(s)", strings.Repeat(strings.Repeat("x", 300<<10)+"\n", 10), nil)
	if err != nil || res.Counts.Loaded != 10 || slices.Max(f.Batches) > 4 {
		t.Errorf("long rows: %+v, batches %v, %v", res.Counts, f.Batches, err)
	}
}

// TestEvaluationFails: the load ends with the engine's error.
func TestEvaluationFails(t *testing.T) {
	broken := errors.New("the engine is gone")
	for _, rows := range []int{1, 5000} {
		f := fake()
		f.Err = broken
		m, err := load.NewMapping(loadtest.Table(t, loadtest.T3), load.MappingOptions{
			Columns: []string{"id", "s", "n"}, Derived: []load.Derived{{Column: "s", Expr: "upper(s)"}}, Compile: f.Compile,
		})
		if err != nil {
			t.Fatal(err)
		}
		in := load.NewInput(strings.NewReader(strings.Repeat("1,a,2\n", rows)), -1, 0)
		res := loadtest.Run(t, m, csv.NewDecoder(in, m.Fields(), csv.Options{Separator: ","}), 1<<20, false)
		if !errors.Is(res.Err, broken) || len(res.Rows) > 0 || res.Counts.Loaded > 0 {
			t.Errorf("%d rows: %v, %+v", rows, res.Err, res.Counts)
		}
		in.Close()
	}
}
