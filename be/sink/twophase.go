package sink

import (
	"context"
	"fmt"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
)

// LabelError refuses a label that a transaction has which is not aborted.
type LabelError struct {
	Label string
	TxnID int64
	State txn.State
}

// Error is Doris' text.
func (e *LabelError) Error() string {
	return fmt.Sprintf("Label [%s] has already been used, relate to txn [%d], status [%s].", e.Label, e.TxnID, e.State)
}

// Unwrap gives the error its kind.
func (e *LabelError) Unwrap() error { return doriserr.New(doriserr.LabelExists, "%s", e.Error()) }

// Precommit asks for PRECOMMITTED until it has the decision or ctx ends: the
// rows stay pending on every replica until the client's second phase, or until
// the cluster's time for that is over. Errors are those of Commit.
func (s *Sink) Precommit(ctx context.Context, tx Txn, w *Written, filtered int64) error {
	r := &fepb.CommitRequest{
		TxnId: tx.ID, Owner: s.owner(tx.OwnerEpoch), Partitions: w.Partitions,
		LoadedRows: w.Rows, FilteredRows: filtered, TwoPhase: true,
	}
	err := s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) error {
		_, err := c.Commit(ctx, r)
		return err
	})
	return undecided(ctx, err, "the outcome of transaction %d is not known", tx.ID)
}

// TwoPhase is a client's second phase. Either TxnID or Label may be zero.
type TwoPhase struct {
	RequestID [16]byte
	DB        string
	TxnID     int64
	Label     string
	Commit    bool
}

// FinishTwoPhase asks for the decision of a second phase. A commit waits for
// VISIBLE; COMMITTED, if visibility is late, is success.
func (s *Sink) FinishTwoPhase(ctx context.Context, t TwoPhase) (txn.State, error) {
	r := &fepb.FinishTwoPhaseRequest{
		RequestId: t.RequestID[:], Db: t.DB, TxnId: t.TxnID, Label: t.Label, Commit: t.Commit, WaitVisibleMs: s.VisibleWait.Milliseconds(),
	}
	var reply *fepb.FinishTwoPhaseReply
	err := s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.FinishTwoPhase(ctx, r)
		return err
	})
	if err != nil {
		return 0, undecided(ctx, err, "the outcome of the second phase is not known")
	}
	return txn.State(reply.State), nil
}

// undecided makes the error of a question that ended before its answer Unknown.
func undecided(ctx context.Context, err error, format string, args ...any) error {
	if err != nil && ctx.Err() != nil && !doriserr.Is(err, doriserr.Unknown) {
		return doriserr.Wrap(doriserr.Unknown, err, format, args...)
	}
	return err
}
