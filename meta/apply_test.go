package meta

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// room is a State with a database d, a backend and a table t.
type room struct {
	*testing.T
	s     *State
	index uint64
	be    int64
	boot  uint64
	db    int64
}

func newRoom(t *testing.T) *room {
	r := &room{T: t, s: New(), boot: 1}
	r.do(&InitCluster{ClusterID: "c"})
	r.be = r.do(&RegisterBackend{UUID: "u", Host: "h", HeartbeatPort: 9050, Dirs: []BackendDir{{UUID: "root", Path: "/r"}, {UUID: "wal", Path: "/w", WAL: true}}}).ID
	r.db = r.do(&CreateDatabase{Name: "d"}).ID
	r.do(&CreateTable{DB: "d", Table: r.newTable("t")})
	return r
}

func (r *room) newTable(name string) *Table {
	t := sampleTable(name, r.be)
	t.Keys, t.Props.SequenceCol = DuplicateKeys, ""
	return t
}

func (r *room) try(c Command) (Result, error) {
	r.index++
	return r.s.Apply(r.index, c)
}

func (r *room) do(c Command) Result {
	r.Helper()
	res, err := r.try(c)
	if err != nil {
		r.Fatalf("%s: %v", CommandName(c), err)
	}
	return res
}

func (r *room) refused(c Command, kind doriserr.Kind, text string) {
	r.Helper()
	if _, err := r.try(c); !doriserr.Is(err, kind) || !strings.Contains(err.Error(), text) {
		r.Errorf("%s: error %v, want kind %s with %q", CommandName(c), err, kind, text)
	}
}

func (r *room) table(name string) *Table {
	r.Helper()
	t := r.s.TableByName(r.db, name)
	if t == nil {
		r.Fatalf("no table %s", name)
	}
	return t
}

func (r *room) owner() txn.Owner {
	return txn.Owner{BackendID: r.be, BootEpoch: r.boot, OwnerEpoch: 1}
}

func (r *room) begin(table, label string, group *txn.GroupRecord) *txn.Txn {
	r.Helper()
	t := r.table(table)
	return r.do(&BeginTxn{
		DBID: r.db, TableID: t.ID, TableEpoch: t.Epoch, SchemaVersion: t.SchemaVersion, Label: label, Owner: r.owner(), Group: group, TimeoutMs: 1000,
	}).Txn
}

// commit is a commit of one row into a table's first tablet.
func (r *room) commit(t *txn.Txn, table *Table) *CommitTxn {
	p := table.Partitions[0]
	return &CommitTxn{TxnID: t.ID, Owner: r.owner(), LoadedRows: 1, Partitions: []txn.PartitionCommit{{
		PartitionID: p.ID, Tablets: []txn.TabletCommit{{TabletID: p.Tablets[0].ID, Rows: 1, Backends: []int64{r.be}}},
	}}}
}

func TestDDLTexts(t *testing.T) {
	r := newRoom(t)
	r.refused(&CreateDatabase{Name: "d"}, doriserr.DatabaseExists, "Can't create database 'd'; database exists")
	r.refused(&DropDatabase{Name: "x"}, doriserr.NoDatabaseToDrop, "Can't drop database 'x'; database doesn't exist")
	r.refused(&CreateTable{DB: "x", Table: r.newTable("t")}, doriserr.UnknownDatabase, "Unknown database 'x'")
	r.refused(&CreateTable{DB: "d", Table: r.newTable("t")}, doriserr.TableExists, "Table 't' already exists")
	r.refused(&DropTable{DB: "d", Name: "x"}, doriserr.UnknownTable, "Unknown table 'x'")
	r.refused(&CreateUser{User: User{Name: "root"}}, doriserr.UserExists, "User 'root'@'%' already exist")
	r.refused(&DropUser{Name: "root"}, doriserr.NoPrivilege, "Can not drop user root")
	r.refused(&SetPassword{Name: "x"}, doriserr.Analysis, "user 'x'@'%' does not exist")
	if res := r.do(&CreateTable{DB: "d", Table: r.newTable("t"), IfNotExists: true}); !res.Existed || res.ID != r.table("t").ID {
		t.Errorf("IF NOT EXISTS: %+v", res)
	}
	r.do(&DropTable{DB: "d", Name: "x", IfExists: true})
	r.do(&DropDatabase{Name: "x", IfExists: true})
	r.do(&DropUser{Name: "x", IfExists: true})
	bad := r.newTable("bad")
	bad.Partitions[0].Tablets[1].Replicas[0].BackendID = 99
	r.refused(&CreateTable{DB: "d", Table: bad}, doriserr.NoBackend, "Backend [99] does not exist")
	bad.Props.ReplicationNum = 2
	r.refused(&CreateTable{DB: "d", Table: bad}, doriserr.Internal, "replicas for replication_num 2")
	r.refused(&CreateTable{DB: "d"}, doriserr.Internal, "without a table")
}

