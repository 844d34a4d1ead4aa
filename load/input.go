package load

import (
	"errors"
	"io"
	"sync"

	"dorisgo/doriserr"
)

// Sizes of an Input's window in bytes.
const (
	windowSize = 256 << 10
	smallest   = 512
	// DefaultMaxRow is the longest row (CSV record, JSON value) in bytes.
	DefaultMaxRow = 64 << 20
	// maxWindow bounds the longest row whatever is asked for: cells of a Batch
	// have 31 bits.
	maxWindow = 1 << 30
)

var bom = []byte{0xEF, 0xBB, 0xBF}

var windows = sync.Pool{New: func() any { b := make([]byte, windowSize); return &b }}

// Input is a growing window over a body. A decoder looks at Bytes, asks for
// More if a row is not complete, and consumes rows with Advance. It is used by
// one goroutine.
type Input struct {
	r        io.Reader
	buf      []byte
	pooled   *[]byte
	pos, end int
	eof      bool
	err      error
	maxRow   int
}

// NewInput makes an input. The hint is the expected size of the body in bytes,
// or -1; maxRow bounds the window, and so the longest row, 0 for DefaultMaxRow
// (a window of the usual size is there in any case).
// Close returns its memory.
func NewInput(r io.Reader, hint int64, maxRow int) *Input {
	if maxRow <= 0 {
		maxRow = DefaultMaxRow
	}
	in := &Input{r: r, maxRow: min(maxRow, maxWindow)}
	if hint >= 0 && hint < windowSize/2 {
		in.buf = make([]byte, max(smallest, int(hint)+1))
	} else {
		in.pooled = windows.Get().(*[]byte)
		in.buf = *in.pooled
	}
	return in
}

// Close gives the window back. Slices of Bytes are invalid from then on.
func (in *Input) Close() {
	if in.pooled != nil {
		windows.Put(in.pooled)
		in.pooled = nil
	}
	in.buf, in.pos, in.end, in.eof = nil, 0, 0, true
}

// Bytes is what was read and not consumed. It is valid until More or Close.
func (in *Input) Bytes() []byte { return in.buf[in.pos:in.end] }

// EOF says that Bytes is all that is left.
func (in *Input) EOF() bool { return in.eof }

// MaxRow is the longest row in bytes.
func (in *Input) MaxRow() int { return in.maxRow }

// Advance consumes n bytes.
func (in *Input) Advance(n int) { in.pos += n }

// More adds at least one byte to the window, or sets EOF. Any error but io.EOF
// of the reader is returned, again and again. A window that would pass the
// longest row is an ExceededLimit error.
func (in *Input) More() error {
	if in.eof {
		return in.err
	}
	if err := in.room(); err != nil {
		in.eof, in.err = true, err
		return err
	}
	for range 100 {
		n, err := in.r.Read(in.buf[in.end:])
		in.end += n
		if err != nil {
			in.eof = true
			if !errors.Is(err, io.EOF) {
				in.err = err
			}
			return in.err
		}
		if n > 0 {
			return nil
		}
	}
	in.eof, in.err = true, io.ErrNoProgress
	return in.err
}

// room makes place for at least one more byte behind the window.
func (in *Input) room() error {
	if in.end < len(in.buf) {
		return nil
	}
	if in.pos > 0 {
		in.end = copy(in.buf, in.buf[in.pos:in.end])
		in.pos = 0
		// A row that fills most of the window makes it grow at once, so that
		// moving it costs no more than reading it did.
		if in.end <= len(in.buf)/2 {
			return nil
		}
	}
	if len(in.buf) >= in.maxRow {
		if in.end < len(in.buf) {
			return nil
		}
		return doriserr.New(doriserr.ExceededLimit, "a row is longer than the limit of %d bytes; check the line delimiter, enclose and format headers", in.maxRow)
	}
	grown := make([]byte, min(in.maxRow, 2*len(in.buf)))
	copy(grown, in.buf[:in.end])
	if in.pooled != nil {
		windows.Put(in.pooled)
		in.pooled = nil
	}
	in.buf = grown
	return nil
}

// SkipBOM drops a UTF-8 byte order mark at the very start of the body. It is
// called before anything else.
func (in *Input) SkipBOM() error {
	for in.end-in.pos < len(bom) && !in.eof {
		if err := in.More(); err != nil {
			return err
		}
	}
	if string(in.Bytes()[:min(len(bom), in.end-in.pos)]) == string(bom) {
		in.Advance(len(bom))
	}
	return nil
}
