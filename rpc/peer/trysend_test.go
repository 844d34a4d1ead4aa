package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// tcpPair returns two ends of a connection of the kernel's.
func tcpPair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		a.Close()
		b.Close()
	})
	return a, b
}

func text(s string) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) { return append(b, s...), nil }
}

// TestTrySend: what it takes arrives whole and in order, also when the socket has
// no room for it; it takes nothing while others send.
func TestTrySend(t *testing.T) {
	a, b := tcpPair(t)
	from, to := newMessages(a), newMessages(b)
	defer from.Close()
	defer to.Close()
	boom := errors.New("cannot be encoded")
	if ok, err := from.TrySend(func([]byte) ([]byte, error) { return nil, boom }); !ok || !errors.Is(err, boom) {
		t.Errorf("%t, %v", ok, err)
	}
	var large []string
	for i := 0; ; i++ { // nobody reads, so the socket is full some time
		s := fmt.Sprintf("%d %s", i, bytes.Repeat([]byte{'x'}, 1<<20))
		encoded := false
		ok, err := from.TrySend(func(b []byte) ([]byte, error) {
			encoded = true
			return append(b, s...), nil
		})
		if err != nil || ok != encoded {
			t.Fatalf("message %d: %t, %v, encoded %t", i, ok, err, encoded)
		}
		if !ok {
			break
		}
		large = append(large, s)
		if i == 1000 {
			t.Fatal("the socket takes everything")
		}
	}
	sent := make(chan error, 1)
	go func() { sent <- from.Send(t.Context(), text("last")) }()
	for _, want := range append(large, "last") {
		got, err := to.Recv()
		if err != nil || string(got) != want {
			t.Fatalf("%.20q of %d bytes, %v, want %.20q of %d", got, len(got), err, want, len(want))
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	from.Close()
	if ok, err := from.TrySend(text("late")); !ok || err == nil {
		t.Errorf("a closed connection: %t, %v", ok, err)
	}
}

// TestTrySendInMemory: a connection that is none of the kernel's is left to Send.
func TestTrySendInMemory(t *testing.T) {
	a, _ := pair(t)
	m := newMessages(a)
	defer m.Close()
	if ok, err := m.TrySend(text("one")); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}

// TestKickSends: over TCP the loads of many goroutines that kick, and of some
// that send, get the answers that are theirs; a stream that breaks answers all.
func TestKickSends(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer("")
	silent := make(chan struct{})
	srv.HandleLoads(func(l *Loads) {
		replies := make([]*bepb.LoadReply, len(l.Items))
		for i, it := range l.Items {
			if it.TableId < 0 {
				close(silent)
				return
			}
			replies[i] = &bepb.LoadReply{Seq: it.Seq, TxnId: it.TableId}
		}
		if l.Items[0].TableId%2 == 0 {
			l.ReplyNow(replies...)
		} else {
			l.Reply(replies...)
		}
	}, nil)
	go srv.Serve(l)
	defer srv.Stop()
	pool := NewPool("", nil)
	defer pool.Close()
	c := NewLoadClient(pool, l.Addr().String())
	defer c.Close()
	block := make([]byte, 1000)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 300 {
				id := int64(g*1000 + i)
				item := &bepb.LoadItem{TableId: id, Block: block}
				var r *bepb.LoadReply
				var err error
				if g%4 == 0 {
					r, err = c.Send(t.Context(), item)
				} else {
					told := make(chan struct{})
					s, ok := c.Start(item, func() { close(told) })
					if !ok {
						t.Error("the client is closed")
						return
					}
					s.Kick()
					<-told
					if !s.Ready() {
						t.Errorf("load %d was told and is not ready", id)
					}
					r, err = s.Reply(t.Context())
				}
				if err != nil || r.TxnId != id {
					t.Errorf("load %d: %v, %v", id, r, err)
				}
			}
		})
	}
	wg.Wait()
	told := make(chan struct{})
	s, _ := c.Start(&bepb.LoadItem{TableId: -1}, func() { close(told) })
	s.Kick()
	<-silent
	srv.Stop()
	<-told
	if _, err := s.Reply(t.Context()); !doriserr.Is(err, doriserr.Unknown) {
		t.Errorf("a load on a broken stream: %v", err)
	}
}

// TestStoppingAfterReplyNow: a backend that stops ends its streams once the last
// load is answered, whoever sends the answer.
func TestStoppingAfterReplyNow(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer("")
	arrived := make(chan *Loads, 1)
	srv.HandleLoads(func(l *Loads) { arrived <- l }, nil)
	go srv.Serve(l)
	defer srv.Stop()
	pool := NewPool("", nil)
	defer pool.Close()
	c := NewLoadClient(pool, l.Addr().String())
	defer c.Close()
	result := make(chan error, 1)
	go func() {
		_, err := c.Send(t.Context(), &bepb.LoadItem{TableId: 1})
		result <- err
	}()
	under := <-arrived
	ended := make(chan struct{})
	go func() {
		srv.GracefulStop()
		close(ended)
	}()
	<-under.r.stopping
	// By now the stream's own goroutine knows, or hears of it with the answer.
	under.ReplyNow(&bepb.LoadReply{Seq: under.Items[0].Seq})
	if err := <-result; err != nil {
		t.Error(err)
	}
	<-ended
}

// TestKickOfAMessageThatCannotBeSent: loads that no message can hold end with the
// stream, not with their callers' patience.
func TestKickOfAMessageThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		defer b.Close()
		opened := false
		c := newLoadClient(func(ctx context.Context) (*Messages, error) {
			if opened {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			opened = true
			return newMessages(a), nil
		})
		defer c.Close()
		synctest.Wait()
		told := false
		s, _ := c.Start(&bepb.LoadItem{RequestId: []byte("request"), Label: "\xff"}, func() { told = true })
		s.Kick()
		synctest.Wait()
		if !told {
			t.Fatal("nobody is told of a load that cannot be encoded")
		}
		if _, err := s.Reply(t.Context()); !doriserr.Is(err, doriserr.Unknown) {
			t.Error(err)
		}
	})
}
