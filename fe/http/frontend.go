package fehttp

import (
	"context"
)

// Frontend is what the HTTP interface needs of an FE. Package fe implements it.
// Every method may be called concurrently; none may need a backend to be alive
// unless said. Errors that reach a client are *doriserr.Error.
type Frontend interface {
	// Authenticate checks a login: Basic authentication, or the cluster token
	// if Token is not empty. Failure is an AccessDenied error.
	Authenticate(ctx context.Context, c Credentials) error

	// Authorize checks a privilege of an authenticated user, on a table if db
	// and table are set. Failure is a NoPrivilege error. It is not called for
	// token logins.
	Authorize(ctx context.Context, user string, p Privilege, db, table string) error

	// Table says whether a database and table exist and whether a schema change
	// blocks the table for new groups.
	Table(ctx context.Context, db, table string) (TableState, error)

	// RouteLoad chooses the BE that takes a load. For a group commit load all
	// loads of the table go to the same BE while it is healthy (SPEC texts
	// `No alive backend`, `No suitable backend , backends = [...]` are the
	// implementation's); otherwise any BE that takes loads (none: `No backend
	// available for load, please check the status of your backends., policy: …`).
	RouteLoad(ctx context.Context, r RouteRequest) (Route, error)

	// LoadState is the state of the newest transaction with a label, as Doris
	// names it (PREPARE, COMMITTED, VISIBLE, ABORTED, PRECOMMITTED), or UNKNOWN.
	LoadState(ctx context.Context, db, label string) (string, error)

	// WalSizes are the numbers of WAL files for each BE. An empty list asks for
	// all BEs; an unknown BE is an error with the text
	// `Backend does not exist[host:port]`. A BE that does not answer is an error,
	// never a zero (docs/protocol.md, rule 10).
	WalSizes(ctx context.Context, backends []HostPort) ([]WalSize, error)

	// Health counts the backends; ready is false until this FE has caught up.
	Health(ctx context.Context) (h Health, ready bool)

	// Bootstrap is this FE's identity, for other FEs and probes.
	Bootstrap(ctx context.Context) (Bootstrap, error)

	// Backends are the BEs known to the catalog.
	Backends(ctx context.Context) ([]BackendInfo, error)

	// SetConfig changes mutable FE keys.
	SetConfig(ctx context.Context, key, value string, persist bool) error

	// Schema describes a table's columns.
	Schema(ctx context.Context, db, table string) (TableSchema, error)

	// RowCount is the number of visible rows; it may need backends.
	RowCount(ctx context.Context, db, table string) (int64, error)
}

// Credentials are a client's login.
type Credentials struct {
	User     string
	Password string
	// Token is the cluster token from the header of that name.
	Token string
	// RemoteAddr is the client's host and port.
	RemoteAddr string
}

// Privilege is what a route demands of the user.
type Privilege uint8

// The privileges that routes demand.
const (
	// PrivNone: open to everybody, no login.
	PrivNone Privilege = iota
	// PrivLogin: any user that can log in.
	PrivLogin
	PrivLoad
	PrivSelect
	PrivOperator
	PrivAdmin
)

// String is the privilege's name in messages.
func (p Privilege) String() string {
	return [...]string{"NONE", "LOGIN", "LOAD", "SELECT", "OPERATOR", "ADMIN"}[p]
}

// TableState is what routing needs to know of a table.
type TableState struct {
	DatabaseExists bool
	TableExists    bool
	Blocked        bool
	// GroupCommitMode is the table property group_commit_mode.
	GroupCommitMode string
}

// RouteRequest asks for the BE of a load.
type RouteRequest struct {
	DB, Table string
	// GroupCommit is true if the load may join a group: by header or, without
	// one, by the table's property.
	GroupCommit bool
	// User is the authenticated user, empty for token logins.
	User string
}

// Endpoint is an HTTP address. IPv6 hosts are without brackets.
type Endpoint struct {
	Host string
	Port int
}

// Route is the BE of a load: the address that it advertises, and those that
// operators gave it for clients outside and inside of their network; those may be
// empty.
type Route struct {
	Endpoint
	Public, Private Endpoint
}

// HostPort names a BE by its heartbeat port, as operators do.
type HostPort struct {
	Host string
	Port int
}

// WalSize is the number of WAL files of one BE.
type WalSize struct {
	HostPort
	Files int
}

// Health are the counts of /api/health.
type Health struct{ Total, Online int }

// Bootstrap is an FE's identity. Token is compared, never sent.
type Bootstrap struct {
	ClusterID         string
	Token             string
	Ready             bool
	ReplayedJournalID uint64
	QueryPort         int
	RPCPort           int
	Version           string
}

// BackendInfo is a BE in /api/backends.
type BackendInfo struct {
	Host     string
	HTTPPort int
	Alive    bool
}

// TableSchema is the reply of _schema.
type TableSchema struct {
	KeysType string
	Columns  []SchemaColumn
}

// SchemaColumn is one column of a TableSchema.
type SchemaColumn struct {
	Name, Type, Comment, AggregationType string
	IsKey                                bool
}
