package bulkload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"dorisgo/client/streamload"
)

// DefaultChunkBytes is where a chunk ends at the next row: large enough that
// thousands of gigabytes need few labels, small enough to send again.
const DefaultChunkBytes = 128 << 20

// Server is where loads go; *streamload.Client implements it.
type Server interface {
	Load(ctx context.Context, label string, headers map[string]string, body streamload.Body) (*streamload.Reply, error)
	State(ctx context.Context, label string) (string, error)
}

// Options are what a run is made of.
type Options struct {
	Server Server
	// Table is the target as text, db.table: it is part of labels.
	Table string
	// Headers are Stream Load's, of every chunk.
	Headers map[string]string
	// Prefix starts all labels.
	Prefix string
	// ChunkBytes is the size from which on a chunk ends; 0 is the default.
	ChunkBytes int64
	// Workers is how many chunks are sent at a time, at least 1.
	Workers int
	// Compress sends bodies as LZ4 frames.
	Compress bool
	// CheckUTF8 refuses chunks that are no UTF-8 before they are sent.
	CheckUTF8 bool
	// Timeout bounds one request, and how long an earlier load under the same
	// label is waited for.
	Timeout time.Duration
	// Retries is how often a chunk is sent again, RetryPause the longest pause
	// before that. The first is a second, each later one twice as long, and up to
	// half of it is taken off by chance.
	Retries    int
	RetryPause time.Duration
	// SpoolDir is for chunks of streams, empty for the system's.
	SpoolDir string
	// Rand is for pauses, 0 to 1; nil is math/rand.
	Rand func() float64
	// Sleep waits; nil is a timer.
	Sleep func(ctx context.Context, d time.Duration)
	Events
}

// Events tell a run's progress. Each may be nil; they are called by several
// goroutines.
type Events struct {
	// Sent counts bytes on their way, in steps that are negative when an attempt
	// was in vain.
	Sent func(bytes int64)
	// Done counts a chunk that is loaded, now or before, and its rows if known.
	Done func(bytes, rows int64)
	// Chunk names a chunk that is about to be sent, and its label.
	Chunk func(name, label string)
	// Note says why something takes longer.
	Note func(text string)
}

// settleTime bounds how long an interrupted run asks what became of the loads
// that were under way.
const settleTime = 5 * time.Second

