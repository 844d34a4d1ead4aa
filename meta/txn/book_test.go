package txn

import (
	"strings"
	"testing"

	"dorisgo/doriserr"
)

// place is a catalog of one table (7) whose partitions all have the tablets 1
// and 2 on the same backends.
type place struct {
	backends []int64
	cloning  []int64
	epochs   map[int64]uint64
	epoch    uint64
}

func (p *place) Holders(partition, tablet int64) ([]int64, bool) {
	_, ok := p.epochs[partition]
	return p.backends, ok && (tablet == 1 || tablet == 2)
}

func (p *place) Cloning(int64, int64) []int64 { return p.cloning }

func (p *place) PartitionEpoch(table, partition int64) (uint64, bool) {
	e, ok := p.epochs[partition]
	return e, ok && table == 7
}

func (p *place) TableEpoch(int64) uint64 { return p.epoch }

// desk is a Book with a catalog and the calls that tests make all the time.
type desk struct {
	*testing.T
	*Book
	place *place
	lim   Limits
	n     byte
}

func newDesk(t *testing.T, backends ...int64) *desk {
	d := &desk{T: t, Book: NewBook(), place: &place{backends: backends, epochs: map[int64]uint64{100: 1, 200: 1}, epoch: 1}, lim: DefaultLimits()}
	for p := range d.place.epochs {
		d.AddPartition(p, backends)
	}
	return d
}

func (d *desk) begin(label string, group *GroupRecord) *Txn {
	d.Helper()
	d.n++
	t, err := d.Begin(&Begin{
		RequestID: [16]byte{d.n}, DBID: 1, TableID: 7, TableEpoch: d.place.epoch, Label: label,
		Owner: Owner{BackendID: d.place.backends[0], BootEpoch: 1}, Group: group, TimeoutMs: 1000,
	}, &d.lim)
	if err != nil {
		d.Fatal(err)
	}
	return t
}

func rows(partition int64, backends ...int64) []PartitionCommit {
	return []PartitionCommit{{PartitionID: partition, Tablets: []TabletCommit{{TabletID: 1, RowsetID: [16]byte{9}, Rows: 3, Backends: backends}}}}
}

func (d *desk) tryCommit(t *Txn, parts []PartitionCommit) (*Txn, error) {
	return d.Commit(&Commit{TxnID: t.ID, Owner: t.Owner, Partitions: parts, LoadedRows: 3}, d.place)
}

func (d *desk) commit(t *Txn, parts []PartitionCommit) *Txn {
	d.Helper()
	got, err := d.tryCommit(t, parts)
	if err != nil {
		d.Fatal(err)
	}
	return got
}

func (d *desk) publish(t *Txn, backends ...int64) *Txn {
	d.Helper()
	got, err := d.Publish(t.ID, backends, 5, d.place)
	if err != nil {
		d.Fatal(err)
	}
	return got
}

func (d *desk) tick(ms int64) { d.Tick(ms, 1, 6, &d.lim) }

func (d *desk) wantError(err error, kind doriserr.Kind, text string) {
	d.Helper()
	if !doriserr.Is(err, kind) || !strings.Contains(err.Error(), text) {
		d.Errorf("error %v, want kind %s with %q", err, kind, text)
	}
}

// Scenario H1: two of three replicas hold each version, but no majority holds
// both.
func TestAReplicaWithAnOlderHoleDoesNotCount(t *testing.T) {
	d := newDesk(t, 1, 2, 3)
	d.commit(d.begin("v2", nil), rows(100, 1, 2))
	_, err := d.tryCommit(d.begin("v3", nil), rows(100, 1, 3))
	d.wantError(err, doriserr.FewReplicas, "succ replica num 1 < load required replica num 2")
	if got := d.GapFree(100, 1, 3); got != 1 {
		t.Errorf("replica 3 is gap-free through %d, want 1", got)
	}
	// Its late write closes the hole, but only with the rowset that the commit
	// named.
	if err := d.ReportWritten(1, 100, 1, 3, [16]byte{8}, 0, d.place); err != nil || d.GapFree(100, 1, 3) != 1 {
		t.Errorf("another attempt's rowset counts: %v", err)
	}
	if err := d.ReportWritten(1, 100, 1, 3, [16]byte{9}, 0, d.place); err != nil || d.GapFree(100, 1, 3) != 2 {
		t.Errorf("the late write does not count: %v", err)
	}
	d.commit(d.Get(2), rows(100, 1, 3))
	if got := d.GapFree(100, 1, 2); got != 2 {
		t.Errorf("replica 2 is gap-free through %d, want 2", got)
	}
}

