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
	d.AddReplica(100, 1, 2)
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

// TestTheLogWaitsForTheLastReplicas: all backends of a tablet are away while other
// tablets of its partition go on. Without the publish log each would come back
// with holes, and none could be cloned from another.
func TestTheLogWaitsForTheLastReplicas(t *testing.T) {
	for _, up := range []int64{0, 2} {
		d := newDesk(t, 1, 2, 3)
		d.lim.PublishLogMax = 2
		for _, label := range []string{"a", "b", "c", "d"} {
			d.publish(d.commit(d.begin(label, nil), rows(100, 1, 2, 3)), 1, 2, 3)
		}
		d.ReportDurable(1, 100, 2)
		d.ReportDurable(2, 100, 5)
		d.ReportDurable(3, 100, 3)
		d.TrimLagging(&d.lim, func(b int64) bool { return b == up }, func(int64, int64) []int64 { return []int64{1, 2} }, d.place)
		base, missing := d.LogBase(100), d.Missing(100, 1, 1)
		if up == 0 && (base != 2 || missing != 0) {
			t.Errorf("with all away the log begins after version %d, and version %d is missing", base, missing)
		}
		if up == 2 && (base != 5 || missing != 3) {
			t.Errorf("with one there the log begins after version %d, and version %d is missing", base, missing)
		}
	}
}