func TestCreateTableGivesIDsAndLeavesTheCommandAlone(t *testing.T) {
	r := newRoom(t)
	def := r.newTable("a")
	r.do(&CreateTable{DB: "d", Table: def})
	r.do(&DropTable{DB: "d", Name: "a"})
	r.do(&CreateTable{DB: "d", Table: def})
	if def.ID != 0 || def.Partitions[0].ID != 0 || def.Columns[0].UniqueID != 0 {
		t.Error("Apply wrote into the command")
	}
	a := r.table("a")
	seen := map[int64]bool{a.ID: true}
	for _, p := range a.Partitions {
		for _, id := range []int64{p.ID, p.Tablets[0].ID, p.Tablets[1].ID, p.Tablets[0].Replicas[0].ID} {
			if id == 0 || seen[id] {
				t.Errorf("id %d is zero or given twice", id)
			}
			seen[id] = true
		}
	}
	if a.Columns[3].UniqueID != 4 || a.NextColumnID != 5 {
		t.Errorf("column ids: %d, next %d", a.Columns[3].UniqueID, a.NextColumnID)
	}
	if v, ok := r.s.PartitionVersion(a.Partitions[0].ID); !ok || v.Visible != 1 || v.Committed != 1 {
		t.Errorf("versions of a new partition: %+v", v)
	}
}

func TestARepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	r := newRoom(t)
	c := &CreateDatabase{RequestID: [16]byte{1}, Name: "e"}
	first := r.do(c)
	r.do(&DropDatabase{Name: "e"})
	if again := r.do(c); again != first {
		t.Errorf("%+v, want %+v", again, first)
	}
	if r.s.DatabaseByName("e") != nil {
		t.Error("the repeat made the database again")
	}
	failing := &CreateDatabase{RequestID: [16]byte{2}, Name: "d"}
	r.refused(failing, doriserr.DatabaseExists, "database exists")
	r.do(&DropDatabase{Name: "d"})
	r.refused(failing, doriserr.DatabaseExists, "database exists")
	reg := &RegisterBackend{RequestID: [16]byte{3}, UUID: "u2", Host: "h2", HeartbeatPort: 1}
	if a, b := r.do(reg), r.do(reg); a != b || a.BootEpoch != 1 {
		t.Errorf("registration: %+v and %+v", a, b)
	}
	for i := range maxAnswers + 10 {
		r.do(&CreateDatabase{RequestID: [16]byte{9, byte(i), byte(i >> 8)}, Name: "f", IfNotExists: true})
	}
	if len(r.s.answers.byID) != maxAnswers || len(r.s.answers.order) != maxAnswers {
		t.Errorf("%d answers are kept", len(r.s.answers.byID))
	}
}

// Rule 6 and scenario H13.
func TestABackendWithOtherDirectoriesIsRefused(t *testing.T) {
	r := newRoom(t)
	dirs := r.s.Backend(r.be).Dirs
	back := func(dirs []BackendDir, accept ...string) *RegisterBackend {
		return &RegisterBackend{UUID: "u", Host: "h", HeartbeatPort: 9050, Dirs: dirs, AcceptLoss: accept, LastBootEpoch: 1}
	}
	r.refused(back(dirs[1:]), doriserr.Conflict, "lacks its directory /r (UUID root): mount it, or give up what it holds with --accept-loss=root")
	r.refused(&RegisterBackend{UUID: "other", Host: "h", HeartbeatPort: 9050}, doriserr.Conflict, "address h:9050 belongs to backend")
	r.refused(&RegisterBackend{Host: "x"}, doriserr.Conflict, "needs the UUID")
	if r.s.Backend(r.be).BootEpoch != 1 {
		t.Fatal("a refused registration raised the boot epoch")
	}
	if res := r.do(back(dirs)); res.ID != r.be || res.BootEpoch != 2 {
		t.Errorf("%+v", res)
	}
	r.boot = 2
	r.begin("t", "l", nil)
	r.refused(back(dirs), doriserr.Conflict, "has directories of boot epoch 1, but it wrote in epoch 2")
}

