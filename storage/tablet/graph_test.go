package tablet

import (
	"fmt"
	"strings"
	"testing"

	"dorisgo/storage/rowset"
)

// node makes a rowset named by one letter.
func node(name byte, start, end int64, kind rowset.Kind) *Rowset {
	return &Rowset{Record: rowset.Record{Meta: rowset.Meta{ID: rowset.ID{name}, Bytes: 10}, Kind: kind, Start: start, End: end}}
}

func names(rowsets []*Rowset) string {
	var sb strings.Builder
	for _, rs := range rowsets {
		sb.WriteByte(rs.ID[0])
	}
	return sb.String()
}

// example is a(2) b(3) c(5) d(7), of which b and c became E(3…5).
func example(t *testing.T) *Graph {
	g := &Graph{}
	for _, rs := range []*Rowset{
		node('a', 2, 2, rowset.Inline), node('b', 3, 3, rowset.Inline), node('c', 5, 5, rowset.Inline), node('d', 7, 7, rowset.Inline),
	} {
		if err := g.Add(rs); err != nil {
			t.Fatal(err)
		}
	}
	in := []*Rowset{g.Get(rowset.ID{'b'}), g.Get(rowset.ID{'c'})}
	if !g.Replaceable(in) {
		t.Fatal("b, c cannot be replaced")
	}
	g.Replace(in, node('E', 3, 5, rowset.File), 1000)
	return g
}

func TestCapture(t *testing.T) {
	g := example(t)
	for version, want := range map[int64]string{1: "", 2: "a", 3: "ab", 4: "ab", 5: "aE", 6: "aE", 7: "aEd", 99: "aEd"} {
		if got, ok := g.Capture(version); !ok || names(got) != want {
			t.Errorf("at %d: %s, %t, want %s", version, names(got), ok, want)
		}
	}
	if gone := g.Sweep(999); gone != nil {
		t.Errorf("swept %s too early", names(gone))
	}
	if gone := g.Sweep(1000); names(gone) != "bc" {
		t.Errorf("swept %s", names(gone))
	}
	for version, want := range map[int64]string{2: "a", 3: "gone", 4: "gone", 5: "aE", 7: "aEd"} {
		got, ok := g.Capture(version)
		if s := names(got); ok && s != want || !ok && want != "gone" {
			t.Errorf("after the sweep at %d: %s, %t, want %s", version, s, ok, want)
		}
	}
}

func TestSweepWaitsForReaders(t *testing.T) {
	g := example(t)
	held, _ := g.Capture(4)
	for _, rs := range held {
		rs.Ref()
	}
	if gone := g.Sweep(5000); gone != nil || !g.Held() {
		t.Errorf("swept %s under a reader", names(gone))
	}
	for _, rs := range held {
		rs.Unref()
	}
	// a and E become F: E's inputs go first, then a and E.
	live := []*Rowset{g.Get(rowset.ID{'a'}), g.Get(rowset.ID{'E'})}
	g.Replace(live, node('F', 2, 5, rowset.File), 2000)
	if got, ok := g.Capture(4); !ok || names(got) != "ab" {
		t.Errorf("through two outputs: %s", names(got))
	}
	if gone := g.Sweep(1500); names(gone) != "bc" {
		t.Errorf("swept %s", names(gone))
	}
	if gone := g.Sweep(5000); names(gone) != "aE" || g.Held() {
		t.Errorf("swept %s", names(gone))
	}
}

func TestReplaceable(t *testing.T) {
	g := example(t)
	get := func(names string) []*Rowset {
		var list []*Rowset
		for _, n := range []byte(names) {
			list = append(list, g.Get(rowset.ID{n}))
		}
		return list
	}
	for list, want := range map[string]bool{"a": true, "aE": true, "aEd": true, "Ed": true, "": false, "b": false, "ad": false, "Ea": false} {
		if got := g.Replaceable(get(list)); got != want {
			t.Errorf("%q: %t", list, got)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	g := example(t)
	again := node('d', 9, 9, rowset.Inline)
	for _, rs := range []*Rowset{node('x', 6, 6, rowset.Inline), node('x', 7, 7, rowset.Inline), node('x', 5, 9, rowset.File), again} {
		if g.Add(rs) == nil {
			t.Errorf("%c (%d…%d) was added", rs.ID[0], rs.Start, rs.End)
		}
	}
	second := node('e', 7, 7, rowset.Inline)
	second.Seq = 1
	if err := g.Add(second); err != nil {
		t.Error(err)
	}
}

func TestInlineRun(t *testing.T) {
	for _, c := range []struct {
		rowsets string // lower case inline, upper case file, ' before a change of columns
		upTo    int64
		max     int64
		want    string
	}{
		{"", 9, 100, ""},
		{"A", 9, 100, ""},
		{"abc", 9, 100, "abc"},
		{"Abc", 9, 100, "bc"},
		{"abCd", 9, 100, "ab"},
		{"ABCd", 9, 100, "d"},
		{"ab'cd", 9, 100, "ab"},
		{"abcd", 3, 100, "ab"},
		{"abcd", 9, 25, "abc"},
		{"Abcd", 2, 25, ""},
	} {
		g := &Graph{}
		version, cols := int64(1), byte(0)
		for _, n := range []byte(c.rowsets) {
			if n == '\'' {
				cols++
				continue
			}
			version++
			kind := rowset.Inline
			if n < 'a' {
				kind = rowset.File
			}
			rs := node(n, version, version, kind)
			rs.ColumnsID[0] = cols
			if err := g.Add(rs); err != nil {
				t.Fatal(err)
			}
		}
		if got := names(g.InlineRun(c.upTo, c.max)); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

func ExampleGraph_Capture() {
	g := &Graph{}
	for v := int64(2); v < 5; v++ {
		if err := g.Add(node(byte('a'+v), v, v, rowset.Inline)); err != nil {
			fmt.Println(err)
		}
	}
	rowsets, ok := g.Capture(3)
	fmt.Println(names(rowsets), ok)
	// Output: cd true
}
