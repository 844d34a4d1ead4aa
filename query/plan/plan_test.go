package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/value"
)

// room is a state with BEs 10001, 10002, … and database d.
type room struct {
	*testing.T
	st    *meta.State
	index uint64
	bes   []int64
}

func newRoom(t *testing.T, backends int) *room {
	r := &room{T: t, st: meta.New()}
	r.do(&meta.InitCluster{ClusterID: "c"})
	for i := range backends {
		r.bes = append(r.bes, r.do(&meta.RegisterBackend{UUID: fmt.Sprint(i), Host: fmt.Sprint("be", i), RPCPort: 9060}).ID)
	}
	r.do(&meta.CreateDatabase{Name: "d"})
	return r
}

func (r *room) do(c meta.Command) meta.Result {
	r.Helper()
	r.index++
	res, err := r.st.Apply(r.index, c)
	if err != nil {
		r.Fatalf("%s: %v", meta.CommandName(c), err)
	}
	return res
}

// create makes a table whose tablet i is on the BEs with the given numbers.
func (r *room) create(name string, tablets ...[]int) *meta.Table {
	t := &meta.Table{
		Name: name, Keys: meta.DuplicateKeys, KeyCount: 1, DistCols: []int{0}, Buckets: len(tablets), HashVersion: 1, SchemaVersion: 1, NextColumnID: 2,
		Columns: []meta.Column{
			{UniqueID: 0, Name: "k", Type: value.Type{Kind: value.Int}, Key: true},
			{UniqueID: 1, Name: "v", Type: value.Type{Kind: value.Decimal, Precision: 9, Scale: 2}, Nullable: true, Default: &meta.Default{Kind: meta.DefaultLiteral, Text: "1.5"}},
		},
		Props: meta.Properties{ReplicationNum: int32(len(tablets[0]))}, Partitions: []*meta.Partition{{Name: name}},
	}
	for i, on := range tablets {
		tablet := &meta.Tablet{Bucket: i}
		for _, be := range on {
			tablet.Replicas = append(tablet.Replicas, meta.Replica{BackendID: r.bes[be]})
		}
		t.Partitions[0].Tablets = append(t.Partitions[0].Tablets, tablet)
	}
	r.do(&meta.CreateTable{DB: "d", Table: t})
	return r.table(name)
}

func (r *room) table(name string) *meta.Table {
	return r.st.TableByName(r.st.DatabaseByName("d").ID, name)
}

// load commits a row in a tablet that the BEs with the given numbers have, and
// publishes it on them.
func (r *room) load(t *meta.Table, tablet int, on ...int) {
	r.Helper()
	tx := r.do(&meta.BeginTxn{DBID: t.DBID, TableID: t.ID, TableEpoch: t.Epoch, SchemaVersion: 1, Label: fmt.Sprint("l", r.index), TimeoutMs: 1000}).ID
	var bes []int64
	for _, n := range on {
		bes = append(bes, r.bes[n])
	}
	r.do(&meta.CommitTxn{TxnID: tx, Partitions: []txn.PartitionCommit{{PartitionID: t.Partitions[0].ID, Tablets: []txn.TabletCommit{
		{TabletID: t.Partitions[0].Tablets[tablet].ID, RowsetID: [16]byte{byte(tx)}, Rows: 1, Backends: bes},
	}}}})
	if s := r.do(&meta.PublishDone{TxnID: tx, BackendIDs: bes}).Txn.State; s != txn.Visible {
		r.Fatalf("the load is %s", s)
	}
}

func (r *room) plan(tables ...Table) (*Plan, error) {
	return Make(r.st, &Query{ID: "q", SQL: "SELECT 1", Tables: tables})
}

// on are the numbers of the BEs that a planned table is read on.
func (r *room) on(p *Plan, table int) (out []int) {
	for _, t := range p.Request.Tables[table].Tablets {
		out = append(out, slices.Index(r.bes, t.BackendId))
	}
	return out
}

