package storage

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// A root that the others went on without may come back at a later start, with
// tablets that were made anew on other roots meanwhile. A tablet is claimed by
// one root only: the newest replica has it (replica ids grow), of one replica
// the higher generation, since what is made anew for a lost tablet has a higher
// one; else the root that the others did not note. What another root claims goes
// to its trash. (docs/protocol.md, rule 6.)

// claim is what a root says of a tablet.
type claim struct {
	root *root
	tabletRecord
}

// newer reports whether c has the tablet rather than o; ok is false if nothing
// tells.
func (c claim) newer(o claim, noted map[UUID]lostRecord) (newer, ok bool) {
	if c.replica != 0 && o.replica != 0 && c.replica != o.replica {
		return c.replica > o.replica, true
	}
	if c.gen != o.gen {
		return c.gen > o.gen, true
	}
	_, mine := noted[c.root.id.uuid]
	_, others := noted[o.root.id.uuid]
	return others, mine != others
}

// readLost finds which roots were noted as lost by any other.
func (e *Engine) readLost(ctx context.Context) (map[UUID]lostRecord, error) {
	noted := map[UUID]lostRecord{}
	for _, r := range e.roots {
		err := r.scan(ctx, keyLost, func(k, v []byte) error {
			rec, err := decodeLost(v)
			if old, ok := noted[UUID(k[1:])]; err == nil && (!ok || rec.atMs > old.atMs) {
				noted[UUID(k[1:])] = rec
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return noted, nil
}

// settleClaims makes every tablet that several roots claim that of one, before
// the roots are recovered.
func (e *Engine) settleClaims(ctx context.Context) error {
	claims := map[int64][]claim{}
	removed := map[int64]map[int64]*root{}
	for _, r := range e.roots {
		err := errors.Join(
			r.scan(ctx, keyTablet, func(k, v []byte) error {
				rec, err := decodeTablet(v)
				claims[keyNum(k, 0)] = append(claims[keyNum(k, 0)], claim{r, rec})
				return err
			}),
			r.scan(ctx, keyRemoved, func(k, _ []byte) error {
				if removed[keyNum(k, 0)] == nil {
					removed[keyNum(k, 0)] = map[int64]*root{}
				}
				removed[keyNum(k, 0)][keyNum(k, 1)] = r
				return nil
			}))
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(claims)) {
		best := claims[id][0]
		for _, c := range claims[id][1:] {
			newer, ok := c.newer(best, e.noted)
			if !ok {
				return corrupt("tablet %d is in root %s and in root %s", id, best.root.path, c.root.path)
			}
			loser := c
			if newer {
				best, loser = c, best
			}
			if err := e.discard(ctx, loser.root, id); err != nil {
				return err
			}
		}
		// Another root removed this very replica while this one was away.
		if r := removed[id][best.replica]; best.replica != 0 && r != nil && r != best.root {
			if err := e.discard(ctx, best.root, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// discard moves a tablet's files to the root's trash and forgets its records. A
// start that was cut off does it again.
func (e *Engine) discard(ctx context.Context, r *root, id int64) error {
	r.log.Warn("a tablet is on another root now: what this root had of it goes to the trash", "root", r.path, "tablet_id", id)
	data, name := r.fs.PathJoin(r.path, dirData), strconv.FormatInt(id, 10)
	if err := r.fs.MkdirAll(r.fs.PathJoin(r.path, dirTrash), 0o755); err != nil {
		return err
	}
	if _, err := r.fs.Stat(r.fs.PathJoin(data, name)); err == nil {
		if err := e.toTrash(r, data, name, "returned"); err != nil {
			return err
		}
	} else if !isNotExist(err) {
		return err
	}
	b := r.db.NewBatch()
	defer b.Close()
	err := r.scan(ctx, keyPending, func(k, _ []byte) error {
		if keyNum(k, 1) != id {
			return nil
		}
		return b.Delete(k, nil)
	})
	errs := []error{err, b.Delete(key(keyTablet, id), nil)}
	for _, letter := range []byte{keyLive, keyReplaced, keyData} {
		errs = append(errs, deleteRange(b, key(letter, id)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return r.applySync(b)
}

// settleReturned brings the partitions of roots that came back to where the
// others are, and forgets that they were away. A tablet that is still theirs was
// named by no version since, or else it would have been made anew: so only what
// its own root lost of the time before is a hole.
func (e *Engine) settleReturned() error {
	for _, r := range e.roots {
		note, ok := e.noted[r.id.uuid]
		if !ok {
			continue
		}
		for _, p := range e.partitions {
			if err := e.catchUp(p, r, note); err != nil {
				return err
			}
		}
		for _, o := range e.roots {
			b := o.db.NewBatch()
			err := errors.Join(b.Delete(lostKey(r.id.uuid), nil), o.applySync(b), b.Close())
			if err != nil {
				return err
			}
		}
		e.opts.Logger.Info("a storage root is back", "root", r.path)
	}
	return nil
}

// catchUp gives a returned root the entries that it missed of a partition, none
// of which brought it rows.
func (e *Engine) catchUp(p *partition, r *root, note lostRecord) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.homes[r.index]
	var from *home
	for _, o := range p.homes {
		if o == nil || o == h {
			continue
		}
		if _, away := e.noted[o.root.id.uuid]; !away && (from == nil || o.through > from.through) {
			from = o
		}
	}
	if h == nil || from == nil || from.through <= h.through || p.dropped {
		return nil
	}
	left := from.through // not known: the loss was accepted
	for _, v := range note.partitions {
		if v.PartitionID == p.id {
			left = min(left, v.Published)
		}
	}
	if left > h.through {
		e.dropMu.RLock()
		err := e.jumpOn(p, h, left)
		e.dropMu.RUnlock()
		if err != nil {
			return err
		}
	}
	b := r.db.NewBatch()
	defer b.Close()
	rec := h.partitionRecord
	first := h.through + 1
	if from.floor > h.through {
		rec.floor, first = from.floor, from.floor+1
		if err := b.DeleteRange(key(keyEntry, p.id, h.floor+1), key(keyEntry, p.id, h.through+1), nil); err != nil {
			return err
		}
	}
	errs := []error{b.Set(key(keyPartition, p.id), rec.encode(), nil)}
	for v := first; v <= from.through; v++ {
		entry, err := from.entry(p.id, v)
		errs = append(errs, err, b.Set(key(keyEntry, p.id, v), entryRecord{txnID: entry.txnID}.encode(), nil))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := r.applySync(b); err != nil {
		return err
	}
	h.partitionRecord, h.through = rec, from.through
	h.reached(from.through)
	return nil
}

func lostKey(id UUID) []byte { return append(key(keyLost), id[:]...) }
