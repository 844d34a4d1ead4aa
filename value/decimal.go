package value

import "math"

// ParseDecimal reads a DECIMAL(precision, scale) as its unscaled value, by
// decimal digits only. Digits after the scale round half away from zero; a
// value that needs more than precision digits afterwards is out of range,
// never shortened. The grammar is that of numbers with point and exponent,
// blanks around.
func ParseDecimal(b []byte, precision, scale uint8) (Int128, error) {
	n, ok := scanNumber(b)
	if !ok {
		return Int128{}, NewConvError(Malformed, decimalType(precision, scale), b)
	}
	m, rest, ok := n.scaled(int(scale))
	if ok && rest == half {
		// m is below 10^39, so that one more cannot overflow 128 bits
		// unless it is out of every precision anyway.
		m, ok = m.mulAdd(1, 1)
	}
	limit := pow10x128[min(precision, MaxDecimalPrecision)]
	if !ok || m.hi > limit.hi || m.hi == limit.hi && m.lo >= limit.lo {
		return Int128{}, NewConvError(OutOfRange, decimalType(precision, scale), b)
	}
	v, _ := m.signed(n.neg)
	return v, nil
}

// MaxDecimal64 is the largest unscaled value of a precision that an int64 holds.
func MaxDecimal64(precision uint8) int64 {
	if precision > 18 {
		return math.MaxInt64
	}
	return int64(pow10[precision]) - 1
}

func decimalType(precision, scale uint8) Type {
	return Type{Kind: Decimal, Precision: precision, Scale: scale}
}

// AppendDecimal appends an unscaled value with exactly scale digits after the
// point, and none of both at scale 0.
func AppendDecimal(dst []byte, v Int128, scale uint8) []byte {
	if scale == 0 {
		return AppendInt128(dst, v)
	}
	hi, lo, neg := v.magnitude()
	if neg {
		dst = append(dst, '-')
	}
	var buf [maxDigits]byte
	d := digitsOf(&buf, hi, lo)
	point := len(d) - int(scale)
	if point <= 0 {
		dst = append(dst, '0', '.')
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, d...)
	}
	dst = append(dst, d[:point]...)
	dst = append(dst, '.')
	return append(dst, d[point:]...)
}