// Scenario H13: directories restored from an older copy.
func TestRolledBackDirectoriesAreRefused(t *testing.T) {
	r := newRoom(t)
	dirs := r.s.Backend(r.be).Dirs
	c := &RegisterBackend{UUID: "u", Host: "h", HeartbeatPort: 9050, Dirs: dirs}
	// Two lives that wrote nothing: their epochs need not be on disk.
	r.do(c)
	r.do(c)
	r.boot = 3
	r.begin("t", "l", nil)
	c.LastBootEpoch = 2
	r.refused(c, doriserr.Conflict, "has directories of boot epoch 2, but it wrote in epoch 3")
	c.LastBootEpoch = 3
	r.do(c)
}

// Scenario H28 through registration.
func TestAnAcceptedWALLossMarksGroupsLost(t *testing.T) {
	r := newRoom(t)
	g := r.begin("t", "group_commit_1", &txn.GroupRecord{Async: true})
	dirs := r.s.Backend(r.be).Dirs
	r.do(&RegisterBackend{UUID: "u", Host: "h", HeartbeatPort: 9050, Dirs: dirs[:1], AcceptLoss: []string{"wal"}, LastBootEpoch: 1, WALsReported: true})
	if x := r.s.Txn(g.ID); !x.Group.Lost || x.State != txn.Prepare {
		t.Errorf("%s, %+v", x.State, x.Group)
	}
	r.refused(&DropBackend{ID: r.be}, doriserr.Blocked, "and has 1 unfinished WALs")
	r.do(&ReleaseLost{TxnID: g.ID})
	if n := r.s.GroupCount(r.be); n != 0 {
		t.Errorf("%d groups outstanding", n)
	}
}

// Rule 10 and scenario H10.
func TestDropBackendCountsReplicasAndGroups(t *testing.T) {
	r := newRoom(t)
	g := r.begin("t", "group_commit_1", &txn.GroupRecord{Async: true})
	n := r.begin("t", "normal", nil)
	r.refused(&DropBackend{ID: r.be}, doriserr.Blocked, "still has 2 replicas; and has 1 unfinished WALs")
	r.do(&SetBackendAlive{ID: r.be, BootEpoch: 1})
	r.refused(&DropBackend{ID: r.be}, doriserr.Blocked, "and has 1 unfinished WALs")
	r.do(&DecommissionBackend{ID: r.be})
	tab := r.table("t")
	r.refused(&BeginTxn{DBID: r.db, TableID: tab.ID, TableEpoch: 1, SchemaVersion: 3, Label: "group_commit_2", Owner: r.owner(), Group: &txn.GroupRecord{}},
		doriserr.NotAdmitted, "is being decommissioned")
	r.do(&DropBackend{ID: r.be, Force: true})
	if a, b := r.s.Txn(g.ID), r.s.Txn(n.ID); a.State != txn.Aborted || b.State != txn.Aborted || r.s.Backend(r.be) != nil {
		t.Errorf("%s and %s after a forced drop", a.State, b.State)
	}
}

// TestModifyBackend: tags are set one by one, taken away by an empty value, and
// survive a registration and a snapshot.
func TestModifyBackend(t *testing.T) {
	r := newRoom(t)
	r.do(&ModifyBackend{ID: r.be, Tags: []Tag{{TagPublicEndpoint, "lb:80"}}})
	r.do(&ModifyBackend{ID: r.be, Tags: []Tag{{TagPrivateEndpoint, "10.0.0.1:8040"}, {TagPublicEndpoint, "lb:81"}}})
	r.refused(&ModifyBackend{ID: r.be, Tags: []Tag{{TagPublicEndpoint, "x:1"}, {"color", "red"}}}, doriserr.BadProperty, "unknown backend property tag.color")
	r.refused(&ModifyBackend{ID: 99, Tags: []Tag{{TagPublicEndpoint, "x:1"}}}, doriserr.NoBackend, "Backend [99] does not exist")
	b := r.s.Backend(r.be)
	r.do(&RegisterBackend{UUID: b.UUID, Host: b.Host, HeartbeatPort: b.HeartbeatPort, Dirs: b.Dirs, LastBootEpoch: b.BootEpoch})
	var image bytes.Buffer
	if err := r.s.Snapshot().Write(&image); err != nil {
		t.Fatal(err)
	}
	back, err := Restore(&image)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*State{r.s, back} {
		b := s.Backend(r.be)
		if b.Tag(TagPublicEndpoint) != "lb:81" || b.Tag(TagPrivateEndpoint) != "10.0.0.1:8040" || len(b.Tags) != 2 || b.BootEpoch < 2 {
			t.Errorf("backend %+v", b)
		}
	}
	r.do(&ModifyBackend{ID: r.be, Tags: []Tag{{TagPublicEndpoint, ""}}})
	if b := r.s.Backend(r.be); b.Tag(TagPublicEndpoint) != "" || b.Tag(TagPrivateEndpoint) == "" {
		t.Errorf("backend %+v", b)
	}
}

