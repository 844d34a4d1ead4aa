package peer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// beatEvery is how often an end that has nothing to send says that it lives.
	beatEvery = 5 * time.Second
	// silence is how long an end hears nothing before the other one counts as gone.
	silence = 15 * time.Second
	// keepBuffer is the largest buffer that a connection keeps for the next message.
	keepBuffer = 1 << 20
	// growBy bounds what is allocated for a message before that much of it came.
	growBy = 1 << 20
	// lengthBytes come before each message.
	lengthBytes = 4
)

// Messages is a connection that carries messages both ways and nothing else. It
// is for the two things that every small commit sends, loads and rowsets: there
// HTTP/2 and the goroutines of a gRPC transport cost more than the work
// (docs/design.md). Everything else between nodes is gRPC, on the same port.
//
// A message is a length of 4 bytes, little endian, and as many bytes; length 0
// is a sign of life. Send is safe for concurrent use, Recv is for one goroutine,
// which reads as long as the connection lives: it is who notices that the other
// end has been silent for 15 s, because it is gone or hangs. Then whoever reads
// closes the connection, which ends a Send that is stuck.
type Messages struct {
	conn   net.Conn
	raw    syscall.RawConn // nil if the connection is none of the kernel's
	in     *bufio.Reader
	ctx    context.Context //nolint:containedctx // the life of the connection
	cancel context.CancelCauseFunc

	// hearBy is when the read deadline was moved last; buf is the last message.
	hearBy time.Time
	buf    []byte
	deaf   atomic.Bool

	// turn has room for the one who sends; it guards out and bad.
	turn chan struct{}
	out  []byte
	// bad is why nothing can be sent any more: a message may have left in part.
	bad error
}

// newMessages takes over conn and what was read of it already.
func newMessages(conn net.Conn) *Messages {
	m := &Messages{conn: conn, in: bufio.NewReaderSize(conn, 32<<10), turn: make(chan struct{}, 1)}
	if c, ok := conn.(syscall.Conn); ok {
		m.raw, _ = c.SyscallConn()
	}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	go m.beat()
	return m
}

// Close ends the connection at once, whatever is under way.
func (m *Messages) Close() { m.fail(net.ErrClosed) }

func (m *Messages) fail(why error) {
	m.cancel(why)
	m.conn.Close()
}

// beat sends signs of life for as long as the connection lives.
func (m *Messages) beat() {
	t := time.NewTicker(beatEvery)
	defer t.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-t.C:
			select {
			case m.turn <- struct{}{}:
				_ = m.send(func(b []byte) ([]byte, error) { return b, nil }) // ends the connection if it fails
				<-m.turn
			default: // a message that is being sent is a sign of life itself
			}
		}
	}
}

// Send sends the message that encode appends. ctx bounds the wait for those
// before it. A *notSentError harms nothing; after any other one the connection is
// over.
func (m *Messages) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	select {
	case m.turn <- struct{}{}:
	default:
		select {
		case m.turn <- struct{}{}:
		case <-ctx.Done():
			return &notSentError{ctx.Err()}
		}
	}
	defer func() { <-m.turn }()
	return m.send(encode)
}

// notSentError says that nothing of a message has left, and the connection is as
// it was.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

func (m *Messages) send(encode func([]byte) ([]byte, error)) error {
	b, err := m.message(encode)
	if err != nil {
		return err
	}
	_, err = m.conn.Write(b)
	return m.sent(err)
}

// TrySend is Send for a goroutine that must not wait. Without ok nothing was
// encoded, because others send at this moment or the connection is in memory.
// What the socket has no room for leaves later; an error then ends the
// connection.
func (m *Messages) TrySend(encode func([]byte) ([]byte, error)) (ok bool, err error) {
	if m.raw == nil {
		return false, nil
	}
	select {
	case m.turn <- struct{}{}:
	default:
		return false, nil
	}
	b, err := m.message(encode)
	if err != nil {
		<-m.turn
		return true, err
	}
	n, err := m.writeNow(b)
	if err == nil && n < len(b) {
		go func() {
			_, err := m.conn.Write(b[n:])
			_ = m.sent(err)
			<-m.turn
		}()
		return true, nil
	}
	err = m.sent(err)
	<-m.turn
	return true, err
}

