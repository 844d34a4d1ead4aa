package translate

import (
	"strings"
	"time"

	mysqltime "vitess.io/vitess/go/mysql/datetime"
	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

var dateFuncs = map[string]function{
	"year":       {1, 1, datePart("year(", ")")},
	"month":      {1, 1, datePart("month(", ")")},
	"day":        {1, 1, datePart("day(", ")")},
	"dayofmonth": {1, 1, datePart("day(", ")")},
	"quarter":    {1, 1, datePart("quarter(", ")")},
	"dayofyear":  {1, 1, datePart("dayofyear(", ")")},
	"weekofyear": {1, 1, datePart("weekofyear(", ")")},
	// 1 is Sunday in MySQL, 0 in DuckDB.
	"dayofweek": {1, 1, datePart("(dayofweek(", ") + 1)")},
	// 0 is Monday.
	"weekday":     {1, 1, datePart("(isodow(", ") - 1)")},
	"hour":        {1, 1, timePart("hour(", ")")},
	"minute":      {1, 1, timePart("minute(", ")")},
	"second":      {1, 1, timePart("second(", ")")},
	"microsecond": {1, 1, timePart("(microsecond(", ") % 1000000)")},
	"dayname":     {1, 1, momentFunc(func(m expr) (expr, error) { return result(stringType, "dayname(", m.sql, ")") })},
	"monthname":   {1, 1, momentFunc(func(m expr) (expr, error) { return result(stringType, "monthname(", m.sql, ")") })},
	"date":        {1, 1, momentFunc(func(m expr) (expr, error) { return dateOf(m), nil })},
	"to_date":     {1, 1, momentFunc(func(m expr) (expr, error) { return dateOf(m), nil })},
	"timestamp":   {1, 1, momentFunc(func(m expr) (expr, error) { return stampOf(m), nil })},
	"last_day":    {1, 1, momentFunc(func(m expr) (expr, error) { return result(dateType, "last_day(", m.sql, ")") })},
	"to_days": {1, 1, momentFunc(func(m expr) (expr, error) {
		return result(bigType, "(date_diff('day', DATE '0000-01-01', ", dateOf(m).sql, ") + 1)")
	})},
	"week": {1, 2, func(t *translator, a []expr) (expr, error) {
		if len(a) == 2 && a[1].lit != nil && a[1].lit.text == "3" {
			return t.apply("weekofyear", a[:1])
		}
		if len(a) == 2 && (a[1].lit == nil || a[1].lit.text != "0") {
			return expr{}, unsupported("week in another mode than 0 and 3")
		}
		m, err := t.moment(a[0])
		if err != nil {
			return expr{}, err
		}
		return result(bigType, "CAST(strftime(", m.sql, ", '%U') AS BIGINT)")
	}},
	"datediff": {2, 2, func(t *translator, a []expr) (expr, error) {
		l, r, err := t.moments(a)
		return expr{sql: "date_diff('day', " + dateOf(r).sql + ", " + dateOf(l).sql + ")", typ: bigType}, err
	}},
	"date_format": {2, 2, func(t *translator, a []expr) (expr, error) {
		f, err := formatArg(a[1], false)
		if err != nil {
			return expr{}, err
		}
		m, err := t.moment(a[0])
		if err != nil {
			return expr{}, err
		}
		return result(stringType, "strftime(", m.sql, ", ", quote(f.duck), ")")
	}},
	"str_to_date": {2, 2, func(t *translator, a []expr) (expr, error) {
		f, err := formatArg(a[1], true)
		if err != nil {
			return expr{}, err
		}
		s := "try_strptime(" + t.text(a[0]) + ", " + quote(f.duck) + ")"
		if !f.time {
			return result(dateType, "CAST(", s, " AS DATE)")
		}
		return result(f.typ(), s)
	}},
	"date_trunc": {2, 2, func(t *translator, a []expr) (expr, error) {
		if a[1].lit == nil || !truncUnits[strings.ToLower(a[1].lit.text)] {
			return expr{}, unsupported("date_trunc to this unit")
		}
		m, err := t.moment(a[0])
		if err != nil {
			return expr{}, err
		}
		s := "date_trunc(" + quote(strings.ToLower(a[1].lit.text)) + ", " + m.sql + ")"
		if m.typ.Kind == value.Date {
			return result(dateType, "CAST(", s, " AS DATE)")
		}
		return result(datetimeType, s)
	}},
	"curdate": {0, 0, currentDate}, "current_date": {0, 0, currentDate},
	"utc_date": {0, 0, func(t *translator, _ []expr) (expr, error) { return dateLiteral(t.now().UTC()), nil }},
	"now":      {0, 1, nowFunc}, "sysdate": {0, 1, nowFunc}, "localtime": {0, 1, nowFunc}, "localtimestamp": {0, 1, nowFunc},
	"current_timestamp": {0, 1, nowFunc},
	"unix_timestamp":    {0, 2, unixTimestamp},
	"from_unixtime":     {1, 2, fromUnixtime},
}

var truncUnits = map[string]bool{"year": true, "quarter": true, "month": true, "week": true, "day": true, "hour": true, "minute": true, "second": true}

func momentFunc(f func(expr) (expr, error)) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		m, err := t.moment(a[0])
		if err != nil {
			return expr{}, err
		}
		return f(m)
	}
}

