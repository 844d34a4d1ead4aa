package mysql

import (
	"io"
	"net"
	"testing"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// FuzzLogin reads handshake responses and changes of user.
func FuzzLogin(f *testing.F) {
	f.Add((&raw{}).response(rawCaps|proto.CLIENT_CONNECT_WITH_DB, "u", "d", proto.AUTH_NATIVE_PASSWORD, make([]byte, 20)))
	f.Add((&raw{}).response(rawCaps|proto.CLIENT_CONNECT_ATTRS, "u", "", "p", nil))
	f.Add([]byte("u\x00\x00d\x00\x21\x00p\x00\x04\x01a\x01b"))
	f.Fuzz(func(t *testing.T, p []byte) {
		parseLogin(p)
		for _, caps := range []uint32{0, rawCaps, rawCaps | proto.CLIENT_CONNECT_ATTRS} {
			parseChangeUser(p, caps)
		}
	})
}

// FuzzExecute binds parameters: what passes can be put into a statement, whose
// text then has no placeholder and no second statement.
func FuzzExecute(f *testing.F) {
	f.Add(2, []byte("\x00\x01\x01\x00\xfd\x00\x05\x02hi"), true)
	f.Add(1, []byte("\x00\x01\x0c\x00\x0b\xe8\x07\x02\x1d\x01\x02\x03\x01\x00\x00\x00"), false)
	f.Add(1, []byte("\x00\x01\xfe\x00\x04\\';?"), false)
	f.Add(9, []byte("\x00\x00\x00"), false)
	f.Fuzz(func(t *testing.T, n int, b []byte, noBackslash bool) {
		if n < 0 || n > 20 {
			return
		}
		p := &prepared{params: n}
		if p.bind(b) != nil {
			return
		}
		sql := []byte("x")
		for range n {
			sql = append(sql, " ? "...)
		}
		out, err := p.args.Substitute(nil, sql, noBackslash)
		if err != nil {
			return
		}
		if Placeholders(out, noBackslash) != 0 {
			t.Errorf("a placeholder is left in %q", out)
		}
		if stmt, rest := nextStatement(out, noBackslash); rest != nil {
			t.Errorf("two statements: %q, %q", stmt, rest)
		}
	})
}

// FuzzSplit cuts texts into statements: all of the text comes out in order.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("a;'b;c';`d;`;-- e;\n/*f;*/;g"), false)
	f.Fuzz(func(t *testing.T, sql []byte, noBackslash bool) {
		n := len(sql)
		for rest := sql; rest != nil; {
			var stmt []byte
			stmt, rest = nextStatement(rest, noBackslash)
			if n -= len(stmt); n < 0 {
				t.Fatalf("more text comes out of %q than went in", sql)
			}
			if rest != nil && blank(stmt) {
				t.Fatalf("an empty statement comes out of %q", sql)
			}
		}
	})
}

// FuzzCommands sends bytes to a connection that has signed in: it must end or
// answer.
func FuzzCommands(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x03a"))
	f.Add([]byte("\x02\x00\x00\x00\x16?\x0b\x00\x00\x00\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00"))
	f.Add([]byte("\x08\x00\x00\x00\x18\x01\x00\x00\x00\x00\x00x\x05\x00\x00\x00\x1a\x01\x00\x00\x00"))
	f.Add([]byte("\x08\x00\x00\x00\x11root\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, input []byte) {
		client, server := net.Pipe()
		h := newFake()
		h.max.Store(1 << 16)
		s := New(h, Options{})
		c := s.newConn(server)
		c.caps = rawCaps | proto.CLIENT_MULTI_STATEMENTS
		c.session = &fakeSession{fake: h}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(io.Discard, client)
		}()
		ended := make(chan error, 1)
		go func() {
			err := c.loop()
			_ = server.Close()
			ended <- err
		}()
		_ = client.SetWriteDeadline(time.Now().Add(5 * time.Second))
		_, _ = client.Write(input)
		_ = client.Close()
		<-ended
		<-done
		c.cancel()
		s.cancel()
	})
}