// Scenario H2: a backend that reported the publish without holding the rowset
// does not count.
func TestOnlyTrueHoldersMakeItVisible(t *testing.T) {
	d := newDesk(t, 1, 2, 3)
	x := d.commit(d.begin("x", nil), rows(100, 1, 2))
	if got := d.publish(x, 1, 3).State; got != Committed {
		t.Errorf("%s after a holder and a stranger, want COMMITTED", got)
	}
	if got := d.publish(x, 2).State; got != Visible {
		t.Errorf("%s after both holders, want VISIBLE", got)
	}
}

func TestVersionsBecomeVisibleInOrder(t *testing.T) {
	d := newDesk(t, 1)
	first := d.commit(d.begin("a", nil), rows(100, 1))
	second := d.commit(d.begin("b", nil), append(rows(100, 1), rows(200, 1)...))
	third := d.commit(d.begin("c", nil), rows(200, 1))
	d.publish(third, 1)
	d.publish(second, 1)
	if v, _, _, _ := d.Versions(200); v != 1 {
		t.Errorf("partition 200 shows version %d before the first transaction is published", v)
	}
	d.publish(first, 1)
	for _, x := range []*Txn{first, second, third} {
		if got := d.Get(x.ID).State; got != Visible {
			t.Errorf("transaction %d is %s, want VISIBLE", x.ID, got)
		}
	}
}

// Scenario H38: a dropped partition does not hold up the others.
func TestADroppedPartitionIsVoid(t *testing.T) {
	d := newDesk(t, 1)
	stuck := d.commit(d.begin("stuck", nil), rows(100, 1))
	both := d.commit(d.begin("both", nil), append(rows(100, 1), rows(200, 1)...))
	d.publish(both, 1)
	delete(d.place.epochs, 100)
	d.DropPartition(100, 9, d.place)
	if a, b := d.Get(stuck.ID).State, d.Get(both.ID).State; a != Visible || b != Visible {
		t.Errorf("%s and %s after the drop, want both VISIBLE", a, b)
	}
	if v, _, _, _ := d.Versions(200); v != 2 {
		t.Errorf("partition 200 shows version %d, want 2", v)
	}
}

// Scenario H18: rows planned before a TRUNCATE go; rows of the new epoch
// planned on the old partitions are planned again.
func TestTruncateDropsOlderRowsOnly(t *testing.T) {
	d := newDesk(t, 1)
	older := d.begin("older", nil)
	d.place.epoch = 2
	newer := d.begin("newer", nil)
	delete(d.place.epochs, 100)
	d.place.epochs[101] = 2
	d.AddPartition(101, d.place.backends)
	got := d.commit(older, rows(100, 1))
	if got.State != Visible || got.DroppedRows != 3 {
		t.Errorf("the older load is %s with %d rows dropped, want VISIBLE and 3", got.State, got.DroppedRows)
	}
	_, err := d.tryCommit(newer, rows(100, 1))
	d.wantError(err, doriserr.SchemaChanged, "plan it again")
	if got := d.commit(newer, rows(101, 1)); got.DroppedRows != 0 || got.Version(101) != 2 {
		t.Errorf("the newer load: %+v", got)
	}
}

