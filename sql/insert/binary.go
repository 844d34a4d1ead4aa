package insert

import (
	"encoding/binary"
	"math"
	"strconv"

	"dorisgo/block"
	"dorisgo/value"
)

// param appends the next parameter. Integers go straight to integer columns
// and floating numbers to floating columns; everything else takes the way of
// its text, so that text and binary agree on every rule.
func (d *Decoder) param(c *block.Column) error {
	p := d.params
	t, b, ok := p.next()
	if !ok {
		return malformed("the statement has more parameters than the packet")
	}
	switch {
	case t.Type == typeNull:
		return d.null(c)
	case isStringType(t.Type):
		return d.text(c, b)
	case isIntegerType(t.Type):
		if v := integerParam(t, b); v >= 0 || !t.Unsigned {
			if k := c.Type().Kind; k >= value.TinyInt && k <= value.BigInt && value.InIntegerRange(v, k) {
				c.AppendInt64(v)
				return nil
			}
		}
	case t.Type == typeDouble, t.Type == typeFloat:
		if v := floatParam(t.Type, b); d.appendFloat(c, v) {
			return nil
		}
	}
	p.text = appendParam(p.text[:0], t, b)
	return d.text(c, p.text)
}

// appendFloat appends v to a floating column that can hold it.
func (d *Decoder) appendFloat(c *block.Column, v float64) bool {
	switch k := c.Type().Kind; {
	case k == value.Double, k == value.Float && (math.Abs(v) <= math.MaxFloat32 || v != v || math.IsInf(v, 0)):
		c.AppendFloat64(v)
		return true
	}
	return false
}

func isIntegerType(t byte) bool {
	return t == typeTiny || t == typeShort || t == typeLong || t == typeLongLong || t == typeInt24 || t == typeYear
}

// integerParam is the value of an integer parameter. An unsigned one of 2^63
// or more comes out negative.
func integerParam(t ParamType, b []byte) int64 {
	switch {
	case t.Type == typeTiny && t.Unsigned:
		return int64(b[0])
	case t.Type == typeTiny:
		return int64(int8(b[0]))
	case len(b) == 2 && (t.Unsigned || t.Type == typeYear):
		return int64(binary.LittleEndian.Uint16(b))
	case len(b) == 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case len(b) == 4 && t.Unsigned:
		return int64(binary.LittleEndian.Uint32(b))
	case len(b) == 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func floatParam(t byte, b []byte) float64 {
	if t == typeFloat {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// appendParam appends the text of a parameter that is not NULL.
func appendParam(dst []byte, t ParamType, b []byte) []byte {
	switch t.Type {
	case typeFloat:
		return value.AppendFloat(dst, floatParam(t.Type, b), value.Float)
	case typeDouble:
		return value.AppendFloat(dst, floatParam(t.Type, b), value.Double)
	case typeDate, typeDateTime, typeTimestamp:
		return appendDateParam(dst, t.Type, b)
	case typeTime:
		return appendTimeParam(dst, b)
	}
	if !isIntegerType(t.Type) {
		return append(dst, b...)
	}
	v := integerParam(t, b)
	if t.Unsigned {
		return strconv.AppendUint(dst, uint64(v), 10)
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendDateParam appends the text of a date of 0, 4, 7 or 11 bytes as it
// stands: whether it exists is for the column to say.
func appendDateParam(dst []byte, t byte, b []byte) []byte {
	var d [11]byte
	copy(d[:], b)
	dst = appendPadded(dst, uint64(binary.LittleEndian.Uint16(d[:])), 4)
	dst = appendPadded(append(dst, '-'), uint64(d[2]), 2)
	dst = appendPadded(append(dst, '-'), uint64(d[3]), 2)
	if t == typeDate && len(b) <= 4 {
		return dst
	}
	dst = appendPadded(append(dst, ' '), uint64(d[4]), 2)
	dst = appendPadded(append(dst, ':'), uint64(d[5]), 2)
	dst = appendPadded(append(dst, ':'), uint64(d[6]), 2)
	if len(b) < 11 {
		return dst
	}
	return appendPadded(append(dst, '.'), uint64(binary.LittleEndian.Uint32(d[7:])), 6)
}

// appendTimeParam appends the text of a time span of 0, 8 or 12 bytes.
func appendTimeParam(dst, b []byte) []byte {
	var d [12]byte
	copy(d[:], b)
	if d[0] != 0 {
		dst = append(dst, '-')
	}
	hours := uint64(binary.LittleEndian.Uint32(d[1:]))*24 + uint64(d[5])
	dst = appendPadded(dst, hours, 2)
	dst = appendPadded(append(dst, ':'), uint64(d[6]), 2)
	dst = appendPadded(append(dst, ':'), uint64(d[7]), 2)
	if len(b) < 12 {
		return dst
	}
	return appendPadded(append(dst, '.'), uint64(binary.LittleEndian.Uint32(d[8:])), 6)
}

// appendPadded appends v with at least width digits.
func appendPadded(dst []byte, v uint64, width int) []byte {
	var buf [20]byte
	d := strconv.AppendUint(buf[:0], v, 10)
	for range width - len(d) {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}
