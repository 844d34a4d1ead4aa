package peer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

const echo = "echo"

// serveCalls runs handle behind a server on an in-process pipe, and returns the
// calls to it and what ends the server.
func serveCalls(t *testing.T, handle func(context.Context, *bepb.LoadItem) (proto.Message, error)) (*Calls, *Server, *Pool) {
	t.Helper()
	pipes := &Pipes{}
	l := pipes.Listen("be:9060")
	srv := NewServer("secret")
	HandleCalls(srv, echo, handle)
	go srv.Serve(l)
	pool := NewPool("secret", pipes)
	t.Cleanup(func() {
		pool.Close()
		srv.Stop()
	})
	return pool.Calls("be:9060", echo), srv, pool
}

func TestEveryCallGetsItsOwnAnswer(t *testing.T) {
	var mu sync.Mutex
	seen := map[uint64]int{}
	c, _, pool := serveCalls(t, func(_ context.Context, r *bepb.LoadItem) (proto.Message, error) {
		mu.Lock()
		seen[r.Seq] += len(r.Block)
		mu.Unlock()
		switch r.Seq % 3 {
		case 1:
			return nil, doriserr.New(doriserr.DataQuality, "bad %d", r.Seq)
		case 2:
			return nil, doriserr.At(doriserr.New(doriserr.Corrupt, "torn %d", r.Seq), doriserr.Place{BackendID: int64(r.Seq), TabletID: 7})
		}
		return &bepb.LoadReply{Seq: r.Seq, Index: uint64(len(r.Block))}, nil
	})
	if pool.Calls("be:9060", echo) != c {
		t.Error("the same service got a second connection")
	}
	var wg sync.WaitGroup
	for i := range uint64(64) {
		wg.Go(func() {
			for j := range uint64(30) {
				id := i*1000 + j
				// Some requests are larger than what a connection keeps a buffer for.
				size := int(id % 7 * 4_000)
				if id%500 == 0 {
					size = 3 * keepBuffer
				}
				var reply bepb.LoadReply
				err := c.Call(t.Context(), &bepb.LoadItem{Seq: id, Block: make([]byte, size)}, &reply)
				place, located := doriserr.PlaceOf(err)
				switch {
				case id%3 == 0 && (err != nil || reply.Seq != id || reply.Index != uint64(size)),
					id%3 == 1 && (!doriserr.Is(err, doriserr.DataQuality) || err.Error() != fmt.Sprint("bad ", id)),
					id%3 == 2 && (!doriserr.Is(err, doriserr.Corrupt) || !located || place.BackendID != int64(id)):
					t.Errorf("call %d: %v", id, err)
				}
				mu.Lock()
				if n, ok := seen[id]; !ok || n != size {
					t.Errorf("call %d came with %d bytes of %d", id, n, size)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestGivingUpEndsTheHandler: a caller that leaves ends its handler's context and
// no other.
func TestGivingUpEndsTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan uint64, 2)
		c, _, _ := serveCalls(t, func(ctx context.Context, r *bepb.LoadItem) (proto.Message, error) {
			<-ctx.Done()
			ended <- r.Seq
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		other, end := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- c.Call(other, &bepb.LoadItem{Seq: 2}, nil) }()
		if err := c.Call(ctx, &bepb.LoadItem{Seq: 1}, nil); err != context.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		if got := <-ended; got != 1 {
			t.Errorf("the handler of %d ended first", got)
		}
		synctest.Wait()
		select {
		case got := <-ended:
			t.Errorf("the handler of %d ended as well", got)
		default:
		}
		end()
		if err := <-result; err != context.Canceled || <-ended != 2 {
			t.Errorf("got %v", err)
		}
	})
}

// TestABrokenCallIsUnknown: what was sent and not answered may be done; the next
// call opens a new connection, or says at once that there is none.
func TestABrokenCallIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived := make(chan struct{})
		c, srv, pool := serveCalls(t, func(ctx context.Context, _ *bepb.LoadItem) (proto.Message, error) {
			arrived <- struct{}{}
			<-ctx.Done()
			return nil, nil
		})
		result := make(chan error, 1)
		go func() { result <- c.Call(t.Context(), &bepb.LoadItem{Seq: 1}, nil) }()
		<-arrived
		srv.Stop()
		if err := <-result; !doriserr.Is(err, doriserr.Unknown) {
			t.Errorf("a call that the peer has: %v", err)
		}
		start := time.Now()
		for range 3 {
			if err := c.Call(t.Context(), &bepb.LoadItem{Seq: 2}, nil); !doriserr.Is(err, doriserr.NoBackend) {
				t.Errorf("a call that cannot leave: %v", err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("a peer that cannot be reached cost %s", took)
		}
		// It is back: calls go through once the pause is over.
		again := NewServer("secret")
		HandleCalls(again, echo, func(context.Context, *bepb.LoadItem) (proto.Message, error) { return nil, nil })
		l := pool.pipes.Listen("be:9060")
		go again.Serve(l)
		defer again.Stop()
		time.Sleep(time.Second)
		if err := c.Call(t.Context(), &bepb.LoadItem{Seq: 3}, nil); err != nil {
			t.Errorf("after the peer came back: %v", err)
		}
	})
}

// TestAStoppingServerAnswersWhatItHas: the others learn that they were not
// answered.
func TestAStoppingServerAnswersWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arrived, finish := make(chan struct{}, 10), make(chan struct{})
		c, srv, _ := serveCalls(t, func(context.Context, *bepb.LoadItem) (proto.Message, error) {
			arrived <- struct{}{}
			<-finish
			return nil, nil
		})
		results := make(chan error, 10)
		for range 10 {
			go func() { results <- c.Call(t.Context(), &bepb.LoadItem{}, nil) }()
		}
		for range 10 {
			<-arrived
		}
		stopped := make(chan struct{})
		go func() {
			srv.GracefulStop()
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			t.Error("the server stopped before its handlers")
		default:
		}
		close(finish)
		for range 10 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		<-stopped
		if err := c.Call(t.Context(), &bepb.LoadItem{}, nil); err == nil {
			t.Error("a call to a server that has stopped succeeded")
		}
	})
}

