package block_test

import (
	"testing"

	"dorisgo/block"
	"dorisgo/value"
)

// TestSumRows: the sum is that of the rows, however they are arranged.
func TestSumRows(t *testing.T) {
	types := []value.Type{{Kind: value.BigInt}, {Kind: value.String}}
	make2 := func(rows ...any) *block.Block { // an int and a string (nil for NULL) each
		b := block.New(types)
		for i := 0; i < len(rows); i += 2 {
			b.Col(0).AppendInt64(int64(rows[i].(int)))
			if s, ok := rows[i+1].(string); ok {
				b.Col(1).AppendBytes([]byte(s))
			} else {
				b.Col(1).AppendNull()
			}
			b.EndRow()
		}
		return b
	}
	ids := []int32{3, 8}
	all := make2(1, "a", 2, nil, 1, "a").SumRows(ids)
	swapped := block.New([]value.Type{types[1], types[0]})
	for _, v := range []string{"a", "", "a"} {
		if v == "" {
			swapped.Col(0).AppendNull()
			swapped.Col(1).AppendInt64(2)
		} else {
			swapped.Col(0).AppendBytes([]byte(v))
			swapped.Col(1).AppendInt64(1)
		}
		swapped.EndRow()
	}
	for name, got := range map[string]uint64{
		"other order":   make2(2, nil, 1, "a", 1, "a").SumRows(ids),
		"two blocks":    make2(1, "a").SumRows(ids) + make2(1, "a", 2, nil).SumRows(ids),
		"other columns": swapped.SumRows([]int32{8, 3}),
	} {
		if got != all {
			t.Errorf("%s: %x, want %x", name, got, all)
		}
	}
	for name, got := range map[string]uint64{
		"a row less":       make2(1, "a", 2, nil).SumRows(ids),
		"NULL and empty":   make2(1, "a", 2, "", 1, "a").SumRows(ids),
		"another value":    make2(1, "a", 2, nil, 1, "b").SumRows(ids),
		"another column":   make2(1, "a", 2, nil, 1, "a").SumRows([]int32{3, 9}),
		"values exchanged": make2(2, "a", 1, nil, 1, "a").SumRows(ids),
	} {
		if got == all {
			t.Errorf("%s: the same sum", name)
		}
	}
}
