package mysql

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// Options configure a Server. The zero value of each field means its default.
type Options struct {
	// Logger takes what the server has to say. Default: nothing is said.
	Logger *slog.Logger
	// Version is what the greeting and @@version tell. Default "5.7.99".
	Version string
	// AuthPlugin is mysql_native_password (default) or caching_sha2_password.
	AuthPlugin string
	// TLS, if set, lets clients ask for an encrypted connection.
	TLS *tls.Config
	// MaxConnections is asked at each new connection; more are refused with
	// error 1040. Default: no limit.
	MaxConnections func() int
	// MaxPreparedStmts bounds the prepared statements of all connections.
	// Default: no limit.
	MaxPreparedStmts int
	// HandshakeTimeout bounds sign-in. Default 10 s.
	HandshakeTimeout time.Duration
	// ReadTimeout is how long a client may pause inside a packet, WriteTimeout
	// how long it may leave output unread. Default 60 s each.
	ReadTimeout, WriteTimeout time.Duration
	// Pollers is how many goroutines run the connections whose commands are
	// quick (ResultWriter.Quick), over TCP and on Linux; other connections have
	// a goroutine each. Default 1; below 0 means none.
	Pollers int
	// sweepEvery is how often pollers look for connections whose time is up.
	sweepEvery time.Duration
	// sendAlone has pollers write each answer by itself.
	sendAlone bool
}

// Server serves the MySQL protocol. It is safe for use by many goroutines.
type Server struct {
	opt     Options
	handler Handler
	started time.Time
	// nobody is the credential of users that do not exist. It fits no password.
	nobody Credential
	// ctx is the parent of every command's.
	ctx    context.Context
	cancel context.CancelFunc

	lastID atomic.Uint32
	stmts  atomic.Int64

	mu        sync.Mutex
	conns     map[uint32]*conn
	listeners map[net.Listener]struct{}
	stopping  bool
	// past is the number of commands of connections that have ended.
	past uint64
	// pollers are started with the first TCP connection; sweeper, which is then
	// made, is closed to end their sweeps.
	pollers []*poller
	sweeper chan struct{}
	wg      sync.WaitGroup
}

// New makes a server. Serve starts it, Stop ends it.
func New(h Handler, opt Options) *Server {
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	if opt.Version == "" {
		opt.Version = "5.7.99"
	}
	if opt.AuthPlugin == "" {
		opt.AuthPlugin = proto.AUTH_NATIVE_PASSWORD
	}
	if opt.Pollers == 0 {
		opt.Pollers = 1
	}
	for _, d := range []struct {
		at  *time.Duration
		def time.Duration
	}{{&opt.HandshakeTimeout, 10 * time.Second}, {&opt.ReadTimeout, time.Minute}, {&opt.WriteTimeout, time.Minute}, {&opt.sweepEvery, time.Second}} {
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	s := &Server{
		opt: opt, handler: h, started: time.Now(),
		conns: make(map[uint32]*conn), listeners: make(map[net.Listener]struct{}),
		nobody: Credential{Native: make([]byte, 20), SHA2: make([]byte, 32)},
	}
	_, _ = rand.Read(s.nobody.Native)
	_, _ = rand.Read(s.nobody.SHA2)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

func (s *Server) caps() uint32 {
	if s.opt.TLS != nil {
		return serverCaps | proto.CLIENT_SSL
	}
	return serverCaps
}

// Serve accepts connections until Stop, which makes it return nil, or until
// the listener fails. It owns l.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return nil
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.add(nc)
		case s.ctx.Err() != nil || s.isStopping():
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			// Out of descriptors, most likely: those in use will end.
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.opt.Logger.Warn("cannot accept a MySQL connection", "err", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.ctx.Done():
				return nil
			}
		}
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// newConn is a connection that has not been greeted.
func (s *Server) newConn(nc net.Conn) *conn {
	now := time.Now()
	c := &conn{
		server: s, id: s.lastID.Add(1), w: newWire(nc, s.opt.HandshakeTimeout, s.opt.HandshakeTimeout),
		stmts: make(map[uint32]*prepared), active: now, nc: nc, remote: nc.RemoteAddr().String(),
		doing: proto.COM_CONNECT, since: now,
	}
	c.rw.c = c
	c.ctx, c.cancel = context.WithCancel(s.ctx)
	return c
}

// add starts the goroutine of a new connection.
func (s *Server) add(nc net.Conn) {
	c := s.newConn(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		c.cancel()
		_ = nc.Close()
		return
	}
	full := s.opt.MaxConnections != nil && len(s.conns) >= s.opt.MaxConnections()
	if !full {
		s.conns[c.id] = c
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		if p := s.pollerFor(c.id); p != nil {
			c.attach(tcp, p)
		}
	}
	s.wg.Add(1)
	c.begin(func() {
		defer s.wg.Done()
		s.serve(c, full)
	})
}

// pollerFor is the poller of a connection, nil if it has none. s.mu is held.
func (s *Server) pollerFor(id uint32) *poller {
	if s.pollers == nil && s.opt.Pollers > 0 {
		s.startPollers(s.opt.Pollers)
	}
	if len(s.pollers) == 0 {
		return nil
	}
	return s.pollers[int(id)%len(s.pollers)]
}

// startPollers starts n pollers, or as many as can be.
func (s *Server) startPollers(n int) {
	s.pollers = make([]*poller, 0, n)
	for range n {
		p, err := startPoller(s.opt.sendAlone)
		if err != nil {
			if !errors.Is(err, errors.ErrUnsupported) {
				s.opt.Logger.Warn("MySQL connections have a goroutine each", "err", err)
			}
			break
		}
		s.pollers = append(s.pollers, p)
	}
	s.sweeper = make(chan struct{})
	go s.sweep(s.pollers, s.sweeper)
}

// sweep has the pollers look at their connections' deadlines.
func (s *Server) sweep(pollers []*poller, stop chan struct{}) {
	t := time.NewTicker(s.opt.sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			for _, p := range pollers {
				p.post(nil, sweep)
			}
		}
	}
}

