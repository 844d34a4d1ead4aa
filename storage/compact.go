package storage

import (
	"context"
	"fmt"
	"time"

	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// Compact merges one run of neighbouring files of a tablet into one file, sorted
// by key, and reports whether there was one. Versions that lie within a run stay
// readable for Options.StaleSweep, and as long as a snapshot holds them. Flushes
// and publishes of the tablet go on meanwhile. It may use the reserve below the
// floor of free space, since it frees more than it takes. A tablet that is not
// here is no error.
func (e *Engine) Compact(ctx context.Context, tabletID int64) (bool, error) {
	t := e.tablet(tabletID)
	if t == nil {
		return false, nil
	}
	t.compactMu.Lock()
	defer t.compactMu.Unlock()
	policy, series := e.policyOf(t)
	t.mu.Lock()
	var inputs []*tablet.Rowset
	if t.droppedMs == 0 && !t.cloning {
		inputs = e.compactInputs(t, policy, series)
	}
	// Held like a reader's, the files stay whatever replaces them meanwhile.
	for _, in := range inputs {
		in.Ref()
	}
	t.snapshots++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.snapshots--
		for _, in := range inputs {
			in.Unref()
		}
	}()
	if inputs == nil {
		return false, nil
	}
	if err := e.compactRun(ctx, t, inputs); err != nil {
		return false, fmt.Errorf("cannot compact %d files of tablet %d: %w", len(inputs), tabletID, err)
	}
	return true, nil
}

func (e *Engine) compactPolicy() tablet.CompactPolicy {
	return tablet.CompactPolicy{MinFiles: e.opts.CompactMinFiles, MaxFiles: 64, MaxBytes: e.opts.CompactMaxBytes}
}

func (e *Engine) compactRun(ctx context.Context, t *tabletState, inputs []*tablet.Rowset) error {
	out, err := e.mergeOutput(inputs)
	if err != nil {
		return err
	}
	spec := &FileSpec{Columns: out.Columns, SortKey: rowset.KeyColumns(out.Columns), Rows: out.Rows}
	for _, in := range inputs {
		out.Merges = max(out.Merges, in.Merges+1)
	}
	var fileBytes int64
	for _, in := range inputs {
		spec.Files = append(spec.Files, fileOf(t, in))
		fileBytes += in.FileBytes
	}
	if err := e.checkSpace(t.root, fileBytes, true); err != nil {
		return err
	}
	// The output gets a checksum of its own, so damage must not get into it.
	for _, in := range inputs {
		if err := e.checkData(ctx, t.root.db, t, in); err != nil {
			return e.noteDamage(t, err)
		}
	}
	if err := e.writeFile(ctx, t, &out.Record, spec); err != nil {
		return err
	}
	switched, err := e.switchInputs(t, inputs, out)
	if err == nil && !switched {
		t.root.unlink(t.root.file(t.id, out.ID)) // an input died: nothing names the file
	}
	if err == nil && switched {
		e.stats.compactions.Add(1)
		e.stats.compactedBytes.Add(fileBytes)
	}
	return err
}

func fileOf(t *tabletState, rs *tablet.Rowset) File {
	return File{
		Path: t.root.file(t.id, rs.ID), Rows: rs.Rows, Bytes: rs.FileBytes,
		Columns: rs.Columns, Start: rs.Start, End: rs.End,
	}
}

const (
	// compactPause is the longest pause after a compaction.
	compactPause = 10 * time.Second
	// compactRetry is how long a tablet waits after a failed compaction; the
	// others go on meanwhile.
	compactRetry = 5 * time.Minute
)

// runCompact compacts one tablet at a time. It yields to loads: after each merge
// it rests for as long as that took, so that it never takes more than half of one
// core and of the disk; a tablet that comes near max_tablet_version_num is not
// kept waiting.
func (e *Engine) runCompact(ctx context.Context) error {
	failed := map[int64]time.Time{} // when they may be tried again
	for {
		id, ok := e.compact.next(ctx, e.rowsets)
		if !ok {
			return nil
		}
		start := time.Now()
		if start.Before(failed[id]) {
			continue // it is asked for again then
		}
		delete(failed, id)
		did, err := e.Compact(ctx, id)
		switch {
		case err != nil && ctx.Err() == nil:
			e.opts.Logger.Warn("compaction failed, it is tried again later", "tablet_id", id, "err", err)
			failed[id] = time.Now().Add(compactRetry)
			time.AfterFunc(compactRetry, func() { e.compact.want(id) })
		case did:
			e.compact.want(id) // what came out may be part of the next run
		}
		if err := e.rootsErr(); err != nil {
			return err
		}
		worked := did || err != nil
		if worked && !(did && e.crowded(id)) && !sleep(ctx, min(time.Since(start), compactPause)) {
			return nil
		}
	}
}

// crowded reports whether a tablet has more than half of the rowsets it may have.
func (e *Engine) crowded(id int64) bool { return e.rowsets(id) > e.opts.MaxVersions/2 }

// rowsets is how many rowsets a tablet has.
func (e *Engine) rowsets(id int64) int {
	t := e.tablet(id)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.graph.Len()
}
