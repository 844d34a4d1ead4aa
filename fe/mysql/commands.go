package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
)

// commandFieldList answers COM_FIELD_LIST, whose pattern for names is ignored
// as MySQL's own client leaves it empty.
func (c *conn) commandFieldList(ctx context.Context, body []byte) error {
	table, _, ok := bytes.Cut(body, []byte{0})
	if !ok {
		return c.writeError(malformed("COM_FIELD_LIST without a table name"))
	}
	var cols []Column
	if s, ok := c.session.(FieldLister); ok {
		var err error
		if cols, err = s.FieldList(ctx, string(table)); err != nil {
			return c.writeError(err)
		}
	}
	for i := range cols {
		c.w.begin()
		c.w.out = appendColumn(c.w.out, &cols[i], true)
		if err := c.w.end(); err != nil {
			return err
		}
	}
	c.rw.reset(false, false)
	c.rw.state = resultRows
	return c.rw.End(0)
}

// commandStatistics answers COM_STATISTICS with a text and nothing round it.
func (c *conn) commandStatistics() error {
	s := c.server
	c.w.begin()
	c.w.out = fmt.Appendf(c.w.out, "Uptime: %d  Threads: %d  Questions: %d",
		int(time.Since(s.started).Seconds()), s.Connections(), s.commands())
	return c.w.end()
}

// commandKill answers COM_PROCESS_KILL. The session decides who may, so it
// gets the statement.
func (c *conn) commandKill(ctx context.Context, body []byte) error {
	cur := cursor{b: body}
	id := cur.uint32()
	if cur.bad {
		return c.writeError(malformed("COM_PROCESS_KILL is cut short"))
	}
	return c.run(ctx, fmt.Appendf(nil, "KILL CONNECTION %d", id), false)
}

// commandSetOption answers COM_SET_OPTION: several statements in a packet on
// (0) or off (1).
func (c *conn) commandSetOption(body []byte) error {
	cur := cursor{b: body}
	option := cur.uint16()
	switch {
	case cur.bad || option > 1:
		return c.writeError(malformed("COM_SET_OPTION with an unknown option"))
	case option == 0:
		c.caps |= proto.CLIENT_MULTI_STATEMENTS
	default:
		c.caps &^= proto.CLIENT_MULTI_STATEMENTS
	}
	c.rw.reset(false, false)
	c.rw.state = resultRows
	return c.rw.End(0)
}

// commandChangeUser answers COM_CHANGE_USER: sign-in again, then a session as
// new. A failure ends the connection.
func (c *conn) commandChangeUser(ctx context.Context, body []byte) (quit bool, err error) {
	r, ok := parseChangeUser(body, c.caps)
	if !ok {
		return true, c.finalError(errHandshake)
	}
	if err := c.authenticate(ctx, r, true); err != nil {
		return true, c.finalError(err)
	}
	c.closeStatements()
	if err := c.session.Reset(ctx); err != nil {
		return true, c.finalError(err)
	}
	c.signedIn(r)
	if err := c.session.SetUser(ctx, r.user, r.db); err != nil {
		return true, c.finalError(err)
	}
	return false, c.writeOK()
}

// finalError writes err as the last packet of a connection and returns what
// ended it. Nothing is written when it was the connection itself that failed.
func (c *conn) finalError(err error) error {
	if c.w.werr != nil {
		return c.w.werr
	}
	if _, network := errors.AsType[net.Error](err); network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	_ = c.writeError(err)
	_ = c.w.flush()
	return err
}

func accessDenied(user, host string, password bool) error {
	using := "NO"
	if password {
		using = "YES"
	}
	return doriserr.New(doriserr.AccessDenied, "Access denied for user '%s@%s' (using password: %s)", user, host, using)
}
