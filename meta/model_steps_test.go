package meta

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

func (m *model) abort(t *rapid.T) {
	x := m.pick(t)
	o, right := m.ownerOf(t, x)
	operator := rapid.IntRange(0, 3).Draw(t, "operator") == 0
	if operator {
		o, right = txn.Owner{}, true
	}
	c := &AbortTxn{TxnID: x.id, Owner: o, Reason: "test", WallMs: 3}
	switch {
	case !operator && o.BootEpoch != m.bootOf(o.BackendID):
		m.applyWant(t, c, doriserr.StaleEpoch, false)
	case x.forgotten:
		m.applyWant(t, c, doriserr.TxnNotFound, false)
	case !right:
		m.applyWant(t, c, doriserr.StaleEpoch, false)
	case x.state == txn.Aborted:
		m.applyWant(t, c, 0, true)
	case x.state == txn.Precommitted && operator:
		m.applyWant(t, c, 0, true)
		m.aborted(x)
	case x.state != txn.Prepare, operator && x.hasWAL():
		m.applyWant(t, c, doriserr.TxnState, false)
	default:
		m.applyWant(t, c, 0, true)
		m.aborted(x)
	}
}

// finished is a second phase that was asked for, and its decision.
type finished struct {
	c     *FinishTwoPhase
	kind  doriserr.Kind
	ok    bool
	state txn.State
}

// finish asks for the second phase, or repeats an earlier question, which gets
// its first answer whatever happened since.
func (m *model) finish(t *rapid.T) {
	if n := len(m.finishes); n > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
		f := m.finishes[rapid.IntRange(0, n-1).Draw(t, "which")]
		if res := m.applyWant(t, f.c, f.kind, f.ok); f.ok && res.Txn.State != f.state {
			t.Fatalf("a repeated second phase of %d answers %s, first %s", f.c.TxnID, res.Txn.State, f.state)
		}
		return
	}
	x := m.pick(t)
	n := len(m.finishes)
	f := finished{c: &FinishTwoPhase{RequestID: [16]byte{255, byte(n), byte(n >> 8)}, DBID: m.db, Commit: rapid.Bool().Draw(t, "commit"), WallMs: 3}}
	by := rapid.SampledFrom([]string{"id", "label", "both", "wrong database"}).Draw(t, "named by")
	if by != "label" {
		f.c.TxnID = x.id
	}
	if by == "label" || by == "both" {
		f.c.Label = x.label
	}
	if by == "wrong database" {
		f.c.DBID = m.other
	}
	switch {
	case by == "wrong database", by != "label" && x.forgotten:
		f.kind = doriserr.TxnNotFound
	case by == "label":
		x = m.newest(x.label)
		if x == nil || f.c.Commit && x.state != txn.Precommitted || !f.c.Commit && x.state != txn.Prepare && x.state != txn.Precommitted {
			f.kind = doriserr.TxnNotFound
			break
		}
		f.kind, f.ok = m.finishOf(x, f.c.Commit)
	default:
		f.kind, f.ok = m.finishOf(x, f.c.Commit)
	}
	res := m.applyWant(t, f.c, f.kind, f.ok)
	if f.ok && f.c.Commit {
		m.committed(x, x.parts)
		m.sameVersions(t, x, res.Txn)
	} else if f.ok {
		m.aborted(x)
	}
	if f.ok {
		f.state = res.Txn.State
	}
	m.finishes = append(m.finishes, f)
}

// newest is the transaction that a label names now.
func (m *model) newest(label string) *modelTxn {
	var found *modelTxn
	for _, x := range m.txns {
		if x.label == label && !x.forgotten {
			found = x
		}
	}
	return found
}

// finishOf is what the second phase of a transaction comes to.
func (m *model) finishOf(x *modelTxn, commit bool) (kind doriserr.Kind, ok bool) {
	switch {
	case x.group:
		return doriserr.TxnState, false
	case commit && x.state != txn.Precommitted, !commit && x.state.Final(), !commit && x.state == txn.Committed:
		return doriserr.TxnState, false
	case commit && !m.majority(x.parts):
		return doriserr.FewReplicas, false
	}
	return 0, true
}

func (m *model) aborted(x *modelTxn) {
	x.parts = nil
	x.state = txn.Aborted
	m.ended(x)
}

