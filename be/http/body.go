package behttp

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/semaphore"

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
	// interrupt ends a Read that waits for the sender, after a while.
	interrupt func()
	// ctx ends the reading; nil while nobody watches it.
	ctx context.Context
	// turn is held by who decodes this body, and given up while it waits for the
	// sender; nil for a small body.
	turn    *semaphore.Weighted
	bytes   int64
	spent   time.Duration
	touched bool
	ended   bool
}

// watch lets ctx end the reading until stop is called.
func (r *received) watch(ctx context.Context) (stop func()) {
	r.ctx = ctx
	undo := context.AfterFunc(ctx, func() {
		if r.interrupt != nil {
			r.interrupt()
		}
	})
	return func() {
		r.ctx = nil
		undo()
	}
}

func (r *received) Read(p []byte) (int, error) {
	if r.ctx != nil && r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	r.touched = true
	if r.turn != nil {
		r.turn.Release(1)
	}
	start := time.Now()
	n, err := r.r.Read(p)
	r.spent += time.Since(start)
	if r.turn != nil {
		// Turns are short, since whoever has one gives it up here.
		_ = r.turn.Acquire(context.Background(), 1)
	}
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

// aside gives the turn up while f waits for something else than the sender.
func (r *received) aside(f func()) {
	if r.turn != nil {
		r.turn.Release(1)
		defer func() { _ = r.turn.Acquire(context.Background(), 1) }() // see Read
	}
	f()
}

// source turns a body into blocks. It implements Blocks.
type source struct {
	body   *received
	in     *load.Input
	dec    load.Decoder
	rows   *load.Rows
	unpack io.Closer
	// size is the largest block of a stream, least the one that is made however
	// short the memory is, in bytes.
	size, least int
	share       *share
	ratio       float64
	enforce     func(load.Counts) bool
	// first is a block that was collected before the rest became a stream.
	first   *block.Block
	done    bool
	tooMany func(firstError string) error
}

// newSource makes the decoder of a load's headers for its body. ctx is the
// load's.
func (l *request) newSource(ctx context.Context, m *load.Mapping, sh *share, log load.ErrorSink) (*source, error) {
	h, body, hint := l.head, l.input, l.length
	s := &source{body: l.body, share: sh, size: l.limits.BlockBytes, least: min(firstStep(l.length), l.limits.BlockBytes), ratio: h.ratio}
	s.rows = load.NewRows(m, load.RowOptions{Sink: log, Evaluate: func(p *load.Program, in *block.Block) (*block.Block, error) {
		return p.Eval(ctx, in)
	}})
	if h.compress != "" {
		hint = -1
		r, err := load.Decompress(h.compress, body, l.limits.maxBody(h))
		if err != nil {
			return nil, err
		}
		body, s.unpack = r, r
	}
	if h.parquet {
		d := l.parquetDecoder(ctx, m, body)
		s.dec, s.unpack = d, d
		return s, nil
	}
	s.in = load.NewInput(body, hint, l.limits.MaxRowBytes)
	if h.json {
		s.dec = json.NewDecoder(s.in, m, h.jsonForm)
	} else {
		s.dec = csv.NewDecoder(s.in, m.Fields(), h.csv)
	}
	return s, nil
}

func (s *source) close() {
	if s.in != nil {
		s.in.Close()
	}
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
	if s.share.bulk() > 0 {
		_ = s.share.b.turns.Acquire(context.Background(), 1) // see received.Read
		s.body.turn = s.share.b.turns
		defer func() {
			s.body.turn = nil
			s.share.b.turns.Release(1)
		}()
	}
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

// Next implements Blocks. The block before is the caller's to account for by
// now.
func (s *source) Next(ctx context.Context) (*block.Block, error) {
	if b := s.first; b != nil {
		s.first = nil
		return b, nil
	}
	if !s.done {
		b, err := s.part(ctx)
		if err != nil || b.Rows() > 0 {
			return b, err
		}
	}
	if err := s.verdict(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// part decodes the next block of a stream. While memory is short it stays
// small, so that a sender who takes his time holds little.
func (s *source) part(ctx context.Context) (*block.Block, error) {
	defer s.body.watch(ctx)()
	s.share.shrink(int64(s.least))
	if err := s.share.grow(ctx, int64(s.least)); err != nil {
		return nil, err
	}
	b := block.New(s.rows.Mapping().Types())
	for limit := s.least; ; {
		if err := s.fill(b, limit); s.done {
			return b, nil
		} else if err != nil {
			return nil, err
		}
		limit = min(max(limit, b.Bytes())+collectStep, s.size)
		if b.Bytes() >= s.size || int64(limit) > s.share.b.room(streamPart, s.share) || !s.share.tryGrow(int64(limit)) {
			return b, nil
		}
	}
}

// collectStep is how many bytes a block grows by before more of the budget is
// asked for. A small body starts with less, since thousands of them may wait for
// their groups.
const collectStep = 256 << 10

// One streamed load takes no more than a fourth of the memory that the others
// leave, and one that is collected for a group no more than half.
const (
	streamPart  = 4
	collectPart = 2
)

func firstStep(length int64) int {
	if length < 0 || length > collectStep {
		return collectStep
	}
	return int(min(collectStep, 4*length+1024))
}

// collect decodes the whole body into one block, unless it outgrows limit
// bytes or, being large, the memory that is left: then whole is false and the
// source goes on from there.
func (s *source) collect(ctx context.Context, limit int, length int64) (b *block.Block, whole bool, err error) {
	defer s.body.watch(ctx)()
	b = block.New(s.rows.Mapping().Types())
	for step := firstStep(length); ; step = collectStep {
		have := b.Bytes()
		if have >= limit {
			return b, false, nil
		}
		need := int64(have + min(step, limit-have))
		if have >= collectStep && (need > s.share.b.room(collectPart, s.share) || !s.share.tryGrow(need)) {
			return b, false, nil
		}
		if err := s.share.grow(ctx, need); err != nil {
			return nil, false, err
		}
		if err := s.fill(b, int(need)); s.done {
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
