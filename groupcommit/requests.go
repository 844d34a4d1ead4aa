package groupcommit

import (
	"encoding/binary"
	"slices"
)

// requests are the request ids of a group's loads, with the rows of each. Every
// load is looked for in all groups that are not yet released, and nearly none is
// there: bits tell that without a look into maps of many megabytes.
type requests struct {
	rows map[[16]byte]int
	// bits has a bit for each value of an id's first bits; one that is not set
	// says that no such id is there. Its length is a power of two, and it has
	// bitsForID bits for each id at least.
	bits []uint64
}

const bitsForID = 16

func (r *requests) len() int { return len(r.rows) }

func (r *requests) find(id [16]byte) (rows int, ok bool) {
	if word, bit := r.place(id); len(r.bits) == 0 || r.bits[word]&bit == 0 {
		return 0, false
	}
	rows, ok = r.rows[id]
	return rows, ok
}

func (r *requests) put(id [16]byte, rows int) {
	if r.rows == nil {
		r.rows = map[[16]byte]int{}
	}
	r.rows[id] = rows
	if len(r.rows)*bitsForID > len(r.bits)*64 {
		r.grow()
	}
	word, bit := r.place(id)
	r.bits[word] |= bit
}

// grow makes room for four times the ids. A bit that was set is set in every
// part of the new length, so no id has to be looked at; that some bits tell too
// little then costs a look into the map.
func (r *requests) grow() {
	if len(r.bits) == 0 {
		r.bits = make([]uint64, 16)
		return
	}
	r.bits = slices.Repeat(r.bits, 4)
}

// place is an id's bit. Ids are random.
func (r *requests) place(id [16]byte) (word int, bit uint64) {
	h := binary.LittleEndian.Uint64(id[:])
	return int(h>>6) & (len(r.bits) - 1), 1 << (h & 63)
}
