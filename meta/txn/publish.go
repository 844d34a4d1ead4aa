package txn

import (
	"slices"

	"dorisgo/doriserr"
)

// Publish records that backends published a transaction's rowsets, and makes
// it VISIBLE, and those that waited behind it, when a majority of true holders
// of each tablet did (rule 1). wallMs is for SHOW.
func (b *Book) Publish(txnID int64, backends []int64, wallMs int64, place Placement) (*Txn, error) {
	t := b.txns[txnID]
	if t == nil {
		return nil, notFound(txnID)
	}
	switch t.State {
	case Visible:
		return t, nil
	case Committed:
	default:
		return t, doriserr.New(doriserr.TxnState, "transaction [%d] is %s, nothing to publish", txnID, t.State)
	}
	next := *t
	next.Published = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Published, backends))))
	b.replace(t, &next)
	b.advance(txnID, wallMs, place)
	return b.txns[txnID], nil
}

// advance makes a transaction VISIBLE if it is ready, and then whatever waited
// for it in any of its partitions.
func (b *Book) advance(txnID, wallMs int64, place Placement) {
	queue := []int64{txnID}
	for len(queue) > 0 {
		t := b.txns[queue[0]]
		queue = queue[1:]
		if t == nil || t.State != Committed || !b.ready(t, place) {
			continue
		}
		next := *t
		next.State, next.FinishMs, next.FinishFSM = Visible, wallMs, b.clock
		b.finish(t, &next)
		for i := range t.Partitions {
			p := b.parts[t.Partitions[i].PartitionID]
			if p == nil {
				continue
			}
			p.visible, p.visibleMs = t.Partitions[i].Version, wallMs
			if after := b.at(p, p.visible+1); after != nil {
				queue = append(queue, after.ID)
			}
		}
	}
}

// ready reports whether each of t's partitions that still exists is at the
// version before t's and a majority of each tablet's replicas published it.
func (b *Book) ready(t *Txn, place Placement) bool {
	for i := range t.Partitions {
		if p := b.parts[t.Partitions[i].PartitionID]; p != nil && p.visible != t.Partitions[i].Version-1 {
			return false
		}
	}
	return b.publishedByMajorities(t, place)
}

// Enough reports whether a committed transaction needs no more backends to
// become VISIBLE than those that it has and the given ones; what it waits for
// behind earlier versions is not looked at.
func (b *Book) Enough(txnID int64, backends []int64, place Placement) bool {
	t := b.txns[txnID]
	if t == nil || t.State != Committed {
		return true
	}
	with := *t
	with.Published = slices.Compact(slices.Sorted(slices.Values(slices.Concat(t.Published, backends))))
	return b.publishedByMajorities(&with, place)
}

// publishedByMajorities reports whether a majority of the replicas of each of
// t's tablets that still exist published it.
func (b *Book) publishedByMajorities(t *Txn, place Placement) bool {
	for i := range t.Partitions {
		pc := &t.Partitions[i]
		p := b.parts[pc.PartitionID]
		if p == nil {
			continue
		}
		for j := range pc.Tablets {
			tc := &pc.Tablets[j]
			holders, ok := place.Holders(pc.PartitionID, tc.TabletID)
			if ok && !p.published(t, tc, pc.Version, holders) {
				return false
			}
		}
	}
	return true
}

func (p *partition) published(t *Txn, tc *TabletCommit, version int64, holders []int64) bool {
	n := 0
	for _, h := range holders {
		_, reported := slices.BinarySearch(t.Published, h)
		if reported && holds(tc, h) && p.gapFreeThrough(replica{tc.TabletID, h}, version) {
			n++
		}
	}
	return n >= len(holders)/2+1
}

// ReportDurable records the version through which a backend holds a partition
// durably published, and trims the publish log by it (rule 2).
func (b *Book) ReportDurable(backendID, partitionID, version int64) {
	p := b.parts[partitionID]
	if p == nil || version <= p.durable[backendID] {
		return
	}
	if _, ok := slices.BinarySearch(p.holders, backendID); !ok {
		return
	}
	p.durable[backendID] = min(version, p.committed)
	b.trim(p)
}

