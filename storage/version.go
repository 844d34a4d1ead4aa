package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// PublishedVersion is the version through which a partition can be read here;
// 1, the version of creation, for one that this BE knows nothing of.
func (e *Engine) PublishedVersion(partitionID int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.partitions[partitionID]; p != nil {
		return p.published.Load()
	}
	return 1
}

// DurableVersion is the version through which a partition's publishes survive a
// power failure; the FE keeps the lists of those above it, to send them again
// (docs/protocol.md, rule 2).
func (e *Engine) DurableVersion(partitionID int64) int64 {
	e.mu.Lock()
	p := e.partitions[partitionID]
	e.mu.Unlock()
	if p == nil {
		return 1
	}
	return p.durableVersion()
}

func (p *partition) durableVersion() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.durableLocked()
}

func (p *partition) durableLocked() int64 {
	least := int64(0)
	for _, h := range p.homes {
		if h != nil && (least == 0 || h.durable.Load() < least) {
			least = h.durable.Load()
		}
	}
	return max(least, 1)
}

// SyncPublished makes every publish that returned durable.
func (e *Engine) SyncPublished(ctx context.Context) error {
	var errs []error
	for _, r := range e.roots {
		if !r.left.Load() {
			errs = append(errs, ctx.Err(), r.sync())
		}
	}
	return errors.Join(errs...)
}

// WaitPublished waits until a version of a partition can be read here.
func (e *Engine) WaitPublished(ctx context.Context, partitionID, version int64) error {
	p := e.partition(partitionID)
	for {
		p.mu.Lock()
		changed, dropped := p.changed, p.dropped
		p.mu.Unlock()
		if dropped {
			return errDropped("partition", partitionID)
		}
		if p.published.Load() >= version {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return &NotYetError{PartitionID: partitionID, Version: version, Have: p.published.Load()}
		}
	}
}

// PartitionVersions is a partition as a BE reports it.
type PartitionVersions struct {
	PartitionID        int64
	Published, Durable int64
}

// Partitions reports every partition of which this BE has published something,
// in order of ids.
func (e *Engine) Partitions() []PartitionVersions {
	e.mu.Lock()
	parts := make([]*partition, 0, len(e.partitions))
	for _, p := range e.partitions {
		parts = append(parts, p)
	}
	e.mu.Unlock()
	var out []PartitionVersions
	for _, p := range parts {
		if v := p.published.Load(); v > 1 {
			out = append(out, PartitionVersions{p.id, v, p.durableVersion()})
		}
	}
	slices.SortFunc(out, func(a, b PartitionVersions) int { return cmp.Compare(a.PartitionID, b.PartitionID) })
	return out
}
