package meta

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// The model is a second, much simpler telling of the rules: it keeps every
// transaction for ever, in one slice, and recomputes what it needs. A run
// sends random commands (repeated, stale, in any order) to both and compares
// the decision, and after each step the whole state.

type modelTxn struct {
	id, table  int64
	label      string
	req        [16]byte
	state      txn.State
	backend    int
	boot       uint64
	owner      uint64
	group, wal bool
	// twoPhase is set once it was PRECOMMITTED.
	twoPhase bool
	// file says that the WAL is on the backend's disk.
	file      bool
	released  bool
	deadline  int64
	parts     []txn.PartitionCommit
	published map[int64]bool
	// since is when the label may be given up from, -1 while it may not.
	since     int64
	ended     int
	forgotten bool
}

// hasWAL is whether the record must outlive everything.
func (t *modelTxn) hasWAL() bool { return t.wal && !t.released }

type modelPartition struct {
	// log are the transactions of versions 2, 3, ...
	log     []*modelTxn
	visible int64
	missing map[string]bool
}

type modelReplica struct {
	id, backend int64
	cloning     bool
}

type modelBackend struct {
	id      int64
	boot    uint64
	used    uint64
	alive   bool
	downAt  int64
	drained bool
	// roots counts the disks that it had, one at a time.
	roots int
}

type model struct {
	s        *State
	index    uint64
	clock    int64
	term     uint64
	inTerm   int64
	db       int64
	other    int64 // a database without tables
	tables   []*Table
	backends []*modelBackend
	txns     []*modelTxn
	parts    map[int64]*modelPartition
	replicas map[int64][]*modelReplica // by tablet
	begins   []*BeginTxn
	nextReq  byte
	finishes []finished
	// ends counts transactions that ended, for their order.
	ends int
}

const modelLabelMax = 6

// modelOwners of the modelBackends coordinate loads.
const modelOwners, modelBackends = 3, 5

func newModel(t *rapid.T) *model {
	m := &model{s: New(), parts: map[int64]*modelPartition{}, replicas: map[int64][]*modelReplica{}}
	m.apply(t, &InitCluster{ClusterID: "c", MetaEpoch: 1})
	m.apply(t, &SetConfig{Key: ConfigMaxRunningTxns, Value: "12"})
	m.apply(t, &SetConfig{Key: ConfigLabelMax, Value: fmt.Sprint(modelLabelMax)})
	m.db = m.apply(t, &CreateDatabase{Name: "d"}).ID
	m.other = m.apply(t, &CreateDatabase{Name: "other"}).ID
	for i := range modelBackends {
		res := m.apply(t, &RegisterBackend{UUID: fmt.Sprintf("be%d", i), Host: fmt.Sprintf("h%d", i), HeartbeatPort: 9050})
		m.backends = append(m.backends, &modelBackend{id: res.ID, boot: 1, alive: true})
	}
	for i, keys := range []KeysType{DuplicateKeys, UniqueKeys} {
		table := &Table{
			Name: fmt.Sprintf("t%d", i), Keys: keys, Columns: []Column{{Name: "k"}}, Buckets: 2,
			Props: Properties{ReplicationNum: 3}, Partitions: []*Partition{m.partition("p0"), m.partition("p1")},
		}
		id := m.apply(t, &CreateTable{DB: "d", Table: table}).ID
		made := m.s.Table(id)
		m.tables = append(m.tables, made)
		for _, p := range made.Partitions {
			m.parts[p.ID] = &modelPartition{visible: 1, missing: map[string]bool{}}
			for _, tablet := range p.Tablets {
				for _, r := range tablet.Replicas {
					m.replicas[tablet.ID] = append(m.replicas[tablet.ID], &modelReplica{id: r.ID, backend: r.BackendID})
				}
			}
		}
	}
	return m
}

func (m *model) partition(name string) *Partition {
	p := &Partition{Name: name}
	for b := range 2 {
		tablet := &Tablet{Bucket: b}
		for _, be := range m.backends[:3] {
			tablet.Replicas = append(tablet.Replicas, Replica{BackendID: be.id})
		}
		p.Tablets = append(p.Tablets, tablet)
	}
	return p
}

