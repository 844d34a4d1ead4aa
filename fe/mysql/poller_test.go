//go:build linux

package mysql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
)

// waitable is what statements of these tests wait for: it ends when the test
// says so.
type waitable struct {
	kicked chan struct{}
	moved  chan struct{} // closed when the statement got a goroutine
	once   sync.Once
	done   chan struct{}
	wake   func()
	local  bool
}

// waitables counts them: every second one is local.
var waitables atomic.Int64

func newWaitable() *waitable {
	return &waitable{local: waitables.Add(1)%2 == 0, kicked: make(chan struct{}), moved: make(chan struct{}), done: make(chan struct{})}
}

func (a *waitable) Kick() { a.once.Do(func() { close(a.kicked) }) }

func (a *waitable) Local() bool { return a.local }

func (a *waitable) Ready() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *waitable) end() {
	close(a.done)
	a.wake()
}

// pollerFake answers "quick" without a goroutine, "slow" with one, both with
// whether they began in the poller; "ask" waits for what it sends to asked, or
// answers at once if it does not run in the poller.
func pollerFake() (*fake, chan *waitable) {
	f := newFake()
	asked := make(chan *waitable, 100)
	began := func(w *ResultWriter) string { return fmt.Sprintf("polled=%t", w.Waker() != nil) }
	f.queries["quick"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		info := began(w)
		w.Quick()
		return w.OK(0, 0, info)
	}
	f.queries["slow"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		info := began(w)
		w.MayBlock()
		if w.Waker() != nil {
			return errors.New("no goroutine after MayBlock")
		}
		return w.OK(0, 0, info)
	}
	f.queries["ask"] = func(ctx context.Context, _ *fakeSession, w *ResultWriter) error {
		a := newWaitable()
		if a.wake = w.Waker(); a.wake == nil {
			w.Quick()
			return w.OK(0, 0, "at once")
		}
		asked <- a
		w.Await(ctx, a)
		if !a.Ready() && w.Waker() != nil {
			return errors.New("neither an answer nor a goroutine")
		}
		if w.Waker() == nil {
			close(a.moved)
		}
		select {
		case <-a.done:
			return w.OK(0, 0, "answered")
		case <-ctx.Done():
			return doriserr.New(doriserr.Unknown, "nobody knows")
		}
	}
	return f, asked
}

// serveTCP runs a server on loopback. Nothing is left of it at the end.
func serveTCP(t *testing.T, f *fake, opt Options) (*Server, func() net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, f, opt, l)
}

func serveOn(t *testing.T, f *fake, opt Options, l net.Listener) (*Server, func() net.Conn) {
	t.Helper()
	if opt.sweepEvery == 0 {
		opt.sweepEvery = 5 * time.Millisecond
	}
	s := New(f, opt)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(s.Stop(ctx), <-ended); err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.sessions != 0 || s.Connections() != 0 {
			t.Errorf("%d sessions, %d connections are left", f.sessions, s.Connections())
		}
	})
	return s, func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		// No test hangs for ever.
		if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// query runs a statement and returns the info of its OK packet, or the error.
func (c *raw) query(sql string) string {
	c.t.Helper()
	c.send(proto.COM_QUERY, []byte(sql))
	return okInfo(c.read())
}

func okInfo(p []byte) string {
	if p[0] == 0xff {
		return fmt.Sprintf("error %d", code(p))
	}
	const head = 7 // 0, affected, id, status, warnings
	if len(p) <= head {
		return ""
	}
	return string(p[head+1:])
}

// polledConns signs in n clients whose connections a poller has.
func polledConns(t *testing.T, dial func() net.Conn, n int) []*raw {
	t.Helper()
	out := make([]*raw, n)
	for i := range out {
		out[i] = signIn(t, dial(), 0)
		out[i].query("quick")
		if got := out[i].query("quick"); got != "polled=true" {
			t.Fatalf("after a quick statement: %s", got)
		}
	}
	return out
}

