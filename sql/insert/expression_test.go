package insert

import (
	"strings"
	"testing"

	"dorisgo/doriserr"
)

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ col, in, want string }{
		{"i", "1+1", "2"},
		{"i", "1 + 100", "101"},
		{"i", "-(-5)*2-3", "7"},
		{"i", "- 1", "-1"},
		{"i", "7 % 4 + 10/5", "5"},
		{"v", "10/4", "2.5"},
		{"v", "1.10 + 2", "3.10"},
		{"v", "0.1 + 0.2", "0.3"},
		{"v", "1.0/3", "0.33333"},
		{"v", "-2.0/3", "-0.66667"},
		{"v", "1.5e0*2", "3"},
		{"v", "'2'*3", "6"},
		{"v", "concat('a', 1, -2.50, \"b\")", "a1-2.50b"},
		{"v", "concat('a', null)", "NULL"},
		{"v", "null + 1", "NULL"},
		{"v", "1/0", "NULL"},
		{"v", "1.0 % 0", "NULL"},
		{"v", "true + true", "2"},
		{"v", "curdate()", "2024-02-29"},
		{"at", "now()", "2024-02-29 23:59:58.000"},
		{"at", "CURRENT_TIMESTAMP", "2024-02-29 23:59:58.000"},
		{"at", "current_timestamp(3)", "2024-02-29 23:59:58.987"},
		{"day", "current_date", "2024-02-29"},
		{"v", "((((1))))", "1"},
	} {
		d := Decoder{Expressions: true}
		b, _, err := load(t, &d, wide, []string{c.col}, "("+c.in+")")
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := strings.Split(dump(b), ",")[columnIndex(wide, c.col)]; got != c.want {
			t.Errorf("%s is %s, want %s", c.in, got, c.want)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind doriserr.Kind
		want string
	}{
		{"upper('a')", doriserr.Unsupported, "function UPPER is not supported in VALUES"},
		{"@x + 1", doriserr.Unsupported, "@x is not supported in VALUES"},
		{"cast(1 as int)", doriserr.Unsupported, "function CAST"},
		{"abc", doriserr.UnknownColumn, "Unknown column 'abc' in 'field list'"},
		{"`id` + 1", doriserr.UnknownColumn, "Unknown column 'id'"},
		{"1 + ", doriserr.Parse, "expecting expression"},
		{"1 2", doriserr.Parse, "mismatched input '2'"},
		{"(1 2)", doriserr.Parse, "mismatched input '2' expecting ')'"},
		{"now(7)", doriserr.Analysis, "wrong arguments of function NOW"},
		{"'x' + 1", doriserr.DataQuality, "'x' is no number"},
		{"1e308*10", doriserr.OutOfRange, "DOUBLE value is out of range"},
		{strings.Repeat("9", 76) + "*10", doriserr.OutOfRange, "more than 76 digits"},
		{strings.Repeat("(", 1000), doriserr.Unsupported, "nested deeper"},
		{"2147483647+1", doriserr.OutOfRange, "column_name[i], value '2147483648' is out of range"},
		{"?", doriserr.Parse, "mismatched input '?'"},
	} {
		d := Decoder{Expressions: true}
		b, _, err := load(t, &d, wide, []string{"i"}, "("+c.in+")")
		if !doriserr.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || b.Rows() != 0 {
			t.Errorf("%.40s: %v (%s), want %s", c.in, err, doriserr.KindOf(err), c.want)
		}
	}
}
