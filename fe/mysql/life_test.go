package mysql

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// inBubble runs a server with fake time. The server is stopped at the end.
func inBubble(t *testing.T, f *fake, opt Options, test func(t *testing.T, s *Server, p *pipes)) {
	synctest.Test(t, func(t *testing.T) {
		s, p := New(f, opt), newPipes()
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(p) }()
		test(t, s, p)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if f.sessions != 0 || s.Connections() != 0 || s.stmts.Load() != 0 {
			t.Errorf("%d sessions, %d connections, %d statements are left", f.sessions, s.Connections(), s.stmts.Load())
		}
	})
}

func TestWaitTimeout(t *testing.T) {
	f := newFake()
	f.idle.Store(int64(10 * time.Second))
	inBubble(t, f, Options{}, func(t *testing.T, _ *Server, p *pipes) {
		c := signIn(t, p.dial(t), 0)
		for range 5 {
			time.Sleep(9 * time.Second)
			if a := c.command(proto.COM_PING); a[0] != 0 {
				t.Fatalf("ping: %q", a)
			}
		}
		start := time.Now()
		if _, err := c.tryRead(); !errors.Is(err, io.EOF) {
			t.Fatalf("error %v", err)
		}
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("closed after %v", d)
		}
	})
}

// TestWaitTimeoutChanges: SET wait_timeout counts at once, also 0 for ever.
func TestWaitTimeoutChanges(t *testing.T) {
	f := newFake()
	inBubble(t, f, Options{}, func(t *testing.T, _ *Server, p *pipes) {
		c := signIn(t, p.dial(t), 0)
		for _, idle := range []time.Duration{0, time.Minute, 0, time.Second} {
			f.idle.Store(int64(idle))
			c.command(proto.COM_PING)
			if idle != time.Second {
				time.Sleep(59 * time.Second)
			}
		}
		start := time.Now()
		if _, err := c.tryRead(); err == nil || time.Since(start) != time.Second {
			t.Errorf("closed after %v, %v", time.Since(start), err)
		}
	})
}

func TestSlowClients(t *testing.T) {
	f := newFake()
	f.queries["much"] = func(ctx context.Context, _ *fakeSession, w *ResultWriter) error {
		if err := w.Columns([]Column{{Name: "x", Type: value.Type{Kind: value.String}}}); err != nil {
			return err
		}
		for {
			if err := w.Row(Text("some text")); err != nil {
				return err
			}
		}
	}
	inBubble(t, f, Options{ReadTimeout: 3 * time.Second, WriteTimeout: 20 * time.Second}, func(t *testing.T, s *Server, p *pipes) {
		start := time.Now()
		c := open(t, p.dial(t))
		if _, err := c.tryRead(); err == nil || time.Since(start) != 10*time.Second {
			t.Errorf("no sign-in: closed after %v, %v", time.Since(start), err)
		}
		c = signIn(t, p.dial(t), 0)
		start = time.Now()
		if _, err := c.conn.Write([]byte{9, 0, 0, 0, proto.COM_QUERY, 'x'}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.tryRead(); err == nil || time.Since(start) != 3*time.Second {
			t.Errorf("half a packet: closed after %v, %v", time.Since(start), err)
		}
		c = signIn(t, p.dial(t), 0)
		c.send(proto.COM_QUERY, []byte("much"))
		start = time.Now()
		for s.Connections() > 0 {
			time.Sleep(time.Second)
		}
		if d := time.Since(start); d < 10*time.Second || d > 21*time.Second {
			t.Errorf("output not read: closed after %v", d)
		}
	})
}

func TestConnectionLimit(t *testing.T) {
	inBubble(t, newFake(), Options{MaxConnections: func() int { return 2 }}, func(t *testing.T, s *Server, p *pipes) {
		one := signIn(t, p.dial(t), 0)
		signIn(t, p.dial(t), 0)
		c := open(t, p.dial(t))
		if string(c.greeting) != "\xff\x10\x04Too many connections" {
			t.Errorf("third: %q", c.greeting)
		}
		_ = one.conn.Close()
		synctest.Wait()
		if n := s.Connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
		signIn(t, p.dial(t), 0)
	})
}

// waitQuery answers when its context ends or after a minute.
func waitQuery(ctx context.Context, _ *fakeSession, w *ResultWriter) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return w.OK(1, 0, "waited")
	}
}

