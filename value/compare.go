package value

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
)

// Compare is the order of two physical values of one type, -1, 0 or 1: by
// value, strings by bytes, false before true. For floats -0 equals 0 and NaN
// equals NaN and follows all numbers. NULLs are the caller's.
func Compare(t Type, a, b []byte) int {
	switch t.Kind {
	case Boolean, TinyInt:
		return cmp.Compare(int8(a[0]), int8(b[0]))
	case SmallInt:
		return cmp.Compare(int16(binary.LittleEndian.Uint16(a)), int16(binary.LittleEndian.Uint16(b)))
	case Int, Date:
		return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
	case BigInt, DateTime:
		return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
	case LargeInt, Decimal:
		return Int128FromBytes(a).Cmp(Int128FromBytes(b))
	case Float:
		return compareFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(a))),
			float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case Double:
		return compareFloat(math.Float64frombits(binary.LittleEndian.Uint64(a)),
			math.Float64frombits(binary.LittleEndian.Uint64(b)))
	default:
		return bytes.Compare(a, b)
	}
}

// compareFloat puts NaN last; cmp.Compare puts it first.
func compareFloat(a, b float64) int {
	if aNaN, bNaN := a != a, b != b; aNaN || bNaN {
		switch {
		case aNaN && bNaN:
			return 0
		case aNaN:
			return 1
		default:
			return -1
		}
	}
	return cmp.Compare(a, b)
}