func datePart(before, after string) func(*translator, []expr) (expr, error) {
	return momentFunc(func(m expr) (expr, error) { return result(bigType, before, m.sql, after) })
}

func timePart(before, after string) func(*translator, []expr) (expr, error) {
	return momentFunc(func(m expr) (expr, error) { return result(bigType, before, stampOf(m).sql, after) })
}

func (t *translator) moments(a []expr) (l, r expr, err error) {
	if l, err = t.moment(a[0]); err == nil {
		r, err = t.moment(a[1])
	}
	return l, r, err
}

func currentDate(t *translator, _ []expr) (expr, error) { return dateLiteral(t.now()), nil }

func dateLiteral(now time.Time) expr {
	s := now.Format(time.DateOnly)
	return expr{sql: "DATE '" + s + "'", typ: dateType, lit: &literal{text: s}}
}

func nowFunc(t *translator, a []expr) (expr, error) {
	if len(a) == 0 {
		return t.currentTime("now", 0)
	}
	n, ok := digitsArg(a[0])
	if !ok {
		return expr{}, unsupported("a computed precision")
	}
	return t.currentTime("now", n)
}

// currentTime: the statement has one time.
func (t *translator) currentTime(name string, scale int) (expr, error) {
	if scale < 0 || scale > value.MaxDateTimeScale {
		return expr{}, doriserr.New(doriserr.Analysis, "Too-big precision %d specified for '%s'. Maximum is %d.", scale, name, value.MaxDateTimeScale)
	}
	now := t.now()
	if strings.HasPrefix(name, "utc_") {
		now = now.UTC()
	}
	layout := "15:04:05"
	if scale > 0 {
		layout += "." + strings.Repeat("0", scale)
	}
	switch name {
	case "curtime", "current_time", "utc_time":
		return stringLiteral(now.Format(layout))
	}
	s := now.Format("2006-01-02 " + layout)
	return expr{sql: "TIMESTAMP '" + s + "'", typ: datetime(uint8(scale)), lit: &literal{text: s}}, nil
}

// format is a date format in DuckDB's notation.
type format struct {
	duck           string
	time, fraction bool
}

func (f format) typ() value.Type {
	if f.fraction {
		return datetime(value.MaxDateTimeScale)
	}
	return datetimeType
}

// formatSpecs are MySQL's specifiers; those with an empty second part cannot be
// read by str_to_date.
var formatSpecs = map[byte][2]string{
	'a': {"%a", "%a"}, 'b': {"%b", "%b"}, 'c': {"%-m", "%m"}, 'd': {"%d", "%d"}, 'e': {"%-d", "%d"}, 'f': {"%f", "%f"},
	'H': {"%H", "%H"}, 'h': {"%I", "%I"}, 'I': {"%I", "%I"}, 'i': {"%M", "%M"}, 'j': {"%j", ""}, 'k': {"%-H", "%H"}, 'l': {"%-I", "%I"},
	'M': {"%B", "%B"}, 'm': {"%m", "%m"}, 'p': {"%p", "%p"}, 'r': {"%I:%M:%S %p", "%I:%M:%S %p"}, 'S': {"%S", "%S"}, 's': {"%S", "%S"},
	'T': {"%H:%M:%S", "%H:%M:%S"}, 'U': {"%U", ""}, 'W': {"%A", "%A"}, 'w': {"%w", ""}, 'Y': {"%Y", "%Y"}, 'y': {"%y", "%y"}, '%': {"%%", "%%"},
}

