package storage

import (
	"sync"
	"sync/atomic"
)

// partition orders the publishes of one partition on this BE.
type partition struct {
	id int64
	mu sync.Mutex // held during a publish
	// homes are the partition's parts, by root; nil where it has none.
	homes []*home
	// published is the version through which every home has its entries; 1,
	// the version of creation, while there is no home.
	published atomic.Int64
	// changed is closed and replaced when published grows or it is dropped;
	// guarded by mu.
	changed chan struct{}
	dropped bool // guarded by mu
}

// home is the part of a partition that lies on one root.
type home struct {
	root *root
	partitionRecord
	through int64
	durable atomic.Int64
}

// partition finds a partition or makes it, as one that has only the version of
// its creation.
func (e *Engine) partition(id int64) *partition {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.partitions[id]
	if p == nil {
		p = &partition{id: id, homes: make([]*home, len(e.roots)), changed: make(chan struct{})}
		p.published.Store(1)
		e.partitions[id] = p
	}
	return p
}

// newHome is a part of a partition on a root that had no rows of it through
// base, as the entries of the other parts say.
func newHome(r *root, base int64) *home {
	h := &home{root: r, partitionRecord: partitionRecord{base: base, floor: base}, through: base}
	h.durable.Store(base)
	return h
}

// findTablets makes the tablets of rowsets and the homes of their partitions. A
// home is there before the first rowset on its root, and durable with it: after
// a crash all roots that could have rows of a version are asked for it.
// doriserr.Conflict says that this BE has another replica of a tablet.
func (e *Engine) findTablets(rowsets []PendingRowset) error {
	byPart := map[int64][]TabletReplica{}
	for i := range rowsets {
		rs := &rowsets[i]
		byPart[rs.PartitionID] = append(byPart[rs.PartitionID], TabletReplica{rs.TabletID, rs.ReplicaID, rs.FromClone})
	}
	for id, replicas := range byPart {
		if err := e.findIn(e.partition(id), replicas); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) findIn(p *partition, replicas []TabletReplica) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped {
		return errDropped("partition", p.id)
	}
	for _, r := range replicas {
		switch t := e.tablet(r.TabletID); {
		case t == nil || t.isReplica(r.ReplicaID):
		case t.isDropped():
			return errDropped("tablet", r.TabletID)
		default:
			return conflict("this backend has another replica of tablet %d than %d", r.TabletID, r.ReplicaID)
		}
	}
	return e.place(p, replicas, false)
}

// throughOn is the version through which a root has the partition's entries,
// or will have none if it has no part of it yet; p.mu is held.
func (p *partition) throughOn(r *root) int64 {
	if h := p.homes[r.index]; h != nil {
		return h.through
	}
	return p.published.Load()
}

// homeRoot picks the root that keeps the entries of a partition without rows.
func (e *Engine) homeRoot(partitionID int64) *root {
	first := int(uint64(partitionID) % uint64(len(e.roots)))
	for i := range e.roots {
		if r := e.roots[(first+i)%len(e.roots)]; r.err() == nil {
			return r
		}
	}
	return e.roots[first]
}

// advance sets published to what all homes have and wakes who waits for it;
// part.mu is held.
func (p *partition) advance() {
	least := int64(0)
	for _, h := range p.homes {
		if h != nil && (least == 0 || h.through < least) {
			least = h.through
		}
	}
	if least > p.published.Load() {
		p.published.Store(least)
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// reached raises the durable version.
func (h *home) reached(version int64) {
	for {
		have := h.durable.Load()
		if version <= have || h.durable.CompareAndSwap(have, version) {
			return
		}
	}
}
