package sink

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
)

// Leader calls the leading FE; peer.Leader implements it.
type Leader interface {
	Call(ctx context.Context, f func(ctx context.Context, c fepb.FrontendClient) error) error
}

// Writer stores rowsets on a backend, this one or another, durably.
type Writer interface {
	WriteRowsets(ctx context.Context, backendID int64, r *bepb.WriteRowsetsRequest) error
}

// Identity is which life of which BE acts.
type Identity struct {
	BackendID int64
	BootEpoch uint64
	// Name is the BE in SHOW TRANSACTION: "BE: host".
	Name string
}

// Txn is a transaction that this BE coordinates.
type Txn struct {
	ID         int64
	Label      string
	OwnerEpoch uint64
}

// Outcome is a decision of the FSM.
type Outcome struct {
	State txn.State
	// Index is a log index at which the FE shows it.
	Index uint64
}

// Sink writes and commits. It is safe for concurrent use.
type Sink struct {
	id     Identity
	leader Leader
	writer Writer
	log    *slog.Logger
	random io.Reader
	// streams bounds the blocks of streamed loads that are being written.
	streams *semaphore.Weighted
	// builds bounds those that are sorted and encoded at the same time, so that
	// small groups find a processor.
	builds *semaphore.Weighted
	// VisibleWait is how long a commit waits for VISIBLE before it is reported
	// as committed.
	VisibleWait time.Duration
	// Observe hears how long the steps of loads take: build (sort and encode the
	// rowsets), write (until enough replicas have them), commit (the FE's answer,
	// VISIBLE included if it is waited for). It may be nil.
	Observe func(step string, took time.Duration)
	late    *lateness
}

// New returns the sink of one life of a BE.
func New(id Identity, leader Leader, writer Writer, log *slog.Logger) *Sink {
	return &Sink{id: id, leader: leader, writer: writer, log: log, random: rand.Reader, streams: semaphore.NewWeighted(streamBytes),
		builds: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))), VisibleWait: 60 * time.Second, late: newLateness()}
}

// Close ends the writes that go on although their loads do not wait for them.
// Every Write fails then.
func (s *Sink) Close() { s.late.close() }

func (s *Sink) observe(step string, start time.Time) {
	if s.Observe != nil {
		s.Observe(step, time.Since(start))
	}
}

func (s *Sink) owner(epoch uint64) *fepb.Owner {
	return &fepb.Owner{BackendId: s.id.BackendID, BootEpoch: s.id.BootEpoch, OwnerEpoch: epoch}
}

// Begin opens a transaction. Repeating a request id gets the same one. A label
// that another transaction has is a *LabelError.
func (s *Sink) Begin(ctx context.Context, r *fepb.BeginRequest) (Txn, error) {
	r.Owner = s.owner(0)
	if r.Coordinator == "" {
		r.Coordinator = s.id.Name
	}
	var reply *fepb.BeginReply
	err := s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.Begin(ctx, r)
		return err
	})
	if err != nil {
		return Txn{}, err
	}
	if reply.ExistingState != 0 {
		return Txn{}, &LabelError{Label: reply.Label, TxnID: reply.TxnId, State: txn.State(reply.ExistingState)}
	}
	return Txn{ID: reply.TxnId, Label: reply.Label, OwnerEpoch: reply.OwnerEpoch}, nil
}

// Commit asks for the decision until it has one or ctx ends. VISIBLE, or
// COMMITTED if visibility is late, is success. An Unknown error means that the
// decision is not known: the caller asks again and deletes nothing.
func (s *Sink) Commit(ctx context.Context, tx Txn, w *Written, filtered int64, wait time.Duration) (Outcome, error) {
	r := &fepb.CommitRequest{
		TxnId: tx.ID, Owner: s.owner(tx.OwnerEpoch), Partitions: w.Partitions,
		LoadedRows: w.Rows, FilteredRows: filtered, WaitVisibleMs: wait.Milliseconds(),
	}
	var reply *fepb.CommitReply
	defer s.observe("commit", time.Now())
	err := s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.Commit(ctx, r)
		return err
	})
	if err != nil {
		return Outcome{}, undecided(ctx, err, "the outcome of transaction %d is not known", tx.ID)
	}
	return Outcome{State: txn.State(reply.State), Index: reply.Index}, nil
}

// Abort ends a transaction that cannot be committed.
func (s *Sink) Abort(ctx context.Context, tx Txn, reason string) error {
	return s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) error {
		_, err := c.Abort(ctx, &fepb.AbortRequest{TxnId: tx.ID, Owner: s.owner(tx.OwnerEpoch), Reason: reason})
		return err
	})
}

// TakeOver makes this life the owner of a group of an earlier one.
func (s *Sink) TakeOver(ctx context.Context, txnID int64) (Txn, txn.State, fepb.TableFate, error) {
	var reply *fepb.TakeOverReply
	err := s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) (err error) {
		reply, err = c.TakeOver(ctx, &fepb.TakeOverRequest{TxnId: txnID, BackendId: s.id.BackendID, BootEpoch: s.id.BootEpoch})
		return err
	})
	if err != nil {
		return Txn{}, 0, 0, err
	}
	return Txn{ID: txnID, Label: reply.Label, OwnerEpoch: reply.OwnerEpoch}, txn.State(reply.State), reply.Table, nil
}

// Release reports that the WALs of groups are gone.
func (s *Sink) Release(ctx context.Context, txnIDs []int64) error {
	return s.leader.Call(ctx, func(ctx context.Context, c fepb.FrontendClient) error {
		_, err := c.Release(ctx, &fepb.ReleaseRequest{BackendId: s.id.BackendID, BootEpoch: s.id.BootEpoch, TxnIds: txnIDs})
		return err
	})
}
