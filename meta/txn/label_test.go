package txn

import (
	"strings"
	"testing"

	"dorisgo/doriserr"
)

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		label        string
		any, clients bool
	}{
		{"a", true, true},
		{"a:b-c_d", true, true},
		{"0", true, true},
		{strings.Repeat("x", 128), true, true},
		{strings.Repeat("x", 129), false, false},
		{"", false, false},
		{"a b", false, false},
		{" a", false, false},
		{"a\n", false, false},
		{"编", false, false},
		{"é", false, false},
		{"a.b", false, false},
		{"a/b", false, false},
		{"a'b", false, false},
		{"group_commit_1", true, false},
		{"group_commit", true, true},
	} {
		for _, c := range []struct {
			what  string
			check func(string) error
			ok    bool
		}{{"any", CheckLabel, tt.any}, {"a client's", CheckClientLabel, tt.clients}} {
			if err := c.check(tt.label); (err == nil) != c.ok || err != nil && !doriserr.Is(err, doriserr.LabelFormat) {
				t.Errorf("%q as %s label: %v", tt.label, c.what, err)
			}
		}
	}
}