// Run loads sources. It returns when every chunk has its outcome or ctx ended:
// then requests are cut and what became of them is asked for. The error is one
// of the options; everything else is in the report.
func Run(ctx context.Context, sources []*Source, o Options) (*Report, error) {
	f, err := newForm(o.Headers)
	if err != nil {
		return nil, err
	}
	if err := checkPrefix(o.Prefix); err != nil {
		return nil, err
	}
	if o.Compress && f.first["compress_type"] != "" {
		return nil, errors.New("the files are compressed already (header compress_type): --compress would do it twice")
	}
	if o.ChunkBytes <= 0 {
		o.ChunkBytes = DefaultChunkBytes
	}
	if o.Compress {
		f.first["compress_type"], f.rest["compress_type"] = "lz4", "lz4"
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	r := &run{o: &o, report: newReport(&o, sources), began: time.Now()}
	if n := chunksOf(sources, o.ChunkBytes); n > manyChunks && !f.whole {
		r.note("about %d chunks: a server remembers 2000 finished labels of a database by default (label_num_threshold), and a run that is repeated needs them; larger chunks need fewer (--max_byte_per_task)", n)
	}
	r.all(ctx, f, sources)
	r.report.finish(time.Since(r.began), ctx.Err() != nil)
	return r.report, nil
}

// manyChunks is a number of labels that a database shared with others may forget
// within one run.
const manyChunks = 1000

// chunksOf is about how many chunks the sources of known size give.
func chunksOf(sources []*Source, chunkBytes int64) int64 {
	n := int64(0)
	for _, s := range sources {
		if s.Size > 0 {
			n += (s.Size + chunkBytes - 1) / chunkBytes
		}
	}
	return n
}

// run is one call of Run.
type run struct {
	o     *Options
	began time.Time

	mu     sync.Mutex
	report *Report
	// stopped says that no further chunk is worth sending.
	stopped atomic.Bool
}

// all cuts and sends.
func (r *run) all(ctx context.Context, f *form, sources []*Source) {
	chunks := make(chan *chunk)
	cutting, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range max(1, r.o.Workers) {
		workers.Go(func() {
			for c := range chunks {
				r.deliver(ctx, c)
				c.close()
				if r.stopped.Load() {
					stop()
				}
			}
		})
	}
	cut := &cutter{
		form: f, table: r.o.Table, size: r.o.ChunkBytes, utf8: r.o.CheckUTF8 && !f.whole, dir: r.o.SpoolDir,
		labels: labels{prefix: r.o.Prefix, seen: map[labelKey]int{}},
		emit: func(ctx context.Context, c *chunk) error {
			select {
			case chunks <- c:
				return nil
			case <-ctx.Done():
				c.close()
				return ctx.Err()
			}
		},
	}
	for _, s := range sources {
		err := cut.cut(cutting, s)
		if cutting.Err() != nil {
			break
		}
		r.mu.Lock()
		r.report.read(s, err)
		r.mu.Unlock()
	}
	close(chunks)
	workers.Wait()
}

// deliver sends one chunk until it has an outcome.
func (r *run) deliver(ctx context.Context, c *chunk) {
	out := outcome{chunk: c}
	switch {
	case c.bad != nil:
		out.result, out.reason = failed, c.bad.Error()
	case ctx.Err() != nil || r.stopped.Load():
		out.result = untried
	default:
		if r.o.Chunk != nil {
			r.o.Chunk(c.String(), c.label)
		}
		r.send(ctx, c, &out)
		if ctx.Err() != nil && out.result == unknown {
			r.settle(ctx, c, &out)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.add(&out)
	if out.result <= already && r.o.Done != nil {
		r.o.Done(c.size, out.rows())
	}
}

// send is the loop of attempts.
func (r *run) send(ctx context.Context, c *chunk, out *outcome) {
	waited := time.Duration(0)
	// lost says that an attempt may have been loaded without our knowing.
	lost := false
	for try := 0; ; {
		reply, err := r.attempt(ctx, c)
		out.reply = reply
		verdict := streamload.Again
		if err != nil {
			out.reason = err.Error()
			lost = lost || !streamload.Unreachable(err)
			if _, mine := errors.AsType[*streamload.SourceError](err); mine {
				// The request was cut, so that nothing of it is loaded.
				out.result = failed
				return
			}
		} else {
			out.reason = reply.Message
			verdict = reply.Verdict()
			// An answer with a transaction of its own says that the label was free.
			lost = reply.Status == "Unknown" || lost && reply.TxnID <= 0
		}
		out.result = failed
		if lost {
			out.result = unknown
		}
		switch verdict {
		case streamload.Loaded:
			out.result = loaded
			return
		case streamload.Already:
			out.result = already
			return
		case streamload.BadData:
			return
		case streamload.Refused:
			r.stopped.Store(true) // the next chunk would fare no better
			return
		case streamload.Running:
			lost, out.result = true, unknown
			if waited = r.await(ctx, c, waited); waited > r.o.Timeout || ctx.Err() != nil {
				out.reason = "an earlier load under the label has not ended: " + reply.Message
				return
			}
			continue
		}
		if try++; try > r.o.Retries || ctx.Err() != nil {
			if err != nil {
				r.stopped.Store(true) // nobody answers
			}
			return
		}
		pause := r.pause(try)
		r.note("%s: %s; attempt %d of %d in %s", c, out.reason, try+1, r.o.Retries+1, pause.Round(100*time.Millisecond))
		if r.o.Sleep(ctx, pause); ctx.Err() != nil {
			return
		}
	}
}

// await pauses before a label is tried again that an earlier load holds, and
// returns how long it was waited for in all.
func (r *run) await(ctx context.Context, c *chunk, waited time.Duration) time.Duration {
	pause := min(500*time.Millisecond<<min(waited/time.Second, 4), 5*time.Second)
	if waited += pause; waited > 5*time.Second {
		r.note("%s: waiting for an earlier load under label %s", c, c.label)
	}
	r.o.Sleep(ctx, pause)
	return waited
}

// attempt is one request.
func (r *run) attempt(ctx context.Context, c *chunk) (*streamload.Reply, error) {
	if r.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.o.Timeout)
		defer cancel()
	}
	var sent atomic.Int64
	count := func(n int) {
		sent.Add(int64(n))
		if r.o.Sent != nil {
			r.o.Sent(int64(n))
		}
	}
	reply, err := r.o.Server.Load(ctx, c.label, c.headers, c.body(r.o.Compress, count))
	if r.o.Sent != nil {
		// The bytes of an answered chunk are counted by Done.
		r.o.Sent(-sent.Load())
	}
	return reply, err
}

// pause is the time before an attempt; attempts are counted from 1.
func (r *run) pause(try int) time.Duration {
	d := time.Second << min(try-1, 20)
	if most := r.o.RetryPause; d > most {
		d = most
	}
	return d - time.Duration(r.o.Rand()*float64(d)/2)
}

// settle asks what became of a load whose request was cut by an interrupt.
func (r *run) settle(ctx context.Context, c *chunk, out *outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	for quiet := 0; ; {
		state, err := r.o.Server.State(ctx, c.label)
		switch {
		case err != nil:
			out.reason = "interrupted, and " + err.Error()
			return
		case state == "VISIBLE" || state == "COMMITTED":
			out.result, out.reply = already, nil
			return
		case state == "ABORTED" || state == "UNKNOWN":
			// The server takes nothing of a request that was cut. One that had come
			// whole may not have begun yet: a moment tells.
			if quiet++; quiet == 6 {
				out.result, out.reason = failed, "interrupted"
				return
			}
		default:
			quiet = 0
			out.reason = "interrupted while the server was at it"
		}
		if r.o.Sleep(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return
		}
	}
}

func (r *run) note(format string, args ...any) {
	if r.o.Note != nil {
		r.o.Note(fmt.Sprintf(format, args...))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
