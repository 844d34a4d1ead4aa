package ddl

import (
	"slices"
	"strings"
	"testing"
)

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"%", "", true}, {"%", "abc", true},
		{"a%c", "abbc", true}, {"a%c", "ab", false}, {"%b%", "abc", true}, {"_b_", "abc", true},
		{"_", "中", true}, {"中%", "中文", true}, {"GROUP\\_commit", "group_commit", true}, {"a\\_b", "axb", false},
		{"a\\%", "a%", true}, {"a\\%", "ab", false}, {"%a%a%a%", "aa", false}, {"a\\", "a\\", true},
		{strings.Repeat("%a", 50), strings.Repeat("a", 5000) + "b", false},
	} {
		if got := Like(c.pattern, c.s); got != c.want {
			t.Errorf("%.20q LIKE %q is %v", c.s, c.pattern, got)
		}
	}
}

func TestFilter(t *testing.T) {
	row := map[string]string{"variable_name": "autocommit", "value": "10"}
	get := func(c string) (string, bool) { v, ok := row[strings.ToLower(c)]; return v, ok }
	for where, want := range map[string]bool{
		"Variable_name = 'AUTOCOMMIT'":                true,
		"Variable_name in ('x', 'autocommit')":        true,
		"Variable_name not in ('x', 'autocommit')":    false,
		"Variable_name like 'auto%' and value > 9":    true,
		"value >= 10 and value <= 10":                 true,
		"value < 9":                                   false,
		"value > -1":                                  true,
		"value <> '10' or variable_name != 'x'":       true,
		"not (value = 10 or value = 11)":              false,
		"missing = 'x'":                               false,
		"t.value = 10":                                true,
		"variable_name not like 'b%'":                 true,
		"variable_name > 'a' and variable_name < 'b'": true,
	} {
		s, err := Parse("show variables where " + where)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if got := s.(*Show).Where.Match(get); got != want {
			t.Errorf("%s is %v", where, got)
		}
	}
	s, err := Parse("show transaction where id = 5 and (label = 'l' or x = 1)")
	if err != nil {
		t.Fatal(err)
	}
	f := s.(*Show).Where
	if v, ok := f.Equal("ID"); !ok || v != "5" {
		t.Errorf("id %q %v", v, ok)
	}
	if _, ok := f.Equal("label"); ok {
		t.Error("a label within OR is no demand")
	}
	if got := f.Columns(nil); !slices.Equal(got, []string{"id", "label", "x"}) {
		t.Errorf("columns %v", got)
	}
}
