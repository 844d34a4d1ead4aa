package exec

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"dorisgo/block"
	"dorisgo/client"
	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/router"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
)

// world is an FE without raft and without BEs: commands are applied at once,
// and loads are answered by a function.
type world struct {
	mu    sync.Mutex
	state *meta.State
	index uint64

	loads   []*bepb.LoadItem
	targets []int64
	started int // of loads, those by Start
	leaving int64
	load    func(n int, item *bepb.LoadItem) (*bepb.LoadReply, error)
	query   error
	answer  func(be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error)
	records map[int64][]*bepb.StreamLoadRecord
	silent  int64                   // a BE that does not tell its records
	reports map[int64]ReplicaReport // by replica
	server  *Server
}

func (w *world) View(f func(*meta.State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w.state)
}
func (w *world) AppliedIndex() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index
}
func (w *world) WaitApplied(context.Context, uint64) error { return nil }
func (w *world) Leader() (id, addr string, ok bool)        { return "fe", "fe:9010", true }
func (w *world) IsLeader() bool                            { return true }
func (w *world) List() [][2]string                         { return nil }
func (w *world) Set(string, string) error                  { return nil }
func (w *world) Query(_ context.Context, be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error) {
	if w.answer != nil {
		return w.answer(be, r)
	}
	return nil, w.query
}
func (w *world) Status(context.Context, *meta.Backend) (*bepb.StatusReply, error) {
	return &bepb.StatusReply{}, nil
}

func (w *world) StreamLoads(_ context.Context, be *meta.Backend, db string) ([]*bepb.StreamLoadRecord, error) {
	if be.ID == w.silent {
		return nil, doriserr.New(doriserr.Unknown, "connection refused")
	}
	var out []*bepb.StreamLoadRecord
	for _, r := range w.records[be.ID] {
		if r.Db == db {
			out = append(out, r)
		}
	}
	return out, nil
}

func (w *world) Change(_ context.Context, c meta.Command) (meta.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index++
	return w.state.Apply(w.index, c)
}

func (w *world) Load(_ context.Context, be *meta.Backend, item *bepb.LoadItem) (*bepb.LoadReply, error) {
	w.mu.Lock()
	w.loads = append(w.loads, proto.CloneOf(item)) // a session uses it again
	w.targets = append(w.targets, be.ID)
	n := len(w.loads)
	w.mu.Unlock()
	if w.load != nil {
		return w.load(n, item)
	}
	return accept(item), nil
}

// Start hands the load over when it is kicked, and answers it from another
// goroutine.
func (w *world) Start(be *meta.Backend, item *bepb.LoadItem, wake func()) (peer.Started, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started++
	s := &startedLoad{done: make(chan struct{})}
	s.begin = sync.OnceFunc(func() {
		go func() {
			s.reply, s.err = w.Load(context.Background(), be, item)
			close(s.done)
			wake()
		}()
	})
	return s, true
}

type startedLoad struct {
	begin func()
	done  chan struct{}
	reply *bepb.LoadReply
	err   error
}

func (s *startedLoad) Kick() { s.begin() }

func (s *startedLoad) Local() bool { return true }

func (s *startedLoad) Ready() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *startedLoad) Reply(ctx context.Context) (*bepb.LoadReply, error) {
	select {
	case <-s.done:
		return s.reply, s.err
	case <-ctx.Done():
		return nil, doriserr.New(doriserr.Unknown, "the load was sent to the backend and its outcome is not known: %v", ctx.Err())
	}
}

func accept(item *bepb.LoadItem) *bepb.LoadReply {
	r := &bepb.LoadReply{TxnId: 7, Label: item.Label, State: 3, Index: 1}
	if item.Mode != modeOff {
		r.Label, r.Group, r.State = "group_commit_00000000000000aa_00000000000000bb", true, 1
	}
	return r
}

// modes are the modes of the loads so far.
func (w *world) modes() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := ""
	for _, l := range w.loads {
		out += string("osa"[l.Mode])
	}
	return out
}

