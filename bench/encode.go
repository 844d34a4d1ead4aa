package bench

import (
	"encoding/binary"
	"strconv"

	"dorisgo/value"
)

// appendCSV appends a row as a line with commas. The generators make no text
// that needs quotes or escapes, in CSV or in SQL.
func appendCSV(b []byte, t *Table, r Row) []byte {
	for i, c := range t.columns {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendPlain(b, c.kind, r[i])
	}
	return append(b, '\n')
}

// appendJSON appends a row as an object and a newline.
func appendJSON(b []byte, t *Table, r Row) []byte {
	b = append(b, '{')
	for i, c := range t.columns {
		if i > 0 {
			b = append(b, ',', ' ')
		}
		b = append(append(append(b, '"'), c.name...), `": `...)
		quoted := c.kind == kindText || c.kind == kindDate
		if quoted {
			b = append(b, '"')
		}
		b = appendPlain(b, c.kind, r[i])
		if quoted {
			b = append(b, '"')
		}
	}
	return append(b, "}\n"...)
}

// appendLiterals appends a row as (literal, ...).
func appendLiterals(b []byte, t *Table, r Row) []byte {
	b = append(b, '(')
	for i, c := range t.columns {
		if i > 0 {
			b = append(b, ',')
		}
		quoted := c.kind == kindText || c.kind == kindDate
		if quoted {
			b = append(b, '\'')
		}
		b = appendPlain(b, c.kind, r[i])
		if quoted {
			b = append(b, '\'')
		}
	}
	return append(b, ')')
}

func appendPlain(b []byte, k kind, v Value) []byte {
	switch k {
	case kindDecimal:
		return appendDecimal(b, v.num)
	case kindDate:
		return value.AppendDate(b, int32(v.num))
	case kindText:
		return append(b, v.text...)
	default:
		return strconv.AppendInt(b, v.num, 10)
	}
}

// appendDecimal appends hundredths; none is negative.
func appendDecimal(b []byte, n int64) []byte {
	b = append(strconv.AppendInt(b, n/100, 10), '.')
	return append(b, byte('0'+n%100/10), byte('0'+n%10))
}

// Type codes of parameters in the binary protocol.
const (
	typeLong       = 3
	typeDate       = 10
	typeNewDecimal = 0xf6
	typeVarString  = 0xfd
)

// appendParamTypes appends the types of n rows' parameters.
func appendParamTypes(b []byte, t *Table, n int) []byte {
	codes := [...]byte{kindInt: typeLong, kindDecimal: typeNewDecimal, kindDate: typeDate, kindText: typeVarString}
	for range n {
		for _, c := range t.columns {
			b = append(b, codes[c.kind], 0)
		}
	}
	return b
}

// appendParams appends a row's values in the binary protocol's form.
func appendParams(b []byte, t *Table, r Row) []byte {
	for i, c := range t.columns {
		v := r[i]
		switch c.kind {
		case kindInt:
			b = binary.LittleEndian.AppendUint32(b, uint32(v.num))
		case kindDate:
			y, m, d := value.CivilFromDays(int32(v.num))
			b = append(binary.LittleEndian.AppendUint16(append(b, 4), uint16(y)), byte(m), byte(d))
		case kindDecimal:
			at := len(b)
			b = appendDecimal(append(b, 0), v.num)
			b[at] = byte(len(b) - at - 1)
		case kindText: // shorter than 251 bytes
			b = append(append(b, byte(len(v.text))), v.text...)
		}
	}
	return b
}
