package exec

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/fe/session"
	"dorisgo/meta"
	"dorisgo/router"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/peer"
)

// Node is the replicated state, as raftfsm.Node is.
type Node interface {
	View(f func(*meta.State))
	AppliedIndex() uint64
	WaitApplied(ctx context.Context, index uint64) error
	Leader() (id, addr string, ok bool)
	IsLeader() bool
}

// Changer changes the state, on this FE or through the leader, and returns when
// this FE has applied the change.
type Changer interface {
	Change(ctx context.Context, c meta.Command) (meta.Result, error)
}

// Backends sends work to BEs.
type Backends interface {
	Load(ctx context.Context, be *meta.Backend, item *bepb.LoadItem) (*bepb.LoadReply, error)
	// Start is Load for an async load, without its wait: wake is called when the
	// answer may be there. It never blocks; without ok nothing was sent.
	Start(be *meta.Backend, item *bepb.LoadItem, wake func()) (started peer.Started, ok bool)
	Query(ctx context.Context, be *meta.Backend, r *bepb.QueryRequest) (bepb.Backend_QueryClient, error)
	Status(ctx context.Context, be *meta.Backend) (*bepb.StatusReply, error)
	StreamLoads(ctx context.Context, be *meta.Backend, db string) ([]*bepb.StreamLoadRecord, error)
}

// Auditor hears of finished statements.
type Auditor interface {
	Statement(e *AuditEntry)
}

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	Time       time.Time
	ConnID     uint32
	User, DB   string
	RemoteHost string
	QueryID    string
	Statement  []byte
	Elapsed    time.Duration
	Rows       int64
	Prepared   bool
	Err        error
}

// Settings are the FE's configuration for SHOW and ADMIN SET.
type Settings interface {
	List() [][2]string
	Set(key, value string) error
}

// Config is what a Server works with.
type Config struct {
	Node     Node
	Changer  Changer
	Backends Backends
	Groups   *router.Groups
	Settings Settings
	Audit    Auditor
	Logger   *slog.Logger
	// Limits are the configuration keys that statements depend on, as they are
	// at that moment.
	Limits func() Limits
	// Self describes this FE.
	Self Self
	// Processes lists and kills connections; it is set before the first one.
	Processes *mysql.Server
	// Leaving says that a BE stops and takes no more loads; nil is never.
	Leaving func(backendID int64) bool
	// Checks compares replicas; nil if this FE cannot.
	Checks Checks
	// Beats are the newest heartbeats of BEs, empty on an FE that does not lead.
	Beats func() map[int64]Beat
	// Replica is what a BE reported of a replica; nil, and ok is false, where
	// that is not known: on an FE that does not lead.
	Replica func(backendID, tabletID, replicaID int64) (r ReplicaReport, ok bool)
}

// ReplicaReport is what a BE says of a replica of its own.
type ReplicaReport struct {
	// Through is the version through which it is gap-free there.
	Through, Rows, Bytes int64
	// Versions is how many rowsets it has.
	Versions int64
}

// Limits are configuration keys.
type Limits struct {
	// ReplicationNum, IntervalMs and DataBytes are those of tables that name
	// none.
	ReplicationNum, IntervalMs, DataBytes int32
	// MaxBuckets is max_bucket_num_per_partition.
	MaxBuckets int
	// WaitGroups is wait_internal_group_commit_finish: async becomes sync.
	WaitGroups bool
}

// Self is this FE for SHOW and functions.
type Self struct {
	ID      string
	Host    string
	Version string
}

// Server makes the sessions. It is safe for concurrent use.
type Server struct {
	Config
	next    router.RoundRobin
	globals atomic.Pointer[globals]
	cached  atomic.Pointer[nodesAndUsers]
	// queries counts the plans of queries, which spread over replicas by it.
	queries atomic.Uint64
	// again counts those that were made because a replica could not be read.
	again    atomic.Uint64
	suspects suspects
}

type globals struct {
	index  uint64
	values *session.Globals
}

// New returns a Server.
func New(cfg Config) *Server { return &Server{Config: cfg} }

