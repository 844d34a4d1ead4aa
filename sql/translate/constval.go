package translate

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"

	"vitess.io/vitess/go/vt/sqlparser"

	"dorisgo/block"
	"dorisgo/value"
)

// constVal is an evaluated constant. Which field holds it follows from the
// type: n integers, booleans, dates and the unscaled decimals, f floating
// point, s strings.
type constVal struct {
	typ  value.Type
	null bool
	n    value.Int128
	f    float64
	s    string
}

// The three truth values, in the order that AND (min) and OR (max) need.
type truthValue int8

const (
	isFalse truthValue = iota
	isNull
	isTrue
)

func not(t truthValue) truthValue { return isTrue - t }

func constBool(b bool) constVal {
	v := constVal{typ: boolType}
	if b {
		v.n.Lo = 1
	}
	return v
}

func constTruth(t truthValue) constVal {
	if t == isNull {
		return constVal{typ: boolType, null: true}
	}
	return constBool(t == isTrue)
}

func (v constVal) class() class {
	if v.null {
		return null
	}
	return expr{typ: v.typ}.class()
}

// parseConst reads the digits of a literal of a type.
func parseConst(typ value.Type, s string) (v constVal, ok bool) {
	v.typ = typ
	var err error
	var n int64
	var days int32
	switch typ.Kind {
	case value.Int, value.BigInt, value.LargeInt:
		v.n, err = value.ParseInt128([]byte(s))
	case value.Decimal:
		v.n, err = value.ParseDecimal([]byte(s), typ.Precision, typ.Scale)
	case value.Double:
		v.f, err = value.ParseFloat([]byte(s), value.Double)
	case value.Date:
		days, err = value.ParseDate([]byte(s))
		v.n = value.Int128FromInt64(int64(days))
	case value.DateTime:
		n, err = value.ParseDateTime([]byte(s), typ.Scale, nil)
		v.n = value.Int128FromInt64(n)
	default:
		return v, false
	}
	return v, err == nil
}