// TestPollerTakesAndLeaves: which commands run without a goroutine.
func TestPollerTakesAndLeaves(t *testing.T) {
	f, _ := pollerFake()
	long := "quick" + strings.Repeat(" ", quickBytes)
	f.queries[long] = f.queries["quick"]
	f.queries["ask"] = func(ctx context.Context, _ *fakeSession, w *ResultWriter) error {
		a := newWaitable()
		a.wake = w.Waker()
		go func() {
			<-a.kicked
			a.end()
		}()
		w.Await(ctx, a)
		return w.OK(0, 0, fmt.Sprintf("ready=%t polled=%t", a.Ready(), w.Waker() != nil))
	}
	_, dial := serveTCP(t, f, Options{})
	c := signIn(t, dial(), 0)
	for i, step := range []struct{ sql, want string }{
		{"quick", "polled=false"}, // nothing is known of the client yet
		{"quick", "polled=true"},
		{"slow", "polled=true"},
		{"slow", "polled=false"},
		{"quick", "polled=false"},
		{"ask", "ready=true polled=true"},
		{long, "polled=false"},
		{"quick", "polled=true"},
		{"ping", ""},
		{"quick", "polled=true"},
		{"use", ""},
		{"quick", "polled=false"},
		{"quick", "polled=true"},
	} {
		var got string
		switch step.sql {
		case "ping":
			got = okInfo(c.command(proto.COM_PING))
		case "use":
			got = okInfo(c.command(proto.COM_INIT_DB, []byte("db")...))
		default:
			got = c.query(step.sql)
		}
		if got != step.want {
			t.Errorf("step %d, %.10s: %s, want %s", i, step.sql, got, step.want)
		}
	}
	g, _ := pollerFake()
	_, dial = serveTCP(t, g, Options{Pollers: -1})
	c = signIn(t, dial(), 0)
	for range 3 {
		if got := c.query("quick"); got != "polled=false" {
			t.Errorf("without pollers: %s", got)
		}
	}
}

// TestPollerGathers: all statements that have come are handed over before any is
// kicked, one that waits holds up nobody, and each gets its own answer.
func TestPollerGathers(t *testing.T) {
	f, asked := pollerFake()
	_, dial := serveTCP(t, f, Options{sweepEvery: time.Hour})
	const n = 20
	conns := polledConns(t, dial, n+1)
	var waiting []*waitable
	for _, c := range conns[:n] {
		c.send(proto.COM_QUERY, []byte("ask"))
	}
	for range n {
		a := <-asked
		<-a.kicked
		waiting = append(waiting, a)
	}
	if got := conns[n].query("quick"); got != "polled=true" {
		t.Errorf("beside %d that wait: %s", n, got)
	}
	for _, i := range rand.Perm(n) {
		waiting[i].end()
	}
	for _, c := range conns[:n] {
		if got := okInfo(c.read()); got != "answered" {
			t.Error(got)
		}
		if got := c.query("quick"); got != "polled=true" {
			t.Errorf("after the answer: %s", got)
		}
	}
}