func (m *model) apply(t *rapid.T, c Command) Result {
	t.Helper()
	m.index++
	res, err := m.s.Apply(m.index, c)
	if err != nil {
		t.Fatalf("%s: %v", CommandName(c), err)
	}
	return res
}

// applyWant sends a command through the codec and compares the decision.
func (m *model) applyWant(t *rapid.T, c Command, want doriserr.Kind, ok bool) Result {
	t.Helper()
	data, err := EncodeCommand(c)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := DecodeCommand(data)
	if err != nil {
		t.Fatal(err)
	}
	m.index++
	res, err := m.s.Apply(m.index, decoded)
	switch {
	case ok && err != nil:
		t.Fatalf("%s %+v: %v", CommandName(c), c, err)
	case !ok && !doriserr.Is(err, want):
		t.Fatalf("%s %+v: error %v, want kind %s", CommandName(c), c, err, want)
	}
	return res
}

// pick is a random transaction that was ever begun; nil before the first.
func (m *model) pick(t *rapid.T) *modelTxn {
	if len(m.txns) == 0 {
		t.Skip("no transaction yet")
	}
	// Prefer the latest ones: those are undecided.
	back := rapid.IntRange(0, min(len(m.txns), 12)-1).Draw(t, "txn from the end")
	return m.txns[len(m.txns)-1-back]
}

func (m *model) begin(t *rapid.T) {
	if len(m.begins) > 0 && rapid.IntRange(0, 4).Draw(t, "repeat") == 0 {
		m.repeatBegin(t)
		return
	}
	b := rapid.IntRange(0, 2).Draw(t, "backend")
	be := m.backends[b]
	table := m.tables[rapid.IntRange(0, 1).Draw(t, "table")]
	m.nextReq++
	c := &BeginTxn{
		RequestID: [16]byte{m.nextReq, byte(len(m.begins) >> 8)}, DBID: m.db, TableID: table.ID, TableEpoch: table.Epoch, SchemaVersion: table.SchemaVersion,
		Owner:     txn.Owner{BackendID: be.id, BootEpoch: be.boot},
		TimeoutMs: int64(rapid.SampledFrom([]int{1000, 60000}).Draw(t, "timeout")), WallMs: 1,
	}
	kind := rapid.SampledFrom([]string{"normal", "sync", "async"}).Draw(t, "kind")
	c.Label = rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "label")
	if kind != "normal" {
		c.Group = &txn.GroupRecord{Async: kind == "async"}
		c.Label = fmt.Sprintf("group_commit_%d", len(m.begins))
	}
	stale := be.boot > 1 && rapid.IntRange(0, 9).Draw(t, "stale") == 0
	if stale {
		c.Owner.BootEpoch--
	}
	quota := 0
	taken := false
	for _, x := range m.txns {
		if !x.state.Final() && !x.hasWAL() {
			quota++
		}
		taken = taken || x.label == c.Label && x.state != txn.Aborted && !x.forgotten
	}
	switch {
	case stale:
		m.applyWant(t, c, doriserr.StaleEpoch, false)
		return
	case be.drained && c.Group != nil:
		m.applyWant(t, c, doriserr.NotAdmitted, false)
		return
	case taken:
		m.applyWant(t, c, doriserr.LabelExists, false)
		return
	case quota >= 12 && kind != "async":
		m.applyWant(t, c, doriserr.ExceededLimit, false)
		return
	}
	res := m.applyWant(t, c, 0, true)
	be.used = be.boot
	m.begins = append(m.begins, c)
	m.txns = append(m.txns, &modelTxn{
		id: res.ID, table: table.ID, label: c.Label, req: c.RequestID, state: txn.Prepare, backend: b, boot: be.boot, owner: 1,
		group: c.Group != nil, wal: kind == "async", file: kind == "async" && rapid.Bool().Draw(t, "WAL file"),
		deadline: m.clock + c.TimeoutMs, published: map[int64]bool{}, since: -1,
	})
}

// repeatBegin sends an earlier begin again: it gets its transaction, unless
// that is forgotten or the sender's life is over.
func (m *model) repeatBegin(t *rapid.T) {
	i := rapid.IntRange(0, len(m.begins)-1).Draw(t, "begin")
	c, x := m.begins[i], m.txns[i]
	if c.Owner.BootEpoch != m.backends[x.backend].boot {
		m.applyWant(t, c, doriserr.StaleEpoch, false)
		return
	}
	if x.forgotten {
		t.Skip("the begin is forgotten and would begin anew")
	}
	if res := m.applyWant(t, c, 0, true); res.ID != x.id {
		t.Fatalf("a repeated begin of %d got %d", x.id, res.ID)
	}
}

