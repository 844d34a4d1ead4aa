package mysql

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/block"
	"dorisgo/value"
)

// TestBigPackets sends and receives payloads round the edge where they are
// split.
func TestBigPackets(t *testing.T) {
	f := newFake()
	f.max.Store(int64(64 << 20))
	text := []Column{{Name: "s", Type: value.Type{Kind: value.String}}}
	f.queries["row"] = func(_ context.Context, s *fakeSession, w *ResultWriter) error {
		if err := w.Columns(text); err != nil {
			return err
		}
		b := block.New([]value.Type{text[0].Type})
		for _, n := range []int{int(f.max.Load()), 3} { // the second shows that the first ended well
			b.Col(0).AppendBytes(bytes.Repeat([]byte{'r'}, n))
			b.EndRow()
		}
		return w.Block(b)
	}
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	for _, n := range []int{1<<24 - 3, 1<<24 - 2, 1<<24 - 1, 1 << 24, 2*maxChunk - 1, 2 * maxChunk} {
		a := c.command(proto.COM_QUERY, bytes.Repeat([]byte{'q'}, n)...)
		if want := fmt.Sprintf("{'length':'%d'}", n); !bytes.Contains(a, []byte(want)) {
			t.Errorf("%d bytes: %q", n, a)
		}
	}
	for _, n := range []int{1<<24 - 6, 1<<24 - 5, 1<<24 - 4, 2*maxChunk - 9, 1 << 24} {
		f.max.Store(int64(n))
		c.send(proto.COM_QUERY, []byte("row"))
		c.read()
		c.read()
		c.read()
		row := c.read()
		if len(row) < n || row[len(row)-1] != 'r' || len(row) > n+9 {
			t.Errorf("%d bytes: row of %d", n, len(row))
		}
		if row := c.read(); string(row) != "\x03rrr" {
			t.Errorf("%d bytes: second row %q", n, row)
		}
		if end := c.read(); end[0] != 0xfe {
			t.Errorf("%d bytes: end %q", n, end)
		}
	}
}

// TestManyPackets: packet numbers wrap at 256.
func TestManyPackets(t *testing.T) {
	f := newFake()
	f.queries["rows"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		rows := make([][]string, 1000)
		for i := range rows {
			rows[i] = []string{"x"}
		}
		return w.Rows([]string{"a"}, rows)
	}
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	c.send(proto.COM_QUERY, []byte("rows"))
	if all := c.result(); len(all) != 1004 {
		t.Errorf("%d packets", len(all))
	}
}

// TestMaxAllowedPacket: one byte over the limit is error 1153 and the end of
// the connection, without the memory that the header tells of.
func TestMaxAllowedPacket(t *testing.T) {
	for _, max := range []int{1000, 1 << 20, 20 << 20} {
		f := newFake()
		f.max.Store(int64(max))
		_, p := serve(t, f, Options{})
		c := signIn(t, p.dial(t), 0)
		if a := c.command(proto.COM_QUERY, []byte(strings.Repeat("q", max-1))...); a[0] != 0 {
			t.Fatalf("limit %d: %q at the limit", max, a)
		}
		a := c.command(proto.COM_QUERY, []byte(strings.Repeat("q", max))...)
		if code(a) != 1153 {
			t.Errorf("limit %d: %q over the limit", max, a)
		}
		if _, err := c.tryRead(); err == nil {
			t.Errorf("limit %d: the connection stayed open", max)
		}
	}
}

// TestLyingHeader: a header that tells of much makes nobody allocate it.
func TestLyingHeader(t *testing.T) {
	f := newFake()
	f.max.Store(int64(1 << 30))
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.conn.Write([]byte{0xfe, 0xff, 0xff, 0, proto.COM_QUERY, 'x'}); err != nil {
		t.Fatal(err)
	}
	_ = c.conn.Close()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestOutOfOrder: a wrong packet number ends the connection.
func TestOutOfOrder(t *testing.T) {
	_, p := serve(t, newFake(), Options{})
	c := signIn(t, p.dial(t), 0)
	if _, err := c.conn.Write([]byte{1, 0, 0, 7, proto.COM_PING}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.tryRead(); err == nil {
		t.Error("it was answered")
	}
}

// TestPipelining: commands that are sent at once are answered in order.
func TestPipelining(t *testing.T) {
	f := newFake()
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	var all []byte
	for i := range 50 {
		sql := strings.Repeat("q", i+1)
		all = append(all, byte(len(sql)+1), 0, 0, 0, proto.COM_QUERY)
		all = append(all, sql...)
	}
	go func(conn net.Conn) { _, _ = conn.Write(all) }(c.conn)
	for i := range 50 {
		c.seq = 1
		if a := c.read(); !bytes.Contains(a, fmt.Appendf(nil, "'%d'", i+1)) {
			t.Errorf("answer %d is %q", i, a)
		}
	}
}
