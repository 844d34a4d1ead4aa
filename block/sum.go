package block

import (
	"cmp"
	"encoding/binary"
	"slices"
)

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// SumRows adds up the hashes of all rows, modulo 2^64: it is the same for the
// same rows in any order, in any number of blocks. ids name the columns in it,
// one for each, and tell them apart whatever order they are in.
func (b *Block) SumRows(ids []int32) uint64 {
	order := make([]int, len(b.cols))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(ids[x], ids[y]) })
	var sum uint64
	var num [9]byte
	for row := range b.rows {
		h := uint64(fnvOffset)
		for _, i := range order {
			c := &b.cols[i]
			binary.LittleEndian.PutUint32(num[:], uint32(ids[i]))
			if c.IsNull(row) {
				num[4] = 0
				h = fnv(h, num[:5])
				continue
			}
			v := c.Raw(row)
			num[4] = 1
			binary.LittleEndian.PutUint32(num[5:], uint32(len(v)))
			h = fnv(fnv(h, num[:]), v)
		}
		// Sums of hashes that differ in few bits must not cancel out.
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		sum += h ^ h>>33
	}
	return sum
}

func fnv(h uint64, p []byte) uint64 {
	for _, b := range p {
		h = (h ^ uint64(b)) * fnvPrime
	}
	return h
}
