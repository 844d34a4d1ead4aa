package sink

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/storage/rowset"
)

// Write builds the rowsets of rows and stores them on every replica: it succeeds
// if a majority of each tablet's replicas has them durably, and waits a little
// for the others, since a replica that is left behind has a hole. An error is
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
	start := time.Now()
	built, err := w.build(ctx, rows)
	if err != nil {
		return err
	}
	w.s.observe("build", start)
	start = time.Now()
	w.send(ctx, built)
	w.s.observe("write", start)
	for i := range built {
		if err := w.note(&built[i]); err != nil {
			return err
		}
	}
	w.rows += int64(rows.Rows())
	return nil
}

func (w *write) build(ctx context.Context, rows *block.Block) ([]builtRowset, error) {
	workers := runtime.GOMAXPROCS(0)
	if w.stream {
		workers = 1 // the load's other blocks are built at the same time
		if err := w.s.builds.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer w.s.builds.Release(1)
	}
	return build(w.t, rows, workers, w.partID)
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

// tabletWrite adds a rowset to what its tablet got.
func (w *write) tabletWrite(b *builtRowset) *tabletWrite {
	tw := w.tablets[b.tablet.ID]
	if tw == nil {
		tw = &tabletWrite{id: rowset.ID(b.rowset.Id), partition: b.rowset.PartitionId}
		tw.TabletId, tw.RowsetId, tw.Checksum = b.tablet.ID, b.rowset.Id, b.rowset.Checksum
		w.tablets[b.tablet.ID] = tw
	}
	tw.Rows += b.rowset.Rows
	tw.Parts++
	tw.sums = binary.LittleEndian.AppendUint32(tw.sums, b.rowset.Checksum)
	return tw
}

func notWritten(tablet int64, written, replicas int, cause error) error {
	err := fmt.Errorf("tablet %d has %d of %d replicas written, fewer than a majority: %w", tablet, written, replicas, cause)
	if doriserr.Is(cause, doriserr.Unknown) {
		return doriserr.New(doriserr.NoBackend, "%s", err)
	}
	return err
}

// sort brings the backends, and the replicas on them, into order.
func (tw *tabletWrite) sort() {
	ids := make(map[int64]int64, len(tw.Backends))
	for i, b := range tw.Backends {
		ids[b] = tw.Replicas[i]
	}
	slices.Sort(tw.Backends)
	for i, b := range tw.Backends {
		tw.Replicas[i] = ids[b]
	}
}

// written is what the commit names, tablets in the order of their ids.
func (w *write) written() *Written {
	out := &Written{Rows: w.rows}
	byPartition := map[int64]*fepb.PartitionWrite{}
	for _, tw := range w.tablets {
		tw.sort()
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
