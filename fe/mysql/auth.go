package mysql

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// authenticate checks that the client is who it says. fresh asks the client to
// prove it with a new salt (COM_CHANGE_USER).
//
// Every user is led through the same packets, also one that does not exist:
// the server's own plugin first, whatever the client offers; only a user whose
// hash for that plugin is not known is asked for the native one.
func (c *conn) authenticate(ctx context.Context, r *login, fresh bool) error {
	cred, found, err := c.server.handler.Credential(ctx, r.user, c.w.conn.RemoteAddr())
	if err != nil {
		return err
	}
	if !found {
		cred = c.server.nobody
	}
	plugin := c.server.opt.AuthPlugin
	if plugin == proto.AUTH_CACHING_SHA2_PASSWORD && len(cred.SHA2) == 0 && len(cred.Native) > 0 {
		plugin = proto.AUTH_NATIVE_PASSWORD
	}
	auth := r.auth
	if r.plugin != plugin || fresh && c.has(proto.CLIENT_PLUGIN_AUTH) || r.caps&proto.CLIENT_SECURE_CONNECTION == 0 {
		if auth, err = c.switchPlugin(plugin); err != nil {
			return err
		}
	}
	if !proves(plugin, auth, c.salt[:], cred) || !found {
		return accessDenied(r.user, hostOf(c.w.conn.RemoteAddr()), !noPassword(auth))
	}
	if plugin == proto.AUTH_CACHING_SHA2_PASSWORD && !noPassword(auth) {
		c.w.begin()
		c.w.out = append(c.w.out, 0x01, proto.CACHE_SHA2_FAST_AUTH)
		return c.w.end()
	}
	return nil
}

// switchPlugin asks the client to prove itself by plugin with a new salt.
func (c *conn) switchPlugin(plugin string) ([]byte, error) {
	if !c.has(proto.CLIENT_PLUGIN_AUTH) {
		return nil, errOldClient
	}
	c.newSalt()
	c.w.begin()
	b := append(c.w.out, 0xfe)
	b = append(append(b, plugin...), 0)
	c.w.out = append(append(b, c.salt[:]...), 0)
	if err := c.w.end(); err != nil {
		return nil, err
	}
	if err := c.w.flush(); err != nil {
		return nil, err
	}
	return c.readSmall()
}

// noPassword reports whether auth is what a client without password sends.
func noPassword(auth []byte) bool { return len(auth) == 0 || len(auth) == 1 && auth[0] == 0 }

// proves reports whether auth shows that the client knows the password.
func proves(plugin string, auth, salt []byte, cred Credential) bool {
	if noPassword(auth) {
		return len(cred.Native) == 0 && len(cred.SHA2) == 0
	}
	if plugin == proto.AUTH_CACHING_SHA2_PASSWORD {
		return provesSHA2(auth, salt, cred.SHA2)
	}
	return len(auth) == 20 && len(cred.Native) == 20 && proto.CompareNativePassword(auth, cred.Native, salt)
}

// provesSHA2 checks SHA256(password) XOR SHA256(SHA256(SHA256(password)), salt).
func provesSHA2(auth, salt, stored []byte) bool {
	if len(auth) != sha256.Size || len(stored) != sha256.Size {
		return false
	}
	h := sha256.New()
	h.Write(stored)
	h.Write(salt)
	stage := h.Sum(nil)
	subtle.XORBytes(stage, stage, auth)
	again := sha256.Sum256(stage)
	return subtle.ConstantTimeCompare(again[:], stored) == 1
}

// HashPassword is the Credential of a password.
func HashPassword(password string) Credential {
	if password == "" {
		return Credential{}
	}
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	return Credential{Native: proto.NativePasswordHash([]byte(password)), SHA2: twice[:]}
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}
