package value

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// HashVersion is the version of the bucket hash (docs/format/bucket.md), kept
// with each table. A change of HashValue or Bucket needs a new version.
const HashVersion = 1

// Canonical bytes of what has several spellings, or none.
var (
	nullBytes = make([]byte, 4)
	zeroBytes = make([]byte, 8)
	nanBytes4 = binary.LittleEndian.AppendUint32(nil, 0x7fc00000)
	nanBytes8 = binary.LittleEndian.AppendUint64(nil, 0x7ff8000000000000)
)

// HashValue adds one value to the bucket hash of a row, as docs/format/bucket.md
// specifies it. The seed is 0 for the first distribution column and the result
// of the column before for the next.
func HashValue(seed uint32, t Type, raw []byte, null bool) uint32 {
	if null {
		return crc32.Update(seed, crc32.IEEETable, nullBytes)
	}
	switch t.Kind {
	case Float:
		if v := math.Float32frombits(binary.LittleEndian.Uint32(raw)); v == 0 || v != v {
			return hashOddFloat(seed, v == 0, 4)
		}
	case Double:
		if v := math.Float64frombits(binary.LittleEndian.Uint64(raw)); v == 0 || v != v {
			return hashOddFloat(seed, v == 0, 8)
		}
	}
	return crc32.Update(seed, crc32.IEEETable, raw)
}

// hashOddFloat gives all zeros one hash and all NaNs one hash, since they
// compare as equal.
func hashOddFloat(seed uint32, zero bool, width int) uint32 {
	switch {
	case zero:
		return crc32.Update(seed, crc32.IEEETable, zeroBytes[:width])
	case width == 4:
		return crc32.Update(seed, crc32.IEEETable, nanBytes4)
	default:
		return crc32.Update(seed, crc32.IEEETable, nanBytes8)
	}
}

// Bucket is the bucket, 0 to n-1, of a row with hash h in a table of n buckets.
func Bucket(h uint32, n int) int { return int(uint64(h) % uint64(n)) }
