package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// tabletOfDir reads the name of a tablet's directory.
func tabletOfDir(name string) (int64, bool) {
	id, err := strconv.ParseInt(name, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == name
}

// toTrash moves dir/name into the root's trash, where it stays for TrashExpire:
// nothing is removed because no record names it (docs/protocol.md, rule 12).
func (e *Engine) toTrash(r *root, dir, name, why string) error {
	trash := r.fs.PathJoin(r.path, dirTrash)
	target := fmt.Sprintf("%d-%s-%s", e.opts.Now().UnixMilli(), why, name)
	from := r.fs.PathJoin(dir, name)
	if err := r.fs.Rename(from, r.fs.PathJoin(trash, target)); err != nil {
		return fmt.Errorf("cannot move %s to the trash: %w", from, err)
	}
	r.log.Warn("moved to the trash", "root", r.path, "path", from, "as", target)
	return errors.Join(syncDir(r.fs, trash), syncDir(r.fs, dir))
}

// Trash moves the files of dropped tablets into the trash once no snapshot
// holds them, and removes for good what has been there for TrashExpire.
func (e *Engine) Trash(ctx context.Context) error {
	cutoff := e.opts.Now().Add(-max(e.opts.TrashExpire, 0)).UnixMilli()
	errs := []error{ctx.Err()}
	for _, t := range e.tabletsSorted() {
		if t.isDropped() && t.root.err() == nil {
			errs = append(errs, e.trashTablet(t, cutoff))
		}
	}
	errs = append(errs, e.trashLeaving(), e.expirePartitions(cutoff))
	for _, r := range e.roots {
		if r.err() == nil {
			errs = append(errs, e.expireTrash(r, cutoff))
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) trashTablet(t *tabletState, cutoffMs int64) error {
	if !t.flushMu.TryLock() {
		return nil // a flush is about to notice
	}
	defer t.flushMu.Unlock()
	if e.tablet(t.id) != t {
		return nil // it was removed, and may be here anew in the same directory
	}
	t.mu.Lock()
	held, droppedMs := t.snapshots > 0, t.droppedMs
	t.mu.Unlock()
	if held {
		return nil
	}
	data := t.root.fs.PathJoin(t.root.path, dirData)
	name := strconv.FormatInt(t.id, 10)
	if _, err := t.root.fs.Stat(t.root.fs.PathJoin(data, name)); err == nil {
		if err := e.toTrash(t.root, data, name, "tablet"); err != nil {
			return err
		}
	} else if !isNotExist(err) {
		return err
	}
	if droppedMs > cutoffMs {
		return nil
	}
	return e.erase(t)
}

// expirePartitions forgets dropped partitions.
func (e *Engine) expirePartitions(cutoffMs int64) error {
	e.mu.Lock()
	var parts []*partition
	for _, p := range e.partitions {
		parts = append(parts, p)
	}
	e.mu.Unlock()
	for _, p := range parts {
		if err := e.expirePartition(p, cutoffMs); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) expirePartition(p *partition, cutoffMs int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dropped {
		return nil
	}
	for _, h := range p.homes {
		if h != nil && h.droppedMs > cutoffMs {
			return nil
		}
	}
	for _, h := range p.homes {
		if h == nil || h.root.err() != nil {
			continue
		}
		b := h.root.db.NewBatch()
		err := errors.Join(b.Delete(key(keyPartition, p.id), nil), deleteRange(b, key(keyEntry, p.id)), e.forgetRemoved(b, p.id))
		if err == nil {
			err = h.root.applySync(b)
		}
		if err := errors.Join(err, b.Close()); err != nil {
			return err
		}
	}
	e.mu.Lock()
	delete(e.partitions, p.id)
	for _, ids := range e.removed {
		maps.DeleteFunc(ids, func(_, partitionID int64) bool { return partitionID == p.id })
	}
	maps.DeleteFunc(e.removed, func(_ int64, ids map[int64]int64) bool { return len(ids) == 0 })
	e.mu.Unlock()
	return nil
}

// forgetRemoved puts into a batch that no replica of a partition was ever here.
func (e *Engine) forgetRemoved(b *pebble.Batch, partitionID int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for tabletID, ids := range e.removed {
		for replicaID, of := range ids {
			if of == partitionID {
				errs = append(errs, b.Delete(key(keyRemoved, tabletID, replicaID), nil))
			}
		}
	}
	return errors.Join(errs...)
}

// expireTrash removes entries whose names begin with a time at or before the
// cutoff; others are left alone.
func (e *Engine) expireTrash(r *root, cutoffMs int64) error {
	trash := r.fs.PathJoin(r.path, dirTrash)
	names, err := r.fs.List(trash)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		since, _, _ := strings.Cut(name, "-")
		ms, err := strconv.ParseInt(since, 10, 64)
		if err != nil || ms > cutoffMs {
			continue
		}
		r.log.Info("removed from the trash", "root", r.path, "name", name)
		errs = append(errs, r.fs.RemoveAll(r.fs.PathJoin(trash, name)))
	}
	return errors.Join(errs...)
}
