package txn

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Book is every transaction, label, group record and partition version. All
// methods cost what they touch, not what the Book holds, unless said otherwise.
type Book struct {
	// clock is the FSM's: the sum of leaders' monotonic ticks, milliseconds.
	clock int64
	// term and termMs are the term of the last tick and the time ticked in it.
	term   uint64
	termMs int64
	nextID int64

	txns     map[int64]*Txn
	requests map[[16]byte]int64
	dbs      map[int64]*dbBook
	// undecided are PREPARE and PRECOMMITTED, committed are COMMITTED.
	undecided, committed map[int64]struct{}
	// groups are the unreleased group records with WAL of each backend.
	groups map[int64]map[int64]struct{}
	// open are the PREPARE groups of a table and backend, ascending.
	open map[tableBackend][]int64
	// pins counts for each transaction the partitions whose publish log names
	// it.
	pins  map[int64]int
	parts map[int64]*partition
}

type tableBackend struct{ table, backend int64 }

// dbBook is what labels and quota need of one database.
type dbBook struct {
	// labels maps to the newest transaction with the label.
	labels map[string]int64
	// quota counts transactions that are not final and have no WAL.
	quota int
	// finished are the transactions that may be forgotten, oldest first.
	finished []finished
}

// finished is an entry of the queue of labels that may be given up.
type finished struct {
	txnID int64
	// since is when the entry was queued, in FSM milliseconds.
	since int64
}

// Limits are the settings that the rules depend on. They are part of the
// replicated state.
type Limits struct {
	// MaxRunningPerDB is max_running_txn_num_per_db.
	MaxRunningPerDB int
	// LabelKeepMs is streaming_label_keep_max_second, in milliseconds.
	LabelKeepMs int64
	// LabelMax is label_num_threshold: a database with more finished
	// transactions forgets the oldest, but none younger than LabelGraceMs, so
	// that whoever asks for a lost answer still finds it.
	LabelMax     int
	LabelGraceMs int64
	// TickGraceMs is how long a new leader's ticks must have run before
	// anything expires.
	TickGraceMs int64
	// PublishLogMax is how many versions a partition's publish log keeps for
	// backends that are not alive.
	PublishLogMax int
}

// DefaultLimits are Doris' defaults.
func DefaultLimits() Limits {
	return Limits{MaxRunningPerDB: 10000, LabelKeepMs: 43200_000, LabelMax: 2000, LabelGraceMs: 180_000, TickGraceMs: 5000, PublishLogMax: 10000}
}

// NewBook is an empty Book whose first transaction id is 1.
func NewBook() *Book {
	return &Book{
		nextID: 1, txns: map[int64]*Txn{}, requests: map[[16]byte]int64{}, dbs: map[int64]*dbBook{},
		undecided: map[int64]struct{}{}, committed: map[int64]struct{}{}, groups: map[int64]map[int64]struct{}{},
		open: map[tableBackend][]int64{}, pins: map[int64]int{}, parts: map[int64]*partition{},
	}
}

// Clock is the FSM's time in milliseconds.
func (b *Book) Clock() int64 { return b.clock }

// NextID is the id of the next transaction.
func (b *Book) NextID() int64 { return b.nextID }

// Get is a transaction by id, nil if it is unknown or forgotten.
func (b *Book) Get(id int64) *Txn {
	if t := b.txns[id]; t != nil && !t.Forgotten {
		return t
	}
	return nil
}

// Gone reports whether a transaction was decided, is forgotten, and no replica
// needs anything of it any more: it was aborted, or it is durable on every one.
func (b *Book) Gone(id int64) bool { return id > 0 && id < b.nextID && b.txns[id] == nil }

// ByLabel is the newest transaction with a label, nil if there is none.
func (b *Book) ByLabel(dbID int64, label string) *Txn {
	if d := b.dbs[dbID]; d != nil {
		return b.txns[d.labels[label]]
	}
	return nil
}

// ByRequest is the transaction that a request began, nil if there is none.
func (b *Book) ByRequest(id [16]byte) *Txn {
	if id == [16]byte{} {
		return nil
	}
	return b.txns[b.requests[id]]
}