// message returns the bytes of a message; they stay in m.out.
func (m *Messages) message(encode func([]byte) ([]byte, error)) ([]byte, error) {
	if m.bad != nil {
		return nil, m.bad
	}
	if m.ctx.Err() != nil { // nothing leaves after Close
		return nil, context.Cause(m.ctx)
	}
	b, err := encode(append(m.out[:0], make([]byte, lengthBytes)...))
	if err == nil && len(b)-lengthBytes > maxMessage {
		err = fmt.Errorf("a message of %d bytes is larger than %d", len(b)-lengthBytes, maxMessage)
	}
	if err != nil {
		return nil, &notSentError{err}
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-lengthBytes))
	m.out = b
	return b, nil
}

// sent ends the sending of a message.
func (m *Messages) sent(err error) error {
	if cap(m.out) > keepBuffer {
		m.out = nil
	}
	if err != nil {
		m.bad = err
		m.fail(err)
	}
	return err
}

// writeNow writes what the socket has room for.
func (m *Messages) writeNow(b []byte) (n int, err error) {
	var failed error
	err = m.raw.Write(func(fd uintptr) bool {
		for {
			if n, failed = unix.Write(int(fd), b); failed != unix.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed == unix.EAGAIN:
		return 0, nil
	case failed != nil:
		return 0, os.NewSyscallError("write", failed)
	}
	return n, nil
}

// Recv returns the next message, valid until the next call. Any error ends the
// connection; io.EOF means that the other end has sent all that it will.
func (m *Messages) Recv() ([]byte, error) {
	b, err := m.recv()
	if err != nil && m.ctx.Err() != nil && !errors.Is(err, io.EOF) {
		err = context.Cause(m.ctx)
	}
	return b, err
}

func (m *Messages) recv() ([]byte, error) {
	n := 0
	for n == 0 {
		if err := m.hear(); err != nil {
			return nil, err
		}
		head, err := m.in.Peek(lengthBytes)
		if err != nil {
			if err == io.EOF && len(head) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if n = int(binary.LittleEndian.Uint32(head)); n > maxMessage {
			return nil, fmt.Errorf("a message of %d bytes is larger than %d", n, maxMessage)
		}
		_, _ = m.in.Discard(lengthBytes) // what Peek returned is there
	}
	if cap(m.buf) > keepBuffer && n <= keepBuffer {
		m.buf = nil
	}
	m.buf = m.buf[:0]
	for at := 0; at < n; {
		if at == len(m.buf) {
			m.buf = append(m.buf, make([]byte, min(n-at, growBy))...)
		}
		if err := m.hear(); err != nil {
			return nil, err
		}
		got, err := m.in.Read(m.buf[at:])
		if at += got; err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return m.buf, nil
}

// waiting reports whether more has come, for the goroutine that reads. Of a
// connection in memory it knows what it has read ahead.
func (m *Messages) waiting() bool {
	if m.in.Buffered() > 0 || m.raw == nil {
		return m.in.Buffered() > 0
	}
	var b [1]byte
	n := 0
	err := m.raw.Read(func(fd uintptr) bool {
		n, _, _ = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	})
	return err == nil && n > 0
}

// hear moves the read deadline, at most once a second.
func (m *Messages) hear() error {
	now := time.Now()
	if now.Sub(m.hearBy) < time.Second && !m.deaf.Load() {
		return nil
	}
	m.hearBy = now
	if err := m.conn.SetReadDeadline(now.Add(silence)); err != nil {
		return err
	}
	if m.deaf.Load() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// deafen makes Recv, also one under way, return soon and with an error.
func (m *Messages) deafen() {
	// In this order: hear looks after it has moved the deadline.
	m.deaf.Store(true)
	_ = m.conn.SetReadDeadline(time.Unix(1, 0)) // fails if the connection is closed
}

// finish ends the connection for a server that has sent all: the other end gets
// it even if it has sent more meanwhile, which is read and dropped.
func (m *Messages) finish(wait time.Duration) {
	defer m.Close()
	half, ok := m.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || m.conn.SetReadDeadline(time.Now().Add(wait)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, m.in) // ends with the other end, or the deadline
}
