package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// loop drives all connections from one thread: send, wait for the answer, send
// again. It is used once.
type loop struct {
	ep    int
	lines []*line
	// from and until bound the measured time; what is answered before from
	// warms up. After until nothing is sent, and answers are waited for until
	// last.
	from, until, last time.Time
	// limit is the most statements to send.
	limit int64
	sent  int64
	busy  int // lines that wait for an answer
	alive int // lines without a fatal error
	t     Tally
}

// line is one connection.
type line struct {
	i        int32 // its place in lines
	fd       int
	x        exchange
	rows     int64  // of a request
	out      []byte // not yet sent
	in       []byte // received
	since    time.Time
	waits    bool // an answer is due
	blocked  bool // EPOLLOUT is asked for
	refusals int  // in a row
}

// Tally counts a run's answers.
type Tally struct {
	// Statements and Rows are what was acknowledged in the measured time.
	Statements, Rows int64
	// AllStatements and AllRows also count the warm-up and the last answers.
	AllStatements, AllRows int64
	// Unknown are rows whose answer never came.
	Unknown int64
	// Errors are refused statements and broken connections; Texts has the
	// first few kinds.
	Errors  int64
	Texts   map[string]int64
	Latency Histogram
}

const (
	errorKinds = 8
	// maxRefusals in a row end a connection: it would spin.
	maxRefusals = 1000
)

func newLoop() (*loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return &loop{ep: ep, t: Tally{Texts: map[string]int64{}}}, nil
}

// add takes over a connection: the loop has a descriptor of its own, nc is
// closed.
func (l *loop) add(nc net.Conn, x exchange, rows int) error {
	defer nc.Close()
	if err := nc.SetDeadline(time.Time{}); err != nil {
		return err
	}
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return fmt.Errorf("a %T has no descriptor", nc)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return err
	}
	fd, dupErr := -1, error(nil)
	if err := raw.Control(func(s uintptr) { fd, dupErr = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return err
	}
	if dupErr != nil {
		return dupErr
	}
	c := &line{i: int32(len(l.lines)), fd: fd, x: x, rows: int64(rows), in: make([]byte, 0, 4096)}
	l.lines = append(l.lines, c)
	return unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: c.i})
}

// close closes every descriptor.
func (l *loop) close() {
	for _, c := range l.lines {
		if c.fd >= 0 {
			unix.Close(c.fd)
		}
	}
	unix.Close(l.ep)
}

// run sends and receives until the time is over and all answers are in.
func (l *loop) run(ctx context.Context) error {
	l.alive = len(l.lines)
	for _, c := range l.lines {
		l.send(c, time.Now())
	}
	events := make([]unix.EpollEvent, 256)
	for l.busy > 0 && l.alive > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.EpollWait(l.ep, events, 100)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("epoll: %w", err)
		}
		for i := range max(n, 0) {
			c := l.lines[events[i].Fd]
			if c.fd < 0 {
				continue
			}
			if events[i].Events&unix.EPOLLOUT != 0 {
				l.flush(c)
			}
			if events[i].Events&^unix.EPOLLOUT != 0 && c.fd >= 0 {
				l.receive(c)
			}
		}
		if n <= 0 && time.Now().After(l.last) {
			break
		}
	}
	for _, c := range l.lines {
		if c.waits {
			l.t.Unknown += c.rows
		}
	}
	return nil
}

// send starts the next statement unless the run is over.
func (l *loop) send(c *line, now time.Time) {
	if !now.Before(l.until) || l.sent >= l.limit {
		return
	}
	l.sent++
	l.busy++
	c.out, c.since, c.waits = c.x.request(), now, true
	l.flush(c)
}

func (l *loop) flush(c *line) {
	for len(c.out) > 0 {
		n, err := unix.Write(c.fd, c.out)
		switch {
		case err == nil:
			c.out = c.out[n:]
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			l.watch(c, true)
			return
		default:
			l.fail(c, err)
			return
		}
	}
	l.watch(c, false)
}

// watch asks to hear when more can be sent, or no longer.
func (l *loop) watch(c *line, out bool) {
	if c.blocked == out {
		return
	}
	c.blocked = out
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: c.i}
	if out {
		ev.Events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_MOD, c.fd, &ev); err != nil {
		l.fail(c, err)
	}
}

func (l *loop) receive(c *line) {
	if len(c.in) == cap(c.in) {
		c.in = append(make([]byte, 0, 2*cap(c.in)), c.in...)
	}
	n, err := unix.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return
	case err != nil:
		l.fail(c, err)
		return
	case n == 0:
		l.fail(c, io.ErrUnexpectedEOF)
		return
	}
	c.in = c.in[:len(c.in)+n]
	size, rows, err := c.x.reply(c.in)
	if _, refused := errors.AsType[*ServerError](err); err != nil && !refused {
		l.fail(c, err)
		return
	}
	if size == 0 {
		return
	}
	if size < len(c.in) || !c.waits {
		l.fail(c, fmt.Errorf("%w: %d bytes too many", errReply, len(c.in)-size))
		return
	}
	c.in, c.waits = c.in[:0], false
	l.busy--
	now := time.Now()
	l.count(c, now, rows, err)
	if c.refusals > maxRefusals {
		l.fail(c, errors.New("given up after too many refusals in a row"))
		return
	}
	l.send(c, now)
}

func (l *loop) count(c *line, now time.Time, rows int64, err error) {
	if err != nil {
		c.refusals++
		l.note(err)
		return
	}
	c.refusals = 0
	l.t.AllStatements++
	l.t.AllRows += rows
	if now.Before(l.from) || now.After(l.until) {
		return
	}
	l.t.Statements++
	l.t.Rows += rows
	l.t.Latency.Add(now.Sub(c.since))
}

func (l *loop) note(err error) {
	l.t.Errors++
	text := err.Error()
	if len(text) > 200 {
		text = text[:200]
	}
	if _, ok := l.t.Texts[text]; ok || len(l.t.Texts) < errorKinds {
		l.t.Texts[text]++
	}
}

// fail ends a connection. The answer to what it sent stays unknown.
func (l *loop) fail(c *line, err error) {
	if c.fd < 0 {
		return
	}
	l.note(err)
	unix.Close(c.fd)
	c.fd = -1
	l.alive--
	if c.waits {
		l.busy--
	}
}
