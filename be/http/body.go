package behttp

import (
	"context"
	"errors"
	"io"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/json"
)

// received is a request's body as the transport delivers it: counted, timed,
// limited, its errors worded for the client.
type received struct {
	r         io.Reader
	announced bool
	limit     int64
	tooLarge  func(n int64) error
	bytes     int64
	spent     time.Duration
	touched   bool
	ended     bool
}

func (r *received) Read(p []byte) (int, error) {
	r.touched = true
	start := time.Now()
	n, err := r.r.Read(p)
	r.spent += time.Since(start)
	if r.bytes += int64(n); r.bytes > r.limit {
		return 0, r.tooLarge(r.bytes)
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		r.ended = true
	default:
		r.ended = true
		err = bodyError(err, r.announced)
	}
	return n, err
}

// source turns a body into blocks. It implements Blocks.
type source struct {
	in      *load.Input
	dec     load.Decoder
	rows    *load.Rows
	unpack  io.Closer
	size    int
	ratio   float64
	enforce func(load.Counts) bool
	// first is a block that was collected before the rest became a stream.
	first *block.Block
	// onSecond is called when the block after the first is asked for.
	onSecond func()
	done     bool
	tooMany  func(firstError string) error
}

// newSource makes the decoder of a load's headers for a body.
func newSource(h *head, m *load.Mapping, body io.Reader, length int64, l Limits, rows load.RowOptions) (*source, error) {
	s := &source{size: l.BlockBytes, ratio: h.ratio}
	hint := length
	if h.compress != "" {
		hint = -1
		r, err := load.Decompress(h.compress, body, l.maxBody(h))
		if err != nil {
			return nil, err
		}
		body, s.unpack = r, r
	}
	s.in = load.NewInput(body, hint, l.MaxRowBytes)
	if h.json {
		s.dec = json.NewDecoder(s.in, m, h.jsonForm)
	} else {
		s.dec = csv.NewDecoder(s.in, m.Fields(), h.csv)
	}
	s.rows = load.NewRows(m, rows)
	return s, nil
}

func (s *source) close() {
	s.in.Close()
	if s.unpack != nil {
		// Its errors were met by reading.
		_ = s.unpack.Close()
	}
}

// fill decodes into b until it has about n bytes; io.EOF after the last row.
func (s *source) fill(b *block.Block, n int) error {
	if s.done {
		return io.EOF
	}
	s.rows.Start(b)
	err := s.dec.Decode(s.rows, n)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := s.rows.Flush(); err != nil {
		return err
	}
	s.done = err != nil
	return err
}

// verdict is the error of a load that has too many filtered rows.
func (s *source) verdict() error {
	if c := s.rows.Counts(); c.TooMany(s.ratio) && s.enforce(c) {
		return s.tooMany(s.rows.FirstError())
	}
	return nil
}

// Next implements Blocks.
func (s *source) Next(ctx context.Context) (*block.Block, error) {
	if b := s.first; b != nil {
		s.first = nil
		return b, nil
	}
	if s.onSecond != nil {
		s.onSecond()
		s.onSecond = nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := block.New(s.rows.Mapping().Types())
		err := s.fill(b, s.size)
		switch {
		case err != nil && !s.done:
			return nil, err
		case b.Rows() > 0:
			return b, nil
		case s.done:
			if err := s.verdict(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
	}
}

// collectStep is how many bytes a collected block grows by before more of the
// budget is asked for. A small body starts with less, since thousands of them
// may wait for their groups.
const collectStep = 256 << 10

func firstStep(length int64) int {
	if length < 0 || length > collectStep {
		return collectStep
	}
	return int(min(collectStep, 4*length+1024))
}

// collect decodes the whole body into one block, unless it outgrows limit
// bytes: then whole is false and the source goes on from there.
func (s *source) collect(ctx context.Context, limit int, length int64, sh *share) (b *block.Block, whole bool, err error) {
	b = block.New(s.rows.Mapping().Types())
	for step := firstStep(length); ; step = collectStep {
		have := b.Bytes()
		if have >= limit {
			return b, false, nil
		}
		step = min(step, limit-have)
		if err := sh.grow(ctx, int64(have+step)); err != nil {
			return nil, false, err
		}
		if err := s.fill(b, have+step); errors.Is(err, io.EOF) {
			return b, true, nil
		} else if err != nil {
			return nil, false, err
		}
	}
}

// tooLargeError is a body over a limit in MB of a key.
func tooLargeError(key string, n int64, mb int64) error {
	return doriserr.New(doriserr.ExceededLimit, "body size %d exceed BE's conf `%s` %d. increase it if you are sure this load is reasonable", n, key, mb<<20)
}
