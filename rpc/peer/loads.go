package peer

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"dorisgo/doriserr"
	"dorisgo/rpc/bepb"
)

// Bounds of a frame: enough loads to share its cost, small enough not to hold
// up the loads behind it.
const (
	maxFrameItems = 512
	maxFrameBytes = 4 << 20
)

// LoadClient is an FE's end of the load stream to one BE. Send is safe for
// concurrent use. When the stream breaks, each load that was sent and not yet
// answered fails as Unknown: the BE may have it (docs/protocol.md, rule 5);
// loads that were not sent yet fail as NotAdmitted and may go elsewhere.
type LoadClient struct {
	cancel context.CancelFunc
	open   func(ctx context.Context) (*Messages, error)
	spare  sync.Pool // of *sending

	mu      sync.Mutex
	queue   []*bepb.LoadItem
	waiting map[uint64]*sending
	seq     uint64
	closed  bool
	// stream is the one that is open. The loads that were sent on it are answered,
	// at the latest by fail, after it is none any more.
	stream *Messages
	wake   chan struct{}
	done   chan struct{}
}

// NewLoadClient starts a load stream to the BE at addr, and opens it again with a
// back-off when it breaks, until Close.
func NewLoadClient(pool *Pool, addr string) *LoadClient {
	return newLoadClient(func(ctx context.Context) (*Messages, error) { return pool.Open(ctx, addr, loadService) })
}

func newLoadClient(open func(ctx context.Context) (*Messages, error)) *LoadClient {
	ctx, cancel := context.WithCancel(context.Background())
	c := &LoadClient{
		cancel: cancel, open: open,
		waiting: map[uint64]*sending{},
		wake:    make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.spare.New = func() any { return &sending{client: c, reply: make(chan *bepb.LoadReply, 1)} }
	go c.run(ctx)
	return c
}

// Send sends one load and waits for its answer. The item must not be changed
// afterwards. When ctx ends first the outcome is Unknown if the load had left.
func (c *LoadClient) Send(ctx context.Context, item *bepb.LoadItem) (*bepb.LoadReply, error) {
	w, ok := c.enqueue(item, nil)
	if !ok {
		return nil, doriserr.New(doriserr.NotAdmitted, "the connection to the backend is closed")
	}
	c.signal()
	return w.Reply(ctx)
}

// Start is Send without its wait: the load may stay in the queue until a Kick, and
// wake is called when its answer is there. wake may be called by the goroutine
// that reads the stream and must return soon. Without ok the client is closed.
func (c *LoadClient) Start(item *bepb.LoadItem, wake func()) (Started, bool) {
	w, ok := c.enqueue(item, wake)
	if !ok {
		return nil, false
	}
	return w, true
}

func (c *LoadClient) enqueue(item *bepb.LoadItem, wake func()) (*sending, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false
	}
	w := c.spare.Get().(*sending)
	c.seq++
	item.Seq = c.seq
	w.seq, w.sent, w.wake = c.seq, false, wake
	c.waiting[c.seq] = w
	c.queue = append(c.queue, item)
	return w, true
}

// giveUp forgets a load whose caller stopped waiting. A load that is still in
// the queue is taken out: it never left.
func (c *LoadClient) giveUp(seq uint64, why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[seq]
	delete(c.waiting, seq)
	for i, it := range c.queue {
		if it.Seq == seq {
			c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
			return doriserr.Wrap(doriserr.NotAdmitted, why, "the load was not sent to the backend")
		}
	}
	if w != nil && w.sent {
		c.queue = append(c.queue, &bepb.LoadItem{Seq: seq, Cancel: true})
		c.signal()
	}
	if errors.Is(why, context.DeadlineExceeded) {
		return doriserr.New(doriserr.Timeout, "timeout: the load was sent to the backend and its outcome is not known yet")
	}
	return doriserr.New(doriserr.Unknown, "the load was sent to the backend and its outcome is not known: %v", why)
}

// signal wakes the goroutine that sends.
func (c *LoadClient) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// kick sends what waits on the caller's goroutine if that needs no wait: to wake
// another one costs as much.
func (c *LoadClient) kick() {
	c.mu.Lock()
	stream, waiting := c.stream, len(c.queue)
	c.mu.Unlock()
	if waiting == 0 {
		return
	}
	if stream == nil {
		c.signal()
		return
	}
	var out outgoing
	ok, err := stream.TrySend(out.next(c, stream))
	if err != nil && !errors.Is(err, errNothing) {
		stream.fail(err) // the loads are answered when it has ended
	}
	if !ok || out.more {
		c.signal()
	}
}

// Close ends the stream; waiting loads fail as the type's comment says.
func (c *LoadClient) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	<-c.done
}

func (c *LoadClient) run(ctx context.Context) {
	defer close(c.done)
	backoff := 20 * time.Millisecond
	for ctx.Err() == nil {
		started := time.Now()
		err := c.once(ctx)
		c.fail(err)
		if time.Since(started) > time.Second {
			backoff = 20 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, time.Second)
	}
	c.fail(ctx.Err())
}

