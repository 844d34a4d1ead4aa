package translate

import (
	"strconv"

	"dorisgo/value"
)

var mathFuncs = map[string]function{
	"abs": {1, 1, func(t *translator, a []expr) (expr, error) {
		n := t.number(a[0])
		if n.class() == integer && n.typ.Kind < value.BigInt {
			return result(bigType, "abs(CAST(", n.sql, " AS BIGINT))")
		}
		return result(n.typ, "abs(", n.sql, ")")
	}},
	"ceil":    {1, 1, whole("ceil")},
	"ceiling": {1, 1, whole("ceil")},
	"floor":   {1, 1, whole("floor")},
	"round":   {1, 2, round},
	"truncate": {2, 2, func(t *translator, a []expr) (expr, error) {
		n := t.number(a[0])
		d, ok := digitsArg(a[1])
		if !ok {
			return expr{}, unsupported("truncate to a computed number of digits")
		}
		if n.class() == decimal && d >= 0 {
			if d >= int(n.typ.Scale) {
				return n, nil
			}
			unit := "CAST('" + strconv.FormatFloat(pow10(-d), 'f', d, 64) + "' AS " + sqlType(decimalType(d+1, d)) + ")"
			typ := decimalType(int(n.typ.Precision), d)
			return result(typ, "CAST((", n.sql, " - ", n.sql, " % ", unit, ") AS ", sqlType(typ), ")")
		}
		if n.class() == integer && d >= 0 {
			return n, nil
		}
		f := strconv.FormatFloat(pow10(abs(d)), 'f', -1, 64)
		x := "CAST(" + n.sql + " AS DOUBLE)"
		if d < 0 {
			return result(doubleType, "(trunc(", x, " / ", f, ") * ", f, ")")
		}
		return result(doubleType, "(trunc(", x, " * ", f, ") / ", f, ")")
	}},
	"mod":     {2, 2, func(t *translator, a []expr) (expr, error) { return t.arithmetic("%", a[0], a[1]), nil }},
	"power":   {2, 2, plain("pow", doubleType, doubleArg)},
	"pow":     {2, 2, plain("pow", doubleType, doubleArg)},
	"exp":     {1, 1, plain("exp", doubleType, doubleArg)},
	"pi":      {0, 0, plain("pi", doubleType, doubleArg)},
	"sin":     {1, 1, plain("sin", doubleType, doubleArg)},
	"cos":     {1, 1, plain("cos", doubleType, doubleArg)},
	"tan":     {1, 1, plain("tan", doubleType, doubleArg)},
	"atan":    {1, 1, plain("atan", doubleType, doubleArg)},
	"atan2":   {2, 2, plain("atan2", doubleType, doubleArg)},
	"degrees": {1, 1, plain("degrees", doubleType, doubleArg)},
	"radians": {1, 1, plain("radians", doubleType, doubleArg)},
	"sqrt":    {1, 1, inDomain("sqrt", ">= 0")},
	"ln":      {1, 1, inDomain("ln", "> 0")},
	"log2":    {1, 1, inDomain("log2", "> 0")},
	"log10":   {1, 1, inDomain("log10", "> 0")},
	"asin":    {1, 1, inDomain("asin", "BETWEEN -1 AND 1")},
	"acos":    {1, 1, inDomain("acos", "BETWEEN -1 AND 1")},
	"log": {1, 2, func(t *translator, a []expr) (expr, error) {
		if len(a) == 1 {
			return inDomain("ln", "> 0")(t, a)
		}
		b, x := doubleArg(t, a[0]), doubleArg(t, a[1])
		return result(doubleType, "(CASE WHEN ", b, " > 0 AND ", b, " <> 1 AND ", x, " > 0 THEN ln(", x, ") / ln(", b, ") END)")
	}},
	"sign": {1, 1, func(t *translator, a []expr) (expr, error) {
		return result(tinyType, "CAST(sign(", t.number(a[0]).sql, ") AS TINYINT)")
	}},
	"rand":   {0, 0, plain("random", doubleType, doubleArg)},
	"random": {0, 0, plain("random", doubleType, doubleArg)},
}

func abs(n int) int { return max(n, -n) }

func pow10(n int) float64 {
	f := 1.0
	for range abs(n) {
		f *= 10
	}
	if n < 0 {
		return 1 / f
	}
	return f
}

// digitsArg is a literal number of digits.
func digitsArg(e expr) (int, bool) {
	if e.lit == nil || e.class() != integer {
		return 0, false
	}
	n, err := strconv.Atoi(e.lit.text)
	return n, err == nil && abs(n) <= value.MaxDecimalPrecision
}

// whole is ceil or floor: integers as they are, decimals as a BIGINT if that
// holds them.
func whole(name string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		n := t.number(a[0])
		switch n.class() {
		case integer:
			return n, nil
		case decimal:
			typ := decimalType(min(int(n.typ.Precision)-int(n.typ.Scale)+1, value.MaxDecimalPrecision), 0)
			if typ.Precision <= 18 {
				typ = bigType
			}
			return result(typ, "CAST(", name, "(", n.sql, ") AS ", sqlType(typ), ")")
		}
		return result(doubleType, name, "(", n.sql, ")")
	}
}

// round goes half away from zero.
func round(t *translator, a []expr) (expr, error) {
	n := t.number(a[0])
	if len(a) == 1 {
		if n.class() == integer {
			return n, nil
		}
		if n.class() == decimal {
			typ := decimalType(int(n.typ.Precision)-int(n.typ.Scale)+1, 0)
			return result(typ, "CAST(round(", n.sql, ") AS ", sqlType(typ), ")")
		}
		return result(n.typ, "round(", n.sql, ")")
	}
	d, ok := digitsArg(a[1])
	if !ok {
		return result(doubleType, "round(", doubleArg(t, a[0]), ", CAST(", t.number(a[1]).sql, " AS INTEGER))")
	}
	if n.class() == decimal {
		if d >= int(n.typ.Scale) {
			return n, nil
		}
		typ := decimalType(int(n.typ.Precision)-int(n.typ.Scale)+max(d, 0)+1, max(d, 0))
		return result(typ, "CAST(round(", n.sql, ", ", itoa(d), ") AS ", sqlType(typ), ")")
	}
	if n.class() == integer && d >= 0 {
		return n, nil
	}
	return result(n.typ, "round(", n.sql, ", ", itoa(d), ")")
}

// inDomain gives NULL where the function has no value; DuckDB fails there.
func inDomain(name, domain string) func(*translator, []expr) (expr, error) {
	return func(t *translator, a []expr) (expr, error) {
		x := doubleArg(t, a[0])
		return result(doubleType, "(CASE WHEN ", x, " ", domain, " THEN ", name, "(", x, ") END)")
	}
}