func TestKill(t *testing.T) {
	f := newFake()
	f.queries["wait"] = waitQuery
	inBubble(t, f, Options{}, func(t *testing.T, s *Server, p *pipes) {
		c := signIn(t, p.dial(t), 0)
		c.command(proto.COM_INIT_DB, []byte("shop")...)
		id := s.ProcessList()[0].ID
		if !s.Kill(id, true) { // nothing runs: nothing happens
			t.Error("KILL QUERY of an idle connection")
		}
		c.send(proto.COM_QUERY, []byte("wait"))
		time.Sleep(time.Second)
		got := s.ProcessList()[0]
		if got.Command != "Query" || got.Info != "wait" || got.DB != "shop" || got.User != "root" || time.Since(got.Since) != time.Second {
			t.Errorf("process list has %+v", got)
		}
		s.Kill(id, true)
		if a := c.read(); code(a) != 1317 {
			t.Errorf("killed query: %q", a)
		}
		if a := c.command(proto.COM_QUERY, 'a'); a[0] != 0 {
			t.Errorf("the next query: %q", a)
		}
		if got := s.ProcessList()[0]; got.Command != "Sleep" || got.Info != "" {
			t.Errorf("process list has %+v", got)
		}
		if user, ok := s.User(id); user != "root" || !ok {
			t.Errorf("user %q, %t", user, ok)
		}
		c.send(proto.COM_QUERY, []byte("wait"))
		synctest.Wait()
		s.Kill(id, false)
		if _, err := c.tryRead(); err == nil {
			t.Error("a killed connection answers")
		}
		synctest.Wait()
		if s.Kill(id, false) || s.Connections() != 0 {
			t.Error("a killed connection is there")
		}
	})
}

// TestStop: a running command is answered, an idle connection closed, and
// nobody gets in.
func TestStop(t *testing.T) {
	f := newFake()
	f.queries["wait"] = waitQuery
	inBubble(t, f, Options{}, func(t *testing.T, s *Server, p *pipes) {
		idle, busy := signIn(t, p.dial(t), 0), signIn(t, p.dial(t), 0)
		busy.send(proto.COM_QUERY, []byte("wait"))
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(t.Context()) }()
		if _, err := idle.tryRead(); err == nil {
			t.Error("the idle connection is open")
		}
		if a := busy.read(); a[0] != 0 {
			t.Errorf("running command: %q", a)
		}
		if _, err := busy.tryRead(); err == nil {
			t.Error("the busy connection is open")
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if err := s.Serve(newPipes()); err != nil {
			t.Errorf("Serve after Stop: %v", err)
		}
	})
}

// TestStopCut: when its time is over, Stop cancels commands; one that does not
// heed that is told of.
func TestStopCut(t *testing.T) {
	f := newFake()
	f.queries["wait"] = waitQuery
	f.queries["deaf"] = func(context.Context, *fakeSession, *ResultWriter) error {
		<-time.After(time.Hour)
		return doriserr.New(doriserr.Internal, "late")
	}
	inBubble(t, f, Options{}, func(t *testing.T, s *Server, p *pipes) {
		for _, q := range []string{"wait", "deaf"} {
			signIn(t, p.dial(t), 0).send(proto.COM_QUERY, []byte(q))
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := s.Stop(ctx); err == nil {
			t.Error("no word of the deaf command")
		}
		if d := time.Since(start); d != time.Second+forceWait || s.Connections() != 1 {
			t.Errorf("stopped after %v, %d connections", d, s.Connections())
		}
		time.Sleep(time.Hour)
	})
}

// TestPanic: a panic in a session ends its connection alone.
func TestPanic(t *testing.T) {
	f := newFake()
	f.queries["panic"] = func(context.Context, *fakeSession, *ResultWriter) error { panic("on purpose") }
	inBubble(t, f, Options{}, func(t *testing.T, _ *Server, p *pipes) {
		c, other := signIn(t, p.dial(t), 0), signIn(t, p.dial(t), 0)
		c.send(proto.COM_QUERY, []byte("panic"))
		if _, err := c.tryRead(); err == nil {
			t.Error("it was answered")
		}
		if a := other.command(proto.COM_PING); a[0] != 0 {
			t.Errorf("the other connection: %q", a)
		}
	})
}
