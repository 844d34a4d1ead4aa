package mysql

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"dorisgo/doriserr"
)

const (
	// maxChunk is the longest payload of one packet on the wire. A payload
	// of that length or more goes on in the next packet.
	maxChunk = 1<<24 - 1
	// readBuffer is what a connection reads ahead; commands that fit are
	// handed out without a copy.
	readBuffer = 16 << 10
	// flushAt is how much output gathers before it is written while a
	// command still runs.
	flushAt = 64 << 10
	// keepBuffer is the largest buffer that a connection keeps between
	// commands.
	keepBuffer = 1 << 20
	// step is how many bytes are read or written under one deadline.
	step = 1 << 20
)

var errOutOfOrder = &protocolError{1156, "08S01", "Got packets out of order"}

// tooLarge is the error of a payload over the limit. left is how many bytes
// of its present packet are still to be read.
type tooLarge struct {
	left int
	last bool
}

func (*tooLarge) Error() string { return "packet over the limit" }

// wire reads and writes the packets of one connection. It is used by one
// goroutine.
type wire struct {
	conn net.Conn
	br   *bufio.Reader
	// seq is the number of the next packet in either direction.
	seq byte
	// big holds a payload that does not fit br.
	big []byte
	// out is what is to be written; the packet under way starts at start.
	out   []byte
	start int
	// werr is the first error of writing: nothing is written after it.
	werr error

	readTimeout, writeTimeout time.Duration
	// readBy and writeBy are the deadlines that conn has now, zero for none.
	readBy, writeBy time.Time
}

func newWire(c net.Conn, readTimeout, writeTimeout time.Duration) *wire {
	return &wire{
		conn: c, br: bufio.NewReaderSize(c, readBuffer), out: make([]byte, 0, 1024),
		readTimeout: readTimeout, writeTimeout: writeTimeout,
	}
}

// readAhead is a connection some of whose bytes were read already.
type readAhead struct {
	net.Conn
	r io.Reader
}

func (c *readAhead) Read(p []byte) (int, error) { return c.r.Read(p) }

// under is the connection with the bytes that were read ahead put back: a
// client need not wait between its wish for TLS and the first TLS record.
func (w *wire) under() net.Conn {
	p, _ := w.br.Peek(w.br.Buffered())
	return &readAhead{w.conn, io.MultiReader(bytes.NewReader(bytes.Clone(p)), w.conn)}
}

// replace goes on over another connection.
func (w *wire) replace(c net.Conn) {
	w.conn = c
	w.br.Reset(c)
	w.readBy, w.writeBy = time.Time{}, time.Time{}
}

func (w *wire) setReadBy(t time.Time) error {
	w.readBy = t
	return w.conn.SetReadDeadline(t)
}

// progress gives the peer another readTimeout to send the next bytes.
func (w *wire) progress() error {
	if w.readTimeout <= 0 {
		return w.setReadBy(time.Time{})
	}
	return w.setReadBy(time.Now().Add(w.readTimeout))
}

// ready reports whether a whole packet waits in the read buffer.
func (w *wire) ready() bool {
	n := w.br.Buffered()
	if n < 4 {
		return false
	}
	h, _ := w.br.Peek(4)
	return n-4 >= int(h[0])|int(h[1])<<8|int(h[2])<<16
}

// read returns the next payload, joined from its packets. It is valid until
// the next read. A payload longer than limit is a *tooLarge.
func (w *wire) read(limit int) ([]byte, error) {
	n, err := w.header()
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, &tooLarge{left: n, last: n < maxChunk}
	}
	if n <= w.br.Size() && n < maxChunk {
		if n > w.br.Buffered() {
			if err := w.progress(); err != nil {
				return nil, err
			}
		}
		p, err := w.br.Peek(n)
		if err != nil {
			return nil, unexpected(err)
		}
		_, _ = w.br.Discard(n)
		return p, nil
	}
	w.big = w.big[:0]
	for {
		if err := w.readBig(n); err != nil {
			return nil, err
		}
		if n < maxChunk {
			return w.big, nil
		}
		if n, err = w.header(); err != nil {
			return nil, err
		}
		if len(w.big)+n > limit {
			return nil, &tooLarge{left: n, last: n < maxChunk}
		}
	}
}

