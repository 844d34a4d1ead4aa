package peer

import (
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// drainTime is how long a server that has sent its last message waits for the
// other end to read it.
const drainTime = time.Second

// MessageHandler serves one connection for messages. stop is closed when the
// server wants no more work: the handler answers what it has read, and returns.
// The connection is closed after it.
type MessageHandler func(m *Messages, stop <-chan struct{})

// Server is where a node's peers come in: gRPC, and connections for messages, on
// one port. Services are registered before Serve.
type Server struct {
	*grpc.Server
	token    string
	services map[string]MessageHandler

	mu sync.Mutex
	// open are the connections that are not gRPC's, with their messages once
	// their handler runs.
	open  map[net.Conn]*Messages
	ended bool
	stop  chan struct{}
	wg    sync.WaitGroup
}

// NewServer returns a server for peers that carry the token. An empty token
// admits everybody (a laptop).
func NewServer(token string) *Server {
	return &Server{
		Server: newGRPC(token), token: token, services: map[string]MessageHandler{},
		open: map[net.Conn]*Messages{}, stop: make(chan struct{}),
	}
}

// HandleMessages makes h serve the connections that Pool.Open opens to service.
func (s *Server) HandleMessages(service string, h MessageHandler) { s.services[service] = h }

// Serve serves what l accepts until the server is stopped. It closes l.
func (s *Server) Serve(l net.Listener) error {
	in := &rest{Listener: l, conns: make(chan accepted), done: make(chan struct{})}
	s.mu.Lock()
	if s.ended { // nobody would wait for accept
		s.mu.Unlock()
		l.Close()
		return grpc.ErrServerStopped
	}
	s.wg.Go(func() { s.accept(l, in) })
	s.mu.Unlock()
	return s.Server.Serve(in)
}

// GracefulStop takes nothing new and returns when what is under way is answered.
func (s *Server) GracefulStop() {
	s.end()
	s.Server.GracefulStop()
	s.wg.Wait()
}

// Stop cuts every connection and returns when the handlers have ended.
func (s *Server) Stop() {
	s.end()
	s.mu.Lock()
	for c, m := range s.open {
		if m != nil {
			m.Close()
		}
		c.Close()
	}
	s.mu.Unlock()
	s.Server.Stop()
	s.wg.Wait()
}

func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	close(s.stop)
	for c, m := range s.open {
		if m == nil {
			c.Close()
		}
	}
}

// accept sorts connections until the listener ends.
func (s *Server) accept(l net.Listener, in *rest) {
	for {
		conn, err := l.Accept()
		if err != nil {
			// gRPC tells passing errors from others, and pauses.
			if !in.put(nil, err) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if !s.track(conn, nil) {
			conn.Close()
			continue
		}
		s.wg.Go(func() {
			if kept := s.serve(conn, in); !kept {
				conn.Close()
			}
			s.mu.Lock()
			delete(s.open, conn)
			s.mu.Unlock()
		})
	}
}

// track notes a connection; false after the end.
func (s *Server) track(conn net.Conn, m *Messages) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.open[conn] = m
	}
	return !s.ended
}

// serve serves a connection for messages, or gives it to gRPC: kept.
func (s *Server) serve(accepted net.Conn, in *rest) (kept bool) {
	conn := accepted
	if conn.SetReadDeadline(time.Now().Add(openTime)) != nil {
		return false
	}
	head, err := peek(&conn, len(magic))
	if err != nil {
		return false
	}
	switch head {
	case http2:
		return conn.SetReadDeadline(time.Time{}) == nil && in.put(conn, nil)
	case magic:
	default:
		return false // neither
	}
	h, err := admit(conn, s.token, func(service string) (MessageHandler, bool) {
		h, ok := s.services[service]
		return h, ok
	})
	if err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		return false // the other end knows why
	}
	m := newMessages(conn)
	if !s.track(accepted, m) {
		m.Close()
		return false
	}
	h(m, s.stop)
	m.finish(drainTime)
	return false
}

// rest is the listener of the connections that are gRPC's.
type rest struct {
	net.Listener
	conns chan accepted
	once  sync.Once
	done  chan struct{}
}

type accepted struct {
	conn net.Conn
	err  error
}

// put hands a connection or an error to Accept; false after Close.
func (r *rest) put(conn net.Conn, err error) bool {
	select {
	case r.conns <- accepted{conn, err}:
		return true
	case <-r.done:
		return false
	}
}

// Accept implements net.Listener.
func (r *rest) Accept() (net.Conn, error) {
	select {
	case a := <-r.conns:
		return a.conn, a.err
	case <-r.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *rest) Close() error {
	r.once.Do(func() { close(r.done) })
	return r.Listener.Close()
}
