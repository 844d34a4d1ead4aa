package load

import (
	"slices"
	"strings"
	"testing"

	"dorisgo/doriserr"
)

func TestParseColumns(t *testing.T) {
	for _, tt := range []struct {
		header string
		want   []string
		err    string
	}{
		{"a,b", []string{"a", "b"}, ""},
		{" ID, `desc`, `@t`, 编号, mixed", []string{"ID", "desc", "@t", "编号", "mixed"}, ""},
		{"`a,b`,c", []string{"a,b", "c"}, ""},
		{"@skip,x", []string{"@skip", "x"}, ""},
		{"", nil, "Invalid header `columns`"},
		{"a,,b", nil, "Invalid header `columns`"},
		{"a,", nil, "Invalid header `columns`"},
		{"`a", nil, "Invalid header `columns`"},
		{"``", nil, "Invalid header `columns`"},
		{"a b", nil, "found \"a b\""},
		{"a,A", nil, "Duplicate column"},
		{"n, tmp, s=concat(tmp,\"-\",n)", nil, "not supported yet: s=concat(tmp,\"-\",n)"},
		{"id, `s` = nofunc(id)", nil, "not supported yet: `s` = nofunc(id)"},
	} {
		got, err := ParseColumns(tt.header)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.header, err, tt.err)
			}
			if doriserr.KindOf(err) == doriserr.Internal {
				t.Errorf("%q: %v has no kind", tt.header, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q = %q, %v, want %q", tt.header, got, err, tt.want)
		}
	}
}
