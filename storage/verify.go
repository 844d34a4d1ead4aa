package storage

import (
	"cmp"
	"errors"
	"slices"

	"dorisgo/doriserr"
)

// verify compares a repeated publish with what a root has for the version, but
// for tablets that are not here or of which the entries of that time say
// nothing.
func (e *Engine) verify(h *home, p *Publish) error {
	want := e.comparable(h.root, p.Version, e.byRoot(p)[h.root.index])
	if p.Version <= h.base {
		if len(want) > 0 {
			return conflict("version %d of partition %d brought no rows to root %s, but names rowset %s",
				p.Version, p.PartitionID, h.root.path, want[0].RowsetID)
		}
		return nil
	}
	if p.Version <= h.floor {
		// Nothing asks for it again but an order that is long out of date, or
		// metadata that went back: neither may be told that it is done.
		return doriserr.New(doriserr.StaleEpoch, "version %d of partition %d was published here too long ago to be compared",
			p.Version, p.PartitionID)
	}
	have, err := h.entry(p.PartitionID, p.Version)
	if err != nil {
		return err
	}
	known := e.comparable(h.root, p.Version, have.rowsets)
	added := added(known, want, p)
	want = slices.DeleteFunc(want, func(t PublishTablet) bool { return slices.Contains(added, t) })
	if have.txnID != p.TxnID || !slices.Equal(known, want) {
		return conflict("version %d of partition %d is transaction %d here, not transaction %d with the same rowsets",
			p.Version, p.PartitionID, have.txnID, p.TxnID)
	}
	if len(added) == 0 {
		return nil
	}
	return e.amend(h, p, have, added)
}

// entry reads what a version brought to the root.
func (h *home) entry(partitionID, version int64) (entryRecord, error) {
	v, err := h.root.get(key(keyEntry, partitionID, version))
	if err != nil {
		return entryRecord{}, err
	}
	if v == nil {
		return entryRecord{}, corrupt("the entry of version %d of partition %d is missing in root %s", version, partitionID, h.root.path)
	}
	return decodeEntry(v)
}

// comparable are the rowsets of tablets of a root that the entry of a version
// must name, in a fixed order.
func (e *Engine) comparable(r *root, version int64, list []PublishTablet) []PublishTablet {
	list = slices.DeleteFunc(slices.Clone(list), func(t PublishTablet) bool {
		state := e.tablet(t.TabletID)
		if state == nil || state.root != r {
			return true
		}
		state.mu.Lock()
		defer state.mu.Unlock()
		return state.droppedMs != 0 || version <= state.base || version <= state.cloned
	})
	slices.SortFunc(list, func(x, y PublishTablet) int {
		return cmp.Or(cmp.Compare(x.TabletID, y.TabletID), slices.Compare(x.RowsetID[:], y.RowsetID[:]))
	})
	return list
}

// added are the rowsets of replicas that were added while the first order for
// the version was under way, so that it did not name them.
func added(known, want []PublishTablet, p *Publish) []PublishTablet {
	var out []PublishTablet
	for _, t := range want {
		of := func(o PublishTablet) bool { return o.TabletID == t.TabletID }
		if i := slices.IndexFunc(p.Tablets, of); p.Tablets[i].FromClone && !slices.ContainsFunc(known, of) {
			out = append(out, t)
		}
	}
	return out
}

// amend makes a version's entry name rowsets of replicas that were added: they
// lack it. part.mu is held.
func (e *Engine) amend(h *home, p *Publish, entry entryRecord, added []PublishTablet) error {
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	entry.rowsets = append(entry.rowsets, added...)
	b := h.root.db.NewBatch()
	defer b.Close()
	errs := []error{b.Set(key(keyEntry, p.PartitionID, p.Version), entry.encode(), nil)}
	var holed []*tabletState
	for _, a := range added {
		t := e.tablet(a.TabletID)
		if hole := t.holeNow(); (hole == 0 || hole > p.Version) && !slices.Contains(holed, t) {
			errs = append(errs, t.record(b, func(r *tabletRecord) { r.hole = p.Version }))
			holed = append(holed, t)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := h.root.applySync(b); err != nil {
		return err
	}
	for _, t := range holed {
		t.setHole(p.Version)
	}
	return nil
}