// Scenario H5: the label outlives count, age and CLEAN LABEL until the WAL is
// gone.
func TestAGroupLabelLivesUntilItsWALIsGone(t *testing.T) {
	d := newDesk(t, 1)
	d.lim.LabelMax = 1
	g := d.commit(d.begin("group_commit_1", &GroupRecord{Async: true}), nil)
	for _, l := range []string{"a", "b", "c"} {
		d.commit(d.begin(l, nil), nil)
	}
	d.tick(100 * 3600 * 1000)
	if n := d.CleanLabel(1, ""); n != 0 {
		t.Errorf("CLEAN LABEL found %d after everything expired", n)
	}
	if d.Get(g.ID) == nil || d.ByLabel(1, "group_commit_1") == nil {
		t.Fatal("the group is forgotten while its WAL exists")
	}
	if n := d.Release(1, []int64{g.ID}); n != 1 {
		t.Fatalf("released %d", n)
	}
	if d.ByLabel(1, "group_commit_1") == nil {
		t.Error("a released label is forgotten before its time")
	}
	d.tick(43200 * 1000)
	if d.Get(g.ID) != nil {
		t.Error("a released label does not age")
	}
}

// A publish list is kept until every holder has it durably (rule 2), also when
// its label is gone.
func TestThePublishListOutlivesTheLabel(t *testing.T) {
	d := newDesk(t, 1, 2, 3)
	x := d.publish(d.commit(d.begin("x", nil), rows(100, 1, 2, 3)), 1, 2)
	if d.CleanLabel(1, "x") != 1 || d.Get(x.ID) != nil || d.ByLabel(1, "x") != nil {
		t.Fatal("CLEAN LABEL does not forget a visible transaction")
	}
	list, complete := d.PublishList(100, 1)
	if !complete || len(list) != 1 || list[0].ID != x.ID {
		t.Fatalf("publish list %v, complete %v", list, complete)
	}
	for _, be := range []int64{1, 2, 3} {
		if d.txns[x.ID] == nil {
			t.Fatalf("forgotten before backend %d has it durably", be)
		}
		d.ReportDurable(be, 100, 2)
	}
	if d.txns[x.ID] != nil || len(d.pins) != 0 {
		t.Error("kept although every holder has it durably")
	}
	if _, complete := d.PublishList(100, 1); complete {
		t.Error("the list claims to reach back to version 1")
	}
}

func TestTexts(t *testing.T) {
	d := newDesk(t, 1)
	d.lim.MaxRunningPerDB = 2
	begin := func(label string, g *GroupRecord) error {
		_, err := d.Begin(&Begin{DBID: 1, TableID: 7, Label: label, Group: g, Owner: Owner{BackendID: 1}}, &d.lim)
		return err
	}
	d.begin("l", nil)
	d.wantError(begin("l", nil), doriserr.LabelExists, "Label [l] has already been used, relate to txn [1], status [PREPARE].")
	d.wantError(begin("", nil), doriserr.LabelFormat, `Label format error. regex: ^[\-_A-Za-z0-9:]{1,128}$, label: `)
	d.wantError(begin(strings.Repeat("x", 129), nil), doriserr.LabelFormat, "Label format error")
	d.wantError(begin("编", nil), doriserr.LabelFormat, "Label format error")
	d.wantError(begin("group_commit_x", nil), doriserr.LabelFormat, "belong to group commit")
	d.begin(strings.Repeat("x", 128), nil)
	d.wantError(begin("m", nil), doriserr.ExceededLimit, "current running txns on db 1 is 2, larger than limit 2")
	if err := begin("group_commit_x", &GroupRecord{Async: true}); err != nil {
		t.Errorf("a group with WAL meets the quota: %v", err)
	}
	_, err := d.tryCommit(&Txn{ID: 99}, nil)
	d.wantError(err, doriserr.TxnNotFound, "transaction [99] not found")
	_, err = d.Abort(&Abort{TxnID: 3})
	d.wantError(err, doriserr.TxnState, "may hold acknowledged rows")
	d.commit(d.Get(1), nil)
	_, err = d.Abort(&Abort{TxnID: 1})
	d.wantError(err, doriserr.TxnState, "transaction [1] is already VISIBLE, could not abort.")
	if _, err := d.Abort(&Abort{TxnID: 2, Reason: "why"}); err != nil {
		t.Fatal(err)
	}
	_, err = d.tryCommit(d.Get(2), nil)
	d.wantError(err, doriserr.TxnState, "transaction [2] is already aborted. abort reason: why")
}

