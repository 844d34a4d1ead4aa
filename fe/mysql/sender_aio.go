//go:build linux && (amd64 || arm64)

package mysql

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sender writes to many sockets with one system call: for one that does not block,
// the kernel's asynchronous I/O does the whole write in io_submit. Beside the
// calls that this spares, no client runs before the last answer is out; one on the
// same processor would take it after each of them.
//
// It belongs to one goroutine.
type sender struct {
	ctx    uintptr // the kernel's name of the queue
	blocks []iocb
	refs   []*iocb
	events []ioEvent
	sent   []int64
	conns  []*conn
}

// iocb is struct iocb of linux/aio_abi.h.
type iocb struct {
	data   uint64
	_      uint64
	opcode uint16
	_      int16
	fd     uint32
	buf    unsafe.Pointer
	bytes  uint64
	_      [3]uint64
}

// ioEvent is struct io_event.
type ioEvent struct {
	data uint64
	_    uint64
	res  int64
	_    int64
}

const iocbPwrite = 1 // IOCB_CMD_PWRITE

// newSender returns a sender for up to most sockets at a time, if the kernel lets
// this process have one.
func newSender(most int) (*sender, error) {
	s := &sender{blocks: make([]iocb, most), refs: make([]*iocb, 0, most), events: make([]ioEvent, most), sent: make([]int64, most)}
	if _, _, errno := unix.Syscall(unix.SYS_IO_SETUP, uintptr(most), uintptr(unsafe.Pointer(&s.ctx)), 0); errno != 0 {
		return nil, os.NewSyscallError("io_setup", errno)
	}
	if err := s.try(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// try finds out whether sockets can be written so: what forbids a system call or
// imitates the kernel may allow a part of it.
func (s *sender) try() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	s.add(pair[0], []byte("one"))
	s.add(pair[0], []byte("two"))
	var got [8]byte
	sent, err := s.send()
	n, _ := unix.Read(pair[1], got[:])
	if err != nil || sent[0] != 3 || sent[1] != 3 || string(got[:max(n, 0)]) != "onetwo" {
		return errors.Join(errors.New("the kernel does not write to sockets by io_submit"), err)
	}
	return nil
}

func (s *sender) close() {
	_, _, _ = unix.Syscall(unix.SYS_IO_DESTROY, s.ctx, 0, 0)
}

// sendAll sends what connections have to send, as far as their sockets take it.
func (s *sender) sendAll(conns []*conn) {
	for _, c := range conns {
		c.socket.mu.Lock() // the descriptor stays open
		if c.socket.fd < 0 {
			c.socket.mu.Unlock()
			continue
		}
		s.conns = append(s.conns, c)
		s.add(c.socket.fd, c.unsent.out)
	}
	sent, _ := s.send()
	for i, c := range s.conns {
		c.socket.mu.Unlock()
		c.unsent.out = c.unsent.out[:copy(c.unsent.out, c.unsent.out[sent[i]:])]
	}
	clear(s.conns)
	s.conns = s.conns[:0]
}

// add notes that b is to be written. It must stay as it is until send returns.
func (s *sender) add(fd int, b []byte) {
	i := len(s.refs)
	s.blocks[i] = iocb{data: uint64(i), opcode: iocbPwrite, fd: uint32(fd), buf: unsafe.Pointer(unsafe.SliceData(b)), bytes: uint64(len(b))}
	s.refs = append(s.refs, &s.blocks[i])
}

// send writes what was added and returns how many bytes of each were taken, valid
// until the next call. Why it was not all an ordinary write will tell.
func (s *sender) send() (sent []int64, err error) {
	sharedWithReaders()
	n := len(s.refs)
	sent = s.sent[:n]
	clear(sent)
	for begun := 0; begun < n; {
		m, _, errno := unix.Syscall(unix.SYS_IO_SUBMIT, s.ctx, uintptr(n-begun), uintptr(unsafe.Pointer(&s.refs[begun])))
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0: // for the first of them
			err, m = os.NewSyscallError("io_submit", errno), 1
		default:
			if wait := s.wait(int(m), sent); wait != nil {
				// Not known what was sent: there is nothing that can be gone on with.
				panic(fmt.Sprintf("mysql: io_getevents on a queue of the poller's own: %v", wait))
			}
		}
		begun += int(m)
	}
	clear(s.blocks[:n])
	s.refs = s.refs[:0]
	return sent, err
}

// wait takes n results, which are there already: sockets do not block.
func (s *sender) wait(n int, sent []int64) error {
	for n > 0 {
		m, _, errno := unix.Syscall6(unix.SYS_IO_GETEVENTS, s.ctx, uintptr(n), uintptr(n), uintptr(unsafe.Pointer(&s.events[0])), 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return errno
		}
		for _, e := range s.events[:m] {
			sent[e.data] = max(e.res, 0)
		}
		n -= int(m)
	}
	return nil
}

// sharedWithReaders tells the race detector what it knows of an ordinary write:
// who reads the bytes, in the same process, comes after it.
func sharedWithReaders() {
	if raceDetector {
		_, _ = syscall.Write(-1, nil)
	}
}
