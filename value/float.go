package value

import (
	"math"
	"strconv"
	"unsafe"
)

// ParseFloat reads a FLOAT or DOUBLE: decimal digits with point and exponent,
// or nan, inf, infinity in any case with an optional sign; blanks around. The
// result is the nearest value of the kind. A number too large for the kind is
// out of range, never an infinity.
func ParseFloat(b []byte, k Kind) (float64, error) {
	if _, ok := scanNumber(b); !ok {
		if v, ok := parseNotFinite(b); ok {
			return v, nil
		}
		return 0, NewConvError(Malformed, Type{Kind: k}, b)
	}
	bits := 64
	if k == Float {
		bits = 32
	}
	t := trimBlanks(b)
	// The string is not kept: strconv copies what it puts into errors.
	v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(t), len(t)), bits)
	if err != nil {
		return 0, NewConvError(OutOfRange, Type{Kind: k}, b)
	}
	return v, nil
}

func parseNotFinite(b []byte) (float64, bool) {
	b = trimBlanks(b)
	sign := 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	switch {
	case equalFold(b, "nan"):
		return math.NaN(), true
	case equalFold(b, "inf"), equalFold(b, "infinity"):
		return math.Inf(sign), true
	}
	return 0, false
}

// AppendFloat appends the shortest text that reads back as v in the kind
// (Float or Double): plain digits while the exponent is moderate (-4 to 6 for
// FLOAT, to 15 for DOUBLE), else with exponent, as in 1e+16. The others are
// NaN, Infinity and -Infinity.
func AppendFloat(dst []byte, v float64, k Kind) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case v > math.MaxFloat64:
		return append(dst, "Infinity"...)
	case v < -math.MaxFloat64:
		return append(dst, "-Infinity"...)
	}
	bits, limit := 64, 1e16
	if k == Float {
		bits, limit = 32, 1e7
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= limit) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}