// TestClosedPool: nothing waits for a pool that closes, also not for a peer that
// is just dialled.
func TestClosedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &Pipes{}
		defer pipes.Listen("hung:9060").Close() // accepts nothing
		pool := NewPool("", pipes)
		c := pool.Calls("hung:9060", echo)
		result := make(chan error, 1)
		go func() { result <- c.Call(t.Context(), &bepb.LoadItem{}, nil) }()
		synctest.Wait()
		start := time.Now()
		pool.Close()
		if err := <-result; !doriserr.Is(err, doriserr.Stopping) || time.Since(start) > 0 {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		if _, err := pool.Open(t.Context(), "hung:9060", echo); !doriserr.Is(err, doriserr.Stopping) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestOnePort: gRPC, messages, and connections that are neither, on a socket.
func TestOnePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	srv := NewServer("secret")
	bepb.RegisterBackendServer(srv, bepb.UnimplementedBackendServer{})
	HandleCalls(srv, echo, func(context.Context, *bepb.LoadItem) (proto.Message, error) { return nil, nil })
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	silent, err := net.Dial("tcp", addr) // says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	slow, err := net.Dial("tcp", addr) // one byte at a time
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	for _, b := range []byte(magic + "\x04echo\x06\x00secret") {
		if _, err := slow.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if answer, err := readText(slow, 2); err != nil || answer != "" {
		t.Errorf("one byte at a time: %q, %v", answer, err)
	}
	junk, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer junk.Close()
	if _, err := junk.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if n, err := junk.Read(make([]byte, 1)); err == nil {
		t.Errorf("neither gRPC nor messages: %d bytes in answer", n)
	}
	pool := NewPool("secret", nil)
	defer pool.Close()
	conn, err := pool.Conn(addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bepb.NewBackendClient(conn).Status(t.Context(), &bepb.StatusRequest{}); err == nil || !strings.Contains(err.Error(), "Status not implemented") {
		t.Errorf("gRPC: %v", err)
	}
	if err := pool.Calls(addr, echo).Call(t.Context(), &bepb.LoadItem{}, nil); err != nil {
		t.Errorf("messages: %v", err)
	}
	if err := pool.Calls(addr, "other").Call(t.Context(), &bepb.LoadItem{}, nil); !doriserr.Is(err, doriserr.NoPrivilege) || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("a service that is not there: %v", err)
	}
	srv.GracefulStop()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	late, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(late); !errors.Is(err, grpc.ErrServerStopped) {
		t.Errorf("Serve after the end: %v", err)
	}
	if _, err := late.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("its listener: %v", err)
	}
}

