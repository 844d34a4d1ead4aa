package block

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
	"testing"

	"dorisgo/value"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenBlocks are small blocks of every shape that docs/format/block.md names.
func goldenBlocks(t testing.TB) (names []string, blocks []*Block) {
	add := func(name string, types []value.Type, rows ...[]any) {
		b := New(types)
		fill(t, b, rows...)
		names, blocks = append(names, name), append(blocks, b)
	}
	ints := []value.Type{typ(value.Int), typ(value.VarChar, 50), typ(value.Int)}
	add("empty", ints)
	add("one row", ints, []any{1, "abcdef", -2})
	add("no NULLs", ints, []any{1, "", 2}, []any{-1, "中", 2147483647})
	add("some NULLs", ints, []any{nil, "a", 1}, []any{2, nil, nil}, []any{3, "c", 3})
	add("a column of NULLs", ints, []any{nil, "a", 1}, []any{nil, "b", 2})
	add("nothing but NULLs", ints, []any{nil, nil, nil}, []any{nil, nil, nil})
	add("bitmap of two bytes", []value.Type{typ(value.Boolean)}, []any{1}, []any{0}, []any{nil}, []any{1}, []any{1}, []any{1}, []any{1},
		[]any{1}, []any{1}, []any{nil})
	add("long string", []value.Type{typ(value.String)}, []any{strings.Repeat("x", 200)})
	add("every type", []value.Type{typ(value.Boolean), typ(value.TinyInt), typ(value.SmallInt), typ(value.Int), typ(value.BigInt),
		typ(value.LargeInt), typ(value.Float), typ(value.Double), typ(value.Decimal, 9, 3), typ(value.Date), typ(value.DateTime, 6),
		typ(value.Char, 3), typ(value.VarChar, 9), typ(value.String), typ(value.JSON)},
		[]any{"true", -2, 3, -4, 5, -6, 1.5, -2.5, "-1.5", "1970-01-02", "1970-01-01 00:00:01", "c", "vc", "s", `{"a": 1}`})
	return names, blocks
}

// TestGolden holds the codec to the bytes on disk.
func TestGolden(t *testing.T) {
	names, blocks := goldenBlocks(t)
	var out strings.Builder
	for i, b := range blocks {
		fmt.Fprintf(&out, "# %s: %v\n%s%s\n", names[i], b.Types(), dump(b), hex.Dump(AppendEncoded(nil, b)))
	}
	const file = "testdata/block.golden"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the encoding changed: compare %s", file)
	}
}

// TestDecodeRefuses names each departure from docs/format/block.md.
func TestDecodeRefuses(t *testing.T) {
	cases := []struct {
		what  string
		types []value.Type
		in    string
	}{
		{"nothing", []value.Type{typ(value.Int)}, ""},
		{"rows without columns", nil, "\x01\x00\x00"},
		{"row count of eleven bytes", []value.Type{typ(value.Int)}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"},
		{"row count in a long form", []value.Type{typ(value.TinyInt)}, "\x81\x00\x00\x05"},
		{"huge row count", []value.Type{typ(value.TinyInt)}, "\xff\xff\xff\xff\x7f\x02"},
		{"row count beyond the bytes", []value.Type{typ(value.TinyInt), typ(value.TinyInt)}, "\x7f\x02\x02"},
		{"no column", []value.Type{typ(value.Int)}, "\x01"},
		{"unknown flag", []value.Type{typ(value.TinyInt)}, "\x01\x03\x05"},
		{"short values", []value.Type{typ(value.Int)}, "\x01\x00\x01\x02\x03"},
		{"second column missing", []value.Type{typ(value.TinyInt), typ(value.TinyInt)}, "\x01\x00\x05"},
		{"no bitmap", []value.Type{typ(value.TinyInt)}, "\x05\x01"},
		{"bits after the last row", []value.Type{typ(value.TinyInt)}, "\x02\x01\x05\x01\x00"},
		{"bitmap without NULL", []value.Type{typ(value.TinyInt)}, "\x02\x01\x03\x01\x01"},
		{"slot of a NULL not zero", []value.Type{typ(value.TinyInt)}, "\x02\x01\x01\x01\x01"},
		{"string in the slot of a NULL", []value.Type{typ(value.String)}, "\x02\x01\x01\x01a\x01b"},
		{"all NULL with a bitmap", []value.Type{typ(value.TinyInt), typ(value.TinyInt)}, "\x01\x01\x00\x00\x00\x05"},
		{"all NULL with two bitmaps", []value.Type{typ(value.TinyInt), typ(value.TinyInt)}, "\x01\x01\x00\x00\x01\x00\x00"},
		{"nothing but NULLs without bitmap", []value.Type{typ(value.TinyInt), typ(value.TinyInt)}, "\x01\x02\x02"},
		{"string past the end", []value.Type{typ(value.String)}, "\x01\x00\x05abcd"},
		{"string length huge", []value.Type{typ(value.String)}, "\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abcd"},
		{"string length in a long form", []value.Type{typ(value.String)}, "\x01\x00\x81\x00a"},
		{"string too long", []value.Type{typ(value.VarChar, 3)}, "\x01\x00\x04abcd"},
		{"bad UTF-8", []value.Type{typ(value.String)}, "\x01\x00\x02\xc0\xaf"},
		{"boolean of 2", []value.Type{typ(value.Boolean)}, "\x01\x00\x02"},
		{"decimal of two digits", []value.Type{typ(value.Decimal, 1, 0)}, "\x01\x00\x0a" + strings.Repeat("\x00", 15)},
		{"date after 9999", []value.Type{typ(value.Date)}, "\x01\x00\xff\xff\xff\x7f"},
		{"datetime after 9999", []value.Type{typ(value.DateTime, 0)}, "\x01\x00\xff\xff\xff\xff\xff\xff\xff\x7f"},
	}
	for _, c := range cases {
		b := New(c.types)
		for i := range b.NumCols() {
			b.Col(i).AppendNull()
		}
		b.EndRow()
		before := AppendEncoded(nil, b)
		_, err := DecodeAppend(b, []byte(c.in))
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", c.what, err)
		}
		if after := AppendEncoded(nil, b); !bytes.Equal(before, after) {
			t.Errorf("%s: the block was %x and is %x", c.what, before, after)
		}
	}
}

