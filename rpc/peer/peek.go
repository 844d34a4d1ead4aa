package peer

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peek returns the first n bytes of a connection. Those of gRPC are left in it:
// gRPC does more with a connection that is the kernel's own. For any other
// kind, conn is replaced by one that has the bytes in front.
func peek(conn *net.Conn, n int) (string, error) {
	buf := make([]byte, n)
	if c, ok := (*conn).(syscall.Conn); ok {
		if err := peekRaw(c, buf); err != nil || string(buf) != magic {
			return string(buf), err
		}
	}
	if _, err := io.ReadFull(*conn, buf); err != nil {
		return "", err
	}
	if string(buf) != magic {
		*conn = &replayed{Conn: *conn, head: buf}
	}
	return string(buf), nil
}

// peekRaw fills buf with the first bytes of a socket and leaves them there.
func peekRaw(c syscall.Conn, buf []byte) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var got int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			got, _, failed = unix.Recvfrom(int(fd), buf, unix.MSG_PEEK)
			if failed != unix.EINTR {
				break
			}
		}
		if failed != nil {
			return failed != unix.EAGAIN
		}
		// With fewer bytes than wanted, more make the socket readable again.
		return got == 0 || got == len(buf)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case got < len(buf):
		return io.EOF
	}
	return nil
}

// replayed is a connection whose first bytes were read already.
type replayed struct {
	net.Conn
	head []byte
}

// Read implements net.Conn.
func (r *replayed) Read(b []byte) (int, error) {
	if len(r.head) > 0 {
		n := copy(b, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	return r.Conn.Read(b)
}