// All are the known transactions of a database (0: of all) in id order. It
// walks and sorts everything: for SHOW only.
func (b *Book) All(dbID int64) []*Txn {
	var out []*Txn
	for _, t := range b.txns {
		if !t.Forgotten && (dbID == 0 || t.DBID == dbID) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Txn) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Committed are the transactions that wait to become VISIBLE, in id order.
func (b *Book) Committed() []*Txn { return b.sorted(maps.Keys(b.committed)) }

// Undecided are the PREPARE and PRECOMMITTED transactions, in id order.
func (b *Book) Undecided() []*Txn { return b.sorted(maps.Keys(b.undecided)) }

// Groups are the unreleased groups with WAL of a backend, in id order.
func (b *Book) Groups(backendID int64) []*Txn { return b.sorted(maps.Keys(b.groups[backendID])) }

// GroupCount is the number of Groups.
func (b *Book) GroupCount(backendID int64) int { return len(b.groups[backendID]) }

// TableGroups are the unreleased groups with WAL of a table over all backends,
// in id order. It walks all unreleased groups.
func (b *Book) TableGroups(tableID int64) []*Txn {
	var ids []int64
	for _, set := range b.groups {
		for id := range set {
			if b.txns[id].TableID == tableID {
				ids = append(ids, id)
			}
		}
	}
	return b.sorted(slices.Values(ids))
}

// OpenGroups are the PREPARE groups of a table, sync ones included, in id
// order. It walks the tables and backends with open groups.
func (b *Book) OpenGroups(tableID int64) []*Txn {
	var ids []int64
	for k, open := range b.open {
		if k.table == tableID {
			ids = append(ids, open...)
		}
	}
	return b.sorted(slices.Values(ids))
}

// Running is how many transactions of a database count towards
// max_running_txn_num_per_db.
func (b *Book) Running(dbID int64) int {
	if d := b.dbs[dbID]; d != nil {
		return d.quota
	}
	return 0
}

func (b *Book) sorted(ids iter.Seq[int64]) []*Txn {
	keys := slices.Sorted(ids)
	out := make([]*Txn, len(keys))
	for i, id := range keys {
		out[i] = b.txns[id]
	}
	return out
}

func (b *Book) db(id int64) *dbBook {
	d := b.dbs[id]
	if d == nil {
		d = &dbBook{labels: map[string]int64{}}
		b.dbs[id] = d
	}
	return d
}

// insert adds a transaction to the maps. Its label must be free.
func (b *Book) insert(t *Txn) {
	b.txns[t.ID] = t
	if t.Forgotten {
		return
	}
	b.db(t.DBID).labels[t.Label] = t.ID
	if t.RequestID != [16]byte{} {
		b.requests[t.RequestID] = t.ID
	}
	b.index(t, 1)
}

// replace puts a new object in a transaction's place and keeps the indexes.
func (b *Book) replace(old, t *Txn) {
	b.index(old, -1)
	b.txns[t.ID] = t
	b.index(t, 1)
}

// index adds (sign 1) or removes (sign -1) a transaction in the indexes that
// depend on its state.
func (b *Book) index(t *Txn, sign int) {
	set(b.undecided, t.ID, sign > 0 && t.State.Undecided())
	set(b.committed, t.ID, sign > 0 && t.State == Committed)
	if !t.State.Final() && !t.HasWAL() {
		b.db(t.DBID).quota += sign
	}
	if t.Group == nil {
		return
	}
	owner := t.Owner.BackendID
	if t.HasWAL() {
		if b.groups[owner] == nil {
			b.groups[owner] = map[int64]struct{}{}
		}
		set(b.groups[owner], t.ID, sign > 0)
		if len(b.groups[owner]) == 0 {
			delete(b.groups, owner)
		}
	}
	if t.State == Prepare {
		b.indexOpen(tableBackend{t.TableID, owner}, t.ID, sign > 0)
	}
}

func (b *Book) indexOpen(k tableBackend, id int64, add bool) {
	ids := b.open[k]
	i, found := slices.BinarySearch(ids, id)
	switch {
	case add && !found:
		b.open[k] = slices.Insert(ids, i, id)
	case !add && found:
		if ids = slices.Delete(ids, i, i+1); len(ids) == 0 {
			delete(b.open, k)
		} else {
			b.open[k] = ids
		}
	}
}

func set(m map[int64]struct{}, id int64, in bool) {
	if in {
		m[id] = struct{}{}
	} else {
		delete(m, id)
	}
}
