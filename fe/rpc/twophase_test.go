package rpc

import (
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/fepb"
)

// TestTwoPhases: precommit, a taken label, and the second phase by every way to
// name it.
func TestTwoPhases(t *testing.T) {
	n := newNode(t)
	s := newServer(n)
	be := n.do(&meta.RegisterBackend{UUID: "u", Host: "h"}).ID
	n.do(&meta.CreateDatabase{Name: "d"})
	n.do(&meta.CreateDatabase{Name: "e"})
	n.do(&meta.CreateTable{DB: "d", Table: table("t", be)})
	tb := n.tableByName("d", "t")
	owner := &fepb.Owner{BackendId: be, BootEpoch: 1, OwnerEpoch: 1}
	begin := func(id byte, label string) *fepb.BeginReply {
		t.Helper()
		r, err := s.Begin(t.Context(), &fepb.BeginRequest{
			RequestId: append(make([]byte, 15), id), DbId: tb.DBID, TableId: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: 1, Label: label, Owner: owner, TimeoutMs: 1000,
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	precommit := func(id byte, label string) int64 {
		t.Helper()
		tx := begin(id, label).TxnId
		got, err := s.Commit(t.Context(), &fepb.CommitRequest{TxnId: tx, Owner: owner, TwoPhase: true})
		if err != nil || txn.State(got.State) != txn.Precommitted {
			t.Fatalf("%v, %v", got, err)
		}
		return tx
	}
	first, second, third := precommit(1, "a"), precommit(2, "b"), precommit(3, "c")
	if again := begin(1, "a"); again.TxnId != first || again.ExistingState != 0 {
		t.Errorf("the same request again: %v", again)
	}
	if taken := begin(4, "a"); taken.TxnId != first || txn.State(taken.ExistingState) != txn.Precommitted || taken.Label != "a" {
		t.Errorf("the label again: %v", taken)
	}
	finish := func(r *fepb.FinishTwoPhaseRequest) (txn.State, error) {
		got, err := s.FinishTwoPhase(t.Context(), r)
		return txn.State(got.GetState()), doriserr.FromStatus(err)
	}
	for _, tt := range []struct {
		name string
		r    *fepb.FinishTwoPhaseRequest
		want txn.State
		kind doriserr.Kind
	}{
		{"unknown database", &fepb.FinishTwoPhaseRequest{Db: "x", TxnId: first}, 0, doriserr.UnknownDatabase},
		{"another database", &fepb.FinishTwoPhaseRequest{Db: "e", TxnId: first}, 0, doriserr.TxnNotFound},
		{"another label", &fepb.FinishTwoPhaseRequest{Db: "d", TxnId: first, Label: "b"}, 0, doriserr.TxnNotFound},
		{"unknown label", &fepb.FinishTwoPhaseRequest{Db: "d", Label: "z", Commit: true}, 0, doriserr.TxnNotFound},
		{"commit", &fepb.FinishTwoPhaseRequest{RequestId: append(make([]byte, 15), 1), Db: "d", Label: "a", TxnId: first, Commit: true}, txn.Visible, 0},
		{"its repeat", &fepb.FinishTwoPhaseRequest{RequestId: append(make([]byte, 15), 1), Db: "d", Label: "a", TxnId: first, Commit: true}, txn.Visible, 0},
		{"another commit", &fepb.FinishTwoPhaseRequest{Db: "d", TxnId: first, Commit: true}, 0, doriserr.TxnState},
		{"abort by label", &fepb.FinishTwoPhaseRequest{Db: "d", Label: "b"}, txn.Aborted, 0},
		{"commit after it", &fepb.FinishTwoPhaseRequest{Db: "d", TxnId: second, Commit: true}, 0, doriserr.TxnState},
	} {
		if got, err := finish(tt.r); got != tt.want || tt.kind == 0 && err != nil || tt.kind != 0 && !doriserr.Is(err, tt.kind) {
			t.Errorf("%s: %s, %v", tt.name, got, err)
		}
	}
	n.do(&meta.DropDatabase{Name: "d", Force: true})
	if _, err := finish(&fepb.FinishTwoPhaseRequest{Db: "d", TxnId: third, Commit: true}); !doriserr.Is(err, doriserr.UnknownTable) {
		t.Errorf("a commit without the table: %v", err)
	}
	abort := &fepb.FinishTwoPhaseRequest{RequestId: append(make([]byte, 15), 2), Db: "d", Label: "c"}
	for range 2 { // by label nothing is found the second time but the first answer
		if got, err := finish(abort); err != nil || got != txn.Aborted {
			t.Errorf("an abort without the database: %s, %v", got, err)
		}
	}
	n.setLeads(false)
	if _, err := finish(&fepb.FinishTwoPhaseRequest{Db: "d", TxnId: third}); !doriserr.Is(err, doriserr.NotLeader) {
		t.Errorf("an FE that does not lead: %v", err)
	}
}
