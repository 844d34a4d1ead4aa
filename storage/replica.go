package storage

import (
	"cmp"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// TabletReplica says which replica of a tablet this BE has.
type TabletReplica struct {
	TabletID int64
	// ReplicaID is 0 if the caller does not know it.
	ReplicaID int64
	// FromClone says that the replica was added to a tablet that may have had
	// rows: before a clone it lacks everything.
	FromClone bool
}

// Hole says that a replica lacks a version of its tablet, and that nothing of
// the tablet is published here from there on. Versions below it can be read.
type Hole struct {
	PartitionID, TabletID, ReplicaID int64
	// Version is the first one that lacks: 2, the first that can have rows, if
	// this BE has nothing of the replica.
	Version int64
}

// ReplicaInfo is a replica as a BE reports it.
type ReplicaInfo struct {
	PartitionID, TabletID int64
	// ReplicaID is 0 while no call has named it.
	ReplicaID int64
	// Hole is the first version that it lacks, 0 if it lacks none that this BE
	// knows of.
	Hole int64
	// Through is the version through which it is gap-free, published or not.
	Through int64
	// Rows, Bytes (on disk; inline ones in the block codec) and Versions, which
	// counts rowsets, are those of what is not replaced.
	Rows, Bytes, Versions int64
}

// Replicas reports all tablets that are here and not dropped, and those that were
// lost with their roots, in order of ids.
func (e *Engine) Replicas() []ReplicaInfo {
	var out []ReplicaInfo
	for _, t := range e.tabletsSorted() {
		// Publish sets a hole before the version counts as published, so the
		// order of these two reads never makes up a Through.
		published := e.PublishedVersion(t.partitionID)
		t.mu.Lock()
		info := ReplicaInfo{PartitionID: t.partitionID, TabletID: t.id, ReplicaID: t.replica, Hole: t.hole, Through: t.gapFree(published)}
		dropped := t.droppedMs != 0
		for rs := range t.graph.Live() {
			info.Rows += rs.Rows
			info.Bytes += rs.DiskBytes()
			info.Versions++
		}
		t.mu.Unlock()
		if !dropped {
			out = append(out, info)
		}
	}
	if lost := e.lostReplicas(); len(lost) > 0 {
		out = append(out, lost...)
		slices.SortFunc(out, func(a, b ReplicaInfo) int { return cmp.Compare(a.TabletID, b.TabletID) })
	}
	return out
}

// gapFree is the version through which the tablet lacks nothing, where its
// partition is published through a version that was read before t.mu was taken.
func (t *tabletState) gapFree(published int64) int64 {
	if t.hole != 0 {
		return t.hole - 1
	}
	return max(published, t.cloned)
}

// holeNow is the tablet's hole, 0 for none.
func (t *tabletState) holeNow() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hole
}

// isReplica reports whether the tablet is the replica that a call names, or
// may be it because one of the two is not known. A dropped tablet is none.
func (t *tabletState) isReplica(replicaID int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.droppedMs == 0 && (t.replica == 0 || replicaID == 0 || t.replica == replicaID)
}

// wasRemoved reports whether a replica was removed from this BE, any replica of
// the tablet if no id is given; one that was lost with its root may come anew
// under its id.
func (e *Engine) wasRemoved(tabletID, replicaID int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	ids := e.removed[tabletID]
	_, ok := ids[replicaID]
	_, lost := e.lost[tabletID]
	return ok || replicaID == 0 && (lost || len(ids) > 0)
}

