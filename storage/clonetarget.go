package storage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// CloneTarget builds beside a tablet what the tablet lacks, and switches it in
// at once. A crash before that leaves files that no record names. It is used by
// one goroutine; Close is called once, whatever came before.
type CloneTarget struct {
	e       *Engine
	part    *partition
	state   *tabletState
	replica int64
	ends    []int64
	hole    int64
	through int64
	// last is the last version that brought the tablet rows which it published.
	last int64

	rowsets []*tablet.Rowset
	// data are the rows of those rowsets that are inline, and inline their bytes.
	data    map[rowset.ID][]byte
	inline  int64
	columns map[rowset.ColumnsID][]byte
	// made are the files, which nothing names before Finish.
	made []string
}

// BeginClone makes ready to clone into a replica, after Jump(base, replica). At
// most one clone of a tablet goes on at a time, another is doriserr.Blocked;
// flushes and compactions of the tablet rest meanwhile. doriserr.Conflict says
// that this BE has another replica of the tablet. The caller first looks whether
// the tablet is Whole.
func (e *Engine) BeginClone(ctx context.Context, partitionID, base int64, r TabletReplica) (*CloneTarget, error) {
	if _, err := e.Jump(ctx, partitionID, base, []TabletReplica{r}); err != nil {
		return nil, err
	}
	// A replica that never had rows may be behind all the same.
	part := e.partition(partitionID)
	if err := e.findIn(part, []TabletReplica{r}); err != nil {
		return nil, err
	}
	t := e.tablet(r.TabletID)
	if t == nil {
		return nil, errDropped("tablet", r.TabletID)
	}
	published := part.published.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cloning {
		return nil, doriserr.New(doriserr.Blocked, "tablet %d is being cloned already", r.TabletID)
	}
	t.cloning = true
	c := &CloneTarget{
		e: e, part: part, state: t, replica: r.ReplicaID, hole: t.hole, through: t.gapFree(published), last: t.graph.Last(),
		data: map[rowset.ID][]byte{}, columns: map[rowset.ColumnsID][]byte{},
	}
	c.ends = t.graph.Ends(c.through)
	return c, nil
}

// Whole reports whether the tablet lacks nothing through a version.
func (c *CloneTarget) Whole(version int64) bool { return c.hole == 0 && c.through >= version }

// Least is the version that a source must have to be of use, if version is wanted:
// what the tablet published above its hole goes with the switch, and the metadata
// believe that it has that.
func (c *CloneTarget) Least(version int64) int64 { return max(version, c.last) }

// Through is the version through which the tablet was gap-free at the start.
func (c *CloneTarget) Through() int64 { return c.through }

// Ends are the versions, ascending, after which the source's rowsets can begin:
// 1 and others through which the tablet is gap-free.
func (c *CloneTarget) Ends() []int64 { return c.ends }

// Add takes the next rowset of the source's, in its order, and its data from r,
// which must end after them. They are checked against the record. A file is
// durable when Add returns, inline rows are kept in memory until Finish; those
// beyond Options.InlineBatchBytes become files.
func (c *CloneTarget) Add(ctx context.Context, rs CloneRowset, r io.Reader) error {
	rec, err := c.record(rs)
	if err != nil {
		return err
	}
	if err := c.e.checkSpace(c.state.root, rs.Bytes, false); err != nil {
		return err
	}
	if rec.Kind == rowset.File {
		err = c.addFile(ctx, rec, r)
	} else {
		err = c.addInline(ctx, rec, r)
	}
	if err != nil {
		return fmt.Errorf("cannot clone a rowset of tablet %d: %w", c.state.id, err)
	}
	c.rowsets = append(c.rowsets, &tablet.Rowset{Record: *rec})
	return nil
}