func (m *model) publish(t *rapid.T) {
	x := m.pick(t)
	c := &PublishDone{TxnID: x.id, BackendIDs: m.someBackends(t), WallMs: 4}
	switch x.state {
	case txn.Committed:
		for _, b := range c.BackendIDs {
			x.published[b] = true
		}
		m.applyWant(t, c, 0, true)
		m.advance()
	case txn.Visible:
		if x.forgotten {
			t.Skip("forgotten")
		}
		m.applyWant(t, c, 0, true)
	default:
		if x.forgotten {
			m.applyWant(t, c, doriserr.TxnNotFound, false)
			return
		}
		m.applyWant(t, c, doriserr.TxnState, false)
	}
}

// restart gives a backend its next life, with or without a report of its WALs.
func (m *model) restart(t *rapid.T) {
	b := rapid.IntRange(0, 2).Draw(t, "backend")
	be := m.backends[b]
	c := &RegisterBackend{UUID: fmt.Sprintf("be%d", b), Host: fmt.Sprintf("h%d", b), HeartbeatPort: 9050, LastBootEpoch: be.used, WallMs: 5}
	c.WALsReported = rapid.Bool().Draw(t, "reports WALs")
	for _, x := range m.txns {
		if x.backend == b && x.file {
			c.WALs = append(c.WALs, x.id)
		}
	}
	be.boot++
	be.alive = true
	for _, x := range m.txns {
		if x.backend == b && x.state == txn.Prepare && !x.hasWAL() {
			m.aborted(x)
		}
	}
	for _, x := range m.txns {
		if !c.WALsReported || x.backend != b || !x.hasWAL() || x.file {
			continue
		}
		x.released = true
		if x.state == txn.Prepare {
			x.state = txn.Aborted
		}
		m.ended(x)
	}
	if res := m.applyWant(t, c, 0, true); res.BootEpoch != be.boot {
		t.Fatalf("boot epoch %d, want %d", res.BootEpoch, be.boot)
	}
}

func (m *model) takeOver(t *rapid.T) {
	x := m.pick(t)
	be := m.backends[x.backend]
	c := &TakeOver{TxnID: x.id, BackendID: be.id, BootEpoch: be.boot}
	if be.boot > 1 && rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
		c.BootEpoch--
		m.applyWant(t, c, doriserr.StaleEpoch, false)
		return
	}
	switch {
	case x.forgotten:
		m.applyWant(t, c, doriserr.TxnNotFound, false)
		return
	case !x.group:
		m.applyWant(t, c, doriserr.StaleEpoch, false)
		return
	}
	if x.state == txn.Prepare && x.boot < be.boot {
		x.boot = be.boot
		x.owner++
	}
	res := m.applyWant(t, c, 0, true)
	if res.Txn.Owner.OwnerEpoch != x.owner || res.Txn.State != x.state {
		t.Fatalf("take-over of %d answers owner epoch %d and %s, want %d and %s", x.id, res.Txn.Owner.OwnerEpoch, res.Txn.State, x.owner, x.state)
	}
}

// release reports a WAL as gone, which only a decided group's may be.
func (m *model) release(t *rapid.T) {
	x := m.pick(t)
	be := m.backends[x.backend]
	want := 0
	if !x.forgotten && x.hasWAL() && x.state != txn.Prepare {
		want, x.released, x.file = 1, true, false
		m.ended(x)
	}
	if res := m.applyWant(t, &ReleaseGroups{BackendID: be.id, BootEpoch: be.boot, TxnIDs: []int64{x.id, 1 << 40}}, 0, true); res.Count != want {
		t.Fatalf("release of %d released %d, want %d", x.id, res.Count, want)
	}
}

func (m *model) alive(t *rapid.T) {
	be := m.backends[rapid.IntRange(0, modelBackends-1).Draw(t, "backend")]
	up := rapid.Bool().Draw(t, "alive")
	if be.alive && !up {
		be.downAt = m.clock
	}
	be.alive = up
	m.applyWant(t, &SetBackendAlive{ID: be.id, BootEpoch: be.boot, Alive: up}, 0, true)
}

