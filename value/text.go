package value

import (
	"encoding/binary"
	"math"
	"strconv"
)

// AppendText appends the text of one physical value that is not NULL (the
// bytes of block.Column.Raw), as the MySQL text protocol shows it: booleans
// as 0 or 1, decimals and datetimes with all digits of their scale.
func AppendText(dst []byte, t Type, raw []byte) []byte {
	switch t.Kind {
	case Boolean, TinyInt:
		return strconv.AppendInt(dst, int64(int8(raw[0])), 10)
	case SmallInt:
		return strconv.AppendInt(dst, int64(int16(binary.LittleEndian.Uint16(raw))), 10)
	case Int:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(raw))), 10)
	case BigInt:
		return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(raw)), 10)
	case LargeInt:
		return AppendInt128(dst, Int128FromBytes(raw))
	case Float:
		return AppendFloat(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), Float)
	case Double:
		return AppendFloat(dst, math.Float64frombits(binary.LittleEndian.Uint64(raw)), Double)
	case Decimal:
		return AppendDecimal(dst, Int128FromBytes(raw), t.Scale)
	case Date:
		return AppendDate(dst, int32(binary.LittleEndian.Uint32(raw)))
	case DateTime:
		return AppendDateTime(dst, int64(binary.LittleEndian.Uint64(raw)), t.Scale)
	default:
		return append(dst, raw...)
	}
}
