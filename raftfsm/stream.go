package raftfsm

import (
	"context"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// Stream is a raft.StreamLayer over TCP whose own address is the name that
// others dial, looked up anew at each dial: a pod that comes back has another
// IP and the same name.
type Stream struct {
	net.Listener
	advertise string
	wrap      func(context.Context, net.Conn) (net.Conn, error)
}

// NewStream is a stream layer on a listener. wrap, if not nil, secures a
// connection that was dialed (TLS, a token); what the listener accepts is the
// listener's affair.
func NewStream(ln net.Listener, advertise string, wrap func(context.Context, net.Conn) (net.Conn, error)) *Stream {
	return &Stream{Listener: ln, advertise: advertise, wrap: wrap}
}

// Addr implements net.Listener with the advertised name.
func (s *Stream) Addr() net.Addr { return advertised(s.advertise) }

// Dial implements raft.StreamLayer.
func (s *Stream) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", string(addr))
	if err != nil || s.wrap == nil {
		return conn, err
	}
	secured, err := s.wrap(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// advertised is a host:port by name.
type advertised string

// Network implements net.Addr.
func (advertised) Network() string { return "tcp" }

// String implements net.Addr.
func (a advertised) String() string { return string(a) }