func (m *model) drain(t *rapid.T) {
	be := m.backends[rapid.IntRange(0, modelBackends-1).Draw(t, "backend")]
	be.drained = !be.drained
	m.applyWant(t, &DecommissionBackend{ID: be.id, Cancel: !be.drained}, 0, true)
}

func (m *model) tick(t *rapid.T) {
	delta := int64(rapid.SampledFrom([]int{100, 3000, 200_000, 50_000_000}).Draw(t, "ms"))
	if rapid.IntRange(0, 3).Draw(t, "new leader") == 0 {
		m.term++
		m.inTerm = 0
	}
	m.applyWant(t, &Tick{DeltaMs: delta, Term: m.term, WallMs: 6}, 0, true)
	m.clock += delta
	m.inTerm += delta
	lim := txn.DefaultLimits()
	if m.inTerm < lim.TickGraceMs {
		return
	}
	for _, x := range m.txns {
		if (x.state == txn.Prepare || x.state == txn.Precommitted) && !x.hasWAL() && x.deadline <= m.clock {
			m.aborted(x)
		}
	}
	// Labels: too old, or too many and not too young.
	kept := m.finished()
	for len(kept) > 0 {
		age := m.clock - kept[0].since
		if age < lim.LabelKeepMs && (len(kept) <= modelLabelMax || age < lim.LabelGraceMs) {
			break
		}
		kept[0].forgotten = true
		kept = kept[1:]
	}
	for _, be := range m.backends {
		for _, x := range m.txns {
			if !be.alive && m.clock-be.downAt >= 300_000 && m.backends[x.backend] == be && x.state == txn.Prepare && !x.hasWAL() {
				m.aborted(x)
			}
		}
	}
}

// finished are the transactions whose labels may be given up, oldest first.
func (m *model) finished() []*modelTxn {
	var out []*modelTxn
	for _, x := range m.txns {
		if x.since >= 0 && !x.forgotten {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *modelTxn) int { return a.ended - b.ended })
	return out
}

func (m *model) cleanLabel(t *rapid.T) {
	label := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "label")
	want := 0
	for _, x := range m.finished() {
		if label == "" || x.label == label {
			x.forgotten = true
			want++
		}
	}
	if res := m.applyWant(t, &CleanLabel{DBID: m.db, Label: label}, 0, true); res.Count != want {
		t.Fatalf("CLEAN LABEL %q forgot %d, want %d", label, res.Count, want)
	}
}

func (m *model) durable(t *rapid.T) {
	be := m.backends[rapid.IntRange(0, modelBackends-1).Draw(t, "backend")]
	c := &ReportDurable{BackendID: be.id, BootEpoch: be.boot}
	for _, id := range slices.Sorted(maps.Keys(m.parts)) {
		c.Versions = append(c.Versions, DurableVersion{id, rapid.Int64Range(1, int64(len(m.parts[id].log))+1).Draw(t, "version")})
	}
	m.applyWant(t, c, 0, true)
}

// place is a random tablet with its partition.
func (m *model) place(t *rapid.T) (part *Partition, tablet int64) {
	table := m.tables[rapid.IntRange(0, 1).Draw(t, "table")]
	part = table.Partitions[rapid.IntRange(0, 1).Draw(t, "partition")]
	return part, part.Tablets[rapid.IntRange(0, 1).Draw(t, "tablet")].ID
}

// replica is a random replica of a tablet; m.backends[at] has it.
func (m *model) replica(t *rapid.T) (part *Partition, tablet int64, r *modelReplica, be *modelBackend) {
	part, tablet = m.place(t)
	list := m.replicas[tablet]
	r = list[rapid.IntRange(0, len(list)-1).Draw(t, "replica")]
	for _, b := range m.backends {
		if b.id == r.backend {
			be = b
		}
	}
	return part, tablet, r, be
}

