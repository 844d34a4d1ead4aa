package storage

import (
	"context"
	"fmt"

	"dorisgo/storage/rowset"
	"dorisgo/storage/tablet"
)

// recover takes what a root holds into memory. All of it is durable: Pebble
// has written what it found in its log to tables before it opened.
func (e *Engine) recover(ctx context.Context, r *root) error {
	rec := &recovery{e: e, r: r}
	for _, s := range []struct {
		letter byte
		load   func(k, v []byte) error
	}{
		{keyColumns, rec.column},
		{keyTablet, rec.tablet},
		{keyRemoved, rec.removed},
		{keyPartition, rec.partition},
		{keyEntry, rec.entry},
		{keyLive, rec.live},
		{keyReplaced, rec.replace},
		{keyPending, rec.pending},
		{keyOwner, rec.owner},
	} {
		if err := r.scan(ctx, s.letter, s.load); err != nil {
			return err
		}
	}
	if err := rec.dropReplaced(); err != nil {
		return err
	}
	return rec.files()
}

type recovery struct {
	e        *Engine
	r        *root
	replaced []replacedRowset
	// named are the rowsets with a file, by tablet.
	named map[int64]map[string]namedFile
}

// namedFile is a file that a record names.
type namedFile struct {
	bytes   int64
	damaged *bool // of the rowset
}

type replacedRowset struct {
	rowset.Record
	gen uint32
}

func (rec *recovery) column(k, v []byte) error {
	cols, err := rowset.DecodeColumns(v)
	if err != nil {
		return err
	}
	id := rowset.ColumnsID(k[1:])
	if rowset.HashColumns(v) != id {
		return corrupt("column list %s is damaged", id)
	}
	rec.r.addColumns(id, cols)
	return nil
}

func (rec *recovery) tablet(k, v []byte) error {
	t, err := decodeTablet(v)
	if err != nil {
		return err
	}
	id := keyNum(k, 0)
	if other := rec.e.tablets[id]; other != nil {
		return corrupt("tablet %d is in root %s as well", id, other.root.path)
	}
	state := &tabletState{id: id, root: rec.r, tabletRecord: t, recorded: true}
	state.lasting.Store(true)
	rec.e.tablets[id] = state
	rec.r.tablets.Add(1)
	return nil
}

func (rec *recovery) removed(k, v []byte) error {
	partitionID, err := decodeRemoved(v)
	if err == nil {
		rec.e.noteRemoved(keyNum(k, 0), keyNum(k, 1), partitionID)
	}
	return err
}

func (rec *recovery) partition(k, v []byte) error {
	p, err := decodePartition(v)
	if err != nil {
		return err
	}
	part := rec.e.partition(keyNum(k, 0))
	h := newHome(rec.r, p.floor)
	h.partitionRecord = p
	part.homes[rec.r.index] = h
	part.dropped = part.dropped || p.droppedMs != 0
	return nil
}

func (rec *recovery) entry(k, v []byte) error {
	id, version := keyNum(k, 0), keyNum(k, 1)
	h := rec.e.partition(id).homes[rec.r.index]
	if h == nil || version != h.through+1 {
		return corrupt("the publish entries of partition %d have a hole before version %d", id, version)
	}
	if _, err := decodeEntry(v); err != nil {
		return err
	}
	h.through = version
	h.durable.Store(version)
	return nil
}

// record decodes a rowset record and finds its tablet, nil if the tablet was
// dropped.
func (rec *recovery) record(v []byte) (r rowset.Record, t *tabletState, err error) {
	r, err = rowset.DecodeRecord(v)
	if err != nil {
		return r, nil, err
	}
	t = rec.e.tablets[r.TabletID]
	cols, ok := rec.r.columns(r.ColumnsID)
	if t == nil || t.root != rec.r || !ok {
		return r, nil, corrupt("rowset %s has no tablet record or no columns", r.ID)
	}
	r.Columns = cols
	if t.droppedMs != 0 {
		t = nil
	}
	return r, t, nil
}

