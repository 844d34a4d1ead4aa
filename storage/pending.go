package storage

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"

	"dorisgo/doriserr"
	"dorisgo/storage/rowset"
)

// PendingRowset is a rowset to be written.
type PendingRowset struct {
	RowsetMeta
	// ReplicaID and FromClone are those of TabletReplica.
	ReplicaID int64
	FromClone bool
	// Data are the rows in the block codec, sorted by (key, ordinal); Bytes and
	// Checksum are of them. They are not kept after the call.
	Data []byte
}

// WritePending stores the rowsets of an undecided transaction: they are durable
// when it returns nil. It costs one batch and one fsync for each root that it
// touches. After an error some may be stored, which Abort removes.
//
// A higher owner epoch discards what earlier owners wrote, and their later
// calls are refused with doriserr.StaleEpoch (docs/protocol.md, rule 4). A
// rowset that is already there is not written again. doriserr.Conflict says that
// this BE has another replica of a tablet than the call names. Below the floor of free
// space the call is refused with doriserr.ExceededLimit, and a tablet that has
// Options.MaxVersions rowsets takes no more until it was compacted.
//
// A write may come after the publish that names its rowsets: what it brings to a
// tablet with a hole is then published, in order, before the call returns.
func (e *Engine) WritePending(ctx context.Context, txnID int64, ownerEpoch uint64, rowsets []PendingRowset) error {
	return e.writePending(ctx, txnID, ownerEpoch, rowsets, false)
}

// WriteReplayed is WritePending for rows that were acknowledged earlier and now
// come out of a WAL: it may use the reserve below the floor of free space, and more
// rowsets than MaxVersions.
func (e *Engine) WriteReplayed(ctx context.Context, txnID int64, ownerEpoch uint64, rowsets []PendingRowset) error {
	return e.writePending(ctx, txnID, ownerEpoch, rowsets, true)
}

func (e *Engine) writePending(ctx context.Context, txnID int64, ownerEpoch uint64, rowsets []PendingRowset, reserve bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range rowsets {
		if err := checkRowset(txnID, &rowsets[i]); err != nil {
			return err
		}
	}
	if err := e.findTablets(rowsets); err != nil {
		return err
	}
	if err := e.storePending(ctx, txnID, ownerEpoch, rowsets, reserve); err != nil {
		return err
	}
	return e.fillWritten(rowsets)
}

func (e *Engine) storePending(ctx context.Context, txnID int64, ownerEpoch uint64, rowsets []PendingRowset, reserve bool) (err error) {
	tx := e.lockTxn(txnID)
	defer e.unlockTxn(tx)
	if ownerEpoch < tx.epoch {
		return doriserr.New(doriserr.StaleEpoch, "transaction %d is owned under epoch %d, which %d is behind", txnID, tx.epoch, ownerEpoch)
	}
	w := &pendingWrite{e: e, tx: tx, epoch: ownerEpoch, reserve: reserve, parts: map[*root]*pendingPart{}}
	defer func() {
		if err != nil {
			w.undo()
		}
	}()
	for i := range rowsets {
		if err := w.add(&rowsets[i]); err != nil {
			return err
		}
	}
	w.discardOlder(len(rowsets) == 0)
	if err := w.writeFiles(ctx); err != nil {
		return err
	}
	return w.commit()
}

func checkRowset(txnID int64, rs *PendingRowset) error {
	switch {
	case rs.ID == RowsetID{} || rs.TxnID != txnID || rs.TabletID == 0 || rs.PartitionID == 0:
		return doriserr.New(doriserr.Internal, "rowset %s of transaction %d names tablet %d, partition %d, transaction %d",
			rs.ID, txnID, rs.TabletID, rs.PartitionID, rs.TxnID)
	case rs.Bytes != int64(len(rs.Data)) || rs.Checksum != rowset.Checksum(rs.Data):
		return corrupt("rowset %s of transaction %d arrived damaged: its checksum differs", rs.ID, txnID)
	}
	return nil
}

// pendingWrite is one call of WritePending.
type pendingWrite struct {
	e       *Engine
	tx      *txn
	epoch   uint64
	reserve bool
	parts   map[*root]*pendingPart
	made    []string // files that this call gave their names

	// The columns that were encoded last: those of all rowsets of a call are
	// mostly one slice.
	last struct {
		columns []ColumnDesc
		encoded []byte
		id      rowset.ColumnsID
	}
}

