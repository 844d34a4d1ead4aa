package mysql

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// noop answers every statement with the OK of a group commit.
type noop struct{ *fake }

func (n noop) Connect(ctx context.Context, info *ConnInfo) (Session, error) {
	s, err := n.fake.Connect(ctx, info)
	return noopSession{s.(*fakeSession)}, err
}

type noopSession struct{ *fakeSession }

var noopInfo = []byte("{'label':'group_commit_0123456789abcdef_0123456789abcdef', 'status':'PREPARE', 'txnId':'123'}")

func (noopSession) Query(_ context.Context, _ []byte, w *ResultWriter) error {
	return w.OKBytes(1, 0, noopInfo)
}

func (s noopSession) Prepare(_ context.Context, sql []byte) (Statement, error) {
	return noopStatement{params: Placeholders(sql, false)}, nil
}

type noopStatement struct{ params int }

func (s noopStatement) Params() int     { return s.params }
func (noopStatement) Columns() []Column { return nil }
func (noopStatement) Close()            {}
func (noopStatement) Execute(_ context.Context, _ *ExecuteArgs, w *ResultWriter) error {
	return w.OKBytes(1, 0, noopInfo)
}

// BenchmarkInsert measures what the protocol leaves of the machine for one-row
// INSERTs of 32 clients, which run in the same process.
func BenchmarkInsert(b *testing.B) {
	insert := append([]byte{proto.COM_QUERY}, "INSERT INTO shop.orders VALUES (12345, 'widget', 678)"...)
	execute := append([]byte{proto.COM_STMT_EXECUTE}, executeBody(1, []byte("\x00\x00\x39\x30\x00\x00\x06widget\xa6\x02\x00\x00"))...)
	for _, bb := range []struct {
		name    string
		command []byte
		depth   int // commands that a client sends before it reads
	}{{"text", insert, 1}, {"binary", execute, 1}, {"pipelined", insert, 16}} {
		b.Run(bb.name, func(b *testing.B) { benchmarkCommand(b, bb.command, bb.depth) })
	}
}

func benchmarkCommand(b *testing.B, command []byte, depth int) {
	const clients = 32
	s := New(noop{newFake()}, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	conns := make([]*raw, clients)
	for i := range conns {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = signIn(b, nc, proto.CLIENT_DEPRECATE_EOF)
		conns[i].prepare("INSERT INTO shop.orders VALUES (?, ?, ?)")
		conns[i].execute(1, []byte("\x00\x01\x03\x00\xfd\x00\x03\x00\x39\x30\x00\x00\x06widget\xa6\x02\x00\x00"))
	}
	packet := append([]byte{byte(len(command)), 0, 0, 0}, command...)
	var batch []byte
	for range depth {
		batch = append(batch, packet...)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	var wg sync.WaitGroup
	rounds := b.N/(clients*depth) + 1
	for _, c := range conns {
		wg.Go(func() {
			r := bufio.NewReader(c.conn)
			var h [4]byte
			for range rounds {
				if _, err := c.conn.Write(batch); err != nil {
					b.Error(err)
					return
				}
				for range depth {
					if _, err := io.ReadFull(r, h[:]); err != nil {
						b.Error(err)
						return
					}
					if _, err := r.Discard(int(h[0]) | int(h[1])<<8); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	runtime.ReadMemStats(&after)
	n := float64(rounds * clients * depth)
	b.ReportMetric(n/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "mallocs/command")
	for _, c := range conns {
		_ = c.conn.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		b.Error(err)
	}
	<-ended
}

// BenchmarkRows measures the writing of result sets.
func BenchmarkRows(b *testing.B) {
	for _, binary := range []bool{false, true} {
		name := "text"
		if binary {
			name = "binary"
		}
		b.Run(name, func(b *testing.B) {
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, client) }()
			defer server.Close()
			c := &conn{w: newWire(server, 0, 0), caps: rawCaps}
			c.rw.c = c
			c.rw.reset(binary, false)
			if err := c.rw.Columns(allTypes); err != nil {
				b.Fatal(err)
			}
			blk := typesBlock()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N/3 + 1 {
				if err := c.rw.Block(blk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