// TestPollerReadsAnyPieces: commands that come in pieces, several at once, or
// longer than the poller runs, are answered in their order.
func TestPollerReadsAnyPieces(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	f, _ := pollerFake()
	var sent []string
	var stream []byte
	for i := range 300 {
		sql := fmt.Sprintf("statement %d:", i)
		switch rng.IntN(10) {
		case 0:
			sql += strings.Repeat("x", rng.IntN(3*quickBytes))
		case 1:
			sql += strings.Repeat("y", 2*readBuffer)
		}
		info, slow := fmt.Sprint("answer ", i), rng.IntN(20) == 0
		f.queries[sql] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
			w.Quick()
			if slow {
				w.MayBlock()
			}
			return w.OK(0, 0, info)
		}
		sent = append(sent, info)
		n := len(sql) + 1
		stream = append(stream, byte(n), byte(n>>8), byte(n>>16), 0, proto.COM_QUERY)
		stream = append(stream, sql...)
	}
	_, dial := serveTCP(t, f, Options{})
	c := polledConns(t, dial, 1)[0]
	go func() {
		for len(stream) > 0 {
			n := 1 + rng.IntN(min(len(stream), 1<<rng.IntN(16)))
			if _, err := c.conn.Write(stream[:n]); err != nil {
				return // the reader tells
			}
			stream = stream[n:]
		}
	}()
	for _, want := range sent {
		c.seq = 1
		if got := okInfo(c.read()); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// waitedFor is a context that tells when somebody waits for its end.
type waitedFor struct {
	context.Context
	once  sync.Once
	asked chan struct{}
}

func (w *waitedFor) Done() <-chan struct{} {
	w.once.Do(func() { close(w.asked) })
	return w.Context.Done()
}

// TestPolledConnectionsEnd: however a connection ends, whatever it waits for.
func TestPolledConnectionsEnd(t *testing.T) {
	gone := func(c *raw) error {
		if p, err := c.tryRead(); err == nil {
			return fmt.Errorf("there is another packet: %q", p)
		}
		return nil
	}
	for _, test := range []struct {
		name string
		idle time.Duration
		ask  bool
		// lives says that the connection goes on.
		lives bool
		end   func(t *testing.T, s *Server, c *raw, a *waitable) error
	}{
		{name: "quit", end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			c.send(proto.COM_QUIT, nil)
			return gone(c)
		}},
		{name: "client closes", end: func(_ *testing.T, s *Server, c *raw, _ *waitable) error {
			return c.conn.Close()
		}},
		{name: "client sends no more", end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			return errors.Join(c.conn.(*net.TCPConn).CloseWrite(), gone(c))
		}},
		{name: "client sends a last command and no more", end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			c.send(proto.COM_QUERY, []byte("quick"))
			err := c.conn.(*net.TCPConn).CloseWrite()
			if got := okInfo(c.read()); got != "polled=true" {
				err = errors.New(got)
			}
			return errors.Join(err, gone(c))
		}},
		{name: "client resets", end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			return errors.Join(c.conn.(*net.TCPConn).SetLinger(0), c.conn.Close())
		}},
		{name: "client closes while it is asked for", ask: true, end: func(_ *testing.T, _ *Server, c *raw, a *waitable) error {
			err := c.conn.Close()
			a.end()
			return err
		}},
		{name: "kill", end: func(_ *testing.T, s *Server, c *raw, _ *waitable) error {
			s.Kill(1, false)
			return gone(c)
		}},
		{name: "kill while it waits", ask: true, end: func(_ *testing.T, s *Server, c *raw, _ *waitable) error {
			s.Kill(1, false)
			return gone(c)
		}},
		{name: "kill query", ask: true, lives: true, end: func(_ *testing.T, s *Server, c *raw, _ *waitable) error {
			s.Kill(1, true)
			if p := c.read(); p[0] != 0xff {
				return fmt.Errorf("%q", p)
			}
			if got := c.query("quick"); got != "polled=false" {
				return errors.New("after it: " + got)
			}
			return nil
		}},
		{name: "stop", end: func(_ *testing.T, s *Server, c *raw, _ *waitable) error {
			return errors.Join(s.Stop(context.Background()), gone(c))
		}},
		{name: "stop while it waits", ask: true, end: func(_ *testing.T, s *Server, c *raw, a *waitable) error {
			stopped := make(chan error, 1)
			waits := &waitedFor{Context: context.Background(), asked: make(chan struct{})}
			go func() { stopped <- s.Stop(waits) }()
			<-waits.asked
			a.end()
			if got := okInfo(c.read()); got != "answered" {
				return errors.New(got)
			}
			return errors.Join(gone(c), <-stopped)
		}},
		{name: "stop that waits no longer", ask: true, end: func(_ *testing.T, s *Server, c *raw, _ *waitable) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return errors.Join(s.Stop(ctx), gone(c))
		}},
		{name: "wait_timeout", idle: 20 * time.Millisecond, end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			return gone(c)
		}},
		{name: "half a packet", end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			_, err := c.conn.Write([]byte{100, 0, 0, 0, proto.COM_QUERY})
			return errors.Join(err, gone(c))
		}},
		{name: "no packet", end: func(_ *testing.T, _ *Server, c *raw, _ *waitable) error {
			_, err := c.conn.Write([]byte{100, 0, 0, 77, proto.COM_QUERY})
			return errors.Join(err, gone(c))
		}},
		{name: "an answer that takes long", ask: true, lives: true, end: func(_ *testing.T, _ *Server, c *raw, a *waitable) error {
			<-a.moved // so that a goroutine sees other ends of the wait
			a.end()
			if got := okInfo(c.read()); got != "answered" {
				return errors.New(got)
			}
			return nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, asked := pollerFake()
			s, dial := serveTCP(t, f, Options{ReadTimeout: 100 * time.Millisecond})
			c := polledConns(t, dial, 1)[0]
			var a *waitable
			if test.ask {
				c.send(proto.COM_QUERY, []byte("ask"))
				a = <-asked
				<-a.kicked
			}
			if test.idle > 0 {
				f.idle.Store(int64(test.idle))
				c.command(proto.COM_PING)
			}
			if err := test.end(t, s, c, a); err != nil {
				t.Error(err)
			}
			if test.lives {
				return
			}
			select {
			case <-f.ended:
			case <-time.After(20 * time.Second):
				t.Error("the server did not end the connection")
			}
		})
	}
}

