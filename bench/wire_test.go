package bench

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"

	"dorisgo/fe/mysql"
)

func TestConn(t *testing.T) {
	f := &fake{}
	c, err := Dial(t.Context(), Login{Addr: f.serve(t), User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("SET x = 1"); err != nil {
		t.Error(err)
	}
	f.rows.Store(70_000)
	if rows, err := c.Query("SELECT COUNT(*) FROM t"); err != nil || len(rows) != 1 || rows[0][0] != "70000" {
		t.Errorf("%v, %v", rows, err)
	}
	if id, params, err := c.Prepare("INSERT INTO t VALUES (?,?)"); err != nil || id == 0 || params != 2 {
		t.Errorf("%d, %d, %v", id, params, err)
	}
	f.refuse = 1
	if err := c.Exec("INSERT INTO t VALUES (1)"); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("%v", err)
	}
	if err := c.Exec("SET x = 2"); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

// ask is a server whose user has a password.
type ask struct{ *fake }

func (a ask) Credential(context.Context, string, net.Addr) (mysql.Credential, bool, error) {
	return mysql.HashPassword("secret"), true, nil
}

func TestDialWithPassword(t *testing.T) {
	addr := serveHandler(t, ask{&fake{}})
	c, err := Dial(t.Context(), Login{Addr: addr, User: "ann", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := Dial(t.Context(), Login{Addr: addr, User: "ann", Password: "wrong"}); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("%v", err)
	}
}

func TestLengthOf(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    uint64
		size int
	}{
		{"\x00", 0, 1}, {"\xfa", 250, 1}, {"\xfc\x01\x02", 513, 3}, {"\xfd\x01\x00\x01", 65537, 4}, {"\xfe\x01\x00\x00\x00\x00\x00\x00\x00", 1, 9},
		{"", 0, 0}, {"\xfb", 0, 0}, {"\xff", 0, 0}, {"\xfc\x01", 0, 0},
	} {
		if n, size := lengthOf([]byte(c.in)); n != c.n || size != c.size {
			t.Errorf("%q: %d, %d", c.in, n, size)
		}
	}
}

// Replies arrive in any pieces, and whatever a server sends, nothing panics.
func FuzzReply(f *testing.F) {
	f.Add([]byte("\x07\x00\x00\x01\x00\x01\x00\x02\x00\x00\x00"))
	f.Add([]byte("\x0b\x00\x00\x01\xff\x48\x04#HY000no"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n{\n \"Status\": \"Success\",\n \"NumberLoadedRows\": 1\n}"))
	f.Add([]byte("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"Status\": \"Failed\"}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, x := range []exchange{&textExchange{}, &loadExchange{}} {
			size, rows, err := x.reply(b)
			if size > len(b) || size < 0 || rows != 0 && size == 0 {
				t.Fatalf("size %d, %d rows of %q", size, rows, b)
			}
			if size == 0 || err != nil {
				continue
			}
			for cut := range size {
				if s, _, err := x.reply(b[:cut]); s != 0 || err != nil {
					t.Fatalf("%q: size %d, error %v", b[:cut], s, err)
				}
			}
			if s, r, err := x.reply(append(bytes.Clone(b[:size]), 'x')); s != size || r != rows || err != nil {
				t.Fatalf("%q: more bytes change the reply", b)
			}
		}
		if len(b) > 0 {
			_, _ = textRow(b)
			_ = errorOf(b)
		}
	})
}
