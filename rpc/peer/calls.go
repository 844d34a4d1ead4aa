package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"dorisgo/doriserr"
)

// A caller's messages are a byte that says what they are, the call's id, 8 bytes,
// and the request of a call. An answer is a byte that says what it is, the id, and
// the reply, or the google.rpc.Status of what went wrong.
const (
	callMade    = 0
	callGivenUp = 1 // nobody waits for the answer any more

	callDone   = 0
	callFailed = 1

	headBytes = 1 + 8
)

// Calls makes calls to one service of one peer, over one connection for messages
// that is opened when it is needed. It is safe for concurrent use.
type Calls struct {
	open   func(ctx context.Context) (*Messages, error)
	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	conn    *Messages
	opening chan struct{} // closed when an attempt to open has ended
	// After a failed attempt calls fail with refused until retry.
	refused error
	retry   time.Time
	pause   time.Duration
	id      uint64
	waiting map[uint64]waitingCall
	wg      sync.WaitGroup
}

// waitingCall is a call without an answer.
type waitingCall struct {
	reply proto.Message
	done  chan error // has room for the one answer
}

func newCalls(open func(ctx context.Context) (*Messages, error)) *Calls {
	c := &Calls{open: open, waiting: map[uint64]waitingCall{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Call sends a request and waits for the answer: the reply of its handler, which
// is read into reply unless that is nil, or its error. Errors of its own:
// NoBackend or NoPrivilege if the request did not leave; Unknown if the connection
// broke before an answer; ctx's if that ended first, and then the handler's
// context ends soon. A call to a peer that hangs ends with ctx, unless it is just
// writing to a socket that is full: that may last 15 s.
func (c *Calls) Call(ctx context.Context, request, reply proto.Message) error {
	m, err := c.connect(ctx)
	if err != nil {
		return err
	}
	id, answer, err := c.expect(m, reply)
	if err != nil {
		return err
	}
	err = m.Send(ctx, func(b []byte) ([]byte, error) {
		b = binary.LittleEndian.AppendUint64(append(b, callMade), id)
		return proto.MarshalOptions{}.MarshalAppend(b, request)
	})
	if err != nil {
		c.forget(id)
		if not, ok := errors.AsType[*notSentError](err); ok {
			return not.error
		}
		return doriserr.New(doriserr.Unknown, "the connection to the backend broke: %v", err)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		c.giveUp(m, id)
		return ctx.Err()
	}
}

// giveUp tells the peer that nobody waits for a call, unless its answer is here.
// It does not wait until that has left.
func (c *Calls) giveUp(m *Messages, id uint64) {
	if !c.forget(id) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != m || c.ctx.Err() != nil {
		return // the end of the connection ends the handler's context as well
	}
	c.wg.Go(func() {
		// An error ends the connection.
		_ = m.Send(m.ctx, func(b []byte) ([]byte, error) {
			return binary.LittleEndian.AppendUint64(append(b, callGivenUp), id), nil
		})
	})
}

// expect gives a call its id, and the channel of its answer.
func (c *Calls) expect(m *Messages, reply proto.Message) (uint64, chan error, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != m {
		return 0, nil, doriserr.New(doriserr.NoBackend, "the connection to the backend broke before the call left")
	}
	c.id++
	w := waitingCall{reply, make(chan error, 1)}
	c.waiting[c.id] = w
	return c.id, w.done, nil
}

// forget is false if the call has its answer.
func (c *Calls) forget(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waits := c.waiting[id]
	delete(c.waiting, id)
	return waits
}

// connect returns the connection, opened by the first caller for all who wait.
func (c *Calls) connect(ctx context.Context) (*Messages, error) {
	for {
		c.mu.Lock()
		switch {
		case c.ctx.Err() != nil:
			c.mu.Unlock()
			return nil, doriserr.New(doriserr.Stopping, "the connection to the backend is closed")
		case c.conn != nil:
			defer c.mu.Unlock()
			return c.conn, nil
		case c.opening == nil && time.Now().Before(c.retry):
			defer c.mu.Unlock()
			return nil, c.refused
		}
		opening := c.opening
		if opening == nil {
			opening = make(chan struct{})
			c.opening = opening
			c.wg.Go(func() { c.dial(opening) })
		}
		c.mu.Unlock()
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// dial opens the connection and hears its answers until it breaks. Its time is
// bounded by Open's and not by a caller's: others wait for it.
func (c *Calls) dial(opened chan struct{}) {
	m, err := c.open(c.ctx)
	c.mu.Lock()
	switch {
	case err != nil:
		c.pause = min(max(2*c.pause, 20*time.Millisecond), time.Second)
		c.refused, c.retry = err, time.Now().Add(c.pause)
	case c.ctx.Err() != nil:
		m.Close()
	default:
		c.conn, c.pause, c.retry = m, 0, time.Time{}
	}
	c.opening = nil
	c.mu.Unlock()
	close(opened)
	if err == nil {
		c.hear(m)
	}
}

// hear takes answers until the connection ends, and fails what waits then.
func (c *Calls) hear(m *Messages) {
	var err error
	for {
		var b []byte
		if b, err = m.Recv(); err != nil {
			break
		}
		if len(b) < headBytes {
			err = doriserr.New(doriserr.Corrupt, "an answer of %d bytes", len(b))
			break
		}
		c.answer(binary.LittleEndian.Uint64(b[1:]), b[0] == callFailed, b[headBytes:])
	}
	m.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == m {
		c.conn = nil
	}
	for _, w := range c.waiting {
		w.done <- doriserr.New(doriserr.Unknown, "the connection to the backend broke before its answer came: %v", err)
	}
	clear(c.waiting)
}

func (c *Calls) answer(id uint64, failed bool, b []byte) {
	c.mu.Lock()
	w, waits := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if !waits {
		return
	}
	var err error
	switch {
	case failed:
		s := status.New(codes.Unknown, "").Proto()
		if err = proto.Unmarshal(b, s); err == nil {
			err = doriserr.FromStatus(status.ErrorProto(s))
		}
	case w.reply != nil:
		err = proto.Unmarshal(b, w.reply)
	}
	w.done <- err
}

// Close ends the connection; calls that wait fail as Unknown.
func (c *Calls) Close() {
	c.mu.Lock()
	c.cancel()
	if c.conn != nil {
		c.conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}