func TestBeginChecksTheCatalog(t *testing.T) {
	r := newRoom(t)
	tab := r.table("t")
	good := BeginTxn{DBID: r.db, TableID: tab.ID, TableEpoch: tab.Epoch, SchemaVersion: tab.SchemaVersion, Label: "l", Owner: r.owner()}
	for _, tt := range []struct {
		change func(*BeginTxn)
		kind   doriserr.Kind
		text   string
	}{
		{func(c *BeginTxn) { c.SchemaVersion-- }, doriserr.SchemaChanged, "schema version not match, maybe a schema change is in process. Please retry this load manually."},
		{func(c *BeginTxn) { c.TableEpoch++ }, doriserr.SchemaChanged, "schema version not match"},
		{func(c *BeginTxn) { c.TableID = 1 }, doriserr.UnknownTable, "table 1 does not exist"},
		{func(c *BeginTxn) { c.DBID = 1 }, doriserr.UnknownTable, "is not in database 1"},
		{func(c *BeginTxn) { c.Owner.BootEpoch = 9 }, doriserr.StaleEpoch, "is in boot epoch 1, not 9"},
		{func(c *BeginTxn) { c.Owner.BackendID = 9 }, doriserr.StaleEpoch, "backend 9 is not registered"},
		{func(c *BeginTxn) { c.Owner, c.Group = txn.Owner{}, &txn.GroupRecord{} }, doriserr.Internal, "needs a backend"},
	} {
		c := good
		tt.change(&c)
		r.refused(&c, tt.kind, tt.text)
	}
	r.do(&SetConfig{Key: ConfigDisableLoad, Value: "true"})
	r.refused(&good, doriserr.ExceededLimit, "disable_load_job is set to true, all load jobs are prevented")
}

// Rule 11 and scenario H18.
func TestTruncateWaitsForOlderGroups(t *testing.T) {
	r := newRoom(t)
	g := r.begin("t", "group_commit_1", &txn.GroupRecord{Async: true, IntervalMs: 10_000})
	old := r.table("t")
	epoch := r.do(&RaiseTableEpoch{TableID: old.ID}).Epoch
	newer := r.begin("t", "group_commit_2", &txn.GroupRecord{Async: true})
	c := &TruncateTable{TableID: old.ID, Epoch: epoch}
	r.refused(c, doriserr.Blocked, fmt.Sprintf("waits for group %d on backend", g.ID))
	r.do(&SetBackendAlive{ID: r.be, BootEpoch: 1})
	r.refused(c, doriserr.Blocked, "waits for group")
	r.do(&Tick{DeltaMs: 10_000, Term: 1})
	r.do(c)
	now := r.table("t")
	if now.Epoch != epoch || now.Partitions[0].ID == old.Partitions[0].ID || now.Partitions[0].Epoch != epoch {
		t.Errorf("after TRUNCATE: epoch %d, partition %+v", now.Epoch, now.Partitions[0])
	}
	if _, ok := r.s.PartitionVersion(old.Partitions[0].ID); ok {
		t.Error("the old partition still has versions")
	}
	if x := r.do(r.commit(g, old)).Txn; x.State != txn.Visible || x.DroppedRows != 1 {
		t.Errorf("the older group: %s, %d rows dropped", x.State, x.DroppedRows)
	}
	r.refused(r.commit(newer, old), doriserr.SchemaChanged, "plan it again")
	if x := r.do(r.commit(newer, now)).Txn; x.State != txn.Committed {
		t.Errorf("the newer group: %s", x.State)
	}
	r.refused(&TruncateTable{TableID: old.ID, Epoch: epoch - 1}, doriserr.Conflict, "is in epoch")
}

