package bulkload

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"dorisgo/client/streamload"
)

// The statuses of a report.
const (
	Success = "Success"
	// Partial: some chunks are loaded, others are not.
	Partial = "Partial"
	// Failed: no chunk is loaded.
	Failed = "Failed"
)

// result is what became of a chunk.
type result uint8

const (
	loaded result = iota
	already
	failed
	unknown
	// untried: the run was over before the chunk's turn.
	untried
)

// outcome is a chunk's end.
type outcome struct {
	chunk  *chunk
	result result
	reply  *streamload.Reply
	reason string
}

func (o *outcome) rows() int64 {
	if o.result != loaded {
		return 0
	}
	return o.reply.LoadedRows
}

// Report is the outcome of a run. Rows are those that the server counted; it
// tells none for chunks that earlier runs loaded.
type Report struct {
	// Status is Success, Partial or Failed.
	Status      string
	Interrupted bool `json:",omitempty"`
	// TotalRows are the rows of the chunks that this run sent, failed ones as far
	// as the server counted them.
	TotalRows, FailLoadRows, LoadedRows, FilteredRows, UnselectedRows int64
	// LoadBytes are the bytes that this run loaded, AlreadyLoadedBytes those that
	// were loaded before.
	LoadBytes, AlreadyLoadedBytes int64
	LoadTimeMs                    int64
	// Chunks are counted by their outcome.
	Chunks ChunkCounts
	// LoadFiles are the sources, in order.
	LoadFiles []string
	// UnreadFiles are the sources that were not read to their end.
	UnreadFiles []string `json:",omitempty"`
	LabelPrefix string
	// Failures are the first of the chunks and files that are not loaded.
	Failures []Failure `json:",omitempty"`

	unread  map[*Source]bool
	sources []*Source
}

// ChunkCounts are numbers of chunks.
type ChunkCounts struct {
	Loaded, AlreadyLoaded, Failed int
	// Unknown are those whose outcome could not be learnt, NotTried those that were
	// cut when the run was over.
	Unknown, NotTried int
}

// Failure is a chunk, or a file, that is not loaded.
type Failure struct {
	File string
	// Offset and Bytes are the chunk's place in the unpacked file; Bytes is 0 for
	// a failure of the file.
	Offset, Bytes int64
	Label         string `json:",omitempty"`
	Reason        string
	ErrorURL      string `json:",omitempty"`
	FirstError    string `json:",omitempty"`
	// Unknown says that it may be loaded.
	Unknown bool `json:",omitempty"`
}

// maxFailures bounds the list of a report.
const maxFailures = 100

func newReport(o *Options, sources []*Source) *Report {
	r := &Report{LabelPrefix: o.Prefix, LoadFiles: []string{}, unread: map[*Source]bool{}, sources: sources}
	for _, s := range sources {
		r.LoadFiles = append(r.LoadFiles, s.Name)
		r.unread[s] = true
	}
	return r
}

// read notes that a source was cut to its end, or why not.
func (r *Report) read(s *Source, err error) {
	if err == nil {
		delete(r.unread, s)
		return
	}
	r.fail(Failure{File: s.Name, Reason: err.Error()})
}

func (r *Report) fail(f Failure) {
	if len(r.Failures) < maxFailures {
		r.Failures = append(r.Failures, f)
	}
}

// add notes a chunk's outcome.
func (r *Report) add(o *outcome) {
	switch o.result {
	case loaded:
		r.Chunks.Loaded++
		r.LoadBytes += o.chunk.size
		r.TotalRows += o.reply.TotalRows
		r.LoadedRows += o.reply.LoadedRows
		r.FilteredRows += o.reply.FilteredRows
		r.UnselectedRows += o.reply.UnselectedRows
		return
	case already:
		r.Chunks.AlreadyLoaded++
		r.AlreadyLoadedBytes += o.chunk.size
		return
	case untried:
		r.Chunks.NotTried++
		return
	case failed:
		r.Chunks.Failed++
	case unknown:
		r.Chunks.Unknown++
	}
	f := Failure{File: o.chunk.source.Name, Offset: o.chunk.offset, Bytes: o.chunk.size, Label: o.chunk.label, Reason: o.reason, Unknown: o.result == unknown}
	if o.reply != nil {
		f.ErrorURL, f.FirstError = o.reply.ErrorURL, o.reply.FirstErrorMsg
		r.TotalRows += o.reply.TotalRows
		r.FailLoadRows += o.reply.TotalRows
	}
	r.fail(f)
}

func (r *Report) finish(took time.Duration, interrupted bool) {
	r.LoadTimeMs, r.Interrupted = took.Milliseconds(), interrupted
	for _, s := range r.sources {
		if r.unread[s] {
			r.UnreadFiles = append(r.UnreadFiles, s.Name)
		}
	}
	done := r.Chunks.Loaded + r.Chunks.AlreadyLoaded
	switch {
	case r.Chunks.Failed+r.Chunks.Unknown+r.Chunks.NotTried == 0 && len(r.UnreadFiles) == 0:
		r.Status = Success
	case done > 0:
		r.Status = Partial
	default:
		r.Status = Failed
	}
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	p := &printer{w: w}
	state := r.Status
	if r.Interrupted {
		state += ", interrupted"
	}
	seconds := float64(r.LoadTimeMs) / 1000
	p.line("%s: %d rows loaded, %d filtered, %d unselected in %.1f s (%.0f rows/s, %.1f MB/s)", state,
		r.LoadedRows, r.FilteredRows, r.UnselectedRows, seconds, rate(float64(r.LoadedRows), seconds), rate(float64(r.LoadBytes)/1e6, seconds))
	p.line("chunks: %d loaded (%d bytes), %d already loaded before (%d bytes), %d failed, %d of unknown outcome, %d not tried",
		r.Chunks.Loaded, r.LoadBytes, r.Chunks.AlreadyLoaded, r.AlreadyLoadedBytes, r.Chunks.Failed, r.Chunks.Unknown, r.Chunks.NotTried)
	for _, f := range r.Failures {
		p.failure(&f)
	}
	for _, f := range r.UnreadFiles {
		p.line("not read to its end: %s", f)
	}
	switch {
	case r.Status != Success:
		p.line("run the same command again to load what is missing; what is loaded is not loaded twice (label prefix %s)", r.LabelPrefix)
	case r.Chunks.AlreadyLoaded > 0:
		p.line("to load the same bytes once more, give another label prefix than %s", r.LabelPrefix)
	}
	return p.err
}

func rate(n, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return n / seconds
}

// printer keeps the first error of its writer.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) failure(f *Failure) {
	what := "not loaded"
	if f.Unknown {
		what = "outcome unknown"
	}
	if f.Bytes == 0 {
		p.line("%s: %s: %s", what, f.File, f.Reason)
		return
	}
	p.line("%s: %s, bytes %d to %d, label %s: %s", what, f.File, f.Offset, f.Offset+f.Bytes, f.Label, f.Reason)
	if f.FirstError != "" {
		p.line("  first error: %s", f.FirstError)
	}
	if f.ErrorURL != "" {
		p.line("  rows in error: %s", f.ErrorURL)
	}
}