func TestPlanTakesVisibleVersions(t *testing.T) {
	r := newRoom(t, 1)
	a, b := r.create("a", []int{0}, []int{0}), r.create("b", []int{0})
	for i := range 3 {
		r.load(a, i%2, 0)
	}
	r.load(b, 0, 0)
	// What is committed and not visible is not read.
	tx := r.do(&meta.BeginTxn{DBID: b.DBID, TableID: b.ID, TableEpoch: b.Epoch, SchemaVersion: 1, Label: "late", TimeoutMs: 1000}).ID
	r.do(&meta.CommitTxn{TxnID: tx, Partitions: []txn.PartitionCommit{{PartitionID: b.Partitions[0].ID, Tablets: []txn.TabletCommit{
		{TabletID: b.Partitions[0].Tablets[0].ID, RowsetID: [16]byte{9}, Rows: 1, Backends: r.bes},
	}}}})
	p, err := r.plan(Table{Name: "t0", Table: a, Columns: []int{0}}, Table{Name: "t1", Table: b, Columns: []int{1, 0}}, Table{Name: "t2", Table: a})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		table   *meta.Table
		version int64
	}{{a, 4}, {b, 2}, {a, 4}} {
		in := p.Request.Tables[i]
		if in.Name != fmt.Sprint("t", i) || in.TableId != want.table.ID || len(in.Tablets) != len(want.table.Partitions[0].Tablets) {
			t.Errorf("table %d: %v", i, in)
		}
		for j, tablet := range in.Tablets {
			if tablet.Version != want.version || tablet.PartitionId != want.table.Partitions[0].ID || tablet.TabletId != want.table.Partitions[0].Tablets[j].ID || tablet.BackendId != r.bes[0] {
				t.Errorf("table %d, tablet %d: %v, want version %d", i, j, tablet, want.version)
			}
		}
	}
	cols := p.Request.Tables[1].Columns
	if len(cols) != 2 || cols[0].Name != "v" || cols[0].UniqueId != 1 || cols[0].GetDefaultValue() != "1.5" || cols[0].Scale != 2 || !cols[0].Nullable || cols[1].Name != "k" || !cols[1].Key || cols[1].DefaultValue != nil {
		t.Errorf("columns %v", cols)
	}
	if p.Request.QueryId != "q" || p.Request.Sql != "SELECT 1" || p.Coordinator.ID != r.bes[0] {
		t.Errorf("plan %+v", p)
	}
}

// TestPlanAvoidsDeadAndStuck chooses replicas.
func TestPlanAvoidsDeadAndStuck(t *testing.T) {
	r := newRoom(t, 3)
	tb := r.create("t", []int{0, 1, 2}, []int{1, 2, 0}, []int{2, 0, 1})
	r.load(tb, 0, 0, 1, 2)
	want := func(on ...int) {
		t.Helper()
		p, err := r.plan(Table{Name: "t", Table: tb})
		if err != nil || !slices.Equal(r.on(p, 0), on) {
			t.Errorf("%v, %v, want BEs %v", r.on(p, 0), err, on)
		}
	}
	want(0, 0, 0)
	// BE 1 misses a row of tablet 0: its other tablets are as good as before.
	r.load(tb, 0, 0, 2)
	want(0, 0, 0)
	r.do(&meta.SetBackendAlive{ID: r.bes[0], BootEpoch: 1})
	want(2, 2, 2)
	r.do(&meta.SetBackendAlive{ID: r.bes[0], BootEpoch: 1, Alive: true})
	r.do(&meta.SetBackendAlive{ID: r.bes[2], BootEpoch: 1})
	want(0, 0, 0)
	r.do(&meta.SetBackendAlive{ID: r.bes[0], BootEpoch: 1})
	_, err := r.plan(Table{Name: "t", Table: tb})
	tablet := tb.Partitions[0].Tablets[0].ID
	if !doriserr.Is(err, doriserr.NoBackend) {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{
		fmt.Sprintf("tablet %d of table t", tablet), fmt.Sprintf("backend %d (be0) is not alive", r.bes[0]), fmt.Sprintf("backend %d (be1) lacks versions after 2 of 3", r.bes[1]),
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error %q does not say %q", err, part)
		}
	}
	r.do(&meta.SetBackendAlive{ID: r.bes[2], BootEpoch: 1, Alive: true})
	want(2, 2, 2)
	r.do(&meta.DropBackend{ID: r.bes[2], Force: true})
	if _, err := r.plan(Table{Name: "t", Table: tb}); err == nil || !strings.Contains(err.Error(), "is unknown") {
		t.Errorf("error %v", err)
	}
}