// Scenario H27: RECOVER brings back what was committed and what waits in WALs.
func TestDropRecoverAndErase(t *testing.T) {
	r := newRoom(t)
	tab := r.table("t")
	done := r.do(r.commit(r.begin("t", "l", nil), tab)).Txn
	waits := r.begin("t", "group_commit_1", &txn.GroupRecord{Async: true})
	r.do(&DropTable{DB: "d", Name: "t"})
	r.refused(r.commit(waits, tab), doriserr.UnknownTable, "does not exist")
	if r.s.Recycled(tab.ID) == nil || r.s.PartitionTable(tab.Partitions[0].ID) == nil {
		t.Fatal("a dropped table leaves no trace")
	}
	if x := r.do(&PublishDone{TxnID: done.ID, BackendIDs: []int64{r.be}}).Txn; x.State != txn.Visible {
		t.Errorf("a committed transaction of a dropped table: %s", x.State)
	}
	r.do(&RecoverTable{DB: "d", Name: "t"})
	if x := r.do(r.commit(waits, r.table("t"))).Txn; x.Version(tab.Partitions[0].ID) != 3 {
		t.Errorf("after RECOVER: %+v", x)
	}
	r.do(&DropTable{DB: "d", Name: "t"})
	before := r.s.CatalogIndex()
	r.do(&Tick{DeltaMs: defaultTrashS * 1000, Term: 1})
	if rec := r.s.Recycled(tab.ID); rec == nil || !rec.Erased {
		t.Fatalf("not erased after its time: %+v", rec)
	}
	if r.s.CatalogIndex() == before {
		t.Error("an erasure does not show in the catalog index")
	}
	if x := r.s.Txn(waits.ID); x.State != txn.Visible {
		t.Errorf("a version of an erased table is not void: %s", x.State)
	}
	r.refused(&RecoverTable{DB: "d", Name: "t"}, doriserr.UnknownTable, "Unknown table 't'")
	r.do(&Tick{DeltaMs: 1, Term: 1})
	if r.s.Recycled(tab.ID) == nil {
		t.Error("the tombstone is gone while a group record names it")
	}
	r.do(&ReleaseGroups{BackendID: r.be, BootEpoch: 1, TxnIDs: []int64{waits.ID}})
	r.do(&Tick{DeltaMs: 1, Term: 1})
	if r.s.Recycled(tab.ID) != nil {
		t.Error("the tombstone stays for ever")
	}
}

func TestDroppedTablesFreeTheirTransactions(t *testing.T) {
	r := newRoom(t)
	n := r.begin("t", "l", nil)
	tab := r.table("t")
	r.do(&DropTable{DB: "d", Name: "t", Force: true})
	r.refused(r.commit(n, tab), doriserr.UnknownTable, "does not exist")
	if x := r.do(&AbortTxn{TxnID: n.ID, Owner: r.owner(), Reason: "no table"}).Txn; x.State != txn.Aborted || r.s.RunningTxns(r.db) != 0 {
		t.Errorf("%s, %d running", x.State, r.s.RunningTxns(r.db))
	}
}

