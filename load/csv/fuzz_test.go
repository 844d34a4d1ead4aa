package csv

import (
	"errors"
	"slices"
	"testing"
	"time"

	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// fuzzTables are the tables that fuzzing loads into.
var fuzzTables = []string{
	loadtest.T3,
	"s STRING",
	"a TINYINT, b BIGINT NOT NULL, c DECIMAL(9,2), d DATE, e DATETIME(3)",
	`id INT NOT NULL DEFAULT "7", f FLOAT, g DOUBLE, l LARGEINT, b BOOLEAN, v VARCHAR(5) NOT NULL, j JSON`,
}

// fuzzExpressions choose and derive.
var fuzzExpressions = loadtest.Fake{Exprs: map[string]loadtest.Expr{
	"twice(tmp)": {Uses: []string{"tmp"}, Eval: func(in []*string) *string { return ifText(in[0], func(s string) string { return s + s }) }},
	"odd(n)": {Uses: []string{"n"}, Eval: func(in []*string) *string {
		return ifText(in[0], func(s string) string { return truth(s[len(s)-1]&1 == 1) })
	}},
	"is_null(tmp)": {Uses: []string{"tmp"}, Eval: func(in []*string) *string { s := truth(in[0] == nil); return &s }},
}}

func ifText(s *string, f func(string) string) *string {
	if s == nil {
		return nil
	}
	out := f(*s)
	return &out
}

func truth(b bool) string { return map[bool]string{true: "1", false: "0"}[b] }

// FuzzDecode: any cut of the bytes and the row by row way give the same rows,
// errors and counters, which add up, and nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add("1,a,2\n2,\"b\"\"c\",3\r\n\n\\N,,\n", ",", "\n", byte('"'), byte('\\'), uint16(3), uint8(0))
	f.Add("1|aa#END#2|bb#EN", "|", "#END#", byte(0), byte(0), uint16(1), uint8(1))
	f.Add("1#'a#'#2#END#3", "#", "#END#", byte('\''), byte('\''), uint16(5), uint8(2))
	f.Add("\xEF\xBB\xBF'a\r\n'\r\n'", "\r", "\n", byte('\''), byte('x'), uint16(1), uint8(0))
	f.Add("1,2,3.45,1996-03-13,1996-03-13 10:11:12.5\n-128,-9,0.1,2023-02-29,x\n,\\N,,,\n", ",", "\n", byte(0), byte(0), uint16(70), uint8(0x28))
	f.Add("1\t0.5\t1e3\t12345678901234567890\ttrue\tabcdef\t{\"a\":1}\n2\t\"3\"\t\"\"\t4\t0\t\xff\t[]\n", "\t", "\n", byte(0), byte(0), uint16(64), uint8(0xfc))
	f.Fuzz(func(t *testing.T, body, sep, eol string, enclose, escape byte, cut uint16, form uint8) {
		if enclose == 0 && escape%16 == 1 {
			enclose = '"'
		}
		mapping := load.MappingOptions{Strict: form&4 != 0, Now: loadtest.Now, Location: time.UTC}
		if form>>3%4 == 0 && cut%2 == 1 {
			mapping.Columns, mapping.Derived = []string{"id", "tmp", "n"}, []load.Derived{{Column: "s", Expr: "twice(tmp)"}}
			mapping.Where, mapping.Filter, mapping.Compile = "odd(n)", "is_null(tmp)", fuzzExpressions.Compile
			if cut%4 == 1 {
				mapping.Filter = ""
			}
		}
		m, err := load.NewMapping(loadtest.Table(t, fuzzTables[form>>3%4]), mapping)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{
			Separator: sep, Delimiter: eol, Enclose: enclose, Escape: escape, SkipLines: int(form & 3),
			TrimDoubleQuotes: form&64 != 0, EmptyFieldAsNull: form&128 != 0,
		}
		run := func(rowByRow bool, stop bool, sizes ...int) *loadtest.Result {
			in := load.NewInput(loadtest.Cut(body, sizes...), int64(len(body)), 0)
			defer in.Close()
			d := NewDecoder(in, m.Fields(), o)
			d.fast = d.fast && !rowByRow
			return loadtest.Run(t, m, d, 1<<10, stop)
		}
		whole := run(false, false, 0)
		if whole.Err != nil {
			t.Fatal(whole.Err)
		}
		for what, other := range map[string]*loadtest.Result{
			"cut": run(false, false, int(cut)+1, 1), "row by row": run(true, false, 0), "row by row, cut": run(true, false, 1, int(cut)+1),
		} {
			if other.Err != nil || !slices.Equal(whole.Rows, other.Rows) || !slices.Equal(whole.Errors, other.Errors) || whole.Counts != other.Counts {
				t.Errorf("%s: %v, rows %q, errors %q, %+v, want %q, %q, %+v", what, other.Err, other.Rows, other.Errors, other.Counts, whole.Rows, whole.Errors, whole.Counts)
			}
		}
		// A load that stops early has met the same first error.
		if stopped := run(false, true, int(cut)+1); stopped.Err != nil && !errors.Is(stopped.Err, load.ErrStopped) || len(whole.Errors) > 0 && (len(stopped.Errors) == 0 || stopped.Errors[0] != whole.Errors[0]) {
			t.Errorf("stopping early: %v, errors %q, want %q", stopped.Err, stopped.Errors, whole.Errors)
		}
	})
}
