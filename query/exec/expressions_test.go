package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/loadtest"
	"dorisgo/value"
)

func newExpressions(t testing.TB) *Expressions {
	t.Helper()
	e := NewExpressions(func() (*duck.DB, error) { return duck.Open(duck.Options{MaxConcurrent: 2, Threads: 1}) })
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// mapped loads a CSV body through expressions.
func mapped(t testing.TB, e *Expressions, table, body string, o load.MappingOptions) (*loadtest.Result, error) {
	t.Helper()
	o.Now = loadtest.Now
	o.Compile = func(s *load.ProgramSpec) (*load.Program, error) { return e.Compile(t.Context(), s) }
	m, err := load.NewMapping(loadtest.Table(t, table), o)
	if err != nil {
		return nil, err
	}
	in := load.NewInput(strings.NewReader(body), -1, 0)
	defer in.Close()
	return loadtest.Run(t, m, csv.NewDecoder(in, m.Fields(), csv.Options{Separator: ","}), 1<<20, false), nil
}

// TestMappedLoads: expressions of the columns and where headers against the
// engine, with the types and failures of single rows.
func TestMappedLoads(t *testing.T) {
	e := newExpressions(t)
	for _, tt := range []struct {
		name, table, columns, filter, where, body string
		strict                                    bool
		want, errs                                []string
		unselected                                int64
	}{
		{
			"concat, a skipped field, the order", loadtest.T3, "n, skip1, tmp, id, s=concat(tmp,\"-\",n)", "", "", "2,zz,ab,1\n3,zz,cd,2\n", false,
			[]string{"1 | ab-2 | 2", "2 | cd-3 | 3"}, nil, 0,
		},
		{
			"where: unselected rows are not filtered ones", loadtest.T3, "", "", "s is not null and n >= 5", "1,a,5\n2,\\N,1\n3,c,x\n4,d,9\n", true,
			[]string{"1 | a | 5", "4 | d | 9"}, []string{"column_name[n], cannot convert 'x' to INT: malformed <- \"3,c,x\""}, 1,
		},
		{
			"numbers of texts", "id INT, n INT, d DOUBLE, b BIGINT", "id, tmp, n=tmp*2, d=tmp/4, b=tmp+1", "", "", "1,5\n2,2.5\n3,x\n4,\\N\n", false,
			[]string{"1 | 10 | 1.25 | 6", "2 | 5 | 0.625 | 3", "3 | NULL | NULL | NULL", "4 | NULL | NULL | NULL"}, nil, 0,
		},
		{
			"a fraction is cut for an integer column", "id INT, n TINYINT", "id, x, n=x/2", "", "", "1,5\n2,1000\n3,-5\n", false,
			[]string{"1 | 2", "2 | NULL", "3 | -2"}, nil, 0,
		},
		{
			"a value out of range in a NOT NULL column is its row's matter", "id INT, n TINYINT NOT NULL", "id, x, n=x*1", "", "", "1,5\n2,1000\n3,7\n", false,
			[]string{"1 | 5", "3 | 7"}, []string{"column_name[n], null value for not null column, type=TINYINT <- \"2,1000\""}, 0,
		},
		{
			"decimals", "id INT, a DECIMAL(5,2)", "id, x, a=cast(x as decimal(10,4))*2", "", "", "1,1.005\n2,499.995\n3,500\n", false,
			[]string{"1 | 2.01", "2 | 999.99", "3 | NULL"}, nil, 0,
		},
		{
			"dates", "id INT, d DATE, t DATETIME(3), m INT", "id, x, d=str_to_date(x,'%d.%m.%Y'), t=date_add(str_to_date(x,'%d.%m.%Y'), interval 90 minute), m=month(str_to_date(x,'%d.%m.%Y'))", "", "",
			"1,29.02.2024\n2,29.02.2023\n", false,
			[]string{"1 | 2024-02-29 | 2024-02-29 01:30:00.000 | 2", "2 | NULL | NULL | NULL"}, nil, 0,
		},
		{
			"texts become dates by the rules of loads", "id INT, t DATETIME", "id, a, b, t=concat(a,' ',b)", "", "", "1,2024-01-02,03:04:05\n2,2023-02-29,00:00:00\n3,2024-01-02,03:04:05Z\n", false,
			[]string{"1 | 2024-01-02 03:04:05", "2 | NULL", "3 | 2024-01-02 03:04:05"}, nil, 0,
		},
		{
			"conditions", loadtest.T3, "id, x, s=if(x>10,'big','small'), n=case x when 1 then 100 else null end", "", "", "1,5\n2,50\n3,1\n4,\\N\n", false,
			[]string{"1 | small | NULL", "2 | big | NULL", "3 | small | 100", "4 | small | NULL"}, nil, 0,
		},
		{
			"names: keywords, case, signs, other scripts", "id INT, `desc` INT, `@t` INT, `编号` INT", "ID, `desc`, `@t`, 编号, `DESC`=`@T`+1, `编号`=编号*2", "", "`desc` > 3 and `@t` is not null and 编号 >= 0", "1,2,3,4\n1,2,2,4\n", false,
			[]string{"1 | 4 | 3 | 8"}, nil, 1,
		},
		{
			"a filter over source fields", loadtest.T3, "id, x, s=upper(x)", "x like 'a%'", "", "bad,b\n1,abc\n", true,
			[]string{"1 | ABC | NULL"}, nil, 1,
		},
		{
			"where over a derived column", loadtest.T3, "id, x, s=upper(x), n=length(x)", "", "n > 2 and s <> 'ABC'", "1,abc\n2,abcd\n3,a\n", false,
			[]string{"2 | ABCD | 4"}, nil, 2,
		},
		{
			"no source field at all", loadtest.T3, "id, s=concat('a', upper('b')), n=1+1", "", "1 = 1", "1\n2\n", false,
			[]string{"1 | aB | 2", "2 | aB | 2"}, nil, 0,
		},
		{
			"the request's time", "id INT, d DATE, n BIGINT", "id, d=date_add(current_date(), interval 1 day), n=unix_timestamp()+id", "", "d > now()", "1\n", false,
			[]string{"1 | 2024-05-07 | 1714979290"}, nil, 0,
		},
		{
			"every type under where", "a BOOLEAN, b LARGEINT, c DECIMAL(38,0), d DOUBLE, e DATETIME(6), f STRING, g JSON", "", "",
			"a and b = 170141183460469231731687303715884105727 and c > 0 and d < 0 and e > '2020-01-01' and f = '中文' and g is not null",
			"1,170141183460469231731687303715884105727,1,-1,2024-01-01,中文,{}\n0,1,1,-1,2024-01-01,中文,{}\n", false,
			[]string{"1 | 170141183460469231731687303715884105727 | 1 | -1 | 2024-01-01 00:00:00.000000 | 中文 | {}"}, nil, 1,
		},
		{
			"json", "id INT, g JSON, s STRING", "id, x, g=concat('{\"a\":',x,'}'), s=json_extract_string(concat('{\"a\":',x,'}'), '$.a')", "", "", "1,5\n2,}\n", false,
			[]string{"1 | {\"a\":5} | 5", "2 | NULL | NULL"}, nil, 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := load.MappingOptions{Filter: tt.filter, Where: tt.where, Strict: tt.strict}
			if tt.columns != "" {
				var err error
				if o.Columns, o.Derived, err = load.ParseColumns(tt.columns); err != nil {
					t.Fatal(err)
				}
			}
			res, err := mapped(t, e, tt.table, tt.body, o)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(res.Rows, tt.want) || !slices.Equal(res.Errors, tt.errs) || res.Counts.Unselected != tt.unselected || res.Err != nil {
				t.Errorf("rows %q\nerrors %q\ncounts %+v, %v", res.Rows, res.Errors, res.Counts, res.Err)
			}
		})
	}
}

