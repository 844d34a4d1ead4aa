package mysql

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// osPoller waits for sockets by an epoll set, in which each is told of once when
// new bytes come.
type osPoller struct {
	fd     int
	event  int // an eventfd that ends the wait
	events [128]unix.EpollEvent
	ready  []readiness
}

// startPoller starts a poller's goroutine. A message to quit ends it.
func startPoller() (*poller, error) {
	p := newPoller()
	if err := p.os.open(); err != nil {
		return nil, fmt.Errorf("cannot make an epoll set: %w", err)
	}
	go p.run()
	return p, nil
}

func (o *osPoller) open() (err error) {
	if o.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if o.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return errors.Join(err, unix.Close(o.fd))
	}
	// Edge-triggered, so its count need not be read.
	err = unix.EpollCtl(o.fd, unix.EPOLL_CTL_ADD, o.event, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
	if err != nil {
		o.close()
	}
	return err
}

func (o *osPoller) close() {
	_ = unix.Close(o.fd)
	_ = unix.Close(o.event)
}

// add watches a socket. What has come before counts as new.
func (o *osPoller) add(s *socket, id uint32) error {
	return s.use(func(fd int) error {
		return unix.EpollCtl(o.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(id)})
	})
}

// remove watches a socket no more. A closed one is removed by that, but one whose
// connection goes on by another descriptor is not.
func (o *osPoller) remove(s *socket) {
	_ = s.use(func(fd int) error { return unix.EpollCtl(o.fd, unix.EPOLL_CTL_DEL, fd, nil) })
}

// poll returns the sockets that can be read. If there are none and wait says so,
// it waits for one, or for tell: a thread does, which Go replaces if it needs to.
// The result is valid until the next call.
func (o *osPoller) poll(wait bool) []readiness {
	o.ready = o.ready[:0]
	timeout := 0
	if wait {
		timeout = -1
	}
	n, err := unix.EpollWait(o.fd, o.events[:], timeout)
	for err == unix.EINTR {
		n, err = unix.EpollWait(o.fd, o.events[:], timeout)
	}
	if err != nil {
		panic(fmt.Sprintf("mysql: epoll_wait on a set of the poller's own: %v", err))
	}
	for i := range o.events[:n] {
		if e := &o.events[i]; e.Fd != 0 {
			o.ready = append(o.ready, readiness{uint32(e.Fd), e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0})
		}
	}
	return o.ready
}

// tell ends a wait, from any goroutine.
func (o *osPoller) tell() {
	one := [8]byte{1}
	_, _ = unix.Write(o.event, one[:])
}
