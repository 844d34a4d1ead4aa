package mysql

import (
	"errors"
	"slices"
)

const (
	// unsentMost is the longest answer, in bytes, that waits to be sent with
	// others.
	unsentMost = 1 << 10
	// sendTogether is the least number of answers for which a sender is used.
	sendTogether = 3
)

// unsent is what a polled connection has written and its poller has not sent yet.
// Answers that become ready at about the same time are sent together.
type unsent struct {
	out    []byte
	queued bool // in poller.unsent
}

// hold keeps an answer until the poller sends it with others; false if it is to be
// written now.
func (p *poller) hold(c *conn, b []byte) bool {
	if p.sender == nil || len(c.unsent.out)+len(b) > unsentMost {
		return false
	}
	c.unsent.out = append(c.unsent.out, b...)
	if !c.unsent.queued {
		c.unsent.queued = true
		p.unsent = append(p.unsent, c)
	}
	return true
}

// drop takes a connection out of those whose answers wait: it is the poller's no
// more, or closed.
func (p *poller) drop(c *conn) {
	if c.unsent.queued {
		c.unsent.queued = false
		i := slices.Index(p.unsent, c)
		p.unsent = slices.Delete(p.unsent, i, i+1)
	}
}

// send sends all answers that wait. A connection that fails ends, and one whose
// client does not read gets a goroutine.
func (p *poller) send() {
	for len(p.unsent) > 0 {
		n := min(len(p.unsent), gatherMost)
		p.sending = append(p.sending[:0], p.unsent[:n]...)
		p.unsent = slices.Delete(p.unsent, 0, n)
		for _, c := range p.sending {
			c.unsent.queued = false
		}
		if n >= sendTogether {
			p.sender.sendAll(p.sending)
		}
		for _, c := range p.sending {
			p.sendRest(c)
		}
		clear(p.sending)
	}
}

// sendRest sends what is left of a connection's answer, or learns why it cannot be
// sent.
func (p *poller) sendRest(c *conn) {
	err := c.sendUnsent()
	switch {
	case err == nil:
	case errors.Is(err, errNotNow):
		if c.waits == forAnswer {
			p.out--
		}
		p.leave(c)
	default:
		p.interrupt(c, err)
	}
}

// sendUnsent sends what the socket has room for; errNotNow says that it was not
// all.
func (c *conn) sendUnsent() error {
	if len(c.unsent.out) == 0 {
		return nil
	}
	n, err := c.socket.write(c.unsent.out)
	c.unsent.out = c.unsent.out[:copy(c.unsent.out, c.unsent.out[n:])]
	return err
}

// drain leaves nothing unsent that the client wants to read.
func (c *conn) drain() {
	if c.polled && errors.Is(c.sendUnsent(), errNotNow) {
		c.mayBlock()
	}
}