// TestMappedRefused: errors of expressions come before the body.
func TestMappedRefused(t *testing.T) {
	e := newExpressions(t)
	for _, tt := range []struct{ expr, where, want string }{
		{"nofunc(id)", "", "Header `columns`: s=nofunc(id): function nofunc is not supported"},
		{"upper(nosuch)", "", "Header `columns`: s=upper(nosuch): unknown reference column, column=s, reference=nosuch"},
		{"upper(id, id)", "", "Header `columns`: s=upper(id, id): Can not found function 'upper' which has 2 arity"},
		{"upper(id", "", "Header `columns`: s=upper(id: syntax error"},
		{"id) from t where (1", "", "Header `columns`: s=id) from t where (1: "},
		{"id), (id", "", "expected one expression"},
		{"(select 1)", "", "a subquery in an expression of a load is not supported"},
		{"exists(select 1)", "", "a subquery"},
		{"sum(id)", "", "aggregate function"},
		{"ndv(id)", "", "aggregate function"},
		{"row_number() over ()", "", "window function"},
		{"*", "", "Header `columns`: s=*"},
		{"a, b", "", "Operand should contain 1 column(s)"},
		{"@@version", "", "Unknown system variable"},
		{"?", "", "s=?"},
		{"", "id = ", "Header `where`: id = "},
		{"", "x > 1", "Header `where`: x > 1: unknown column reference in where statement, reference=x"},
		{"", "1; drop table t", "Header `where`"},
	} {
		o := load.MappingOptions{Columns: []string{"id", "x"}, Where: tt.where}
		if tt.expr != "" {
			o.Derived = []load.Derived{{Column: "s", Expr: tt.expr}}
		}
		_, err := mapped(t, e, loadtest.T3, "", o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || doriserr.KindOf(err) == doriserr.Internal {
			t.Errorf("%s%s: %v (%s), want %q", tt.expr, tt.where, err, doriserr.KindOf(err), tt.want)
		}
	}
}

// doubled is a program over one source.
func doubled(t testing.TB, e *Expressions, text string) *load.Program {
	t.Helper()
	wrap := func(err error) error { return err }
	p, err := e.Compile(t.Context(), &load.ProgramSpec{
		Sources: []string{"x"}, Now: loadtest.Now,
		Outputs: []load.ProgramOutput{{Text: text, Want: value.Type{Kind: value.BigInt}, Wrap: wrap, Unknown: func(n string) error { return errors.New(n) }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func numbers(from, n int) *block.Block {
	b := block.New([]value.Type{{Kind: value.String}})
	for i := range n {
		b.Col(0).AppendBytes(fmt.Append(nil, from+i))
		b.EndRow()
	}
	return b
}

// TestLoadsAreEvaluatedTogether: requests that come while a program runs share
// the next run, each gets its own rows, and one that fails costs the others
// nothing.
func TestLoadsAreEvaluatedTogether(t *testing.T) {
	e := newExpressions(t)
	p := doubled(t, e, "x*2")
	if q := doubled(t, e, "x*2"); q != p {
		t.Error("the same mapping was compiled twice")
	}
	if q := doubled(t, e, "x*2+unix_timestamp()*0"); q == doubled(t, e, "x*2+unix_timestamp()*0") {
		t.Error("a program of one request's time was kept")
	}
	prog := e.recent.Front().Value.(*program)
	// The program looks busy until all have come.
	prog.mu.Lock()
	prog.running = true
	prog.mu.Unlock()
	gone, cancel := context.WithCancel(t.Context())
	const loads = 50
	var wg sync.WaitGroup
	for i := range loads {
		wg.Go(func() {
			out, err := p.Eval(t.Context(), numbers(100*i, 1+i%7))
			if err != nil {
				t.Error(err)
				return
			}
			for k := range out.Rows() {
				if got := out.Col(0).Int64(k); got != int64(2*(100*i+k)) {
					t.Errorf("load %d, row %d: %d", i, k, got)
				}
			}
			if out.Rows() != 1+i%7 {
				t.Errorf("load %d has %d rows", i, out.Rows())
			}
		})
	}
	wg.Go(func() {
		if _, err := p.Eval(gone, numbers(0, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("a load that was given up: %v", err)
		}
	})
	for waiting := 0; waiting < loads+1; {
		prog.mu.Lock()
		waiting = len(prog.waiting)
		prog.mu.Unlock()
		runtime.Gosched()
	}
	cancel()
	first := prog.take()
	if len(first) != loads+1 {
		t.Errorf("%d of %d loads are evaluated together", len(first), loads+1)
	}
	prog.evaluate(first)
	wg.Wait()
	if prog.take() != nil || prog.running {
		t.Error("the program still runs")
	}
}

// TestEvaluationErrorsStayApart: a batch that fails is evaluated load by load.
func TestEvaluationErrorsStayApart(t *testing.T) {
	e := NewExpressions(func() (*duck.DB, error) {
		return duck.Open(duck.Options{MaxConcurrent: 1, Threads: 1, MemoryLimitBytes: 64 << 20})
	})
	defer e.Close()
	// One row asks for more memory than there is.
	p := doubled(t, e, "length(repeat(x, cast(x as int)))")
	prog := e.recent.Front().Value.(*program)
	var batch []*evaluation
	for _, n := range []int{2, 900_000_000, 3} {
		batch = append(batch, &evaluation{ctx: t.Context(), in: numbers(n, 1), done: make(chan struct{})})
	}
	prog.evaluate(batch)
	for i, v := range batch {
		<-v.done
		if i == 1 {
			if v.err == nil && !v.out.Col(0).IsNull(0) {
				t.Errorf("9 GB were made in 64 MB")
			}
			continue
		}
		if v.err != nil || v.out.Rows() != 1 || v.out.Col(0).Int64(0) != int64([]int{2, 0, 3}[i]) {
			t.Errorf("load %d: %v", i, v.err)
		}
	}
	if out, err := p.Eval(t.Context(), numbers(4, 1)); err != nil || out.Col(0).Int64(0) != 4 {
		t.Errorf("after the failure: %v", err)
	}
}

// TestProgramsAreForgotten: the cache is bounded; who still has a program that
// left it can use it, and nothing stays open.
func TestProgramsAreForgotten(t *testing.T) {
	e := newExpressions(t)
	old := doubled(t, e, "x*2")
	if _, err := old.Eval(t.Context(), numbers(1, 1)); err != nil {
		t.Fatal(err)
	}
	for i := range maxPrograms {
		doubled(t, e, fmt.Sprintf("x+%d", i))
	}
	if e.recent.Len() != maxPrograms || len(e.programs) != maxPrograms {
		t.Errorf("%d programs, %d names", e.recent.Len(), len(e.programs))
	}
	if out, err := old.Eval(t.Context(), numbers(4, 2)); err != nil || out.Col(0).Int64(1) != 10 {
		t.Errorf("a program that left the cache: %v", err)
	}
}

// TestExpressionsClose: loads that wait end with an error, later ones too.
func TestExpressionsClose(t *testing.T) {
	e := newExpressions(t)
	p := doubled(t, e, "x*2")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				if _, err := p.Eval(t.Context(), numbers(1, 100)); err != nil {
					if !doriserr.Is(err, doriserr.Stopping) {
						t.Errorf("%v", err)
					}
					return
				}
			}
		})
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := e.Compile(t.Context(), &load.ProgramSpec{Now: loadtest.Now}); !doriserr.Is(err, doriserr.Stopping) {
		t.Errorf("after Close: %v", err)
	}
}
