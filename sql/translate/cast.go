package translate

import (
	"strconv"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

func (t *translator) cast(e sqlparser.Expr, ct *sqlparser.ConvertType, sc *scope) (expr, error) {
	x, err := t.expr(e, sc)
	if err != nil {
		return expr{}, err
	}
	typ, err := t.castTarget(ct)
	if err != nil {
		return expr{}, err
	}
	return t.castTo(x, typ)
}

// castTarget is the Doris type that a CAST names.
func (t *translator) castTarget(ct *sqlparser.ConvertType) (value.Type, error) {
	if n, ok := strings.CutPrefix(ct.Charset.Name, castMark); ok {
		if i, err := strconv.Atoi(n); err == nil && i >= 0 && i < len(t.casts) {
			return t.casts[i], nil
		}
	}
	length, scale := -1, 0
	if ct.Length != nil {
		length = *ct.Length
	}
	if ct.Scale != nil {
		scale = *ct.Scale
	}
	switch name := strings.ToLower(ct.Type); name {
	case "signed", "signed integer":
		return bigType, nil
	case "unsigned", "unsigned integer":
		return largeType, nil
	case "char", "nchar":
		if length >= 0 {
			return value.Type{Kind: value.VarChar, Length: uint32(length)}, nil
		}
		return stringType, nil
	case "binary":
		if length < 0 {
			return stringType, nil
		}
	case "date":
		return dateType, nil
	case "datetime":
		return datetime(uint8(max(length, 0))), nil
	case "decimal":
		if length < 0 {
			length = 10
		}
		if length < 1 || length > value.MaxDecimalPrecision || scale > length {
			return value.Type{}, doriserr.New(doriserr.Analysis, "DECIMAL(%d,%d) is out of range", length, scale)
		}
		return decimalType(length, scale), nil
	case "double", "real":
		return doubleType, nil
	case "float":
		return value.Type{Kind: value.Float}, nil
	case "json":
		return jsonType, nil
	}
	return value.Type{}, unsupported("CAST to %s", strings.ToUpper(ct.Type))
}

// castTo follows Doris: what cannot be converted is NULL, fractions are cut
// off when a number becomes an integer.
func (t *translator) castTo(x expr, typ value.Type) (expr, error) {
	if x.null {
		return expr{sql: "CAST(NULL AS " + sqlType(typ) + ")", typ: typ}, nil
	}
	switch target := (expr{typ: typ}).class(); {
	case typ.Kind == value.JSON:
		s := t.text(x)
		return expr{sql: "(CASE WHEN json_valid(" + s + ") THEN " + s + " END)", typ: typ}, nil
	case target == text:
		s := t.text(x)
		if typ.Kind == value.Char || typ.Kind == value.VarChar {
			s = "left(" + s + ", " + strconv.FormatUint(uint64(typ.Length), 10) + ")"
		}
		return expr{sql: s, typ: typ}, nil
	case typ.Kind == value.Date:
		m, err := t.lenientMoment(x)
		return dateOf(m), err
	case typ.Kind == value.DateTime:
		return t.castStamp(x, typ)
	case target == boolean:
		return expr{sql: t.truthOf(x), typ: boolType}, nil
	case target == integer:
		return expr{sql: t.castInteger(x, typ), typ: typ}, nil
	}
	n := x
	if x.class() != text {
		n = t.number(x)
	}
	return expr{sql: "TRY_CAST(" + n.sql + " AS " + sqlType(typ) + ")", typ: typ}, nil
}

func (t *translator) castInteger(x expr, typ value.Type) string {
	to := " AS " + sqlType(typ) + ")"
	switch x.class() {
	case text:
		if x.lit != nil && x.lit.string {
			return t.castInteger(numberOf(x.lit), typ)
		}
		return "(CASE WHEN regexp_full_match(" + x.sql + `, '\s*[+-]?[0-9]+\s*') THEN TRY_CAST(` + x.sql + to +
			" ELSE TRY_CAST(trunc(TRY_CAST(" + x.sql + " AS DOUBLE))" + to + " END)"
	case decimal, float:
		return "TRY_CAST(trunc(" + x.sql + ")" + to
	}
	return "TRY_CAST(" + t.number(x).sql + to
}

// lenientMoment is moment for CAST: a bad literal is NULL too.
func (t *translator) lenientMoment(x expr) (expr, error) {
	if x.lit != nil {
		if e, ok := t.stampLiteral(x.lit.text); ok {
			return e, nil
		}
		return expr{sql: "CAST(NULL AS TIMESTAMP)", typ: datetimeType}, nil
	}
	switch x.class() {
	case integer, decimal, float:
		return expr{sql: "TRY_CAST(try_strptime(CAST(" + x.sql + " AS VARCHAR), ['%Y%m%d', '%Y%m%d%H%M%S']) AS TIMESTAMP)", typ: datetimeType}, nil
	case boolean:
		return expr{}, unsupported("CAST of a boolean to a date")
	}
	return t.moment(x)
}

// castStamp rounds to the fraction digits of the type.
func (t *translator) castStamp(x expr, typ value.Type) (expr, error) {
	m, err := t.lenientMoment(x)
	if err != nil {
		return expr{}, err
	}
	fromText := x.class() == text && x.lit == nil
	m = stampOf(m)
	s := m.sql
	if typ.Scale < value.MaxDateTimeScale && (m.typ.Scale > typ.Scale || fromText) {
		unit := int64(1)
		for range value.MaxDateTimeScale - typ.Scale {
			unit *= 10
		}
		u, half := strconv.FormatInt(unit, 10), strconv.FormatInt(unit/2, 10)
		s = "make_timestamp(CAST(floor((epoch_us(" + s + ") + " + half + ") / " + u + ") AS BIGINT) * " + u + ")"
	}
	return expr{sql: s, typ: typ}, nil
}
