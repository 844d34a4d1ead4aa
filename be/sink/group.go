package sink

import (
	"context"
	"fmt"
	"time"

	"dorisgo/be/catalog"
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/query/exec"
	"dorisgo/rpc/fepb"
	"dorisgo/storage"
	"dorisgo/value"
)

// groupTimeout is the least time that a group's transaction may take, the
// floor of Doris' rule max(interval × group_commit_timeout_multipler, 600 s).
const groupTimeout = 600 * time.Second

// Groups is a Sink for package groupcommit. A Table's Def is its *meta.Table.
type Groups struct {
	*Sink
	Catalog *catalog.Catalog
	// TimeoutMultiplier is group_commit_timeout_multipler.
	TimeoutMultiplier int64
}

var _ groupcommit.Sink = Groups{}

// GroupTable describes a table for package groupcommit.
func GroupTable(t *meta.Table) *groupcommit.Table {
	cols := make([]groupcommit.Column, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		cols[i] = groupcommit.Column{UniqueID: c.UniqueID, Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return &groupcommit.Table{
		DBID: t.DBID, ID: t.ID, Name: t.Name, Epoch: t.Epoch, SchemaVersion: t.SchemaVersion, Columns: cols,
		IntervalMs: int(t.Props.GroupCommitIntervalMs), DataBytes: int(t.Props.GroupCommitDataBytes),
		Ordered: t.Keys != meta.DuplicateKeys && t.Props.SequenceCol == "", Def: t,
	}
}

// Begin implements groupcommit.Sink.
func (g Groups) Begin(ctx context.Context, r groupcommit.BeginRequest) (groupcommit.Txn, error) {
	timeout := max(groupTimeout, time.Duration(int64(r.Table.IntervalMs)*max(g.TimeoutMultiplier, 1))*time.Millisecond)
	tx, err := g.Sink.Begin(ctx, &fepb.BeginRequest{
		RequestId: r.RequestID[:], DbId: r.Table.DBID, TableId: r.Table.ID, TableEpoch: r.Table.Epoch, SchemaVersion: r.Table.SchemaVersion,
		Label: r.Label, Group: true, Async: r.Async, TimeoutMs: timeout.Milliseconds(), Source: int32(txn.InsertStreaming),
		IntervalMs: int64(r.Table.IntervalMs),
	})
	return groupcommit.Txn{ID: tx.ID, Label: tx.Label, OwnerEpoch: tx.OwnerEpoch}, err
}

func plain(t groupcommit.Txn) Txn { return Txn{ID: t.ID, Label: t.Label, OwnerEpoch: t.OwnerEpoch} }

// Write implements groupcommit.Sink.
func (g Groups) Write(ctx context.Context, t groupcommit.Txn, table *groupcommit.Table, rows *block.Block) (groupcommit.Written, error) {
	def, ok := table.Def.(*meta.Table)
	if !ok {
		return nil, fmt.Errorf("BUG: table %s has no definition", table.Name)
	}
	// Placement may have changed since the group opened.
	if now, ok := g.Catalog.TableByID(def.ID); ok && now.SchemaVersion == def.SchemaVersion {
		def = now
	}
	return g.Sink.Write(ctx, plain(t), def, rows, t.Replay)
}

// Commit implements groupcommit.Sink.
func (g Groups) Commit(ctx context.Context, t groupcommit.Txn, w groupcommit.Written, _ int64) (groupcommit.Outcome, error) {
	out, err := g.Sink.Commit(ctx, plain(t), w.(*Written), 0, g.VisibleWait)
	if err != nil {
		return groupcommit.Outcome{}, err
	}
	switch out.State {
	case txn.Visible, txn.Committed:
		return groupcommit.Outcome{Visible: out.State == txn.Visible, Index: out.Index}, nil
	}
	return groupcommit.Outcome{}, doriserr.New(doriserr.TxnState, "transaction [%d] is already %s, could not commit.", t.ID, out.State)
}

// Abort implements groupcommit.Sink.
func (g Groups) Abort(ctx context.Context, t groupcommit.Txn, reason string) error {
	err := g.Sink.Abort(ctx, plain(t), reason)
	if doriserr.Is(err, doriserr.TxnNotFound) {
		return nil
	}
	return err
}

// TakeOver implements groupcommit.Sink.
func (g Groups) TakeOver(ctx context.Context, h *wal.Header) (groupcommit.Txn, groupcommit.State, error) {
	tx, state, fate, err := g.Sink.TakeOver(ctx, h.TxnID)
	if doriserr.Is(err, doriserr.TxnNotFound) {
		return groupcommit.Txn{}, groupcommit.StateUnknown, nil
	}
	if err != nil {
		return groupcommit.Txn{}, 0, err
	}
	out := groupcommit.Txn{ID: tx.ID, Label: tx.Label, OwnerEpoch: tx.OwnerEpoch, Replay: true}
	switch state {
	case txn.Committed:
		return out, groupcommit.StateCommitted, nil
	case txn.Visible:
		return out, groupcommit.StateVisible, nil
	case txn.Aborted:
		return out, groupcommit.StateAborted, nil
	}
	switch fate {
	case fepb.TableFate_TABLE_RECYCLED:
		return out, groupcommit.StateRecycled, nil
	case fepb.TableFate_TABLE_ERASED:
		return out, groupcommit.StateErased, nil
	}
	return out, groupcommit.StatePrepare, nil
}

// Convert implements groupcommit.Sink.
func (g Groups) Convert(ctx context.Context, h *wal.Header, rows *block.Block) (*groupcommit.Table, *block.Block, error) {
	var t *meta.Table
	err := g.Catalog.Until(ctx, func() bool {
		_, loaded := g.Catalog.Index()
		t, _ = g.Catalog.TableByID(h.TableID)
		return loaded && t != nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("table %d: %w", h.TableID, err)
	}
	have := make([]storage.ColumnDesc, len(h.Columns))
	same := len(h.Columns) == len(t.Columns)
	for i, c := range h.Columns {
		have[i] = storage.ColumnDesc{UniqueID: c.UniqueID, Name: c.Name, Type: c.Type, Nullable: c.Nullable}
		same = same && c.UniqueID == t.Columns[i].UniqueID && c.Type == t.Columns[i].Type
	}
	if same {
		return GroupTable(t), rows, nil
	}
	out, err := exec.Project(rows, have, columns(t))
	return GroupTable(t), out, err
}

// ReportWALs implements groupcommit.WALReporter: the registration has told the
// FE already.
func (g Groups) ReportWALs(context.Context, []int64) error { return nil }

// Types are a table's column types in order.
func Types(t *meta.Table) []value.Type {
	out := make([]value.Type, len(t.Columns))
	for i := range t.Columns {
		out[i] = t.Columns[i].Type
	}
	return out
}
