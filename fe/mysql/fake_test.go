package mysql

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dorisgo/doriserr"
)

// fake is a Handler whose sessions answer from a table.
type fake struct {
	users   map[string]Credential
	queries map[string]func(ctx context.Context, s *fakeSession, w *ResultWriter) error
	max     atomic.Int64 // bytes
	idle    atomic.Int64 // time.Duration

	mu sync.Mutex
	// seen is every statement that reached a session.
	seen     []string
	sessions int
	// ended has a token for each session that was closed.
	ended chan struct{}
}

func newFake() *fake {
	f := &fake{
		ended:   make(chan struct{}, 1000),
		users:   map[string]Credential{"root": {}, "ann": HashPassword("secret"), "old": {Native: HashPassword("secret").Native}},
		queries: map[string]func(context.Context, *fakeSession, *ResultWriter) error{},
	}
	f.max.Store(16 << 20)
	f.idle.Store(int64(time.Hour))
	return f
}

func (f *fake) Credential(_ context.Context, user string, _ net.Addr) (Credential, bool, error) {
	c, ok := f.users[user]
	return c, ok, nil
}

func (f *fake) Connect(_ context.Context, info *ConnInfo) (Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions++
	return &fakeSession{fake: f, info: info, status: Status{Autocommit: true}}, nil
}

func (f *fake) statements() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.seen...)
}

type fakeSession struct {
	fake     *fake
	info     *ConnInfo
	status   Status
	user, db string
	resets   int
}

func (s *fakeSession) SetUser(ctx context.Context, user, db string) error {
	s.user = user
	if db == "" {
		return nil
	}
	return s.UseDB(ctx, db)
}

func (s *fakeSession) Query(ctx context.Context, sql []byte, w *ResultWriter) error {
	s.fake.mu.Lock()
	s.fake.seen = append(s.fake.seen, string(sql[:min(len(sql), 100)]))
	s.fake.mu.Unlock()
	if q := s.fake.queries[string(sql)]; q != nil {
		return q(ctx, s, w)
	}
	if bytes.HasPrefix(sql, []byte("BAD")) {
		return doriserr.New(doriserr.Analysis, "bad statement")
	}
	return w.OK(1, 0, fmt.Sprintf("{'length':'%d'}", len(sql)))
}

func (s *fakeSession) Prepare(_ context.Context, sql []byte) (Statement, error) {
	if bytes.HasPrefix(sql, []byte("BAD")) {
		return nil, doriserr.New(doriserr.Analysis, "bad statement")
	}
	st := &fakeStatement{session: s, sql: string(sql), params: Placeholders(sql, false)}
	if strings.HasPrefix(st.sql, "SELECT") {
		st.cols = allTypes
	}
	return st, nil
}

func (s *fakeSession) UseDB(_ context.Context, db string) error {
	if strings.HasPrefix(db, "no") {
		return doriserr.New(doriserr.UnknownDatabase, "Unknown database '%s'", db)
	}
	s.db = db
	return nil
}

func (s *fakeSession) Reset(context.Context) error {
	s.resets++
	return nil
}
func (s *fakeSession) Status() Status             { return s.status }
func (s *fakeSession) DB() string                 { return s.db }
func (s *fakeSession) MaxAllowedPacket() int      { return int(s.fake.max.Load()) }
func (s *fakeSession) WaitTimeout() time.Duration { return time.Duration(s.fake.idle.Load()) }
func (s *fakeSession) Close() {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	s.fake.sessions--
	s.fake.ended <- struct{}{}
}

func (s *fakeSession) FieldList(context.Context, string) ([]Column, error) { return allTypes[:2], nil }

// fakeStatement answers a SELECT with a row of every type and anything else
// with its text, the parameters put in, as the OK's info.
type fakeStatement struct {
	session *fakeSession
	sql     string
	params  int
	cols    []Column
	closed  bool
}

func (st *fakeStatement) Params() int       { return st.params }
func (st *fakeStatement) Columns() []Column { return st.cols }
func (st *fakeStatement) Close()            { st.closed = true }

func (st *fakeStatement) Execute(_ context.Context, args *ExecuteArgs, w *ResultWriter) error {
	sql, err := args.Substitute(nil, []byte(st.sql), false)
	if err != nil {
		return err
	}
	if st.cols == nil {
		f := st.session.fake
		f.mu.Lock()
		f.seen = append(f.seen, string(sql))
		f.mu.Unlock()
		return w.OK(1, 0, string(sql))
	}
	if err := w.Columns(st.cols); err != nil {
		return err
	}
	if err := w.Block(typesBlock()); err != nil {
		return err
	}
	return w.End(0)
}

// pipes is a listener over net.Pipe, which also works with fake time.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(t testing.TB) net.Conn {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
	case <-p.done:
		t.Fatal("listener is closed")
	}
	return client
}

// serve starts a server over pipes and stops it at the end of the test.
func serve(t testing.TB, f *fake, opt Options) (*Server, *pipes) {
	t.Helper()
	s, p := New(f, opt), newPipes()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(p) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		cut := time.AfterFunc(100*time.Millisecond, cancel)
		defer cut.Stop()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, p
}
