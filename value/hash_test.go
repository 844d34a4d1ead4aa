package value_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"dorisgo/block"
	"dorisgo/value"
	"dorisgo/value/valuetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestBucketGolden holds the bucket hash to docs/format/bucket.md. A
// difference means that rows on disk would be looked for in other tablets: it
// needs a new HashVersion.
func TestBucketGolden(t *testing.T) {
	var out bytes.Buffer
	for _, typ := range valuetest.Types() {
		fmt.Fprintf(&out, "%s NULL %08x %08x\n", typ, value.HashValue(0, typ, nil, true), value.HashValue(12345, typ, nil, true))
		for _, c := range valuetest.Limits() {
			if c.Type != typ || len(c.Want) > 255 {
				continue
			}
			raw := physical(t, typ, c.Text)
			fmt.Fprintf(&out, "%s %q %08x %08x\n", typ, c.Want, value.HashValue(0, typ, raw, false), value.HashValue(12345, typ, raw, false))
		}
	}
	const file = "testdata/bucket.golden"
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("the bucket hash changed: compare %s", file)
	}
}

func physical(t *testing.T, typ value.Type, text string) []byte {
	t.Helper()
	b := block.New([]value.Type{typ})
	if err := b.Col(0).AppendText([]byte(text), &block.ConvertOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.Col(0).Raw(0)
}

// slowCRC is the CRC of the specification, bit by bit.
func slowCRC(h uint32, p []byte) uint32 {
	h = ^h
	for _, x := range p {
		h ^= uint32(x)
		for range 8 {
			if h&1 != 0 {
				h = h>>1 ^ 0xedb88320
			} else {
				h >>= 1
			}
		}
	}
	return ^h
}

func TestHashIsCRC32(t *testing.T) {
	str := value.Type{Kind: value.String}
	for _, c := range []struct {
		typ  value.Type
		raw  []byte
		null bool
		as   []byte
	}{
		{str, []byte("123456789"), false, []byte("123456789")},
		{str, nil, false, nil},
		{str, nil, true, make([]byte, 4)},
		{value.Type{Kind: value.LargeInt}, nil, true, make([]byte, 4)},
		{value.Type{Kind: value.Int}, []byte{1, 2, 3, 4}, false, []byte{1, 2, 3, 4}},
		{value.Type{Kind: value.Float}, binary.LittleEndian.AppendUint32(nil, 1<<31), false, make([]byte, 4)},
		{value.Type{Kind: value.Double}, binary.LittleEndian.AppendUint64(nil, 1<<63), false, make([]byte, 8)},
		{value.Type{Kind: value.Float}, binary.LittleEndian.AppendUint32(nil, 0xffc00001), false, []byte{0, 0, 0xc0, 0x7f}},
		{value.Type{Kind: value.Double}, binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN())|1<<63), false,
			[]byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}},
	} {
		for _, seed := range []uint32{0, 1, 0xffffffff} {
			if got, want := value.HashValue(seed, c.typ, c.raw, c.null), slowCRC(seed, c.as); got != want {
				t.Errorf("%s %x: %08x, want %08x", c.typ, c.raw, got, want)
			}
		}
	}
	if got := value.HashValue(0, str, []byte("123456789"), false); got != 0xcbf43926 {
		t.Errorf("check value %08x", got)
	}
	if b := value.Bucket(math.MaxUint32, 7); b != math.MaxUint32%7 {
		t.Errorf("bucket %d", b)
	}
}

// TestCompare orders neighbours of each type both ways.
func TestCompare(t *testing.T) {
	cases := []struct {
		typ value.Type
		// ascending, each less than the next
		texts []string
	}{
		{value.Type{Kind: value.Boolean}, []string{"0", "1"}},
		{value.Type{Kind: value.TinyInt}, []string{"-128", "-1", "0", "127"}},
		{value.Type{Kind: value.SmallInt}, []string{"-32768", "-1", "0", "32767"}},
		{value.Type{Kind: value.Int}, []string{"-2147483648", "-1", "0", "2147483647"}},
		{value.Type{Kind: value.BigInt}, []string{"-9223372036854775808", "-1", "0", "9223372036854775807"}},
		{value.Type{Kind: value.LargeInt}, []string{"-170141183460469231731687303715884105728", "-18446744073709551616", "-1", "0",
			"18446744073709551615", "18446744073709551616", "170141183460469231731687303715884105727"}},
		{value.Type{Kind: value.Float}, []string{"-inf", "-1", "-1e-45", "0", "1e-45", "1", "inf", "nan"}},
		{value.Type{Kind: value.Double}, []string{"-inf", "-1", "-5e-324", "0", "5e-324", "1", "inf", "nan"}},
		{value.Type{Kind: value.Decimal, Precision: 38, Scale: 2}, []string{"-1.5", "-0.01", "0", "0.01", "1e30"}},
		{value.Type{Kind: value.Date}, []string{"0000-01-01", "1969-12-31", "1970-01-01", "9999-12-31"}},
		{value.Type{Kind: value.DateTime, Scale: 6}, []string{"0000-01-01", "1969-12-31 23:59:59.999999", "1970-01-01", "9999-12-31"}},
		{value.Type{Kind: value.Char, Length: 99}, []string{"", " ", "a", "a ", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "b", "é", "中", "😀"}},
	}
	for _, c := range cases {
		for i, a := range c.texts {
			for j, b := range c.texts {
				want := min(1, max(-1, i-j))
				if got := value.Compare(c.typ, physical(t, c.typ, a), physical(t, c.typ, b)); got != want {
					t.Errorf("%s: Compare(%s, %s) = %d", c.typ, a, b, got)
				}
			}
		}
	}
	double := value.Type{Kind: value.Double}
	if value.Compare(double, physical(t, double, "-0"), physical(t, double, "0")) != 0 {
		t.Error("-0 differs from 0")
	}
}
