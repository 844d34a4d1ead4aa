package value

import (
	"strconv"
	"time"
)

// ParseDate reads a DATE as days since 1970-01-01: the date part of any text
// that ParseDateTime accepts, as written, whatever zone the text names.
func ParseDate(b []byte) (int32, error) {
	s, bad := scanStamp(b)
	if bad != 0 {
		return 0, NewConvError(bad, Type{Kind: Date}, b)
	}
	return DaysFromCivil(s.year, s.month, s.day), nil
}

// ParseDateIn is ParseDate, except that a text that names a zone is converted
// to loc first (nil: UTC), so that DATE and DATETIME columns agree.
func ParseDateIn(b []byte, loc *time.Location) (int32, error) {
	s, bad := scanStamp(b)
	if bad != 0 {
		return 0, NewConvError(bad, Type{Kind: Date}, b)
	}
	days := floorDiv(int(s.seconds(loc)), 86400)
	if days < int(MinDate) || days > int(MaxDate) {
		return 0, NewConvError(OutOfRange, Type{Kind: Date}, b)
	}
	return int32(days), nil
}

// ParseDateTime reads a DATETIME(scale) as microseconds since 1970-01-01
// 00:00:00 without zone. A text that names a zone is converted to loc (nil:
// UTC), another is kept as written; a date alone is its midnight. Fraction
// digits after the scale round half up, which may carry into the next day.
//
// Dates are YYYY-M-D or YYYY/M/D (two digits of the year mean 1970 to 2069),
// YYYYMMDD or YYMMDD; times H, H:M, H:M:S or HHMMSS, after a T or blanks, with
// a fraction after the seconds; YYYYMMDDHHMMSS and YYMMDDHHMMSS in one run.
// After a time a zone may stand: Z, UTC, GMT, or an offset such as +08:00,
// +0800 or +8 between -13:59 and +14:00. Names of zones are not accepted.
func ParseDateTime(b []byte, scale uint8, loc *time.Location) (int64, error) {
	s, bad := scanStamp(b)
	if bad != 0 {
		return 0, NewConvError(bad, Type{Kind: DateTime, Scale: scale}, b)
	}
	v := s.seconds(loc)*microsPerSecond + fractionMicros(s.frac, scale)
	if v < MinDateTime || v > MaxDateTime {
		return 0, NewConvError(OutOfRange, Type{Kind: DateTime, Scale: scale}, b)
	}
	return v, nil
}

// fractionMicros is the digits of a fraction rounded half up to scale digits,
// in microseconds: up to a whole second.
func fractionMicros(frac []byte, scale uint8) int64 {
	v := int64(0)
	n := min(len(frac), int(scale))
	for _, c := range frac[:n] {
		v = v*10 + int64(c-'0')
	}
	if n < len(frac) && frac[n] >= '5' {
		v++
	}
	return v * int64(pow10[MaxDateTimeScale-n])
}

// RoundDateTime rounds microseconds half up to scale digits of a second. The
// result may lie one unit after MaxDateTime.
func RoundDateTime(micros int64, scale uint8) int64 {
	unit := int64(pow10[MaxDateTimeScale-scale])
	q := (micros + unit/2) / unit
	if (micros+unit/2)%unit < 0 {
		q--
	}
	return q * unit
}

// AppendDate appends YYYY-MM-DD.
func AppendDate(dst []byte, days int32) []byte {
	y, m, d := CivilFromDays(days)
	if uint(y) > 9999 {
		return strconv.AppendInt(append(dst, "day "...), int64(days), 10)
	}
	dst = appendTwo(dst, y/100)
	dst = appendTwo(dst, y%100)
	dst = append(dst, '-')
	dst = appendTwo(dst, m)
	dst = append(dst, '-')
	return appendTwo(dst, d)
}

// AppendDateTime appends YYYY-MM-DD HH:MM:SS and, unless scale is 0, a point
// and scale digits.
func AppendDateTime(dst []byte, micros int64, scale uint8) []byte {
	days := micros / microsPerDay
	rest := int(micros % microsPerDay)
	if rest < 0 {
		days--
		rest += microsPerDay
	}
	dst = AppendDate(dst, int32(days))
	dst = append(dst, ' ')
	sec := rest / microsPerSecond
	dst = appendTwo(dst, sec/3600)
	dst = append(dst, ':')
	dst = appendTwo(dst, sec/60%60)
	dst = append(dst, ':')
	dst = appendTwo(dst, sec%60)
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	frac := uint64(rest%microsPerSecond) / pow10[MaxDateTimeScale-scale]
	for i := int(scale) - 1; i >= 0; i-- {
		dst = append(dst, '0'+byte(frac/pow10[i]%10))
	}
	return dst
}

func appendTwo(dst []byte, v int) []byte { return append(dst, '0'+byte(v/10), '0'+byte(v%10)) }
