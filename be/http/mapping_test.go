package behttp

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// withExpressions lets a server know three expressions.
func withExpressions() (*loadtest.Fake, func(*Options)) {
	one, zero := "1", "0"
	f := &loadtest.Fake{Exprs: map[string]loadtest.Expr{
		"upper(x)": {Uses: []string{"x"}, Eval: func(in []*string) *string {
			if in[0] == nil {
				return nil
			}
			s := strings.ToUpper(*in[0])
			return &s
		}},
		"n >= 5": {Uses: []string{"n"}, Eval: func(in []*string) *string {
			switch {
			case in[0] == nil:
				return nil
			case len(*in[0]) > 1 || *in[0] >= "5":
				return &one
			}
			return &zero
		}},
		"x > 1": {Uses: []string{"x"}},
	}}
	return f, func(o *Options) {
		o.Compile = func(_ context.Context, s *load.ProgramSpec) (*load.Program, error) { return f.Compile(s) }
	}
}

// TestWhere: rows that are not chosen are unselected: they are no part of the
// ratio, in both ways of writing.
func TestWhere(t *testing.T) {
	_, compile := withExpressions()
	r := newRig(t, compile)
	for _, tt := range []struct {
		name, body                   string
		headers                      []string
		status                       string
		total, load, filter, unselec int64
		rows                         []string
	}{
		{"a bad row, one that is not chosen", "1,a,5\n2,\\N,1\n3,c,x\n4,d,9\n", []string{"strict_mode", "true", "max_filter_ratio", "0.5"}, statusSuccess, 4, 2, 1, 1, []string{"1 | a | 5", "4 | d | 9"}},
		{"the ratio is of the chosen rows", "1,a,5\n2,b,1\n3,c,1\n4,d,1\n5,e,x\n", []string{"strict_mode", "true", "max_filter_ratio", "0.4"}, statusFail, 5, 0, 1, 3, nil},
		{"none is chosen", "1,a,1\n2,b,2\n", nil, statusSuccess, 2, 0, 0, 2, nil},
		{"all are", "1,a,50\n", nil, statusSuccess, 1, 1, 0, 0, []string{"1 | a | 50"}},
	} {
		for _, mode := range []string{"off_mode", "sync_mode"} {
			rep := r.put(tt.body, append([]string{"where", "n >= 5", "group_commit", mode}, tt.headers...)...)
			l := rep.load
			if l.Status != tt.status || l.NumberTotalRows != tt.total || l.NumberLoadedRows != tt.load || l.NumberFilteredRows != tt.filter || l.NumberUnselectedRows != tt.unselec {
				t.Errorf("%s, %s: %s", tt.name, mode, rep.text)
			}
			if got := r.f.taken(); !slices.Equal(got, tt.rows) {
				t.Errorf("%s, %s: rows %q", tt.name, mode, got)
			}
		}
	}
}

// TestDerivedColumns: expressions, constants and other names, with every format
// and way of naming the sources.
func TestDerivedColumns(t *testing.T) {
	_, compile := withExpressions()
	r := newRig(t, compile)
	for _, tt := range []struct {
		headers []string
		body    string
		want    []string
	}{
		{[]string{"columns", "n, skip1, x, id, s=upper(x)"}, "2,zz,ab,1\n", []string{"1 | AB | 2"}},
		{[]string{"columns", "a, id=a, s='it''s, (1)', n=-3"}, "1\n", []string{"1 | it's, (1) | -3"}},
		{[]string{"columns", "s='x'"}, "1,a,2\n", []string{"1 | x | 2"}},
		{[]string{"format", "json", "columns", "x,id,s=upper(x)"}, `{"id":1,"x":"ab"}` + "\n" + `{"id":2}`, []string{"1 | AB | NULL", "2 | NULL | NULL"}},
		{[]string{"format", "json", "jsonpaths", `["$.b","$.a"]`, "columns", "x,id,s=upper(x)"}, `{"a":1,"b":"q"}`, []string{"1 | Q | NULL"}},
		{[]string{"format", "json", "jsonpaths", `["$.b","$.a"]`, "columns", "s='k'"}, `{"a":1,"b":2}`, []string{"2 | k | NULL"}},
		{[]string{"format", "json", "columns", "id,flag,n=flag"}, `{"id":1,"flag":true}`, []string{"1 | NULL | 1"}},
		{[]string{"format", "json", "num_as_string", "true", "columns", "id,s"}, `{"id":1,"s":1.50}` + "\n" + `{"id":2,"s":12345678901234567890}`, []string{"1 | 1.50 | NULL", "2 | 12345678901234567890 | NULL"}},
	} {
		rep := r.put(tt.body, tt.headers...)
		if got := r.f.taken(); rep.load.Status != statusSuccess || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %s: %s\nrows %q", tt.headers, rep.load.Status, rep.load.Message, got)
		}
	}
	rep := r.put("1\n", "format", "json", "jsonpaths", `["$.b","$.a"]`, "columns", "x,s=upper(x)")
	if !strings.Contains(rep.load.Message, "Invalid jsonpaths: 2 paths for the 1 names of header columns") {
		t.Errorf("paths and names: %s", rep.text)
	}
}

// TestFlexibleUpdate: what does not go together is refused before the table's
// kind is looked at.
func TestFlexibleUpdate(t *testing.T) {
	_, compile := withExpressions()
	r := newRig(t, compile)
	for _, tt := range []struct{ name, value, want string }{
		{"columns", "id", "Don't support flexible partial update when 'columns' is specified"},
		{"jsonpaths", `["$.a"]`, "Don't support flexible partial update when 'jsonpaths' is specified"},
		{"hidden_columns", "a", "Don't support flexible partial update when 'hidden_columns' is specified"},
		{"function_column.sequence_col", "n", "Don't support flexible partial update when 'function_column.sequence_col' is specified"},
		{"merge_type", "DELETE", "Don't support flexible partial update when 'merge_type' is specified"},
		{"where", "n >= 5", "Don't support flexible partial update when 'where' is specified"},
		{"fuzzy_parse", "true", "Don't support flexible partial update when 'fuzzy_parse' is enabled"},
		{"comment", "x", "Only unique key merge on write support partial update"},
	} {
		rep := r.put(`{"id":1}`, "format", "json", "unique_key_update_mode", "UPDATE_FLEXIBLE_COLUMNS", tt.name, tt.value)
		if rep.load.Status != statusFail || !strings.Contains(rep.load.Message, tt.want) {
			t.Errorf("%s: %s", tt.name, rep.text)
		}
	}
	rep := r.put("1,a,2\n", "merge_type", "DELETE", "negative", "true")
	if !strings.Contains(rep.load.Message, "Negative is only used when merge type is APPEND.") {
		t.Errorf("negative: %s", rep.text)
	}
	rep = r.put("1,a,2\n", "merge_type", "merge", "delete", "n=1")
	if !strings.Contains(rep.load.Message, "load by MERGE or DELETE is only supported in unique tables.") {
		t.Errorf("merge: %s", rep.text)
	}
}
