package value

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Int128 is a two's complement 128-bit integer: the value of a LARGEINT, or
// the unscaled value of a DECIMAL.
type Int128 struct {
	Hi int64
	Lo uint64
}

// The limits of Int128, those of LARGEINT.
var (
	MaxInt128 = Int128{Hi: math.MaxInt64, Lo: math.MaxUint64}
	MinInt128 = Int128{Hi: math.MinInt64, Lo: 0}
)

// Int128FromInt64 is v.
func Int128FromInt64(v int64) Int128 { return Int128{Hi: v >> 63, Lo: uint64(v)} }

// Int128FromUint64 is v.
func Int128FromUint64(v uint64) Int128 { return Int128{Lo: v} }

// Int128FromBytes reads the 16 little-endian bytes of a block vector.
func Int128FromBytes(p []byte) Int128 {
	return Int128{Lo: binary.LittleEndian.Uint64(p), Hi: int64(binary.LittleEndian.Uint64(p[8:]))}
}

// AppendBytes appends the 16 little-endian bytes of a block vector.
func (v Int128) AppendBytes(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, v.Lo)
	return binary.LittleEndian.AppendUint64(dst, uint64(v.Hi))
}

// Int64 is v, and whether it fits.
func (v Int128) Int64() (int64, bool) { return int64(v.Lo), v.Hi == int64(v.Lo)>>63 }

// Sign is -1, 0 or 1.
func (v Int128) Sign() int {
	switch {
	case v.Hi < 0:
		return -1
	case v.Hi == 0 && v.Lo == 0:
		return 0
	default:
		return 1
	}
}

// Neg is -v; the negation of MinInt128 is itself.
func (v Int128) Neg() Int128 {
	lo, carry := bits.Add64(^v.Lo, 1, 0)
	return Int128{Hi: int64(^uint64(v.Hi) + carry), Lo: lo}
}

// Add is v+w modulo 2^128.
func (v Int128) Add(w Int128) Int128 {
	lo, carry := bits.Add64(v.Lo, w.Lo, 0)
	return Int128{Hi: int64(uint64(v.Hi) + uint64(w.Hi) + carry), Lo: lo}
}

// Sub is v-w modulo 2^128.
func (v Int128) Sub(w Int128) Int128 {
	lo, borrow := bits.Sub64(v.Lo, w.Lo, 0)
	return Int128{Hi: int64(uint64(v.Hi) - uint64(w.Hi) - borrow), Lo: lo}
}

// Cmp is -1, 0 or 1 as v is less than, equal to or greater than w.
func (v Int128) Cmp(w Int128) int {
	switch {
	case v.Hi < w.Hi || v.Hi == w.Hi && v.Lo < w.Lo:
		return -1
	case v == w:
		return 0
	default:
		return 1
	}
}

// Float64 is the nearest double, up to two roundings.
func (v Int128) Float64() float64 {
	hi, lo, neg := v.magnitude()
	f := math.Ldexp(float64(hi), 64) + float64(lo)
	if neg {
		return -f
	}
	return f
}

// FitsDecimal reports whether |v| < 10^precision, for a precision of 1 to 38.
func (v Int128) FitsDecimal(precision uint8) bool {
	hi, lo, _ := v.magnitude()
	p := pow10x128[precision]
	return hi < p.hi || hi == p.hi && lo < p.lo
}

// magnitude is |v| as an unsigned number of two words.
func (v Int128) magnitude() (hi, lo uint64, neg bool) {
	if v.Hi >= 0 {
		return uint64(v.Hi), v.Lo, false
	}
	n := v.Neg()
	return uint64(n.Hi), n.Lo, true
}

// String is v in decimal digits.
func (v Int128) String() string {
	var buf [40]byte
	return string(AppendInt128(buf[:0], v))
}

// AppendInt128 appends v in decimal digits.
func AppendInt128(dst []byte, v Int128) []byte {
	if n, ok := v.Int64(); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	hi, lo, neg := v.magnitude()
	if neg {
		dst = append(dst, '-')
	}
	if hi == 0 {
		return strconv.AppendUint(dst, lo, 10)
	}
	var buf [maxDigits]byte
	return append(dst, digitsOf(&buf, hi, lo)...)
}

// maxDigits is the length of 2^127 in decimal digits.
const maxDigits = 39

// digitsOf writes hi:lo, at most 2^127, right-aligned into buf and returns the
// written part without leading zeros, empty for zero.
func digitsOf(buf *[maxDigits]byte, hi, lo uint64) []byte {
	// hi is at most 2^63, less than 10^19, so the quotient fits a word.
	q, r := bits.Div64(hi, lo, pow10[19])
	i := maxDigits
	for n := 0; n < 19 && (q > 0 || r > 0); n++ {
		i--
		buf[i] = '0' + byte(r%10)
		r /= 10
	}
	for q > 0 {
		i--
		buf[i] = '0' + byte(q%10)
		q /= 10
	}
	return buf[i:]
}

// ParseInt128 reads a LARGEINT with the grammar of ParseInteger.
func ParseInt128(b []byte) (Int128, error) {
	n, ok := scanNumber(b)
	if !ok {
		return Int128{}, NewConvError(Malformed, Type{Kind: LargeInt}, b)
	}
	m, rest, ok := n.scaled(0)
	if !ok {
		return Int128{}, NewConvError(OutOfRange, Type{Kind: LargeInt}, b)
	}
	if rest != exact {
		return Int128{}, NewConvError(Malformed, Type{Kind: LargeInt}, b)
	}
	v, ok := m.signed(n.neg)
	if !ok {
		return Int128{}, NewConvError(OutOfRange, Type{Kind: LargeInt}, b)
	}
	return v, nil
}