// once runs one stream until it breaks.
func (c *LoadClient) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, stream.Close)()
	c.use(stream)
	sender := make(chan error, 1)
	go func() {
		err := c.send(ctx, stream)
		stream.fail(err) // if it is a load's fault the stream lives still
		sender <- err
	}()
	err = c.receive(stream)
	c.use(nil)
	cancel()
	if sent := <-sender; !errors.Is(sent, context.Canceled) {
		err = errors.Join(err, sent)
	}
	return err
}

func (c *LoadClient) use(stream *Messages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stream = stream
}

func (c *LoadClient) send(ctx context.Context, stream *Messages) error {
	var out outgoing
	encode := out.next(c, stream)
	for {
		err := stream.Send(ctx, encode)
		switch {
		case errors.Is(err, errNothing):
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-c.wake:
			}
			// Sessions that are ready to run add theirs first: the frame's cost
			// is shared by more loads, and nobody waits for a timer.
			runtime.Gosched()
		case err != nil:
			return err
		}
	}
}

// errNothing says that there is nothing to send.
var errNothing = errors.New("nothing to send")

// outgoing is a frame that is made when it is its turn to leave.
type outgoing struct {
	frame bepb.LoadFrame
	more  bool
}

// next encodes what waits for the stream.
func (o *outgoing) next(c *LoadClient, stream *Messages) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		o.frame.Items, o.more = c.take(o.frame.Items[:0], stream)
		if len(o.frame.Items) == 0 {
			return nil, errNothing
		}
		b, err := proto.MarshalOptions{}.MarshalAppend(b, &o.frame)
		clear(o.frame.Items)
		return b, err
	}
}

// take moves what waits into one frame and notes that it was sent. more says that
// it did not take all.
func (c *LoadClient) take(items []*bepb.LoadItem, stream *Messages) (_ []*bepb.LoadItem, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stream != stream {
		return items, false
	}
	n, size := 0, 0
	for n < len(c.queue) && n < maxFrameItems && (n == 0 || size < maxFrameBytes) {
		it := c.queue[n]
		size += len(it.Block)
		if w := c.waiting[it.Seq]; w != nil {
			w.sent = true
		}
		items = append(items, it)
		n++
	}
	rest := copy(c.queue, c.queue[n:])
	clear(c.queue[rest:])
	c.queue = c.queue[:rest]
	return items, rest > 0
}

func (c *LoadClient) receive(stream *Messages) error {
	for {
		b, err := stream.Recv()
		if err != nil {
			return err
		}
		var frame bepb.LoadReplyFrame
		if err := proto.Unmarshal(b, &frame); err != nil {
			return err
		}
		c.mu.Lock()
		for _, r := range frame.Replies {
			if w := c.waiting[r.Seq]; w != nil {
				delete(c.waiting, r.Seq)
				w.answer(r)
			}
		}
		c.mu.Unlock()
	}
}

// fail answers every load that a broken stream leaves behind.
func (c *LoadClient) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for seq, w := range c.waiting {
		kind, text := doriserr.NotAdmitted, "the backend cannot be reached"
		if w.sent {
			kind, text = doriserr.Unknown, "the connection to the backend broke before its answer came; the outcome of the load is not known"
		}
		if why != nil {
			text += ": " + doriserr.FromStatus(why).Error()
		}
		w.answer(&bepb.LoadReply{Seq: seq, ErrorKind: int32(kind) + 1, Error: text})
	}
	clear(c.waiting)
	c.queue = nil
}

// Loads are the loads of one frame that came from an FE. Items and their bytes
// may be kept.
type Loads struct {
	Items []*bepb.LoadItem
	// More says that the next frame has come: what waits for a disk now keeps it
	// waiting as well.
	More bool
	// Stream ends when the stream breaks: nobody waits for answers any more.
	Stream context.Context
	r      *replier
}

// Context is the context of one load: it ends when its time-out has passed, when
// the sender gave up, and with the stream, and at the latest when the load is
// answered. It must be called before the handler returns.
func (l *Loads) Context(item *bepb.LoadItem) context.Context { return l.r.context(l.Stream, item) }

// Reply answers loads of the frame, from any goroutine. Each load is answered
// once, by its Seq; those that are answered together share a frame.
func (l *Loads) Reply(replies ...*bepb.LoadReply) {
	l.r.reply(replies)
	l.r.signal()
}

// ReplyNow is Reply by the caller's own goroutine, which must not wait and does
// not. It is for many answers at once: a frame leaves with each call.
func (l *Loads) ReplyNow(replies ...*bepb.LoadReply) {
	r := l.r
	r.reply(replies)
	ok, err := r.stream.TrySend(r.next)
	if err != nil && !errors.Is(err, errNothing) {
		r.stream.fail(err)
	}
	select {
	case <-r.stopping:
		ok = false // the goroutine that sends looks whether it was the last answer
	default:
	}
	if !ok {
		r.signal()
	}
}

// LoadHandler takes the loads of one frame. It may wait for a disk: if that takes
// long, another goroutine hands it the next frame meanwhile.
type LoadHandler func(l *Loads)

