package storage_test

import (
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"dorisgo/storage"
)

// holeModel is what the BE under test must lack.
type holeModel struct {
	// late are the rowsets of a transaction that were not written here.
	late map[int64][]storage.PendingRowset
	// lacks are the published versions that a tablet lacks, until a late write or
	// a clone. mayLack are those that a late write brought when their entries may
	// have been gone.
	lacks, mayLack map[int64]map[int64]bool
	// jumped is the version through which nothing was ordered that had not been.
	jumped int64
	// removed are tablets whose replica was removed and did not come again, added
	// those that wait for a clone since.
	removed, added map[int64]bool
}

func newHoleModel() holeModel {
	h := holeModel{late: map[int64][]storage.PendingRowset{}, lacks: map[int64]map[int64]bool{}, mayLack: map[int64]map[int64]bool{}, removed: map[int64]bool{}, added: map[int64]bool{}}
	for _, tablet := range modelTablets {
		h.lacks[tablet], h.mayLack[tablet] = map[int64]bool{}, map[int64]bool{}
	}
	return h
}

// someLate are the rowsets that are written here now.
func (m *model) someLate(rowsets []storage.PendingRowset) []storage.PendingRowset {
	var now []storage.PendingRowset
	for _, rs := range rowsets {
		switch {
		case m.dropped[rs.TabletID]:
		case rapid.IntRange(0, 6).Draw(m.t, "late") == 0:
			m.holes.late[rs.TxnID] = append(m.holes.late[rs.TxnID], rs)
		default:
			now = append(now, rs)
			m.holes.removed[rs.TabletID] = false
		}
	}
	return now
}

// lack notes what the next publish will find missing.
func (m *model) lack(p storage.Publish) {
	for _, t := range p.Tablets {
		if !m.dropped[t.TabletID] {
			m.holes.removed[t.TabletID] = false
		}
	}
	for _, rs := range m.holes.late[p.TxnID] {
		m.holes.lacks[rs.TabletID][p.Version] = true
	}
}

func (m *model) version(txn int64) int64 {
	i := slices.IndexFunc(m.txns, func(p storage.Publish) bool { return p.TxnID == txn })
	return int64(i) + 2 // 1 if it is not decided
}

// lateWrite brings one of the rowsets that were not written.
func (m *model) lateWrite() {
	if len(m.holes.late) == 0 {
		return
	}
	txn := rapid.SampledFrom(slices.Sorted(maps.Keys(m.holes.late))).Draw(m.t, "txn")
	list := m.holes.late[txn]
	i := rapid.IntRange(0, len(list)-1).Draw(m.t, "rowset")
	rs := list[i]
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(m.holes.late, txn)
	} else {
		m.holes.late[txn] = list
	}
	if m.dropped[rs.TabletID] {
		return
	}
	m.must(m.e.WritePending(m.t.Context(), txn, 1, []storage.PendingRowset{rs}))
	m.holes.removed[rs.TabletID] = false
	v := m.version(txn)
	if v == 1 || m.holes.added[rs.TabletID] || slices.ContainsFunc(list, func(o storage.PendingRowset) bool { return o.TabletID == rs.TabletID }) || !m.holes.lacks[rs.TabletID][v] {
		return
	}
	delete(m.holes.lacks[rs.TabletID], v)
	if v <= m.last()-keepEntries || v <= m.holes.jumped || len(m.holes.mayLack[rs.TabletID]) > 0 {
		m.holes.mayLack[rs.TabletID][v] = true
	}
}

// settle is what a BE does with transactions that it asks about.
func (m *model) settle() {
	for _, txn := range m.e.PendingTxns() {
		if m.pending[txn] == nil && m.version(txn) > 1 {
			m.must(m.e.DropLeft(m.t.Context(), txn))
		} else if m.pending[txn] == nil {
			m.must(m.e.Abort(m.t.Context(), txn))
		}
	}
}

// jump lets the BE miss some versions for good.
func (m *model) jump() {
	if rapid.IntRange(0, 3).Draw(m.t, "jump") > 0 {
		return
	}
	first := m.last() + 1
	for range rapid.IntRange(0, 3).Draw(m.t, "versions") {
		m.txn++
		var rowsets []storage.PendingRowset
		for i, tablet := range modelTablets {
			if n := m.txn*100 + int64(i); rapid.Bool().Draw(m.t, "rowset") {
				rowsets = append(rowsets, rows(n, m.txn, tablet, n))
				m.values[id(n)] = []int64{n}
			}
		}
		m.must(m.src.WritePending(m.t.Context(), m.txn, 1, rowsets))
		m.decided(m.txn, rowsets)
	}
	var replicas []storage.TabletReplica
	for _, tablet := range modelTablets {
		if m.dropped[tablet] {
			continue
		}
		replicas = append(replicas, storage.TabletReplica{TabletID: tablet})
		if first <= m.last() {
			m.holes.lacks[tablet][first] = true
			m.holes.removed[tablet] = false
		}
	}
	if first <= m.last() {
		m.holes.jumped = m.last()
	}
	for range 2 {
		holes, err := m.e.Jump(m.t.Context(), part, m.last(), replicas)
		m.must(err)
		for _, h := range holes {
			m.checkHole(h.TabletID, h.Version)
		}
	}
}

