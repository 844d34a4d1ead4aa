package block

import (
	"bytes"
	"fmt"
	"testing"

	"dorisgo/value"
)

// T makes types short.
func typ(k value.Kind, params ...uint8) value.Type {
	t := value.Type{Kind: k}
	switch k {
	case value.Decimal:
		t.Precision, t.Scale = params[0], params[1]
	case value.DateTime:
		t.Scale = params[0]
	case value.Char, value.VarChar:
		t.Length = uint32(params[0])
	}
	return t
}

// fill appends rows given as texts; nil is NULL.
func fill(t testing.TB, b *Block, rows ...[]any) {
	t.Helper()
	for _, row := range rows {
		for i, v := range row {
			if v == nil {
				b.Col(i).AppendNull()
				continue
			}
			if err := b.Col(i).AppendText(fmt.Append(nil, v), &ConvertOptions{Strict: true}); err != nil {
				t.Fatalf("column %d, value %v: %v", i, v, err)
			}
		}
		b.EndRow()
	}
}

// dump is the rows as text, for comparison.
func dump(b *Block) string {
	var out []byte
	for i := range b.Rows() {
		for k := range b.NumCols() {
			c := b.Col(k)
			if k > 0 {
				out = append(out, '|')
			}
			if c.IsNull(i) {
				out = append(out, "NULL"...)
				continue
			}
			out = value.AppendText(out, c.Type(), c.Raw(i))
		}
		out = append(out, '\n')
	}
	return string(out)
}

func TestOneRowIsCompact(t *testing.T) {
	b := New([]value.Type{typ(value.Int), typ(value.VarChar, 50), typ(value.Int)})
	fill(t, b, []any{1, "abcdef", 2})
	enc := AppendEncoded(nil, b)
	if len(enc) > 20 {
		t.Errorf("%d bytes", len(enc))
	}
	for range 3 {
		if _, err := DecodeAppend(b, enc); err != nil {
			t.Fatal(err)
		}
	}
	if got := dump(b); got != "1|abcdef|2\n1|abcdef|2\n1|abcdef|2\n1|abcdef|2\n" {
		t.Error(got)
	}
}

// TestBulkEqualsSingle holds AppendColumn, Gather and the codec against
// appends one by one, around the edges of bitmap bytes.
func TestBulkEqualsSingle(t *testing.T) {
	types := []value.Type{typ(value.Int), typ(value.VarChar, 9), typ(value.Decimal, 9, 2), typ(value.Boolean)}
	make1 := func(n, nullEvery int) *Block {
		b := New(types)
		for i := range n {
			if nullEvery > 0 && i%nullEvery == 0 {
				fill(t, b, []any{nil, nil, nil, nil})
			} else {
				fill(t, b, []any{i, fmt.Sprint("s", i), fmt.Sprintf("%d.%02d", i, i%100), i % 2})
			}
		}
		return b
	}
	for n := range 19 {
		for m := range 19 {
			for _, every := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {2, 3}, {1, 1}, {1, 0}, {0, 1}} {
				x, y := make1(n, every[0]), make1(m, every[1])
				want := New(types)
				for i := range n {
					want.AppendRow(x, i)
				}
				for i := range m {
					want.AppendRow(y, i)
				}
				got := make1(n, every[0])
				got.AppendBlock(y)
				equal(t, "AppendBlock", got, want)
				got.Truncate(n)
				equal(t, "Truncate", got, x)
				enc := AppendEncoded(nil, y)
				if rows, err := DecodeRows(enc); err != nil || rows != m {
					t.Fatal(rows, err)
				}
				rest, err := DecodeAppend(got, append(enc, 7))
				if err != nil || !bytes.Equal(rest, []byte{7}) {
					t.Fatal(rest, err)
				}
				equal(t, "DecodeAppend", got, want)
				idx := make([]int32, n+m)
				for i := range idx {
					idx[i] = int32(i)
				}
				equal(t, "Gather", want.Gather(idx), want)
			}
		}
	}
}

func equal(t *testing.T, what string, got, want *Block) {
	t.Helper()
	if dump(got) != dump(want) {
		t.Fatalf("%s: got\n%swant\n%s", what, dump(got), dump(want))
	}
	if a, b := AppendEncoded(nil, got), AppendEncoded(nil, want); !bytes.Equal(a, b) {
		t.Fatalf("%s: encoded\n%x\nwant\n%x", what, a, b)
	}
	for i := range want.NumCols() {
		g, w := got.Col(i), want.Col(i)
		if g.Len() != w.Len() || g.NullCount() != w.NullCount() {
			t.Fatalf("%s: column %d: %d rows, %d NULLs; want %d, %d", what, i, g.Len(), g.NullCount(), w.Len(), w.NullCount())
		}
	}
}