// TestTwoPhaseTexts: repeated and crossed second phases, with Doris' texts.
func TestTwoPhaseTexts(t *testing.T) {
	r := newRoom(t)
	x := r.begin("t", "l", nil)
	finish := func(commit bool) *FinishTwoPhase {
		return &FinishTwoPhase{DBID: r.db, TxnID: x.ID, Commit: commit}
	}
	byLabel := func(label string, commit bool) *FinishTwoPhase {
		return &FinishTwoPhase{DBID: r.db, Label: label, Commit: commit}
	}
	r.refused(finish(true), doriserr.TxnState, "transaction [1] is prepare, not pre-committed.")
	r.refused(byLabel("l", true), doriserr.TxnNotFound, "transaction not found, label=l: transaction [1] is prepare, not pre-committed.")
	pre := r.commit(x, r.table("t"))
	pre.TwoPhase, pre.PrecommitTimeoutMs = true, 1000
	r.do(pre)
	r.do(pre)
	r.refused(&FinishTwoPhase{DBID: 5, TxnID: x.ID}, doriserr.TxnNotFound, "transaction [1] not found")
	r.refused(&FinishTwoPhase{DBID: r.db, TxnID: x.ID, Label: "m"}, doriserr.TxnNotFound, "label=m")
	r.do(byLabel("l", true))
	r.refused(finish(true), doriserr.TxnState, "transaction [1] is already committed, not pre-committed.")
	r.refused(finish(false), doriserr.TxnState, "transaction [1] is already COMMITTED, could not abort.")
	r.do(&PublishDone{TxnID: x.ID, BackendIDs: []int64{r.be}})
	r.refused(finish(true), doriserr.TxnState, "transaction [1] is already visible, not pre-committed.")
	r.refused(byLabel("l", true), doriserr.TxnNotFound, "transaction not found, label=l: transaction [1] is already visible, not pre-committed.")
	r.refused(byLabel("l", false), doriserr.TxnNotFound, "running transaction not found, label=l: transaction [1] is already VISIBLE, could not abort.")
	r.refused(byLabel("zz", false), doriserr.TxnNotFound, "transaction not found, label=zz")
	// A repeat of the precommit, whose answer was lost, is no error then.
	r.do(pre)
	x = r.begin("t", "m", nil)
	r.do(byLabel("m", false))
	r.refused(finish(true), doriserr.TxnState, "transaction [2] is already aborted. abort reason: User Abort")
	r.refused(finish(false), doriserr.TxnState, "transaction [2] is already aborted. abort reason: User Abort")
	r.refused(byLabel("m", false), doriserr.TxnNotFound, "running transaction not found, label=m: transaction [2] is already aborted. abort reason: User Abort")
	g := r.begin("t", "group_commit_1", &txn.GroupRecord{})
	r.refused(byLabel(g.Label, false), doriserr.TxnState, "is a group of group commit")
	x = r.begin("t", "n", nil)
	plain := r.commit(x, r.table("t"))
	r.do(plain)
	plain.TwoPhase = true
	r.refused(plain, doriserr.TxnState, "transaction [4] is already committed, not pre-committed.")
}

// precommitted begins a load into a table and leaves it PRECOMMITTED.
func (r *room) precommitted(table, label string) *txn.Txn {
	r.Helper()
	c := r.commit(r.begin(table, label, nil), r.table(table))
	c.TwoPhase = true
	return r.do(c).Txn
}

// TestSecondPhaseIsTheClients: what a backend does not know of its precommit
// changes nothing, and a repeated question gets its own answer.
func TestSecondPhaseIsTheClients(t *testing.T) {
	r := newRoom(t)
	x := r.precommitted("t", "l")
	r.refused(&AbortTxn{TxnID: x.ID, Owner: r.owner(), Reason: "no answer"}, doriserr.TxnState, "its client alone may abort")
	r.refused(&CommitTxn{TxnID: x.ID, Owner: r.owner()}, doriserr.TxnState, "its client alone may commit")
	// The next life of the backend leaves it alone as well.
	r.boot = r.do(&RegisterBackend{UUID: "u", Host: "h", HeartbeatPort: 9050, Dirs: r.s.Backend(r.be).Dirs, WALsReported: true, LastBootEpoch: 1}).BootEpoch
	commit := &FinishTwoPhase{RequestID: [16]byte{1}, DBID: r.db, TxnID: x.ID, Label: "l", Commit: true}
	if got := r.do(commit).Txn; got.State != txn.Committed {
		t.Fatalf("%s", got.State)
	}
	r.do(&PublishDone{TxnID: x.ID, BackendIDs: []int64{r.be}})
	if got := r.do(commit).Txn; got.ID != x.ID || got.State != txn.Committed {
		t.Errorf("a repeat is answered %+v", got)
	}
}

// TestPrecommitExpires: after the cluster's time for it, and not before.
func TestPrecommitExpires(t *testing.T) {
	for _, tc := range []struct {
		config string
		after  int64
	}{{"", 3600_000}, {"20", 20_000}} {
		r := newRoom(t)
		if tc.config != "" {
			r.do(&SetConfig{Key: ConfigPrecommitS, Value: tc.config})
		}
		x := r.precommitted("t", "l")
		r.do(&Tick{DeltaMs: tc.after - 1, Term: 1})
		if got := r.s.Txn(x.ID).State; got != txn.Precommitted {
			t.Fatalf("%s before its time is over", got)
		}
		r.do(&Tick{DeltaMs: 1, Term: 1})
		if got := r.s.Txn(x.ID); got.State != txn.Aborted || got.Reason != txn.ReasonTimeout {
			t.Errorf("%s, %q after %d ms", got.State, got.Reason, tc.after)
		}
		r.begin("t", "l", nil)
	}
}

