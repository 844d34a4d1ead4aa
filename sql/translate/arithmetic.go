package translate

import (
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/value"
)

func (t *translator) unary(e *sqlparser.UnaryExpr, sc *scope) (expr, error) {
	x, err := t.expr(e.Expr, sc)
	if err != nil {
		return expr{}, err
	}
	switch e.Operator {
	case sqlparser.UPlusOp:
		return x, nil
	case sqlparser.UMinusOp:
		if x.lit != nil && x.class().numeric() && x.lit.text[0] != '-' {
			l := &sqlparser.Literal{Type: sqlparser.IntVal, Val: "-" + x.lit.text}
			switch x.class() {
			case decimal:
				return decimalLiteral(l.Val), nil
			case float:
				l.Type = sqlparser.FloatVal
				return t.literal(l)
			}
			return integerLiteral(l.Val), nil
		}
		n := t.number(x)
		if n.class() == integer && n.typ.Kind < value.BigInt {
			n = expr{sql: "CAST(" + n.sql + " AS BIGINT)", typ: bigType}
		}
		return expr{sql: "(-" + n.sql + ")", typ: n.typ}, nil
	case sqlparser.TildaOp:
		return expr{sql: "(~" + t.bits(x) + ")", typ: bigType}, nil
	case sqlparser.BangOp:
		return expr{sql: "(NOT " + t.truthOf(x) + ")", typ: boolType}, nil
	case sqlparser.NStringOp:
		return x, nil
	}
	return expr{}, unsupported("%s", nodeName(e))
}

// bits is x as a BIGINT.
func (t *translator) bits(x expr) string { return "CAST(" + t.number(x).sql + " AS BIGINT)" }

var bitWords = map[sqlparser.BinaryExprOperator]string{
	sqlparser.BitAndOp: "&", sqlparser.BitOrOp: "|", sqlparser.ShiftLeftOp: "<<", sqlparser.ShiftRightOp: ">>",
}

func (t *translator) binary(e *sqlparser.BinaryExpr, sc *scope) (expr, error) {
	l, r, err := t.pair(e.Left, e.Right, sc)
	if err != nil {
		return expr{}, err
	}
	if word, ok := bitWords[e.Operator]; ok {
		return expr{sql: "(" + t.bits(l) + " " + word + " " + t.bits(r) + ")", typ: bigType}, nil
	}
	switch e.Operator {
	case sqlparser.BitXorOp:
		return expr{sql: "xor(" + t.bits(l) + ", " + t.bits(r) + ")", typ: bigType}, nil
	case sqlparser.PlusOp:
		return t.arithmetic("+", l, r), nil
	case sqlparser.MinusOp:
		return t.arithmetic("-", l, r), nil
	case sqlparser.MultOp:
		return t.arithmetic("*", l, r), nil
	case sqlparser.ModOp:
		return t.arithmetic("%", l, r), nil
	case sqlparser.DivOp:
		return t.divide(l, r), nil
	case sqlparser.IntDivOp:
		return t.divideWhole(l, r), nil
	}
	return expr{}, unsupported("%s", nodeName(e))
}

// arithmetic is +, -, * and %: integers as BIGINT at least, so that columns of
// small types do not overflow.
func (t *translator) arithmetic(op string, l, r expr) expr {
	if l.null || r.null {
		return expr{sql: "CAST(NULL AS DOUBLE)", typ: doubleType}
	}
	l, r = t.number(l), t.number(r)
	typ := wider(l.typ, r.typ)
	if l.class() == unknown || r.class() == unknown {
		typ = value.Type{}
	}
	switch (expr{typ: typ}).class() {
	case integer:
		if typ.Kind < value.BigInt {
			typ = bigType
			l.sql = "CAST(" + l.sql + " AS BIGINT)"
		}
	case decimal:
		pl, sl := digits(l.typ)
		pr, sr := digits(r.typ)
		switch {
		case op == "*" && sl+sr > value.MaxDecimalPrecision:
			l.sql, r.sql = "CAST("+l.sql+" AS DOUBLE)", "CAST("+r.sql+" AS DOUBLE)"
			typ = doubleType
		case op == "*":
			typ = decimalType(pl+pr, sl+sr)
		case op != "%":
			typ = decimalType(max(pl-sl, pr-sr)+max(sl, sr)+1, max(sl, sr))
		}
	}
	if op == "%" {
		r = notZero(r)
	}
	return expr{sql: "(" + l.sql + " " + op + " " + r.sql + ")", typ: typ}
}

// notZero makes a divisor of 0 NULL: so the quotient is NULL.
func notZero(r expr) expr {
	if r.lit != nil && strings.Trim(r.lit.text, "0.-") != "" {
		return r
	}
	return expr{sql: "NULLIF(" + r.sql + ", 0)", typ: r.typ}
}

// divisionDigits is how many fraction digits a decimal quotient has beyond the
// dividend's.
const divisionDigits = 4

// divide is /: integers and floating point give DOUBLE, decimals a decimal.
func (t *translator) divide(l, r expr) expr {
	if l.null || r.null {
		return expr{sql: "CAST(NULL AS DOUBLE)", typ: doubleType}
	}
	l, r = t.number(l), t.number(r)
	s := "(CAST(" + l.sql + " AS DOUBLE) / " + notZero(r).sql + ")"
	if l.class() == float || r.class() == float || (l.class() != decimal && r.class() != decimal) {
		return expr{sql: s, typ: doubleType}
	}
	_, scale := digits(l.typ)
	typ := decimalType(value.MaxDecimalPrecision, min(scale+divisionDigits, 18))
	return expr{sql: "CAST(" + s + " AS " + sqlType(typ) + ")", typ: typ}
}

// divideWhole is DIV.
func (t *translator) divideWhole(l, r expr) expr {
	if l.null || r.null {
		return expr{sql: "CAST(NULL AS BIGINT)", typ: bigType}
	}
	l, r = t.number(l), t.number(r)
	if l.class() == integer && r.class() == integer {
		typ := bigType
		if l.typ.Kind == value.LargeInt || r.typ.Kind == value.LargeInt {
			typ = largeType
		}
		return expr{sql: "(CAST(" + l.sql + " AS " + sqlType(typ) + ") // " + notZero(r).sql + ")", typ: typ}
	}
	return expr{sql: "CAST(trunc(CAST(" + l.sql + " AS DOUBLE) / " + notZero(r).sql + ") AS BIGINT)", typ: bigType}
}
