package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// Flush turns the inline rowsets that a tablet has now into Parquet files, one
// for each run that was written with the same columns. A file that covers the
// versions a…b serves reads at b or later; what it replaced stays readable for
// Options.StaleSweep and as long as a snapshot holds it. It needs free space
// above the floor. A tablet that is not here is no error.
func (e *Engine) Flush(ctx context.Context, tabletID int64) error {
	t := e.tablet(tabletID)
	if t == nil {
		return nil
	}
	t.flushMu.Lock()
	defer t.flushMu.Unlock()
	t.mu.Lock()
	upTo := t.graph.Last()
	if t.hole != 0 {
		upTo = min(upTo, t.hole-1)
	}
	t.mu.Unlock()
	for {
		t.mu.Lock()
		inputs := t.graph.InlineRun(upTo, e.opts.FlushMaxBytes)
		if t.droppedMs != 0 || t.cloning {
			inputs = nil
		}
		t.mu.Unlock()
		if inputs == nil {
			return nil
		}
		if err := e.flushRun(ctx, t, inputs); err != nil {
			err = e.noteDamage(t, err)
			return fmt.Errorf("cannot flush tablet %d: %w", tabletID, err)
		}
	}
}

// flushRun makes one file of neighbouring inline rowsets.
func (e *Engine) flushRun(ctx context.Context, t *tabletState, inputs []*tablet.Rowset) error {
	out, err := e.mergeOutput(inputs)
	if err != nil {
		return err
	}
	if err := e.checkSpace(t.root, out.Bytes, false); err != nil {
		return err
	}
	snap := t.root.db.NewSnapshot()
	spec := &FileSpec{
		Columns: out.Columns, SortKey: rowset.KeyColumns(out.Columns), Rows: out.Rows,
		Chunks: func(yield func([]byte, error) bool) {
			stopped := false
			err := inlineData(ctx, snap, inputs, func(_ *tablet.Rowset, data []byte) bool {
				stopped = !yield(data, nil)
				return !stopped
			})
			if err != nil && !stopped {
				yield(nil, err)
			}
		},
	}
	err = errors.Join(e.writeFile(ctx, t, &out.Record, spec), snap.Close())
	if err != nil {
		return err
	}
	switched, err := e.switchInputs(t, inputs, out)
	if err == nil && !switched {
		t.root.unlink(t.root.file(t.id, out.ID)) // an input died: nothing names the file
	}
	if err == nil && switched {
		e.stats.flushes.Add(1)
		e.compact.want(t.id)
	}
	return err
}

// mergeOutput is the record of the file that takes the place of the inputs.
func (e *Engine) mergeOutput(inputs []*tablet.Rowset) (*tablet.Rowset, error) {
	first, last := inputs[0], inputs[len(inputs)-1]
	out := &tablet.Rowset{Record: rowset.Record{
		Meta: rowset.Meta{
			TabletID: first.TabletID, PartitionID: first.PartitionID,
			SchemaVersion: last.SchemaVersion, Columns: last.Columns,
		},
		ColumnsID: last.ColumnsID, Kind: rowset.File,
		Start: first.Start, End: last.End, Seq: last.Seq,
	}}
	for _, in := range inputs {
		out.Rows += in.Rows
		out.Bytes += in.Bytes
	}
	if _, err := io.ReadFull(e.opts.Rand, out.ID[:]); err != nil {
		return nil, fmt.Errorf("cannot make a rowset id: %w", err)
	}
	return out, nil
}

// switchInputs replaces the inputs by the output in one synced batch under the
// tablet's lock. It reports false, and changes nothing, if an input is not live
// any more. After an error the output's file stays: the batch may be durable.
func (e *Engine) switchInputs(t *tabletState, inputs []*tablet.Rowset, out *tablet.Rowset) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.droppedMs != 0 || t.hole != 0 && t.hole <= out.End || !t.graph.Replaceable(inputs) {
		return false, nil
	}
	now := e.opts.Now().UnixMilli()
	b := t.root.db.NewBatch()
	defer b.Close()
	if err := switchBatch(b, t.gen, inputs, out, now); err != nil {
		return false, err
	}
	if err := t.root.applySync(b); err != nil {
		return false, err
	}
	t.graph.Replace(inputs, out, now)
	t.recount()
	return true, nil
}

func switchBatch(b *pebble.Batch, gen uint32, inputs []*tablet.Rowset, out *tablet.Rowset, nowMs int64) error {
	var errs []error
	for _, in := range inputs {
		errs = append(errs, replaceRecord(b, gen, in, out.ID, nowMs))
	}
	errs = append(errs, b.Set(liveKey(out.TabletID, gen, out.End, out.Seq), rowset.AppendRecord(nil, &out.Record), nil))
	return errors.Join(errs...)
}

// replaceRecord puts into a batch that a live rowset is replaced.
func replaceRecord(b *pebble.Batch, gen uint32, rs *tablet.Rowset, by rowset.ID, nowMs int64) error {
	rec := rs.Record
	rec.ReplacedBy, rec.ReplacedAtMs = by, nowMs
	return errors.Join(
		b.Delete(liveKey(rs.TabletID, gen, rs.End, rs.Seq), nil),
		b.Set(replacedKey(rs.TabletID, gen, rs.ID), rowset.AppendRecord(nil, &rec), nil))
}

// Sweep removes replaced rowsets that were replaced longer than StaleSweep ago
// and that no snapshot holds.
func (e *Engine) Sweep(context.Context) error {
	cutoff := e.opts.Now().Add(-max(e.opts.StaleSweep, 0)).UnixMilli()
	var errs []error
	for _, t := range e.tabletsSorted() {
		if t.root.err() == nil {
			errs = append(errs, e.sweepTablet(t, cutoff))
		}
	}
	return errors.Join(errs...)
}

func (e *Engine) sweepTablet(t *tabletState, cutoffMs int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	gone := t.graph.Sweep(cutoffMs)
	if len(gone) == 0 || t.droppedMs != 0 {
		return nil
	}
	b := t.root.db.NewBatch()
	defer b.Close()
	var files []string
	for _, rs := range gone {
		if err := deleteReplaced(b, t.gen, &rs.Record); err != nil {
			return err
		}
		if rs.Kind == rowset.File {
			files = append(files, t.root.file(t.id, rs.ID))
		}
	}
	if err := t.root.apply(b); err != nil {
		return err
	}
	t.root.dur.after(func() {
		for _, f := range files {
			t.root.unlink(f)
		}
	})
	return nil
}

func deleteReplaced(b *pebble.Batch, gen uint32, rec *rowset.Record) error {
	err := b.Delete(replacedKey(rec.TabletID, gen, rec.ID), nil)
	if rec.Kind == rowset.Inline {
		err = errors.Join(err, b.Delete(dataKey(rec.TabletID, rec.TxnID, rec.ID), nil))
	}
	return err
}