// TestTwoPhaseWithoutItsTable: a commit says what is gone and loses nothing
// silently; an abort frees the label and the place in the quota.
func TestTwoPhaseWithoutItsTable(t *testing.T) {
	for _, tc := range []struct {
		name string
		gone func(r *room)
		kind doriserr.Kind
		text string
	}{
		{"DROP TABLE", func(r *room) { r.do(&DropTable{DB: "d", Name: "t"}) }, doriserr.UnknownTable, "its table d.t was dropped"},
		{"DROP TABLE FORCE", func(r *room) { r.do(&DropTable{DB: "d", Name: "t", Force: true}) }, doriserr.UnknownTable, "its table d.t was dropped"},
		{"DROP TABLE FORCE, swept", func(r *room) {
			r.do(&DropTable{DB: "d", Name: "t", Force: true})
			r.do(&Tick{DeltaMs: 10_000, Term: 1})
		}, doriserr.UnknownTable, "its table was dropped"},
		{"TRUNCATE TABLE", func(r *room) { r.do(&TruncateTable{TableID: r.table("t").ID}) }, doriserr.TxnState, "truncated or dropped, 1 of its rows"},
		{"DROP DATABASE", func(r *room) { r.do(&DropDatabase{Name: "d"}) }, doriserr.UnknownTable, "its table d.t was dropped"},
		{"DROP DATABASE FORCE, swept", func(r *room) {
			r.do(&DropDatabase{Name: "d", Force: true})
			r.do(&Tick{DeltaMs: 10_000, Term: 1})
		}, doriserr.UnknownTable, "its table was dropped"},
		{"DROP and CREATE DATABASE", func(r *room) {
			r.do(&DropDatabase{Name: "d"})
			r.do(&CreateDatabase{Name: "d"})
		}, doriserr.UnknownTable, "its table d.t was dropped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRoom(t)
			x := r.precommitted("t", "l")
			tc.gone(r)
			db, ok := r.s.TwoPhaseDatabase("d", x.ID, "")
			if !ok {
				t.Fatal("the name of the database leads nowhere")
			}
			r.refused(&FinishTwoPhase{DBID: db, TxnID: x.ID, Commit: true}, tc.kind, tc.text)
			if got := r.s.Txn(x.ID).State; got != txn.Precommitted {
				t.Fatalf("%s after the refused commit", got)
			}
			r.do(&FinishTwoPhase{DBID: db, TxnID: x.ID})
			if n := r.s.RunningTxns(x.DBID); n != 0 {
				t.Errorf("%d places in the quota are taken", n)
			}
			if got := r.s.TxnByLabel(x.DBID, "l"); got.State != txn.Aborted {
				t.Errorf("the label is %s", got.State)
			}
			// The answer to a repeat names the state, even of a dropped database.
			if db, ok = r.s.TwoPhaseDatabase("d", x.ID, ""); !ok {
				t.Fatal("the name of the database leads nowhere after the abort")
			}
			r.refused(&FinishTwoPhase{DBID: db, TxnID: x.ID}, doriserr.TxnState, "already aborted. abort reason: User Abort")
		})
	}
}

// TestTwoPhaseByLabelInADroppedDatabase finds what the database of that name
// left, and nothing of another one.
func TestTwoPhaseByLabelInADroppedDatabase(t *testing.T) {
	r := newRoom(t)
	x := r.precommitted("t", "l")
	if _, ok := r.s.TwoPhaseDatabase("gone", x.ID, "l"); ok {
		t.Error("an unknown database has a transaction")
	}
	r.do(&DropDatabase{Name: "d"})
	if _, ok := r.s.TwoPhaseDatabase("e", 0, "l"); ok {
		t.Error("another database has the transaction")
	}
	if _, ok := r.s.TwoPhaseDatabase("d", 0, "m"); ok {
		t.Error("another label has the transaction")
	}
	db, ok := r.s.TwoPhaseDatabase("d", 0, "l")
	if !ok || db != x.DBID {
		t.Fatalf("%d, %v", db, ok)
	}
	r.do(&FinishTwoPhase{DBID: db, Label: "l"})
}

func TestAlterPropsIsCompareAndSet(t *testing.T) {
	r := newRoom(t)
	tab := r.table("t")
	props := tab.Props
	props.GroupCommitIntervalMs, props.ReplicationNum = 7, 9
	r.do(&AlterTableProps{TableID: tab.ID, Props: props, ExpectModIndex: tab.ModIndex})
	if got := r.table("t").Props; got.GroupCommitIntervalMs != 7 || got.ReplicationNum != 9 {
		t.Errorf("%+v", got)
	}
	r.refused(&AlterTableProps{TableID: tab.ID, Props: props, ExpectModIndex: tab.ModIndex}, doriserr.Conflict, "was changed meanwhile")
}