func (rec *recovery) live(_, v []byte) error {
	r, t, err := rec.record(v)
	if err != nil || t == nil {
		return err
	}
	node := &tablet.Rowset{Record: r}
	rec.name(&r, &node.Damaged)
	return t.graph.Add(node)
}

// name notes that a file is known; damaged is set if the file is missing or has
// another length.
func (rec *recovery) name(r *rowset.Record, damaged *bool) {
	if r.Kind != rowset.File {
		return
	}
	if rec.named == nil {
		rec.named = map[int64]map[string]namedFile{}
	}
	if rec.named[r.TabletID] == nil {
		rec.named[r.TabletID] = map[string]namedFile{}
	}
	rec.named[r.TabletID][rec.r.fs.PathBase(rec.r.file(r.TabletID, r.ID))] = namedFile{r.FileBytes, damaged}
}

func (rec *recovery) replace(_, v []byte) error {
	r, t, err := rec.record(v)
	if err == nil && t != nil {
		rec.replaced = append(rec.replaced, replacedRowset{r, t.gen})
		rec.name(&r, new(bool))
	}
	return err
}

func (rec *recovery) pending(k, v []byte) error {
	r, t, err := rec.record(v)
	if err != nil {
		return err
	}
	rs := &pendingRowset{Record: r, tablet: rec.e.tablets[r.TabletID]}
	if t != nil {
		rec.name(&r, &rs.damaged)
	}
	tx := rec.e.lockTxn(keyNum(k, 0))
	tx.rowsets[r.ID] = rs
	tx.epoch = max(tx.epoch, r.OwnerEpoch)
	rec.e.unlockTxn(tx)
	return nil
}

func (rec *recovery) owner(k, v []byte) error {
	epoch, err := decodeOwner(v)
	if err != nil {
		return err
	}
	tx := rec.e.lockTxn(keyNum(k, 0))
	tx.fenced[rec.r] = struct{}{}
	tx.epoch = max(tx.epoch, epoch)
	rec.e.unlockTxn(tx)
	return nil
}

// dropReplaced removes what was replaced before the start: nobody reads it any
// more, and the decision is durable.
func (rec *recovery) dropReplaced() error {
	if len(rec.replaced) == 0 {
		return nil
	}
	b := rec.r.db.NewBatch()
	defer b.Close()
	for i := range rec.replaced {
		if err := deleteReplaced(b, rec.replaced[i].gen, &rec.replaced[i].Record); err != nil {
			return err
		}
	}
	if err := rec.r.applySync(b); err != nil {
		return err
	}
	for i := range rec.replaced {
		if old := &rec.replaced[i]; old.Kind == rowset.File {
			rec.r.unlink(rec.r.file(old.TabletID, old.ID))
			delete(rec.named[old.TabletID], rec.r.fs.PathBase(rec.r.file(old.TabletID, old.ID)))
		}
	}
	return nil
}

// settle ends the recovery once every root was read.
func (e *Engine) settle(ctx context.Context) error {
	if err := e.settleReturned(); err != nil {
		return fmt.Errorf("cannot take a storage root back: %w", err)
	}
	for _, p := range e.partitions {
		p.mu.Lock()
		p.advance()
		p.mu.Unlock()
	}
	for _, t := range e.tabletsSorted() {
		if t.isDropped() && e.beingRemoved(t) {
			if err := e.RemoveReplica(ctx, t.id, t.replica); err != nil {
				return err
			}
			continue
		}
		if err := e.fillTablet(t); err != nil {
			return fmt.Errorf("cannot publish what tablet %d lacked: %w", t.id, err)
		}
		t.mu.Lock()
		t.recount()
		t.mu.Unlock()
		e.wantFlush(t)
		e.compact.want(t.id)
	}
	return nil
}
