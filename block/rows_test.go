package block

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dorisgo/value"
)

var rowTypes = []value.Type{typ(value.TinyInt), typ(value.VarChar, 20), typ(value.Double), typ(value.Decimal, 9, 2), typ(value.Int)}

// genBlock makes blocks with many equal keys and NULLs; the last column is the
// row number.
func genBlock(t *rapid.T) *Block {
	b := New(rowTypes)
	for i := range rapid.IntRange(0, 60).Draw(t, "rows") {
		nulls := rapid.Byte().Draw(t, "nulls")
		texts := []string{
			fmt.Sprint(rapid.Int8Range(-2, 2).Draw(t, "tiny")),
			rapid.StringMatching(`(aaaaaaaa)?[ab\x00é]{0,2}`).Draw(t, "str"),
			rapid.SampledFrom([]string{"-inf", "-1", "-0", "0", "0.5", "nan"}).Draw(t, "double"),
			fmt.Sprint(rapid.Int32Range(-3, 3).Draw(t, "decimal")),
		}
		for k, text := range texts {
			if nulls>>k&3 == 3 {
				b.Col(k).AppendNull()
			} else if err := b.Col(k).AppendText([]byte(text), &ConvertOptions{Strict: true}); err != nil {
				t.Fatal(err)
			}
		}
		b.Col(4).AppendInt64(int64(i))
		b.EndRow()
	}
	return b
}

// TestSortPermutation: a permutation, in order, stable.
func TestSortPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := genBlock(t)
		keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 0, 4, rapid.ID).Draw(t, "keys")
		want := make([]int32, b.Rows())
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(x, y int32) int { return slowCompare(b, keys, int(x), int(y)) })
		if got := b.SortPermutation(keys); !slices.Equal(got, want) {
			t.Fatalf("by %v: %v, want %v in\n%s", keys, got, want, dump(b))
		}
	})
}

func slowCompare(b *Block, keys []int, i, j int) int {
	for _, k := range keys {
		c := b.Col(k)
		switch {
		case c.IsNull(i) && c.IsNull(j):
		case c.IsNull(i):
			return -1
		case c.IsNull(j):
			return 1
		default:
			if r := value.Compare(c.Type(), c.Raw(i), c.Raw(j)); r != 0 {
				return r
			}
		}
	}
	return 0
}

// TestRowsByBucket: every row is in its hash's bucket, once, in order.
func TestRowsByBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := genBlock(t)
		dist := rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 1, 3, rapid.ID).Draw(t, "dist")
		n := rapid.IntRange(1, 9).Draw(t, "n")
		of := b.Buckets(dist, n, nil)
		order := b.SortPermutation(rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 0, 2, rapid.ID).Draw(t, "order"))
		parts := b.RowsByBucket(dist, n, order)
		if len(parts) != n || len(of) != b.Rows() {
			t.Fatal(len(parts), len(of))
		}
		for k, part := range parts {
			var idx []int32
			for _, i := range order {
				if int(of[i]) == k {
					idx = append(idx, i)
				}
			}
			if !slices.Equal(part, idx) {
				t.Fatalf("bucket %d has rows %v, want %v", k, part, idx)
			}
		}
		for i := range b.Rows() {
			h := uint32(0)
			for _, k := range dist {
				h = value.HashValue(h, b.Col(k).Type(), b.Col(k).Raw(i), b.Col(k).IsNull(i))
			}
			if int(of[i]) != value.Bucket(h, n) {
				t.Fatalf("row %d is in %d", i, of[i])
			}
		}
	})
}

// TestTruncate: a block cut back is the block that was never longer, and goes
// on as such.
func TestTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := genBlock(t)
		n := rapid.IntRange(0, b.Rows()).Draw(t, "n")
		want := New(rowTypes)
		for i := range n {
			want.AppendRow(b, i)
		}
		got := New(rowTypes)
		got.AppendBlock(b)
		got.Col(0).AppendNull() // an unfinished row
		got.Col(1).AppendBytes([]byte("x"))
		got.Truncate(n)
		for range 2 {
			if string(AppendEncoded(nil, got)) != string(AppendEncoded(nil, want)) {
				t.Fatalf("got\n%swant\n%s", dump(got), dump(want))
			}
			got.AppendBlock(b)
			want.AppendBlock(b)
		}
	})
}

func TestSizes(t *testing.T) {
	b := New(rowTypes)
	if b.Bytes() != 4 || b.MemSize() < 4 {
		t.Errorf("an empty block has %d bytes, holds %d", b.Bytes(), b.MemSize())
	}
	fill(t, b, []any{1, "abc", 1, 1, 1}, []any{nil, nil, 1, 1, 1})
	// data, one bitmap byte for each of two columns, offsets
	if want := 2*(1+8+16+4) + 3 + 2 + 4*3; b.Bytes() != want {
		t.Errorf("%d bytes, want %d", b.Bytes(), want)
	}
	held := b.MemSize()
	b.Reset()
	if b.Rows() != 0 || b.Bytes() != 4 || b.MemSize() != held {
		t.Errorf("after Reset: %d rows, %d bytes, holds %d of %d", b.Rows(), b.Bytes(), b.MemSize(), held)
	}
}
