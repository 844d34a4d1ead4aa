package storage

import (
	"context"
	"errors"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"dorisgo/doriserr"
	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// Snapshot is a tablet at one version. Until Close it pins a Pebble snapshot
// and its files: what it names stays readable whatever is flushed, replaced or
// dropped meanwhile (docs/protocol.md, rule 13). It may be read by several
// goroutines; Close is called once, when they are done.
type Snapshot struct {
	TabletID, PartitionID, Version int64

	e       *Engine
	state   *tabletState
	rowsets []*tablet.Rowset
	db      *pebble.Snapshot
}

// InlineRowset is a rowset whose rows come out of Pebble.
type InlineRowset struct {
	*rowset.Record
	// Data are the rows in the block codec with the types of Record.Columns,
	// valid until the next step of the iterator.
	Data []byte
}

// File is a Parquet file of a snapshot.
type File struct {
	Path  string
	Rows  int64
	Bytes int64
	// Columns are those that the file was written with; UniqueID is the
	// field_id in it.
	Columns    []ColumnDesc
	Start, End int64
}

// Snapshot pins a tablet at a version. A *NotYetError says that the version is
// not published here yet, a *BehindError that this replica lacks it, and
// doriserr.VersionGone that it cannot be read any more, so that the query is
// planned again. A tablet that never had rows here is empty.
func (e *Engine) Snapshot(ctx context.Context, partitionID, tabletID, version int64) (*Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if have := e.PublishedVersion(partitionID); version > have {
		return nil, &NotYetError{PartitionID: partitionID, Version: version, Have: have}
	}
	s := &Snapshot{e: e, TabletID: tabletID, PartitionID: partitionID, Version: version}
	t := e.tablet(tabletID)
	if t == nil && e.wasRemoved(tabletID, 0) {
		l, _ := e.lostOf(tabletID)
		return nil, &BehindError{TabletID: tabletID, Version: version, Hole: 2, Root: l.root}
	}
	if t == nil {
		return s, nil // no version brought it rows
	}
	if t.root.err() != nil {
		return nil, &BehindError{TabletID: tabletID, Version: version, Hole: 2, Root: t.root.path}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.droppedMs != 0:
		return nil, errDropped("tablet", tabletID)
	case t.partitionID != partitionID:
		return nil, conflict("tablet %d belongs to partition %d, not to partition %d", tabletID, t.partitionID, partitionID)
	}
	if t.hole != 0 && version >= t.hole {
		return nil, &BehindError{TabletID: tabletID, Version: version, Hole: t.hole}
	}
	rowsets, ok := t.graph.Capture(version)
	if !ok {
		return nil, doriserr.New(doriserr.VersionGone, "version %d of tablet %d cannot be read any more", version, tabletID)
	}
	for _, rs := range rowsets {
		rs.Ref()
	}
	t.snapshots++
	s.state, s.rowsets, s.db = t, rowsets, t.root.db.NewSnapshot()
	return s, nil
}

// Files are the Parquet files, in version order.
func (s *Snapshot) Files() []File {
	var files []File
	for _, rs := range s.rowsets {
		if rs.Kind == rowset.File {
			files = append(files, fileOf(s.state, rs))
		}
	}
	return files
}

// CheckFile reads one of the snapshot's files and compares it with its record, for
// a reader that could make no sense of it. nil says that it is as it was written.
// Damage takes the replica out of service from the rowset's first version on, as
// Scrub does.
func (s *Snapshot) CheckFile(ctx context.Context, path string) error {
	for _, rs := range s.rowsets {
		if rs.Kind == rowset.File && s.state.root.file(s.state.id, rs.ID) == path {
			return s.e.noteDamage(s.state, s.e.checkData(ctx, s.db, s.state, rs))
		}
	}
	return nil
}

// Rows is the number of rows, inline ones and files' together.
func (s *Snapshot) Rows() int64 {
	var n int64
	for _, rs := range s.rowsets {
		n += rs.Rows
	}
	return n
}

// Inline walks the inline rowsets in version order. It ends with the first
// error; a *BehindError says that data are damaged, so that another replica must
// be read.
func (s *Snapshot) Inline(ctx context.Context) iter.Seq2[InlineRowset, error] {
	return func(yield func(InlineRowset, error) bool) {
		if s.db == nil {
			return
		}
		stopped := false
		err := inlineData(ctx, s.db, s.rowsets, func(rs *tablet.Rowset, data []byte) bool {
			stopped = !yield(InlineRowset{&rs.Record, data}, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(InlineRowset{}, s.e.noteDamage(s.state, err))
		}
	}
}

// inlineData reads the data of those rowsets that are inline, in their order,
// until f returns false.
func inlineData(ctx context.Context, db pebble.Reader, rowsets []*tablet.Rowset, f func(*tablet.Rowset, []byte) bool) (err error) {
	if len(rowsets) == 0 {
		return nil
	}
	prefix := key(keyData, rowsets[0].TabletID)
	it, err := db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for _, rs := range rowsets {
		if rs.Kind != rowset.Inline {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		k := dataKey(rs.TabletID, rs.TxnID, rs.ID)
		if !it.SeekGE(k) || string(it.Key()) != string(k) {
			if err := it.Error(); err != nil {
				return err
			}
			return damaged(rs, "missing")
		}
		data, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if int64(len(data)) != rs.Bytes || rowset.Checksum(data) != rs.Checksum {
			return damaged(rs, "damaged")
		}
		if !f(rs, data) {
			return nil
		}
	}
	return nil
}

// Close lets go of what the snapshot pins.
func (s *Snapshot) Close() error {
	if s.state == nil {
		return nil
	}
	s.state.mu.Lock()
	for _, rs := range s.rowsets {
		rs.Unref()
	}
	s.state.snapshots--
	s.state.mu.Unlock()
	s.state = nil
	return s.db.Close()
}
