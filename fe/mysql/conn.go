package mysql

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
)

// conn is one client. The goroutine that runs it owns everything but what mu
// guards.
type conn struct {
	routine
	server  *Server
	w       *wire
	id      uint32
	caps    uint32
	charset uint8
	user    string
	attrs   map[string]string
	tls     bool
	session Session

	stmts     map[uint32]*prepared
	lastStmt  uint32
	longBytes int
	rw        ResultWriter
	// salt is what passwords are mixed with.
	salt [saltSize]byte
	// ctx is that of commands. It lives as long as the connection; KILL QUERY
	// ends it, and the next command gets a new one.
	ctx context.Context
	// active is when the last command ended.
	active time.Time

	// closing is set by Stop and KILL before they wake the goroutine.
	closing atomic.Bool

	// count is the number of commands.
	count  atomic.Uint64
	remote string

	mu     sync.Mutex
	cancel context.CancelFunc
	// nc is the connection that was accepted, below TLS: a net.Conn, or a
	// poller's socket.
	nc      io.Closer
	running bool
	// What the process list shows.
	shownUser, db string
	doing         byte
	since         time.Time
	info          [infoSize]byte
	infoLen       int
}

// signedIn notes who the client is.
func (c *conn) signedIn(r *login) {
	c.user = r.user
	c.mu.Lock()
	c.shownUser, c.db = r.user, r.db
	c.mu.Unlock()
}

var (
	errClosing = errors.New("connection is being closed")
	errIdle    = errors.New("connection idled longer than wait_timeout")
)

func (c *conn) has(flag uint32) bool { return c.caps&flag != 0 }

// status is the status flags of an OK or EOF packet.
func (c *conn) status(more bool) uint16 {
	var f uint16
	if c.session != nil {
		s := c.session.Status()
		if s.Autocommit {
			f |= proto.SERVER_STATUS_AUTOCOMMIT
		}
		if s.InTransaction {
			f |= proto.SERVER_STATUS_IN_TRANS
		}
		if s.NoBackslashEscapes {
			f |= proto.SERVER_STATUS_NO_BACKSLASH_ESCAPED
		}
	}
	if more {
		f |= proto.SERVER_MORE_RESULTS_EXISTS
	}
	return f
}

func (c *conn) writeOK() error {
	appendOK(c, 0x00, 0, 0, "", false)
	return c.w.end()
}

// writeEOF writes an EOF packet of the old form.
func (c *conn) writeEOF(warnings uint64, more bool) error {
	status, warn := c.status(more), uint16(min(warnings, 1<<16-1))
	c.w.begin()
	c.w.out = append(c.w.out, 0xfe, byte(warn), byte(warn>>8), byte(status), byte(status>>8))
	return c.w.end()
}

// writeError writes an ERR packet.
func (c *conn) writeError(err error) error {
	code, state, text := errorText(err)
	c.w.begin()
	b := append(c.w.out, 0xff, byte(code), byte(code>>8))
	if c.has(proto.CLIENT_PROTOCOL_41) {
		b = append(append(b, '#'), state...)
	}
	c.w.out = append(b, text...)
	return c.w.end()
}

// fail ends a command with err. It is an ERR packet at any point of a result,
// unless the client's end of the result was written already.
func (c *conn) fail(err error) error {
	if c.w.werr != nil {
		return c.w.werr
	}
	if c.rw.state == resultDone {
		c.server.opt.Logger.Error("statement failed after its end was sent", "conn_id", c.id, "err", err)
		return err
	}
	c.rw.state = resultFailed
	return c.writeError(err)
}

// loop reads and answers commands until the connection ends.
func (c *conn) loop() error {
	for {
		payload, err := c.await()
		if err != nil {
			return err
		}
		if len(payload) == 0 {
			payload = []byte{proto.COM_SLEEP} // answered as an unknown command
		}
		quit, err := c.command(payload)
		if quit || err != nil {
			return err
		}
		// With a whole command waiting already its answer goes out with this one.
		if !c.w.ready() || len(c.w.out) >= flushAt/2 {
			if err := c.w.flush(); err != nil {
				return err
			}
		}
		c.w.release()
	}
}

// await waits for a command as long as the session may idle. The deadline on
// the connection is moved only when it is of no use any more, which costs a
// busy connection nothing: one that comes too early is looked at again here.
func (c *conn) await() ([]byte, error) {
	c.park()
	w := c.w
	w.seq = 0
	for w.br.Buffered() < 4 {
		var end time.Time
		if idle := c.session.WaitTimeout(); idle > 0 {
			end = c.active.Add(idle)
		}
		if w.readBy.IsZero() != end.IsZero() || w.readBy.After(end) || !w.readBy.After(c.active) {
			if err := w.setReadBy(end); err != nil {
				return nil, err
			}
		}
		if c.closing.Load() {
			return nil, errClosing
		}
		_, err := w.br.Peek(4)
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		case !end.IsZero() && !time.Now().Before(end):
			return nil, errIdle
		default:
			w.readBy = time.Time{}
			if end.IsZero() {
				w.readBy = c.active // passed: it has to go
			}
		}
	}
	if c.closing.Load() {
		return nil, errClosing
	}
	payload, err := w.read(c.session.MaxAllowedPacket())
	if big, ok := errors.AsType[*tooLarge](err); ok {
		return nil, c.refuse(big)
	}
	return payload, err
}

