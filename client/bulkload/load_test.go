package bulkload

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dorisgo/client/streamload"
)

// TestFaults: whatever goes wrong, each row is there once, and the report says
// what the server has.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults []fault
		status string
		// lost is the number of chunks that are not there.
		lost    int
		already int
		note    string
	}{
		{name: "none", status: Success},
		{name: "a connection cut before the body", faults: []fault{cutEarly, "", cutEarly}, status: Success, note: "attempt 2 of 4 in 1s"},
		{name: "an answer that is lost", faults: []fault{cutLate, "", cutLate}, status: Success, already: 2},
		{name: "an earlier attempt that goes on", faults: []fault{running}, status: Success, already: 1},
		{name: "an earlier attempt that is aborted in the end", faults: []fault{aborted}, status: Success},
		{name: "HTTP 500", faults: []fault{broken, broken}, status: Success, note: "HTTP 500: <html>out of order</html>"},
		{name: "a server that is busy", faults: []fault{busy, busy, busy}, status: Success},
		{name: "a server that does not know", faults: []fault{unsure}, status: Success, already: 1},
		{name: "rows that are visible later", faults: []fault{late, late}, status: Success},
		{name: "bad rows", faults: []fault{"", bad}, status: Partial, lost: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t, tt.faults...)
			path, rows := rowsFile(t, t.TempDir(), "a", 100)
			o := f.options()
			var notes atomic.Value
			notes.Store("")
			var sent, done atomic.Int64
			o.Note = func(s string) { notes.Store(notes.Load().(string) + s + "\n") }
			o.Sent = func(n int64) { sent.Add(n) }
			o.Done = func(n, _ int64) { done.Add(n) }
			o.Workers = 1 // the faults hit chunks in order
			r := mustRun(t, mustExpand(t, nil, path), o)
			if r.Status != tt.status || r.Chunks.AlreadyLoaded != tt.already || r.Chunks.Failed != tt.lost || r.Chunks.Unknown != 0 {
				t.Errorf("report %+v, want %s with %d already there and %d lost", r, tt.status, tt.already, tt.lost)
			}
			if got := f.sorted(); tt.lost == 0 && !slices.Equal(got, rows) {
				t.Errorf("%d rows, want %d", len(got), len(rows))
			}
			if !strings.Contains(notes.Load().(string), tt.note) {
				t.Errorf("notes %q lack %q", notes.Load(), tt.note)
			}
			if sent.Load() != 0 || done.Load() != r.LoadBytes+r.AlreadyLoadedBytes {
				t.Errorf("%d bytes are under way at the end, %d done, report %+v", sent.Load(), done.Load(), r)
			}
			if n := int64(tt.lost + tt.already); tt.lost == 0 && r.LoadedRows+12*n < int64(len(rows)) {
				t.Errorf("report %+v", r)
			}

			// A second run with no state but the file loads what is missing.
			r = mustRun(t, mustExpand(t, nil, path), o)
			if got := f.sorted(); r.Status != Success || r.Chunks.Loaded != tt.lost || !slices.Equal(got, rows) {
				t.Errorf("second run: %d rows, report %+v", len(got), r)
			}
		})
	}
}

