package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// damageError says that the data of a rowset are not what its record says.
type damageError struct {
	rs  *tablet.Rowset
	err error
}

// Error says what is wrong.
func (e *damageError) Error() string { return e.err.Error() }

// Unwrap is an error of kind doriserr.Corrupt.
func (e *damageError) Unwrap() error { return e.err }

func damaged(rs *tablet.Rowset, what string) error {
	return &damageError{rs, corrupt("the data of rowset %s of tablet %d are %s", rs.ID, rs.TabletID, what)}
}

// noteDamage looks whether an error says that a rowset of a tablet is damaged.
// If so, and if the rowset is not replaced, the replica goes out of service from
// the rowset's first version on, durably: it has a hole there, is not read at or
// above it, and a clone replaces what is there. It returns the error, which is
// then a *BehindError too. No lock is held.
func (e *Engine) noteDamage(t *tabletState, err error) error {
	d, ok := errors.AsType[*damageError](err)
	if !ok {
		return err
	}
	part := e.partition(t.partitionID)
	part.mu.Lock()
	defer part.mu.Unlock()
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	t.mu.Lock()
	live, hole, version := d.rs.Live() && t.droppedMs == 0, t.hole, d.rs.Start
	if live {
		d.rs.Damaged = true
	}
	t.mu.Unlock()
	if !live || e.tablet(t.id) != t {
		return err
	}
	if hole == 0 || version < hole {
		err = errors.Join(err, e.openHole(t, version))
		e.opts.Logger.Error("tablet is out of service on this backend: a rowset is damaged",
			"tablet_id", t.id, "rowset", d.rs.ID.String(), "version", version, "root", t.root.path, "err", err)
	}
	return fmt.Errorf("%w: %w", &BehindError{TabletID: t.id, Version: d.rs.End, Hole: version}, err)
}

// openHole makes a hole durable; the partition's lock and dropMu are held.
func (e *Engine) openHole(t *tabletState, version int64) error {
	b := t.root.db.NewBatch()
	defer b.Close()
	err := t.record(b, func(r *tabletRecord) { r.hole = version })
	if err == nil {
		err = t.root.applySync(b)
	}
	if err == nil {
		t.setHole(version)
	}
	return err
}

// checkData reads all of a rowset's data; a *damageError says that they are not
// as the record says.
func (e *Engine) checkData(ctx context.Context, db pebble.Reader, t *tabletState, rs *tablet.Rowset) error {
	if rs.Kind == rowset.Inline {
		return inlineData(ctx, db, []*tablet.Rowset{rs}, func(*tablet.Rowset, []byte) bool { return true })
	}
	bytes, sum, err := e.sum(ctx, t.root.file(t.id, rs.ID))
	switch {
	case isNotExist(err):
		return damaged(rs, "missing")
	case err != nil:
		return err
	case bytes != rs.FileBytes || rs.FileChecksum != 0 && sum != rs.FileChecksum:
		return damaged(rs, "damaged")
	}
	return nil
}
