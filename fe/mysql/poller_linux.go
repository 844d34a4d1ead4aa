package mysql

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// osPoller waits for sockets by an epoll set, in which each is told of once when
// new bytes come.
type osPoller struct {
	fd     int
	event  int // an eventfd that ends the wait
	told   int // an epoll set of event alone
	events [128]unix.EpollEvent
	ready  []readiness
}

// startPoller starts a poller's goroutine. A message to quit ends it.
// Without a sender, which alone forbids and the system may deny, each answer is
// written by itself.
func startPoller(alone bool) (*poller, error) {
	p := newPoller()
	if err := p.os.open(); err != nil {
		return nil, fmt.Errorf("cannot make an epoll set: %w", err)
	}
	if !alone {
		p.sender, _ = newSender(gatherMost)
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
	if o.told, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return errors.Join(err, unix.Close(o.fd), unix.Close(o.event))
	}
	// Edge-triggered, so its count need not be read.
	for _, set := range []int{o.fd, o.told} {
		if err == nil {
			err = unix.EpollCtl(set, unix.EPOLL_CTL_ADD, o.event, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
		}
	}
	if err != nil {
		o.close()
	}
	return err
}

func (o *osPoller) close() {
	_ = unix.Close(o.fd)
	_ = unix.Close(o.event)
	_ = unix.Close(o.told)
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
	n := o.await(o.fd, timeout)
	for i := range o.events[:n] {
		if e := &o.events[i]; e.Fd != 0 {
			o.ready = append(o.ready, readiness{uint32(e.Fd), e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0})
		}
	}
	return o.ready
}

// waitTold waits for tell, or for a time of whole milliseconds.
func (o *osPoller) waitTold(most time.Duration) {
	o.await(o.told, int(most.Milliseconds()))
}

// await fills o.events; timeout is in milliseconds, -1 for ever.
func (o *osPoller) await(set, timeout int) (n int) {
	for {
		n, err := unix.EpollWait(set, o.events[:], timeout)
		if err == nil {
			return n
		}
		if err != unix.EINTR {
			panic(fmt.Sprintf("mysql: epoll_wait on a set of the poller's own: %v", err))
		}
	}
}

// tell ends a wait, from any goroutine.
func (o *osPoller) tell() {
	one := [8]byte{1}
	_, _ = unix.Write(o.event, one[:])
}
