package block

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"dorisgo/value"
)

// SortPermutation is the order of the rows by the columns keyCols and then by
// row number: stable, NULL before all values. Without columns it is the rows
// as they are.
func (b *Block) SortPermutation(keyCols []int) []int32 {
	idx := make([]int32, b.rows)
	for i := range idx {
		idx[i] = int32(i)
	}
	if len(keyCols) == 0 {
		return idx
	}
	// Most comparisons are decided by eight bytes of the first key, taken
	// once for each row.
	type entry struct {
		prefix uint64
		row    int32
	}
	first := &b.cols[keyCols[0]]
	rows := make([]entry, b.rows)
	for i := range rows {
		rows[i] = entry{first.sortPrefix(i), int32(i)}
	}
	slices.SortFunc(rows, func(x, y entry) int {
		if x.prefix != y.prefix {
			return cmp.Compare(x.prefix, y.prefix)
		}
		if c := b.CompareRows(keyCols, int(x.row), int(y.row)); c != 0 {
			return c
		}
		return cmp.Compare(x.row, y.row)
	})
	for i := range rows {
		idx[i] = rows[i].row
	}
	return idx
}

// CompareRows is the order of two rows by the columns keyCols: -1, 0 or 1,
// NULL before all values and equal to NULL.
func (b *Block) CompareRows(keyCols []int, i, j int) int {
	for _, k := range keyCols {
		c := &b.cols[k]
		if c.nulls > 0 {
			in, jn := c.IsNull(i), c.IsNull(j)
			switch {
			case in && jn:
				continue
			case in:
				return -1
			case jn:
				return 1
			}
		}
		if r := value.Compare(c.typ, c.Raw(i), c.Raw(j)); r != 0 {
			return r
		}
	}
	return 0
}

// sortPrefix is a number whose order never contradicts that of the values: if
// two differ, so do the values, the same way. NULL is 0.
func (c *Column) sortPrefix(i int) uint64 {
	if c.IsNull(i) {
		return 0
	}
	const sign = 1 << 63
	switch c.typ.Kind {
	case value.Float, value.Double:
		f := c.Float64(i)
		switch {
		case f != f:
			return math.MaxUint64
		case f == 0:
			return sign
		case f < 0:
			return ^math.Float64bits(f)
		}
		return math.Float64bits(f) | sign
	case value.LargeInt, value.Decimal:
		return uint64(c.Int128(i).Hi) ^ sign
	case value.Char, value.VarChar, value.String, value.JSON:
		p := c.Raw(i)
		if len(p) >= 8 {
			return binary.BigEndian.Uint64(p)
		}
		var v uint64
		for k, x := range p {
			v |= uint64(x) << (56 - 8*k)
		}
		return v
	default:
		return uint64(c.Int64(i)) ^ sign
	}
}
