package value

import "math/bits"

// uint128 is an unsigned magnitude.
type uint128 struct{ hi, lo uint64 }

// pow10 holds 10^0 to 10^19, all that fit one word.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := range 19 {
		p[i+1] = p[i] * 10
	}
	return p
}()

// pow10x128 holds 10^0 to 10^38.
var pow10x128 = func() (p [39]uint128) {
	p[0] = uint128{lo: 1}
	for i := range 38 {
		p[i+1], _ = p[i].mulAdd(10, 0)
	}
	return p
}()

// mulAdd is m*f+a, and whether it fits 128 bits.
func (m uint128) mulAdd(f, a uint64) (uint128, bool) {
	h1, l1 := bits.Mul64(m.lo, f)
	h2, l2 := bits.Mul64(m.hi, f)
	lo, c := bits.Add64(l1, a, 0)
	hi, c := bits.Add64(l2, h1, c)
	return uint128{hi, lo}, h2 == 0 && c == 0
}

// signed is the number with its sign, and whether an Int128 holds it.
func (m uint128) signed(neg bool) (Int128, bool) {
	v := Int128{Hi: int64(m.hi), Lo: m.lo}
	if neg {
		return v.Neg(), m.hi < 1<<63 || m == uint128{hi: 1 << 63}
	}
	return v, m.hi < 1<<63
}

// number is a decimal number taken apart, its value being
// (-1)^neg * ip.fp * 10^exp. The digit slices alias the text.
type number struct {
	neg    bool
	ip, fp []byte
	exp    int
}

// expLimit bounds exponents so that sums with text lengths cannot overflow; a
// number with such an exponent is zero or out of range for every type.
const expLimit = 1 << 40

// scanNumber reads blanks, sign, digits with at most one point (at least one
// digit in all), an optional exponent, blanks.
func scanNumber(b []byte) (n number, ok bool) {
	b = trimBlanks(b)
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		n.neg = b[0] == '-'
		b = b[1:]
	}
	i := digitRun(b)
	n.ip, b = b[:i], b[i:]
	if len(b) > 0 && b[0] == '.' {
		b = b[1:]
		i = digitRun(b)
		n.fp, b = b[:i], b[i:]
	}
	if len(n.ip)+len(n.fp) == 0 {
		return n, false
	}
	if len(b) == 0 {
		return n, true
	}
	if b[0]|0x20 != 'e' {
		return n, false
	}
	n.exp, ok = scanExponent(b[1:])
	return n, ok
}

func scanExponent(b []byte) (int, bool) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		b = b[1:]
	}
	if len(b) == 0 || digitRun(b) != len(b) {
		return 0, false
	}
	e := 0
	for _, c := range b {
		e = min(e*10+int(c-'0'), expLimit)
	}
	if neg {
		e = -e
	}
	return e, true
}

// remainder says how the digits after the cut compare.
type remainder uint8

const (
	exact remainder = iota // all zeros
	less                   // less than half a unit
	half                   // half a unit or more
)

// scaled is |n| * 10^scale cut to an integer, what was cut off, and whether
// 128 bits hold it. It works on digits alone: no floating point.
func (n *number) scaled(scale int) (m uint128, rest remainder, ok bool) {
	ip, fp := n.ip, n.fp
	for len(ip) > 0 && ip[0] == '0' {
		ip = ip[1:]
	}
	// take is the count of leading digits that make the integer.
	take := len(ip) + n.exp + scale
	if len(ip) == 0 {
		for len(fp) > 0 && fp[0] == '0' {
			fp = fp[1:]
			take--
		}
		if len(fp) == 0 {
			return uint128{}, exact, true
		}
	}
	if take > maxDigits {
		return uint128{}, exact, false
	}
	if take < 0 {
		return uint128{}, restOf(ip, fp, less), true
	}
	i := min(take, len(ip))
	j := min(take-i, len(fp))
	if m, ok = m.digits(ip[:i]); !ok {
		return m, exact, false
	}
	if m, ok = m.digits(fp[:j]); !ok {
		return m, exact, false
	}
	for range take - i - j {
		if m, ok = m.mulAdd(10, 0); !ok {
			return m, exact, false
		}
	}
	ip, fp = ip[i:], fp[j:]
	switch {
	case len(ip) > 0 && ip[0] >= '5', len(ip) == 0 && len(fp) > 0 && fp[0] >= '5':
		return m, half, true
	default:
		return m, restOf(ip, fp, less), true
	}
}

// restOf is exact if the digits are all zeros, else r.
func restOf(ip, fp []byte, r remainder) remainder {
	for _, c := range ip {
		if c != '0' {
			return r
		}
	}
	for _, c := range fp {
		if c != '0' {
			return r
		}
	}
	return exact
}

// digits appends decimal digits to m, and says whether it still fits.
func (m uint128) digits(d []byte) (uint128, bool) {
	for len(d) > 0 {
		chunk := d[:min(len(d), 19)]
		d = d[len(chunk):]
		var v uint64
		for _, c := range chunk {
			v = v*10 + uint64(c-'0')
		}
		var ok bool
		if m, ok = m.mulAdd(pow10[len(chunk)], v); !ok {
			return m, false
		}
	}
	return m, true
}

func digitRun(b []byte) int {
	for i, c := range b {
		if c-'0' > 9 {
			return i
		}
	}
	return len(b)
}

// isBlank reports the bytes that may surround numbers, booleans and dates.
func isBlank(c byte) bool { return c == ' ' || c-'\t' < 5 }

func trimBlanks(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}