// PlannedAgain is how many plans of queries were made because a replica could
// not be read.
func (s *Server) PlannedAgain() uint64 { return s.again.Load() }

// Globals are the present global variables.
func (s *Server) Globals() *session.Globals {
	old := s.globals.Load()
	var vars map[string]string
	var index uint64
	s.Node.View(func(st *meta.State) {
		index = st.CatalogIndex()
		if old == nil || old.index != index {
			vars = st.GlobalVars()
		}
	})
	if old != nil && old.index == index {
		return old.values
	}
	values, err := session.NewGlobals(vars)
	if err != nil {
		s.Logger.Warn("some global variables are not known to this version", "err", err)
	}
	s.globals.Store(&globals{index: index, values: values})
	return values
}

// Credential implements mysql.Handler.
func (s *Server) Credential(_ context.Context, user string, _ net.Addr) (c mysql.Credential, found bool, err error) {
	s.Node.View(func(st *meta.State) {
		if u := st.User(user); u != nil {
			c, found = mysql.Credential{Native: u.NativeHash, SHA2: u.SHA2Hash}, true
		}
	})
	return c, found, nil
}

// Connect implements mysql.Handler.
func (s *Server) Connect(_ context.Context, info *mysql.ConnInfo) (mysql.Session, error) {
	return newSession(s, info)
}

// nodesAndUsers is what every INSERT asks for: the BEs as the router sees them,
// and by id, and the accounts. It is replaced when the catalog changes and never
// changed.
type nodesAndUsers struct {
	// applied is a log index whose state was seen to have this catalog index.
	applied, index uint64
	list           []router.Backend
	byID           map[int64]*meta.Backend
	users          map[string]*meta.User
}

// present are the present BEs and accounts.
func (s *Server) present() *nodesAndUsers {
	old, applied := s.cached.Load(), s.Node.AppliedIndex()
	if old != nil && old.applied == applied {
		return old
	}
	var set *nodesAndUsers
	s.Node.View(func(st *meta.State) {
		if old != nil && old.index == st.CatalogIndex() {
			same := *old
			same.applied = applied
			set = &same
			return
		}
		set = &nodesAndUsers{applied: applied, index: st.CatalogIndex(), byID: map[int64]*meta.Backend{}, users: map[string]*meta.User{}}
		for _, u := range st.Users() {
			set.users[u.Name] = u
		}
		for _, b := range st.Backends() {
			set.list = append(set.list, router.Backend{ID: b.ID, Alive: b.Alive, Decommissioned: b.Decommissioned})
			set.byID[b.ID] = b
		}
	})
	s.cached.Store(set)
	return set
}

// database is a database by name, or the error that there is none.
func (s *Server) database(name string) (*meta.Database, error) {
	if name == "" {
		return nil, doriserr.New(doriserr.NoDatabase, "No database selected")
	}
	var db *meta.Database
	s.Node.View(func(st *meta.State) { db = st.DatabaseByName(name) })
	if db == nil && !virtualDB(name) {
		return nil, doriserr.New(doriserr.UnknownDatabase, "Unknown database '%s'", name)
	}
	return db, nil
}

// table is a table by name, or the error that there is none.
func (s *Server) table(dbName, name string) (*meta.Database, *meta.Table, error) {
	if dbName == "" {
		return nil, nil, doriserr.New(doriserr.NoDatabase, "No database selected")
	}
	var db *meta.Database
	var t *meta.Table
	s.Node.View(func(st *meta.State) {
		if db = st.DatabaseByName(dbName); db != nil {
			t = st.TableByName(db.ID, name)
		}
	})
	switch {
	case t != nil:
		return db, t, nil
	case db == nil && !virtualDB(dbName):
		return nil, nil, doriserr.New(doriserr.UnknownDatabase, "Unknown database '%s'", dbName)
	}
	return nil, nil, unknownTable(dbName, name)
}

func unknownTable(db, name string) error {
	return doriserr.New(doriserr.UnknownTable, "Unknown table '%s' in database '%s'", name, db)
}

// virtualDB reports the databases that exist without a catalog entry.
func virtualDB(name string) bool { return name == "information_schema" || name == "mysql" }
