package load

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"dorisgo/doriserr"
)

func TestParseColumns(t *testing.T) {
	for _, tt := range []struct {
		header  string
		names   []string
		derived []Derived
		err     string
	}{
		{"a,b", []string{"a", "b"}, nil, ""},
		{" ID, `desc`, `@t`, 编号, mixed", []string{"ID", "desc", "@t", "编号", "mixed"}, nil, ""},
		{"`a,b`,c", []string{"a,b", "c"}, nil, ""},
		{"@skip,x", []string{"@skip", "x"}, nil, ""},
		{"n, tmp, s=concat(tmp,\"-\",n)", []string{"n", "tmp"}, []Derived{{"s", "concat(tmp,\"-\",n)"}}, ""},
		{"id, `s` = nofunc(id)", []string{"id"}, []Derived{{"s", "nofunc(id)"}}, ""},
		{"s=f(`a,b`), a, t = 'x,\\'y', u='it'',s'", []string{"a"}, []Derived{{"s", "f(`a,b`)"}, {"t", "'x,\\'y'"}, {"u", "'it'',s'"}}, ""},
		{"a, a=upper(a)", []string{"a"}, []Derived{{"a", "upper(a)"}}, ""},
		{"s=1", nil, []Derived{{"s", "1"}}, ""},
		{"a, b = x=1", []string{"a"}, []Derived{{"b", "x=1"}}, ""},
		{"", nil, nil, "Invalid header `columns`"},
		{"a,,b", nil, nil, "Invalid header `columns`"},
		{"a,", nil, nil, "Invalid header `columns`"},
		{"a,b=", nil, nil, "Invalid header `columns`"},
		{"a,=b", nil, nil, "Invalid header `columns`"},
		{"`a", nil, nil, "Invalid header `columns`"},
		{"``", nil, nil, "Invalid header `columns`"},
		{"a b", nil, nil, "found \"a b\""},
		{"a,A", nil, nil, "Duplicate column"},
		{"a,s=1,S=2", nil, nil, "Duplicate column"},
	} {
		names, derived, err := ParseColumns(tt.header)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.header, err, tt.err)
			}
			if doriserr.KindOf(err) == doriserr.Internal {
				t.Errorf("%q: %v has no kind", tt.header, err)
			}
			continue
		}
		if err != nil || !slices.Equal(names, tt.names) || !slices.Equal(derived, tt.derived) {
			t.Errorf("%q = %q, %q, %v, want %q, %q", tt.header, names, derived, err, tt.names, tt.derived)
		}
	}
}

// FuzzParseColumns: no header makes it panic, and every name and expression is
// a part of the header.
func FuzzParseColumns(f *testing.F) {
	for _, s := range []string{"a,b", "`a,b`,c=f(a,'x')", "s='\\", "a=(((", "=", "``", "a=`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		names, derived, err := ParseColumns(header)
		if err != nil {
			return
		}
		if len(names)+len(derived) == 0 {
			t.Error("nothing was found")
		}
		for _, d := range derived {
			names = append(names, d.Column, d.Expr)
		}
		for _, n := range names {
			if n == "" || !strings.Contains(header, n) || utf8.ValidString(header) && !utf8.ValidString(n) {
				t.Errorf("%q in %q", n, header)
			}
		}
	})
}
