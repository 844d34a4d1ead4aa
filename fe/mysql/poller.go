package mysql

import (
	"os"
	"sync"
	"time"
)

const (
	// gatherMost is how many statements a poller gathers before it lets them go
	// although more commands wait to be read.
	gatherMost = 64
	// inputPause is how long input waits at most while statements are out. What
	// comes meanwhile could seldom do more than wait for the next fsync or frame:
	// read when that begins, it shares one wake-up and its cost.
	inputPause = time.Millisecond
)

// Awaited is what a statement waits for without a goroutine.
type Awaited interface {
	// Kick has the work done that was handed over so far. It is called when the
	// poller has run all commands that have come, so that they share their cost,
	// and may be called when the wait is over.
	Kick()
	// Local says that Kick makes goroutines of this process run, and not only a
	// peer's.
	Local() bool
	// Ready reports whether the wait is over.
	Ready() bool
}

// poller runs connections whose commands are quick, on one goroutine: it waits
// for input of all of them, resumes those that have some, and those whose answers
// are there. Compared with a goroutine for each, commands that come at about the
// same time cost one wake-up, not one each, and so do their answers.
type poller struct {
	os osPoller

	// The goroutine's. out counts the connections that wait for an answer; local
	// says that a kick made goroutines run.
	conns    map[uint32]*conn
	gathered []Awaited
	out      int
	local    bool
	pause    *time.Timer

	// The answers that wait to be sent, and those that are being sent. Without a
	// sender each is written by itself.
	sender          *sender
	unsent, sending []*conn

	mu    sync.Mutex
	posts []post
	// sleep is how a post must wake the goroutine; ended that nobody does
	// anything any more.
	sleep sleep
	ended bool
	told  chan struct{}
	done  chan struct{}
}

// sleep is how a poller waits.
type sleep uint8

const (
	awake sleep = iota
	// parked lets other goroutines have the thread, which are to answer.
	parked
	// forPosts and forInputAndPosts keep the thread, in the kernel. That is
	// for answers of peers: with a thread that counts as busy Go does not look for
	// work, in vain, after each of them.
	forPosts
	forInputAndPosts
)

// readiness is what is told of a socket.
type readiness struct {
	id     uint32
	hungUp bool
}

// post is a message to a poller.
type post struct {
	c    *conn
	what event
}

type event uint8

const (
	// adopt: the connection's goroutine leaves it to the poller.
	adopt event = iota
	// wake: an answer may be there, or the connection is to end.
	wake
	// input: there is more to read, but it is the others' turn.
	input
	// sweep: look for connections whose time is up.
	sweep
	// quit: the last connection has ended.
	quit
)

func newPoller() *poller {
	p := &poller{conns: map[uint32]*conn{}, told: make(chan struct{}, 1), done: make(chan struct{}), pause: time.NewTimer(0)}
	p.pause.Stop()
	return p
}

// post sends a message, from any goroutine.
func (p *poller) post(c *conn, what event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.posts = append(p.posts, post{c, what})
	switch p.sleep {
	case parked:
		select {
		case p.told <- struct{}{}:
		default:
		}
	case forPosts, forInputAndPosts:
		p.os.tell()
	}
	p.sleep = awake
}

// gather notes a statement that was handed over.
func (p *poller) gather(a Awaited) {
	if p.gathered = append(p.gathered, a); len(p.gathered) == gatherMost {
		p.kick()
	}
}

func (p *poller) kick() {
	for _, a := range p.gathered {
		a.Kick()
		p.local = p.local || a.Local()
	}
	clear(p.gathered)
	p.gathered = p.gathered[:0]
}

// run ends with quit. Answers go first: what their clients send next can go
// together with what others have sent.
func (p *poller) run() {
	defer close(p.done)
	var posts []post
	for {
		p.mu.Lock()
		posts, p.posts = p.posts, posts[:0]
		p.mu.Unlock()
		for _, m := range posts {
			if m.what == quit {
				p.end()
				return
			}
			p.take(m)
		}
		clear(posts)
		p.send()
		if len(posts) > 0 {
			continue
		}
		ready := p.os.poll(false)
		if len(ready) == 0 {
			p.kick()
			ready = p.wait()
		}
		for _, r := range ready {
			if c := p.conns[r.id]; c != nil {
				p.arrived(c, r.hungUp)
			}
		}
	}
}

