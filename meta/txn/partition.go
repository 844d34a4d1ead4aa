package txn

import "slices"

// partition is the version state of one partition.
//
// The publish log keeps which transaction made each version above base, until
// every backend that holds a replica reported the version durable (rule 2).
type partition struct {
	// visible <= committed = base + len(log).
	visible, committed int64
	// visibleMs is the wall clock of the last publish.
	visibleMs int64
	base      int64
	log       []int64
	// holders are the backends with a replica of any tablet, sorted.
	holders []int64
	// durable is the version through which a holder has published durably.
	// A holder whose version is below base needs a clone and holds up nothing.
	durable map[int64]int64
	// missing are the committed versions whose rowset a replica lacks,
	// ascending. A replica without an entry is gap-free. Of those that the log
	// does not reach any more only the first is kept, and stands for all from
	// there to base: a clone alone helps.
	missing map[replica][]int64
}

type replica struct{ tablet, backend int64 }

// FirstVersion is the version of an empty partition.
const FirstVersion = 1

// Placement tells where the tablets are now.
type Placement interface {
	// Holders are the backends of the tablet's replicas that count for a
	// majority; ok is false if the partition has no such tablet.
	Holders(partitionID, tabletID int64) (backends []int64, ok bool)
	// Cloning are those of the replicas that are filled from others.
	Cloning(partitionID, tabletID int64) (backends []int64)
}

// AddPartition makes a partition known, at version 1, with the backends that
// hold its replicas.
func (b *Book) AddPartition(id int64, holders []int64) {
	b.parts[id] = &partition{
		visible: FirstVersion, committed: FirstVersion, base: FirstVersion,
		holders: slices.Compact(slices.Sorted(slices.Values(holders))),
		durable: map[int64]int64{}, missing: map[replica][]int64{},
	}
}

// DropPartition forgets a partition and voids its pending versions: a
// transaction that waited for them becomes VISIBLE when its other partitions
// are (rule 11).
func (b *Book) DropPartition(id, wallMs int64, place Placement) {
	p := b.parts[id]
	if p == nil {
		return
	}
	delete(b.parts, id)
	var waiting []int64
	for _, txnID := range p.log {
		if b.txns[txnID].State == Committed {
			waiting = append(waiting, txnID)
		}
	}
	for _, txnID := range waiting {
		b.advance(txnID, wallMs, place)
	}
	for _, txnID := range p.log {
		b.unpin(txnID)
	}
}

// Versions are a partition's visible and committed versions and the wall clock
// of its last publish; ok is false if it is unknown.
func (b *Book) Versions(partitionID int64) (visible, committed, visibleMs int64, ok bool) {
	p := b.parts[partitionID]
	if p == nil {
		return 0, 0, 0, false
	}
	return p.visible, p.committed, p.visibleMs, true
}

// GapFree is the version through which a replica holds every committed version
// of its tablet (rule 1); 0 if the partition is unknown.
func (b *Book) GapFree(partitionID, tabletID, backendID int64) int64 {
	p := b.parts[partitionID]
	if p == nil {
		return 0
	}
	if m := p.missing[replica{tabletID, backendID}]; len(m) > 0 {
		return m[0] - 1
	}
	return p.committed
}

// PublishList are the committed transactions of a partition above a version,
// in version order, as far back as the log is kept; complete is false if it
// does not reach back that far (the replica needs a clone).
func (b *Book) PublishList(partitionID, after int64) (list []*Txn, complete bool) {
	p := b.parts[partitionID]
	if p == nil {
		return nil, false
	}
	from := max(after-p.base, 0)
	if from > int64(len(p.log)) {
		return nil, true
	}
	for _, id := range p.log[from:] {
		list = append(list, b.txns[id])
	}
	return list, after >= p.base
}

// Durable is the version after which the publish log has something for a
// backend: what it reported durable, or where the log begins if that is later.
func (b *Book) Durable(partitionID, backendID int64) int64 {
	if p := b.parts[partitionID]; p != nil {
		return max(p.durable[backendID], p.base)
	}
	return 0
}

// Behind reports whether a backend is not known to have what the publish log does
// not reach any more.
func (b *Book) Behind(partitionID, backendID int64) bool {
	p := b.parts[partitionID]
	return p != nil && max(p.durable[backendID], FirstVersion) < p.base
}

// LogBase is the version after which the publish log begins.
func (b *Book) LogBase(partitionID int64) int64 {
	if p := b.parts[partitionID]; p != nil {
		return p.base
	}
	return 0
}

// Missing is the first committed version that a replica lacks, 0 if none.
func (b *Book) Missing(partitionID, tabletID, backendID int64) int64 {
	if p := b.parts[partitionID]; p != nil {
		if m := p.missing[replica{tabletID, backendID}]; len(m) > 0 {
			return m[0]
		}
	}
	return 0
}

// at is the transaction of a version, nil if the log does not reach it.
func (b *Book) at(p *partition, version int64) *Txn {
	i := version - p.base - 1
	if i < 0 || i >= int64(len(p.log)) {
		return nil
	}
	return b.txns[p.log[i]]
}

// gapFreeThrough reports whether a replica lacks nothing up to a version.
func (p *partition) gapFreeThrough(r replica, version int64) bool {
	m := p.missing[r]
	return len(m) == 0 || m[0] > version
}

func (p *partition) addMissing(r replica, version int64) {
	m := p.missing[r]
	i, found := slices.BinarySearch(m, version)
	if found {
		return
	}
	if i == len(m) {
		p.missing[r] = append(m, version)
		return
	}
	p.missing[r] = slices.Insert(slices.Clone(m), i, version)
}

// dropMissing removes the versions for which gone says so.
func (p *partition) dropMissing(r replica, gone func(version int64) bool) {
	m := slices.DeleteFunc(slices.Clone(p.missing[r]), gone)
	if len(m) == 0 {
		delete(p.missing, r)
		return
	}
	p.missing[r] = m
}

// keeps is the version through which all those holders for which it counts have
// published durably: the log is kept for them from there on.
func (p *partition) keeps(counts func(backend int64) bool) int64 {
	through := p.visible
	for _, h := range p.holders {
		if d := max(p.durable[h], FirstVersion); d >= p.base && counts(h) {
			through = min(through, d)
		}
	}
	return through
}

// trim drops what every holder has durably from the publish log, but for those
// that need a clone anyway.
func (b *Book) trim(p *partition) {
	b.trimTo(p, p.keeps(func(int64) bool { return true }))
}

// trimTo drops the log through a version.
func (b *Book) trimTo(p *partition, through int64) {
	n := through - p.base
	if n <= 0 {
		return
	}
	for _, id := range p.log[:n] {
		b.unpin(id)
	}
	p.log, p.base = p.log[n:], through
	for r, m := range p.missing {
		if first := m[0]; len(m) > 1 && m[1] <= p.base {
			p.dropMissing(r, func(v int64) bool { return v != first && v <= p.base })
		}
	}
}

// unpin gives up one partition's claim on a transaction.
func (b *Book) unpin(id int64) {
	b.pins[id]--
	if b.pins[id] > 0 {
		return
	}
	delete(b.pins, id)
	if t := b.txns[id]; t != nil && t.Forgotten {
		delete(b.txns, id)
	}
}
