package storage

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/doriserr"
	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// CloneRowset is a rowset on its way to another BE.
type CloneRowset struct {
	// Record is the source's record and Columns its column list, both as
	// docs/format/rowset.md has them.
	Record, Columns []byte
	// Bytes is the length of the data: rows in the block codec, or the file.
	Bytes int64
}

// CloneSource is what another BE lacks of a tablet. Until Close it pins the
// rowsets as a Snapshot does. It may be read by several goroutines; Close is
// called once, when they are done.
type CloneSource struct {
	// Keep is the version through which the other BE's rowsets stay, Through the
	// one through which it is gap-free with Rowsets, published or not.
	Keep, Through int64
	Rowsets       []CloneRowset

	e     *Engine
	state *tabletState
	// pinned are what is held, the last len(Rowsets) of which are sent.
	pinned []*tablet.Rowset
	db     *pebble.Snapshot
}

// OpenClone pins what a BE lacks of a tablet whose rowsets can be cut after any
// of the versions ends, which are ascending and begin with 1. It goes through
// the version through which the tablet is gap-free here, visible or not
// (docs/protocol.md, H30), and keeps as much as can be. doriserr.VersionGone
// says that this is less than least, or that the tablet cannot be told apart from
// one whose rows are lost, so that another source is needed.
func (e *Engine) OpenClone(ctx context.Context, partitionID, tabletID int64, ends []int64, least int64) (*CloneSource, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	published := e.PublishedVersion(partitionID)
	s := &CloneSource{Keep: 1, Through: published, e: e}
	t := e.tablet(tabletID)
	if t == nil && (published < least || e.wasRemoved(tabletID, 0)) {
		return nil, errBehindClone(tabletID, published, least)
	}
	if t == nil {
		return s, nil // no version brought it rows
	}
	if err := t.root.err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.droppedMs != 0:
		return nil, errDropped("tablet", tabletID)
	case t.partitionID != partitionID:
		return nil, conflict("tablet %d belongs to partition %d, not to partition %d", tabletID, t.partitionID, partitionID)
	}
	s.Through = t.gapFree(published)
	rowsets, ok := t.graph.Capture(s.Through)
	if s.Through < least || !ok {
		return nil, errBehindClone(tabletID, s.Through, least)
	}
	for _, end := range ends {
		if end <= s.Through && !tablet.Straddled(rowsets, end) {
			s.Keep = max(s.Keep, end)
		}
	}
	for _, rs := range rowsets {
		if rs.Start <= s.Keep {
			continue
		}
		rs.Ref()
		s.pinned = append(s.pinned, rs)
		s.Rowsets = append(s.Rowsets, CloneRowset{
			Record: rowset.AppendRecord(nil, &rs.Record), Columns: rowset.AppendColumns(nil, rs.Columns), Bytes: rs.DiskBytes(),
		})
	}
	t.snapshots++
	s.state, s.db = t, t.root.db.NewSnapshot()
	return s, nil
}

func errBehindClone(tabletID, through, least int64) error {
	return doriserr.New(doriserr.VersionGone, "tablet %d cannot be cloned from this backend, which has it through version %d and not %d",
		tabletID, through, least)
}

// Read streams the data of Rowsets[i]. It ends with an error instead of io.EOF
// if they are not as the record says.
func (s *CloneSource) Read(ctx context.Context, i int) (io.ReadCloser, error) {
	rs := s.pinned[i]
	if rs.Kind == rowset.File {
		f, err := s.e.fs.Open(s.state.root.file(rs.TabletID, rs.ID), vfs.SequentialReadsOption)
		if isNotExist(err) {
			return nil, s.damage(rs)()
		}
		if err != nil {
			return nil, err
		}
		return &checkedReader{Reader: ctxReader{ctx, f}, Closer: f, left: rs.FileBytes, want: rs.FileChecksum, hash: rowset.NewHash(), note: s.damage(rs)}, nil
	}
	var out []byte
	err := inlineData(ctx, s.db, []*tablet.Rowset{rs}, func(_ *tablet.Rowset, data []byte) bool {
		out = bytes.Clone(data)
		return true
	})
	if err != nil {
		return nil, s.e.noteDamage(s.state, err)
	}
	return io.NopCloser(bytes.NewReader(out)), nil
}

// damage takes down that a file is not as its record says.
func (s *CloneSource) damage(rs *tablet.Rowset) func() error {
	return func() error { return s.e.noteDamage(s.state, damaged(rs, "damaged")) }
}

// Close lets go of what is pinned.
func (s *CloneSource) Close() error {
	if s.state == nil {
		return nil
	}
	s.state.mu.Lock()
	for _, rs := range s.pinned {
		rs.Unref()
	}
	s.state.snapshots--
	s.state.mu.Unlock()
	s.state = nil
	return s.db.Close()
}

// checkedReader fails at the end of a file, or before, if the file is not as
// long as it should be or has another checksum.
type checkedReader struct {
	io.Reader
	io.Closer
	left int64
	want uint32 // 0 = not known
	hash interface {
		io.Writer
		Sum32() uint32
	}
	note func() error // takes the damage down
}

// Read implements io.Reader.
func (r *checkedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if _, herr := r.hash.Write(p[:n]); herr != nil {
		return n, herr
	}
	r.left -= int64(n)
	if r.left < 0 || errors.Is(err, io.EOF) && (r.left != 0 || r.want != 0 && r.hash.Sum32() != r.want) {
		return n, r.note()
	}
	return n, err
}
