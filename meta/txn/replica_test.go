package txn

import (
	"testing"

	"dorisgo/doriserr"
)

// TestANewReplicaHasNothingPrecommitted: a disk is lost and its replica replaced
// and filled while a transaction is PRECOMMITTED. The new replica never got the
// transaction's rowset, whoever had it on that backend before.
func TestANewReplicaHasNothingPrecommitted(t *testing.T) {
	d := newDesk(t, 1, 2, 3)
	d.publish(d.commit(d.begin("first", nil), rows(100, 1, 2, 3)), 1, 2, 3)
	tx := d.begin("two_phases", nil)
	if _, err := d.Commit(&Commit{TxnID: tx.ID, Owner: tx.Owner, Partitions: rows(100, 1, 2), TwoPhase: true, PrecommitTimeoutMs: 1000}, d.place); err != nil {
		t.Fatal(err)
	}
	d.ForgetDurable(100, 2)
	if !d.AddReplica(100, 1, 2) {
		t.Fatal("the new replica need not be cloned")
	}
	d.ReportRepaired(100, 1, 2, 2, 5, d.place)
	if v := d.GapFree(100, 1, 2); v != 2 {
		t.Fatalf("the new replica is gap-free through %d", v)
	}
	_, err := d.Commit(&Commit{TxnID: tx.ID}, d.place)
	d.wantError(err, doriserr.FewReplicas, "succ replica num 1 < load required replica num 2")
	if d.Get(tx.ID).State != Precommitted {
		t.Errorf("it is %s", d.Get(tx.ID).State)
	}
}
