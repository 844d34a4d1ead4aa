package insert

import (
	"bytes"
	"math"
	"math/big"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// operandKind is the type of a constant while it is computed.
type operandKind uint8

const (
	nullOperand operandKind = iota
	// decimalOperand is int * 10^-scale, exact; integers have scale 0.
	decimalOperand
	doubleOperand
	textOperand
)

type operand struct {
	kind  operandKind
	int   *big.Int
	scale int
	float float64
	text  []byte
}

// maxOperandDigits bounds exact numbers: twice the digits of the widest type.
const maxOperandDigits = 2 * value.MaxDecimalPrecision

// maxQuotientDigits are the digits that a division adds to the dividend's
// scale, as in MySQL.
const maxQuotientDigits = 4

func integerOperand(v int64) operand { return operand{kind: decimalOperand, int: big.NewInt(v)} }

// numberOperand is the constant of a number literal.
func numberOperand(lit []byte) (operand, error) {
	if bytes.ContainsAny(lit, "eE") {
		v, err := value.ParseFloat(lit, value.Double)
		return operand{kind: doubleOperand, float: v}, err
	}
	if len(lit) > maxOperandDigits+1 {
		return operand{}, numberOutOfRange()
	}
	o := operand{kind: decimalOperand, int: new(big.Int)}
	digits := lit
	if point := bytes.IndexByte(lit, '.'); point >= 0 {
		o.scale = len(lit) - point - 1
		digits = append(append([]byte(nil), lit[:point]...), lit[point+1:]...)
	}
	if _, ok := o.int.SetString(string(digits), 10); !ok && len(digits) > 0 {
		return operand{}, doriserr.New(doriserr.Parse, "invalid number '%s'", lit)
	}
	return o, nil
}

func numberOutOfRange() error {
	return doriserr.New(doriserr.OutOfRange, "a number in an expression has more than %d digits", maxOperandDigits)
}

// number is the operand as a number; strings are floating numbers.
func (o operand) number() (operand, error) {
	if o.kind != textOperand {
		return o, nil
	}
	v, err := value.ParseFloat(o.text, value.Double)
	if err != nil {
		return operand{}, doriserr.New(doriserr.DataQuality, "'%s' is no number", value.TruncateUTF8(o.text, 64))
	}
	return operand{kind: doubleOperand, float: v}, nil
}

func (o operand) double() float64 {
	if o.kind == doubleOperand {
		return o.float
	}
	f, _ := new(big.Rat).SetFrac(o.int, pow10(o.scale)).Float64()
	return f
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// scaledTo is the operand's integer at a scale not below its own.
func (o operand) scaledTo(scale int) *big.Int {
	return new(big.Int).Mul(o.int, pow10(scale-o.scale))
}

// appendText appends the operand as a string has it; it is not NULL.
func (o operand) appendText(dst []byte) []byte {
	switch o.kind {
	case doubleOperand:
		return value.AppendFloat(dst, o.float, value.Double)
	case textOperand:
		return append(dst, o.text...)
	}
	digits := new(big.Int).Abs(o.int).Append(nil, 10)
	if o.int.Sign() < 0 {
		dst = append(dst, '-')
	}
	for range o.scale + 1 - len(digits) {
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - o.scale
	dst = append(dst, digits[:point]...)
	if o.scale > 0 {
		dst = append(append(dst, '.'), digits[point:]...)
	}
	return dst
}

// compute applies + - * / %. NULL and division by zero give NULL.
func compute(op byte, a, b operand) (operand, error) {
	a, err := a.number()
	if err != nil {
		return operand{}, err
	}
	if b, err = b.number(); err != nil {
		return operand{}, err
	}
	if a.kind == nullOperand || b.kind == nullOperand {
		return operand{}, nil
	}
	if a.kind == doubleOperand || b.kind == doubleOperand || op == '/' && a.scale == 0 && b.scale == 0 {
		return computeDouble(op, a.double(), b.double())
	}
	return computeDecimal(op, a, b)
}

func computeDecimal(op byte, a, b operand) (operand, error) {
	scale := max(a.scale, b.scale)
	out := operand{kind: decimalOperand, int: new(big.Int), scale: scale}
	switch op {
	case '+':
		out.int.Add(a.scaledTo(scale), b.scaledTo(scale))
	case '-':
		out.int.Sub(a.scaledTo(scale), b.scaledTo(scale))
	case '*':
		out.scale = a.scale + b.scale
		out.int.Mul(a.int, b.int)
	default:
		if b.int.Sign() == 0 {
			return operand{}, nil
		}
		if op == '%' {
			out.int.Rem(a.scaledTo(scale), b.scaledTo(scale))
			break
		}
		out.scale = a.scale + maxQuotientDigits
		out.int = quotient(new(big.Int).Mul(a.int, pow10(maxQuotientDigits+b.scale)), b.int)
	}
	if len(out.int.Text(10)) > maxOperandDigits || out.scale > maxOperandDigits {
		return operand{}, numberOutOfRange()
	}
	return out, nil
}

// quotient is n/d rounded half away from zero.
func quotient(n, d *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(n, d, new(big.Int))
	if r.Abs(r).Lsh(r, 1).CmpAbs(d) >= 0 {
		q.Add(q, big.NewInt(int64(n.Sign()*d.Sign())))
	}
	return q
}

func computeDouble(op byte, a, b float64) (operand, error) {
	out := operand{kind: doubleOperand}
	switch op {
	case '+':
		out.float = a + b
	case '-':
		out.float = a - b
	case '*':
		out.float = a * b
	default:
		if b == 0 {
			return operand{}, nil
		}
		if out.float = a / b; op == '%' {
			out.float = math.Mod(a, b)
		}
	}
	if out.float-out.float != 0 {
		return operand{}, doriserr.New(doriserr.OutOfRange, "DOUBLE value is out of range in an expression")
	}
	return out, nil
}