// ownerOf is a transaction's owner, or a wrong one.
func (m *model) ownerOf(t *rapid.T, x *modelTxn) (o txn.Owner, right bool) {
	o = txn.Owner{BackendID: m.backends[x.backend].id, BootEpoch: x.boot, OwnerEpoch: x.owner}
	switch rapid.IntRange(0, 9).Draw(t, "owner") {
	case 0:
		o.OwnerEpoch--
		return o, false
	case 1:
		other := m.backends[(x.backend+1)%modelOwners]
		return txn.Owner{BackendID: other.id, BootEpoch: other.boot, OwnerEpoch: x.owner}, false
	}
	return o, o.BootEpoch == m.backends[x.backend].boot
}

func (m *model) commit(t *rapid.T)    { m.commitOrPrecommit(t, false) }
func (m *model) precommit(t *rapid.T) { m.commitOrPrecommit(t, true) }

func (m *model) commitOrPrecommit(t *rapid.T, twoPhase bool) {
	x := m.pick(t)
	o, right := m.ownerOf(t, x)
	c := &CommitTxn{TxnID: x.id, Owner: o, LoadedRows: 5, WallMs: 2, TwoPhase: twoPhase}
	if twoPhase {
		c.PrecommitTimeoutMs = int64(rapid.SampledFrom([]int{1000, 60000}).Draw(t, "precommit timeout"))
	}
	table := m.s.Table(x.table)
	for _, p := range table.Partitions {
		if rapid.Bool().Draw(t, "partition") {
			pc := txn.PartitionCommit{PartitionID: p.ID}
			for _, tab := range p.Tablets {
				if rapid.Bool().Draw(t, "tablet") {
					pc.Tablets = append(pc.Tablets, txn.TabletCommit{TabletID: tab.ID, RowsetID: [16]byte{byte(x.id), byte(tab.ID)}, Rows: 1, Backends: m.someBackends(t)})
				}
			}
			if len(pc.Tablets) > 0 {
				c.Partitions = append(c.Partitions, pc)
			}
		}
	}
	switch {
	case o.BootEpoch != m.bootOf(o.BackendID):
		m.applyWant(t, c, doriserr.StaleEpoch, false)
	case x.forgotten:
		m.applyWant(t, c, doriserr.TxnNotFound, false)
	case !right:
		m.applyWant(t, c, doriserr.StaleEpoch, false)
	case x.state == txn.Aborted, c.TwoPhase && x.group:
		m.applyWant(t, c, doriserr.TxnState, false)
	case x.state == txn.Precommitted && !c.TwoPhase, x.state != txn.Prepare && c.TwoPhase && !x.twoPhase:
		// The first is not the backend's to decide, the second was never
		// pre-committed.
		m.applyWant(t, c, doriserr.TxnState, false)
	case x.state != txn.Prepare:
		res := m.applyWant(t, c, 0, true)
		m.sameVersions(t, x, res.Txn)
	case x.group && table.Keys == UniqueKeys && m.earlierOpen(x):
		m.applyWant(t, c, doriserr.Blocked, false)
	case !m.majority(c.Partitions):
		m.applyWant(t, c, doriserr.FewReplicas, false)
	case c.TwoPhase:
		res := m.applyWant(t, c, 0, true)
		x.state, x.twoPhase, x.parts, x.deadline = txn.Precommitted, true, c.Partitions, m.clock+c.PrecommitTimeoutMs
		m.sameVersions(t, x, res.Txn)
	default:
		res := m.applyWant(t, c, 0, true)
		m.committed(x, c.Partitions)
		m.sameVersions(t, x, res.Txn)
	}
}

func (m *model) bootOf(backend int64) uint64 {
	i := slices.IndexFunc(m.backends, func(b *modelBackend) bool { return b.id == backend })
	return m.backends[i].boot
}

func (m *model) someBackends(t *rapid.T) []int64 {
	var out []int64
	for _, b := range m.backends {
		if rapid.IntRange(0, 4).Draw(t, "holds") > 0 {
			out = append(out, b.id)
		}
	}
	return out
}

