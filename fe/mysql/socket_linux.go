package mysql

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket is a connection that Go's network poller knows nothing of: it would wake
// a thread for each command, which finds nothing to do. Nothing blocks here.
type socket struct {
	mu sync.Mutex
	fd int // -1: closed
}

// takeOver makes a socket of a connection, which is closed.
func takeOver(tcp *net.TCPConn) (*socket, error) {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{}
	closed := raw.Control(func(fd uintptr) {
		// The copy has the same flags: it does not block.
		s.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err := errors.Join(closed, err); err != nil {
		return nil, fmt.Errorf("cannot copy a descriptor: %w", err)
	}
	_ = tcp.Close() // the copy is the connection now
	return s, nil
}

// giveBack makes a connection of a socket, which is closed.
func (s *socket) giveBack() (*net.TCPConn, error) {
	s.mu.Lock()
	fd := s.fd
	s.fd = -1
	s.mu.Unlock()
	if fd < 0 {
		return nil, net.ErrClosed
	}
	f := os.NewFile(uintptr(fd), "tcp")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a %T came of a TCP connection", c), c.Close())
	}
	return tcp, nil
}

// use calls f with the descriptor, which stays open meanwhile.
func (s *socket) use(f func(fd int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return net.ErrClosed
	}
	return f(s.fd)
}

// read reads what is there, or returns errNotNow. The calls of package syscall are
// those that the race detector knows.
func (s *socket) read(b []byte) (n int, err error) {
	err = s.use(func(fd int) (err error) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			n, err = syscall.Read(fd, b)
		}
		return err
	})
	if err == nil && n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return max(n, 0), now(err)
}

// write writes what there is room for; errNotNow says that it was not all.
func (s *socket) write(b []byte) (n int, err error) {
	err = s.use(func(fd int) (err error) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			n, err = syscall.Write(fd, b)
		}
		return err
	})
	if n = max(n, 0); err == nil && n < len(b) {
		return n, errNotNow
	}
	return n, now(err)
}

func now(err error) error {
	if errors.Is(err, syscall.EAGAIN) {
		return errNotNow
	}
	return err
}

// Close closes the connection, from any goroutine.
func (s *socket) Close() error {
	s.mu.Lock()
	fd := s.fd
	s.fd = -1
	s.mu.Unlock()
	if fd < 0 {
		return net.ErrClosed
	}
	return unix.Close(fd)
}