func TestOnlyCatalogChangesRaiseTheCatalogIndex(t *testing.T) {
	r := newRoom(t)
	at := r.s.CatalogIndex()
	x := r.begin("t", "l", nil)
	r.do(r.commit(x, r.table("t")))
	r.do(&Tick{DeltaMs: 1, Term: 1})
	if r.s.CatalogIndex() != at {
		t.Error("transactions raise the catalog index")
	}
	r.do(&SetGlobalVar{Name: "a", Value: "b"})
	if r.s.CatalogIndex() != r.index {
		t.Error("a variable does not raise the catalog index")
	}
}

func TestALongLostBackendLosesItsTransactions(t *testing.T) {
	r := newRoom(t)
	tab := r.table("t")
	x := r.do(&BeginTxn{DBID: r.db, TableID: tab.ID, TableEpoch: 1, SchemaVersion: 3, Label: "l", Owner: r.owner(), TimeoutMs: 1 << 40}).Txn
	g := r.begin("t", "group_commit_1", &txn.GroupRecord{Async: true})
	r.do(&SetBackendAlive{ID: r.be, BootEpoch: 1})
	r.do(&Tick{DeltaMs: 299_000, Term: 1})
	if got := r.s.Txn(x.ID); got.State != txn.Prepare {
		t.Errorf("%s after 299 s", got.State)
	}
	r.do(&Tick{DeltaMs: 1_000, Term: 1})
	if got := r.s.Txn(x.ID); got.State != txn.Aborted || got.Reason != txn.ReasonDown {
		t.Errorf("%s, %s after 300 s", got.State, got.Reason)
	}
	if got := r.s.Txn(g.ID); got.State != txn.Prepare {
		t.Errorf("the group with WAL is %s", got.State)
	}
}

func TestInitClusterIsOnce(t *testing.T) {
	r := newRoom(t)
	r.do(&InitCluster{ClusterID: "c"})
	r.refused(&InitCluster{ClusterID: "other"}, doriserr.Conflict, "this cluster is c already, not other")
	if u := r.s.User("root"); u == nil || len(u.Grants) != 1 {
		t.Errorf("root is %+v", u)
	}
}

// The leader lets the clock stand when nothing is due: whatever ends by time
// must say so.
func TestEverythingThatExpiresHasADeadline(t *testing.T) {
	r := newRoom(t)
	due := func(want int64, what string) {
		t.Helper()
		if ms, ok := r.s.NextDeadline(); !ok || ms != want {
			t.Errorf("%s: due at %d, %v, want %d", what, ms, ok, want)
		}
	}
	if ms, ok := r.s.NextDeadline(); ok {
		t.Errorf("something is due at %d in an idle cluster", ms)
	}
	g := r.begin("t", "group_commit_1", &txn.GroupRecord{Async: true})
	if ms, ok := r.s.NextDeadline(); ok {
		t.Errorf("a group with WAL is due at %d", ms)
	}
	r.do(&SetBackendAlive{ID: r.be, BootEpoch: 1})
	due(0, "a group of a backend that is down")
	r.do(&SetBackendAlive{ID: r.be, BootEpoch: 1, Alive: true})
	x := r.begin("t", "l", nil)
	due(1000, "a transaction")
	r.do(&AbortTxn{TxnID: x.ID, Owner: r.owner()})
	due(43200_000, "a label")
	r.do(&SetConfig{Key: ConfigLabelMax, Value: "0"})
	due(180_000, "a label too many")
	r.do(&CleanLabel{DBID: r.db})
	r.do(&DropTable{DB: "d", Name: "t"})
	due(defaultTrashS*1000, "a dropped table")
	r.do(&Tick{DeltaMs: defaultTrashS * 1000, Term: 1})
	if ms, ok := r.s.NextDeadline(); ok {
		t.Errorf("a tombstone that a group names is due at %d", ms)
	}
	r.do(&AbortTxn{TxnID: g.ID, Owner: r.owner()})
	r.do(&ReleaseGroups{BackendID: r.be, BootEpoch: 1, TxnIDs: []int64{g.ID}})
	r.do(&CleanLabel{DBID: r.db})
	due(defaultTrashS*1000, "a tombstone that nothing names")
}