func (w *pendingWrite) encodeColumns(columns []ColumnDesc) ([]byte, rowset.ColumnsID) {
	l := &w.last
	if len(columns) == 0 || len(l.columns) != len(columns) || &l.columns[0] != &columns[0] {
		l.columns = columns
		l.encoded = rowset.AppendColumns(nil, columns)
		l.id = rowset.HashColumns(l.encoded)
	}
	return l.encoded, l.id
}

// pendingPart is what a call does on one root. err is how it ended.
type pendingPart struct {
	root    *root
	add     []*pendingRowset
	data    [][]byte
	older   []*pendingRowset
	columns map[rowset.ColumnsID][]byte
	decoded map[rowset.ColumnsID][]ColumnDesc
	fence   bool
	err     error
}

func (w *pendingWrite) part(r *root) *pendingPart {
	p := w.parts[r]
	if p == nil {
		p = &pendingPart{root: r, columns: map[rowset.ColumnsID][]byte{}, decoded: map[rowset.ColumnsID][]ColumnDesc{}}
		w.parts[r] = p
	}
	return p
}

// add plans one rowset.
func (w *pendingWrite) add(rs *PendingRowset) error {
	t := w.e.tablet(rs.TabletID)
	if t == nil {
		if l, ok := w.e.lostOf(rs.TabletID); ok {
			return doriserr.New(doriserr.Internal, "tablet %d was lost with storage root %s, which is out of service", rs.TabletID, l.root)
		}
		return errDropped("tablet", rs.TabletID) // since findTablets
	}
	t.mu.Lock()
	dropped, known, versions := t.droppedMs != 0, t.graph.Get(rs.ID) != nil, t.graph.Len()
	t.mu.Unlock()
	if dropped {
		return errDropped("tablet", rs.TabletID)
	}
	if old := w.tx.rowsets[rs.ID]; known || old != nil && old.OwnerEpoch == w.epoch && !old.damaged {
		return nil // a repeated call
	} else if old != nil && old.OwnerEpoch != w.epoch {
		return conflict("rowset %s of transaction %d was written by an earlier owner", rs.ID, rs.TxnID)
	}
	if versions >= w.e.opts.MaxVersions && !w.reserve {
		return doriserr.New(doriserr.TooManyVersions, "failed to init rowset builder. version count: %d, exceed limit: %d, tablet: %d. Please reduce the frequency of loading data or adjust the max_tablet_version_num in be.conf to a larger value.",
			versions, w.e.opts.MaxVersions, t.id)
	}
	p := w.part(t.root)
	if slices.ContainsFunc(p.add, func(other *pendingRowset) bool { return other.ID == rs.ID }) {
		return conflict("rowset %s of transaction %d is given twice", rs.ID, rs.TxnID)
	}
	encoded, id := w.encodeColumns(rs.Columns)
	rec := rowset.Record{Meta: rs.RowsetMeta, ColumnsID: id, Kind: rowset.Inline, OwnerEpoch: w.epoch}
	if cols, ok := t.root.columns(rec.ColumnsID); ok {
		rec.Columns = cols
	} else if cols, ok := p.decoded[rec.ColumnsID]; ok {
		rec.Columns = cols
	} else {
		rec.Columns = slices.Clone(rs.Columns)
		p.columns[rec.ColumnsID], p.decoded[rec.ColumnsID] = encoded, rec.Columns
	}
	p.add = append(p.add, &pendingRowset{Record: rec, tablet: t})
	p.data = append(p.data, rs.Data)
	return nil
}

// discardOlder plans the removal of what earlier owners wrote. empty says that
// the owner has no rows.
func (w *pendingWrite) discardOlder(empty bool) {
	if w.epoch == w.tx.epoch {
		return
	}
	for _, old := range w.tx.rowsets {
		if old.OwnerEpoch < w.epoch {
			p := w.part(old.tablet.root)
			p.older = append(p.older, old)
		}
	}
	// The epoch of a new rowset fences the earlier owners off; without one it
	// takes a record.
	fenced := false
	for _, p := range w.parts {
		p.fence = len(p.add) == 0
		fenced = fenced || len(p.add) > 0
	}
	if !fenced && len(w.parts) == 0 && (empty || w.tx.epoch > 0) {
		w.part(w.e.homeRoot(w.tx.id)).fence = true
	}
}

