package priv

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// Hashes are what an account keeps of a password: SHA1(SHA1(p)) for
// mysql_native_password and SHA256(SHA256(p)) for caching_sha2_password. Both
// are nil for the empty password.
func Hashes(password string) (native, sha2 []byte) {
	if password == "" {
		return nil, nil
	}
	n1 := sha1.Sum([]byte(password))
	n2 := sha1.Sum(n1[:])
	s1 := sha256.Sum256([]byte(password))
	s2 := sha256.Sum256(s1[:])
	return n2[:], s2[:]
}

// HashText is a native hash as MySQL prints it: '*' and 40 hex digits; empty
// for no password.
func HashText(native []byte) string {
	if len(native) == 0 {
		return ""
	}
	return "*" + strings.ToUpper(hex.EncodeToString(native))
}

// ParseHashText reads HashText's form, for IDENTIFIED BY PASSWORD '*...'. Such
// an account can sign in by mysql_native_password alone.
func ParseHashText(s string) (native []byte, err error) {
	if s == "" {
		return nil, nil
	}
	native, err = hex.DecodeString(strings.TrimPrefix(s, "*"))
	if err != nil || len(native) != sha1.Size || s[0] != '*' {
		return nil, doriserr.New(doriserr.Analysis, "Password hash should be a 41-digit hexadecimal number")
	}
	return native, nil
}

// CheckPassword checks a password as text, for HTTP and for the full exchange
// of caching_sha2_password. A nil user never passes; the time taken does not
// tell whether the user exists.
func CheckPassword(u *meta.User, password string) bool {
	native, sha2 := Hashes(password)
	if u == nil {
		return false
	}
	if len(u.SHA2Hash) > 0 {
		return subtle.ConstantTimeCompare(u.SHA2Hash, sha2) == 1
	}
	return subtle.ConstantTimeCompare(u.NativeHash, native) == 1
}

// CheckNative checks the answer of a mysql_native_password exchange:
// SHA1(p) XOR SHA1(nonce + SHA1(SHA1(p))); empty for the empty password.
func CheckNative(u *meta.User, nonce, answer []byte) bool {
	if u == nil {
		return false
	}
	if len(u.NativeHash) == 0 || len(answer) == 0 {
		return len(u.NativeHash) == 0 && len(answer) == 0
	}
	if len(answer) != sha1.Size {
		return false
	}
	mask := sha1.Sum(append(append([]byte{}, nonce...), u.NativeHash...))
	once := make([]byte, sha1.Size)
	subtle.XORBytes(once, answer, mask[:])
	twice := sha1.Sum(once)
	return subtle.ConstantTimeCompare(twice[:], u.NativeHash) == 1
}

// CheckSHA2 checks the fast answer of a caching_sha2_password exchange:
// SHA256(p) XOR SHA256(SHA256(SHA256(p)) + nonce); empty for the empty
// password.
func CheckSHA2(u *meta.User, nonce, answer []byte) bool {
	if u == nil {
		return false
	}
	if len(u.SHA2Hash) == 0 || len(answer) == 0 {
		return len(u.SHA2Hash) == 0 && len(u.NativeHash) == 0 && len(answer) == 0
	}
	if len(answer) != sha256.Size {
		return false
	}
	mask := sha256.Sum256(append(append([]byte{}, u.SHA2Hash...), nonce...))
	once := make([]byte, sha256.Size)
	subtle.XORBytes(once, answer, mask[:])
	twice := sha256.Sum256(once)
	return subtle.ConstantTimeCompare(twice[:], u.SHA2Hash) == 1
}
