package groupcommit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// key tells groups of one table apart: loads of one group have all of it in
// common.
type key struct {
	epoch         uint64
	schemaVersion int32
	async         bool
}

// table is a table's queues on this backend.
type table struct {
	m    *Manager
	id   int64
	dbID int64
	name string

	// mu is the queue lock: a load gets its place in the block and in the WAL
	// under it.
	mu sync.Mutex
	// open is where loads join, at most one group for each key; spare is begun
	// ahead for the time after it.
	open, spare map[key]*group
	// live are all groups that are not yet released: their request ids are
	// remembered.
	live []*group
	// parked wait for replay, by transaction id.
	parked    []*group
	replaying bool
	wake      chan struct{}
	// last is the group of an ordered table that was launched last.
	last *group
	// admit is closed when the WALs found at the start are taken over; nil
	// without any.
	admit    chan struct{}
	admitted atomic.Bool
	// noWAL is when a WAL file could not be created last: async loads run as
	// sync for a while then.
	noWAL   time.Time
	stats   TableStats
	lastErr error // stats.LastError
}

func newTable(m *Manager, dbID, id int64, name string) *table {
	return &table{m: m, id: id, dbID: dbID, name: name, open: map[key]*group{}, spare: map[key]*group{}, wake: make(chan struct{}, 1)}
}

// groupFor is the open group for loads planned on tb, opened if need be. t.mu
// is held.
func (t *table) groupFor(tb *Table, async bool) *group {
	k := key{tb.Epoch, tb.SchemaVersion, async}
	if g := t.open[k]; g != nil {
		return g
	}
	t.dbID, t.name = tb.DBID, tb.Name
	t.sealOthers(k, tb.Ordered)
	g := t.spare[k]
	delete(t.spare, k)
	if g == nil {
		g = newGroup(t, tb, k)
		t.launch(g, g.run)
	}
	g.interval, g.maxBytes = tb.interval(), int64(tb.DataBytes)
	t.open[k] = g
	return g
}

// launch starts a group's life. In an ordered table it begins and commits after
// the groups that were launched before it. t.mu is held.
func (t *table) launch(g *group, life func()) {
	t.live = append(t.live, g)
	if g.tbl.Ordered {
		g.prev, g.beginAfter, t.last = t.last, t.last, g
	}
	t.m.wg.Go(life)
}

// sealOthers seals what may not go on beside a new group with key k: groups of
// older schemas, and in ordered tables any other, so that they commit in the
// order of their transaction ids. t.mu is held.
func (t *table) sealOthers(k key, ordered bool) {
	for _, groups := range []map[key]*group{t.open, t.spare} {
		for other, g := range groups {
			switch {
			case other.epoch < k.epoch || other.epoch == k.epoch && other.schemaVersion < k.schemaVersion:
				g.seal(SealSchema)
			case ordered && other != k:
				g.seal(SealMode)
			}
		}
	}
}

// prefetch begins the next group of g's kind while g collects.
func (t *table) prefetch(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[g.key] == g && t.spare[g.key] == nil && g.loads > 1 && !t.m.stopping() {
		s := newGroup(t, g.tbl, g.key)
		t.spare[g.key] = s
		t.launch(s, s.run)
	}
}

func (t *table) seal(g *group, reason SealReason) {
	t.mu.Lock()
	g.seal(reason)
	t.mu.Unlock()
}

func (t *table) sealAll(reason SealReason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, groups := range []map[key]*group{t.open, t.spare} {
		for _, g := range groups {
			g.seal(reason)
		}
	}
}

// abandon answers loads that wait for parked groups, at the end of Stop.
func (t *table) abandon() {
	t.mu.Lock()
	parked := t.parked
	t.parked = nil
	t.mu.Unlock()
	for _, g := range parked {
		g.settle(Outcome{}, unknownAsync())
	}
}

// seal ends the collecting of g. t.mu is held.
func (g *group) seal(reason SealReason) {
	if g.sealed {
		return
	}
	g.sealed, g.reason, g.sealedAt = true, reason, time.Now()
	if g.t.open[g.key] == g {
		delete(g.t.open, g.key)
	}
	if g.t.spare[g.key] == g {
		delete(g.t.spare, g.key)
	}
	close(g.sealing)
}

// find is the group that took the request. t.mu is held.
func (t *table) find(id [16]byte) *group {
	if id == [16]byte{} {
		return nil
	}
	for _, g := range t.live {
		if _, ok := g.seen.find(id); ok {
			return g
		}
	}
	return nil
}

// forget drops a group from memory, its request ids with it.
func (t *table) forget(g *group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = slices.DeleteFunc(t.live, func(o *group) bool { return o == g })
	g.seen = requests{}
}

// waiting is the number of WALs that wait for replay. t.mu is held.
func (t *table) waiting() int {
	n := 0
	for _, g := range t.parked {
		if !g.recycled {
			n++
		}
	}
	return n
}