// refuse answers a command over max_allowed_packet and closes. What the client
// still sends is read and dropped, within bounds, since most clients look for
// the answer after they sent all.
func (c *conn) refuse(big *tooLarge) error {
	skipErr := c.w.skip(big, skipBytes, time.Now().Add(skipTime))
	err := doriserr.New(doriserr.PacketTooLarge, "Got a packet bigger than 'max_allowed_packet' bytes")
	if skipErr == nil {
		_ = c.writeError(err)
		_ = c.w.flush()
	}
	return err
}

const (
	skipBytes = 1 << 30
	skipTime  = 30 * time.Second
)

// command answers one command. An error ends the connection.
func (c *conn) command(payload []byte) (quit bool, err error) {
	cmd, body := payload[0], payload[1:]
	if !pollable(cmd) || len(payload) > quickBytes {
		c.mayBlock()
	}
	ctx, err := c.enter(cmd, body)
	if err != nil {
		return true, err
	}
	defer c.leave()
	c.count.Add(1)
	switch cmd {
	case proto.COM_QUIT:
		return true, nil
	case proto.COM_QUERY:
		return false, c.commandQuery(ctx, body)
	case proto.COM_STMT_EXECUTE:
		return false, c.commandExecute(ctx, body)
	case proto.COM_STMT_PREPARE:
		return false, c.commandPrepare(ctx, body)
	case proto.COM_STMT_CLOSE:
		c.commandStmtClose(body)
		return false, nil
	case proto.COM_STMT_SEND_LONG_DATA:
		c.commandLongData(body)
		return false, nil
	case proto.COM_STMT_RESET:
		return false, c.commandStmtReset(body)
	case proto.COM_STMT_FETCH:
		return false, c.writeError(errNoCursor)
	case proto.COM_PING:
		return false, c.writeOK()
	case proto.COM_INIT_DB:
		return false, c.answer(c.session.UseDB(ctx, strings.ToValidUTF8(string(body), "?")))
	case proto.COM_FIELD_LIST:
		return false, c.commandFieldList(ctx, body)
	case proto.COM_STATISTICS:
		return false, c.commandStatistics()
	case proto.COM_PROCESS_INFO:
		return false, c.run(ctx, []byte("SHOW PROCESSLIST"), false)
	case proto.COM_PROCESS_KILL:
		return false, c.commandKill(ctx, body)
	case proto.COM_SET_OPTION:
		return false, c.commandSetOption(body)
	case proto.COM_RESET_CONNECTION:
		c.closeStatements()
		return false, c.answer(c.session.Reset(ctx))
	case proto.COM_CHANGE_USER:
		return c.commandChangeUser(ctx, body)
	}
	return false, c.writeError(doriserr.New(doriserr.UnknownCommand, "Unknown command"))
}

// pollable says that a poller may run the command: it does not block, or the
// Session says when it may.
func pollable(cmd byte) bool {
	switch cmd {
	case proto.COM_QUERY, proto.COM_STMT_EXECUTE, proto.COM_STMT_CLOSE, proto.COM_STMT_RESET, proto.COM_PING, proto.COM_QUIT:
		return true
	}
	return false
}

// answer writes OK or the error.
func (c *conn) answer(err error) error {
	if err != nil {
		return c.writeError(err)
	}
	return c.writeOK()
}

// commandQuery answers COM_QUERY: one result for each statement, until the
// first error.
func (c *conn) commandQuery(ctx context.Context, sql []byte) error {
	if !c.has(proto.CLIENT_MULTI_STATEMENTS) {
		stmt, err := c.single(sql)
		if err != nil {
			return c.writeError(err)
		}
		return c.run(ctx, stmt, false)
	}
	for {
		stmt, rest := nextStatement(sql, c.session.Status().NoBackslashEscapes)
		if err := c.run(ctx, stmt, rest != nil); err != nil || rest == nil {
			return err
		}
		if c.rw.state == resultFailed {
			return nil
		}
		sql = rest
	}
}

// run executes one statement of the text protocol.
func (c *conn) run(ctx context.Context, sql []byte, more bool) error {
	c.rw.reset(false, more)
	if blank(sql) {
		return c.fail(errEmptyQuery)
	}
	if err := ctx.Err(); err != nil {
		return c.fail(err)
	}
	if err := c.session.Query(ctx, sql, &c.rw); err != nil {
		return c.fail(err)
	}
	return c.rw.finish()
}
