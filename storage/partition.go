package storage

import (
	"slices"
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

// findHomes makes the tablets of rowsets and the homes of their partitions. A
// home is there before the first rowset on its root, and durable with it: after
// a crash all roots that could have rows of a version are asked for it.
func (e *Engine) findHomes(rowsets []PendingRowset) error {
	byPart := map[int64][]*root{}
	for i := range rowsets {
		t, err := e.tabletFor(rowsets[i].TabletID, rowsets[i].PartitionID)
		if err != nil {
			return err
		}
		if roots := byPart[t.partitionID]; !slices.Contains(roots, t.root) {
			byPart[t.partitionID] = append(roots, t.root)
		}
	}
	for id, roots := range byPart {
		if err := e.partition(id).ensureHomes(roots); err != nil {
			return err
		}
	}
	return nil
}

// ensureHomes adds the homes that lack. Their records need no fsync of their
// own: what is written to the root later becomes durable after them.
func (p *partition) ensureHomes(roots []*root) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped {
		return errDropped("partition", p.id)
	}
	for _, r := range roots {
		if p.homes[r.index] != nil {
			continue
		}
		h := newHome(r, p.published.Load())
		b := r.db.NewBatch()
		err := b.Set(key(keyPartition, p.id), h.encode(), nil)
		if err == nil {
			err = r.apply(b)
		}
		if err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
		p.homes[r.index] = h
	}
	return nil
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