// clone brings a tablet all that it lacks.
func (m *model) clone() {
	tablet := rapid.SampledFrom(modelTablets).Draw(m.t, "tablet")
	if m.dropped[tablet] {
		return
	}
	r := storage.TabletReplica{TabletID: tablet, FromClone: m.holes.removed[tablet]}
	through, err := cloneFrom(m.t.Context(), m.src, m.e, 0, r, m.last())
	if err != nil || through != m.last() {
		m.t.Fatalf("clone of tablet %d: through %d, %v", tablet, through, err)
	}
	clear(m.holes.lacks[tablet])
	clear(m.holes.mayLack[tablet])
	m.holes.removed[tablet], m.holes.added[tablet] = false, false
	m.checkTablet(tablet)
}

// remove removes a replica: what comes of the tablet later lacks everything.
func (m *model) remove() {
	if rapid.IntRange(0, 3).Draw(m.t, "remove") > 0 {
		return
	}
	tablet := rapid.SampledFrom(modelTablets).Draw(m.t, "tablet")
	was := slices.ContainsFunc(m.e.Replicas(), func(r storage.ReplicaInfo) bool { return r.TabletID == tablet })
	m.must(m.e.RemoveReplica(m.t.Context(), tablet, 0))
	if !was {
		return
	}
	clear(m.holes.lacks[tablet])
	clear(m.holes.mayLack[tablet])
	m.holes.lacks[tablet][2] = true
	m.holes.removed[tablet], m.holes.added[tablet] = true, true
	// What was pending in it is gone as well.
	for txn, rowsets := range m.pending {
		for _, rs := range rowsets {
			same := func(o storage.PendingRowset) bool { return o.ID == rs.ID }
			if rs.TabletID == tablet && !slices.ContainsFunc(m.holes.late[txn], same) {
				m.holes.late[txn] = append(m.holes.late[txn], rs)
			}
		}
	}
}

// forget ends what is expected of a tablet that was dropped.
func (m *model) forget(tablet int64) {
	for txn, list := range m.holes.late {
		if list = slices.DeleteFunc(list, func(rs storage.PendingRowset) bool { return rs.TabletID == tablet }); len(list) == 0 {
			delete(m.holes.late, txn)
		} else {
			m.holes.late[txn] = list
		}
	}
}

func (m *model) rewriteSource() {
	tablet := rapid.SampledFrom(modelTablets).Draw(m.t, "tablet")
	_, err := m.src.Compact(m.t.Context(), tablet)
	m.must(errors.Join(err, m.src.Flush(m.t.Context(), tablet)))
}

// mayLack reports whether a tablet may refuse a read at a version.
func (m *model) mayLack(tablet, version int64) bool {
	lacks := func(v int64) bool { return v <= version || m.holes.removed[tablet] }
	return slices.ContainsFunc(slices.Collect(maps.Keys(m.holes.lacks[tablet])), lacks) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(m.holes.mayLack[tablet])), lacks)
}

func (m *model) checkTablet(tablet int64) {
	m.t.Helper()
	for _, r := range m.e.Replicas() {
		if r.TabletID == tablet {
			m.checkHole(tablet, r.Hole)
		}
	}
}

// checkHole wants the hole to be the first version that lacks, 0 without one.
func (m *model) checkHole(tablet, hole int64) {
	m.t.Helper()
	lacks, may := m.holes.lacks[tablet], m.holes.mayLack[tablet]
	if hole != 0 && !lacks[hole] && !may[hole] {
		m.t.Fatalf("tablet %d has a hole at %d, but lacks %v, perhaps %v", tablet, hole, lacks, may)
	}
	for v := range lacks {
		if hole == 0 || v < hole {
			m.t.Fatalf("tablet %d has a hole at %d, but lacks %v", tablet, hole, lacks)
		}
	}
}

// checkPending wants what is undecided to be there, and what is decided only
// where a hole may wait for it.
func (m *model) checkPending() {
	m.settle()
	got := m.e.PendingTxns()
	for txn, rowsets := range m.pending {
		here := slices.ContainsFunc(rowsets, func(rs storage.PendingRowset) bool {
			return !m.dropped[rs.TabletID] && !slices.ContainsFunc(m.holes.late[txn], func(o storage.PendingRowset) bool { return o.ID == rs.ID })
		})
		if here && !slices.Contains(got, txn) {
			m.t.Fatalf("transaction %d is not pending: %v", txn, got)
		}
	}
	for _, txn := range got {
		if m.pending[txn] != nil {
			continue
		}
		v := m.version(txn)
		waits := slices.ContainsFunc(m.txns[v-2].Tablets, func(t storage.PublishTablet) bool { return m.mayLack(t.TabletID, v) })
		if v <= 1 || !waits {
			m.t.Fatalf("transaction %d of version %d is pending for nothing", txn, v)
		}
	}
}
