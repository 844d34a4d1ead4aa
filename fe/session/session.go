package session

import (
	"time"
)

// Session is the state of one connection. It belongs to one goroutine.
type Session struct {
	globals *Globals
	// over has the variables that differ from globals, by number.
	over map[int]Value
	user map[string]Value

	// ConnID, User, Host and DB are the connection's; the user's host is that
	// of the account.
	ConnID         uint32
	User, UserHost string
	RemoteHost     string
	DB             string
	// InTransaction is true between BEGIN and COMMIT or ROLLBACK.
	InTransaction bool
	// LastInsert is what SHOW LAST INSERT tells, nil before the first.
	LastInsert *InsertInfo

	// What hot paths read, kept in step with the variables.
	loc              *time.Location
	groupCommit      string
	groupCommitSet   bool
	insertStrict     bool
	filterRatio      float64
	autocommit       bool
	noBackslash      bool
	maxAllowedPacket int
	waitTimeout      time.Duration
	queryTimeout     time.Duration
	insertTimeout    time.Duration
	visibleTimeout   time.Duration
}

// InsertInfo is the outcome of an INSERT.
type InsertInfo struct {
	TxnID              int64
	Label              string
	Database, Table    string
	Status             string
	LoadedRows         int64
	FilteredRows       int64
	FirstErrorMsg, URL string
}

// New makes a session that starts with the global values.
func New(g *Globals) *Session {
	s := &Session{}
	s.Reset(g)
	return s
}

// Reset puts every variable back to its global value (now g's) and forgets
// user variables and the last INSERT. Who and where the client is, and its
// current database, stay.
func (s *Session) Reset(g *Globals) {
	s.globals = g
	s.over, s.user = nil, nil
	s.InTransaction, s.LastInsert = false, nil
	for id := range hot {
		s.refresh(id)
	}
}

// hot maps variables that are kept decoded to what decodes them.
var hot = map[int]func(s *Session, v Value){
	mustID("time_zone"): func(s *Session, v Value) {
		// It was checked when it was set.
		if loc, _, err := LoadLocation(v.Str); err == nil {
			s.loc = loc
		}
	},
	groupCommitID: func(s *Session, v Value) {
		_, over := s.over[groupCommitID]
		s.groupCommit, s.groupCommitSet = v.Str, over || s.globals.set[groupCommitID]
	},
	mustID("enable_insert_strict"):      func(s *Session, v Value) { s.insertStrict = v.Int != 0 },
	mustID("insert_max_filter_ratio"):   func(s *Session, v Value) { s.filterRatio = v.Float },
	mustID("autocommit"):                func(s *Session, v Value) { s.autocommit = v.Int != 0 },
	mustID("sql_mode"):                  func(s *Session, v Value) { s.noBackslash = hasMode(v.Str, "NO_BACKSLASH_ESCAPES") },
	mustID("max_allowed_packet"):        func(s *Session, v Value) { s.maxAllowedPacket = int(v.Int) },
	mustID("wait_timeout"):              func(s *Session, v Value) { s.waitTimeout = seconds(v) },
	mustID("query_timeout"):             func(s *Session, v Value) { s.queryTimeout = seconds(v) },
	mustID("insert_timeout"):            func(s *Session, v Value) { s.insertTimeout = seconds(v) },
	mustID("insert_visible_timeout_ms"): func(s *Session, v Value) { s.visibleTimeout = time.Duration(v.Int) * time.Millisecond },
}

var groupCommitID = mustID("group_commit")

func seconds(v Value) time.Duration { return time.Duration(v.Int) * time.Second }

func (s *Session) refresh(id int) {
	if f := hot[id]; f != nil {
		f(s, s.value(id))
	}
}

func (s *Session) value(id int) Value {
	if v, ok := s.over[id]; ok {
		return v
	}
	return s.globals.vals[id]
}

// Location is the session's time zone.
func (s *Session) Location() *time.Location { return s.loc }

// GroupCommit is the session's mode and whether it was set, by SET or SET
// GLOBAL. If it was not, the table's property counts (Part A of
// docs/compatibility.md).
func (s *Session) GroupCommit() (mode string, set bool) { return s.groupCommit, s.groupCommitSet }

// InsertStrict is enable_insert_strict.
func (s *Session) InsertStrict() bool { return s.insertStrict }

// MaxFilterRatio is the share of rows that an INSERT may lose: none when it is
// strict.
func (s *Session) MaxFilterRatio() float64 {
	if s.insertStrict {
		return 0
	}
	return s.filterRatio
}

// Autocommit is autocommit.
func (s *Session) Autocommit() bool { return s.autocommit }

// NoBackslashEscapes reports whether sql_mode has NO_BACKSLASH_ESCAPES.
func (s *Session) NoBackslashEscapes() bool { return s.noBackslash }

// MaxAllowedPacket is max_allowed_packet, in bytes.
func (s *Session) MaxAllowedPacket() int { return s.maxAllowedPacket }

// WaitTimeout is wait_timeout.
func (s *Session) WaitTimeout() time.Duration { return s.waitTimeout }

// QueryTimeout is query_timeout.
func (s *Session) QueryTimeout() time.Duration { return s.queryTimeout }

// InsertTimeout is insert_timeout.
func (s *Session) InsertTimeout() time.Duration { return s.insertTimeout }

// InsertVisibleTimeout is how long an INSERT waits for VISIBLE.
func (s *Session) InsertVisibleTimeout() time.Duration { return s.visibleTimeout }

// Bool is a boolean variable. The name must exist.
func (s *Session) Bool(name string) bool { return s.value(mustID(name)).Int != 0 }

// Int is an integer variable. The name must exist.
func (s *Session) Int(name string) int64 { return s.value(mustID(name)).Int }

// Text is a text variable. The name must exist.
func (s *Session) Text(name string) string { return s.value(mustID(name)).Str }
