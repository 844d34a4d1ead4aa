package testcluster

import (
	"net"
	"sync"
)

// freezer is a listener whose connections can be made to stand still, as those
// of a process that was stopped by SIGSTOP: they are open, take what fits into
// their buffers and answer nothing.
type freezer struct {
	net.Listener
	mu   sync.Mutex
	thaw chan struct{} // nil while nothing is frozen
}

func (f *freezer) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thaw == nil {
		f.thaw = make(chan struct{})
	}
}

func (f *freezer) unfreeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thaw != nil {
		close(f.thaw)
		f.thaw = nil
	}
}

// Accept implements net.Listener.
func (f *freezer) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &freezingConn{Conn: c, f: f, closed: make(chan struct{})}, nil
}

type freezingConn struct {
	net.Conn
	f      *freezer
	once   sync.Once
	closed chan struct{}
}

// Read implements net.Conn.
func (c *freezingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.wait()
	return n, err
}

// Write implements net.Conn.
func (c *freezingConn) Write(p []byte) (int, error) {
	c.wait()
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *freezingConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// wait waits until the connection is not frozen, or closed.
func (c *freezingConn) wait() {
	c.f.mu.Lock()
	thaw := c.f.thaw
	c.f.mu.Unlock()
	if thaw == nil {
		return
	}
	select {
	case <-thaw:
	case <-c.closed:
	}
}