// repair closes a replica's holes through a version.
func (m *model) repair(t *rapid.T) {
	part, tablet, r, be := m.replica(t)
	p := m.parts[part.ID]
	last, visible := int64(len(p.log))+1, p.visible
	through := last
	if rapid.IntRange(0, 2).Draw(t, "part of it") == 0 {
		through = rapid.Int64Range(1, last).Draw(t, "through")
	}
	// What the log does not reach any more is missing as a whole.
	base := m.s.LogBase(part.ID)
	collapsed := !p.gapFree(tablet, be.id, min(through, base)) && through < base
	for v := int64(2); v <= through; v++ {
		delete(p.missing, missingKey(tablet, be.id, v))
	}
	if collapsed {
		p.missing[missingKey(tablet, be.id, through+1)] = true
	}
	for _, x := range p.log {
		if x.state != txn.Committed {
			continue
		}
		for i := range x.parts {
			if x.parts[i].PartitionID != part.ID || x.parts[i].Version > through {
				continue
			}
			if x.parts[i].Version >= visible+1 && !x.holdsAny(be.id) {
				x.published[be.id] = true
			}
			for j := range x.parts[i].Tablets {
				tc := &x.parts[i].Tablets[j]
				if tc.TabletID == tablet && !slices.Contains(tc.Backends, be.id) {
					tc.Backends = append(slices.Clone(tc.Backends), be.id)
				}
			}
		}
	}
	m.applyWant(t, &ReportReplica{Event: ReplicaRepaired, TabletID: tablet, BackendID: be.id, BootEpoch: be.boot, ReplicaID: r.id, Version: through}, 0, true)
	if r.cloning && p.gapFree(tablet, be.id, last) {
		r.cloning = false
	}
	m.advance()
}

func (t *modelTxn) holdsAny(backend int64) bool {
	for _, pc := range t.parts {
		for _, tc := range pc.Tablets {
			if slices.Contains(tc.Backends, backend) {
				return true
			}
		}
	}
	return false
}

// written is a write that ended after its commit.
func (m *model) written(t *rapid.T) {
	x := m.pick(t)
	if len(x.parts) == 0 || x.forgotten || !(x.state == txn.Committed || x.state == txn.Visible) {
		t.Skip("nothing committed")
	}
	pc := &x.parts[rapid.IntRange(0, len(x.parts)-1).Draw(t, "partition")]
	j := rapid.IntRange(0, len(pc.Tablets)-1).Draw(t, "tablet")
	tc := &pc.Tablets[j]
	list := m.replicas[tc.TabletID]
	r := list[rapid.IntRange(0, len(list)-1).Draw(t, "replica")]
	c := &ReportReplica{Event: ReplicaWritten, TabletID: tc.TabletID, BackendID: r.backend, BootEpoch: m.bootOf(r.backend), ReplicaID: r.id, TxnID: x.id, RowsetID: tc.RowsetID}
	if !r.cloning && pc.Version > m.s.LogBase(pc.PartitionID) && !slices.Contains(tc.Backends, r.backend) {
		delete(m.parts[pc.PartitionID].missing, missingKey(tc.TabletID, r.backend, pc.Version))
		tc.Backends = append(slices.Clone(tc.Backends), r.backend)
	}
	m.applyWant(t, c, 0, true)
	m.advance()
}

// missed is a version that a replica turns out to lack.
func (m *model) missed(t *rapid.T) {
	part, tablet, r, be := m.replica(t)
	p := m.parts[part.ID]
	v := rapid.Int64Range(1, int64(len(p.log))+2).Draw(t, "version")
	c := &ReportReplica{Event: ReplicaMissing, TabletID: tablet, BackendID: be.id, BootEpoch: be.boot, ReplicaID: r.id, Version: v}
	if rapid.IntRange(0, 5).Draw(t, "of another replica") == 0 {
		c.ReplicaID++
		m.applyWant(t, c, doriserr.Conflict, false)
		return
	}
	if v > 1 && v <= int64(len(p.log))+1 {
		p.missing[missingKey(tablet, be.id, v)] = true
	}
	m.applyWant(t, c, 0, true)
}

func (m *model) addReplica(t *rapid.T) {
	part, tablet := m.place(t)
	be := m.backends[rapid.IntRange(0, modelBackends-1).Draw(t, "backend")]
	c := &AddReplica{TabletID: tablet, BackendID: be.id}
	has := slices.ContainsFunc(m.replicas[tablet], func(r *modelReplica) bool { return r.backend == be.id })
	if has || be.drained {
		m.applyWant(t, c, doriserr.Conflict, false)
		return
	}
	p := m.parts[part.ID]
	r := &modelReplica{backend: be.id, cloning: m.beginsCloning(part.ID, tablet, be.id)}
	for v := int64(2); v <= int64(len(p.log))+1; v++ {
		p.missing[missingKey(tablet, be.id, v)] = true
	}
	r.id = m.applyWant(t, c, 0, true).ID
	m.replicas[tablet] = append(m.replicas[tablet], r)
}

