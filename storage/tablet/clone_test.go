package tablet

import (
	"fmt"
	"testing"

	"dorisgo/storage/rowset"
)

func TestEnds(t *testing.T) {
	g := example(t) // a(2) E(3…5) d(7)
	for upTo, want := range map[int64]string{1: "[1]", 2: "[1 2]", 4: "[1 2]", 6: "[1 2 5 6]", 7: "[1 2 5 7]", 9: "[1 2 5 7 9]"} {
		if got := fmt.Sprint(g.Ends(upTo)); got != want {
			t.Errorf("up to %d: %s, want %s", upTo, got, want)
		}
	}
	empty := &Graph{}
	if got := fmt.Sprint(empty.Ends(1), empty.Ends(8)); got != "[1] [1 8]" {
		t.Errorf("without rowsets: %s", got)
	}
	// Two rowsets of version 5, the second of which was merged with later ones.
	for _, rs := range []*Rowset{node('a', 2, 5, rowset.File), node('b', 5, 9, rowset.File)} {
		if err := empty.Add(rs); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(empty.Ends(9)); got != "[1 9]" {
		t.Errorf("within a version: %s", got)
	}
}

func TestSwitch(t *testing.T) {
	for _, c := range []struct {
		keep  int64
		added []*Rowset
		want  string // live afterwards, or the error
		gone  string // by the sweep, with what it had replaced
	}{
		{7, []*Rowset{node('x', 8, 9, rowset.File)}, "aEdx", "bc"},
		{5, []*Rowset{node('x', 6, 8, rowset.File)}, "aEx", "bcd"},
		{2, []*Rowset{node('x', 3, 3, rowset.File), node('y', 4, 9, rowset.File)}, "axy", "bcEd"},
		{1, nil, "", "bcaEd"},
		{4, nil, "version 4 is within a rowset", ""},
		{5, []*Rowset{node('x', 5, 8, rowset.File)}, rowset.ID{'x'}.String() + " begins with version 5, which is kept", ""},
		{5, []*Rowset{node('a', 6, 8, rowset.File)}, rowset.ID{'a'}.String() + " is there twice", ""},
		{5, []*Rowset{node('x', 6, 8, rowset.File), node('y', 7, 9, rowset.File)},
			rowset.ID{'y'}.String() + " covers versions 7 to 9, and " + rowset.ID{'x'}.String() + " already covers 6 to 8", ""},
	} {
		g := example(t)
		if err := g.CheckSwitch(c.keep, c.added); err != nil {
			if got := err.Error(); got != c.want && got != "rowset "+c.want {
				t.Errorf("after %d: %q, want %q", c.keep, got, c.want)
			}
			continue
		}
		held := g.live[len(g.live)-1]
		held.Ref()
		g.Switch(c.keep, c.added, 2000)
		if got := names(g.live); got != c.want {
			t.Errorf("after %d: %s, want %s", c.keep, got, c.want)
		}
		gone := names(g.Sweep(1999)) + names(g.Sweep(2000))
		held.Unref()
		if gone += names(g.Sweep(2000)); gone != c.gone {
			t.Errorf("after %d: swept %s, want %s", c.keep, gone, c.gone)
		}
	}
}