// readBig appends n bytes to big, whose memory grows with what really comes.
func (w *wire) readBig(n int) error {
	for n > 0 {
		k := min(n, step, max(len(w.big), 4*readBuffer))
		if err := w.progress(); err != nil {
			return err
		}
		at := len(w.big)
		w.big = slices.Grow(w.big, k)[:at+k]
		if _, err := io.ReadFull(w.br, w.big[at:]); err != nil {
			return unexpected(err)
		}
		n -= k
	}
	return nil
}

func (w *wire) header() (int, error) {
	h, err := w.br.Peek(4)
	if err != nil {
		if len(h) > 0 {
			err = unexpected(err)
		}
		return 0, err
	}
	n, seq := int(h[0])|int(h[1])<<8|int(h[2])<<16, h[3]
	if seq != w.seq {
		return 0, errOutOfOrder
	}
	w.seq++
	_, _ = w.br.Discard(4)
	return n, nil
}

// skip reads and drops the rest of a payload that was too large, so that the
// client, which still writes, comes to read the error. It ends after most
// bytes or at the deadline.
func (w *wire) skip(t *tooLarge, most int, by time.Time) error {
	if err := w.setReadBy(by); err != nil {
		return err
	}
	for {
		n, err := w.br.Discard(min(t.left, most))
		most -= n
		if err != nil || most == 0 || t.last {
			return err
		}
		if t.left, err = w.header(); err != nil {
			return err
		}
		t.last = t.left < maxChunk
	}
}

// release gives back memory that an unusual command took.
func (w *wire) release() {
	if cap(w.big) > keepBuffer {
		w.big = nil
	}
	if cap(w.out) > keepBuffer {
		w.out = make([]byte, 0, 1024)
	}
}

// begin starts a packet: the payload is then appended to w.out.
func (w *wire) begin() {
	w.start = len(w.out)
	w.out = append(w.out, 0, 0, 0, 0)
}

// cancel drops the packet under way.
func (w *wire) cancel() { w.out = w.out[:w.start] }

// end finishes the packet. Output is written once enough has gathered.
func (w *wire) end() error {
	n := len(w.out) - w.start - 4
	if n >= maxChunk {
		return w.endBig(n)
	}
	h := w.out[w.start:]
	h[0], h[1], h[2], h[3] = byte(n), byte(n>>8), byte(n>>16), w.seq
	w.seq++
	if len(w.out) >= flushAt {
		return w.flush()
	}
	return w.werr
}

// endBig splits a long payload: each header is put over the four bytes before
// its part, which were written with the part before.
func (w *wire) endBig(n int) error {
	if err := w.send(w.out[:w.start]); err != nil {
		return err
	}
	for at := w.start; ; at += maxChunk {
		k := min(n, maxChunk)
		h := w.out[at:]
		h[0], h[1], h[2], h[3] = byte(k), byte(k>>8), byte(k>>16), w.seq
		w.seq++
		if err := w.send(w.out[at : at+4+k]); err != nil {
			return err
		}
		if n -= k; k < maxChunk {
			w.out = w.out[:0]
			return nil
		}
	}
}

// flush writes what has gathered.
func (w *wire) flush() error {
	err := w.send(w.out)
	w.out = w.out[:0]
	return err
}

func (w *wire) send(p []byte) error {
	for len(p) > 0 && w.werr == nil {
		if w.writeTimeout > 0 {
			// Half of the time is left at least: deadlines need not be exact,
			// and moving one costs as much as a small command.
			if now := time.Now(); w.writeBy.Sub(now) < w.writeTimeout/2 {
				w.writeBy = now.Add(w.writeTimeout)
				w.werr = w.conn.SetWriteDeadline(w.writeBy)
			}
		}
		if w.werr == nil {
			var n int
			n, w.werr = w.conn.Write(p[:min(len(p), step)])
			p = p[n:]
		}
	}
	return w.werr
}

// unexpected makes an end of the stream inside a packet an error of its own.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func malformed(what string) error {
	return doriserr.New(doriserr.MalformedPacket, "Malformed communication packet: %s", what)
}
