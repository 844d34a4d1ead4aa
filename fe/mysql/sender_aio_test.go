//go:build linux && (amd64 || arm64)

package mysql

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSender: what the sockets take is told, for each of them; one that is full,
// closed or none at all does not keep the others from theirs.
func TestSender(t *testing.T) {
	s, err := newSender(8)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skipf("this system gives no process a sender: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	pair := func() [2]int {
		t.Helper()
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			unix.Close(p[0])
			unix.Close(p[1])
		})
		return p
	}
	well, nearlyFull, full, gone, other := pair(), pair(), pair(), pair(), pair()
	fill := func(fd int) {
		t.Helper()
		for n := 0; ; {
			m, err := unix.Write(fd, make([]byte, 1000))
			if err != nil {
				break
			}
			if n += m; n > 1<<24 {
				t.Fatal("a socket takes everything")
			}
		}
	}
	fill(full[0])
	unix.Close(gone[1])
	large := make([]byte, 8<<20)
	batch := []struct {
		fd   int
		b    []byte
		want func(n int64) bool
	}{
		{well[0], []byte("first"), func(n int64) bool { return n == 5 }},
		{nearlyFull[0], large, func(n int64) bool { return n > 0 && n < int64(len(large)) }},
		{full[0], []byte("full"), func(n int64) bool { return n == 0 }},
		{1 << 20, []byte("no descriptor"), func(n int64) bool { return n == 0 }},
		{gone[0], []byte("gone"), func(n int64) bool { return n == 0 }},
		{well[0], []byte("second"), func(n int64) bool { return n == 6 }},
		{1 << 20, []byte("no descriptor either"), func(n int64) bool { return n == 0 }},
		{other[0], []byte("other"), func(n int64) bool { return n == 5 }},
	}
	for round := range 3 {
		for _, w := range batch {
			s.add(w.fd, w.b)
		}
		sent, err := s.send()
		if err == nil {
			t.Error("nobody is told of a descriptor that there is not")
		}
		for i, w := range batch {
			if round > 0 && w.fd == nearlyFull[0] {
				continue // it is full now
			}
			if !w.want(sent[i]) {
				t.Errorf("round %d: %d bytes of write %d, %.20q, were sent", round, sent[i], i, w.b)
			}
		}
		got := make([]byte, 100)
		for fd, want := range map[int]string{well[1]: "firstsecond", other[1]: "other"} {
			if n, err := unix.Read(fd, got); err != nil || !bytes.Equal(got[:n], []byte(want)) {
				t.Errorf("round %d: got %q, %v, want %q", round, got[:max(n, 0)], err, want)
			}
		}
	}
	if sent, err := s.send(); len(sent) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", sent, err)
	}
}
