package sink

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
)

// secondPhase is a leader that answers second phases too.
type secondPhase struct {
	leader
	finish func(*fepb.FinishTwoPhaseRequest) (*fepb.FinishTwoPhaseReply, error)
}

func (l *secondPhase) Call(ctx context.Context, f func(context.Context, fepb.FrontendClient) error) error {
	return f(ctx, l)
}

func (l *secondPhase) FinishTwoPhase(_ context.Context, r *fepb.FinishTwoPhaseRequest, _ ...grpc.CallOption) (*fepb.FinishTwoPhaseReply, error) {
	return l.finish(r)
}

func TestBeginTellsWhoseTheLabelIs(t *testing.T) {
	l := &leader{begin: func(r *fepb.BeginRequest) (*fepb.BeginReply, error) {
		return &fepb.BeginReply{TxnId: 7, Label: r.Label, ExistingState: int32(txn.Committed)}, nil
	}}
	tx, err := newSink(l, nil).Begin(t.Context(), &fepb.BeginRequest{Label: "l"})
	e, ok := errors.AsType[*LabelError](err)
	if !ok || *e != (LabelError{"l", 7, txn.Committed}) || !doriserr.Is(err, doriserr.LabelExists) || tx != (Txn{}) ||
		err.Error() != "Label [l] has already been used, relate to txn [7], status [COMMITTED]." {
		t.Errorf("%+v, %v", tx, err)
	}
}

// TestPrecommit asks for the first phase alone, and calls an end without an
// answer unknown.
func TestPrecommit(t *testing.T) {
	var asked *fepb.CommitRequest
	l := &leader{commit: func(_ context.Context, r *fepb.CommitRequest) (*fepb.CommitReply, error) {
		asked = r
		return &fepb.CommitReply{State: int32(txn.Precommitted)}, nil
	}}
	w := &Written{Partitions: []*fepb.PartitionWrite{{PartitionId: 3}}, Rows: 4}
	if err := newSink(l, nil).Precommit(t.Context(), Txn{ID: 9, OwnerEpoch: 2}, w, 1); err != nil {
		t.Fatal(err)
	}
	if !asked.TwoPhase || asked.TxnId != 9 || asked.Owner.BackendId != 1 || asked.Owner.OwnerEpoch != 2 || asked.LoadedRows != 4 || asked.FilteredRows != 1 || len(asked.Partitions) != 1 {
		t.Errorf("asked %v", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.commit = func(context.Context, *fepb.CommitRequest) (*fepb.CommitReply, error) {
		cancel()
		return nil, ctx.Err()
	}
	if err := newSink(l, nil).Precommit(ctx, Txn{ID: 9}, w, 0); !doriserr.Is(err, doriserr.Unknown) {
		t.Errorf("without an answer: %v", err)
	}
}

func TestFinishTwoPhase(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, tt := range []struct {
		name   string
		answer func() (*fepb.FinishTwoPhaseReply, error)
		want   txn.State
		kind   doriserr.Kind
	}{
		{"visible", func() (*fepb.FinishTwoPhaseReply, error) {
			return &fepb.FinishTwoPhaseReply{State: int32(txn.Visible)}, nil
		}, txn.Visible, 0},
		{"refused", func() (*fepb.FinishTwoPhaseReply, error) { return nil, doriserr.New(doriserr.TxnState, "no") }, 0, doriserr.TxnState},
		{"cut off", func() (*fepb.FinishTwoPhaseReply, error) { cancel(); return nil, ctx.Err() }, 0, doriserr.Unknown},
	} {
		l := &secondPhase{finish: func(r *fepb.FinishTwoPhaseRequest) (*fepb.FinishTwoPhaseReply, error) {
			if r.Db != "d" || r.TxnId != 7 || r.Label != "l" || !r.Commit || r.RequestId[0] != 5 || r.WaitVisibleMs <= 0 {
				t.Errorf("%s: asked %v", tt.name, r)
			}
			return tt.answer()
		}}
		s := newSink(nil, nil)
		s.leader = l
		got, err := s.FinishTwoPhase(ctx, TwoPhase{RequestID: [16]byte{5}, DB: "d", TxnID: 7, Label: "l", Commit: true})
		if got != tt.want || tt.kind == 0 && err != nil || tt.kind != 0 && !doriserr.Is(err, tt.kind) {
			t.Errorf("%s: %s, %v", tt.name, got, err)
		}
	}
}