// TestPollerDoesNotWaitForReaders: a client that does not read its answers holds
// up nobody else, and is cut when its time is up.
func TestPollerDoesNotWaitForReaders(t *testing.T) {
	f, _ := pollerFake()
	info := strings.Repeat("z", 60<<10)
	f.queries["much"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		w.Quick()
		return w.OK(0, 0, info)
	}
	s, dial := serveTCP(t, f, Options{HandshakeTimeout: 500 * time.Millisecond, WriteTimeout: 500 * time.Millisecond})
	conns := polledConns(t, dial, 2)
	var sending sync.WaitGroup
	sending.Go(func() {
		packet := append([]byte{5, 0, 0, 0, proto.COM_QUERY}, "much"...)
		for err := error(nil); err == nil; {
			_, err = conns[0].conn.Write(packet)
		}
	})
	for i := 0; s.Connections() > 1; i++ {
		if got := conns[1].query("quick"); got != "polled=true" {
			t.Fatalf("statement %d: %s", i, got)
		}
	}
	_ = conns[0].conn.Close()
	sending.Wait()
}

// TestPollersShare mixes everything: each statement of each client is answered
// once, with its own answer.
func TestPollersShare(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	f, asked := pollerFake()
	_, dial := serveTCP(t, f, Options{Pollers: 3, sweepEvery: time.Millisecond})
	stop := make(chan struct{})
	var answering sync.WaitGroup
	answering.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 0))
		var kept []*waitable
		for {
			select {
			case a := <-asked:
				if kept = append(kept, a); rng.IntN(4) > 0 {
					continue
				}
			case <-time.After(time.Millisecond):
			case <-stop:
				return
			}
			for _, a := range kept {
				<-a.kicked
				a.end()
			}
			kept = nil
		}
	})
	var clients sync.WaitGroup
	var answers atomic.Int64
	for i := range 20 {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i+1)))
			c := signIn(t, dial(), 0)
			for range 200 {
				want := "polled="
				sql := []string{"quick", "quick", "quick", "ask", "ask", "slow"}[rng.IntN(6)]
				got := c.query(sql)
				if sql == "ask" {
					want = "a" // answered, at once
				}
				if !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s", sql, got)
					return
				}
				answers.Add(1)
			}
		})
	}
	clients.Wait()
	close(stop)
	answering.Wait()
	if n := answers.Load(); n != 20*200 {
		t.Errorf("%d answers", n)
	}
}

// TestPolledPanic: a panic ends its connection alone.
func TestPolledPanic(t *testing.T) {
	f, _ := pollerFake()
	f.queries["panic"] = func(context.Context, *fakeSession, *ResultWriter) error { panic("bug") }
	_, dial := serveTCP(t, f, Options{})
	conns := polledConns(t, dial, 2)
	conns[0].send(proto.COM_QUERY, []byte("panic"))
	if _, err := conns[0].tryRead(); !errors.Is(err, io.EOF) {
		t.Errorf("after a panic: %v", err)
	}
	if got := conns[1].query("quick"); got != "polled=true" {
		t.Error(got)
	}
}

// TestPolledExecute: prepared statements run in the poller as well, and are
// prepared and closed from there.
func TestPolledExecute(t *testing.T) {
	f, _ := pollerFake()
	s, dial := serveTCP(t, f, Options{})
	c := polledConns(t, dial, 1)[0]
	p := c.command(proto.COM_STMT_PREPARE, []byte("some text")...)
	if p[0] != 0 || p[7] != 0 || p[8] != 0 {
		t.Fatalf("%q", p)
	}
	id := bytes.Clone(p[1:5])
	c.query("quick")
	for range 3 {
		if got := okInfo(c.command(proto.COM_STMT_EXECUTE, append(id[:4:4], 0, 1, 0, 0, 0)...)); got != "some text" {
			t.Errorf("executed: %s", got)
		}
		if got := c.query("quick"); got != "polled=true" {
			t.Errorf("after an execution: %s", got)
		}
	}
	c.send(proto.COM_STMT_CLOSE, id)
	if got := c.query("quick"); got != "polled=true" || s.stmts.Load() != 0 {
		t.Errorf("after it was closed: %s, %d statements", got, s.stmts.Load())
	}
}
