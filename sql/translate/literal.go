package translate

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/doriserr"
	"dorisgo/value"
)

func (t *translator) literal(l *sqlparser.Literal) (expr, error) {
	switch l.Type {
	case sqlparser.StrVal:
		return stringLiteral(l.Val)
	case sqlparser.IntVal:
		return integerLiteral(l.Val), nil
	case sqlparser.DecimalVal:
		return decimalLiteral(l.Val), nil
	case sqlparser.FloatVal:
		return expr{sql: "CAST(" + l.Val + " AS DOUBLE)", typ: doubleType, lit: &literal{text: l.Val}}, nil
	case sqlparser.HexNum, sqlparser.HexVal:
		digits := strings.TrimPrefix(strings.TrimPrefix(l.Val, "0x"), "0X")
		if len(digits)%2 == 1 {
			digits = "0" + digits
		}
		raw, err := hex.DecodeString(digits)
		if err != nil {
			return expr{}, doriserr.New(doriserr.Parse, "bad hexadecimal literal %s", l.Val)
		}
		e, err := stringLiteral(string(raw))
		if err == nil {
			e.lit.hex = true
		}
		return e, err
	case sqlparser.BitNum:
		n, err := strconv.ParseInt(strings.TrimPrefix(l.Val, "0b"), 2, 64)
		if err != nil {
			return expr{}, doriserr.New(doriserr.Parse, "bad bit literal %s", l.Val)
		}
		return integerLiteral(strconv.FormatInt(n, 10)), nil
	case sqlparser.DateVal, sqlparser.TimestampVal:
		e, ok := t.stampLiteral(l.Val)
		if !ok {
			return expr{}, doriserr.New(doriserr.Analysis, "Incorrect DATETIME value: '%s'", l.Val)
		}
		if l.Type == sqlparser.DateVal {
			return dateOf(e), nil
		}
		return stampOf(e), nil
	}
	return expr{}, unsupported("literal %s", nodeName(l))
}

// stringLiteral writes a string for DuckDB: only the quote is special there.
// Its parser ends at NUL, so that NUL comes from a function.
func stringLiteral(s string) (expr, error) {
	if !utf8.ValidString(s) {
		return expr{}, doriserr.New(doriserr.Analysis, "a string literal is not valid UTF-8")
	}
	return expr{sql: quote(s), typ: stringType, lit: &literal{text: s, string: true}}, nil
}

func quote(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.IndexByte(q, 0) < 0 {
		return q
	}
	return "(" + strings.ReplaceAll(q, "\x00", "' || chr(0) || '") + ")"
}

func integerLiteral(digits string) expr {
	e := expr{sql: digits, lit: &literal{text: digits}}
	switch n, err := strconv.ParseInt(digits, 10, 64); {
	case err == nil && int64(int32(n)) == n:
		e.typ = intType
	case err == nil:
		e.typ = bigType
		if n == math.MinInt64 {
			// DuckDB reads the digits before the sign, as a HUGEINT.
			e.sql = "CAST(" + quote(digits) + " AS BIGINT)"
			return e
		}
	default:
		if _, err := value.ParseInt128([]byte(digits)); err == nil {
			e.typ = largeType
			e.sql = "CAST(" + quote(digits) + " AS HUGEINT)"
			break
		}
		return decimalLiteral(digits)
	}
	if digits[0] == '-' {
		e.sql = "(" + digits + ")"
	}
	return e
}

func decimalLiteral(s string) expr {
	whole, frac, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	whole = strings.TrimLeft(whole, "0")
	if p := len(whole) + len(frac); p <= value.MaxDecimalPrecision {
		typ := decimalType(max(p, 1, len(frac)), len(frac))
		return expr{sql: "CAST(" + quote(s) + " AS " + sqlType(typ) + ")", typ: typ, lit: &literal{text: s}}
	}
	return expr{sql: "CAST(" + quote(s) + " AS DOUBLE)", typ: doubleType, lit: &literal{text: s}}
}

// stampLiteral reads the text of a date or datetime: a Date if it has no time.
func (t *translator) stampLiteral(s string) (expr, bool) {
	s = strings.TrimSpace(s)
	us, err := value.ParseDateTime([]byte(s), value.MaxDateTimeScale, t.env.Now.Location())
	if err != nil {
		return expr{}, false
	}
	if !strings.ContainsRune(s, ':') && us%86400_000_000 == 0 && len(s) <= len("2024-01-01") {
		return expr{sql: "DATE '" + string(value.AppendDateTime(nil, us, 0)[:10]) + "'", typ: dateType}, true
	}
	scale := uint8(0)
	for unit := int64(1_000_000); us%unit != 0; unit /= 10 {
		scale++
	}
	return expr{sql: stamp(us, scale), typ: datetime(scale)}, true
}

// stamp is a TIMESTAMP literal.
func stamp(us int64, scale uint8) string {
	return "TIMESTAMP '" + string(value.AppendDateTime(nil, us, scale)) + "'"
}

func (t *translator) variable(v *sqlparser.Variable) (expr, error) {
	name := v.Name.String()
	var val any
	switch v.Scope {
	case sqlparser.VariableScope:
		if t.env.UserVariable != nil {
			val = t.env.UserVariable(name)
		}
	case sqlparser.NoScope, sqlparser.SessionScope, sqlparser.GlobalScope:
		if t.env.Variable == nil {
			return expr{}, doriserr.New(doriserr.UnknownVariable, "Unknown system variable '%s'", name)
		}
		var err error
		if val, err = t.env.Variable(name, v.Scope == sqlparser.GlobalScope); err != nil {
			return expr{}, err
		}
	default:
		return expr{}, unsupported("variable %s", nodeName(v))
	}
	return constantExpr(val)
}

// constantExpr is a Go value as a literal.
func constantExpr(val any) (expr, error) {
	switch v := val.(type) {
	case nil:
		return nullExpr, nil
	case bool:
		if v {
			return integerLiteral("1"), nil
		}
		return integerLiteral("0"), nil
	case int64:
		return integerLiteral(strconv.FormatInt(v, 10)), nil
	case uint64:
		return integerLiteral(strconv.FormatUint(v, 10)), nil
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		return expr{sql: "CAST(" + quote(s) + " AS DOUBLE)", typ: doubleType, lit: &literal{text: s}}, nil
	case string:
		return stringLiteral(v)
	}
	return expr{}, fmt.Errorf("translate: a constant of type %T", val)
}
