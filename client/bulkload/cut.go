package bulkload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// cutter reads sources from front to end and cuts them into chunks. One
// goroutine uses it.
type cutter struct {
	form  *form
	table string
	// size is where a chunk ends at the next row end, in bytes.
	size int64
	// utf8 asks for a check of every chunk.
	utf8   bool
	labels labels
	// dir is for spooled chunks.
	dir string
	// emit takes a chunk over; an error ends the cutting.
	emit func(context.Context, *chunk) error

	buf        []byte
	start, end int
	eof        bool
}

// window is how much of a source is looked at in one go, in bytes.
const window = 512 << 10

// cut emits the chunks of one source. An error is the source's, or emit's.
func (c *cutter) cut(ctx context.Context, s *Source) error {
	if c.buf == nil {
		c.buf = make([]byte, window)
	}
	r, closer, again, err := s.open(ctx, len(c.buf))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", s.Name, err)
	}
	defer closer.Close()
	c.start, c.end, c.eof = 0, 0, false
	var split splitter
	if !c.form.whole {
		split = c.form.splitter()
	}
	for offset := int64(0); ; {
		n, err := c.one(ctx, r, s, split, offset, again)
		if err != nil || n == 0 {
			return err
		}
		offset += n
	}
}

// one emits the chunk at an offset and returns its size, 0 at the source's end.
func (c *cutter) one(ctx context.Context, r io.Reader, s *Source, split splitter, offset int64, again bool) (size int64, err error) {
	p := &part{hash: newHash(c.table)}
	if !again {
		if p.spool, err = spoolFile(c.dir); err != nil {
			return 0, err
		}
	}
	defer func() {
		if p.spool != nil {
			p.spool.Close()
		}
	}()
	for ended := false; !ended; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		w := c.buf[c.start:c.end]
		n := len(w)
		if split != nil {
			n, ended = split.next(w, max(1, c.size-p.size), c.eof)
		}
		if err := p.take(w[:n], c.utf8); err != nil {
			return 0, err
		}
		c.start += n
		if ended {
			// The server would take a byte order mark at a body's start for none of
			// the data, which it is here.
			for c.end-c.start < len(mark) && !c.eof && err == nil {
				err = c.fill(r)
			}
			ended = !bytes.HasPrefix(c.buf[c.start:c.end], mark)
		} else if !c.eof || c.start < c.end {
			err = c.fill(r)
		} else {
			ended = true
		}
		if err != nil {
			return 0, fmt.Errorf("cannot read %s: %w", s.Name, err)
		}
	}
	if p.size == 0 {
		return 0, nil
	}
	ch := &chunk{source: s, offset: offset, size: p.size, headers: c.form.first, table: c.table, sum: p.hash.Sum(nil), spool: p.spool}
	if offset > 0 {
		ch.headers = c.form.rest
	}
	ch.label = c.labels.next(ch.sum, offset)
	if at := p.text.end(); c.utf8 && at >= 0 {
		ch.bad = fmt.Errorf("not valid UTF-8 at byte %d of %s (--check_utf8=false sends it all the same)", offset+at, s.Name)
	}
	p.spool = nil // the chunk's from here on
	return ch.size, c.emit(ctx, ch)
}

// part is a chunk that grows.
type part struct {
	hash  hash.Hash
	size  int64
	spool *os.File
	text  utf8Check
}

func (p *part) take(b []byte, check bool) error {
	if len(b) == 0 {
		return nil
	}
	p.hash.Write(b)
	p.size += int64(len(b))
	if check {
		p.text.write(b)
	}
	if p.spool != nil {
		if _, err := p.spool.Write(b); err != nil {
			return fmt.Errorf("cannot spool a chunk (TMPDIR names another directory for it): %w", err)
		}
	}
	return nil
}

// fill adds to the window, or sets eof.
func (c *cutter) fill(r io.Reader) error {
	if c.start > 0 {
		c.end = copy(c.buf, c.buf[c.start:c.end])
		c.start = 0
	}
	if c.end == len(c.buf) { // less than a splitter's look-ahead
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	for {
		n, err := r.Read(c.buf[c.end:])
		c.end += n
		switch {
		case errors.Is(err, io.EOF):
			c.eof = true
			return nil
		case err != nil:
			return err
		case n > 0:
			return nil
		}
	}
}

// spoolFile is a temporary file that is gone when it is closed.
func spoolFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "dorisgo-load-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a temporary file for a stream's chunk: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot make a temporary file for a stream's chunk: %w", err)
	}
	return f, nil
}
