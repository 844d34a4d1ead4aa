package value

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func toBig(v Int128) *big.Int {
	b := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(v.Lo))
}

// fromBig is b modulo 2^128.
func fromBig(b *big.Int) Int128 {
	mask := new(big.Int).SetUint64(1<<64 - 1)
	lo := new(big.Int).And(b, mask).Uint64()
	hi := new(big.Int).And(new(big.Int).Rsh(b, 64), mask).Uint64()
	return Int128{Hi: int64(hi), Lo: lo}
}

// TestInt128 holds the arithmetic against math/big.
func TestInt128(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) Int128 {
			return Int128{Hi: rapid.Int64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		})
		v, w := gen.Draw(t, "v"), gen.Draw(t, "w")
		bv, bw := toBig(v), toBig(w)
		if got := v.String(); got != bv.String() {
			t.Fatalf("String: %s, want %s", got, bv)
		}
		if got := v.Cmp(w); got != bv.Cmp(bw) {
			t.Fatalf("Cmp: %d", got)
		}
		if got := v.Sign(); got != bv.Sign() {
			t.Fatalf("Sign: %d", got)
		}
		if got, want := v.Add(w), fromBig(new(big.Int).Add(bv, bw)); got != want {
			t.Fatalf("Add: %s, want %s", got, want)
		}
		if got, want := v.Sub(w), fromBig(new(big.Int).Sub(bv, bw)); got != want {
			t.Fatalf("Sub: %s, want %s", got, want)
		}
		if got, want := v.Neg(), fromBig(new(big.Int).Neg(bv)); got != want {
			t.Fatalf("Neg: %s, want %s", got, want)
		}
		if n, ok := v.Int64(); ok != bv.IsInt64() || ok && n != bv.Int64() {
			t.Fatalf("Int64: %d, %v", n, ok)
		}
		if got := Int128FromBytes(v.AppendBytes(nil)); got != v {
			t.Fatalf("bytes: %s", got)
		}
		back, err := ParseInt128([]byte(v.String()))
		if err != nil || back != v {
			t.Fatalf("ParseInt128(%s) = %s, %v", v, back, err)
		}
		p := rapid.Uint8Range(1, 38).Draw(t, "p")
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil)
		if got := v.FitsDecimal(p); got != (bv.CmpAbs(limit) < 0) {
			t.Fatalf("FitsDecimal(%d): %v", p, got)
		}
	})
}

func TestInt128Edges(t *testing.T) {
	cases := []struct {
		v    Int128
		want string
		f    float64
	}{
		{MaxInt128, "170141183460469231731687303715884105727", 1 << 127},
		{MinInt128, "-170141183460469231731687303715884105728", -(1 << 127)},
		{Int128{}, "0", 0},
		{Int128FromInt64(-1), "-1", -1},
		{Int128FromUint64(1<<64 - 1), "18446744073709551615", 1 << 64},
		{Int128{Hi: 1}, "18446744073709551616", 1 << 64},
		{Int128{Hi: -1}, "-18446744073709551616", -(1 << 64)},
	}
	for _, c := range cases {
		if c.v.String() != c.want || c.v.Float64() != c.f {
			t.Errorf("got %s, %g; want %s, %g", c.v, c.v.Float64(), c.want, c.f)
		}
	}
}