// ReportWritten records that a backend ended a write of a committed
// transaction after the majority did: the hole that its replica had closes
// (rule 2). Only the rowset that the commit named counts.
func (b *Book) ReportWritten(txnID, partitionID, tabletID, backendID int64, rowset [16]byte, wallMs int64, place Placement) error {
	t := b.txns[txnID]
	if t == nil {
		return notFound(txnID)
	}
	i := slices.IndexFunc(t.Partitions, func(p PartitionCommit) bool { return p.PartitionID == partitionID })
	p := b.parts[partitionID]
	if i < 0 || p == nil || t.Partitions[i].Version == 0 {
		return nil
	}
	pc := t.Partitions[i]
	j := slices.IndexFunc(pc.Tablets, func(c TabletCommit) bool { return c.TabletID == tabletID })
	if j < 0 || pc.Tablets[j].RowsetID != rowset || holds(&pc.Tablets[j], backendID) || pc.Version <= p.base {
		return nil
	}
	tc := pc.Tablets[j]
	tc.Backends = slices.Sorted(slices.Values(append(slices.Clone(tc.Backends), backendID)))
	pc.Tablets = slices.Clone(pc.Tablets)
	pc.Tablets[j] = tc
	next := *t
	next.Partitions = slices.Clone(t.Partitions)
	next.Partitions[i] = pc
	b.replace(t, &next)
	p.dropMissing(replica{tabletID, backendID}, func(v int64) bool { return v == pc.Version })
	b.recheck(p, wallMs, place)
	return nil
}

// ReportMissing records that a replica lacks a committed version that it was
// believed to hold.
func (b *Book) ReportMissing(partitionID, tabletID, backendID, version int64) {
	if p := b.parts[partitionID]; p != nil && version > FirstVersion && version <= p.committed {
		p.addMissing(replica{tabletID, backendID}, version)
	}
}

// ReportRepaired records that a replica was cloned and holds every version
// through the given one, visible or not (rule 2).
func (b *Book) ReportRepaired(partitionID, tabletID, backendID, through, wallMs int64, place Placement) {
	p := b.parts[partitionID]
	if p == nil {
		return
	}
	through = min(through, p.committed)
	r := replica{tabletID, backendID}
	m := p.missing[r]
	p.dropMissing(r, func(v int64) bool { return v <= through })
	if len(m) > 0 && m[0] <= through && through < p.base {
		p.addMissing(r, through+1)
	}
	for v := p.visible + 1; v <= through; v++ {
		b.addHolder(b.at(p, v), partitionID, tabletID, backendID)
	}
	b.recheck(p, wallMs, place)
}

// addHolder notes that a replica has a waiting version through a clone, which
// counts as holding and publishing it.
func (b *Book) addHolder(t *Txn, partitionID, tabletID, backendID int64) {
	next := *t
	// A backend that had none of the transaction's rows did not report its publish.
	if i, found := slices.BinarySearch(t.Published, backendID); !found && !t.HoldsAny(backendID) {
		next.Published = slices.Insert(slices.Clone(t.Published), i, backendID)
	}
	next.Partitions = slices.Clone(t.Partitions)
	for i := range next.Partitions {
		pc := &next.Partitions[i]
		if pc.PartitionID != partitionID {
			continue
		}
		pc.Tablets = slices.Clone(pc.Tablets)
		for j := range pc.Tablets {
			if tc := &pc.Tablets[j]; tc.TabletID == tabletID && !holds(tc, backendID) {
				tc.Backends = slices.Sorted(slices.Values(append(slices.Clone(tc.Backends), backendID)))
			}
		}
	}
	b.replace(t, &next)
}

// Recheck looks whether a partition's next version became ready by a change of
// its replicas.
func (b *Book) Recheck(partitionID, wallMs int64, place Placement) {
	if p := b.parts[partitionID]; p != nil {
		b.recheck(p, wallMs, place)
	}
}

// recheck looks whether a partition's next version has become ready.
func (b *Book) recheck(p *partition, wallMs int64, place Placement) {
	if t := b.at(p, p.visible+1); t != nil {
		b.advance(t.ID, wallMs, place)
	}
}
