package mysql

import (
	"context"
	"slices"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// infoSize is how much of a statement's text the process list keeps.
const infoSize = 1024

// ProcessInfo is a row of the process list.
type ProcessInfo struct {
	ID   uint32
	User string
	// Host is the client's address with its port.
	Host string
	DB   string
	// Command is Sleep between commands, else Query, Execute, ...
	Command string
	// Since is when the command began, or the last one ended.
	Since time.Time
	// Info is the beginning of the statement's text, empty between commands.
	Info string
}

// commandName is how SHOW PROCESSLIST calls a command.
func commandName(cmd byte) string {
	switch cmd {
	case proto.COM_SLEEP:
		return "Sleep"
	case proto.COM_QUERY:
		return "Query"
	case proto.COM_STMT_PREPARE:
		return "Prepare"
	case proto.COM_STMT_EXECUTE:
		return "Execute"
	case proto.COM_CONNECT:
		return "Connect"
	case proto.COM_INIT_DB:
		return "Init DB"
	case proto.COM_FIELD_LIST:
		return "Field List"
	case proto.COM_PING:
		return "Ping"
	case proto.COM_CHANGE_USER:
		return "Change user"
	}
	return "Other"
}

// enter notes the begin of a command and returns its context.
func (c *conn) enter(cmd byte, body []byte) (context.Context, error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		if c.server.ctx.Err() != nil || c.closing.Load() {
			return nil, errClosing
		}
		c.cancel() // of the old one, which KILL QUERY has ended
		c.ctx, c.cancel = context.WithCancel(c.server.ctx)
	}
	c.running = true
	c.doing, c.since = cmd, now
	if cmd == proto.COM_QUERY || cmd == proto.COM_STMT_PREPARE {
		c.infoLen = copy(c.info[:], body)
	}
	return c.ctx, nil
}

// note shows text as the one that runs.
func (c *conn) note(text []byte) {
	c.mu.Lock()
	c.infoLen = copy(c.info[:], text)
	c.mu.Unlock()
}

// leave notes the end of a command.
func (c *conn) leave() {
	c.active = time.Now()
	db := c.session.DB()
	c.mu.Lock()
	c.running = false
	c.doing, c.since, c.infoLen = proto.COM_SLEEP, c.active, 0
	if c.db != db {
		c.db = db
	}
	c.mu.Unlock()
}

func (c *conn) process() ProcessInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ProcessInfo{
		ID: c.id, User: c.shownUser, Host: c.remote, DB: c.db,
		Command: commandName(c.doing), Since: c.since, Info: string(c.info[:c.infoLen]),
	}
}

// ProcessList is the connections that have signed in or are about to, by id.
func (s *Server) ProcessList() []ProcessInfo {
	s.mu.Lock()
	list := make([]ProcessInfo, 0, len(s.conns))
	for _, c := range s.conns {
		list = append(list, c.process())
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b ProcessInfo) int { return int(a.ID) - int(b.ID) })
	return list
}

// Connections is the number of open connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// User is the user of a connection, for the check of who may kill it.
func (s *Server) User(id uint32) (user string, ok bool) {
	s.mu.Lock()
	c := s.conns[id]
	s.mu.Unlock()
	if c == nil {
		return "", false
	}
	return c.process().User, true
}

// Kill ends a connection, or with queryOnly the command that it runs, if it
// runs one. It reports whether the connection exists.
func (s *Server) Kill(id uint32, queryOnly bool) bool {
	s.mu.Lock()
	c := s.conns[id]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	if !queryOnly {
		c.close()
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running {
		c.cancel()
		c.nudge()
	}
	return true
}