func TestAbortedLabelsAreFreeAtOnce(t *testing.T) {
	d := newDesk(t, 1)
	x := d.begin("l", nil)
	d.tick(5000)
	if got := d.Get(x.ID); got.State != Aborted || got.Reason != ReasonTimeout {
		t.Fatalf("%s, %q after its time", got.State, got.Reason)
	}
	again := d.begin("l", nil)
	if d.ByLabel(1, "l").ID != again.ID {
		t.Error("the label finds the aborted transaction")
	}
	d.CleanLabel(1, "l")
	if d.ByLabel(1, "l") == nil || d.Get(x.ID) != nil {
		t.Error("CLEAN LABEL took the running transaction's label, or left the aborted one")
	}
}

// Scenario H29: nothing expires before the new leader's ticks ran for a while.
func TestANewLeaderGivesGrace(t *testing.T) {
	d := newDesk(t, 1)
	d.tick(10_000)
	x := d.begin("l", nil)
	d.Tick(4999, 2, 0, &d.lim)
	if d.Get(x.ID).State != Prepare {
		t.Error("expired in the grace period")
	}
	d.Tick(100_000, 1, 0, &d.lim)
	if d.Clock() != 14_999 {
		t.Errorf("a tick of an older term counts: clock %d", d.Clock())
	}
	d.Tick(1, 2, 0, &d.lim)
	if d.Get(x.ID).State != Aborted {
		t.Error("not expired after the grace period")
	}
}

// Scenario H28: a lost WAL directory is not silent.
func TestALostGroupStaysUntilAnOperatorReleasesIt(t *testing.T) {
	d := newDesk(t, 1)
	lost := d.begin("group_commit_1", &GroupRecord{Async: true})
	found := d.begin("group_commit_2", &GroupRecord{Async: true})
	done := d.commit(d.begin("group_commit_3", &GroupRecord{Async: true}), nil)
	d.ReportWALs(1, []int64{found.ID}, true, 0)
	if g := d.Get(lost.ID); !g.Group.Lost || g.State != Prepare || d.GroupCount(1) != 2 {
		t.Fatalf("lost group %+v, %d outstanding", g.Group, d.GroupCount(1))
	}
	if !d.Get(done.ID).Group.Released {
		t.Error("a decided group without WAL is not released")
	}
	_, err := d.ReleaseLost(found.ID, 0)
	d.wantError(err, doriserr.TxnState, "not lost")
	d.ReportWALs(1, []int64{lost.ID, found.ID}, true, 0)
	if d.Get(lost.ID).Group.Lost {
		t.Error("a WAL that turned up again is still lost")
	}
	d.ReportWALs(1, []int64{found.ID}, true, 0)
	if x, err := d.ReleaseLost(lost.ID, 0); err != nil || x.State != Aborted || d.GroupCount(1) != 1 {
		t.Errorf("%+v, %v", x, err)
	}
}

// A group that opened no WAL file before its backend died never acknowledged a
// row: it must not stay outstanding for ever.
func TestAGroupWithoutAFileIsAbortedAfterARestart(t *testing.T) {
	d := newDesk(t, 1)
	g := d.begin("group_commit_1", &GroupRecord{Async: true})
	d.EndOwner(1, 2, ReasonRestart, 0)
	if d.Get(g.ID).State != Prepare {
		t.Fatal("a restart alone aborted a group with WAL")
	}
	d.ReportWALs(1, nil, false, 0)
	if x := d.Get(g.ID); x.State != Aborted || !x.Group.Released || d.GroupCount(1) != 0 {
		t.Errorf("%s, %+v", x.State, x.Group)
	}
}