// place makes the tablets of replicas that are not here, each with the part of
// its partition on its root, and notes the ids of those that had none. Replicas
// must belong to the partition and not be other ones than those that are here.
// part.mu is held: what a new tablet lacks is told from the versions that are
// published now. The records are durable on return if synced is set, else with
// what the roots sync next.
func (e *Engine) place(part *partition, replicas []TabletReplica, synced bool) error {
	fresh := make([][]*tabletState, len(e.roots))
	homes := make([]*home, len(e.roots))
	for _, r := range replicas {
		t, err := e.tabletFor(part, r)
		if err != nil {
			return err
		}
		i := t.root.index
		if part.homes[i] == nil && homes[i] == nil {
			homes[i] = newHome(t.root, part.published.Load())
		}
		t.mu.Lock()
		if t.replica == 0 && r.ReplicaID != 0 {
			t.replica, t.recorded = r.ReplicaID, false
		}
		if !t.recorded || synced && !t.lasting.Load() {
			fresh[i] = append(fresh[i], t)
		}
		t.mu.Unlock()
	}
	for i, r := range e.roots {
		if len(fresh[i]) == 0 && homes[i] == nil {
			continue
		}
		if err := e.placeOn(r, part, homes[i], fresh[i], synced); err != nil {
			return err
		}
	}
	return nil
}

// placeOn records a root's new tablets and, if h is not nil, its part of the
// partition.
func (e *Engine) placeOn(r *root, part *partition, h *home, fresh []*tabletState, synced bool) error {
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	b := r.db.NewBatch()
	defer b.Close()
	var errs []error
	if h != nil {
		errs = append(errs, b.Set(key(keyPartition, part.id), h.encode(), nil))
	}
	for _, t := range fresh {
		errs = append(errs, t.record(b, func(*tabletRecord) {}))
	}
	err := errors.Join(errs...)
	if err == nil && synced {
		err = r.applySync(b)
	} else if err == nil {
		err = r.apply(b)
	}
	if err != nil {
		return err
	}
	for _, t := range fresh {
		t.mu.Lock()
		t.recorded = true
		t.mu.Unlock()
		if synced {
			t.lasting.Store(true)
		}
	}
	if h != nil {
		part.homes[r.index] = h
	}
	if len(fresh) > 0 && !synced {
		r.dur.after(func() {
			for _, t := range fresh {
				t.lasting.Store(true)
			}
		})
	}
	return nil
}

// record puts the tablet's record, as change makes it, into a batch. The tablet
// itself is changed once the batch is applied. Records are written while the
// partition's lock and dropMu (shared, or alone) are held, so that none
// overtakes a later one.
func (t *tabletState) record(b *pebble.Batch, change func(*tabletRecord)) error {
	t.mu.Lock()
	rec := t.tabletRecord
	t.mu.Unlock()
	change(&rec)
	return b.Set(key(keyTablet, t.id), rec.encode(), nil)
}

// setHole notes the first version that the tablet lacks, 0 for none, after the
// record that says so was applied.
func (t *tabletState) setHole(version int64) {
	t.mu.Lock()
	t.hole, t.recorded = version, true
	t.mu.Unlock()
}

// tabletFor finds the tablet of a replica, or makes it on the root that suits
// best; place records it. part.mu is held.
func (e *Engine) tabletFor(part *partition, r TabletReplica) (*tabletState, error) {
	if t := e.tablet(r.TabletID); t != nil {
		if t.partitionID != part.id {
			return nil, conflict("tablet %d belongs to partition %d, not to partition %d", t.id, t.partitionID, part.id)
		}
		return t, nil
	}
	if r.ReplicaID != 0 && e.wasRemoved(r.TabletID, r.ReplicaID) {
		return nil, conflict("replica %d of tablet %d was removed from this backend", r.ReplicaID, r.TabletID)
	}
	best, err := e.rootForTablet()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	best.tablets.Add(1)
	t := &tabletState{id: r.TabletID, root: best, tabletRecord: tabletRecord{partitionID: part.id, base: 1}}
	lost, isLost := e.lost[r.TabletID]
	if isLost {
		// A higher generation wins over the lost one, should that come back.
		t.gen = lost.gen + 1
		if r.ReplicaID == 0 || r.ReplicaID == lost.replica {
			t.replica = lost.replica
		}
		delete(e.lost, r.TabletID)
	}
	if r.FromClone || isLost || len(e.removed[r.TabletID]) > 0 {
		// Orders through what is published here did not name it, whatever rows
		// those versions had.
		t.added, t.hole, t.base = true, 2, part.throughOn(best)
	}
	e.tablets[r.TabletID] = t
	return t, nil
}
