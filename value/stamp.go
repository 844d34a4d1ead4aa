package value

import "time"

// stamp is a date text taken apart.
type stamp struct {
	year, month, day     int
	hour, minute, second int
	// frac is the digits of the fraction of a second; it aliases the text.
	frac []byte
	// offset is seconds east of UTC if zoned.
	offset int
	zoned  bool
}

// scanStamp reads the texts that DATE and DATETIME accept, blanks around:
//
//	date   YYYY-M-D  YYYY/M/D  YY-M-D  YY/M/D  YYYYMMDD  YYMMDD
//	time   H  H:M  H:M:S  HHMMSS, and after seconds .f of one digit or more
//	both   date and time with a T or blanks between, or as one run of digits
//	       YYYYMMDDHHMMSS or YYMMDDHHMMSS
//	zone   after a time: Z UTC GMT +HH +HHMM +HH:MM (or -), blanks before
//
// Months, days, hours, minutes and seconds have one or two digits. Two-digit
// years are 1970 to 2069. It returns 0 or why the text is refused.
func scanStamp(b []byte) (s stamp, bad ErrorKind) {
	c := cursor{b: trimBlanks(b)}
	withTime, ok := c.date(&s)
	if !ok {
		return s, Malformed
	}
	if len(c.b) > 0 || withTime {
		if !withTime && !(c.separator() && c.time(&s)) {
			return s, Malformed
		}
		if !c.zone(&s) || len(c.b) > 0 {
			return s, Malformed
		}
	}
	if !ValidDate(s.year, s.month, s.day) || s.hour > 23 || s.minute > 59 || s.second > 59 {
		return s, OutOfRange
	}
	return s, 0
}

// cursor is what is left of a text.
type cursor struct{ b []byte }

// take reads n digits that the caller has counted.
func (c *cursor) take(n int) int {
	v := 0
	for _, d := range c.b[:n] {
		v = v*10 + int(d-'0')
	}
	c.b = c.b[n:]
	return v
}

// short reads one or two digits.
func (c *cursor) short(v *int) bool {
	n := digitRun(c.b[:min(len(c.b), 3)])
	if n != 1 && n != 2 {
		return false
	}
	*v = c.take(n)
	return true
}

func (c *cursor) skip(want byte) bool {
	if len(c.b) == 0 || c.b[0] != want {
		return false
	}
	c.b = c.b[1:]
	return true
}

// date reads the date, and the time too if all is one run of digits.
func (c *cursor) date(s *stamp) (withTime, ok bool) {
	n := digitRun(c.b[:min(len(c.b), 15)])
	switch n {
	case 2, 4:
		s.year = c.year(n)
		sep := byte('-')
		if len(c.b) > 0 && c.b[0] == '/' {
			sep = '/'
		}
		return false, c.skip(sep) && c.short(&s.month) && c.skip(sep) && c.short(&s.day)
	case 6, 8:
		s.year, s.month, s.day = c.year(n-4), c.take(2), c.take(2)
		return false, true
	case 12, 14:
		s.year, s.month, s.day = c.year(n-10), c.take(2), c.take(2)
		c.clock(s)
		return true, c.fraction(s)
	}
	return false, false
}

func (c *cursor) year(n int) int {
	y := c.take(n)
	if n == 2 {
		if y < 70 {
			return 2000 + y
		}
		return 1900 + y
	}
	return y
}

// separator reads what stands between date and time.
func (c *cursor) separator() bool {
	if c.skip('T') || c.skip('t') {
		return true
	}
	n := len(c.b)
	c.blanks()
	return len(c.b) < n
}

func (c *cursor) blanks() {
	for len(c.b) > 0 && isBlank(c.b[0]) {
		c.b = c.b[1:]
	}
}

// clock reads HHMMSS, whose digits are counted.
func (c *cursor) clock(s *stamp) { s.hour, s.minute, s.second = c.take(2), c.take(2), c.take(2) }

func (c *cursor) time(s *stamp) bool {
	if digitRun(c.b[:min(len(c.b), 7)]) == 6 {
		c.clock(s)
		return c.fraction(s)
	}
	if !c.short(&s.hour) {
		return false
	}
	if !c.skip(':') {
		return true
	}
	if !c.short(&s.minute) {
		return false
	}
	if !c.skip(':') {
		return true
	}
	return c.short(&s.second) && c.fraction(s)
}

func (c *cursor) fraction(s *stamp) bool {
	if !c.skip('.') {
		return true
	}
	n := digitRun(c.b)
	s.frac, c.b = c.b[:n], c.b[n:]
	return n > 0
}

// zone reads an optional zone. Offsets go from -13:59 to +14:00, as in MySQL.
func (c *cursor) zone(s *stamp) bool {
	c.blanks()
	if len(c.b) == 0 {
		return true
	}
	s.zoned = true
	if equalFold(c.b, "z") || equalFold(c.b, "utc") || equalFold(c.b, "gmt") {
		c.b = nil
		return true
	}
	neg := c.b[0] == '-'
	if !c.skip('-') && !c.skip('+') {
		return false
	}
	var h, m int
	if digitRun(c.b) == 4 {
		h, m = c.take(2), c.take(2)
	} else if !c.short(&h) || c.skip(':') && (digitRun(c.b) != 2 || !c.short(&m)) {
		return false
	}
	s.offset = h*3600 + m*60
	if m > 59 || s.offset > 14*3600 || neg && s.offset == 14*3600 {
		return false
	}
	if neg {
		s.offset = -s.offset
	}
	return true
}

// seconds is the stamp without fraction in seconds since 1970-01-01 00:00:00,
// moved to loc's wall clock (nil: UTC) if the text named a zone.
func (s *stamp) seconds(loc *time.Location) int64 {
	sec := int64(DaysFromCivil(s.year, s.month, s.day))*86400 +
		int64(s.hour*3600+s.minute*60+s.second)
	if !s.zoned {
		return sec
	}
	sec -= int64(s.offset)
	if loc != nil {
		_, east := time.Unix(sec, 0).In(loc).Zone()
		sec += int64(east)
	}
	return sec
}