// TestSpread: the coordinator reads what it can, the rest spreads, and another
// seed chooses others.
func TestSpread(t *testing.T) {
	r := newRoom(t, 4)
	tb := r.create("t", []int{0, 1, 2}, []int{1, 2, 3}, []int{1, 2, 3}, []int{0, 2, 3}, []int{0, 1, 3})
	seen := map[string]int{}
	for seed := range uint64(12) {
		p, err := Make(r.st, &Query{Tables: []Table{{Table: tb}}, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		on := r.on(p, 0)
		seen[fmt.Sprint(on)]++
		coordinator := slices.Index(r.bes, p.Coordinator.ID)
		for i, tablet := range tb.Partitions[0].Tablets {
			local := slices.ContainsFunc(tablet.Replicas, func(rep meta.Replica) bool { return rep.BackendID == p.Coordinator.ID })
			if local != (on[i] == coordinator) {
				t.Errorf("seed %d: tablet %d is read on BE %d, BE %d coordinates", seed, i, on[i], coordinator)
			}
			if scan := p.Request.Tables[0].Tablets[i]; !scan.Alternatives {
				t.Errorf("tablet %d has no alternatives", i)
			}
		}
	}
	if len(seen) < 3 {
		t.Errorf("12 seeds gave %v", seen)
	}
	// What is not with the coordinator spreads.
	wide := r.create("wide", []int{0}, []int{0}, []int{0}, []int{1}, []int{2}, []int{1}, []int{2})
	p, err := r.plan(Table{Table: wide})
	if err != nil || p.Coordinator.ID != r.bes[0] || p.Request.Tables[0].Tablets[0].Alternatives {
		t.Errorf("%+v, %v", p, err)
	}
	pairs := r.create("pairs", []int{0, 3}, []int{0, 3}, []int{0, 3}, []int{1, 2}, []int{1, 2})
	if p, err = r.plan(Table{Table: pairs}); err != nil || !slices.Equal(r.on(p, 0), []int{0, 0, 0, 1, 2}) {
		t.Errorf("%v, %v", r.on(p, 0), err)
	}
}

// TestAvoid: what failed is not used again, for that tablet or at all.
func TestAvoid(t *testing.T) {
	r := newRoom(t, 3)
	tb := r.create("t", []int{0, 1, 2}, []int{0, 1, 2})
	var avoid Avoid
	plan := func() string {
		p, err := Make(r.st, &Query{Tables: []Table{{Table: tb}}, Avoid: &avoid})
		if err != nil {
			return err.Error()
		}
		alternatives := ""
		for _, tablet := range p.Request.Tables[0].Tablets {
			alternatives += map[bool]string{true: "+", false: "-"}[tablet.Alternatives]
		}
		return fmt.Sprint(slices.Index(r.bes, p.Coordinator.ID), r.on(p, 0), alternatives)
	}
	tablets := tb.Partitions[0].Tablets
	for _, step := range []struct {
		avoid func()
		want  string
	}{
		{func() {}, "0 [0 0]++"},
		{func() { avoid.Replica(tablets[0].ID, r.bes[0]) }, "1 [1 1]++"},
		{func() { avoid.Replica(tablets[1].ID, r.bes[1]) }, "2 [2 2]++"},
		{func() { avoid.Backend(r.bes[2]) }, "0 [1 0]--"},
		{func() { avoid.Backend(r.bes[0]) }, fmt.Sprintf("tablet %d of table t has no replica that can be read: backend %d (be0) failed, backend %d (be1) failed, backend %d (be2) failed",
			tablets[1].ID, r.bes[0], r.bes[1], r.bes[2])},
	} {
		step.avoid()
		if got := plan(); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
	if _, err := Make(r.st, &Query{Avoid: &avoid}); err != nil {
		t.Errorf("a statement without tables: %v", err)
	}
	avoid.Backend(r.bes[1])
	if _, err := Make(r.st, &Query{Avoid: &avoid}); !doriserr.Is(err, doriserr.NoBackend) {
		t.Errorf("all backends are avoided: %v", err)
	}
}

// TestSuspects: they are used where nothing else is left.
func TestSuspects(t *testing.T) {
	r := newRoom(t, 3)
	tb := r.create("t", []int{0, 1}, []int{0, 2}, []int{0, 1})
	only := r.create("only", []int{0})
	for _, tc := range []struct {
		tables   []Table
		suspects []int64
		want     string
	}{
		{[]Table{{Table: tb}}, nil, "0 [0 0 0]"},
		{[]Table{{Table: tb}}, []int64{r.bes[0]}, "1 [1 2 1]"},
		{[]Table{{Table: tb}}, []int64{r.bes[0], r.bes[1]}, "2 [0 2 1]"},
		{[]Table{{Table: tb}}, r.bes, "0 [0 0 0]"},
		{[]Table{{Table: only}}, []int64{r.bes[0]}, "1 [0]"},
	} {
		p, err := Make(r.st, &Query{Tables: tc.tables, Suspects: tc.suspects})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := fmt.Sprint(slices.Index(r.bes, p.Coordinator.ID), r.on(p, 0)); got != tc.want {
			t.Errorf("with the suspects %v: %s, want %s", tc.suspects, got, tc.want)
		}
	}
}

// TestCoordinator is where most tablets are, any living BE without tables.
func TestCoordinator(t *testing.T) {
	r := newRoom(t, 3)
	tb := r.create("t", []int{0}, []int{2}, []int{1}, []int{2})
	small := r.create("u", []int{0})
	for _, tc := range []struct {
		tables []Table
		want   int
	}{
		{nil, 0},
		{[]Table{{Table: tb}}, 2},
		{[]Table{{Table: small}}, 0},
		{[]Table{{Table: small}, {Table: tb}, {Table: small}}, 0},
	} {
		if p, err := r.plan(tc.tables...); err != nil || p.Coordinator.ID != r.bes[tc.want] {
			t.Errorf("%d tables: %v, %v, want BE %d", len(tc.tables), p, err, tc.want)
		}
	}
	for _, id := range r.bes {
		r.do(&meta.SetBackendAlive{ID: id, BootEpoch: 1})
	}
	if _, err := r.plan(); !doriserr.Is(err, doriserr.NoBackend) || err.Error() != "No alive backend" {
		t.Errorf("error %v", err)
	}
}

// TestPlanOfADroppedTable: the statement was translated before.
func TestPlanOfADroppedTable(t *testing.T) {
	r := newRoom(t, 1)
	tb := r.create("t", []int{0})
	r.do(&meta.DropTable{DB: "d", Name: "t"})
	if _, err := r.plan(Table{Name: "t", Table: tb}); !doriserr.Is(err, doriserr.UnknownTable) {
		t.Errorf("error %v", err)
	}
	// Its columns are those of the translation, its tablets those of now.
	again := r.create("t", []int{0}, []int{0})
	if p, err := r.plan(Table{Name: "t", Table: again, Columns: []int{0}}); err != nil || len(p.Request.Tables[0].Tablets) != 2 {
		t.Errorf("%v, %v", p, err)
	}
}

func TestResultTypes(t *testing.T) {
	r := newRoom(t, 1)
	p, err := Make(r.st, &Query{Hints: []value.Type{{Kind: value.Decimal, Precision: 20, Scale: 3}, {Kind: value.VarChar, Length: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Request.ResultTypes
	if len(got) != 2 || value.Kind(got[0].Kind) != value.Decimal || got[0].Precision != 20 || got[0].Scale != 3 || got[1].Length != 7 {
		t.Errorf("%v", got)
	}
}