// TestRefusedStopsTheRun: what hits every chunk is tried once.
func TestRefusedStopsTheRun(t *testing.T) {
	f := newFake(t, refused)
	path, _ := rowsFile(t, t.TempDir(), "a", 1000)
	o := f.options()
	o.Workers = 1
	r := mustRun(t, mustExpand(t, nil, path), o)
	if r.Status != Failed || f.puts != 1 || r.Chunks.Failed != 1 || !slices.Equal(r.UnreadFiles, []string{path}) || !strings.Contains(r.Failures[0].Reason, "Invalid strict mode format") {
		t.Errorf("%d requests, report %+v", f.puts, r)
	}

	c, err := streamload.New(streamload.Options{Endpoints: []string{f.fe.URL}, User: "u", Password: "wrong", DB: "d b", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	o.Server = c
	r = mustRun(t, mustExpand(t, nil, path), o)
	if r.Status != Failed || f.puts != 1 || r.Failures[0].Reason != "Unauthorized: Access denied" {
		t.Errorf("with a wrong password: %d requests, report %+v", f.puts, r)
	}
}

// TestNobodyAnswers: a run against dead addresses ends, and tells nothing as
// loaded or unknown.
func TestNobodyAnswers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := ln.Addr().String()
	ln.Close()
	f := newFake(t)
	path, rows := rowsFile(t, t.TempDir(), "a", 100)
	o := f.options()
	dial := func(endpoints ...string) {
		c, err := streamload.New(streamload.Options{Endpoints: endpoints, User: "u", Password: "p@:/%25#é", DB: "d b", Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		o.Server = c
	}
	dial(dead)
	r := mustRun(t, mustExpand(t, nil, path), o)
	if r.Status != Failed || r.Chunks.Unknown != 0 || r.Chunks.Failed == 0 || !strings.Contains(r.Failures[0].Reason, "no answer from "+dead) {
		t.Errorf("report %+v", r)
	}
	// The next address is tried at once.
	dial(dead, f.fe.URL)
	var notes atomic.Int64
	o.Note = func(string) { notes.Add(1) }
	if r := mustRun(t, mustExpand(t, nil, path), o); r.Status != Success || notes.Load() != 0 || !slices.Equal(f.sorted(), rows) {
		t.Errorf("report %+v, %d notes", r, notes.Load())
	}
}

// TestInterrupt: an interrupt cuts requests, and what became of them is asked
// for.
func TestInterrupt(t *testing.T) {
	for _, state := range []string{"VISIBLE", "ABORTED", ""} {
		f := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		release := make(chan struct{})
		var n atomic.Int64
		f.before = func(label string) {
			if n.Add(1) != 3 {
				return
			}
			// The third request: its load ends in the state, its answer never comes.
			f.mu.Lock()
			f.labels[label] = state
			f.mu.Unlock()
			cancel()
			<-release
		}
		path, _ := rowsFile(t, t.TempDir(), "a", 1000)
		o := f.options()
		o.Workers = 1
		r, err := Run(ctx, mustExpand(t, nil, path), o)
		close(release)
		if err != nil {
			t.Fatal(err)
		}
		already := 0
		if state == "VISIBLE" {
			already = 1
		}
		if r.Status != Partial || !r.Interrupted || r.Chunks.Loaded != 2 || r.Chunks.AlreadyLoaded != already || r.Chunks.Failed != 1-already || r.Chunks.Unknown != 0 {
			t.Errorf("state %q: report %+v", state, r)
		}
		if n := n.Load(); n != 3 || len(r.UnreadFiles) != 1 {
			t.Errorf("state %q: %d requests, report %+v", state, n, r)
		}
	}
}

// TestInterruptedStream: an interrupt ends the wait for a stream that gives
// nothing.
func TestInterruptedStream(t *testing.T) {
	f := newFake(t)
	in, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.WriteString(w, "1\n2\n") // the reader is there until cancel
		cancel()
	}()
	r, err := Run(ctx, mustExpand(t, in, Stdin), f.options())
	if err != nil || r.Status != Failed || !r.Interrupted || len(f.sorted()) != 0 {
		t.Errorf("%v, report %+v", err, r)
	}
}

// TestSources: files, lists, globs, directories and streams, packed or not, each
// file once.
func TestSources(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.MkdirAll(filepath.Join(sub, ".hidden"), 0o755); err != nil {
		t.Fatal(err)
	}
	a, rows := rowsFile(t, dir, "a.csv", 30)
	_, more := rowsFile(t, sub, "b.csv", 30)
	rows = append(rows, more...)
	rowsFile(t, sub, ".c.csv", 30)
	rowsFile(t, filepath.Join(sub, ".hidden"), "d.csv", 30)
	comma, more := rowsFile(t, dir, "e,f.csv", 30)
	rows = append(rows, more...)
	if err := os.WriteFile(filepath.Join(dir, "empty.csv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var gz bytes.Buffer
	for i := range 30 { // parts joined end to end
		z := gzip.NewWriter(&gz)
		rows = append(rows, fmt.Sprintf("gz-%d", i))
		fmt.Fprintf(z, "gz-%d\n", i)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	packedFile := filepath.Join(dir, "g.csv.gz")
	if err := os.WriteFile(packedFile, gz.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for i := range 100 {
		rows = append(rows, fmt.Sprintf("in-%d", i))
		fmt.Fprintf(&in, "in-%d\n", i)
	}
	slices.Sort(rows)
	args := []string{a + ", " + sub, filepath.Join(dir, "*.csv"), comma, packedFile, Stdin}
	o := f.options()
	r := mustRun(t, mustExpand(t, strings.NewReader(in.String()), args...), o)
	if got := f.sorted(); r.Status != Success || !slices.Equal(got, rows) {
		t.Errorf("%d rows, want %d, report %+v", len(got), len(rows), r)
	}
	if want := []string{a, filepath.Join(sub, "b.csv"), comma, filepath.Join(dir, "empty.csv"), packedFile, Stdin}; !slices.Equal(r.LoadFiles, want) {
		t.Errorf("files %q, want %q", r.LoadFiles, want)
	}
	// Streams and packed files are known again, too.
	r = mustRun(t, mustExpand(t, strings.NewReader(in.String()), args...), o)
	if r.Status != Success || r.Chunks.Loaded != 0 || r.Chunks.AlreadyLoaded == 0 {
		t.Errorf("second run: report %+v", r)
	}

	for _, tt := range []struct{ args, want string }{
		{filepath.Join(dir, "nothing"), "cannot load"},
		{filepath.Join(dir, "*.json"), "no file matches"},
		{filepath.Join(dir, "["), "is wrong"},
		{"-,-", "only once"},
		{"", "no file"},
	} {
		if _, err := Expand([]string{tt.args}, nil, true); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.want)
		}
	}
}

// TestNamedPipe: a pipe is a stream with a name, and waiting for it can be
// interrupted.
func TestNamedPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(path, os.O_RDWR, 0) // both sides: opening waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := newFake(t)
	o := f.options()
	ctx, cancel := context.WithCancel(t.Context())
	o.Done = func(_, _ int64) { cancel() }
	if _, err := io.WriteString(w, strings.Repeat("a row of the pipe\n", 7)); err != nil {
		t.Fatal(err)
	}
	r, err := Run(ctx, mustExpand(t, nil, path), o)
	if err != nil || !r.Interrupted || r.Status != Partial || r.LoadedRows != 6 || len(f.sorted()) != 6 {
		t.Errorf("%v, report %+v, %d rows", err, r, len(f.sorted()))
	}
}

// TestDamagedFiles: a file that cannot be read to its end, or is not text, is
// named, and the others are loaded.
func TestDamagedFiles(t *testing.T) {
	f := newFake(t)
	dir := t.TempDir()
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	for i := range 1000 {
		fmt.Fprintf(z, "gz-%d\n", i)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	cut, latin := filepath.Join(dir, "cut.gz"), filepath.Join(dir, "latin.csv")
	if err := os.WriteFile(cut, gz.Bytes()[:gz.Len()-5], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(latin, []byte(strings.Repeat("gr\xc3\xbcn\n", 20)+"gr\xfcn\n"+strings.Repeat("blau\n", 40)), 0o644); err != nil {
		t.Fatal(err)
	}
	good, rows := rowsFile(t, dir, "good", 20)
	o := f.options()
	r := mustRun(t, mustExpand(t, nil, cut, latin, good), o)
	reasons := ""
	for _, x := range r.Failures {
		reasons += x.Reason + "\n"
	}
	if r.Status != Partial || !strings.Contains(reasons, "cannot unpack the body as gz: unexpected EOF") || !strings.Contains(reasons, "not valid UTF-8 at byte 122 of "+latin) {
		t.Errorf("report %+v", r)
	}
	for _, row := range rows {
		if !slices.Contains(f.sorted(), row) {
			t.Errorf("row %s is not there", row)
		}
	}
	if slices.Contains(f.sorted(), "gr\xfcn") || !slices.Contains(f.sorted(), "blau") {
		t.Error("the chunk that is no text was sent, or another was not")
	}
	o.CheckUTF8 = false
	if r := mustRun(t, mustExpand(t, nil, latin), o); r.Status != Success || !slices.Contains(f.sorted(), "gr\xfcn") {
		t.Errorf("without the check: report %+v", r)
	}
}

// TestChangedFile: bytes that changed after they were hashed are not loaded under
// their label.
func TestChangedFile(t *testing.T) {
	for _, compress := range []bool{false, true} {
		for name, change := range map[string]func(path string) error{
			"other bytes": func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("x\n"), 500_000), 0o644) },
			"cut short":   func(p string) error { return os.Truncate(p, 999_000) },
			"gone":        os.Remove,
		} {
			f := newFake(t)
			path := filepath.Join(t.TempDir(), "a")
			if err := os.WriteFile(path, bytes.Repeat([]byte("y\n"), 500_000), 0o644); err != nil {
				t.Fatal(err)
			}
			f.before = func(string) {
				if err := change(path); err != nil {
					t.Error(err)
				}
			}
			o := f.options()
			o.ChunkBytes, o.Compress = 2<<20, compress
			r := mustRun(t, mustExpand(t, nil, path), o)
			if r.Status != Failed || r.Chunks.Failed != 1 || len(f.sorted()) != 0 || f.puts != 1 {
				t.Errorf("%s, compress %v: %d requests, %d rows, report %+v", name, compress, f.puts, len(f.sorted()), r)
			}
		}
	}
}

// TestHeadersOfChunks: head lines go with a file's first chunk alone.
func TestHeadersOfChunks(t *testing.T) {
	f := newFake(t)
	path, _ := rowsFile(t, t.TempDir(), "a", 40)
	o := f.options()
	o.Headers = map[string]string{"Format": "csv_with_names", "Columns": "a", "timeout": "77"}
	o.Compress, o.Workers = true, 1
	if r := mustRun(t, mustExpand(t, nil, path), o); r.Status != Success || len(f.heads) < 3 {
		t.Fatalf("report %+v", r)
	}
	for i, h := range f.heads {
		want := "csv"
		if i == 0 {
			want = "csv_with_names"
		}
		if h.Get("format") != want || h.Get("columns") != "a" || h.Get("timeout") != "77" || h.Get("compress_type") != "lz4" {
			t.Errorf("chunk %d has headers %v", i, h)
		}
	}
}

// TestWholeFiles: formats that cannot be cut are one load for each file.
func TestWholeFiles(t *testing.T) {
	for _, h := range []map[string]string{
		{"format": "json", "strip_outer_array": "true"}, {"format": "json", "read_json_by_line": "false"},
		{"format": "parquet"}, {"compress_type": "gz"},
	} {
		f := newFake(t)
		path, _ := rowsFile(t, t.TempDir(), "a.gz", 400)
		o := f.options()
		o.Headers = h
		list, err := Expand([]string{path}, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if r := mustRun(t, list, o); r.Status != Success || f.puts != 1 {
			t.Errorf("headers %v: %d requests, report %+v", h, f.puts, r)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, tt := range []struct {
		headers map[string]string
		prefix  string
		want    string
	}{
		{map[string]string{"group_commit": "async_mode"}, "p", "group_commit: async_mode cannot be used"},
		{map[string]string{"two_phase_commit": "true"}, "p", "two_phase_commit"},
		{map[string]string{"Label": "x"}, "p", "header label cannot be set"},
		{map[string]string{"Authorization": "x"}, "p", "header authorization cannot be set"},
		{map[string]string{"where": "a\nb"}, "p", "header where"},
		{map[string]string{"skip_lines": "x"}, "p", "skip_lines"},
		{map[string]string{"enclose": "ab"}, "p", "enclose"},
		{map[string]string{"line_delimiter": `\xZ`}, "p", "line_delimiter"},
		{nil, "", "label prefix"},
		{nil, "a b", "label prefix"},
		{nil, strings.Repeat("x", 65), "label prefix"},
		{map[string]string{"compress_type": "gz"}, "p", "compressed already"},
	} {
		o := Options{Headers: tt.headers, Prefix: tt.prefix, Compress: true}
		if _, err := Run(t.Context(), nil, o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, %q: %v, want %q", tt.headers, tt.prefix, err, tt.want)
		}
	}
}

// taker loads everything.
type taker struct{}

func (taker) Load(context.Context, string, map[string]string, streamload.Body) (*streamload.Reply, error) {
	return &streamload.Reply{Status: "Success"}, nil
}

func (taker) State(context.Context, string) (string, error) { return "VISIBLE", nil }

// TestManyChunksAreToldOf: labels that a server would forget make a repeated run
// unsafe.
func TestManyChunksAreToldOf(t *testing.T) {
	path, _ := rowsFile(t, t.TempDir(), "a", 1300)
	for size, want := range map[int64]bool{9: true, 100: false} {
		o := Options{Server: taker{}, Prefix: "p", ChunkBytes: size}
		told := false
		o.Note = func(s string) { told = told || strings.Contains(s, "about 1300 chunks") }
		if r := mustRun(t, mustExpand(t, nil, path), o); r.Status != Success || told != want {
			t.Errorf("chunks of %d bytes: told %v, report %+v", size, told, r)
		}
	}
}

// TestPauses: back-off doubles up to its bound, and half of it is chance.
func TestPauses(t *testing.T) {
	chance := 0.0
	r := &run{o: &Options{RetryPause: 10 * time.Second, Rand: func() float64 { return chance }}}
	for try, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 100: 10 * time.Second} {
		chance = 0
		high := r.pause(try)
		chance = 1
		if low := r.pause(try); high != want || low != want/2 {
			t.Errorf("attempt %d: %s to %s, want up to %s", try, low, high, want)
		}
	}
}

func TestReportTexts(t *testing.T) {
	f := newFake(t, "", bad)
	path, _ := rowsFile(t, t.TempDir(), "a", 30)
	o := f.options()
	o.Workers = 1
	r := mustRun(t, mustExpand(t, nil, path), o)
	var text, js strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Partial: ", "not loaded: " + path + ", bytes 108 to 216, label p_", "too many filtered rows", "rows in error: http://be/log", "run the same command again"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, text.String())
		}
	}
	for _, want := range []string{`"Status": "Partial"`, `"FailLoadRows": 5`, `"LoadFiles": [`, `"ErrorURL": "http://be/log"`, `"LabelPrefix": "p"`} {
		if !strings.Contains(js.String(), want) {
			t.Errorf("JSON lacks %q:\n%s", want, js.String())
		}
	}
}
