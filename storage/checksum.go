package storage

import (
	"context"
	"errors"
)

// ContentSum tells whether two replicas have the same rows, however they are
// laid out: it is Codec.SumRows of all of them.
type ContentSum struct {
	Sum  uint64
	Rows int64
}

// Checksum reads all rows that a replica has at a version. Its errors are those
// of Snapshot; doriserr.Conflict says that this BE has another replica.
func (e *Engine) Checksum(ctx context.Context, partitionID, tabletID, replicaID, version int64) (out ContentSum, err error) {
	if t := e.tablet(tabletID); t != nil && !t.isReplica(replicaID) {
		return out, conflict("this backend has another replica of tablet %d than %d", tabletID, replicaID)
	}
	s, err := e.Snapshot(ctx, partitionID, tabletID, version)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	add := func(spec *FileSpec) error {
		sum, rows, err := e.opts.Codec.SumRows(ctx, spec)
		if err == nil && rows != spec.Rows {
			err = corrupt("tablet %d has %d rows where %d were written", tabletID, rows, spec.Rows)
		}
		out.Sum += sum
		out.Rows += rows
		return err
	}
	for in, err := range s.Inline(ctx) {
		if err == nil {
			one := func(yield func([]byte, error) bool) { yield(in.Data, nil) }
			err = add(&FileSpec{Columns: in.Columns, Rows: in.Rows, Chunks: one})
		}
		if err != nil {
			return out, err
		}
	}
	for _, f := range s.Files() {
		if err := add(&FileSpec{Columns: f.Columns, Rows: f.Rows, Files: []File{f}}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Distrust takes a replica out of service as a whole, durably, because most
// others agree on other rows: it has a hole at version 2 that only a clone fills,
// which replaces all that is there. doriserr.Conflict says that this BE has
// another replica.
func (e *Engine) Distrust(_ context.Context, partitionID int64, r TabletReplica) error {
	part := e.partition(partitionID)
	r.FromClone = true // so that one of which nothing is here lacks everything
	if err := e.findIn(part, []TabletReplica{r}); err != nil {
		return err
	}
	part.mu.Lock()
	defer part.mu.Unlock()
	e.dropMu.RLock()
	defer e.dropMu.RUnlock()
	t := e.tablet(r.TabletID)
	if t == nil || t.isDropped() {
		return errDropped("tablet", r.TabletID)
	}
	b := t.root.db.NewBatch()
	defer b.Close()
	err := t.record(b, func(rec *tabletRecord) { rec.hole, rec.added = 2, true })
	if err == nil {
		err = t.root.applySync(b)
	}
	if err != nil {
		return err
	}
	t.setHole(2)
	t.mu.Lock()
	t.added = true
	t.mu.Unlock()
	e.opts.Logger.Error("tablet is out of service on this backend: its rows are not those of the other replicas",
		"tablet_id", t.id, "replica_id", r.ReplicaID, "root", t.root.path)
	return nil
}