func (m *model) earlierOpen(x *modelTxn) bool {
	return slices.ContainsFunc(m.txns, func(y *modelTxn) bool {
		return y.id < x.id && y.group && y.state == txn.Prepare && y.table == x.table && y.backend == x.backend
	})
}

func missingKey(tablet, backend, version int64) string {
	return fmt.Sprintf("%d/%d/%d", tablet, backend, version)
}

// gapFree recomputes whether a replica has every version of a partition up to
// one.
func (p *modelPartition) gapFree(tablet, backend, through int64) bool {
	for v := int64(2); v <= through; v++ {
		if p.missing[missingKey(tablet, backend, v)] {
			return false
		}
	}
	return true
}

func (m *model) majority(parts []txn.PartitionCommit) bool {
	for _, pc := range parts {
		p := m.parts[pc.PartitionID]
		for _, tc := range pc.Tablets {
			if !m.quorum(tc.TabletID, func(b int64) bool {
				return slices.Contains(tc.Backends, b) && p.gapFree(tc.TabletID, b, int64(len(p.log))+1)
			}) {
				return false
			}
		}
	}
	return true
}

// quorum is whether a majority of the replicas of a tablet that count is good.
func (m *model) quorum(tablet int64, good func(backend int64) bool) bool {
	n, of := 0, 0
	for _, r := range m.replicas[tablet] {
		if r.cloning {
			continue
		}
		of++
		if good(r.backend) {
			n++
		}
	}
	return n >= of/2+1
}

func (m *model) committed(x *modelTxn, parts []txn.PartitionCommit) {
	x.state = txn.Committed
	x.parts = nil
	for _, pc := range parts {
		p := m.parts[pc.PartitionID]
		p.log = append(p.log, x)
		pc.Version = int64(len(p.log)) + 1
		x.parts = append(x.parts, pc)
		for _, tc := range pc.Tablets {
			for _, r := range m.replicas[tc.TabletID] {
				if !slices.Contains(tc.Backends, r.backend) {
					p.missing[missingKey(tc.TabletID, r.backend, pc.Version)] = true
				}
			}
		}
	}
	m.advance()
}

// advance looks at every transaction until none becomes visible.
func (m *model) advance() {
	for again := true; again; {
		again = false
		for _, x := range m.txns {
			if x.state == txn.Committed && m.ready(x) {
				x.state, again = txn.Visible, true
				for _, pc := range x.parts {
					m.parts[pc.PartitionID].visible = pc.Version
				}
				m.ended(x)
			}
		}
	}
}

func (m *model) ready(x *modelTxn) bool {
	for _, pc := range x.parts {
		p := m.parts[pc.PartitionID]
		if p.visible != pc.Version-1 {
			return false
		}
		for _, tc := range pc.Tablets {
			if !m.quorum(tc.TabletID, func(b int64) bool {
				return slices.Contains(tc.Backends, b) && x.published[b] && p.gapFree(tc.TabletID, b, pc.Version)
			}) {
				return false
			}
		}
	}
	return true
}

// ended starts the time after which a label may be given up.
func (m *model) ended(x *modelTxn) {
	if x.group && !x.wal {
		x.released = true
	}
	if x.state.Final() && !x.hasWAL() && x.since < 0 {
		m.ends++
		x.since, x.ended = m.clock, m.ends
	}
}

func (m *model) sameVersions(t *rapid.T, x *modelTxn, got *txn.Txn) {
	t.Helper()
	if got.State != x.state || len(got.Partitions) != len(x.parts) {
		t.Fatalf("transaction %d is %s with %d partitions, want %s with %d", x.id, got.State, len(got.Partitions), x.state, len(x.parts))
	}
	for _, pc := range x.parts {
		if v := got.Version(pc.PartitionID); v != pc.Version {
			t.Fatalf("transaction %d has version %d of partition %d, want %d", x.id, v, pc.PartitionID, pc.Version)
		}
	}
}

