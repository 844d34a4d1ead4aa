package value

import "encoding/binary"

// The functions of this file read the common spellings of numbers and dates
// eight bytes at a time. They say no to every other text, valid or not, and
// leave it to the readers of the full grammar: what they accept, those read as
// the same value. All take the text as b[start:end], so that a whole word can be
// loaded that ends with it.

const (
	zeros8 = 0x3030303030303030
	highs8 = 0xf0f0f0f0f0f0f0f0
	sixes8 = 0x0606060606060606
)

// pairs8 is the four numbers that eight digits spell in pairs, in 16 bits each,
// the first in the lowest.
func pairs8(x uint64) (v uint64, ok bool) {
	ok = x&highs8 == zeros8 && (x+sixes8)&highs8 == zeros8
	return (x & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8 & 0x00ff00ff00ff00ff, ok
}

// digits8 is the number that eight digits spell, the first in the lowest byte.
func digits8(x uint64) (v uint64, ok bool) {
	ok = x&highs8 == zeros8 && (x+sixes8)&highs8 == zeros8
	x = (x & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8
	x = (x & 0x00ff00ff00ff00ff) * 6553601 >> 16
	return (x & 0x0000ffff0000ffff) * 42949672960001 >> 32, ok
}

// lastWord is the n bytes, 1 to 8, before end, with digits 0 in front; end is at
// least 8.
func lastWord(b []byte, end, n int) uint64 {
	shift := uint(64-8*n) & 63
	return binary.LittleEndian.Uint64(b[end-8:end])>>shift<<shift | zeros8&(1<<shift-1)
}

// shortDigits is the number that 1 to 16 digits spell.
func shortDigits(b []byte, start, end int) (v uint64, ok bool) {
	switch n := end - start; {
	case n < 1 || n > 16:
		return 0, false
	case n <= 8 && end >= 8:
		return digits8(lastWord(b, end, n))
	case n > 8 && end >= 16:
		hi, ok1 := digits8(lastWord(b, end-8, n-8))
		lo, ok2 := digits8(binary.LittleEndian.Uint64(b[end-8 : end]))
		return hi*1e8 + lo, ok1 && ok2
	}
	for _, c := range b[start:end] {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	return v, true
}

// ShortInteger reads an optional minus and 1 to 16 digits.
func ShortInteger(b []byte, start, end int) (v int64, ok bool) {
	// The commonest numbers take one word and no more calls.
	if n := end - start; n >= 1 && n <= 8 && end >= 8 {
		if m, ok := digits8(lastWord(b, end, n)); ok {
			return int64(m), true
		}
	}
	if start >= end {
		return 0, false
	}
	neg := b[start] == '-'
	if neg {
		start++
	}
	m, ok := shortDigits(b, start, end)
	if v = int64(m); neg {
		v = -v
	}
	return v, ok
}

// ShortDecimal reads an optional minus, 1 to 16 digits and, after a point, 1 to
// scale digits, as the unscaled value of a DECIMAL of the scale. It does not
// know the precision. Values that need more than 18 digits are not read.
func ShortDecimal(b []byte, start, end int, scale uint8) (v int64, ok bool) {
	if start >= end {
		return 0, false
	}
	neg := b[start] == '-'
	if neg {
		start++
	}
	m, ok := shortFixed(b, start, end, int(scale))
	if v = int64(m); neg {
		v = -v
	}
	return v, ok
}

func shortFixed(b []byte, start, end, scale int) (m uint64, ok bool) {
	point := end - 1 - scale
	if point < start || b[point] != '.' {
		if point = lastPoint(b, start, end, scale); point < 0 {
			if m, ok = shortDigits(b, start, end); !ok || end-start+scale > 18 {
				return 0, false
			}
			return m * pow10[scale], true
		}
	}
	fraction := end - 1 - point
	if point == start || fraction == 0 || point-start+scale > 18 {
		return 0, false
	}
	if n := end - start; n <= 8 && end >= 8 {
		// The digits before the point move up into its place.
		x := lastWord(b, end, n)
		after := uint(64-8*fraction) & 63
		before := x & (1<<(after-8) - 1)
		if m, ok = digits8(x>>after<<after | before<<8 | '0'); !ok {
			return 0, false
		}
		return m * pow10[scale-fraction], true
	}
	whole, ok1 := shortDigits(b, start, point)
	part, ok2 := shortDigits(b, point+1, end)
	return (whole*pow10[fraction] + part) * pow10[scale-fraction], ok1 && ok2
}

// lastPoint is where a point stands that fewer than scale digits follow, or -1.
func lastPoint(b []byte, start, end, scale int) int {
	for i := end - 1; i >= start && i > end-1-scale; i-- {
		if b[i] == '.' {
			return i
		}
	}
	return -1
}

// ShortDate reads YYYY-MM-DD as days since 1970-01-01.
func ShortDate(b []byte, start, end int) (days int32, ok bool) {
	if end-start != 10 {
		return 0, false
	}
	return wordDate(b[start:end])
}

func wordDate(b []byte) (days int32, ok bool) {
	x := binary.LittleEndian.Uint64(b)
	const dashes = '-'<<32 | '-'<<56
	if x&(0xff<<32|0xff<<56) != dashes {
		return 0, false
	}
	day := uint64(binary.LittleEndian.Uint16(b[8:]))
	n, ok := pairs8(x&0xffffffff | x>>8&0xffff00000000 | day<<48)
	if !ok {
		return 0, false
	}
	y, m, d := n&0xff*100+n>>16&0xff, n>>32&0xff, n>>48
	if !ValidDate(int(y), int(m), int(d)) {
		return 0, false
	}
	return marchDays(uint32(y), uint32(m), uint32(d)), true
}

// beforeMonth is the days from 1 March to the first of a month.
var beforeMonth = [16]uint16{0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275}

// marchDays is DaysFromCivil for a date that exists, years 0 to 9999.
func marchDays(y, m, d uint32) int32 {
	// Years are counted from March, and from 400 before, so that none is negative.
	const offset = 719468 + 146097 + 1
	y += 400
	if m <= 2 {
		y--
	}
	c := y / 100
	return int32(365*y+y/4-c+c/4+uint32(beforeMonth[m&15])+d) - offset
}

// ShortDateTime reads YYYY-MM-DD HH:MM:SS, with a blank or a T between, and a
// fraction of at most scale digits, without a zone, as microseconds since
// 1970-01-01 00:00:00.
func ShortDateTime(b []byte, start, end int, scale uint8) (micros int64, ok bool) {
	t := b[start:end]
	if len(t) < 19 || t[10] != ' ' && t[10] != 'T' {
		return 0, false
	}
	days, ok := wordDate(t)
	if !ok {
		return 0, false
	}
	x := binary.LittleEndian.Uint64(t[11:])
	const colons = ':'<<16 | ':'<<40
	if x&(0xff<<16|0xff<<40) != colons {
		return 0, false
	}
	n, ok := pairs8(x&0xffff | x>>8&0xffff0000 | x>>16&0xffff00000000 | '0'<<48 | '0'<<56)
	if !ok {
		return 0, false
	}
	h, m, s := n&0xff, n>>16&0xff, n>>32&0xff
	if h > 23 || m > 59 || s > 59 {
		return 0, false
	}
	micros = int64(days)*microsPerDay + int64(h*3600+m*60+s)*microsPerSecond
	if len(t) == 19 {
		return micros, true
	}
	fraction := len(t) - 20
	if t[19] != '.' || fraction < 1 || fraction > int(scale) {
		return 0, false
	}
	f, ok := shortDigits(t, 20, len(t))
	return micros + int64(f*pow10[MaxDateTimeScale-fraction]), ok
}

// exactPow10 are the powers of ten that a double holds.
var exactPow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// ShortFloat reads an optional minus, digits and a point with digits after it, at
// most 15 digits in all, as the nearest value of the kind.
func ShortFloat(b []byte, start, end int, k Kind) (v float64, ok bool) {
	if start >= end {
		return 0, false
	}
	neg := b[start] == '-'
	if neg {
		start++
	}
	point := start
	for point < end && b[point] != '.' {
		point++
	}
	fraction := max(0, end-1-point)
	if end-start > 16 || point == start || point < end && fraction == 0 {
		return 0, false
	}
	m, ok := shortDigits(b, start, point)
	if ok && fraction > 0 {
		var part uint64
		part, ok = shortDigits(b, point+1, end)
		m = m*pow10[fraction] + part
	}
	// One rounding of two numbers that are held exactly gives the nearest value.
	switch {
	case !ok || m >= 1e15:
		return 0, false
	case k == Float:
		if m >= 1<<24 || fraction > 10 {
			return 0, false
		}
		v = float64(float32(m) / float32(exactPow10[fraction]))
	default:
		v = float64(m) / exactPow10[fraction]
	}
	if neg {
		v = -v
	}
	return v, true
}
