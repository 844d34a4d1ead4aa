package groupcommit

import (
	"context"
	"time"

	"dorisgo/block"
	"dorisgo/groupcommit/wal"
)

// Column describes a table's column, in groups and in the WAL's header.
type Column = wal.Column

// Table is a table as a load was planned on it. It must not change once it was
// given to a load. Interval and size are frozen when a group opens.
type Table struct {
	DBID, ID      int64
	Name          string
	Epoch         uint64
	SchemaVersion int32
	Columns       []Column
	// Facts go into the WAL's header: settings the rows were made under.
	Facts []wal.Fact
	// IntervalMs and DataBytes are group_commit_interval_ms and
	// group_commit_data_bytes.
	IntervalMs, DataBytes int
	// Ordered: the table's groups must commit in opening order (UNIQUE without
	// a sequence column; docs/protocol.md, rule 14).
	Ordered bool
	// Def is the caller's own definition; it is passed through to the Sink.
	Def any
}

func (t *Table) interval() time.Duration { return time.Duration(t.IntervalMs) * time.Millisecond }

// Load is one client's load: complete, filtered, converted.
type Load struct {
	Table *Table
	// Async asks for an ack after the WAL's fsync instead of VISIBLE.
	Async bool
	// RequestID is the same on every repeat of one request and on no other
	// (docs/protocol.md, rule 5).
	RequestID [16]byte
	// Encoded are the rows in the block codec, exactly Rows of them. Add does
	// not keep it.
	Encoded []byte
	Rows    int
	// Bytes is what the rows take in memory, the measure of DataBytes and of
	// the memory budget; 0 means len(Encoded).
	Bytes int64
	// Joined, if it is set, is called once when the rows are the queue's: from
	// then on they count in the memory budget here, and the caller may let go
	// of its own copy. It must return soon.
	Joined func()
}

func (l *Load) bytes() int64 { return max(l.Bytes, int64(len(l.Encoded)), 1) }

// Ack answers a load. Label and TxnID are the group's.
type Ack struct {
	Label string
	TxnID int64
	Rows  int
	// Async: the rows are safe and will be visible later.
	Async bool
	// Visible: the rows are visible. Neither: COMMITTED, visibility is late
	// ("Publish Timeout").
	Visible bool
	// Index is a log index at which an FE shows the outcome; 0 if Async.
	Index uint64
	// Switched says why a load that asked for async ran as sync; empty if it
	// did not.
	Switched string
}

// Txn is a group's transaction under one owner.
type Txn struct {
	ID         int64
	Label      string
	OwnerEpoch uint64
	// Replay: the rows were acknowledged long ago; writing them may use what
	// is reserved on a full disk.
	Replay bool
}

// BeginRequest asks for a group's transaction.
type BeginRequest struct {
	Table *Table
	Async bool
	// RequestID makes repeats of this begin one begin.
	RequestID [16]byte
	// Label is group_commit_<16 hex>_<16 hex>.
	Label string
}

// Written is what a Sink's Write tells its Commit; opaque to this package.
type Written any

// Outcome is a decision for COMMITTED.
type Outcome struct {
	Visible bool
	// Index is the log index of the decision that the outcome reports.
	Index uint64
}

// State is what the FSM says of a group whose WAL was found.
type State uint8

// The states.
const (
	// StateUnknown: the FSM knows no such group.
	StateUnknown State = iota
	// StatePrepare: taken over, to be replayed.
	StatePrepare
	StateCommitted
	StateVisible
	StateAborted
	// StateErased: the group's table was erased for good.
	StateErased
	// StateRecycled: its table is in the recycle bin; the WAL waits, uncounted.
	StateRecycled
)

// Sink is the way to transactions and replicas. Its methods are called
// concurrently, and return soon after their context ends.
//
// Begin, Commit, Abort and TakeOver return a decision of the FSM, or an error
// that is none: see decided. They are repeated with the same arguments until
// there is a decision.
type Sink interface {
	// Begin opens the transaction of a group.
	Begin(ctx context.Context, r BeginRequest) (Txn, error)
	// Write builds the rowsets and brings them to a majority of the replicas,
	// durably. An error means that the rows may be there in part, under this
	// owner; they are written again only after a TakeOver.
	Write(ctx context.Context, t Txn, table *Table, rows *block.Block) (Written, error)
	// Commit asks for COMMITTED and waits a while for VISIBLE.
	Commit(ctx context.Context, t Txn, w Written, loadedRows int64) (Outcome, error)
	// Abort ends a transaction; nothing of it was acknowledged. That it is
	// aborted or unknown already is success.
	Abort(ctx context.Context, t Txn, reason string) error
	// TakeOver makes this life of the backend the owner of a group and
	// discards what earlier owners wrote.
	TakeOver(ctx context.Context, h *wal.Header) (Txn, State, error)
	// Convert maps rows of a WAL, whose columns are h.Columns, to the table's
	// present schema by column id.
	Convert(ctx context.Context, h *wal.Header, rows *block.Block) (*Table, *block.Block, error)
	// Release reports that the WALs of groups are gone for good. A group that
	// is unknown or released already is no error.
	Release(ctx context.Context, txnIDs []int64) error
}

// WALReporter may be implemented by a Sink. Recover tells it which groups have
// a WAL on this backend (files set aside as damaged included), before any is
// replayed: a group of an earlier boot epoch that is not among them had nothing
// acknowledged, if no WAL directory is lost (docs/protocol.md, H28).
type WALReporter interface {
	ReportWALs(ctx context.Context, txnIDs []int64) error
}

// StreamWriter may be implemented by a Sink, for loads larger than a group.
type StreamWriter interface {
	// WriteStream is Write for blocks as they come; next returns io.EOF at the
	// end. Any error of next must end it with that error.
	WriteStream(ctx context.Context, t Txn, table *Table, next Stream) (Written, error)
}

// Stream gives the blocks of one load, then io.EOF.
type Stream func(ctx context.Context) (*block.Block, error)
