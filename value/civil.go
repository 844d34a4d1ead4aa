package value

// Limits of DATE and DATETIME in their physical units.
const (
	// MinDate is 0000-01-01 and MaxDate 9999-12-31, in days since 1970-01-01.
	MinDate int32 = -719528
	MaxDate int32 = 2932896

	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond

	// MinDateTime is 0000-01-01 00:00:00 and MaxDateTime 9999-12-31
	// 23:59:59.999999, in microseconds since 1970-01-01 00:00:00.
	MinDateTime int64 = int64(MinDate) * microsPerDay
	MaxDateTime int64 = int64(MaxDate+1)*microsPerDay - 1
)

// DaysFromCivil is the days from 1970-01-01 to a date of the proleptic
// Gregorian calendar. The date must exist (see ValidDate).
func DaysFromCivil(y, m, d int) int32 {
	// Years are counted from 1 March, so that the leap day is the last day of
	// its year; 719468 days lie between 0000-03-01 and 1970-01-01.
	if m <= 2 {
		y--
		m += 12
	}
	era := floorDiv(y, 400)
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int32(era*146097 + doe - 719468)
}

// CivilFromDays is the date of the proleptic Gregorian calendar that lies days
// after 1970-01-01.
func CivilFromDays(days int32) (y, m, d int) {
	z := int(days) + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	y, m = yoe+era*400, mp+3
	if m > 12 {
		y, m = y+1, m-12
	}
	return y, m, d
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var daysInMonth = [13]uint8{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// ValidDate reports whether the date exists, years 0 to 9999. The year 0 has
// no 29 February, as in Doris and MySQL, although it is a leap year of the
// proleptic calendar.
func ValidDate(y, m, d int) bool {
	if y < 0 || y > 9999 || m < 1 || m > 12 || d < 1 {
		return false
	}
	if m == 2 && d == 29 {
		return y%4 == 0 && (y%100 != 0 || y%400 == 0) && y != 0
	}
	return d <= int(daysInMonth[m])
}
