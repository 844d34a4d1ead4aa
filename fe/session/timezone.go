package session

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones by name in an image without /usr/share/zoneinfo
)

// systemZone is the name of the process's time zone.
var systemZone = sync.OnceValue(func() string {
	name := time.Local.String()
	if name == "Local" {
		if target, err := os.Readlink("/etc/localtime"); err == nil {
			if _, zone, ok := strings.Cut(target, "zoneinfo/"); ok {
				name = zone
			}
		}
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" || name == "" {
		return "Etc/UTC"
	}
	return name
})

// LoadLocation finds a time zone by offset ("+08:00", "-3:30"), by name
// ("Asia/Shanghai") or by one of Doris' short names; CST is China's time, as in
// Doris. The stored form of the name is returned too.
func LoadLocation(text string) (*time.Location, string, error) {
	name := strings.TrimSpace(text)
	switch strings.ToUpper(name) {
	case "SYSTEM":
		name = systemZone()
	case "CST", "PRC":
		name = "Asia/Shanghai"
	case "UTC", "GMT", "Z":
		return time.UTC, "UTC", nil
	}
	if name == "" || name == "Local" {
		return nil, "", errTimeZone(text)
	}
	if name[0] == '+' || name[0] == '-' {
		return offsetZone(name)
	}
	loc, err := zones.load(name)
	if err != nil {
		return nil, "", errTimeZone(text)
	}
	return loc, loc.String(), nil
}

// offsetZone reads an offset between -13:59 and +14:00.
func offsetZone(text string) (*time.Location, string, error) {
	hours, minutes, ok := strings.Cut(text[1:], ":")
	h, err1 := strconv.ParseUint(hours, 10, 8)
	m, err2 := strconv.ParseUint(minutes, 10, 8)
	if !ok || err1 != nil || err2 != nil || len(hours) > 2 || len(minutes) != 2 || m > 59 {
		return nil, "", errTimeZone(text)
	}
	seconds := int(h*3600 + m*60)
	if text[0] == '-' {
		seconds = -seconds
	}
	if seconds > 14*3600 || seconds <= -14*3600 {
		return nil, "", errTimeZone(text)
	}
	name := fmt.Sprintf("%c%02d:%02d", text[0], h, m)
	return zones.offset(name, seconds), name, nil
}

func checkTimeZone(_, text string) (string, error) {
	_, name, err := LoadLocation(text)
	return name, err
}

// zoneCache keeps the zones that were asked for: pools set theirs at each
// checkout. Its size is bounded by the number of zones that exist.
type zoneCache struct{ m sync.Map }

var zones zoneCache

func (z *zoneCache) load(name string) (*time.Location, error) {
	if loc, ok := z.m.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	z.m.Store(name, loc)
	return loc, nil
}

func (z *zoneCache) offset(name string, seconds int) *time.Location {
	if loc, ok := z.m.Load(name); ok {
		return loc.(*time.Location)
	}
	loc := time.FixedZone(name, seconds)
	z.m.Store(name, loc)
	return loc
}
