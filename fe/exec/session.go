package exec

import (
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/fe/session"
	"dorisgo/meta"
	"dorisgo/sql/insert"
	"dorisgo/sql/token"
)

// Session is one connection's executor. It belongs to the connection's
// goroutine.
type Session struct {
	srv  *Server
	info *mysql.ConnInfo
	vars *session.Session
	rand *rand.ChaCha8
	txn  *transaction

	headers insert.Headers
	decoder insert.Decoder
	target  cachedTarget
	rows    *block.Block
	rowsOf  *meta.Table
	info0   []byte
	spare   *spareItem
	// patience bounds INSERTs into groups.
	patience patience
}

func newSession(srv *Server, info *mysql.ConnInfo) (*Session, error) {
	var seed [32]byte
	if _, err := crand.Read(seed[:]); err != nil {
		return nil, fmt.Errorf("cannot seed a session's ids: %w", err)
	}
	s := &Session{srv: srv, info: info, vars: session.New(srv.Globals()), rand: rand.NewChaCha8(seed)}
	s.vars.ConnID = info.ID
	if host, _, err := net.SplitHostPort(info.RemoteAddr.String()); err == nil {
		s.vars.RemoteHost = host
	}
	return s, nil
}

// newID is a new request or query id.
func (s *Session) newID() (id [16]byte) {
	for i := 0; i < len(id); i += 8 {
		v := s.rand.Uint64()
		for j := range 8 {
			id[i+j] = byte(v >> (8 * j))
		}
	}
	return id
}

// queryID is an id as Doris prints it.
func queryID(id [16]byte) string {
	var b [33]byte
	hex.Encode(b[:16], id[:8])
	b[16] = '-'
	hex.Encode(b[17:], id[8:])
	return string(b[:])
}

// SetUser implements mysql.Session.
func (s *Session) SetUser(ctx context.Context, user, db string) error {
	s.vars.User, s.vars.UserHost = user, "%"
	s.vars.DB = ""
	if db == "" {
		return nil
	}
	return s.UseDB(ctx, db)
}

// UseDB implements mysql.Session.
func (s *Session) UseDB(_ context.Context, db string) error {
	if _, err := s.srv.database(db); err != nil {
		return err
	}
	s.vars.DB = db
	return nil
}

// Reset implements mysql.Session.
func (s *Session) Reset(context.Context) error {
	s.txn = nil
	s.vars.Reset(s.srv.Globals())
	return nil
}

// Status implements mysql.Session.
func (s *Session) Status() mysql.Status {
	return mysql.Status{Autocommit: s.vars.Autocommit(), InTransaction: s.vars.InTransaction, NoBackslashEscapes: s.vars.NoBackslashEscapes()}
}

// DB implements mysql.Session.
func (s *Session) DB() string { return s.vars.DB }

// MaxAllowedPacket implements mysql.Session.
func (s *Session) MaxAllowedPacket() int { return s.vars.MaxAllowedPacket() }

// WaitTimeout implements mysql.Session.
func (s *Session) WaitTimeout() time.Duration { return s.vars.WaitTimeout() }

// Close implements mysql.Session.
func (s *Session) Close() {
	s.txn = nil
	s.patience.drop()
}

// Query implements mysql.Session.
func (s *Session) Query(ctx context.Context, sql []byte, w *mysql.ResultWriter) (err error) {
	start := time.Now()
	id := s.newID()
	class := token.Classify(sql)
	if class != token.Insert {
		w.MayBlock()
	}
	rows := int64(0)
	switch class {
	case token.Empty:
		return doriserr.New(doriserr.Parse, "Query was empty")
	case token.Insert:
		rows, err = s.insert(ctx, id, sql, w)
	case token.Query:
		rows, err = s.query(ctx, id, sql, w)
	case token.Update:
		err = doriserr.New(doriserr.Unsupported, "UPDATE is not supported: only UNIQUE KEY tables can change rows, which are not supported yet")
	case token.Delete:
		err = doriserr.New(doriserr.Unsupported, "DELETE is not supported yet")
	default:
		err = s.command(ctx, id, sql, w)
	}
	s.audit(start, id, sql, rows, false, err)
	return err
}

func (s *Session) audit(start time.Time, id [16]byte, sql []byte, rows int64, prepared bool, err error) {
	if s.srv.Audit == nil || prepared && !s.vars.Bool("enable_prepared_stmt_audit_log") {
		return
	}
	s.srv.Audit.Statement(&AuditEntry{
		Time: start, ConnID: s.info.ID, User: s.vars.User, DB: s.vars.DB, RemoteHost: s.vars.RemoteHost, QueryID: queryID(id),
		Statement: sql, Elapsed: time.Since(start), Rows: rows, Prepared: prepared, Err: err,
	})
}