// record is the one that the rowset gets here: names are never used again, so
// it has a new one.
func (c *CloneTarget) record(rs CloneRowset) (*rowset.Record, error) {
	rec, err := rowset.DecodeRecord(rs.Record)
	if err != nil {
		return nil, err
	}
	rec.Columns, err = rowset.DecodeColumns(rs.Columns)
	if err != nil {
		return nil, err
	}
	if rowset.HashColumns(rs.Columns) != rec.ColumnsID || rec.TabletID != c.state.id || rec.PartitionID != c.part.id ||
		rec.DiskBytes() != rs.Bytes || rec.Start < 2 || rec.Start > rec.End {
		return nil, corrupt("rowset %s arrived with a record that does not fit tablet %d", rec.ID, c.state.id)
	}
	if _, known := c.state.root.columns(rec.ColumnsID); !known {
		c.columns[rec.ColumnsID] = rs.Columns
	}
	if _, err := io.ReadFull(c.e.opts.Rand, rec.ID[:]); err != nil {
		return nil, fmt.Errorf("cannot make a rowset id: %w", err)
	}
	rec.ReplacedBy, rec.ReplacedAtMs = rowset.ID{}, 0
	return &rec, nil
}

func (c *CloneTarget) addInline(ctx context.Context, rec *rowset.Record, r io.Reader) error {
	// One byte more shows that there are too many.
	data, err := io.ReadAll(io.LimitReader(ctxReader{ctx, r}, rec.Bytes+1))
	if err != nil {
		return err
	}
	if int64(len(data)) != rec.Bytes || rowset.Checksum(data) != rec.Checksum {
		return corrupt("its data arrived damaged: their length or checksum differs")
	}
	if c.inline+rec.Bytes <= c.e.opts.InlineBatchBytes {
		c.inline += rec.Bytes
		c.data[rec.ID] = data
		return nil
	}
	spec := &FileSpec{Columns: rec.Columns, Rows: rec.Rows, Chunks: func(yield func([]byte, error) bool) { yield(data, nil) }}
	if err := c.e.writeFile(ctx, c.state, rec, spec); err != nil {
		return err
	}
	c.made = append(c.made, c.state.root.file(rec.TabletID, rec.ID))
	return nil
}