// TestCutAnywhere: no start of an encoded block is one, and the block is as
// before.
func TestCutAnywhere(t *testing.T) {
	names, blocks := goldenBlocks(t)
	for i, b := range blocks {
		enc := AppendEncoded(nil, b)
		into := New(b.Types())
		into.AppendBlock(b)
		for n := range enc {
			if rest, err := DecodeAppend(into, enc[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are a block, rest %x", names[i], n, len(enc), rest)
			}
			equal(t, names[i], into, b)
		}
	}
}

func FuzzDecodeAppend(f *testing.F) {
	_, blocks := goldenBlocks(f)
	for _, b := range blocks {
		f.Add(AppendEncoded(nil, b))
	}
	shapes := [][]value.Type{blocks[0].Types(), blocks[6].Types(), blocks[7].Types(), blocks[8].Types()}
	f.Fuzz(func(t *testing.T, src []byte) {
		rows, rowsErr := DecodeRows(src)
		for _, types := range shapes {
			b := New(types)
			rest, err := DecodeAppend(b, src)
			if b.MemSize() > 4096+len(src)*rowsPerByte*20*len(types)*2 {
				t.Fatalf("%d bytes made %d", len(src), b.MemSize())
			}
			if err != nil {
				if b.Rows() != 0 || b.Col(0).Len() != 0 {
					t.Fatal("rows are left after an error")
				}
				continue
			}
			if rowsErr != nil || b.Rows() != rows {
				t.Fatalf("%d rows, DecodeRows says %d, %v", b.Rows(), rows, rowsErr)
			}
			if again := AppendEncoded(nil, b); !bytes.Equal(again, src[:len(src)-len(rest)]) {
				t.Fatalf("%x decodes to a block that encodes as %x", src, again)
			}
			dump(b)
			b.Gather(b.SortPermutation([]int{0}))
		}
	})
}

// TestFull: a column of 2 GiB refuses more by every way in. Its bytes
// are addresses without memory: whoever touched them would crash.
func TestFull(t *testing.T) {
	full, err := syscall.Mmap(-1, 0, math.MaxInt32, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Munmap(full); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		kind value.Kind
		text string
	}{{value.String, "x"}, {value.JSON, "1"}} {
		b := New([]value.Type{typ(c.kind)})
		one := New(b.Types())
		fill(t, one, []any{c.text})
		enc := AppendEncoded(nil, one)
		col := b.Col(0)
		col.data = full
		if err := col.AppendText([]byte(c.text), &ConvertOptions{}); !errors.Is(err, ErrFull) {
			t.Errorf("AppendText: %v", err)
		}
		if _, err := DecodeAppend(b, enc); !errors.Is(err, ErrFull) || len(col.data) != math.MaxInt32 || col.Len() != 0 {
			t.Errorf("DecodeAppend: %v", err)
		}
		if col.Fits(1) || !col.Fits(0) {
			t.Error("Fits")
		}
	}
}
