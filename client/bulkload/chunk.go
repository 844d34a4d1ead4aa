package bulkload

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/pierrec/lz4/v4"

	"dorisgo/client/streamload"
)

// chunk is a part of a source that is loaded by one request.
type chunk struct {
	source *Source
	// offset is that of the first byte in the source's unpacked bytes, size the
	// number of bytes.
	offset, size int64
	label        string
	headers      map[string]string
	// table and sum are what the bytes are hashed with and to.
	table string
	sum   []byte
	// spool holds the bytes of a source that cannot be read twice; it belongs to
	// the chunk.
	spool *os.File
	// bad is why the chunk must not be sent.
	bad error
}

// String names the chunk in messages.
func (c *chunk) String() string {
	return fmt.Sprintf("%s, bytes %d to %d", c.source.Name, c.offset, c.offset+c.size)
}

// close gives up the spooled bytes.
func (c *chunk) close() {
	if c.spool != nil {
		c.spool.Close()
	}
}

// open starts to read the chunk's bytes for a request.
func (c *chunk) open(sent func(int)) (io.ReadCloser, error) {
	v := &verified{hash: newHash(c.table), sum: c.sum, left: c.size, name: c.source.Name, sent: sent}
	if c.spool != nil {
		v.r, v.closer = io.NewSectionReader(c.spool, 0, c.size), io.NopCloser(nil)
		return v, nil
	}
	f, err := os.Open(c.source.Name)
	if err != nil {
		return nil, err
	}
	v.r, v.closer = io.NewSectionReader(f, c.offset, c.size), f
	return v, nil
}

// body is what a request sends: the bytes, or an LZ4 frame of them.
func (c *chunk) body(compress bool, sent func(int)) streamload.Body {
	if !compress {
		return streamload.Body{Length: c.size, Open: func() (io.ReadCloser, error) { return c.open(sent) }}
	}
	return streamload.Body{Length: -1, Open: func() (io.ReadCloser, error) {
		r, err := c.open(sent)
		if err != nil {
			return nil, err
		}
		pr, pw := io.Pipe()
		go func() {
			z := lz4.NewWriter(pw)
			_, err := io.Copy(z, r)
			if err == nil {
				err = z.Close()
			}
			// Without an error this is the end of the body; with one the frame has no
			// end and the request fails. The reader closes pr when it needs no more.
			pw.CloseWithError(errors.Join(err, r.Close()))
		}()
		return pr, nil
	}}
}

// errChanged says that bytes are not those that were hashed.
var errChanged = errors.New("changed while it was loaded")

// verified hands out bytes one step behind its reader: the last of them only
// after all were found to be those of the label. So no load under a label
// completes with other bytes.
type verified struct {
	r      io.Reader
	closer io.Closer
	hash   hash.Hash
	sum    []byte
	left   int64
	name   string
	sent   func(int)

	cur, ahead []byte
	bufs       [2][]byte
	err        error
}

const verifyStep = 128 << 10

func (v *verified) Read(p []byte) (int, error) {
	if len(v.cur) == 0 {
		if v.bufs[0] == nil {
			v.bufs[0], v.bufs[1] = make([]byte, verifyStep), make([]byte, verifyStep)
			v.read()
		}
		if v.cur = v.ahead; len(v.cur) > 0 {
			v.read()
		}
		// The error goes before the bytes that it is about.
		if v.err != nil && !errors.Is(v.err, io.EOF) {
			return 0, v.err
		}
		if len(v.cur) == 0 {
			return 0, v.err
		}
	}
	n := copy(p, v.cur)
	v.cur = v.cur[n:]
	if v.sent != nil {
		v.sent(n)
	}
	return n, nil
}

// read fills ahead, or sets err.
func (v *verified) read() {
	v.bufs[0], v.bufs[1] = v.bufs[1], v.bufs[0]
	n, err := io.ReadFull(v.r, v.bufs[0])
	v.ahead = v.bufs[0][:n]
	v.hash.Write(v.ahead)
	v.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		if v.left != 0 || !bytes.Equal(v.hash.Sum(nil), v.sum) {
			v.err = fmt.Errorf("%s %w", v.name, errChanged)
			return
		}
		if n == 0 {
			v.err = io.EOF
		}
	case err != nil:
		v.err = fmt.Errorf("cannot read %s: %w", v.name, err)
	}
}

// Close implements io.Closer.
func (v *verified) Close() error { return v.closer.Close() }