func TestTwoPhaseCommitsWhatWasPrecommitted(t *testing.T) {
	d := newDesk(t, 1)
	x := d.begin("l", nil)
	pre, err := d.Commit(&Commit{TxnID: x.ID, Owner: x.Owner, Partitions: rows(100, 1), LoadedRows: 3, TwoPhase: true, PrecommitTimeoutMs: 50_000}, d.place)
	if err != nil || pre.State != Precommitted {
		t.Fatalf("%+v, %v", pre, err)
	}
	if _, committed, _, _ := d.Versions(100); committed != 1 {
		t.Errorf("a version was given before the second phase")
	}
	d.EndOwner(1, 9, ReasonRestart, 0)
	d.tick(49_000)
	got, err := d.Commit(&Commit{TxnID: x.ID}, d.place)
	if err != nil || got.State != Committed || got.Version(100) != 2 || got.LoadedRows != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// TestGone: what a replica may still need is not gone, however forgotten.
func TestGone(t *testing.T) {
	d := newDesk(t, 1)
	x, y := d.begin("x", nil), d.begin("y", nil)
	if d.Gone(0) || d.Gone(x.ID) || d.Gone(y.ID+1) {
		t.Error("an undecided or unknown transaction is gone")
	}
	x = d.commit(x, rows(100, 1))
	d.publish(x, 1)
	if _, err := d.Abort(&Abort{TxnID: y.ID}); err != nil {
		t.Fatal(err)
	}
	if d.Gone(x.ID) || d.Gone(y.ID) {
		t.Error("a known transaction is gone")
	}
	d.CleanLabel(x.DBID, "")
	if d.Gone(x.ID) || !d.Gone(y.ID) {
		t.Errorf("visible, not durable: %v; aborted: %v", d.Gone(x.ID), d.Gone(y.ID))
	}
	d.ReportDurable(1, 100, 2)
	if !d.Gone(x.ID) {
		t.Error("a forgotten transaction that is durable everywhere is not gone")
	}
}

func TestOnlyTheOwnerCommitsWhatIsPrepared(t *testing.T) {
	d := newDesk(t, 1)
	x := d.begin("l", nil)
	_, err := d.Commit(&Commit{TxnID: x.ID, Partitions: rows(100, 1)}, d.place)
	d.wantError(err, doriserr.StaleEpoch, "owned by backend 1")
}

func TestOddCommitsAreRefused(t *testing.T) {
	d := newDesk(t, 1)
	x := d.begin("l", nil)
	for name, parts := range map[string][]PartitionCommit{
		"partition twice": append(rows(100, 1), rows(100, 1)...),
		"tablet twice":    {{PartitionID: 100, Tablets: []TabletCommit{{TabletID: 1, Backends: []int64{1}}, {TabletID: 1, Backends: []int64{1}}}}},
		"unknown tablet":  {{PartitionID: 100, Tablets: []TabletCommit{{TabletID: 5, Backends: []int64{1}}}}},
	} {
		if _, err := d.tryCommit(x, parts); !doriserr.Is(err, doriserr.TxnState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, committed, _, _ := d.Versions(100); committed != 1 || d.Get(x.ID).State != Prepare {
		t.Error("a refused commit left a trace")
	}
}

func TestAMissingReportMakesAHole(t *testing.T) {
	d := newDesk(t, 1, 2, 3)
	x := d.commit(d.begin("x", nil), rows(100, 1, 2))
	d.ReportMissing(100, 1, 2, 2)
	if d.publish(x, 1, 2).State != Committed {
		t.Fatal("a replica that lacks the rowset counts")
	}
	// Scenario H30: a clone of the committed version counts.
	d.ReportRepaired(100, 1, 3, 2, 0, d.place)
	if d.publish(x, 3).State != Visible {
		t.Error("a repaired replica does not count")
	}
}
