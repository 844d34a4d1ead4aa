package behttp

import (
	"sync"
	"time"
	_ "time/tzdata" // images may have no zone files
)

// zones keeps the zones that were read: every load asks for one. Its size is
// bounded by the number of zones and of offsets.
var zones sync.Map // string to *time.Location

// ParseZone reads a time zone as the timezone header and the variable time_zone
// have it: an offset such as +08:00, or a name of the zone database; CST is
// China's, as in Doris.
func ParseZone(s string) (*time.Location, error) {
	if loc, ok := zones.Load(s); ok {
		return loc.(*time.Location), nil
	}
	loc, err := readZone(s)
	if err == nil {
		zones.Store(s, loc)
	}
	return loc, err
}

func readZone(s string) (*time.Location, error) {
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
