package priv

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"testing"

	"dorisgo/meta"
)

func user(password string) *meta.User {
	u := &meta.User{Name: "u"}
	u.NativeHash, u.SHA2Hash = Hashes(password)
	return u
}

// nativeAnswer and sha2Answer are what a client sends.
func nativeAnswer(password string, nonce []byte) []byte {
	if password == "" {
		return nil
	}
	h1 := sha1.Sum([]byte(password))
	h2 := sha1.Sum(h1[:])
	h3 := sha1.Sum(append(bytes.Clone(nonce), h2[:]...))
	for i := range h1 {
		h1[i] ^= h3[i]
	}
	return h1[:]
}

func sha2Answer(password string, nonce []byte) []byte {
	if password == "" {
		return nil
	}
	h1 := sha256.Sum256([]byte(password))
	h2 := sha256.Sum256(h1[:])
	h3 := sha256.Sum256(append(bytes.Clone(h2[:]), nonce...))
	for i := range h1 {
		h1[i] ^= h3[i]
	}
	return h1[:]
}

func TestSignIn(t *testing.T) {
	nonce := []byte("12345678901234567890")
	for _, tt := range []struct {
		name, has, gives string
		want             bool
	}{
		{"right", "secret", "secret", true},
		{"wrong", "secret", "Secret", false},
		{"empty given", "secret", "", false},
		{"empty kept", "", "secret", false},
		{"both empty", "", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := user(tt.has)
			if got := CheckPassword(u, tt.gives); got != tt.want {
				t.Errorf("text: %v", got)
			}
			if got := CheckNative(u, nonce, nativeAnswer(tt.gives, nonce)); got != tt.want {
				t.Errorf("native: %v", got)
			}
			if got := CheckSHA2(u, nonce, sha2Answer(tt.gives, nonce)); got != tt.want {
				t.Errorf("sha2: %v", got)
			}
		})
	}
}

func TestOddAnswersAreRefused(t *testing.T) {
	nonce := []byte("12345678901234567890")
	for _, answer := range [][]byte{{1}, make([]byte, 19), make([]byte, 20), make([]byte, 32), make([]byte, 64)} {
		if CheckNative(user("x"), nonce, answer) || CheckSHA2(user("x"), nonce, answer) {
			t.Errorf("an answer of %d bytes passes", len(answer))
		}
	}
	if CheckPassword(nil, "") || CheckNative(nil, nonce, nil) || CheckSHA2(nil, nonce, nil) {
		t.Error("no user passes")
	}
}

func TestHashText(t *testing.T) {
	native, _ := Hashes("root")
	const want = "*81F5E21E35407D884A6CD4A731AEBFB6AF209E1B"
	if got := HashText(native); got != want {
		t.Errorf("hash text %s, want %s", got, want)
	}
	back, err := ParseHashText(want)
	if err != nil || !bytes.Equal(back, native) {
		t.Errorf("read again: %x, %v", back, err)
	}
	u := &meta.User{NativeHash: back}
	if !CheckPassword(u, "root") || CheckPassword(u, "r") {
		t.Error("an account with the native hash alone does not check passwords")
	}
	if CheckSHA2(u, []byte("n"), nil) {
		t.Error("an account with the native hash alone passes with an empty sha2 answer")
	}
	for _, bad := range []string{"*12", "81F5E21E35407D884A6CD4A731AEBFB6AF209E1B", "*81F5E21E35407D884A6CD4A731AEBFB6AF209EZZ", "\xff"} {
		if _, err := ParseHashText(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestAllowed(t *testing.T) {
	if !Allowed(&meta.User{Grants: []string{"ADMIN"}}, Load) || Allowed(&meta.User{Grants: []string{"SELECT"}}, Load) ||
		!Allowed(&meta.User{Grants: []string{"LOAD"}}, Load) || Allowed(nil, Select) || IsAdmin(&meta.User{Grants: []string{"LOAD"}}) {
		t.Error("privileges do not follow grants")
	}
}
