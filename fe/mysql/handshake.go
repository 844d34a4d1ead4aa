package mysql

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"time"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

const (
	saltSize = 20
	// handshakeLimit is the longest packet before sign-in, in bytes:
	// connection attributes may take 64 KiB.
	handshakeLimit = 80 << 10
)

// serverCaps is what this server can do.
const serverCaps = proto.CLIENT_LONG_PASSWORD | proto.CLIENT_FOUND_ROWS | proto.CLIENT_LONG_FLAG |
	proto.CLIENT_CONNECT_WITH_DB | proto.CLIENT_ODBC | proto.CLIENT_IGNORE_SPACE | proto.CLIENT_PROTOCOL_41 |
	proto.CLIENT_INTERACTIVE | proto.CLIENT_TRANSACTIONS | proto.CLIENT_SECURE_CONNECTION |
	proto.CLIENT_MULTI_STATEMENTS | proto.CLIENT_MULTI_RESULTS | proto.CLIENT_PS_MULTI_RESULTS |
	proto.CLIENT_PLUGIN_AUTH | proto.CLIENT_CONNECT_ATTRS | proto.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA |
	proto.CLIENT_SESSION_TRACK | proto.CLIENT_DEPRECATE_EOF

// greet writes the first packet of a connection.
func (c *conn) greet() error {
	c.newSalt()
	caps := c.server.caps()
	c.w.begin()
	b := append(c.w.out, 10)
	b = append(append(b, c.server.opt.Version...), 0)
	b = binary.LittleEndian.AppendUint32(b, c.id)
	b = append(append(b, c.salt[:8]...), 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(caps))
	b = append(b, charset)
	b = binary.LittleEndian.AppendUint16(b, proto.SERVER_STATUS_AUTOCOMMIT)
	b = binary.LittleEndian.AppendUint16(b, uint16(caps>>16))
	b = append(b, saltSize+1)
	b = append(b, make([]byte, 10)...)
	b = append(append(b, c.salt[8:]...), 0)
	c.w.out = append(append(b, c.server.opt.AuthPlugin...), 0)
	if err := c.w.end(); err != nil {
		return err
	}
	return c.w.flush()
}

// newSalt fills the salt with printable characters: zero would end it.
func (c *conn) newSalt() {
	_, _ = rand.Read(c.salt[:])
	for i, x := range c.salt {
		c.salt[i] = '%' + x%('~'-'%'+1)
	}
}

// login is a client's wish to sign in.
type login struct {
	caps     uint32
	charset  uint8
	user, db string
	plugin   string
	auth     []byte
	attrs    map[string]string
}

// handshake takes a client from the greeting to its session.
func (c *conn) handshake(ctx context.Context) error {
	if err := c.greet(); err != nil {
		return err
	}
	r, err := c.readLogin(ctx)
	if err != nil {
		return c.finalError(err)
	}
	c.caps, c.charset, c.attrs = r.caps&c.server.caps(), r.charset, r.attrs
	if err := c.authenticate(ctx, r, false); err != nil {
		return c.finalError(err)
	}
	c.session, err = c.server.handler.Connect(ctx, &ConnInfo{
		ID: c.id, RemoteAddr: c.w.conn.RemoteAddr(), Attrs: c.attrs,
		Capabilities: c.caps, Charset: c.charset, TLS: c.tls,
	})
	if err != nil {
		return c.finalError(err)
	}
	c.signedIn(r)
	if err := c.session.SetUser(ctx, r.user, r.db); err != nil {
		return c.finalError(err)
	}
	if err := c.writeOK(); err != nil {
		return err
	}
	return c.w.flush()
}

// readLogin reads the client's answer to the greeting, through TLS if it asks
// for that.
func (c *conn) readLogin(ctx context.Context) (*login, error) {
	p, err := c.readSmall()
	if err != nil {
		return nil, err
	}
	if len(p) >= 4 && binary.LittleEndian.Uint32(p)&proto.CLIENT_SSL != 0 && !c.tls {
		if c.server.opt.TLS == nil {
			return nil, errNoTLS
		}
		if len(p) != 32 {
			return nil, errHandshake
		}
		conn := tls.Server(c.w.under(), c.server.opt.TLS)
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		c.w.replace(conn)
		c.tls = true
		if err := c.w.setReadBy(time.Now().Add(c.server.opt.HandshakeTimeout)); err != nil {
			return nil, err
		}
		if p, err = c.readSmall(); err != nil {
			return nil, err
		}
	}
	r, ok := parseLogin(p)
	if !ok {
		return nil, errHandshake
	}
	if r.caps&proto.CLIENT_PROTOCOL_41 == 0 {
		return nil, errOldClient
	}
	return r, nil
}

func (c *conn) readSmall() ([]byte, error) {
	p, err := c.w.read(handshakeLimit)
	if _, big := err.(*tooLarge); big { //nolint:errorlint // never wrapped
		return nil, errHandshake
	}
	return p, err
}

// parseLogin reads a handshake response.
func parseLogin(p []byte) (*login, bool) {
	cur := cursor{b: p}
	r := &login{caps: cur.uint32()}
	cur.bytes(4)
	r.charset = cur.uint8()
	cur.bytes(23)
	r.user = cur.zstring()
	switch {
	case r.caps&proto.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA != 0:
		r.auth = cur.lenBytes()
	case r.caps&proto.CLIENT_SECURE_CONNECTION != 0:
		r.auth = cur.bytes(int(cur.uint8()))
	default:
		r.auth = []byte(cur.zstring())
	}
	if cur.bad {
		return nil, false
	}
	if r.caps&proto.CLIENT_CONNECT_WITH_DB != 0 {
		r.db = cur.lastString()
	}
	r.tail(&cur)
	return r, !cur.bad
}

// parseChangeUser reads a COM_CHANGE_USER's body.
func parseChangeUser(p []byte, caps uint32) (*login, bool) {
	cur := cursor{b: p}
	r := &login{caps: caps, user: cur.zstring()}
	if caps&proto.CLIENT_SECURE_CONNECTION != 0 {
		r.auth = cur.bytes(int(cur.uint8()))
	} else {
		r.auth = []byte(cur.zstring())
	}
	r.db = cur.lastString()
	if len(cur.b) >= 2 {
		r.charset = uint8(cur.uint16())
	}
	r.tail(&cur)
	return r, !cur.bad
}

// tail reads the plugin's name and the attributes, which some clients leave
// off though they announce them.
func (r *login) tail(cur *cursor) {
	r.plugin = proto.AUTH_NATIVE_PASSWORD
	if r.caps&proto.CLIENT_PLUGIN_AUTH != 0 && len(cur.b) > 0 {
		r.plugin = cur.lastString()
	}
	if r.caps&proto.CLIENT_CONNECT_ATTRS == 0 || len(cur.b) == 0 {
		return
	}
	all := cursor{b: cur.lenBytes()}
	r.attrs = make(map[string]string)
	for len(all.b) > 0 {
		key, val := all.lenBytes(), all.lenBytes()
		if !all.bad {
			r.attrs[string(key)] = string(val)
		}
	}
	cur.bad = cur.bad || all.bad
}
