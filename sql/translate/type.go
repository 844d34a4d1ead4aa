package translate

import "dorisgo/value"

// class is what matters of a type to the rules of comparison and arithmetic.
type class uint8

const (
	unknown class = iota
	null
	boolean
	integer
	decimal
	float
	date // Date and DateTime
	text // strings and JSON
)

// Types that rules give.
var (
	boolType     = value.Type{Kind: value.Boolean}
	tinyType     = value.Type{Kind: value.TinyInt}
	intType      = value.Type{Kind: value.Int}
	bigType      = value.Type{Kind: value.BigInt}
	largeType    = value.Type{Kind: value.LargeInt}
	doubleType   = value.Type{Kind: value.Double}
	dateType     = value.Type{Kind: value.Date}
	datetimeType = value.Type{Kind: value.DateTime}
	stringType   = value.Type{Kind: value.String}
	jsonType     = value.Type{Kind: value.JSON}
)

func decimalType(p, s int) value.Type {
	return value.Type{Kind: value.Decimal, Precision: uint8(min(p, value.MaxDecimalPrecision)), Scale: uint8(s)}
}

func datetime(scale uint8) value.Type { return value.Type{Kind: value.DateTime, Scale: scale} }

// expr is a translated expression.
type expr struct {
	sql string
	typ value.Type
	// null marks the literal NULL, lit any other literal.
	null bool
	lit  *literal
}

// literal is a constant that stands in the text.
type literal struct {
	// text is the string's value or the number's digits.
	text   string
	string bool
	hex    bool
}

func (e expr) class() class {
	if e.null {
		return null
	}
	switch k := e.typ.Kind; {
	case k == value.Boolean:
		return boolean
	case k >= value.TinyInt && k <= value.LargeInt:
		return integer
	case k == value.Decimal:
		return decimal
	case k == value.Float || k == value.Double:
		return float
	case k == value.Date || k == value.DateTime:
		return date
	case e.typ.IsVar():
		return text
	}
	return unknown
}

func (c class) numeric() bool { return c == integer || c == decimal || c == float }

// common is the type that values of all of es can take without losing their
// meaning, the type of CASE, COALESCE and UNION: Invalid if it is not known.
func common(es []expr) value.Type {
	var out value.Type
	seen := false
	for _, e := range es {
		switch {
		case e.null:
		case e.typ.Kind == value.Invalid:
			return value.Type{}
		case !seen:
			out, seen = e.typ, true
		default:
			out = wider(out, e.typ)
		}
	}
	return out
}

func wider(a, b value.Type) value.Type {
	if a == b {
		return a
	}
	ca, cb := expr{typ: a}.class(), expr{typ: b}.class()
	switch {
	case ca == text && cb == text:
		return stringType
	case ca == text || cb == text, ca == date != (cb == date):
		return stringType
	case ca == date:
		return datetime(max(scaleOf(a), scaleOf(b)))
	case ca == float || cb == float:
		return doubleType
	case ca == decimal || cb == decimal:
		return decimalUnion(a, b)
	}
	if a.Kind > b.Kind {
		return a
	}
	return b
}

func scaleOf(t value.Type) uint8 {
	if t.Kind == value.DateTime {
		return t.Scale
	}
	return 0
}

// decimalUnion has the integer digits and the fraction digits of both.
func decimalUnion(a, b value.Type) value.Type {
	pa, sa := digits(a)
	pb, sb := digits(b)
	s := max(sa, sb)
	return decimalType(max(pa-sa, pb-sb)+s, s)
}

// digits are the precision and scale that hold all values of a number type.
func digits(t value.Type) (precision, scale int) {
	switch t.Kind {
	case value.Decimal:
		return int(t.Precision), int(t.Scale)
	case value.Boolean:
		return 1, 0
	case value.TinyInt:
		return 3, 0
	case value.SmallInt:
		return 5, 0
	case value.Int:
		return 10, 0
	case value.BigInt:
		return 19, 0
	}
	return value.MaxDecimalPrecision, 0
}

// sqlType is DuckDB's name of a type.
func sqlType(t value.Type) string {
	switch t.Kind {
	case value.Boolean:
		return "BOOLEAN"
	case value.TinyInt:
		return "TINYINT"
	case value.SmallInt:
		return "SMALLINT"
	case value.Int:
		return "INTEGER"
	case value.BigInt:
		return "BIGINT"
	case value.LargeInt:
		return "HUGEINT"
	case value.Float:
		return "FLOAT"
	case value.Double:
		return "DOUBLE"
	case value.Decimal:
		return "DECIMAL(" + itoa(int(t.Precision)) + "," + itoa(int(t.Scale)) + ")"
	case value.Date:
		return "DATE"
	case value.DateTime:
		return "TIMESTAMP"
	}
	return "VARCHAR"
}
