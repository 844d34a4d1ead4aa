package behttp

import (
	"context"
	"fmt"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
)

// Loader is what Stream Load needs of the backend: who may load, what the
// table looks like, and where blocks go. Package be implements it. Every method
// may be called concurrently. Errors that reach a client are *doriserr.Error;
// their kind chooses the code in brackets of the reply's Message.
type Loader interface {
	// Authenticate checks a login by Basic authentication, or the cluster
	// token if it is not empty (then user and password may be empty). User has
	// already lost its "@cluster". An AccessDenied error becomes HTTP 401.
	Authenticate(ctx context.Context, user, password, token string) error

	// Plan resolves a table and checks that user may load into it (user is
	// empty for a token login, which may load everywhere). It must not wait for
	// another node: it reads the BE's catalog copy.
	Plan(ctx context.Context, user, db, table string) (*Plan, error)

	// GroupCommit adds one complete load to a group and returns when it may be
	// acknowledged: async after its WAL record is on disk, sync after the group
	// is visible. It refuses a blocked table with a Blocked error and an old
	// schema with SchemaChanged (the load is then planned and decoded again by
	// the client). Ownership of the blocks passes to the callee.
	GroupCommit(ctx context.Context, l *GroupLoad) (GroupResult, error)

	// Normal runs a load as a transaction of its own. It begins the transaction
	// before it asks for the first block (so that a used label is refused before
	// any byte of the body is read), aborts it on any error of Blocks and returns
	// that error unchanged, and commits also when there is no row at all. The
	// result's TxnID is set whenever a transaction was begun, with an error too.
	// A used label is a *LabelExistsError. With TwoPhase it ends pre-committed
	// instead of committed, and Visible says nothing.
	Normal(ctx context.Context, l *NormalLoad) (NormalResult, error)

	// FinishTwoPhase commits or aborts what a load with TwoPhase left, wherever it
	// ran, and checks that user may load into its database (empty for a token
	// login). A commit returns when the rows are visible, or committed and late.
	// An Unknown error means that it may have been decided.
	FinishTwoPhase(ctx context.Context, user string, f *TwoPhase) error
}

// TwoPhase is a second phase: of a transaction by id, by label, or by both,
// which then must fit.
type TwoPhase struct {
	RequestID [16]byte
	DB        string
	TxnID     int64 // 0 if only the label is given
	Label     string
	Commit    bool
}

// Plan is a table as it was when a load was planned, immutable.
type Plan struct {
	DBID   int64
	DBName string
	Table  *meta.Table
	// Location is the cluster's time_zone: that of a load without a timezone
	// header. Nil means UTC.
	Location *time.Location
	// Blocked says that a schema change blocks new groups of this table: a
	// group commit load is refused with BlockedText before its body is read.
	Blocked bool
}

// Blocks is a pull source of blocks in the order of the body. Next is called by
// one goroutine at a time. It returns io.EOF after the last block and any
// other error if the load must fail; it waits for the client's bytes no longer
// than ctx and the request's own deadline. Ownership of a block passes to the
// caller. A block has at least one row, and all columns of the table in table
// order, defaults evaluated.
type Blocks interface {
	Next(ctx context.Context) (*block.Block, error)
}

// GroupLoad is one load for group commit, already filtered.
type GroupLoad struct {
	Plan *Plan
	// RequestID is the same over every hop and retry of this request
	// (docs/protocol.md, rule 5).
	RequestID [16]byte
	// Async asks for async_mode. The callee may run the load as sync (disk
	// space); the result tells.
	Async bool
	// Block holds all rows, at least one; nil if Own is set.
	Block *block.Block
	// Own is set instead of Block for a load that outgrew
	// group_commit_data_bytes: it runs as sync in a group of its own, streamed
	// into pending rowsets, and never joins another group. An error of Own.Next
	// aborts that group (docs/protocol.md, rule 9).
	Own Blocks
	// ContentLength is the announced body size in bytes, -1 for a chunked body:
	// the hint for WAL space.
	ContentLength int64
	// Admitted, if the callee calls it, says that the block's memory is now the
	// queue's to account for; without the call the load's share of the memory for
	// waiting bodies is held until GroupCommit returns. It may be called once.
	Admitted func()
}

// GroupResult is the acknowledgement of a GroupLoad.
type GroupResult struct {
	// Label and TxnID are those of the group.
	Label string
	TxnID int64
	// Async is false if a load that asked for async_mode ran as sync.
	Async bool
	// Visible is true for a sync load whose group is visible. A sync load that
	// is committed and not yet visible in time has Async and Visible false, and
	// is reported as Publish Timeout.
	Visible bool
}

// NormalLoad is a load with a transaction and label of its own.
type NormalLoad struct {
	Plan  *Plan
	Label string
	// RequestID makes a repeated begin find its own transaction.
	RequestID [16]byte
	// TwoPhase leaves the decision to FinishTwoPhase.
	TwoPhase bool
	// Timeout is the transaction's, at least one second; ctx ends with it too.
	Timeout time.Duration
	// Blocks are the rows.
	Blocks Blocks
	// Counts tells the loaded and filtered rows for the transaction's record;
	// it is valid once Blocks.Next returned io.EOF.
	Counts func() (loaded, filtered int64)
	// ClientAddr is for logs and the coordinator text.
	ClientAddr string
}

// NormalResult is the outcome of a NormalLoad.
type NormalResult struct {
	// TxnID is 0 if no transaction was begun.
	TxnID int64
	// Visible is false if the transaction is committed and was not published in
	// time (Publish Timeout).
	Visible bool
	// BeginTime and CommitTime (commit and publish) are for the reply.
	BeginTime  time.Duration
	CommitTime time.Duration
}

// LabelExistsError refuses a label that a transaction holds which is not
// aborted.
type LabelExistsError struct {
	Label string
	TxnID int64
	// State is the transaction's state as Doris writes it: PREPARE,
	// PRECOMMITTED, COMMITTED or VISIBLE.
	State string
}

// Error is Doris' text.
func (e *LabelExistsError) Error() string {
	return fmt.Sprintf("Label [%s] has already been used, relate to txn [%d], status [%s].", e.Label, e.TxnID, e.State)
}

// Unwrap gives the error its kind.
func (e *LabelExistsError) Unwrap() error { return doriserr.New(doriserr.LabelExists, "%s", e.Error()) }

// Settings are the configuration keys of this node for the HTTP interface.
type Settings interface {
	// List is every key in the order of the reference page.
	List() []Setting
	// Update changes a mutable key, and its file too if persist is set.
	Update(key, value string, persist bool) error
}

// Setting is one configuration key.
type Setting struct {
	Name, Type, Value string
	Mutable           bool
}
