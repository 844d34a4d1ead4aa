package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// condition is an expression as a truth value.
func (t *translator) condition(e sqlparser.Expr, sc *scope) (string, error) {
	x, err := t.expr(e, sc)
	if err != nil {
		return "", err
	}
	return t.truthOf(x), nil
}

// truthOf: a number is true unless it is 0, a string as its number.
func (t *translator) truthOf(x expr) string {
	switch x.class() {
	case null:
		return "CAST(NULL AS BOOLEAN)"
	case integer, decimal, float, date, text:
		return "(" + t.number(x).sql + " <> 0)"
	}
	return x.sql
}

// number is x as a number.
func (t *translator) number(x expr) expr {
	switch x.class() {
	case boolean:
		return expr{sql: "CAST(" + x.sql + " AS TINYINT)", typ: tinyType}
	case text:
		if x.lit != nil && x.lit.string {
			return numberOf(x.lit)
		}
		return expr{sql: "TRY_CAST(" + x.sql + " AS DOUBLE)", typ: doubleType}
	case date:
		if x.typ.Kind == value.Date {
			return expr{sql: "CAST(strftime(" + x.sql + ", '%Y%m%d') AS BIGINT)", typ: bigType}
		}
		return expr{sql: "CAST(strftime(" + x.sql + ", '%Y%m%d%H%M%S') AS BIGINT)", typ: bigType}
	case float:
		if x.typ.Kind == value.Float {
			return expr{sql: "CAST(" + x.sql + " AS DOUBLE)", typ: doubleType}
		}
	}
	return x
}

// numberOf is the number that a string literal means; one that is no number is
// NULL, as in Doris.
func numberOf(l *literal) expr {
	if l.hex && len(l.text) <= 7 {
		n := int64(0)
		for i := range len(l.text) {
			n = n<<8 | int64(l.text[i])
		}
		return integerLiteral(strconv.FormatInt(n, 10))
	}
	s := strings.TrimSpace(l.text)
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if digits != "" && strings.Trim(digits, "0123456789") == "" && len(digits) < 39 {
		return integerLiteral(strings.TrimPrefix(s, "+"))
	}
	if whole, frac, ok := strings.Cut(digits, "."); ok && len(whole)+len(frac) > 0 && strings.Trim(whole+frac, "0123456789") == "" {
		return decimalLiteral(strings.TrimPrefix(s, "+"))
	}
	if _, err := value.ParseFloat([]byte(s), value.Double); err == nil && digits != "" && strings.Trim(digits, "0123456789.eE+-") == "" {
		return expr{sql: "CAST(" + quote(s) + " AS DOUBLE)", typ: doubleType}
	}
	return expr{sql: "CAST(NULL AS DOUBLE)", typ: doubleType}
}

// text is x as a string, as a client would see it.
func (t *translator) text(x expr) string { return asText(x) }

func asText(x expr) string {
	switch x.class() {
	case null:
		return "CAST(NULL AS VARCHAR)"
	case text:
		return x.sql
	case boolean:
		return "CAST(CAST(" + x.sql + " AS TINYINT) AS VARCHAR)"
	case float:
		// A whole number has no ".0" for clients.
		return "regexp_replace(CAST(" + x.sql + " AS VARCHAR), '\\.0$', '')"
	case date:
		if x.typ.Kind == value.DateTime {
			switch s := x.typ.Scale; s {
			case 0:
				return "strftime(" + x.sql + ", '%Y-%m-%d %H:%M:%S')"
			default:
				return "left(strftime(" + x.sql + ", '%Y-%m-%d %H:%M:%S.%f'), " + itoa(20+int(s)) + ")"
			}
		}
	}
	return "CAST(" + x.sql + " AS VARCHAR)"
}

// moment is x as a Date or DateTime. A string or number that is none is NULL,
// as a literal an error.
func (t *translator) moment(x expr) (expr, error) {
	switch c := x.class(); {
	case c == null:
		return expr{sql: "CAST(NULL AS TIMESTAMP)", typ: datetimeType}, nil
	case c == date, c == unknown:
		return x, nil
	case x.lit != nil && (c == text || c == integer):
		e, ok := t.stampLiteral(x.lit.text)
		if !ok {
			return expr{}, doriserr.New(doriserr.Analysis, "Incorrect DATETIME value: '%s'", x.lit.text)
		}
		return e, nil
	case c == text:
		return expr{sql: "TRY_CAST(" + x.sql + " AS TIMESTAMP)", typ: datetimeType}, nil
	}
	return expr{}, unsupported("a number as a date")
}

// dateOf and stampOf are a moment as a DATE and as a TIMESTAMP.
func dateOf(x expr) expr {
	if x.typ.Kind == value.Date {
		return x
	}
	return expr{sql: "CAST(" + x.sql + " AS DATE)", typ: dateType}
}

func stampOf(x expr) expr {
	if x.typ.Kind == value.DateTime {
		return x
	}
	return expr{sql: "CAST(" + x.sql + " AS TIMESTAMP)", typ: datetimeType}
}

// coerce makes two values comparable the way MySQL compares them: dates with
// strings as dates, numbers with strings as numbers, truth values as 0 and 1.
func (t *translator) coerce(l, r expr) (expr, expr, error) {
	cl, cr := l.class(), r.class()
	switch {
	case cl == cr && cl != text, cl == null, cr == null, cl == unknown, cr == unknown, cl.numeric() && cr.numeric():
		return l, r, nil
	case cl == text && cr == text:
		return l, r, nil
	case cl == date || cr == date:
		if cl.numeric() && l.lit == nil || cr.numeric() && r.lit == nil || cl == boolean || cr == boolean {
			return t.number(l), t.number(r), nil
		}
		var err error
		if l, err = t.moment(l); err != nil {
			return l, r, err
		}
		r, err = t.moment(r)
		return l, r, err
	}
	return t.number(l), t.number(r), nil
}

// convert casts x to one of the types that common finds.
func convert(x expr, typ value.Type) string {
	switch (expr{typ: typ}).class() {
	case text:
		return asText(x)
	case date:
		if typ.Kind == value.Date {
			return dateOf(x).sql
		}
		return stampOf(x).sql
	}
	return "CAST(" + x.sql + " AS " + sqlType(typ) + ")"
}
