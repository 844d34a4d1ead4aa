package router

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dorisgo/doriserr"
)

// Backend is what a choice needs to know of a BE.
type Backend struct {
	ID             int64
	Alive          bool
	Decommissioned bool
}

func (b Backend) usable() bool { return b.Alive && !b.Decommissioned }

// Table is what a choice needs to know of a table.
type Table struct {
	ID         int64
	IntervalMs int64
	DataBytes  int64
	// OneBE keeps the table on one BE, whatever its load.
	OneBE bool
}

// spreadAt is how many groups' worth of bytes in one interval saturate a BE.
const spreadAt = 4

// Groups chooses the BE of a group commit load. It is safe for concurrent use.
type Groups struct {
	mu     sync.Mutex
	tables map[int64]*window
}

// NewGroups returns a router with empty load windows.
func NewGroups() *Groups { return &Groups{tables: map[int64]*window{}} }

// Choose is the BE for one load of size bytes at the time now.
func (g *Groups) Choose(t Table, size int64, backends []Backend, now time.Time) (int64, error) {
	first, usable, err := best(t.ID, backends)
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	w := g.tables[t.ID]
	if w == nil {
		w = &window{}
		g.tables[t.ID] = w
	}
	sum := w.add(now, max(t.IntervalMs/1000+1, 1), size)
	w.turn++
	turn := w.turn
	g.mu.Unlock()
	width := 1
	if !t.OneBE && t.DataBytes > 0 {
		width = int(min(1+sum/(spreadAt*t.DataBytes), int64(usable)))
	}
	if width == 1 {
		return first, nil
	}
	return rank(t.ID, backends)[turn%uint64(width)], nil
}

// Forget drops the window of a table that is gone.
func (g *Groups) Forget(table int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tables, table)
}

// best is the first BE in a table's rank, and how many are usable. Nearly every
// load asks for no more than that, so it allocates nothing.
func best(table int64, backends []Backend) (id int64, usable int, err error) {
	alive := false
	var top uint64
	for _, b := range backends {
		alive = alive || b.Alive
		if !b.usable() {
			continue
		}
		usable++
		if score := mix(uint64(table), uint64(b.ID)); usable == 1 || score > top || score == top && b.ID < id {
			id, top = b.ID, score
		}
	}
	switch {
	case !alive:
		err = doriserr.New(doriserr.NoBackend, "No alive backend")
	case usable == 0:
		err = doriserr.New(doriserr.NoBackend, "No suitable backend , backends = [%s]", describe(backends))
	}
	return id, usable, err
}

// rank orders the usable BEs for a table: rendezvous hashing, so that the loss
// of a BE moves that BE's tables alone.
func rank(table int64, backends []Backend) []int64 {
	var ids []int64
	for _, b := range backends {
		if b.usable() {
			ids = append(ids, b.ID)
		}
	}
	slices.SortFunc(ids, func(a, b int64) int {
		return cmp.Or(cmp.Compare(mix(uint64(table), uint64(b)), mix(uint64(table), uint64(a))), cmp.Compare(a, b))
	})
	return ids
}

func describe(backends []Backend) string {
	parts := make([]string, len(backends))
	for i, b := range backends {
		parts[i] = fmt.Sprintf("{ beId=%d, alive=%t, active=%t, decommission=%t }", b.ID, b.Alive, b.Alive, b.Decommissioned)
	}
	return strings.Join(parts, ", ")
}

// mix hashes two numbers into one (the finaliser of SplitMix64 over both).
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b
	for range 2 {
		x ^= x >> 30
		x *= 0xbf58476d1ce4e5b9
		x ^= x >> 27
		x *= 0x94d049bb133111eb
		x ^= x >> 31
		x += b
	}
	return x
}

// window counts bytes in buckets of a second.
type window struct {
	turn    uint64
	second  int64
	buckets []int64
	sum     int64
}

// add counts size at now and returns the sum of the last n seconds.
func (w *window) add(now time.Time, n, size int64) int64 {
	sec := now.Unix()
	if int64(len(w.buckets)) != n {
		w.buckets = make([]int64, n)
		w.sum, w.second = 0, sec
	}
	for ; w.second < sec; w.second++ {
		if sec-w.second > n {
			clear(w.buckets)
			w.sum, w.second = 0, sec
			break
		}
		i := (w.second + 1) % n
		w.sum -= w.buckets[i]
		w.buckets[i] = 0
	}
	w.buckets[w.second%n] += size
	w.sum += size
	return w.sum
}
