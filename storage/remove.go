package storage

import (
	"context"
	"errors"
	"slices"
	"strconv"
)

// RemoveReplica removes a replica by a decision that is in the metadata log
// (docs/protocol.md, rule 12). It waits for a flush or compaction of the tablet
// that is under way. When it returns nothing of it is left in memory or in
// Pebble, durably, and its files are in the trash, those that a snapshot holds
// as soon as it lets go; the tablet may come here again as another replica. A
// replica that is not here is no error. A call that was cut off is completed by
// the next start.
//
// That the replica was here stays known while the partition is, so that nobody
// takes the tablet for one that never had rows.
func (e *Engine) RemoveReplica(ctx context.Context, tabletID, replicaID int64) error {
	t := e.tablet(tabletID)
	if t == nil {
		e.forgetLost(func(id int64, l lostTablet) bool { return id == tabletID && l.replica == replicaID })
		return nil
	}
	removed, err := e.markRemoved(t, replicaID)
	if err != nil || !removed {
		return err
	}
	if err := e.dropPending(ctx); err != nil {
		return err
	}
	return e.finishRemove(t)
}

// markRemoved makes the decision durable; false if another replica is here, or
// the tablet was dropped as a whole.
func (e *Engine) markRemoved(t *tabletState, replicaID int64) (bool, error) {
	e.dropMu.Lock()
	defer e.dropMu.Unlock()
	if t.isDropped() {
		return e.beingRemoved(t), nil
	}
	if !t.isReplica(replicaID) {
		return false, nil
	}
	t.mu.Lock()
	rec := t.tabletRecord
	t.mu.Unlock()
	rec.droppedMs = e.opts.Now().UnixMilli()
	if rec.replica == 0 {
		rec.replica = replicaID
	}
	b := t.root.db.NewBatch()
	defer b.Close()
	err := errors.Join(
		b.Set(key(keyTablet, t.id), rec.encode(), nil),
		b.Set(key(keyRemoved, t.id, rec.replica), encodeRemoved(t.partitionID), nil))
	if err == nil {
		err = t.root.applySync(b)
	}
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	t.droppedMs, t.replica, t.recorded = rec.droppedMs, rec.replica, true
	t.mu.Unlock()
	e.noteRemoved(t.id, rec.replica, t.partitionID)
	return true, nil
}

// beingRemoved reports whether a dropped tablet is a replica whose removal was
// cut off.
func (e *Engine) beingRemoved(t *tabletState) bool {
	t.mu.Lock()
	replica := t.replica
	t.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.removed[t.id][replica]
	return ok
}

func (e *Engine) noteRemoved(tabletID, replicaID, partitionID int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.removed[tabletID] == nil {
		e.removed[tabletID] = map[int64]int64{}
	}
	e.removed[tabletID][replicaID] = partitionID
}

// finishRemove does the rest once the decision is durable and nothing pending
// is left.
func (e *Engine) finishRemove(t *tabletState) error {
	t.flushMu.Lock()
	defer t.flushMu.Unlock()
	t.compactMu.Lock()
	defer t.compactMu.Unlock()
	if e.tablet(t.id) != t {
		return nil // another call was faster
	}
	// The files go before the tablet may come anew: the directory is the same.
	if err := e.trashFiles(t); err != nil {
		return err
	}
	return e.erase(t)
}

// leaving are files of a removed replica that readers held.
type leaving struct {
	state *tabletState
	files []string
}

// trashFiles moves the files of a removed replica to the trash, or notes them
// if a reader holds the tablet.
func (e *Engine) trashFiles(t *tabletState) error {
	r, dir := t.root, t.root.tabletDir(t.id)
	files, err := r.fs.List(dir)
	if isNotExist(err) || err == nil && len(files) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	t.mu.Lock()
	held := t.snapshots > 0
	t.mu.Unlock()
	e.mu.Lock()
	held = held || slices.ContainsFunc(e.leaving, func(l leaving) bool { return l.state.id == t.id })
	if held {
		e.leaving = append(e.leaving, leaving{t, files})
	}
	e.mu.Unlock()
	if held {
		return nil
	}
	r.dirMu.Lock()
	defer r.dirMu.Unlock()
	delete(r.dirs, t.id)
	return e.toTrash(r, r.fs.PathDir(dir), strconv.FormatInt(t.id, 10), "replica")
}

// trashLeaving moves the files of removed replicas that nobody holds any more.
func (e *Engine) trashLeaving() error {
	e.mu.Lock()
	list := slices.Clone(e.leaving)
	e.mu.Unlock()
	var errs []error
	for _, l := range list {
		l.state.mu.Lock()
		held := l.state.snapshots > 0
		l.state.mu.Unlock()
		if held || l.state.root.err() != nil {
			continue
		}
		for _, name := range l.files {
			err := e.toTrash(l.state.root, l.state.root.tabletDir(l.state.id), name, "replica-"+strconv.FormatInt(l.state.id, 10))
			if !isNotExist(err) {
				errs = append(errs, err)
			}
		}
		e.mu.Lock()
		e.leaving = slices.DeleteFunc(e.leaving, func(o leaving) bool { return o.state == l.state })
		e.mu.Unlock()
	}
	return errors.Join(errs...)
}
