//go:build !linux

package mysql

import (
	"errors"
	"net"
	"time"
)

// Elsewhere there are no pollers: each connection has a goroutine.

type osPoller struct{}

func startPoller(bool) (*poller, error) { return nil, errors.ErrUnsupported }

func (*osPoller) close()                    {}
func (*osPoller) add(*socket, uint32) error { return errors.ErrUnsupported }
func (*osPoller) remove(*socket)            {}
func (*osPoller) poll(bool) []readiness     { return nil }
func (*osPoller) waitTold(time.Duration)    {}
func (*osPoller) tell()                     {}

type socket struct{}

func takeOver(*net.TCPConn) (*socket, error) { return nil, errors.ErrUnsupported }

func (*socket) giveBack() (*net.TCPConn, error) { return nil, errors.ErrUnsupported }
func (*socket) read([]byte) (int, error)        { return 0, errors.ErrUnsupported }
func (*socket) write([]byte) (int, error)       { return 0, errors.ErrUnsupported }

// Close implements io.Closer.
func (*socket) Close() error { return errors.ErrUnsupported }
