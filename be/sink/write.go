package sink

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/storage/rowset"
)

// Write builds the rowsets of rows and stores them on every replica: it waits
// for all of them, since a replica that is left behind has a hole, and succeeds
// if a majority of each tablet's replicas has them durably. An error is
// definite, never Unknown: without a commit nothing of it can become visible.
// replay says that the rows were acknowledged earlier.
func (s *Sink) Write(ctx context.Context, tx Txn, t *meta.Table, rows *block.Block, replay bool) (*Written, error) {
	w := newWrite(s, tx, t, replay)
	if err := w.add(ctx, rows); err != nil {
		return nil, err
	}
	return w.written(), nil
}

// write is what one transaction writes, a block at a time. One goroutine uses
// it at a time.
type write struct {
	s       *Sink
	tx      Txn
	t       *meta.Table
	replay  bool
	stream  bool
	columns []*bepb.ColumnDesc
	tablets map[int64]*tabletWrite
	rows    int64
	// failed are the backends that refused a rowset: they have holes, and get
	// nothing more of this transaction.
	failed map[int64]error
}

// tabletWrite is what a tablet got so far.
type tabletWrite struct {
	fepb.TabletWrite
	partition int64
	id        rowset.ID
	sums      []byte // the checksums of all parts, if there are several
}

func newWrite(s *Sink, tx Txn, t *meta.Table, replay bool) *write {
	return &write{
		s: s, tx: tx, t: t, replay: replay, columns: columns(t),
		tablets: map[int64]*tabletWrite{}, failed: map[int64]error{},
	}
}

// add writes a block as one more rowset of each tablet that it has rows for.
// After an error the transaction can only be aborted.
func (w *write) add(ctx context.Context, rows *block.Block) error {
	built, err := w.build(ctx, rows)
	if err != nil {
		return err
	}
	w.send(ctx, built)
	for i := range built {
		if err := w.note(&built[i]); err != nil {
			return err
		}
	}
	w.rows += int64(rows.Rows())
	return nil
}

func (w *write) build(ctx context.Context, rows *block.Block) ([]builtRowset, error) {
	if w.stream {
		if err := w.s.builds.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer w.s.builds.Release(1)
	}
	return build(w.t, rows, w.partID)
}

// partID is the id of the next rowset of a tablet.
func (w *write) partID(tablet int64) (rowset.ID, error) {
	if tw := w.tablets[tablet]; tw != nil {
		return tw.id.Part(tw.Parts), nil
	}
	var id rowset.ID
	if _, err := io.ReadFull(w.s.random, id[:]); err != nil {
		return id, fmt.Errorf("cannot make a rowset id: %w", err)
	}
	return id, nil
}

// send gives every backend its rowsets, all at once, and waits for all of them.
func (w *write) send(ctx context.Context, built []builtRowset) {
	rowsets := map[int64][]*bepb.Rowset{}
	for i := range built {
		for _, r := range built[i].tablet.Replicas {
			if w.failed[r.BackendID] == nil {
				rowsets[r.BackendID] = append(rowsets[r.BackendID], built[i].rowset)
			}
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for backend, list := range rowsets {
		wg.Go(func() {
			err := w.s.writer.WriteRowsets(ctx, backend, &bepb.WriteRowsetsRequest{
				TxnId: w.tx.ID, OwnerEpoch: w.tx.OwnerEpoch, TableId: w.t.ID, SchemaVersion: w.t.SchemaVersion,
				Columns: w.columns, Rowsets: list, Replay: w.replay,
			})
			if err != nil {
				mu.Lock()
				w.failed[backend] = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// note records a rowset for the commit; it is an error if fewer than a majority
// of its tablet's replicas have all of the transaction.
func (w *write) note(b *builtRowset) error {
	tw := w.tablets[b.tablet.ID]
	first := tw == nil
	if first {
		tw = &tabletWrite{id: rowset.ID(b.rowset.Id), partition: b.rowset.PartitionId}
		tw.TabletId, tw.RowsetId, tw.Checksum = b.tablet.ID, b.rowset.Id, b.rowset.Checksum
		w.tablets[b.tablet.ID] = tw
	}
	tw.Rows += b.rowset.Rows
	tw.Parts++
	tw.sums = binary.LittleEndian.AppendUint32(tw.sums, b.rowset.Checksum)
	var cause error
	for _, r := range b.tablet.Replicas {
		switch err := w.failed[r.BackendID]; {
		case err == nil && first:
			tw.Backends = append(tw.Backends, r.BackendID)
		case err != nil:
			cause = fmt.Errorf("backend %d: %w", r.BackendID, err)
			tw.Backends = slices.DeleteFunc(tw.Backends, func(id int64) bool { return id == r.BackendID })
		}
	}
	if len(tw.Backends) < len(b.tablet.Replicas)/2+1 {
		return notWritten(tw.TabletId, len(tw.Backends), len(b.tablet.Replicas), cause)
	}
	if cause != nil {
		w.s.log.Warn("a replica was not written", "txn_id", w.tx.ID, "tablet_id", tw.TabletId, "err", cause)
	}
	return nil
}

func notWritten(tablet int64, written, replicas int, cause error) error {
	err := fmt.Errorf("tablet %d has %d of %d replicas written, fewer than a majority: %w", tablet, written, replicas, cause)
	if doriserr.Is(cause, doriserr.Unknown) {
		return doriserr.New(doriserr.NoBackend, "%s", err)
	}
	return err
}

// written is what the commit names, tablets in the order of their ids.
func (w *write) written() *Written {
	out := &Written{Rows: w.rows}
	byPartition := map[int64]*fepb.PartitionWrite{}
	for _, tw := range w.tablets {
		slices.Sort(tw.Backends)
		if tw.Parts > 1 {
			tw.Checksum = crc32.Checksum(tw.sums, castagnoli)
		} else {
			tw.Parts = 0
		}
		p := byPartition[tw.partition]
		if p == nil {
			p = &fepb.PartitionWrite{PartitionId: tw.partition}
			byPartition[tw.partition] = p
			out.Partitions = append(out.Partitions, p)
		}
		p.Tablets = append(p.Tablets, &tw.TabletWrite)
	}
	slices.SortFunc(out.Partitions, func(a, b *fepb.PartitionWrite) int { return cmp.Compare(a.PartitionId, b.PartitionId) })
	for _, p := range out.Partitions {
		slices.SortFunc(p.Tablets, func(a, b *fepb.TabletWrite) int { return cmp.Compare(a.TabletId, b.TabletId) })
	}
	return out
}