// javaFormats are Doris' other notation.
var javaFormats = map[string]string{
	"yyyyMMdd": "%Y%m%d", "yyyy-MM-dd": "%Y-%m-%d", "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%i:%s",
}

func formatArg(e expr, reading bool) (format, error) {
	if e.lit == nil || !e.lit.string {
		return format{}, unsupported("a computed date format")
	}
	s := e.lit.text
	if j, ok := javaFormats[s]; ok {
		s = j
	}
	var f format
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+1 == len(s) {
			if s[i] == '%' {
				sb.WriteByte('%')
			}
			sb.WriteByte(s[i])
			continue
		}
		i++
		spec, ok := formatSpecs[s[i]]
		to := spec[0]
		if reading {
			to = spec[1]
		}
		if !ok || to == "" {
			return format{}, unsupported("date format %%%c", s[i])
		}
		f.time = f.time || strings.IndexByte("HhIiklprSsTf", s[i]) >= 0
		f.fraction = f.fraction || s[i] == 'f'
		sb.WriteString(to)
	}
	f.duck = sb.String()
	return f, nil
}

// intervalFuncs make an interval of a number of units.
var intervalFuncs = map[sqlparser.IntervalType]struct {
	fn, factor string
	days       bool
}{
	unitYear: {"to_years", "", true}, unitQuarter: {"to_months", "3 * ", true}, unitMonth: {"to_months", "", true},
	unitWeek: {"to_days", "7 * ", true}, unitDay: {"to_days", "", true}, unitHour: {"to_hours", "", false},
	unitMinute: {"to_minutes", "", false}, unitSecond: {"to_seconds", "", false}, unitMicrosecond: {"to_microseconds", "", false},
}

const (
	unitYear        = mysqltime.IntervalYear
	unitQuarter     = mysqltime.IntervalQuarter
	unitMonth       = mysqltime.IntervalMonth
	unitWeek        = mysqltime.IntervalWeek
	unitDay         = mysqltime.IntervalDay
	unitHour        = mysqltime.IntervalHour
	unitMinute      = mysqltime.IntervalMinute
	unitSecond      = mysqltime.IntervalSecond
	unitMicrosecond = mysqltime.IntervalMicrosecond
)

func (t *translator) dateArithmetic(e *sqlparser.IntervalDateExpr, sc *scope) (expr, error) {
	d, n, err := t.pair(e.Date, e.Interval, sc)
	if err != nil {
		return expr{}, err
	}
	sub := e.Syntax == sqlparser.IntervalDateExprDateSub || e.Syntax == sqlparser.IntervalDateExprSubdate || e.Syntax == sqlparser.IntervalDateExprBinarySub
	unit := e.Unit
	if unit == mysqltime.IntervalNone {
		unit = unitDay
	}
	return t.addInterval(d, n, unit, sub)
}

// addInterval keeps a DATE a DATE if the unit is a day or more.
func (t *translator) addInterval(d, n expr, unit sqlparser.IntervalType, sub bool) (expr, error) {
	f, ok := intervalFuncs[unit]
	if !ok {
		return expr{}, unsupported("INTERVAL %s", unit.ToString())
	}
	m, err := t.moment(d)
	if err != nil {
		return expr{}, err
	}
	num := t.number(n)
	if n.null {
		num = expr{sql: "CAST(NULL AS BIGINT)", typ: bigType}
	}
	scale := scaleOf(m.typ)
	iv := f.fn + "(CAST(" + f.factor + num.sql + " AS "
	switch {
	case f.days:
		iv += "INTEGER))"
	case unit == unitSecond && num.class() != integer:
		iv = "to_microseconds(CAST(round(" + num.sql + " * 1000000) AS BIGINT))"
		scale = value.MaxDateTimeScale
	default:
		iv += "BIGINT))"
	}
	if unit == unitMicrosecond {
		scale = value.MaxDateTimeScale
	}
	op := " + "
	if sub {
		op = " - "
	}
	if f.days && m.typ.Kind == value.Date {
		return result(dateType, "CAST(", m.sql, op, iv, " AS DATE)")
	}
	typ := datetime(scale)
	if m.class() == unknown {
		typ = value.Type{}
	}
	return result(typ, "(", stampOf(m).sql, op, iv, ")")
}

