package mysql

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// TestSignIn leads clients of all sorts through the sign-in.
func TestSignIn(t *testing.T) {
	const native, sha2 = proto.AUTH_NATIVE_PASSWORD, proto.AUTH_CACHING_SHA2_PASSWORD
	for _, tt := range []struct {
		name           string
		server         string // the server's plugin
		user, password string
		plugin, db     string // the client's
		switched       string // plugin that the client is asked to switch to
		code           int
	}{
		{"native, right", native, "ann", "secret", native, "", "", 0},
		{"native, wrong", native, "ann", "guess", native, "", "", 1045},
		{"native, none", native, "ann", "", native, "", "", 1045},
		{"no password", native, "root", "", native, "", "", 0},
		{"no password, one sent", native, "root", "x", native, "", "", 1045},
		{"nobody", native, "nobody", "secret", native, "", "", 1045},
		{"nobody, no password", native, "nobody", "", native, "", "", 1045},
		{"newer client, right", native, "ann", "secret", sha2, "", native, 0},
		{"newer client, wrong", native, "ann", "guess", sha2, "", native, 1045},
		{"newer client, nobody", native, "nobody", "guess", sha2, "", native, 1045},
		{"odd plugin", native, "ann", "secret", "dialog", "", native, 0},
		{"database", native, "ann", "secret", native, "shop", "", 0},
		{"unknown database", native, "ann", "secret", native, "nosuch", "", 1049},
		{"unknown database, wrong password", native, "ann", "guess", native, "nosuch", "", 1045},
		{"sha2, right", sha2, "ann", "secret", sha2, "", "", 0},
		{"sha2, wrong", sha2, "ann", "guess", sha2, "", "", 1045},
		{"sha2, no password", sha2, "root", "", sha2, "", "", 0},
		{"sha2, nobody", sha2, "nobody", "guess", sha2, "", "", 1045},
		{"sha2, native client", sha2, "ann", "secret", native, "", sha2, 0},
		{"sha2, only a native hash", sha2, "old", "secret", sha2, "", native, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, p := serve(t, newFake(), Options{AuthPlugin: tt.server})
			c := open(t, p.dial(t))
			if !bytes.Contains(c.greeting, []byte(tt.server)) {
				t.Error("the greeting does not offer the server's plugin")
			}
			caps := rawCaps
			if tt.db != "" {
				caps |= proto.CLIENT_CONNECT_WITH_DB
			}
			c.write(c.response(caps, tt.user, tt.db, tt.plugin, scramble(tt.plugin, tt.password, c.salt)))
			answer := c.read()
			plugin := tt.plugin
			if tt.switched != "" {
				name, salt, _ := bytes.Cut(answer[1:], []byte{0})
				if answer[0] != 0xfe || string(name) != tt.switched {
					t.Fatalf("answer %q, want a switch to %s", answer, tt.switched)
				}
				plugin = tt.switched
				c.write(scramble(tt.switched, tt.password, salt[:20]))
				answer = c.read()
			}
			if plugin == sha2 && tt.password != "" && (tt.code == 0 || tt.code == 1049) {
				if !bytes.Equal(answer, []byte{1, 3}) {
					t.Fatalf("answer %q, want the sign of fast sign-in", answer)
				}
				answer = c.read()
			}
			if code(answer) != tt.code || tt.code == 0 && answer[0] != 0 {
				t.Fatalf("answer %q, want code %d", answer, tt.code)
			}
			if tt.code == 0 {
				if p := c.command(proto.COM_PING); p[0] != 0 {
					t.Errorf("ping: %q", p)
				}
			} else if _, err := c.tryRead(); err == nil {
				t.Error("the connection stayed open")
			}
			if tt.code == 1045 {
				using := "YES"
				if tt.password == "" {
					using = "NO"
				}
				if !strings.Contains(string(answer), "Access denied for user '"+tt.user+"@pipe' (using password: "+using+")") {
					t.Errorf("text %q", answer)
				}
			}
		})
	}
}

// TestOddHandshakes sends what no client should.
func TestOddHandshakes(t *testing.T) {
	good := (&raw{}).response(rawCaps|proto.CLIENT_CONNECT_ATTRS|proto.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA, "root", "", proto.AUTH_NATIVE_PASSWORD, nil)
	packets := map[string][]byte{
		"empty": {}, "old client": {5, 0, 0, 0, 1, 'r', 0}, "wish for TLS": append([]byte{0, 0x0a, 0, 0}, make([]byte, 28)...),
		"too long": make([]byte, handshakeLimit+1), "no end of name": append(bytes.Clone(good[:32]), "root"...),
		"attributes cut": append(bytes.Clone(good), 10, 200, 'x'), "pair cut": append(bytes.Clone(good), 2, 1, 'x'),
	}
	for i := range good[:32] {
		packets["cut"+string(rune('a'+i))] = good[:i]
	}
	for name, packet := range packets {
		_, p := serve(t, newFake(), Options{HandshakeTimeout: 50 * time.Millisecond})
		c := open(t, p.dial(t))
		if err := c.tryWrite(packet); err != nil {
			continue // refused before all of it was sent
		}
		answer, err := c.tryRead()
		if err == nil && answer[0] != 0xff {
			t.Errorf("%s: answer %q", name, answer)
		}
	}
	_, p := serve(t, newFake(), Options{})
	c := open(t, p.dial(t))
	c.write(append(bytes.Clone(good), 8, 1, 'a', 1, 'b', 1, 'c', 1, 'd'))
	if answer := c.read(); answer[0] != 0 {
		t.Errorf("sign-in with attributes: %q", answer)
	}
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"pipe"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake()
	f.queries["SELECT all"] = serveTypes
	s := New(f, Options{TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	defer func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		<-ended
	}()
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	db := connect(t, nil, func(c *driver.Config) {
		c.Addr, c.DialFunc = l.Addr().String(), nil
		c.User, c.Passwd = "ann", "secret"
		c.TLS = &tls.Config{RootCAs: pool, ServerName: "pipe"}
	})
	rows, err := db.Query("SELECT all")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Close(); err != nil || n != 3 {
		t.Errorf("%d rows, %v", n, err)
	}
	_ = db.Close()
}
