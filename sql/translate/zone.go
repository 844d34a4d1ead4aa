package translate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// DuckDB knows time zones only through an extension that is not linked, so the
// offsets of the session's zone go into the statement.

// zoneEnd is the year up to which changes of offset are followed.
const zoneEnd = 2070

type offset struct {
	// from is the first second of the offset since 1970, in UTC.
	from    int64
	seconds int
}

// offsets are the offsets of a zone from 1970 on.
func offsets(loc *time.Location) []offset {
	at := time.Unix(0, 0).In(loc)
	var out []offset
	for {
		_, sec := at.Zone()
		out = append(out, offset{at.Unix(), sec})
		_, end := at.ZoneBounds()
		if end.IsZero() || end.Year() >= zoneEnd {
			return out
		}
		at = end
	}
}

// offsetAt is SQL for the offset in seconds at utc, SQL for seconds since 1970;
// with local, utc is in local time instead.
func offsetAt(loc *time.Location, utc string, local bool) string {
	list := offsets(loc)
	if len(list) == 1 {
		return strconv.Itoa(list[0].seconds)
	}
	var sb strings.Builder
	sb.WriteString("(CASE")
	for i := len(list) - 1; i > 0; i-- {
		from := list[i].from
		if local {
			from += int64(list[i-1].seconds)
		}
		fmt.Fprintf(&sb, " WHEN %s >= %d THEN %d", utc, from, list[i].seconds)
	}
	fmt.Fprintf(&sb, " ELSE %d END)", list[0].seconds)
	return sb.String()
}

// unixTimestamp is seconds since 1970 of a moment in the session's zone; 0 for
// one before.
func unixTimestamp(t *translator, a []expr) (expr, error) {
	if len(a) == 0 {
		return constantExpr(t.now().Unix())
	}
	if len(a) == 2 {
		s, err := t.apply("str_to_date", a)
		if err != nil {
			return expr{}, err
		}
		a = []expr{s}
	}
	m, err := t.moment(a[0])
	if err != nil {
		return expr{}, err
	}
	s := "epoch_us(" + stampOf(m).sql + ") // 1000000"
	return result(bigType, notNegative("("+s+" - "+offsetAt(t.env.Now.Location(), s, true)+")"))
}

// fromUnixtime is a text in the session's zone.
func fromUnixtime(t *translator, a []expr) (expr, error) {
	f := format{duck: "%Y-%m-%d %H:%M:%S"}
	if len(a) == 2 {
		var err error
		if f, err = formatArg(a[1], false); err != nil {
			return expr{}, err
		}
	}
	n := "CAST(" + t.number(a[0]).sql + " AS BIGINT)"
	// Beyond the year 9999 there is no answer.
	return result(stringType, "(CASE WHEN ", n, " BETWEEN 0 AND 253402300799 THEN strftime(make_timestamp((", n, " + ",
		offsetAt(t.env.Now.Location(), n, false), ") * 1000000), ", quote(f.duck), ") END)")
}
