package behttp

import (
	"time"
	_ "time/tzdata" // images may have no zone files
)

// parseZone reads a timezone header: an offset such as +08:00, or a name of the
// zone database; CST is China's, as in Doris.
func parseZone(s string) (*time.Location, error) {
	switch {
	case s == "CST":
		s = "Asia/Shanghai"
	case s != "" && (s[0] == '+' || s[0] == '-'):
		t, err := time.Parse("-07:00", s)
		if err != nil {
			if t, err = time.Parse("-7:00", s); err != nil {
				return nil, invalid("Invalid timezone: %s: expected an offset like +08:00 or a zone's name", s)
			}
		}
		_, offset := t.Zone()
		if offset < -12*3600 || offset > 14*3600 {
			return nil, invalid("Invalid timezone: %s: offsets are from -12:00 to +14:00", s)
		}
		return time.FixedZone(s, offset), nil
	}
	loc, err := time.LoadLocation(s)
	if err != nil || s == "Local" || s == "" {
		return nil, invalid("Invalid timezone: %s: no such zone", s)
	}
	return loc, nil
}