// check compares the whole state and the invariants of package txn.
func (m *model) check(t *rapid.T) {
	groups := map[int64]bool{}
	owners := map[string]int64{}
	for _, x := range m.txns {
		got := m.s.Txn(x.id)
		if x.forgotten != (got == nil) {
			t.Fatalf("transaction %d is known: %v, want %v", x.id, got != nil, !x.forgotten)
		}
		if x.hasWAL() {
			groups[x.id] = true
		}
		if got == nil {
			continue
		}
		if got.State != x.state || got.HasWAL() != x.hasWAL() || got.Owner.OwnerEpoch != x.owner {
			t.Fatalf("transaction %d is %s, WAL %v, owner epoch %d; want %s, %v, %d", x.id, got.State, got.HasWAL(), got.Owner.OwnerEpoch, x.state, x.hasWAL(), x.owner)
		}
		if got.State != txn.Aborted {
			if other := owners[x.label]; other != 0 {
				t.Fatalf("label %s belongs to transactions %d and %d", x.label, other, x.id)
			}
			owners[x.label] = x.id
			if by := m.s.TxnByLabel(m.db, x.label); by == nil || by.ID != x.id {
				t.Fatalf("label %s finds %v, want transaction %d", x.label, by, x.id)
			}
		}
	}
	n := 0
	for _, be := range m.backends {
		for _, g := range m.s.Groups(be.id) {
			if !groups[g.ID] {
				t.Fatalf("group %d is outstanding and should not be", g.ID)
			}
			n++
		}
	}
	if n != len(groups) {
		t.Fatalf("%d groups are outstanding, want %d", n, len(groups))
	}
	m.checkVersions(t)
}

func (m *model) checkVersions(t *rapid.T) {
	for id, p := range m.parts {
		v, ok := m.s.PartitionVersion(id)
		if !ok || v.Visible != p.visible || v.Committed != int64(len(p.log))+1 {
			t.Fatalf("partition %d has versions %+v, want visible %d, committed %d", id, v, p.visible, len(p.log)+1)
		}
		for i, x := range p.log {
			if (x.state == txn.Visible) != (int64(i)+2 <= p.visible) {
				t.Fatalf("partition %d: version %d is %s with visible version %d", id, i+2, x.state, p.visible)
			}
		}
		for _, table := range m.tables {
			for _, tablet := range m.s.Table(table.ID).Partitions {
				m.checkReplicas(t, tablet)
			}
		}
		list, complete := m.s.PublishList(id, p.visible)
		if !complete || len(list) != len(p.log)-int(p.visible)+1 {
			t.Fatalf("partition %d lists %d versions above the visible one, want %d", id, len(list), len(p.log)-int(p.visible)+1)
		}
	}
}

// checkReplicas compares a partition's replicas with the catalog and the rules.
func (m *model) checkReplicas(t *rapid.T, part *Partition) {
	p := m.parts[part.ID]
	committed := int64(len(p.log)) + 1
	for _, tablet := range part.Tablets {
		want := m.replicas[tablet.ID]
		if len(tablet.Replicas) != len(want) {
			t.Fatalf("tablet %d has %d replicas, want %d", tablet.ID, len(tablet.Replicas), len(want))
		}
		for i, r := range tablet.Replicas {
			if w := want[i]; r != (Replica{ID: w.id, BackendID: w.backend, Cloning: w.cloning}) {
				t.Fatalf("tablet %d has replica %+v, want %+v", tablet.ID, r, w)
			}
			whole := m.s.GapFree(part.ID, tablet.ID, r.BackendID) >= committed
			if whole != p.gapFree(tablet.ID, r.BackendID, committed) {
				t.Fatalf("tablet %d on backend %d: whole %v", tablet.ID, r.BackendID, whole)
			}
		}
	}
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"":              m.check,
			"begin":         m.begin,
			"begin again":   m.begin,
			"commit":        m.commit,
			"commit again":  m.commit,
			"precommit":     m.precommit,
			"publish":       m.publish,
			"publish again": m.publish,
			"abort":         m.abort,
			"finish":        m.finish,
			"restart":       m.restart,
			"take over":     m.takeOver,
			"release":       m.release,
			"alive":         m.alive,
			"drain":         m.drain,
			"tick":          m.tick,
			"clean label":   m.cleanLabel,
			"durable":       m.durable,
			"repair":        m.repair,
			"written":       m.written,
			"missing":       m.missed,
			"add replica":   m.addReplica,
			"drop replica":  m.dropReplica,
			"lose root":     m.loseRoot,
			"reload":        m.reload,
		})
	})
}
