package groupcommit

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestRequests: every id that was put is found with its rows, and of those that
// were not, few need a look into the map.
func TestRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() (id [16]byte) {
		binary.LittleEndian.PutUint64(id[:], rng.Uint64())
		binary.LittleEndian.PutUint64(id[8:], rng.Uint64())
		return id
	}
	var r requests
	if _, ok := r.find(draw()); ok {
		t.Fatal("an id is found in an empty set")
	}
	var ids [][16]byte
	for n := range 50_000 {
		id := draw()
		r.put(id, n+1)
		ids = append(ids, id)
		if n&(n-1) != 0 {
			continue
		}
		for i, id := range ids {
			if rows, ok := r.find(id); !ok || rows != i+1 {
				t.Fatalf("of %d ids, number %d is found: %v, with %d rows", len(ids), i, ok, rows)
			}
		}
	}
	looks := 0
	const others = 10_000
	for range others {
		id := draw()
		if word, bit := r.place(id); r.bits[word]&bit != 0 {
			looks++
		}
		if _, ok := r.find(id); ok {
			t.Fatal("an id is found that was never put")
		}
	}
	if looks > others/3 {
		t.Errorf("%d of %d ids that are not there need a look into the map", looks, others)
	}
	r.put(ids[7], 99)
	if rows, _ := r.find(ids[7]); rows != 99 || r.len() != len(ids) {
		t.Errorf("after a second put: %d rows, %d ids", rows, r.len())
	}
}