// wait waits for posts, and for input at once or within inputPause.
func (p *poller) wait() (ready []readiness) {
	how := awake
	p.mu.Lock()
	if len(p.posts) == 0 {
		switch {
		case p.out == 0:
			how = forInputAndPosts
		case p.local:
			how = parked
		default:
			how = forPosts
		}
	}
	p.sleep = how
	p.mu.Unlock()
	p.local = false
	switch how {
	case parked:
		p.pause.Reset(inputPause)
		select {
		case <-p.told:
		case <-p.pause.C:
		}
		p.pause.Stop()
	case forPosts:
		p.os.waitTold(inputPause)
	case forInputAndPosts:
		ready = p.os.poll(true)
	}
	p.mu.Lock()
	p.sleep = awake
	p.mu.Unlock()
	return ready
}

// end frees what the poller has.
func (p *poller) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.os.close()
	if p.sender != nil {
		p.sender.close()
	}
}

// arrived notes that a connection can be read.
func (p *poller) arrived(c *conn, hungUp bool) {
	c.readable, c.hungUp = true, c.hungUp || hungUp
	if c.waits == forInput {
		p.resume(c)
	}
}

func (p *poller) take(m post) {
	c := m.c
	switch m.what {
	case adopt:
		p.adopt(c)
	case wake:
		switch {
		case p.conns[c.id] != c: // its goroutine has heard of it
		case c.waits == forAnswer:
			p.resume(c)
		case c.closing.Load():
			p.interrupt(c, os.ErrDeadlineExceeded)
		}
	case input:
		if p.conns[c.id] == c && c.waits == forInput && c.readable {
			p.resume(c)
		}
	case sweep:
		p.sweep(time.Now())
	}
}

// adopt takes a connection over from its goroutine.
func (p *poller) adopt(c *conn) {
	if !c.toSocket() {
		go c.drive()
		return
	}
	c.polled, c.readable, c.hungUp = true, false, false
	c.waits, c.waited = forInput, false
	p.conns[c.id] = c
	if p.os.add(c.socket, c.id) != nil {
		// Closed, or there are too many watches: it keeps a goroutine.
		p.leave(c)
	} else if c.closing.Load() {
		p.interrupt(c, os.ErrDeadlineExceeded)
	}
}

// interrupt lets the wait for input fail, at once or when it begins: with
// os.ErrDeadlineExceeded as if its time had passed.
func (p *poller) interrupt(c *conn, why error) {
	c.interrupt = why
	if c.waits == forInput {
		p.resume(c)
	}
}

// sweep ends waits that last too long: for input by their deadlines; for answers
// so that a goroutine waits on, which sees the statement's deadline.
func (p *poller) sweep(now time.Time) {
	for _, c := range p.conns {
		switch {
		case c.waits == forInput && !c.readBy.IsZero() && now.After(c.readBy):
			p.interrupt(c, os.ErrDeadlineExceeded)
		case c.waits == forAnswer && c.waited:
			p.resume(c)
		default:
			c.waited = c.waits == forAnswer
		}
	}
}

// resume runs the coroutine until it waits again, ends or needs a goroutine.
func (p *poller) resume(c *conn) {
	if c.waits == forAnswer {
		p.out--
	}
	why, more := c.next()
	switch {
	case !more:
		delete(p.conns, c.id)
		p.drop(c)
		return
	case why == forGoroutine:
		p.leave(c)
		return
	case why == forAnswer:
		p.out++
	case c.readable:
		p.post(c, input)
	}
	c.waits, c.waited = why, false
}

// leave gives the coroutine a goroutine.
func (p *poller) leave(c *conn) {
	delete(p.conns, c.id)
	p.drop(c)
	p.os.remove(c.socket)
	c.polled = false
	c.toConn()
	go c.drive()
}
