package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"dorisgo/doriserr"
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
}

// Publish makes a committed transaction readable here. Versions of a partition
// are published in order; partitions go on side by side. It is not durable on
// return: DurableVersion tells what is.
//
// A repeated publish is no error. A *MissingError says that a rowset is not
// here, a *HoleError that an earlier version is not; doriserr.Conflict that the
// version was published with another transaction or other rowsets, so that this
// replica follows another history (docs/protocol.md, rules 1 and 12);
// doriserr.StaleEpoch that the partition was dropped, or that the version is so
// far behind that its entry is no longer kept.
func (e *Engine) Publish(ctx context.Context, p Publish) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	part := e.partition(p.PartitionID)
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.dropped {
		return errDropped("partition", p.PartitionID)
	}
	steps, known, err := e.planPublish(part, &p)
	if err != nil || len(steps) == 0 && !known {
		return err
	}
	tx := e.lockTxn(p.TxnID)
	defer e.unlockTxn(tx)
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	for _, s := range steps {
		if err := s.find(tx, &p); err != nil {
			return err
		}
	}
	for _, s := range steps {
		if err := e.publishOn(s, part, tx, &p); err != nil {
			return err
		}
	}
	part.advance()
	return e.removeLeft(tx, p.PartitionID)
}

// removeLeft removes the transaction's rowsets in a partition that were not
// published with it: the commit decided against their attempts.
func (e *Engine) removeLeft(tx *txn, partitionID int64) error {
	var left []*pendingRowset
	for _, rs := range tx.rowsets {
		if rs.PartitionID == partitionID {
			left = append(left, rs)
		}
	}
	all := len(left) == len(tx.rowsets)
	if len(left) == 0 && (!all || len(tx.fenced) == 0) {
		return nil
	}
	return e.removePending(tx, left, all)
}

// publishStep is a publish on one root.
type publishStep struct {
	root    *root
	home    *home
	isNew   bool // the home is made by this publish, which has no rows
	entry   entryRecord
	rowsets []*pendingRowset
}

