package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// Publish gives a transaction's rowsets in one partition their version.
type Publish struct {
	PartitionID, Version, TxnID int64
	// Tablets are the rowsets that this BE must hold: none is as definite as
	// some. Several rowsets of one tablet are in the order of their rows.
	Tablets []PublishTablet
}

// PublishTablet names a rowset of a tablet.
type PublishTablet struct {
	TabletID int64
	RowsetID RowsetID
	// ReplicaID and FromClone are those of TabletReplica.
	ReplicaID int64
	FromClone bool
}

// Publish makes a committed transaction readable here. Versions of a partition
// are published in order; partitions go on side by side. It is not durable on
// return: DurableVersion tells what is.
//
// Each tablet stands for itself: one whose rowsets are not here, or that lacks
// an earlier version, keeps a hole, and all others are published. The answer has
// the holes that the tablets of the order have now; it is complete with no
// error only. A tablet of which this BE has another replica, or nothing any
// more, has a hole at version 2 under the id that was asked for.
//
// A repeated publish is no error. A *HoleError says that an earlier version was
// not published here; doriserr.Conflict that the version was published with
// another transaction or other rowsets, so that this replica follows another
// history (docs/protocol.md, rules 1 and 12); doriserr.StaleEpoch that the
// partition was dropped, or that the version is so far behind that its entry is
// no longer kept.
func (e *Engine) Publish(ctx context.Context, p Publish) ([]Hole, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, t := range p.Tablets {
		if slices.ContainsFunc(p.Tablets[:i], func(o PublishTablet) bool { return o.RowsetID == t.RowsetID }) {
			return nil, conflict("version %d of partition %d names rowset %s twice", p.Version, p.PartitionID, t.RowsetID)
		}
	}
	part := e.partition(p.PartitionID)
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.dropped {
		return nil, errDropped("partition", p.PartitionID)
	}
	steps, known, err := e.planPublish(part, &p)
	if err == nil && (len(steps) > 0 || known) {
		err = e.publishSteps(part, steps, &p)
	}
	if err != nil {
		return nil, err
	}
	return e.holes(p.PartitionID, p.replicas()), nil
}

// publishSteps does what is planned; part.mu is held.
func (e *Engine) publishSteps(part *partition, steps []*publishStep, p *Publish) error {
	tx := e.lockTxn(p.TxnID)
	defer e.unlockTxn(tx)
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	for _, s := range steps {
		e.findRowsets(s, tx, p)
		if err := e.publishOn(s, part, tx, p); err != nil {
			return err
		}
	}
	part.advance()
	return e.removeLeft(tx, p)
}

// replicas are those that a publish names, each once.
func (p *Publish) replicas() []TabletReplica {
	var out []TabletReplica
	for _, t := range p.Tablets {
		r := TabletReplica{t.TabletID, t.ReplicaID, t.FromClone}
		if !slices.ContainsFunc(out, func(o TabletReplica) bool { return o.TabletID == r.TabletID }) {
			out = append(out, r)
		}
	}
	return out
}

// holes are those that replicas have now.
func (e *Engine) holes(partitionID int64, replicas []TabletReplica) []Hole {
	var out []Hole
	for _, r := range replicas {
		h := Hole{PartitionID: partitionID, TabletID: r.TabletID, ReplicaID: r.ReplicaID, Version: 2}
		if t := e.tablet(r.TabletID); t != nil && t.isReplica(r.ReplicaID) {
			t.mu.Lock()
			h.ReplicaID, h.Version = t.replica, t.hole
			t.mu.Unlock()
		}
		if h.Version != 0 {
			out = append(out, h)
		}
	}
	return out
}

// publishStep is a publish on one root.
type publishStep struct {
	root  *root
	home  *home
	isNew bool // the home is made by this publish, which has no rows
	entry entryRecord
	// rowsets are published, and holed are the tablets that the version makes a
	// hole in.
	rowsets []*pendingRowset
	holed   []*tabletState
}

// planPublish makes the tablets that the order is the first to name, finds the
// roots on which the version is not published yet and checks all others; known
// says that one of them has the same publish. part.mu is held.
func (e *Engine) planPublish(part *partition, p *Publish) (steps []*publishStep, known bool, err error) {
	published := part.published.Load()
	if p.Version > published+1 {
		return nil, false, &HoleError{PartitionID: p.PartitionID, Version: p.Version, Have: published}
	}
	for _, h := range part.homes {
		if h != nil && p.Version <= h.through {
			if err := e.verify(h, p); err != nil {
				return nil, false, err
			}
			known = known || p.Version > h.base
		}
	}
	if err := e.placeNamed(part, p); err != nil {
		return nil, false, err
	}
	byRoot := e.byRoot(p)
	for i, h := range part.homes {
		if h != nil && p.Version > h.through {
			steps = append(steps, &publishStep{root: e.roots[i], home: h, entry: entryRecord{p.TxnID, byRoot[i]}})
		}
	}
	if len(steps) == 0 && p.Version > published {
		// The first publish of the partition here, without rows.
		r := e.homeRoot(p.PartitionID)
		steps = append(steps, &publishStep{root: r, home: newHome(r, published), isNew: true, entry: entryRecord{txnID: p.TxnID}})
	}
	return steps, known, nil
}

