package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"dorisgo/storage/tablet"
)

// Scrub reads all data of a tablet and compares lengths and checksums. The first
// rowset that is damaged or missing takes the replica out of service from its
// first version on, and is the error. A tablet that is not here is no error.
func (e *Engine) Scrub(ctx context.Context, tabletID int64) (err error) {
	t := e.tablet(tabletID)
	if t == nil {
		return nil
	}
	if err := t.root.err(); err != nil {
		return err
	}
	t.mu.Lock()
	var rowsets []*tablet.Rowset
	for rs := range t.graph.Live() {
		if t.droppedMs == 0 && !rs.Damaged {
			rs.Ref()
			rowsets = append(rowsets, rs)
		}
	}
	t.snapshots++
	db := t.root.db.NewSnapshot()
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		for _, rs := range rowsets {
			rs.Unref()
		}
		t.snapshots--
		t.mu.Unlock()
		err = errors.Join(err, db.Close())
	}()
	for _, rs := range rowsets {
		if err := e.checkData(ctx, db, t, rs); err != nil {
			return e.noteDamage(t, err)
		}
	}
	return nil
}

// runScrub scrubs one tablet after the other, spread over ScrubInterval. It
// begins anywhere, so that frequent starts leave none out.
func (e *Engine) runScrub(ctx context.Context) error {
	if e.opts.ScrubInterval < 0 {
		return nil
	}
	last := int64(-1)
	for {
		var ids []int64
		for _, r := range e.Replicas() {
			ids = append(ids, r.TabletID)
		}
		if !sleep(ctx, max(e.opts.ScrubInterval/time.Duration(max(len(ids), 1)), time.Second)) {
			return nil
		}
		if len(ids) == 0 {
			continue
		}
		i, _ := slices.BinarySearch(ids, last+1)
		if last < 0 {
			i = rand.IntN(len(ids))
		}
		last = ids[i%len(ids)]
		if err := e.Scrub(ctx, last); err != nil && ctx.Err() == nil {
			e.opts.Logger.Warn("tablet is not sound", "tablet_id", last, "err", err)
		}
		if err := e.rootsErr(); err != nil {
			return err
		}
	}
}