// number is v as a number: an exact one or a float64.
func (v constVal) number() (exact *big.Rat, f float64, ok bool) {
	switch v.class() {
	case boolean, integer, decimal:
		r := new(big.Rat).SetInt(bigInt(v.n))
		if v.typ.Kind == value.Decimal {
			r.Quo(r, new(big.Rat).SetInt(tenTo(int(v.typ.Scale))))
		}
		f, _ = r.Float64()
		return r, f, true
	case float:
		return nil, v.f, true
	case text:
		f, err := value.ParseFloat([]byte(strings.TrimSpace(v.s)), value.Double)
		return nil, f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	return nil, 0, false
}

func (v constVal) truth() truthValue {
	if v.null {
		return isNull
	}
	_, f, ok := v.number()
	switch {
	case !ok && v.class() == text:
		return isNull
	case !ok || f != 0:
		return isTrue
	}
	return isFalse
}

func bigInt(v value.Int128) *big.Int {
	n := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return n.Add(n, new(big.Int).SetUint64(v.Lo))
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// exactly is n as a value of the type, if it fits.
func exactly(n *big.Int, typ value.Type) (constVal, bool) {
	v, err := value.ParseInt128([]byte(n.String()))
	if err != nil {
		return constVal{}, false
	}
	if _, fits := v.Int64(); typ.Kind == value.BigInt && !fits {
		return constVal{}, false
	}
	if typ.Kind == value.Decimal && !v.FitsDecimal(typ.Precision) {
		return constVal{}, false
	}
	return constVal{typ: typ, n: v}, true
}

// arithmeticOf has the types and results of the SQL that operator.go makes.
func arithmeticOf(op sqlparser.BinaryExprOperator, l, r constVal) (constVal, bool) {
	lc, rc := l.class(), r.class()
	if lc == null || rc == null {
		if op > sqlparser.ModOp || op < sqlparser.PlusOp || op == sqlparser.IntDivOp {
			return constVal{}, false
		}
		return constVal{null: true, typ: doubleType}, true
	}
	le, lf, ok1 := l.number()
	re, rf, ok2 := r.number()
	if !ok1 || !ok2 || lc == text || rc == text {
		return constVal{}, false
	}
	exact := le != nil && re != nil
	_, ls := digits(l.typ)
	_, rs := digits(r.typ)
	whole := lc != decimal && rc != decimal
	switch op {
	case sqlparser.PlusOp, sqlparser.MinusOp, sqlparser.MultOp:
		if !exact {
			return finite(map[sqlparser.BinaryExprOperator]float64{sqlparser.PlusOp: lf + rf, sqlparser.MinusOp: lf - rf, sqlparser.MultOp: lf * rf}[op])
		}
		out, scale := new(big.Rat), max(ls, rs)
		switch op {
		case sqlparser.PlusOp:
			out.Add(le, re)
		case sqlparser.MinusOp:
			out.Sub(le, re)
		default:
			out.Mul(le, re)
			scale = ls + rs
		}
		return exactResult(out, scale, whole, l, r)
	case sqlparser.DivOp:
		if rf == 0 && (re == nil || re.Sign() == 0) {
			return constVal{null: true, typ: doubleType}, true
		}
		if exact && !whole {
			return constVal{}, false
		}
		return finite(lf / rf)
	}
	return constVal{}, false
}

func finite(f float64) (constVal, bool) {
	return constVal{typ: doubleType, f: f}, !math.IsInf(f, 0) && !math.IsNaN(f)
}

func exactResult(out *big.Rat, scale int, whole bool, l, r constVal) (constVal, bool) {
	if whole {
		typ := bigType
		if l.typ.Kind == value.LargeInt || r.typ.Kind == value.LargeInt {
			typ = largeType
		}
		return exactly(out.Num(), typ)
	}
	if scale > value.MaxDecimalPrecision {
		return constVal{}, false
	}
	n := new(big.Rat).Mul(out, new(big.Rat).SetInt(tenTo(scale)))
	return exactly(n.Num(), decimalType(value.MaxDecimalPrecision, scale))
}

func compareOf(op sqlparser.ComparisonExprOperator, l, r constVal) (constVal, bool) {
	if op > sqlparser.NullSafeEqualOp {
		return constVal{}, false
	}
	if l.null || r.null {
		if op == sqlparser.NullSafeEqualOp {
			return constBool(l.null && r.null), true
		}
		return constTruth(isNull), true
	}
	c := 0
	switch lc, rc := l.class(), r.class(); {
	case lc == text && rc == text:
		c = strings.Compare(l.s, r.s)
	case lc == date || rc == date:
		return constVal{}, false
	default:
		le, lf, ok1 := l.number()
		re, rf, ok2 := r.number()
		switch {
		case !ok1 || !ok2:
			return constTruth(isNull), true
		case le != nil && re != nil:
			c = le.Cmp(re)
		case lf < rf:
			c = -1
		case lf > rf:
			c = 1
		}
	}
	switch op {
	case sqlparser.EqualOp, sqlparser.NullSafeEqualOp:
		return constBool(c == 0), true
	case sqlparser.NotEqualOp:
		return constBool(c != 0), true
	case sqlparser.LessThanOp:
		return constBool(c < 0), true
	case sqlparser.LessEqualOp:
		return constBool(c <= 0), true
	case sqlparser.GreaterThanOp:
		return constBool(c > 0), true
	}
	return constBool(c >= 0), true
}

func isOf(op sqlparser.IsExprOperator, x constVal) constVal {
	t := x.truth()
	switch op {
	case sqlparser.IsNullOp:
		return constBool(x.null)
	case sqlparser.IsNotNullOp:
		return constBool(!x.null)
	case sqlparser.IsTrueOp:
		return constBool(t == isTrue)
	case sqlparser.IsNotTrueOp:
		return constBool(t != isTrue)
	case sqlparser.IsFalseOp:
		return constBool(t == isFalse)
	}
	return constBool(t != isFalse)
}

// raw is the value's bytes as in a block.
func (v constVal) raw() []byte {
	var p [16]byte
	switch v.typ.Kind {
	case value.Double:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.f))
	case value.String:
		return []byte(v.s)
	}
	binary.LittleEndian.PutUint64(p[:], v.n.Lo)
	binary.LittleEndian.PutUint64(p[8:], uint64(v.n.Hi))
	return p[:v.typ.Width()]
}

func (v constVal) appendText(dst []byte) []byte { return value.AppendText(dst, v.typ, v.raw()) }

func (v constVal) appendTo(c *block.Column) {
	switch {
	case v.null:
		c.AppendNull()
	case v.typ.Kind == value.Double:
		c.AppendFloat64(v.f)
	case v.typ.Kind == value.String:
		c.AppendBytes([]byte(v.s))
	case v.typ.Width() == 16:
		c.AppendInt128(v.n)
	default:
		c.AppendInt64(int64(v.n.Lo))
	}
}