// timestampDiff counts whole units from the first to the second.
func (t *translator) timestampDiff(e *sqlparser.TimestampDiffExpr, sc *scope) (expr, error) {
	a, b, err := t.pair(e.Expr1, e.Expr2, sc)
	if err != nil {
		return expr{}, err
	}
	return t.unitsBetween(e.Unit, a, b)
}

func (t *translator) unitsBetween(unit sqlparser.IntervalType, a, b expr) (expr, error) {
	if _, ok := intervalFuncs[unit]; !ok {
		return expr{}, unsupported("INTERVAL %s", unit.ToString())
	}
	from, to, err := t.moments([]expr{a, b})
	if err != nil {
		return expr{}, err
	}
	a2, b2 := stampOf(from).sql, stampOf(to).sql
	switch unit {
	case unitMonth:
		return result(bigType, monthsBetween(a2, b2))
	case unitQuarter:
		return result(bigType, "(", monthsBetween(a2, b2), " // 3)")
	case unitYear:
		return result(bigType, "(", monthsBetween(a2, b2), " // 12)")
	}
	return result(bigType, "date_sub(", quote(strings.ToLower(unit.ToString())), ", ", a2, ", ", b2, ")")
}

// monthsBetween counts whole months by the day and time within the month: from
// January 31 to February 29 is none. DuckDB counts one, as both end a month.
func monthsBetween(a, b string) string {
	rest := func(x string) string { return "epoch_us(" + x + ") - epoch_us(date_trunc('month', " + x + "))" }
	n := "date_diff('month', " + a + ", " + b + ")"
	return "(CASE WHEN " + b + " >= " + a + " THEN " + n + " - CAST(" + rest(b) + " < " + rest(a) + " AS BIGINT) ELSE " +
		n + " + CAST(" + rest(b) + " > " + rest(a) + " AS BIGINT) END)"
}

func (t *translator) extract(e *sqlparser.ExtractFuncExpr, sc *scope) (expr, error) {
	if _, ok := intervalFuncs[e.IntervalType]; !ok {
		return expr{}, unsupported("EXTRACT of %s", e.IntervalType.ToString())
	}
	return t.applyTo(strings.ToLower(e.IntervalType.ToString()), sc, e.Expr)
}

// unitFuncs are Doris' own names: days_add(d, n), hours_sub(d, n),
// months_diff(a, b), ..., and date_add with a number of days.
func unitFuncs() map[string]function {
	out := map[string]function{}
	for name, unit := range map[string]sqlparser.IntervalType{
		"years": unitYear, "quarters": unitQuarter, "months": unitMonth, "weeks": unitWeek, "days": unitDay,
		"hours": unitHour, "minutes": unitMinute, "seconds": unitSecond, "microseconds": unitMicrosecond,
	} {
		out[name+"_add"] = function{2, 2, func(t *translator, a []expr) (expr, error) { return t.addInterval(a[0], a[1], unit, false) }}
		out[name+"_sub"] = function{2, 2, func(t *translator, a []expr) (expr, error) { return t.addInterval(a[0], a[1], unit, true) }}
		out[name+"_diff"] = function{2, 2, func(t *translator, a []expr) (expr, error) { return t.unitsBetween(unit, a[1], a[0]) }}
	}
	for name, sub := range map[string]bool{"date_add": false, "adddate": false, "date_sub": true, "subdate": true} {
		out[name] = function{2, 2, func(t *translator, a []expr) (expr, error) { return t.addInterval(a[0], a[1], unitDay, sub) }}
	}
	return out
}