// beginsCloning: a new replica counts for nothing before it is cloned, unless there
// is neither a row nor another replica that counts.
func (m *model) beginsCloning(part, tablet, backend int64) bool {
	return len(m.parts[part].log) > 0 ||
		slices.ContainsFunc(m.replicas[tablet], func(r *modelReplica) bool { return r.backend != backend && !r.cloning })
}

func (m *model) dropReplica(t *rapid.T) {
	part, tablet, r, _ := m.replica(t)
	p := m.parts[part.ID]
	c := &DropReplica{TabletID: tablet, ReplicaID: r.id}
	i := slices.Index(m.replicas[tablet], r)
	old := m.replicas[tablet]
	m.replicas[tablet] = slices.Delete(slices.Clone(old), i, i+1)
	last := int64(len(p.log)) + 1
	ok := len(old) > 1 && (r.cloning || m.quorum(tablet, func(b int64) bool { return p.gapFree(tablet, b, last) }))
	for _, x := range m.txns {
		for _, pc := range x.parts {
			for _, tc := range pc.Tablets {
				ok = ok && (r.cloning || x.state != txn.Precommitted || tc.TabletID != tablet || m.quorum(tablet, func(b int64) bool {
					return slices.Contains(tc.Backends, b) && p.gapFree(tablet, b, last)
				}))
			}
		}
	}
	if !ok {
		m.replicas[tablet] = old
		m.applyWant(t, c, doriserr.Blocked, false)
		return
	}
	m.applyWant(t, c, 0, true)
	for v := int64(2); v <= last; v++ {
		delete(p.missing, missingKey(tablet, r.backend, v))
	}
	m.applyWant(t, c, 0, true) // a repeat
	m.advance()
}

// loseRoot restarts a backend that lost one of its disks and has some of its
// replicas left.
func (m *model) loseRoot(t *rapid.T) {
	be := m.backends[rapid.IntRange(modelOwners, modelBackends-1).Draw(t, "backend")]
	i := slices.Index(m.backends, be)
	be.roots++
	c := &RegisterBackend{
		UUID: fmt.Sprintf("be%d", i), Host: fmt.Sprintf("h%d", i), HeartbeatPort: 9050, LastBootEpoch: be.used,
		Dirs: []BackendDir{{UUID: fmt.Sprint("root", be.roots)}}, AcceptLoss: []string{fmt.Sprint("root", be.roots-1)},
	}
	be.boot++
	be.alive = true
	type lost struct {
		tablet int64
		r      *modelReplica
	}
	var gone []lost
	for _, table := range m.tables {
		for _, part := range table.Partitions {
			for _, tablet := range part.Tablets {
				for _, r := range m.replicas[tablet.ID] {
					if r.backend != be.id {
						continue
					}
					if be.roots == 1 || rapid.Bool().Draw(t, "left") {
						c.Replicas = append(c.Replicas, r.id)
						continue
					}
					p := m.parts[part.ID]
					r.cloning = m.beginsCloning(part.ID, tablet.ID, be.id)
					for v := int64(2); v <= int64(len(p.log))+1; v++ {
						p.missing[missingKey(tablet.ID, be.id, v)] = true
					}
					gone = append(gone, lost{tablet.ID, r})
				}
			}
		}
	}
	m.applyWant(t, c, 0, true)
	for _, l := range gone {
		at, _ := m.s.replicaOf(l.tablet, be.id)
		if at.replica.ID == l.r.id {
			t.Fatalf("the lost replica %d of tablet %d is still there", l.r.id, l.tablet)
		}
		l.r.id = at.replica.ID
	}
	m.advance()
}

// reload replaces the State by its snapshot, read again.
func (m *model) reload(t *rapid.T) {
	var first, second bytes.Buffer
	if err := m.s.Snapshot().Write(&first); err != nil {
		t.Fatal(err)
	}
	s, err := Restore(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot().Write(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatal("a restored state has another snapshot")
	}
	m.s = s
}