// stopPollers ends the pollers once no connection is left.
func (s *Server) stopPollers() {
	s.mu.Lock()
	pollers, sweeper := s.pollers, s.sweeper
	s.pollers, s.sweeper = nil, nil
	s.mu.Unlock()
	if sweeper != nil {
		close(sweeper)
	}
	for _, p := range pollers {
		p.post(nil, quit)
		<-p.done
	}
}

// serve is a connection's whole life.
func (s *Server) serve(c *conn, full bool) {
	defer func() {
		if p := recover(); p != nil {
			s.opt.Logger.Error("BUG: a MySQL connection panicked", "conn_id", c.id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		s.remove(c)
	}()
	err := c.w.setReadBy(time.Now().Add(s.opt.HandshakeTimeout))
	switch {
	case err != nil:
	case full:
		err = c.finalError(errTooManyConnections)
	default:
		ctx, cancel := context.WithTimeout(c.ctx, s.opt.HandshakeTimeout)
		err = c.handshake(ctx)
		cancel()
		if err == nil {
			c.w.readTimeout, c.w.writeTimeout = s.opt.ReadTimeout, s.opt.WriteTimeout
			c.active = time.Now()
			err = c.loop()
		}
	}
	s.logEnd(c, err)
}

// logEnd notes why a connection ended, unless the client just left.
func (s *Server) logEnd(c *conn, err error) {
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, errClosing), errors.Is(err, net.ErrClosed):
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, errIdle):
		s.opt.Logger.Info("MySQL connection timed out", "conn_id", c.id, "user", c.user, "remote", c.remote, "err", err)
	default:
		s.opt.Logger.Info("MySQL connection ended", "conn_id", c.id, "user", c.user, "remote", c.remote, "err", err)
	}
}

func (s *Server) remove(c *conn) {
	c.drain()
	c.closeStatements()
	if c.session != nil {
		c.session.Close()
	}
	c.close()
	s.mu.Lock()
	delete(s.conns, c.id)
	s.past += c.count.Load()
	s.mu.Unlock()
}

// close ends the connection from any goroutine: its command's context ends
// and its reads and writes fail.
func (c *conn) close() {
	c.closing.Store(true)
	c.mu.Lock()
	_ = c.nc.Close() // before its command ends by this: nothing more is sent
	c.cancel()
	c.mu.Unlock()
	c.nudge()
}

// finish ends the connection from any goroutine once its command is answered: it
// wakes it from its wait for the next one.
func (c *conn) finish() {
	c.closing.Store(true)
	c.mu.Lock()
	if nc, ok := c.nc.(net.Conn); ok {
		_ = nc.SetReadDeadline(time.Unix(1, 0)) // a command at work has its own
	}
	c.mu.Unlock()
	c.nudge()
}

// nudge has the poller look at the connection, if it has it.
func (c *conn) nudge() {
	if c.poller != nil {
		c.wake()
	}
}

// commands is the number of commands so far.
func (s *Server) commands() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.past
	for _, c := range s.conns {
		n += c.count.Load()
	}
	return n
}

// forceWait is how long Stop waits for commands whose context has ended.
const forceWait = 5 * time.Second

// Stop ends the server: no connection is accepted any more, idle ones are
// closed, others when their command is answered. When ctx ends first, the
// commands are cancelled and the connections cut. An error says that commands
// did not heed that.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	for l := range s.listeners {
		_ = l.Close()
	}
	for _, c := range s.conns {
		c.finish()
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.cancel()
		s.stopPollers()
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	s.mu.Lock()
	for _, c := range s.conns {
		c.close()
	}
	s.mu.Unlock()
	select {
	case <-done:
		s.stopPollers()
		return nil
	case <-time.After(forceWait):
		return fmt.Errorf("cannot stop the MySQL server: %d connections still run a command: %w", s.Connections(), ctx.Err())
	}
}