func (c *CloneTarget) addFile(ctx context.Context, rec *rowset.Record, r io.Reader) error {
	err := c.e.makeFile(c.state, rec.ID, func(tmp string) error {
		f, err := c.e.fs.Create(tmp, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		h := rowset.NewHash()
		// A vfs.File may change what it is given to write, so the hash comes first.
		n, err := io.CopyBuffer(io.MultiWriter(h, f), io.LimitReader(ctxReader{ctx, r}, rec.FileBytes+1), make([]byte, copyBytes))
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		sum := h.Sum32()
		if n != rec.FileBytes || rec.FileChecksum != 0 && rec.FileChecksum != sum {
			return corrupt("its file arrived damaged: its length or checksum differs")
		}
		rec.FileChecksum = sum
		return nil
	})
	if err == nil {
		c.made = append(c.made, c.state.root.file(rec.TabletID, rec.ID))
	}
	return err
}

// Finish switches what was added into the tablet, durably and in one batch:
// rowsets after the version keep, one of Ends, go, and the added ones, which
// bring the tablet to the version through, take their place. What came
// meanwhile and was not cloned is then published. It returns the version
// through which the tablet is gap-free now, which may be above what is
// published: publishes through it have nothing to add.
//
// It changes nothing and fails with doriserr.VersionGone, so that the clone is
// tried again, if the tablet changed so that keep is no boundary any more, or if
// through is of no use here; a tablet that was dropped or is another replica now
// is doriserr.StaleEpoch.
func (c *CloneTarget) Finish(ctx context.Context, keep, through int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c.part.mu.Lock()
	defer c.part.mu.Unlock()
	if c.part.dropped {
		return 0, errDropped("partition", c.part.id)
	}
	done, err := c.finish(keep, through)
	if err == nil && !done {
		err = c.e.fill(c.part, c.state)
	}
	if err != nil {
		return 0, err
	}
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	return c.state.gapFree(c.part.published.Load()), nil
}

// finish does the switch; done says that none was needed. part.mu is held.
func (c *CloneTarget) finish(keep, through int64) (done bool, err error) {
	c.e.dropMu.RLock()
	defer c.e.dropMu.RUnlock()
	t, h := c.state, c.part.homes[c.state.root.index]
	if h == nil || c.e.tablet(t.id) != t || !t.isReplica(c.replica) {
		return false, errDropped("replica of tablet", t.id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	have := t.gapFree(c.part.published.Load())
	if t.hole == 0 && have >= through {
		return true, nil
	}
	old, ok := t.graph.After(keep)
	switch {
	case !ok || keep > have:
		return false, doriserr.New(doriserr.VersionGone, "tablet %d has changed: version %d is no boundary any more", t.id, keep)
	case through < have:
		return false, doriserr.New(doriserr.VersionGone, "a clone of tablet %d through version %d brings nothing: it has version %d", t.id, through, have)
	case through < t.graph.Last():
		return false, doriserr.New(doriserr.VersionGone, "a clone of tablet %d through version %d takes back version %d", t.id, through, t.graph.Last())
	case through < max(h.floor, t.base):
		return false, doriserr.New(doriserr.VersionGone, "a clone of tablet %d through version %d leaves a gap: it must reach version %d",
			t.id, through, max(h.floor, t.base))
	case len(c.rowsets) > 0 && c.rowsets[len(c.rowsets)-1].End > through:
		return false, corrupt("a clone of tablet %d through version %d has rowsets above it", t.id, through)
	}
	rec := t.tabletRecord
	rec.cloned, rec.hole, rec.added = through, 0, false
	if through < h.through {
		rec.hole = through + 1 // fill looks whether it lacks
	}
	return false, c.switchIn(rec, old, keep)
}

// switchIn commits the switch and takes it into memory; t.mu is held. After an
// error the files stay: the batch may be durable.
func (c *CloneTarget) switchIn(rec tabletRecord, old []*tablet.Rowset, keep int64) error {
	t, now := c.state, c.e.opts.Now().UnixMilli()
	b := t.root.db.NewBatch()
	defer b.Close()
	if err := c.batch(b, rec, old, now); err != nil {
		return err
	}
	// Checked on a copy first: nothing must be committed that does not fit.
	if err := t.graph.CheckSwitch(keep, c.rowsets); err != nil {
		return corrupt("a clone of tablet %d does not fit: %v", t.id, err)
	}
	c.made = nil
	if err := t.root.applySync(b); err != nil {
		return err
	}
	t.graph.Switch(keep, c.rowsets, now)
	t.cloned, t.hole, t.added, t.recorded = rec.cloned, rec.hole, rec.added, true
	t.recount()
	for id, encoded := range c.columns {
		cols, err := rowset.DecodeColumns(encoded)
		if err != nil {
			return t.root.fail(err.Error())
		}
		t.root.addColumns(id, cols)
	}
	return nil
}

func (c *CloneTarget) batch(b *pebble.Batch, rec tabletRecord, old []*tablet.Rowset, nowMs int64) error {
	t := c.state
	errs := []error{b.Set(key(keyTablet, t.id), rec.encode(), nil)}
	for id, encoded := range c.columns {
		errs = append(errs, b.Set(columnsKey(id), encoded, nil))
	}
	for _, rs := range old {
		errs = append(errs, replaceRecord(b, t.gen, rs, rowset.ID{}, nowMs))
	}
	for _, rs := range c.rowsets {
		errs = append(errs, b.Set(liveKey(t.id, t.gen, rs.End, rs.Seq), rowset.AppendRecord(nil, &rs.Record), nil))
		if rs.Kind == rowset.Inline {
			errs = append(errs, b.Set(dataKey(t.id, rs.TxnID, rs.ID), c.data[rs.ID], nil))
		}
	}
	return errors.Join(errs...)
}

// Close ends the clone, and removes its files unless it was finished.
func (c *CloneTarget) Close() error {
	if c.state == nil {
		return nil
	}
	for _, path := range c.made {
		c.state.root.unlink(path)
	}
	c.state.mu.Lock()
	c.state.cloning = false
	c.state.mu.Unlock()
	c.e.wantFlush(c.state)
	c.e.compact.want(c.state.id)
	c.state = nil
	return nil
}
