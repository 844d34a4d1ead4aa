package duck

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"dorisgo/block"
	"dorisgo/value"
	"dorisgo/value/valuetest"
)

// limits is a block with one column for each type of package valuetest and all
// its values, NULLs between and after them.
func limits(t testing.TB) (*block.Block, []ColumnDesc) {
	types := valuetest.Types()
	cases := map[value.Type][]string{}
	for _, c := range valuetest.Limits() {
		cases[c.Type] = append(cases[c.Type], c.Text)
	}
	b := block.New(types)
	cols := make([]ColumnDesc, len(types))
	rows := 0
	for i, ty := range types {
		cols[i] = ColumnDesc{UniqueID: int32(i), Name: fmt.Sprintf("c %d %s", i, ty), Type: ty, Nullable: true}
		rows = max(rows, len(cases[ty]))
	}
	for r := range 2*rows + 1 {
		for i, ty := range types {
			if r%2 == 1 || r/2 >= len(cases[ty]) {
				b.Col(i).AppendNull()
				continue
			}
			if err := b.Col(i).AppendText([]byte(cases[ty][r/2]), &block.ConvertOptions{Strict: true}); err != nil {
				t.Fatal(err)
			}
		}
		b.EndRow()
	}
	return b, cols
}

func TestLimitsOfTypes(t *testing.T) {
	d, dir := open(t)
	want, cols := limits(t)
	types := want.Types()
	in := TableInput{Name: "t", Columns: cols, Blocks: []*block.Block{want}}
	get := func(what string, in TableInput) *block.Block {
		t.Helper()
		got := mustAll(t, d, &Query{SQL: "SELECT * FROM t", Tables: []TableInput{in}, Types: types})
		equal(t, what, got, want)
		return got
	}
	get("TEMP table", in)
	path := filepath.Join(dir, "limits.parquet")
	info, err := d.WriteParquet(t.Context(), path, cols, sequence(in.Blocks), nil)
	if err != nil || info.Rows != int64(want.Rows()) || info.Bytes == 0 {
		t.Fatalf("%+v, %v", info, err)
	}
	in.Blocks, in.Files = nil, []File{{Path: path}}
	get("Parquet", in)
	// Compaction: from file to file, twice.
	for i := range 2 {
		merged := filepath.Join(dir, fmt.Sprintf("merged%d.parquet", i))
		if info, err = d.MergeParquet(t.Context(), merged, in, nil); err != nil || info.Rows != int64(want.Rows()) {
			t.Fatalf("%+v, %v", info, err)
		}
		in.Files = []File{{Path: merged}}
		get(fmt.Sprintf("merge %d", i), in)
	}
}

func TestFloatsThatAreNoNumbers(t *testing.T) {
	d, dir := open(t)
	cols := []ColumnDesc{{UniqueID: 1, Name: "f", Type: value.Type{Kind: value.Float}}, {UniqueID: 2, Name: "d", Type: value.Type{Kind: value.Double}}}
	want := block.New([]value.Type{cols[0].Type, cols[1].Type})
	for _, s := range []string{"nan", "inf", "-inf", "-0"} {
		for i := range cols {
			if err := want.Col(i).AppendText([]byte(s), &block.ConvertOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		want.EndRow()
	}
	path := filepath.Join(dir, "f.parquet")
	if _, err := d.WriteParquet(t.Context(), path, cols, sequence([]*block.Block{want}), nil); err != nil {
		t.Fatal(err)
	}
	equal(t, "floats", mustAll(t, d, &Query{SQL: "SELECT * FROM t", Tables: []TableInput{{Name: "t", Columns: cols, Files: []File{{Path: path}}}}}), want)
}

// Sums of integers are wider than the integers.
func TestSumsAreExact(t *testing.T) {
	d, _ := open(t)
	for _, c := range []struct {
		typ          value.Type
		values, want string
	}{
		{bigT, "9223372036854775807,9223372036854775807,9223372036854775807", "27670116110564327421"},
		{value.Type{Kind: value.LargeInt}, "170141183460469231731687303715884105726,1", "170141183460469231731687303715884105727"},
		{value.Type{Kind: value.LargeInt}, "-170141183460469231731687303715884105728,170141183460469231731687303715884105727", "-1"},
	} {
		b := block.New([]value.Type{c.typ})
		for _, v := range strings.Split(c.values, ",") {
			if err := b.Col(0).AppendText([]byte(v), &block.ConvertOptions{}); err != nil {
				t.Fatal(err)
			}
			b.EndRow()
		}
		in := []TableInput{{Name: "t", Columns: []ColumnDesc{{Name: "v", Type: c.typ}}, Blocks: []*block.Block{b}}}
		got := mustAll(t, d, &Query{SQL: "SELECT sum(v) FROM t", Tables: in}).Col(0)
		if s := got.Int128(0).String(); got.Type().Kind != value.LargeInt || s != c.want {
			t.Errorf("sum(%s) = %s (%s), want %s", c.values, s, got.Type(), c.want)
		}
	}
}