// writeFiles decides which rowsets are too large for Pebble and writes those.
func (w *pendingWrite) writeFiles(ctx context.Context) error {
	for _, p := range w.parts {
		order := make([]int, len(p.add))
		var total, inline int64
		for i, rs := range p.add {
			order[i] = i
			total += rs.Bytes
		}
		if err := w.e.checkSpace(p.root, total, w.reserve); err != nil {
			return err
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(p.add[a].Bytes - p.add[b].Bytes) })
		for _, i := range order {
			rs := p.add[i]
			if rs.Bytes < w.e.opts.InlineLimitBytes && inline+rs.Bytes <= w.e.opts.InlineBatchBytes {
				inline += rs.Bytes
				continue
			}
			if err := w.writeFile(ctx, rs, p.data[i]); err != nil {
				return err
			}
			p.data[i] = nil
		}
	}
	return nil
}

func (w *pendingWrite) writeFile(ctx context.Context, rs *pendingRowset, data []byte) error {
	spec := &FileSpec{Columns: rs.Columns, Rows: rs.Rows, Chunks: func(yield func([]byte, error) bool) { yield(data, nil) }}
	if err := w.e.writeFile(ctx, rs.tablet, &rs.Record, spec); err != nil {
		return err
	}
	w.made = append(w.made, rs.tablet.root.file(rs.TabletID, rs.ID))
	return nil
}

// undo removes the files of a call that failed before it committed anything.
func (w *pendingWrite) undo() {
	for _, path := range w.made {
		w.e.roots[0].unlink(path)
	}
}

// commit writes every root's batch, at the same time, and takes what became
// durable into memory. After an error the files stay: the batch that failed may
// be durable all the same.
func (w *pendingWrite) commit() error {
	w.made = nil
	w.e.dropMu.RLock()
	defer w.e.dropMu.RUnlock()
	var g errgroup.Group
	for _, p := range w.parts {
		if len(w.parts) == 1 {
			p.err = p.commit(w)
			break
		}
		g.Go(func() error {
			p.err = p.commit(w)
			return nil
		})
	}
	err := g.Wait()
	for _, p := range w.parts {
		if p.err == nil {
			w.tx.epoch = w.epoch
			p.done(w.tx)
		}
		err = errors.Join(err, p.err)
	}
	return err
}

func (p *pendingPart) commit(w *pendingWrite) error {
	b := p.root.db.NewBatch()
	defer b.Close()
	var errs []error
	set := func(k, v []byte) { errs = append(errs, b.Set(k, v, nil)) }
	for id, encoded := range p.columns {
		set(columnsKey(id), encoded)
	}
	for _, old := range p.older {
		errs = append(errs, deletePending(b, old))
	}
	if p.fence {
		set(key(keyOwner, w.tx.id), encodeOwner(w.epoch))
	}
	var buf []byte
	for i, rs := range p.add {
		rs.tablet.mu.Lock()
		if rs.tablet.droppedMs != 0 {
			errs = append(errs, errDropped("tablet", rs.TabletID))
		}
		rs.tablet.mu.Unlock()
		buf = rowset.AppendRecord(buf[:0], &rs.Record)
		set(pendingKey(rs.TxnID, rs.TabletID, rs.ID), buf)
		if rs.Kind == rowset.Inline {
			set(dataKey(rs.TabletID, rs.TxnID, rs.ID), p.data[i])
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.root.applySync(b)
}

func deletePending(b *pebble.Batch, rs *pendingRowset) error {
	err := b.Delete(pendingKey(rs.TxnID, rs.TabletID, rs.ID), nil)
	if rs.Kind == rowset.Inline {
		err = errors.Join(err, b.Delete(dataKey(rs.TabletID, rs.TxnID, rs.ID), nil))
	}
	return err
}

// done takes a durable part into memory.
func (p *pendingPart) done(tx *txn) {
	for id, cols := range p.decoded {
		p.root.addColumns(id, cols)
	}
	for _, old := range p.older {
		delete(tx.rowsets, old.ID)
		if old.Kind == rowset.File {
			p.root.unlink(p.root.file(old.TabletID, old.ID))
		}
	}
	if p.fence {
		tx.fenced[p.root] = struct{}{}
	}
	for _, rs := range p.add {
		tx.rowsets[rs.ID] = rs
	}
}