// planPublish finds the roots on which the version is not published yet and
// checks all others; known says that one of them has the same publish. part.mu
// is held.
func (e *Engine) planPublish(part *partition, p *Publish) (steps []*publishStep, known bool, err error) {
	byRoot := make([][]PublishTablet, len(e.roots))
	for _, t := range p.Tablets {
		state := e.tablet(t.TabletID)
		if state == nil {
			return nil, false, &MissingError{PartitionID: p.PartitionID, Version: p.Version, TabletID: t.TabletID, RowsetID: t.RowsetID}
		}
		byRoot[state.root.index] = append(byRoot[state.root.index], t)
	}
	published := part.published.Load()
	for i, h := range part.homes {
		list := byRoot[i]
		step := &publishStep{root: e.roots[i], home: h, entry: entryRecord{p.TxnID, list}}
		switch {
		case h == nil && len(list) == 0:
			continue
		case h == nil:
			return nil, false, &MissingError{PartitionID: p.PartitionID, Version: p.Version, TabletID: list[0].TabletID, RowsetID: list[0].RowsetID}
		case h != nil && p.Version <= h.through:
			if err := e.verify(h, &step.entry, p); err != nil {
				return nil, false, err
			}
			known = known || p.Version > h.base
			continue
		case p.Version != published+1:
			return nil, false, &HoleError{PartitionID: p.PartitionID, Version: p.Version, Have: published}
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 && p.Version > published {
		// The first publish of the partition here, without rows.
		if p.Version != published+1 {
			return nil, false, &HoleError{PartitionID: p.PartitionID, Version: p.Version, Have: published}
		}
		r := e.homeRoot(p.PartitionID)
		steps = append(steps, &publishStep{root: r, home: newHome(r, published), isNew: true, entry: entryRecord{txnID: p.TxnID}})
	}
	return steps, known, nil
}

// verify compares a repeated publish with what the root has for the version,
// but for tablets that were dropped since.
func (e *Engine) verify(h *home, want *entryRecord, p *Publish) error {
	if p.Version <= h.base {
		if len(want.rowsets) > 0 {
			return conflict("version %d of partition %d brought no rows to root %s, but names rowset %s",
				p.Version, p.PartitionID, h.root.path, want.rowsets[0].RowsetID)
		}
		return nil
	}
	if p.Version <= h.floor {
		// Nothing asks for it again but an order that is long out of date, or
		// metadata that went back: neither may be told that it is done.
		return doriserr.New(doriserr.StaleEpoch, "version %d of partition %d was published here too long ago to be compared",
			p.Version, p.PartitionID)
	}
	v, err := h.root.get(key(keyEntry, p.PartitionID, p.Version))
	if err != nil {
		return err
	}
	if v == nil {
		return corrupt("the entry of version %d of partition %d is missing in root %s", p.Version, p.PartitionID, h.root.path)
	}
	have, err := decodeEntry(v)
	if err != nil {
		return err
	}
	if have.txnID != p.TxnID || !slices.Equal(e.comparable(have.rowsets), e.comparable(want.rowsets)) {
		return conflict("version %d of partition %d is transaction %d here, not transaction %d with the same rowsets",
			p.Version, p.PartitionID, have.txnID, p.TxnID)
	}
	return nil
}

// comparable are the rowsets of tablets that are here, in a fixed order.
func (e *Engine) comparable(list []PublishTablet) []PublishTablet {
	list = slices.DeleteFunc(slices.Clone(list), func(t PublishTablet) bool {
		state := e.tablet(t.TabletID)
		return state == nil || state.isDropped()
	})
	slices.SortFunc(list, func(x, y PublishTablet) int {
		return cmp.Or(cmp.Compare(x.TabletID, y.TabletID), slices.Compare(x.RowsetID[:], y.RowsetID[:]))
	})
	return list
}

// find looks up the rowsets that are named; tx.mu and dropMu are held.
func (s *publishStep) find(tx *txn, p *Publish) error {
	for _, t := range s.entry.rowsets {
		rs := tx.rowsets[t.RowsetID]
		if rs == nil || rs.TabletID != t.TabletID || rs.PartitionID != p.PartitionID || rs.tablet.root != s.root ||
			rs.damaged || rs.tablet.isDropped() || slices.Contains(s.rowsets, rs) {
			return &MissingError{PartitionID: p.PartitionID, Version: p.Version, TabletID: t.TabletID, RowsetID: t.RowsetID}
		}
		s.rowsets = append(s.rowsets, rs)
	}
	return nil
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
	nodes := make([]*tablet.Rowset, len(s.rowsets))
	var buf []byte
	for i, rs := range s.rowsets {
		node := &tablet.Rowset{Record: rs.Record}
		node.Start, node.End, node.Seq = p.Version, p.Version, uint32(i)
		nodes[i] = node
		buf = rowset.AppendRecord(buf[:0], &node.Record)
		errs = append(errs,
			b.Delete(pendingKey(rs.TxnID, rs.TabletID, rs.ID), nil),
			b.Set(liveKey(rs.TabletID, rs.tablet.gen, node.End, node.Seq), buf, nil))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.root.apply(b); err != nil {
		return err
	}
	for i, rs := range s.rowsets {
		delete(tx.rowsets, rs.ID)
		if err := e.addLive(rs.tablet, nodes[i]); err != nil {
			return s.root.fail(err.Error())
		}
	}
	h, version := s.home, p.Version
	h.through = version
	part.homes[s.root.index] = h
	s.root.dur.after(func() { h.reached(version) })
	return nil
}

// addLive takes a published rowset into its tablet.
func (e *Engine) addLive(t *tabletState, rs *tablet.Rowset) error {
	t.mu.Lock()
	err := t.graph.Add(rs)
	t.count(rs)
	due := t.inline >= e.opts.FlushRowsets || t.inlineBytes >= e.opts.FlushBytes
	t.mu.Unlock()
	if due {
		e.flush.want(t.id)
	}
	if rs.Kind == rowset.File {
		e.compact.want(t.id)
	}
	return err
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