// start serves a world over loopback and returns how to run statements in one
// session of a user.
func start(t *testing.T) (*world, func(user string) func(stmt string) (*client.Result, error)) {
	t.Helper()
	w := &world{state: meta.New()}
	native, sha2 := priv.Hashes("")
	for _, c := range []meta.Command{
		&meta.InitCluster{ClusterID: "c", MetaEpoch: 1},
		&meta.RegisterBackend{UUID: "b1", Host: "be1", HTTPPort: 1, RPCPort: 2, HeartbeatPort: 3},
		&meta.RegisterBackend{UUID: "b2", Host: "be2", HTTPPort: 1, RPCPort: 2, HeartbeatPort: 3},
		&meta.CreateUser{User: meta.User{Name: "loader", NativeHash: native, SHA2Hash: sha2, Grants: []string{string(priv.Load)}}},
		&meta.CreateUser{User: meta.User{Name: "nobody"}},
	} {
		if _, err := w.Change(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Config{
		Node: w, Changer: w, Backends: w, Groups: router.NewGroups(), Settings: w, Logger: slog.New(slog.DiscardHandler),
		Leaving: func(id int64) bool { return id == w.leaving },
		Replica: func(_, _, replica int64) (ReplicaReport, bool) { r, ok := w.reports[replica]; return r, ok },
		Limits: func() Limits {
			return Limits{ReplicationNum: 1, IntervalMs: 10000, DataBytes: 64 << 20, MaxBuckets: 16}
		},
	})
	w.server = s
	srv := mysql.New(s, mysql.Options{})
	s.Processes = srv
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return w, func(user string) func(string) (*client.Result, error) {
		db, err := client.Open(client.Address{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: user})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return func(stmt string) (*client.Result, error) { return client.Run(t.Context(), conn, stmt) }
	}
}

// must runs statements that have to succeed.
func must(t *testing.T, run func(string) (*client.Result, error), stmts ...string) *client.Result {
	t.Helper()
	var last *client.Result
	for _, s := range stmts {
		r, err := run(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		last = r
	}
	return last
}

const createT3 = "CREATE TABLE t3 (id INT NOT NULL, s VARCHAR(64) NULL, n INT NULL) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2"

func TestWhichStatementsJoinAGroup(t *testing.T) {
	for _, tc := range []struct {
		name  string
		stmts []string
		want  string
	}{
		{"nothing set", []string{"INSERT INTO t3 VALUES (1,'a',1)"}, "o"},
		{"session modes, without case", []string{"SET group_commit=ASYNC_MODE", "INSERT INTO t3 VALUES (1,'a',1)", "SET group_commit=sync_mode", "INSERT INTO t3 VALUES (1,'a',1)", "SET group_commit=off_mode", "INSERT INTO t3 VALUES (1,'a',1)"}, "aso"},
		{"table property below the session", []string{`ALTER TABLE t3 SET ("group_commit_mode"="async_mode")`, "INSERT INTO t3 VALUES (1,'a',1)", "SET group_commit=off_mode", "INSERT INTO t3 VALUES (1,'a',1)"}, "ao"},
		{"an expression", []string{"SET group_commit=sync_mode", "INSERT INTO t3 VALUES (1+1,'a',1)", "INSERT INTO t3 VALUES (2,'a',1)"}, "os"},
		{"a label", []string{"SET group_commit=sync_mode", "INSERT INTO t3 WITH LABEL mine VALUES (1,'a',1)"}, "o"},
		{"partial update", []string{"SET group_commit=sync_mode", "SET enable_unique_key_partial_update=true", "INSERT INTO t3 VALUES (1,'a',1)"}, "o"},
		{"rolled back", []string{"SET group_commit=sync_mode", "BEGIN", "INSERT INTO t3 VALUES (1,'a',1)", "ROLLBACK"}, ""},
		{"committed", []string{"SET group_commit=sync_mode", "BEGIN", "INSERT INTO t3 VALUES (1,'a',1)", "INSERT INTO t3 VALUES (2,'a',1)", "COMMIT"}, "o"},
		{"empty commit", []string{"BEGIN", "COMMIT"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, session := start(t)
			run := session("root")
			must(t, run, "CREATE DATABASE db", "USE db", createT3)
			must(t, run, tc.stmts...)
			if got := w.modes(); got != tc.want {
				t.Errorf("loads went out as %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFilterRatioOfInserts: the ratio itself is allowed, though 0.29*100 is less
// than 29 in floating point; a statement over it is refused whole.
func TestFilterRatioOfInserts(t *testing.T) {
	for _, tc := range []struct {
		ratio string
		bad   int
		ok    bool
	}{{"0.29", 29, true}, {"0.29", 30, false}, {"0.05", 6, false}, {"1", 100, true}, {"0", 1, false}} {
		for _, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
			w, session := start(t)
			run := session("root")
			must(t, run, "CREATE DATABASE db", "USE db", createT3, "SET group_commit = "+mode, "SET enable_insert_strict = false", "SET insert_max_filter_ratio = "+tc.ratio)
			stmt := "INSERT INTO t3 VALUES "
			for i := range 100 {
				if i > 0 {
					stmt += ", "
				}
				if i < tc.bad {
					stmt += "('x', 'a', 1)"
				} else {
					stmt += "(1, 'a', 1)"
				}
			}
			_, err := run(stmt)
			want := fmt.Sprintf("too many filtered data %d/100 insert_max_filter_ratio is %s", tc.bad, tc.ratio)
			if tc.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %d of 100 bad: %v, want %q", mode, tc.bad, err, want)
			}
			if tc.ok && tc.bad < 100 && (len(w.loads) != 1 || int(w.loads[0].Rows) != 100-tc.bad) || !tc.ok && len(w.loads) != 0 {
				t.Errorf("%s, %d of 100 bad: loads %v", mode, tc.bad, w.loads)
			}
		}
	}
}

func TestATransactionIsOneLoad(t *testing.T) {
	w, session := start(t)
	run := session("root")
	must(t, run, "CREATE DATABASE db", "USE db", createT3, "BEGIN", "INSERT INTO t3 VALUES (1,'a',1)", "INSERT INTO t3(id) VALUES (2),(3)")
	if _, err := run("INSERT INTO t3 VALUES (1,2)"); err == nil {
		t.Error("a bad INSERT was taken")
	}
	must(t, run, "COMMIT")
	if len(w.loads) != 1 || w.loads[0].Rows != 3 || w.loads[0].Label == "" {
		t.Fatalf("loads: %v", w.loads)
	}
	if n, err := block.DecodeRows(w.loads[0].Block); err != nil || n != 3 {
		t.Errorf("the block has %d rows, %v", n, err)
	}
}

func TestALoadGoesElsewhereOnlyWhenNobodyHasIt(t *testing.T) {
	for _, tc := range []struct {
		kind  doriserr.Kind
		loads int
		fails bool
	}{
		{doriserr.NotAdmitted, 2, false},
		{doriserr.Unknown, 1, true},
		{doriserr.Timeout, 1, true},
		{doriserr.SchemaChanged, 2, false},
		{doriserr.DataQuality, 1, true},
	} {
		for _, started := range []int{0, 1} {
			t.Run(fmt.Sprint(tc.kind, started), func(t *testing.T) {
				w, session := start(t)
				run := session("root")
				must(t, run, "CREATE DATABASE db", "USE db", createT3, "SET group_commit=async_mode")
				if started > 0 {
					must(t, run, "INSERT INTO t3 VALUES (0,'a',1)") // the next one needs no goroutine
				}
				w.loads = nil
				w.load = func(n int, item *bepb.LoadItem) (*bepb.LoadReply, error) {
					if n == 1 {
						return nil, doriserr.New(tc.kind, "injected")
					}
					return accept(item), nil
				}
				_, err := run("INSERT INTO t3 VALUES (1,'a',1)")
				if (err != nil) != tc.fails {
					t.Errorf("the statement: %v", err)
				}
				if len(w.loads) != tc.loads || runtime.GOOS == "linux" && min(w.started, 1) != started {
					t.Fatalf("%d loads were sent, want %d; %d were started", len(w.loads), tc.loads, w.started)
				}
				// A load that nobody has keeps its id; one that was refused for its
				// schema is planned again as another request.
				if same := tc.loads == 2 && string(w.loads[0].RequestId) == string(w.loads[1].RequestId); same != (tc.kind == doriserr.NotAdmitted) {
					t.Errorf("the same id twice: %t", same)
				}
			})
		}
	}
}

func TestAStoppingBackendGetsNoLoads(t *testing.T) {
	w, session := start(t)
	run := session("root")
	must(t, run, "CREATE DATABASE db", "USE db", createT3, "SET group_commit=async_mode", "INSERT INTO t3 VALUES (1,'a',1)")
	first := w.targets[0]
	w.leaving = first
	must(t, run, "INSERT INTO t3 VALUES (2,'a',1)", "SET group_commit=off_mode", "INSERT INTO t3 VALUES (3,'a',1)", "INSERT INTO t3 VALUES (4,'a',1)")
	for i, be := range w.targets[1:] {
		if be == first {
			t.Errorf("load %d went to the backend that stops", i+2)
		}
	}
	w.leaving = 0
	must(t, run, "SET group_commit=async_mode", "INSERT INTO t3 VALUES (5,'a',1)")
	if got := w.targets[len(w.targets)-1]; got != first {
		t.Errorf("the table did not come back to backend %d but went to %d", first, got)
	}
}

func TestPrivileges(t *testing.T) {
	_, session := start(t)
	root, loader, nobody := session("root"), session("loader"), session("nobody")
	must(t, root, "CREATE DATABASE db", "USE db", createT3)
	must(t, loader, "USE db", "INSERT INTO t3 VALUES (1,'a',1)")
	must(t, nobody, "USE db", "SELECT 1", "SHOW TABLES", "SET group_commit=async_mode", "SET PASSWORD = PASSWORD('')")
	for _, tc := range []struct {
		run  func(string) (*client.Result, error)
		stmt string
		want string
	}{
		{loader, "SELECT * FROM t3", "SELECT command denied to user 'loader'"},
		{loader, "CREATE DATABASE d2", "(CREATE) privilege"},
		{loader, "DROP TABLE t3", "(DROP) privilege"},
		{nobody, "INSERT INTO t3 VALUES (1,'a',1)", "LOAD command denied to user 'nobody'"},
		{nobody, `ALTER TABLE t3 SET ("group_commit_interval_ms"="1")`, "(ALTER) privilege"},
		{nobody, "SET GLOBAL group_commit=async_mode", "(ADMIN) privilege"},
		{nobody, "GRANT ADMIN_PRIV ON *.*.* TO nobody", "(GRANT) privilege"},
		{nobody, "SET PASSWORD FOR root = PASSWORD('x')", "(GRANT) privilege"},
		{nobody, "SHOW BACKENDS", "(NODE) privilege"},
	} {
		if _, err := tc.run(tc.stmt); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.stmt, err, tc.want)
		}
	}
	must(t, root, "GRANT SELECT_PRIV, CREATE_PRIV ON *.*.* TO loader")
	must(t, loader, "CREATE DATABASE d2")
	must(t, root, "REVOKE CREATE_PRIV ON *.*.* FROM loader")
	if _, err := loader("CREATE DATABASE d3"); err == nil {
		t.Error("a revoked privilege still holds")
	}
}

func TestTabletsSpreadOverBackends(t *testing.T) {
	w, session := start(t)
	run := session("root")
	must(t, run, "CREATE DATABASE db", "USE db")
	for i := range 4 {
		must(t, run, fmt.Sprintf("CREATE TABLE t%d (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 3", i))
	}
	count := map[int64]int{}
	w.View(func(st *meta.State) {
		for _, table := range st.Tables(0) {
			for _, tablet := range table.Partitions[0].Tablets {
				count[tablet.Replicas[0].BackendID]++
			}
		}
	})
	for be, n := range count {
		if n != 6 {
			t.Errorf("backend %d has %d of 12 tablets", be, n)
		}
	}
	must(t, run, `CREATE TABLE two (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2 PROPERTIES("replication_allocation"="tag.location.default: 2")`)
	w.View(func(st *meta.State) {
		for _, tablet := range st.TableByName(st.DatabaseByName("db").ID, "two").Partitions[0].Tablets {
			if len(tablet.Replicas) != 2 || tablet.Replicas[0].BackendID == tablet.Replicas[1].BackendID {
				t.Errorf("replicas %v", tablet.Replicas)
			}
		}
	})
	_, err := run(`CREATE TABLE r (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="3")`)
	if want := "replication num should be less than the number of available backends. replication num is 3, available backend num is 2"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("three replicas on two backends: %v", err)
	}
	if _, err := run(`CREATE TABLE r (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 17`); err == nil {
		t.Error("more buckets than the limit were taken")
	}
}

// TestAQueryNamesWhatCannotBeRead: the BE that runs a query died and is not yet
// known to be dead.
func TestAQueryNamesWhatCannotBeRead(t *testing.T) {
	w, session := start(t)
	run := session("root")
	must(t, run, "CREATE DATABASE db", "CREATE TABLE db.t (a INT) DUPLICATE KEY(a) DISTRIBUTED BY HASH(a) BUCKETS 1")
	var tablet *meta.Tablet
	w.View(func(st *meta.State) { tablet = st.Tables(0)[0].Partitions[0].Tablets[0] })
	w.query = doriserr.New(doriserr.Unknown, "connection refused")
	_, err := run("SELECT a FROM db.t")
	want := fmt.Sprintf("tablet %d of table t cannot be read: backend %d (be", tablet.ID, tablet.Replicas[0].BackendID)
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestShowForms(t *testing.T) {
	_, session := start(t)
	run := session("root")
	must(t, run, "CREATE DATABASE db", "USE db", createT3, "CREATE TABLE other (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	for _, tc := range []struct{ stmt, want string }{
		{"SHOW TABLES", "other|t3"},
		{"SHOW TABLES LIKE 't%'", "t3"},
		{"SHOW TABLES FROM db WHERE Tables_in_db = 'other'", "other"},
		{"SHOW DATABASES LIKE 'd%'", "db"},
		{"SHOW COLUMNS FROM t3 WHERE Field = 's'", "s varchar(64) Yes false NULL NONE"},
		{"DESC t3 id", "id int No true NULL "},
		{"SHOW VARIABLES LIKE 'group_commit'", "group_commit off_mode off_mode 0"},
		{"SHOW WARNINGS", ""},
		{"SELECT @@group_commit, 1 + 1", "off_mode 2"},
		{"SHOW TABLES ORDER BY Tables_in_db DESC LIMIT 1", "t3"},
	} {
		r, err := run(tc.stmt)
		if err != nil {
			t.Errorf("%s: %v", tc.stmt, err)
			continue
		}
		var rows []string
		for _, row := range r.Rows {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = *c
			}
			rows = append(rows, strings.Join(cells, " "))
		}
		if got := strings.Join(rows, "|"); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.stmt, got, tc.want)
		}
	}
	if _, err := run("SHOW TABLES WHERE nosuch = 1"); err == nil || !strings.Contains(err.Error(), "Unknown column 'nosuch'") {
		t.Errorf("an unknown column in SHOW: %v", err)
	}
}