// placeNamed makes the tablets that this order is the first to name. One that
// is not here although the version is published already was here once, unless
// it is a replica that was added since.
func (e *Engine) placeNamed(part *partition, p *Publish) error {
	next := p.Version > part.published.Load()
	var replicas []TabletReplica
	for _, r := range p.replicas() {
		t := e.tablet(r.TabletID)
		switch {
		case t == nil && !next && !r.FromClone:
		case t == nil && r.ReplicaID != 0 && e.wasRemoved(r.TabletID, r.ReplicaID):
		case t != nil && !t.isReplica(r.ReplicaID):
		default:
			replicas = append(replicas, r)
		}
	}
	// Durably: another root's entry must not outlive the knowledge that the
	// tablet lacks what it names.
	return e.place(part, replicas, true)
}

// byRoot gives each root the rowsets of its tablets, as its entry has them.
func (e *Engine) byRoot(p *Publish) [][]PublishTablet {
	lists := make([][]PublishTablet, len(e.roots))
	for _, t := range p.Tablets {
		if state := e.tablet(t.TabletID); state != nil && state.partitionID == p.PartitionID {
			i := state.root.index
			lists[i] = append(lists[i], PublishTablet{TabletID: t.TabletID, RowsetID: t.RowsetID})
		}
	}
	return lists
}

// findRowsets looks up what is to be published on a root, and which tablets
// lack some of it; tx.mu and dropMu are held.
func (e *Engine) findRowsets(s *publishStep, tx *txn, p *Publish) {
	for _, t := range p.replicas() {
		state := e.tablet(t.TabletID)
		if state == nil || state.root != s.root || state.partitionID != p.PartitionID {
			continue
		}
		state.mu.Lock()
		skip := state.droppedMs != 0 || state.hole != 0 || p.Version <= state.cloned
		state.mu.Unlock()
		if skip {
			continue
		}
		rowsets, ok := tx.named(state, s.entry.rowsets)
		if ok && state.isReplica(t.ReplicaID) {
			s.rowsets = append(s.rowsets, rowsets...)
		} else {
			s.holed = append(s.holed, state)
		}
	}
}

// publishOn commits one root's part in one batch without an fsync.
func (e *Engine) publishOn(s *publishStep, part *partition, tx *txn, p *Publish) error {
	b := s.root.db.NewBatch()
	defer b.Close()
	var errs []error
	if s.isNew {
		errs = append(errs, b.Set(key(keyPartition, p.PartitionID), s.home.encode(), nil))
	}
	errs = append(errs, b.Set(key(keyEntry, p.PartitionID, p.Version), s.entry.encode(), nil))
	for _, t := range s.holed {
		errs = append(errs, t.record(b, func(r *tabletRecord) { r.hole = p.Version }))
	}
	nodes, err := publishRowsets(b, s.rowsets, p.Version)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if err := s.root.apply(b); err != nil {
		return err
	}
	for _, t := range s.holed {
		t.setHole(p.Version)
	}
	if err := e.publishedRowsets(tx, s.rowsets, nodes); err != nil {
		return err
	}
	h, version := s.home, p.Version
	h.through = version
	part.homes[s.root.index] = h
	s.root.dur.after(func() { h.reached(version) })
	return nil
}

// publishRowsets puts into a batch that rowsets become live at a version.
func publishRowsets(b *pebble.Batch, rowsets []*pendingRowset, version int64) ([]*tablet.Rowset, error) {
	var errs []error
	nodes := make([]*tablet.Rowset, len(rowsets))
	var buf []byte
	for i, rs := range rowsets {
		node := &tablet.Rowset{Record: rs.Record}
		node.Start, node.End, node.Seq = version, version, uint32(i)
		nodes[i] = node
		buf = rowset.AppendRecord(buf[:0], &node.Record)
		errs = append(errs,
			b.Delete(pendingKey(rs.TxnID, rs.TabletID, rs.ID), nil),
			b.Set(liveKey(rs.TabletID, rs.tablet.gen, node.End, node.Seq), buf, nil))
	}
	return nodes, errors.Join(errs...)
}

// publishedRowsets takes rowsets whose publish was applied into their tablets.
func (e *Engine) publishedRowsets(tx *txn, rowsets []*pendingRowset, nodes []*tablet.Rowset) error {
	for i, rs := range rowsets {
		delete(tx.rowsets, rs.ID)
		if err := e.addLive(rs.tablet, nodes[i]); err != nil {
			return rs.tablet.root.fail(err.Error())
		}
	}
	return nil
}

// addLive takes a published rowset into its tablet.
func (e *Engine) addLive(t *tabletState, rs *tablet.Rowset) error {
	t.mu.Lock()
	err := t.graph.Add(rs)
	t.count(rs)
	t.mu.Unlock()
	e.wantFlush(t)
	if rs.Kind == rowset.File {
		e.compact.want(t.id)
	}
	return err
}

// wantFlush asks for a flush if the tablet has enough for one.
func (e *Engine) wantFlush(t *tabletState) {
	t.mu.Lock()
	due := t.inline >= e.opts.FlushRowsets || t.inlineBytes >= e.opts.FlushBytes
	t.mu.Unlock()
	if due {
		e.flush.want(t.id)
	}
}

// count adds a live rowset to the counters that say when a flush is due.
func (t *tabletState) count(rs *tablet.Rowset) {
	if rs.Kind == rowset.Inline {
		t.inline++
		t.inlineBytes += rs.Bytes
	}
}

func (t *tabletState) isDropped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.droppedMs != 0
}
