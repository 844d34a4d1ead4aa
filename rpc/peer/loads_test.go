package peer

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// each is a handler that takes the loads of a frame one by one.
func each(handle func(ctx context.Context, it *bepb.LoadItem, reply func(*bepb.LoadReply))) LoadHandler {
	return func(l *Loads) {
		for _, it := range l.Items {
			handle(l.Context(it), it, func(r *bepb.LoadReply) { l.Reply(r) })
		}
	}
}

// serve runs a backend on an in-process pipe and returns a client for it, and
// what ends the server.
func serve(t *testing.T, handle LoadHandler) (*LoadClient, *Server) {
	t.Helper()
	return serveUntil(t, nil, handle)
}

func serveUntil(t *testing.T, stopping chan struct{}, handle LoadHandler) (*LoadClient, *Server) {
	t.Helper()
	pipes := &Pipes{}
	l := pipes.Listen("be:9060")
	srv := NewServer("secret")
	srv.HandleLoads(handle, stopping)
	go srv.Serve(l)
	pool := NewPool("secret", pipes)
	c := NewLoadClient(pool, "be:9060")
	t.Cleanup(func() {
		c.Close()
		pool.Close()
		srv.Stop()
	})
	return c, srv
}

func TestEveryLoadGetsItsOwnAnswer(t *testing.T) {
	c, _ := serve(t, each(func(_ context.Context, it *bepb.LoadItem, reply func(*bepb.LoadReply)) {
		if it.TableId%10 == 0 {
			reply(&bepb.LoadReply{Seq: it.Seq, ErrorKind: int32(doriserr.DataQuality) + 1, Error: fmt.Sprint("bad ", it.TableId)})
			return
		}
		reply(&bepb.LoadReply{Seq: it.Seq, TxnId: it.TableId})
	}))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 50 {
				id := int64(i*1000 + j)
				r, err := c.Send(t.Context(), &bepb.LoadItem{TableId: id})
				switch {
				case id%10 == 0:
					if !doriserr.Is(err, doriserr.DataQuality) || err.Error() != fmt.Sprint("bad ", id) {
						t.Errorf("load %d: %v", id, err)
					}
				case err != nil || r.TxnId != id:
					t.Errorf("load %d: answer %v, %v", id, r, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestABrokenStreamIsUnknownForWhatWasSent(t *testing.T) {
	arrived := make(chan struct{}, 1)
	c, srv := serve(t, each(func(context.Context, *bepb.LoadItem, func(*bepb.LoadReply)) { arrived <- struct{}{} }))
	result := make(chan error, 1)
	go func() {
		_, err := c.Send(t.Context(), &bepb.LoadItem{TableId: 1})
		result <- err
	}()
	<-arrived
	srv.Stop()
	if err := <-result; !doriserr.Is(err, doriserr.Unknown) {
		t.Errorf("a load that the backend has: %v (%s), want unknown", err, doriserr.KindOf(err))
	}
	// Nobody listens any more: nothing leaves, so the load may go elsewhere.
	if _, err := c.Send(t.Context(), &bepb.LoadItem{TableId: 2}); !doriserr.Is(err, doriserr.NotAdmitted) {
		t.Errorf("a load that never left: %v (%s), want not admitted", err, doriserr.KindOf(err))
	}
}

func TestTheClientsPatienceReachesTheBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var canceled atomic.Int32
		seen := make(chan struct{}, 2)
		c, _ := serve(t, each(func(ctx context.Context, it *bepb.LoadItem, reply func(*bepb.LoadReply)) {
			context.AfterFunc(ctx, func() {
				canceled.Add(1)
				seen <- struct{}{}
			})
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := c.Send(ctx, &bepb.LoadItem{TableId: 1})
		if !doriserr.Is(err, doriserr.Timeout) {
			t.Errorf("got %v", err)
		}
		<-seen
		// A time-out that travels with the load ends it without a word more.
		go c.Send(t.Context(), &bepb.LoadItem{TableId: 1, TimeoutMs: 1})
		<-seen
		if canceled.Load() != 2 {
			t.Errorf("%d loads were cancelled, want 2", canceled.Load())
		}
	})
}

func TestCloseFailsWaitingLoads(t *testing.T) {
	arrived := make(chan struct{}, 1)
	c, _ := serve(t, each(func(context.Context, *bepb.LoadItem, func(*bepb.LoadReply)) { arrived <- struct{}{} }))
	result := make(chan error, 1)
	go func() {
		_, err := c.Send(context.Background(), &bepb.LoadItem{TableId: 1})
		result <- err
	}()
	<-arrived
	c.Close()
	if err := <-result; !doriserr.Is(err, doriserr.Unknown) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Send(t.Context(), &bepb.LoadItem{}); !doriserr.Is(err, doriserr.NotAdmitted) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTokenGuardsTheServer(t *testing.T) {
	pipes := &Pipes{}
	l := pipes.Listen("be:9060")
	srv := NewServer("secret")
	bepb.RegisterBackendServer(srv, bepb.UnimplementedBackendServer{})
	go srv.Serve(l)
	defer srv.Stop()
	for _, token := range []string{"", "guess"} {
		pool := NewPool(token, pipes)
		conn, err := pool.Conn("be:9060")
		if err != nil {
			t.Fatal(err)
		}
		_, err = bepb.NewBackendClient(conn).Status(t.Context(), &bepb.StatusRequest{})
		if err := doriserr.FromStatus(err); !doriserr.Is(err, doriserr.NoPrivilege) {
			t.Errorf("token %q: %v", token, err)
		}
		if _, err := pool.Open(t.Context(), "be:9060", loadService); !doriserr.Is(err, doriserr.NoPrivilege) || !strings.Contains(err.Error(), "cluster_token") {
			t.Errorf("messages, token %q: %v", token, err)
		}
		pool.Close()
	}
}

func BenchmarkLoadStream(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := NewServer("")
	srv.HandleLoads(func(l *Loads) {
		replies := make([]*bepb.LoadReply, len(l.Items))
		for i, it := range l.Items {
			replies[i] = &bepb.LoadReply{Seq: it.Seq, TxnId: 1}
		}
		l.Reply(replies...)
	}, nil)
	go srv.Serve(l)
	defer srv.Stop()
	pool := NewPool("", nil)
	defer pool.Close()
	c := NewLoadClient(pool, l.Addr().String())
	defer c.Close()
	block := make([]byte, 20)
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := c.Send(context.Background(), &bepb.LoadItem{TableId: 1, Rows: 1, Block: block, RequestId: block[:16]}); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// TestStoppingAnswersWhatIsUnderWay: a backend that stops answers the loads
// that it has, admits no others, and then ends the stream by itself.
func TestStoppingAnswersWhatIsUnderWay(t *testing.T) {
	stopping, arrived, finish := make(chan struct{}), make(chan struct{}, 10), make(chan struct{})
	c, srv := serveUntil(t, stopping, each(func(_ context.Context, it *bepb.LoadItem, reply func(*bepb.LoadReply)) {
		arrived <- struct{}{}
		go func() {
			<-finish
			reply(&bepb.LoadReply{Seq: it.Seq, TxnId: it.TableId})
		}()
	}))
	results := make(chan error, 10)
	for i := range 10 {
		go func() {
			r, err := c.Send(t.Context(), &bepb.LoadItem{TableId: int64(i)})
			if err == nil && r.TxnId != int64(i) {
				err = fmt.Errorf("load %d got the answer of %d", i, r.TxnId)
			}
			results <- err
		}()
	}
	for range 10 {
		<-arrived
	}
	close(stopping)
	if _, err := c.Send(t.Context(), &bepb.LoadItem{TableId: 11}); !doriserr.Is(err, doriserr.NotAdmitted) {
		t.Errorf("a load that came late: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		srv.GracefulStop()
		close(ended)
	}()
	close(finish)
	for range 10 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	<-ended
}

// TestStart: loads that were started leave when one of them is kicked, in one
// frame, and each is told of its answer once; what Start has no answer for ends
// as it does for Send.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var frames atomic.Int32
		arrived := make(chan *Loads, 10)
		c, srv := serve(t, func(l *Loads) {
			frames.Add(1)
			arrived <- l
		})
		synctest.Wait()
		told := make([]atomic.Int32, 3)
		begin := func(i int) Started {
			s, ok := c.Start(&bepb.LoadItem{TableId: int64(i)}, func() { told[i].Add(1) })
			if !ok {
				t.Fatalf("load %d was not taken", i)
			}
			return s
		}
		first, second := begin(0), begin(1)
		synctest.Wait()
		if frames.Load() != 0 {
			t.Error("loads left without a kick")
		}
		second.Kick()
		l := <-arrived
		if len(l.Items) != 2 || first.Ready() || second.Ready() {
			t.Errorf("%d loads in the frame, ready %t and %t", len(l.Items), first.Ready(), second.Ready())
		}
		l.Reply(&bepb.LoadReply{Seq: l.Items[1].Seq, ErrorKind: int32(doriserr.DataQuality) + 1, Error: "bad"})
		synctest.Wait()
		if told[0].Load() != 0 || told[1].Load() != 1 || first.Ready() || !second.Ready() {
			t.Errorf("after one answer: told %d and %d times", told[0].Load(), told[1].Load())
		}
		if _, err := second.Reply(t.Context()); !doriserr.Is(err, doriserr.DataQuality) {
			t.Error(err)
		}
		l.Reply(&bepb.LoadReply{Seq: l.Items[0].Seq, TxnId: 7})
		if r, err := first.Reply(t.Context()); err != nil || r.TxnId != 7 {
			t.Errorf("%v, %v", r, err)
		}
		first.Kick() // late, of something that is used again

		// A caller that waits no longer takes back what has not left.
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := begin(2).Reply(ended); !doriserr.Is(err, doriserr.NotAdmitted) {
			t.Errorf("a load that never left: %v", err)
		}
		broken := begin(0)
		broken.Kick()
		<-arrived
		srv.Stop()
		synctest.Wait()
		if !broken.Ready() || told[0].Load() != 2 {
			t.Error("a broken stream is not told")
		}
		if _, err := broken.Reply(t.Context()); !doriserr.Is(err, doriserr.Unknown) {
			t.Error(err)
		}
		c.Close()
		if _, ok := c.Start(&bepb.LoadItem{}, func() {}); ok {
			t.Error("a closed client takes loads")
		}
	})
}
