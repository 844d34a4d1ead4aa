package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// smallBuffers are connections whose clients must read soon.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(32 << 10)
	}
	return c, err
}

// TestAnswersGoTogether: answers that become ready at the same time reach their
// clients, and those of clients that went, or do not read, harm nobody.
func TestAnswersGoTogether(t *testing.T) {
	for _, together := range []bool{true, false} {
		t.Run(fmt.Sprintf("together=%t", together), func(t *testing.T) {
			f, asked := pollerFake()
			info := strings.Repeat("y", unsentMost-100)
			f.queries["more"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
				w.Quick()
				return w.OK(0, 0, info)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			_, dial := serveOn(t, f, Options{Pollers: 1, sweepEvery: time.Hour, sendAlone: !together}, smallBuffers{l})
			const n = 2*gatherMost + 5
			conns := polledConns(t, dial, n)
			for round := range 3 {
				var waiting []*waitable
				for _, c := range conns {
					c.send(proto.COM_QUERY, []byte("ask"))
				}
				for range conns {
					waiting = append(waiting, <-asked)
				}
				if round == 1 { // two of them go before their answers are there
					err := errors.Join(conns[3].conn.(*net.TCPConn).SetLinger(0), conns[3].conn.Close(), conns[4].conn.Close())
					if err != nil {
						t.Fatal(err)
					}
				}
				for _, a := range waiting {
					a.end()
				}
				for i, c := range conns {
					if round == 1 && (i == 3 || i == 4) {
						continue
					}
					if got := okInfo(c.read()); got != "answered" {
						t.Fatalf("round %d, client %d: %s", round, i, got)
					}
				}
				if round == 1 {
					conns = append(conns[:3:3], conns[5:]...)
					<-f.ended
					<-f.ended
				}
			}
			// One client sends and does not read, so that its socket gets full; the
			// others get their answers, and at last it gets all of its own.
			lazy := conns[0]
			if err := lazy.conn.(*net.TCPConn).SetReadBuffer(128 << 10); err != nil {
				t.Fatal(err)
			}
			const unread = 1000
			for range unread {
				for i, c := range conns[:4] {
					c.send(proto.COM_QUERY, []byte([]string{"more", "quick"}[min(i, 1)]))
				}
				for _, c := range conns[1:4] {
					if got := okInfo(c.read()); got != "polled=true" {
						t.Fatal(got)
					}
				}
			}
			for i := range unread {
				lazy.seq = 1
				if got := okInfo(lazy.read()); !strings.HasSuffix(got, info) {
					t.Fatalf("answer %d of %d: %.20q of %d bytes", i, unread, got, len(got))
				}
			}
		})
	}
}
