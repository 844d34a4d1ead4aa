package ddl

import "dorisgo/meta"

// Statement is one of the pointer types of this package that Parse returns.
type Statement any

// Property is a "key" = "value" pair. It is an alias, so that other packages
// may make the same type without importing this one.
type Property = struct{ Key, Value string }

// TableName names a table; DB is empty if the session's database is meant.
type TableName struct{ DB, Table string }

// CreateDatabase is CREATE DATABASE|SCHEMA.
type CreateDatabase struct {
	Name        string
	IfNotExists bool
	Properties  []Property
}

// DropDatabase is DROP DATABASE|SCHEMA.
type DropDatabase struct {
	Name            string
	IfExists, Force bool
}

// CreateTable is CREATE TABLE as written; Build checks it.
type CreateTable struct {
	Name        TableName
	IfNotExists bool
	Columns     []ColumnDef
	// Indexes are the names of the INDEX clauses.
	Indexes []string
	// Engine is upper case, empty if not given.
	Engine string
	// Keys is 0 without a key clause.
	Keys       meta.KeysType
	KeyColumns []string
	// ClusterBy are the columns of CLUSTER BY.
	ClusterBy []string
	Comment   string
	// Partition is the text of the PARTITION BY clause, empty without one.
	Partition    string
	Distribution *Distribution
	// Rollup says that there is a ROLLUP clause.
	Rollup     bool
	Properties []Property
}

// Distribution is DISTRIBUTED BY.
type Distribution struct {
	// Columns are those of HASH; nil means RANDOM.
	Columns []string
	// Buckets is 0 for AUTO or if not given.
	Buckets int
}

// DropTable is DROP TABLE.
type DropTable struct {
	Name            TableName
	IfExists, Force bool
}

// TruncateTable is TRUNCATE TABLE.
type TruncateTable struct {
	Name  TableName
	Force bool
}

// AlterTableSet is ALTER TABLE t SET (...).
type AlterTableSet struct {
	Name       TableName
	Properties []Property
}

// Use is USE [catalog.]db.
type Use struct{ Database string }

// Describe is DESC t [ALL], also in the spellings DESCRIBE and EXPLAIN. Column
// is a name or pattern, empty for all.
type Describe struct {
	Name   TableName
	All    bool
	Column string
}

// Explain is EXPLAIN [level] statement.
type Explain struct {
	// Level is upper case, for example VERBOSE; empty if not given.
	Level string
	// SQL is the statement to explain.
	SQL string
}

// CreateUser is CREATE USER. A password that was not given is nil.
type CreateUser struct {
	User        UserName
	IfNotExists bool
	Password    *Password
}

// UserName is 'name'@'host'; Host is "%" if not given.
type UserName struct{ Name, Host string }

// Password is a password as a statement gives it.
type Password struct {
	Text string
	// Hashed says that Text is the scrambled form *HEX of 40 digits.
	Hashed bool
}

// DropUser is DROP USER.
type DropUser struct {
	User     UserName
	IfExists bool
}

// SetPassword is SET PASSWORD [FOR user] = ..., and ALTER USER ... IDENTIFIED
// BY. User is nil for the session's own account.
type SetPassword struct {
	User     *UserName
	IfExists bool
	Password Password
}

// Grant is GRANT or REVOKE of privileges on a scope, or of roles if Scope is
// empty.
type Grant struct {
	Revoke bool
	// Privileges are upper case, for example SELECT_PRIV or ALL; for roles
	// they are the role names as written.
	Privileges []string
	// Scope is what ON names, for example "*.*.*" or "db.t"; it may start
	// with RESOURCE and the like.
	Scope string
	User  UserName
	// Role says that the receiver is a role: User.Name.
	Role bool
}

// AdminSetConfig is ADMIN SET FRONTEND [ALL] CONFIG (...).
type AdminSetConfig struct {
	All    bool
	Config []Property
}

// AdminCheckTablets is ADMIN CHECK TABLET (...) [PROPERTIES (...)].
type AdminCheckTablets struct {
	Tablets    []int64
	Properties []Property
}

// SystemAction is what ALTER SYSTEM does.
type SystemAction uint8

// The actions of ALTER SYSTEM.
const (
	AddBackend SystemAction = iota + 1
	// DropBackend is DROP, which is always refused; DropBackendForce is DROPP.
	DropBackend
	DropBackendForce
	DecommissionBackend
	CancelDecommission
	ModifyBackend
	AddFollower
	DropFollower
	AddObserver
	DropObserver
)

// AlterSystem is ALTER SYSTEM on nodes. Hosts are "host:port" or ids as
// written.
type AlterSystem struct {
	Action     SystemAction
	Hosts      []string
	Properties []Property
}

// CleanLabel is CLEAN LABEL [label] FROM db; both may be empty.
type CleanLabel struct{ Label, DB string }

// Begin is BEGIN [WITH LABEL l] or START TRANSACTION.
type Begin struct{ Label string }

// Commit and Rollback end a transaction.
type (
	Commit   struct{}
	Rollback struct{}
)

// Kill is KILL [CONNECTION] id, or KILL QUERY id; QueryID is set if the id is
// quoted.
type Kill struct {
	Query   bool
	ID      int64
	QueryID string
}

// LockTables and UnlockTables are accepted and do nothing, as in Doris.
type (
	LockTables   struct{}
	UnlockTables struct{}
)
