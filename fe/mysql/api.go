package mysql

import (
	"context"
	"net"
	"time"

	"dorisgo/value"
)

// Handler makes the sessions of a Server. Its methods are called from many
// goroutines at once.
type Handler interface {
	// Credential is what the user must prove. found is false for a user
	// that does not exist: the client is then led through the same steps and
	// refused as for a wrong password. An error ends the sign-in.
	Credential(ctx context.Context, user string, remote net.Addr) (c Credential, found bool, err error)
	// Connect makes the session of a client that has proved who it is;
	// Session.SetUser follows. info may be kept.
	Connect(ctx context.Context, info *ConnInfo) (Session, error)
}

// Credential is what the catalog keeps of a user's password. A user whose
// both hashes are empty signs in with an empty password only.
type Credential struct {
	// Native is SHA1(SHA1(password)), 20 bytes: what `*HEX` in SHOW GRANTS
	// or SET PASSWORD spells.
	Native []byte
	// SHA2 is SHA256(SHA256(password)), 32 bytes, if it is known. It serves
	// caching_sha2_password without asking for the password itself.
	SHA2 []byte
}

// ConnInfo is what is known of a client when it has signed in.
type ConnInfo struct {
	// ID is the connection id that KILL and SHOW PROCESSLIST use.
	ID         uint32
	RemoteAddr net.Addr
	// Attrs are the client's connection attributes (program_name, ...).
	Attrs map[string]string
	// Capabilities are the flags that both sides have.
	Capabilities uint32
	// Charset is the collation id that the client sent in its handshake.
	Charset uint8
	TLS     bool
}

// Session executes the commands of one connection. Its methods are called by one
// goroutine at a time. Query and Statement.Execute may run on one that serves many
// connections: before they do what may wait, they call ResultWriter.MayBlock.
// Status, DB, MaxAllowedPacket, WaitTimeout, Close and Statement.Close never wait.
// The ctx of a command ends with KILL, with the connection and with a Stop that may
// not wait longer.
//
// Errors go to the client through doriserr; after an error the connection
// stays usable.
type Session interface {
	// SetUser is called after sign-in and after COM_CHANGE_USER (which calls
	// Reset before). An error (no such database, too many connections of the
	// user) ends the connection.
	SetUser(ctx context.Context, user, db string) error
	// Query executes one statement. sql is valid until the return only.
	Query(ctx context.Context, sql []byte, w *ResultWriter) error
	// Prepare prepares one statement. sql is valid until the return only.
	Prepare(ctx context.Context, sql []byte) (Statement, error)
	// UseDB makes db the current database.
	UseDB(ctx context.Context, db string) error
	// Reset brings the session back to what it was after sign-in: variables,
	// user variables, an open transaction. Prepared statements are closed by
	// the server before.
	Reset(ctx context.Context) error
	// Status is what the next OK or EOF packet tells of the session.
	Status() Status
	// DB is the current database, for the process list.
	DB() string
	// MaxAllowedPacket is the present limit of a command, in bytes.
	MaxAllowedPacket() int
	// WaitTimeout is how long the connection may idle. 0 means for ever.
	WaitTimeout() time.Duration
	// Close is called once, at the end of the connection.
	Close()
}

// Status is the part of a session's state that every OK and EOF packet shows.
type Status struct {
	Autocommit, InTransaction bool
	// NoBackslashEscapes is the SQL mode of that name. It also decides where
	// strings end when a packet is split into statements.
	NoBackslashEscapes bool
}

// FieldLister is implemented by sessions that answer COM_FIELD_LIST, which
// the mysql shell sends for name completion. Without it no column is listed.
type FieldLister interface {
	FieldList(ctx context.Context, table string) ([]Column, error)
}

// Statement is a prepared statement. It is used like its Session.
type Statement interface {
	// Params is the number of parameters.
	Params() int
	// Columns are the result's columns, nil for statements without a result
	// or whose result is known at execution only.
	Columns() []Column
	// Execute runs the statement. args is valid until the return only.
	Execute(ctx context.Context, args *ExecuteArgs, w *ResultWriter) error
	Close()
}

// Column describes a result column.
type Column struct {
	Name string
	Type value.Type
	// Schema, Table and OrgName may be empty.
	Schema, Table, OrgName string
	// NotNull says that no NULL can come.
	NotNull bool
}

// ParamType is the type of a parameter as the client bound it.
type ParamType struct {
	// Type is the protocol's type code (MYSQL_TYPE_...).
	Type byte
	// Unsigned applies to the integer types.
	Unsigned bool
}

// ExecuteArgs are the parameters of one execution, checked: the types are
// known ones, the NULL bitmap is as long as it must be, and Values has a whole
// value for each parameter that is neither NULL nor long data.
type ExecuteArgs struct {
	// Types has an entry for each parameter: those of this packet, or the
	// last ones if it brought none.
	Types []ParamType
	// NullBitmap has bit i set if parameter i is NULL.
	NullBitmap []byte
	// Values is the values back to back in the binary protocol's form.
	Values []byte
	// LongData has the parameters that came by COM_STMT_SEND_LONG_DATA, nil
	// if there are none. Values has no entry for these.
	LongData map[int][]byte
}

// Null reports whether parameter i is NULL.
func (a *ExecuteArgs) Null(i int) bool {
	if _, long := a.LongData[i]; long {
		return false
	}
	return a.NullBitmap[i>>3]&(1<<(i&7)) != 0
}

// Cell is one value of ResultWriter.Row: its text, or NULL.
type Cell struct {
	Text string
	Null bool
}

// Null is the Cell of a NULL.
var Null = Cell{Null: true}

// Text is the Cell of a text.
func Text(s string) Cell { return Cell{Text: s} }
