package value

import "math"

// IntegerRange is the limits of TINYINT to BIGINT.
func IntegerRange(k Kind) (lo, hi int64) {
	switch k {
	case TinyInt:
		return math.MinInt8, math.MaxInt8
	case SmallInt:
		return math.MinInt16, math.MaxInt16
	case Int:
		return math.MinInt32, math.MaxInt32
	default:
		return math.MinInt64, math.MaxInt64
	}
}

// InIntegerRange reports whether a TINYINT to BIGINT column holds v.
func InIntegerRange(v int64, k Kind) bool {
	lo, hi := IntegerRange(k)
	return lo <= v && v <= hi
}

// ParseInteger reads an integer of kind TinyInt to BigInt: a sign, digits,
// blanks around. Leading zeros are fine, and so are a fraction or exponent as
// long as the value is whole ("1.0", "1e2"), since JSON writers spell integers
// so. A value with a fraction ("1.5") and other bases ("0x10") are malformed.
// Nothing wraps round: a value outside the kind's range is an error.
func ParseInteger(b []byte, k Kind) (int64, error) {
	if v, ok := parseShortInteger(b); ok {
		lo, hi := IntegerRange(k)
		if v < lo || v > hi {
			return 0, NewConvError(OutOfRange, Type{Kind: k}, b)
		}
		return v, nil
	}
	return parseOddInteger(b, k)
}

// parseShortInteger reads a sign and 1 to 18 digits, the common spelling.
func parseShortInteger(b []byte) (int64, bool) {
	d := b
	neg := false
	if len(d) > 0 && d[0] == '-' {
		neg = true
		d = d[1:]
	}
	if len(d)-1 >= 18 || len(d) == 0 {
		return 0, false
	}
	var v int64
	for _, c := range d {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if neg {
		v = -v
	}
	return v, true
}

func parseOddInteger(b []byte, k Kind) (int64, error) {
	n, ok := scanNumber(b)
	if !ok {
		return 0, NewConvError(Malformed, Type{Kind: k}, b)
	}
	m, rest, ok := n.scaled(0)
	if ok && rest != exact {
		return 0, NewConvError(Malformed, Type{Kind: k}, b)
	}
	wide, fits := m.signed(n.neg)
	v, narrow := wide.Int64()
	if !ok || !fits || !narrow || !InIntegerRange(v, k) {
		return 0, NewConvError(OutOfRange, Type{Kind: k}, b)
	}
	return v, nil
}
