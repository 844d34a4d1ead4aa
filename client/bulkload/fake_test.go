package bulkload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pierrec/lz4/v4"

	"dorisgo/client/streamload"
)

// fault is what the fake does wrong with one request.
type fault string

const (
	// cutEarly ends the connection before the body, cutLate after the load is
	// committed, with its answer lost.
	cutEarly fault = "cut early"
	cutLate  fault = "cut late"
	// broken is an HTTP 500, busy a Fail that may pass.
	broken fault = "broken"
	busy   fault = "busy"
	// running leaves the label with a load that ends as committed at the third
	// question, aborted at the third with one that ends as aborted.
	running fault = "running"
	aborted fault = "aborted"
	// bad is a load with bad rows, refused one with a bad header, unknown a commit
	// that the server itself does not know of.
	bad     fault = "bad"
	refused fault = "refused"
	unsure  fault = "unsure"
	late    fault = "late"
)

// fakeDoris is a frontend that redirects and a backend that keeps the rows of
// committed labels.
type fakeDoris struct {
	t      *testing.T
	fe, be *httptest.Server

	mu sync.Mutex
	// faults are taken by the next requests, one each.
	faults []fault
	// labels are the states; rows what was committed, once for each commit.
	labels map[string]string
	// ends are what the states of running labels become.
	ends  map[string]string
	asked map[string]int
	rows  []string
	puts  int
	// heads are the headers of the committed loads.
	heads []http.Header
	// before is called with each request's label before its body is read.
	before func(label string)
}

func newFake(t *testing.T, faults ...fault) *fakeDoris {
	f := &fakeDoris{t: t, faults: faults, labels: map[string]string{}, ends: map[string]string{}, asked: map[string]int{}}
	f.be = httptest.NewServer(http.HandlerFunc(f.backend))
	f.fe = httptest.NewServer(http.HandlerFunc(f.frontend))
	t.Cleanup(f.fe.Close)
	t.Cleanup(f.be.Close)
	return f
}

func (f *fakeDoris) frontend(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "u" || password != "p@:/%25#é" {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"msg":"Unauthorized","code":401,"data":"Access denied","count":0}`)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/get_load_state") {
		f.mu.Lock()
		defer f.mu.Unlock()
		state := f.labels[r.FormValue("label")]
		if state == "" {
			state = "UNKNOWN"
		}
		fmt.Fprintf(w, `{"msg":"success","code":0,"data":%q,"count":0}`, state)
		return
	}
	w.Header().Set("Location", "http://u:wrong@"+f.be.Listener.Addr().String()+r.URL.RequestURI())
	w.WriteHeader(http.StatusTemporaryRedirect)
}

func (f *fakeDoris) take() fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts++
	if len(f.faults) == 0 {
		return ""
	}
	x := f.faults[0]
	f.faults = f.faults[1:]
	return x
}

func (f *fakeDoris) backend(w http.ResponseWriter, r *http.Request) {
	label := r.Header.Get("label")
	if _, password, _ := r.BasicAuth(); password != "p@:/%25#é" || r.URL.Path != "/api/d b/t/_stream_load" || r.Header.Get("Expect") == "" {
		f.t.Errorf("a load came with login %q to %s, Expect %q", password, r.URL.Path, r.Header.Get("Expect"))
	}
	answer := func(status string, more ...any) {
		m := map[string]any{"TxnId": 7, "Label": label, "Status": status, "Message": "OK"}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		_ = json.NewEncoder(w).Encode(m)
	}
	if f.before != nil {
		f.before(label)
	}
	x := f.take()
	f.mu.Lock()
	if f.labels[label] == "PREPARE" {
		if f.asked[label]++; f.asked[label] == 3 {
			f.labels[label] = f.ends[label]
		}
	}
	state := f.labels[label]
	f.mu.Unlock()
	switch state {
	case "VISIBLE":
		answer("Label Already Exists", "ExistingJobStatus", "FINISHED", "Message", "[LABEL_ALREADY_EXISTS]used", "TxnId", 1)
		return
	case "PREPARE":
		answer("Label Already Exists", "ExistingJobStatus", "RUNNING", "Message", "[LABEL_ALREADY_EXISTS]used", "TxnId", 1)
		return
	}
	switch x {
	case broken:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, "<html>out of order</html>")
		return
	case busy:
		answer("Fail", "Message", "[EXCEEDED_LIMIT]too many open loads on this backend, try again later", "TxnId", -1)
		return
	case refused:
		answer("Fail", "Message", "[INVALID_ARGUMENT]Invalid strict mode format", "TxnId", -1)
		return
	case bad:
		answer("Fail", "Message", "[DATA_QUALITY_ERROR]too many filtered rows", "ErrorURL", "http://be/log", "NumberTotalRows", 5)
		return
	case cutEarly:
		f.hangUp(w)
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone: nothing is committed
	}
	if r.Header.Get("compress_type") == "lz4" {
		if b, err = io.ReadAll(lz4.NewReader(bytes.NewReader(b))); err != nil {
			f.t.Errorf("an LZ4 body does not unpack: %s", err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	f.mu.Lock()
	switch x {
	case running, aborted:
		f.labels[label] = "PREPARE"
		f.ends[label] = map[fault]string{running: "VISIBLE", aborted: "ABORTED"}[x]
	default:
		f.labels[label] = "VISIBLE"
		f.heads = append(f.heads, r.Header)
	}
	if x != aborted {
		f.rows = append(f.rows, lines...)
	}
	f.mu.Unlock()
	switch x {
	case cutLate, running, aborted:
		f.hangUp(w)
	case unsure:
		answer("Unknown", "Message", "[INTERNAL_ERROR]the outcome is not known", "NumberTotalRows", len(lines))
	case late:
		answer("Publish Timeout", "Message", "[PUBLISH_TIMEOUT]later", "NumberTotalRows", len(lines), "NumberLoadedRows", len(lines))
	default:
		answer("Success", "NumberTotalRows", len(lines), "NumberLoadedRows", len(lines))
	}
}

// hangUp ends the connection without a word.
func (f *fakeDoris) hangUp(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		f.t.Error(err)
		return
	}
	c.Close()
}

// sorted are the committed rows.
func (f *fakeDoris) sorted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.rows))
}

// options are those of a run against the fake, without pauses.
func (f *fakeDoris) options() Options {
	c, err := streamload.New(streamload.Options{Endpoints: []string{f.fe.Listener.Addr().String()}, User: "u", Password: "p@:/%25#é", DB: "d b", Table: "t", Connections: 4})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return Options{
		Server: c, Table: "d b.t", Prefix: "p", ChunkBytes: 100, Workers: 3, CheckUTF8: true, Timeout: 20 * time.Second,
		Retries: 3, RetryPause: time.Minute, Rand: func() float64 { return 0 }, Sleep: func(context.Context, time.Duration) {},
	}
}

// rowsFile writes n rows of about 10 bytes each and returns the file and rows.
func rowsFile(t *testing.T, dir, name string, n int) (path string, rows []string) {
	t.Helper()
	for i := range n {
		rows = append(rows, fmt.Sprintf("%s-%06d", name, i))
	}
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path, rows
}

func mustExpand(t *testing.T, in io.Reader, names ...string) []*Source {
	t.Helper()
	list, err := Expand(names, in, true)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustRun(t *testing.T, sources []*Source, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), sources, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
