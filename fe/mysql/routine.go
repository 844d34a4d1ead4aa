package mysql

import (
	"context"
	"errors"
	"iter"
	"net"
	"time"
)

// quickBytes is the longest command that a poller runs: to read a longer one
// keeps the other connections waiting for longer than a goroutine costs.
const quickBytes = 1 << 10

// pause is why a connection's coroutine gave control back.
type pause uint8

const (
	// forInput: it waits for bytes of the client.
	forInput pause = iota
	// forAnswer: it waits for its waker.
	forAnswer
	// forGoroutine: what it does next may block.
	forGoroutine
)

// errNotNow says that a socket has nothing to read, or no room.
var errNotNow = errors.New("not now")

// routine lets a connection do without a goroutine while its commands are quick:
// the work of the connection is a coroutine, which one goroutine at a time
// resumes. That is one of the connection's own, where everything may block, or
// its poller's, where nothing may. All fields but the first two belong to the
// goroutine that has it.
type routine struct {
	poller *poller // nil: the connection has a goroutine for its whole life
	wake   func()  // tells the poller that there may be something to do

	next  func() (pause, bool)
	yield func(pause) bool
	// The client is at tcp, or at socket while the poller has the coroutine,
	// which polled says.
	tcp    *net.TCPConn
	socket *socket
	polled bool
	// waits is what the coroutine waits for; waited says that the poller's sweep
	// has met it waiting before.
	waits  pause
	waited bool
	// quick says that the last command needed no goroutine.
	quick bool
	// readable says that there may be something to read, hungUp that the client
	// sends nothing more: reading gives the rest, then the end.
	readable, hungUp bool
	// unsent is what was written and is not sent yet.
	unsent unsent
	// interrupt is what the next read fails with.
	interrupt error
	// The deadlines, which the poller minds itself.
	readBy, writeBy time.Time
}

// attach gives a TCP connection to a poller.
func (c *conn) attach(tcp *net.TCPConn, p *poller) {
	c.tcp, c.poller = tcp, p
	c.wake = func() { p.post(c, wake) }
	c.w.replace(&polledConn{c: c, local: tcp.LocalAddr(), remote: tcp.RemoteAddr()})
}

// toSocket takes the connection out of Go's network poller.
func (c *conn) toSocket() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := takeOver(c.tcp)
	if err != nil {
		return false
	}
	c.socket, c.nc = s, s
	return true
}

// toConn gives the connection back to Go's network poller. One that was closed
// stays so, and one for which there is no descriptor ends.
func (c *conn) toConn() {
	c.mu.Lock()
	tcp, err := c.socket.giveBack()
	if err == nil {
		c.tcp, c.nc = tcp, tcp
	} else {
		c.nc = c.tcp // closed
	}
	c.socket = nil
	c.mu.Unlock()
	_ = c.tcp.SetReadDeadline(c.readBy)
	_ = c.tcp.SetWriteDeadline(c.writeBy)
}

// begin starts work, on a goroutine.
func (c *conn) begin(work func()) {
	if c.poller == nil {
		go work()
		return
	}
	c.next, _ = iter.Pull(func(yield func(pause) bool) {
		c.yield = yield
		work()
	})
	go c.drive()
}

// drive runs the coroutine on this goroutine until it ends or waits for input
// that the poller can wait for.
func (c *conn) drive() {
	if b := c.unsent.out; len(b) > 0 { // what the poller could not send
		c.unsent.out = nil
		if _, err := c.tcp.Write(b); err != nil {
			_ = c.tcp.Close() // reading tells
		}
	}
	if _, more := c.next(); more {
		c.poller.post(c, adopt)
	}
}

// park lets the poller wait for the next command, if the last one was quick.
func (c *conn) park() {
	if c.quick && !c.polled && !c.tls && c.w.br.Buffered() == 0 {
		c.yield(forInput)
	}
	c.quick = false
}

// mayBlock gives the coroutine a goroutine of its own if it has none.
func (c *conn) mayBlock() {
	c.quick = false
	if c.polled {
		c.yield(forGoroutine)
	}
}

// awaitAnswer gives control back until the waker is called. It returns with a
// goroutine if a is not ready then.
func (c *conn) awaitAnswer(ctx context.Context, a Awaited) {
	if !c.polled {
		return
	}
	c.poller.gather(a)
	if ctx.Err() == nil {
		c.yield(forAnswer)
	}
	if !a.Ready() {
		c.mayBlock()
	}
}

// polledConn is the net.Conn of a connection with a poller. While the poller has
// it, nothing blocks: reads give control back, and writes get a goroutine first.
// It belongs to the goroutine that has the connection.
type polledConn struct {
	c             *conn
	local, remote net.Addr
}

// Read implements net.Conn.
func (p *polledConn) Read(b []byte) (int, error) {
	c := p.c
	for c.polled {
		if err := c.interrupt; err != nil {
			c.interrupt = nil
			return 0, err
		}
		if !c.readable {
			c.yield(forInput)
			continue
		}
		n, err := c.socket.read(b)
		if errors.Is(err, errNotNow) {
			c.readable = false
			continue
		}
		// What filled a part of the buffer was all there is.
		c.readable = n == len(b) || c.hungUp
		return n, err
	}
	return c.tcp.Read(b)
}

// Write implements net.Conn.
func (p *polledConn) Write(b []byte) (n int, err error) {
	c := p.c
	if c.polled {
		if c.poller.hold(c, b) {
			return len(b), nil
		}
		if err = c.sendUnsent(); err == nil {
			n, err = c.socket.write(b)
		}
		if !errors.Is(err, errNotNow) {
			return n, err
		}
		c.mayBlock() // the client does not read
	}
	m, err := c.tcp.Write(b[n:])
	return n + m, err
}

// SetReadDeadline implements net.Conn.
func (p *polledConn) SetReadDeadline(t time.Time) error {
	if p.c.readBy = t; p.c.polled {
		return nil
	}
	return p.c.tcp.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (p *polledConn) SetWriteDeadline(t time.Time) error {
	if p.c.writeBy = t; p.c.polled {
		return nil
	}
	return p.c.tcp.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (p *polledConn) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// Close implements net.Conn.
func (p *polledConn) Close() error {
	if p.c.polled {
		return p.c.socket.Close()
	}
	return p.c.tcp.Close()
}

// LocalAddr implements net.Conn.
func (p *polledConn) LocalAddr() net.Addr { return p.local }

// RemoteAddr implements net.Conn.
func (p *polledConn) RemoteAddr() net.Addr { return p.remote }
