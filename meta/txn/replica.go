package txn

import (
	"slices"

	"dorisgo/doriserr"
)

// AddReplica makes a tablet's new replica known, which lacks every committed
// version. What is PRECOMMITTED may name an earlier replica on the backend, whose
// rowsets the new one does not have.
func (b *Book) AddReplica(partitionID, tabletID, backendID int64) {
	p := b.parts[partitionID]
	if p == nil {
		return
	}
	for _, t := range b.Undecided() {
		b.dropHolder(t, partitionID, tabletID, backendID)
	}
	if i, found := slices.BinarySearch(p.holders, backendID); !found {
		p.holders = slices.Insert(slices.Clone(p.holders), i, backendID)
	}
	if p.committed == FirstVersion {
		return
	}
	m := make([]int64, 0, p.committed-p.base+1)
	if p.base > FirstVersion {
		m = append(m, FirstVersion+1)
	}
	for v := p.base + 1; v <= p.committed; v++ {
		m = append(m, v)
	}
	p.missing[replica{tabletID, backendID}] = m
}

// Empty reports whether a partition never had a committed version.
func (b *Book) Empty(partitionID int64) bool {
	p := b.parts[partitionID]
	return p == nil || p.committed == FirstVersion
}

// dropHolder notes that a backend has not what a transaction wrote into a tablet.
func (b *Book) dropHolder(t *Txn, partitionID, tabletID, backendID int64) {
	i := slices.IndexFunc(t.Partitions, func(p PartitionCommit) bool { return p.PartitionID == partitionID })
	if i < 0 {
		return
	}
	tablets := slices.Clone(t.Partitions[i].Tablets)
	j := slices.IndexFunc(tablets, func(c TabletCommit) bool { return c.TabletID == tabletID })
	if j < 0 || !holds(&tablets[j], backendID) {
		return
	}
	tablets[j].Backends = slices.DeleteFunc(slices.Clone(tablets[j].Backends), func(h int64) bool { return h == backendID })
	next := *t
	next.Partitions = slices.Clone(t.Partitions)
	next.Partitions[i].Tablets = tablets
	b.replace(t, &next)
}

// CheckDrop refuses (Blocked) to take a replica that counts for majorities away
// unless a majority of those that stay holds every committed version, and every
// PRECOMMITTED transaction has its majority among them (rule 10).
func (b *Book) CheckDrop(partitionID, tabletID, backendID int64, place Placement) error {
	p := b.parts[partitionID]
	if p == nil {
		return nil
	}
	holders, _ := place.Holders(partitionID, tabletID)
	if !slices.Contains(holders, backendID) {
		return nil
	}
	left := slices.DeleteFunc(slices.Clone(holders), func(h int64) bool { return h == backendID })
	need, whole := len(left)/2+1, 0
	for _, h := range left {
		if p.gapFreeThrough(replica{tabletID, h}, p.committed) {
			whole++
		}
	}
	if whole < need {
		return doriserr.New(doriserr.Blocked, "tablet %d would have %d whole replicas of %d without that of backend %d", tabletID, whole, len(left), backendID)
	}
	for id := range b.undecided {
		t := b.txns[id]
		if t.State != Precommitted {
			continue
		}
		for i := range t.Partitions {
			for j := range t.Partitions[i].Tablets {
				tc := &t.Partitions[i].Tablets[j]
				if tc.TabletID != tabletID {
					continue
				}
				n := 0
				for _, h := range left {
					if holds(tc, h) && p.gapFreeThrough(replica{tabletID, h}, p.committed) {
						n++
					}
				}
				if n < need {
					return doriserr.New(doriserr.Blocked, "transaction [%d] is pre-committed and needs the replica of tablet %d on backend %d", t.ID, tabletID, backendID)
				}
			}
		}
	}
	return nil
}

// ForgetDurable takes back what a backend reported durable: it lost a disk.
func (b *Book) ForgetDurable(partitionID, backendID int64) {
	if p := b.parts[partitionID]; p != nil {
		delete(p.durable, backendID)
	}
}

// DropReplica forgets a replica; place is without it. last says that the backend
// has no other tablet of the partition.
func (b *Book) DropReplica(partitionID, tabletID, backendID int64, last bool, wallMs int64, place Placement) {
	p := b.parts[partitionID]
	if p == nil {
		return
	}
	delete(p.missing, replica{tabletID, backendID})
	if last {
		p.holders = slices.DeleteFunc(slices.Clone(p.holders), func(h int64) bool { return h == backendID })
		delete(p.durable, backendID)
		b.trim(p)
	}
	b.recheck(p, wallMs, place)
}

// TrimLagging keeps the publish logs bounded: holders that hold up one that is
// longer than its limit need a clone from then on, those that are not alive at
// once, the others when it has grown four times as long (rule 2). But a holder
// that has the last whole replica of a tablet needs the log, however long it is:
// there is nobody to clone from. tablets are those of a partition with a replica
// on a backend.
func (b *Book) TrimLagging(lim *Limits, alive func(backend int64) bool, tablets func(partition, backend int64) []int64, place Placement) {
	for id, p := range b.parts {
		n := len(p.log)
		if n <= lim.PublishLogMax {
			continue
		}
		slow := func(h int64) bool { return !alive(h) || n > 4*lim.PublishLogMax && p.durable[h] < p.visible }
		lags := func(h int64) bool {
			return slow(h) && !slices.ContainsFunc(tablets(id, h), func(t int64) bool {
				holders, _ := place.Holders(id, t)
				return p.lastWhole(t, h, holders, slow)
			})
		}
		through := p.keeps(func(h int64) bool { return !lags(h) })
		for _, h := range p.holders {
			d := max(p.durable[h], FirstVersion)
			if d < p.base || d >= through {
				continue
			}
			for _, t := range tablets(id, h) {
				p.addMissing(replica{t, h}, d+1)
			}
		}
		b.trimTo(p, through)
	}
}

// lastWhole reports whether a holder's replica of a tablet lacks nothing of what it
// published durably, while none whose holder keeps up is whole.
func (p *partition) lastWhole(tablet, backend int64, holders []int64, slow func(backend int64) bool) bool {
	if !slices.Contains(holders, backend) || !p.gapFreeThrough(replica{tablet, backend}, max(p.durable[backend], FirstVersion)) {
		return false
	}
	return !slices.ContainsFunc(holders, func(h int64) bool {
		return !slow(h) && p.gapFreeThrough(replica{tablet, h}, p.visible)
	})
}