// TestAPeerThatDoesNotRead: answers that nobody takes are given up with the
// connection, and hold up neither other connections nor the end of the server.
func TestAPeerThatDoesNotRead(t *testing.T) {
	for name, service := range map[string]string{"calls": echo, "loads": loadService} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes := &Pipes{}
				l := pipes.Listen("be:9060")
				srv := NewServer("")
				long := strings.Repeat("x", 3<<20) // more than a pipe holds
				HandleCalls(srv, echo, func(context.Context, *bepb.LoadItem) (proto.Message, error) {
					return &bepb.LoadReply{Error: long}, nil
				})
				srv.HandleLoads(func(l *Loads) { l.Reply(&bepb.LoadReply{Error: long}) }, nil)
				go srv.Serve(l)
				conn, err := l.(*bufconn.Listener).Dial()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if refusal, err := ask(conn, service, ""); err != nil || refusal != "" {
					t.Fatal(refusal, err)
				}
				frame, err := proto.Marshal(&bepb.LoadFrame{Items: []*bepb.LoadItem{{Seq: 1}}})
				if err != nil {
					t.Fatal(err)
				}
				if service == echo {
					frame = make([]byte, headBytes)
				}
				for range 3 {
					if _, err := conn.Write(message(string(frame))); err != nil {
						t.Fatal(err)
					}
				}
				pool := NewPool("", pipes)
				defer pool.Close()
				if err := pool.Calls("be:9060", echo).Call(t.Context(), &bepb.LoadItem{}, nil); err != nil {
					t.Errorf("another peer: %v", err)
				}
				pool.Close()
				time.Sleep(silence + 2*time.Second)
				start := time.Now()
				srv.GracefulStop()
				if took := time.Since(start); took > 0 {
					t.Errorf("the server took %s to stop", took)
				}
			})
		})
	}
}

// TestAPeerThatHangs: a call that waits for its turn ends with its context; the
// one that is stuck in the socket, when the peer has been silent for too long.
func TestAPeerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := &Pipes{}
		l := pipes.Listen("be:9060")
		go func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := peek(&conn, len(magic)); err != nil {
				t.Error(err)
			}
			if _, err := admit(conn, "", func(string) (MessageHandler, bool) { return nil, true }); err != nil {
				t.Error(err)
			}
		}()
		pool := NewPool("", pipes)
		defer pool.Close()
		c := pool.Calls("be:9060", echo)
		start := time.Now()
		stuck := make(chan error, 1)
		go func() { stuck <- c.Call(t.Context(), &bepb.LoadItem{Block: make([]byte, 3<<20)}, nil) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Call(ctx, &bepb.LoadItem{}, nil); err != context.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("a call that waits: %v after %s", err, time.Since(start))
		}
		if err := <-stuck; !doriserr.Is(err, doriserr.Unknown) || time.Since(start) != silence {
			t.Errorf("a call that is stuck: %v after %s", err, time.Since(start))
		}
	})
}
