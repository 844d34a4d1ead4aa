package block

import (
	"fmt"
	"testing"

	"dorisgo/value"
)

var timingTypes = []value.Type{{Kind: value.Int}, {Kind: value.VarChar, Length: 50}, {Kind: value.Int}}

// BenchmarkAppendText converts rows (int, varchar, int); rows/s is the figure
// to watch.
func BenchmarkAppendText(b *testing.B) {
	fields := [][]byte{[]byte("123456"), []byte("some text"), []byte("-42")}
	benchRows(b, timingTypes, fields)
}

// BenchmarkAppendTextWide has one column of each costly type.
func BenchmarkAppendTextWide(b *testing.B) {
	types := []value.Type{{Kind: value.BigInt}, {Kind: value.Decimal, Precision: 18, Scale: 4}, {Kind: value.Date},
		{Kind: value.DateTime, Scale: 6}, {Kind: value.Double}, {Kind: value.LargeInt}, {Kind: value.Boolean}, {Kind: value.JSON}}
	fields := [][]byte{[]byte("1234567890123"), []byte("12345.6789"), []byte("2024-02-29"), []byte("2024-02-29 12:34:56.789012"),
		[]byte("3.141592653589793"), []byte("-170141183460469231731687303715884105728"), []byte("true"), []byte(`{"a": [1, 2]}`)}
	benchRows(b, types, fields)
}

func benchRows(b *testing.B, types []value.Type, fields [][]byte) {
	blk := New(types)
	o := &ConvertOptions{Strict: true}
	row := func() {
		for i, f := range fields {
			if err := blk.Col(i).AppendText(f, o); err != nil {
				b.Fatal(err)
			}
		}
		blk.EndRow()
		if blk.Rows() == 4096 {
			blk.Reset()
		}
	}
	for range 4096 {
		row()
	}
	b.ReportAllocs()
	for b.Loop() {
		row()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func timingBlock(b *testing.B, rows int) *Block {
	blk := New(timingTypes)
	for i := range rows {
		fill(b, blk, []any{i * 7919 % 100003, "some text", i})
	}
	return blk
}

// BenchmarkEncodeOne and BenchmarkDecodeOne are the cost of one load's row.
func BenchmarkEncodeOne(b *testing.B) {
	blk := timingBlock(b, 1)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendEncoded(buf[:0], blk)
	}
}

func BenchmarkDecodeOne(b *testing.B) {
	enc := AppendEncoded(nil, timingBlock(b, 1))
	blk := New(timingTypes)
	b.ReportAllocs()
	for b.Loop() {
		if blk.Rows() == 4096 {
			blk.Reset()
		}
		if _, err := DecodeAppend(blk, enc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode100k(b *testing.B) {
	enc := AppendEncoded(nil, timingBlock(b, 100_000))
	blk := New(timingTypes)
	b.ReportAllocs()
	b.SetBytes(int64(len(enc)))
	for b.Loop() {
		blk.Reset()
		if _, err := DecodeAppend(blk, enc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSort100k(b *testing.B) {
	blk := timingBlock(b, 100_000)
	for b.Loop() {
		blk.SortPermutation([]int{0})
	}
}

func BenchmarkSplit100k(b *testing.B) {
	blk := timingBlock(b, 100_000)
	order := blk.SortPermutation(nil)
	for b.Loop() {
		for _, idx := range blk.RowsByBucket([]int{0}, 16, order) {
			blk.Gather(idx)
		}
	}
}

// TestHotPathDoesNotAllocate holds conversions of every type to no allocation.
func TestHotPathDoesNotAllocate(t *testing.T) {
	types := []value.Type{{Kind: value.Boolean}, {Kind: value.TinyInt}, {Kind: value.BigInt}, {Kind: value.LargeInt}, {Kind: value.Float},
		{Kind: value.Double}, {Kind: value.Decimal, Precision: 38, Scale: 9}, {Kind: value.Date}, {Kind: value.DateTime, Scale: 6},
		{Kind: value.VarChar, Length: 9}, {Kind: value.JSON}}
	texts := []string{"true", "1.0", "-9223372036854775808", "170141183460469231731687303715884105727", "3.4e38",
		"1.79769313486231570000000000000000000001e308", "12345678901234567890.1234567895", "2024-02-29T10:00:00Z",
		"2024-02-29 12:34:56.7890125+08:00", "text", `{"a" : 1}`}
	b := New(types)
	o := &ConvertOptions{Strict: true}
	fields := make([][]byte, len(texts))
	for i, s := range texts {
		fields[i] = []byte(s)
	}
	row := func() {
		b.Reset()
		for i, f := range fields {
			if err := b.Col(i).AppendText(f, o); err != nil {
				t.Fatal(err)
			}
			b.Col(i).AppendNull()
		}
	}
	row()
	if n := testing.AllocsPerRun(100, row); n != 0 {
		t.Errorf("%v allocations for a row", n)
	}
}

// BenchmarkTakeBackOne drops the last of many rows with NULLs among them: what a
// load does with each bad row. Its time must not depend on the rows before.
func BenchmarkTakeBackOne(b *testing.B) {
	for _, rows := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			blk := New([]value.Type{{Kind: value.Int}})
			for i := range rows {
				if i%2 == 0 {
					blk.Col(0).AppendNull()
				} else {
					blk.Col(0).AppendInt64(int64(i))
				}
				blk.EndRow()
			}
			for b.Loop() {
				blk.Col(0).AppendInt64(1)
				blk.Truncate(rows)
			}
		})
	}
}