// loadService is the name of the service for load streams.
const loadService = "load"

// HandleLoads makes a BE's server take load streams: it hands each frame to
// handle, and sends the answers that are ready in one frame. When stopping is
// closed, or the server stops if that is nil, a stream admits no more loads, and
// ends once those under way are answered and the answers sent.
func (s *Server) HandleLoads(handle LoadHandler, stopping <-chan struct{}) {
	s.HandleMessages(loadService, func(m *Messages, stop <-chan struct{}) {
		if stopping != nil {
			stop = stopping
		}
		serveLoads(m, handle, stop)
	})
}

// serveLoads ends when the stream breaks, or when stopping is closed and all is
// answered.
func serveLoads(m *Messages, handle LoadHandler, stopping <-chan struct{}) {
	ctx, cancel := context.WithCancel(m.ctx)
	defer cancel()
	r := &replier{
		stream: m, reader: newReader(), wake: make(chan struct{}, 1),
		cancels: map[uint64]context.CancelFunc{}, stopping: stopping,
	}
	received := make(chan struct{})
	r.reader.read = func() {
		if ended := r.receive(ctx, handle); !ended {
			return // another goroutine reads on
		}
		r.reader.stop()
		if !m.deaf.Load() {
			m.Close() // ends ctx, and answers that nobody reads
		}
		close(received)
	}
	go r.reader.read()
	r.run(ctx)
	m.deafen()
	<-received
}

type replier struct {
	stream *Messages
	reader *reader
	frame  bepb.LoadReplyFrame // whose turn it is to send has it

	mu    sync.Mutex
	ready []*bepb.LoadReply
	// cancels end the contexts that handlers asked for.
	cancels map[uint64]context.CancelFunc
	// open counts the loads without an answer.
	open     int
	wake     chan struct{}
	stopping <-chan struct{}
}

// receive reads until the stream has ended, or another goroutine reads it.
func (r *replier) receive(ctx context.Context, handle LoadHandler) (ended bool) {
	for {
		b, err := r.stream.Recv()
		if err != nil {
			return true
		}
		var frame bepb.LoadFrame
		if err := proto.Unmarshal(b, &frame); err != nil {
			return true
		}
		items := frame.Items[:0]
		for _, item := range frame.Items {
			if item.Cancel {
				r.cancel(item.Seq)
			} else {
				items = append(items, item)
			}
		}
		r.mu.Lock()
		r.open += len(items)
		r.mu.Unlock()
		select {
		case <-r.stopping:
			for _, item := range items {
				r.reply([]*bepb.LoadReply{{Seq: item.Seq, ErrorKind: int32(doriserr.NotAdmitted) + 1, Error: "be is stopping"}})
			}
			r.signal()
			continue
		default:
		}
		if len(items) == 0 {
			continue
		}
		l := &Loads{Items: items, More: r.stream.waiting(), Stream: ctx, r: r}
		if !r.reader.work(func() { handle(l) }) {
			return false
		}
	}
}

func (r *replier) context(ctx context.Context, item *bepb.LoadItem) context.Context {
	var cancel context.CancelFunc
	if item.TimeoutMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(item.TimeoutMs)*time.Millisecond)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	r.mu.Lock()
	r.cancels[item.Seq] = cancel
	r.mu.Unlock()
	return ctx
}

// cancel ends a load's context, if its handler asked for one.
func (r *replier) cancel(seq uint64) {
	r.mu.Lock()
	cancel := r.cancels[seq]
	delete(r.cancels, seq)
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// reply notes answers that are to be sent.
func (r *replier) reply(replies []*bepb.LoadReply) {
	r.mu.Lock()
	if len(r.cancels) > 0 {
		for _, p := range replies {
			if cancel := r.cancels[p.Seq]; cancel != nil {
				delete(r.cancels, p.Seq)
				defer cancel()
			}
		}
	}
	r.ready = append(r.ready, replies...)
	r.open -= len(replies)
	r.mu.Unlock() // before the cancels
}

// signal wakes the goroutine that sends.
func (r *replier) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next encodes the answers that are ready.
func (r *replier) next(b []byte) ([]byte, error) {
	r.mu.Lock()
	r.frame.Replies, r.ready = r.ready, r.frame.Replies[:0]
	r.mu.Unlock()
	if len(r.frame.Replies) == 0 {
		return nil, errNothing
	}
	b, err := proto.MarshalOptions{}.MarshalAppend(b, &r.frame)
	clear(r.frame.Replies)
	return b, err
}

// run sends answers until ctx ends, the stream breaks, or the last one has left.
func (r *replier) run(ctx context.Context) {
	stopping, last := r.stopping, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-stopping:
			stopping, last = nil, true
		case <-r.wake:
			// One fsync wakes many loads at once: let them all answer.
			runtime.Gosched()
		}
		r.mu.Lock()
		open := r.open
		r.mu.Unlock()
		// Also with nothing to send: this waits for answers that are being sent.
		if err := r.stream.Send(ctx, r.next); err != nil && !errors.Is(err, errNothing) {
			return
		}
		if last && open == 0 {
			return
		}
	}
}
