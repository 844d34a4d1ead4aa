package mysql

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// raw is a client that sees packets.
type raw struct {
	t    testing.TB
	conn net.Conn
	seq  byte
	caps uint32
	salt []byte
	// greeting is the first payload.
	greeting []byte
}

const rawCaps = proto.CLIENT_PROTOCOL_41 | proto.CLIENT_SECURE_CONNECTION | proto.CLIENT_PLUGIN_AUTH |
	proto.CLIENT_LONG_PASSWORD | proto.CLIENT_TRANSACTIONS

// open reads the greeting.
func open(t testing.TB, conn net.Conn) *raw {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	c := &raw{t: t, conn: conn}
	c.greeting = c.read()
	if c.greeting[0] == 10 {
		_, rest, _ := bytes.Cut(c.greeting[1:], []byte{0})
		c.salt = append(bytes.Clone(rest[4:12]), rest[31:51]...)[:20]
	}
	return c
}

// write sends a payload, in several packets if it is long.
func (c *raw) write(payload []byte) {
	c.t.Helper()
	if err := c.tryWrite(payload); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func (c *raw) tryWrite(payload []byte) error {
	for {
		n := min(len(payload), maxChunk)
		p := append([]byte{byte(n), byte(n >> 8), byte(n >> 16), c.seq}, payload[:n]...)
		c.seq++
		if _, err := c.conn.Write(p); err != nil {
			return err
		}
		if payload = payload[n:]; n < maxChunk {
			return nil
		}
	}
}

// read returns the next payload, joined.
func (c *raw) read() []byte {
	c.t.Helper()
	p, err := c.tryRead()
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	return p
}

func (c *raw) tryRead() ([]byte, error) {
	var payload []byte
	for {
		var h [4]byte
		if _, err := io.ReadFull(c.conn, h[:]); err != nil {
			return nil, err
		}
		if h[3] != c.seq {
			c.t.Fatalf("packet number %d, want %d", h[3], c.seq)
		}
		c.seq++
		n := int(h[0]) | int(h[1])<<8 | int(h[2])<<16
		p := make([]byte, n)
		if _, err := io.ReadFull(c.conn, p); err != nil {
			return nil, err
		}
		if payload = append(payload, p...); n < maxChunk {
			return payload, nil
		}
	}
}

// command sends a command and returns its first answer.
func (c *raw) command(cmd byte, body ...byte) []byte {
	c.t.Helper()
	c.send(cmd, body)
	return c.read()
}

func (c *raw) send(cmd byte, body []byte) {
	c.t.Helper()
	c.seq = 0
	c.write(append([]byte{cmd}, body...))
}

// result reads payloads up to the end of one result: OK, ERR, or a result set.
func (c *raw) result() [][]byte {
	c.t.Helper()
	first := c.read()
	all := [][]byte{first}
	if first[0] == 0x00 || first[0] == 0xff || first[0] == 0xfe {
		return all
	}
	ends := 2
	if c.caps&proto.CLIENT_DEPRECATE_EOF != 0 {
		ends = 1
		for range first[0] {
			all = append(all, c.read())
		}
	}
	for ends > 0 {
		p := c.read()
		all = append(all, p)
		if p[0] == 0xfe && len(p) < maxChunk && (len(p) <= 9 || ends == 1 && c.caps&proto.CLIENT_DEPRECATE_EOF != 0) {
			ends--
		}
		if p[0] == 0xff {
			break
		}
	}
	return all
}

// response is a handshake response.
func (c *raw) response(caps uint32, user, db, plugin string, auth []byte) []byte {
	c.caps = caps
	b := binary.LittleEndian.AppendUint32(nil, caps)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(b, charset)
	b = append(b, make([]byte, 23)...)
	b = append(append(b, user...), 0)
	b = append(append(b, byte(len(auth))), auth...)
	if caps&proto.CLIENT_CONNECT_WITH_DB != 0 {
		b = append(append(b, db...), 0)
	}
	if caps&proto.CLIENT_PLUGIN_AUTH != 0 {
		b = append(append(b, plugin...), 0)
	}
	return b
}

// scramble is the proof of a password.
func scramble(plugin, password string, salt []byte) []byte {
	if plugin == proto.AUTH_CACHING_SHA2_PASSWORD {
		return proto.CalcCachingSha2Password(salt, []byte(password))
	}
	return proto.CalcNativePassword(salt, []byte(password))
}

// login signs in as root with more capabilities.
func signIn(t testing.TB, conn net.Conn, caps uint32) *raw {
	t.Helper()
	c := open(t, conn)
	c.write(c.response(rawCaps|caps, "root", "", proto.AUTH_NATIVE_PASSWORD, nil))
	if p := c.read(); p[0] != 0 {
		t.Fatalf("sign-in: %q", p)
	}
	return c
}

// code is the number of an ERR payload, 0 for others.
func code(p []byte) int {
	if len(p) < 3 || p[0] != 0xff {
		return 0
	}
	return int(p[1]) | int(p[2])<<8
}
