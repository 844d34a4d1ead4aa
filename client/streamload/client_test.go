package streamload

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func body(s string) Body {
	return Body{Length: int64(len(s)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(s)), nil }}
}

func newClient(t *testing.T, endpoints ...string) *Client {
	t.Helper()
	c, err := New(Options{Endpoints: endpoints, User: "u", Password: "p@:/%25#é", DB: "d b", Table: "t/x"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestLoadFollowsTheRedirect: the login goes along, whatever is in its password;
// the path stays as it was; the body goes to the backend alone.
func TestLoadFollowsTheRedirect(t *testing.T) {
	var opened atomic.Int64
	be := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		b, err := io.ReadAll(r.Body)
		if err != nil || user != "u" || password != "p@:/%25#é" || !ok || string(b) != "1\n" || r.Header.Get("label") != "L" || r.Header.Get("columns") != "a" {
			t.Errorf("%s %s: login %q %q, body %q, %v, headers %v", r.Method, r.RequestURI, user, password, b, err, r.Header)
		}
		if r.RequestURI != "/api/d%20b/t%2Fx/_stream_load?" {
			t.Errorf("path %s", r.RequestURI)
		}
		fmt.Fprint(w, `{"TxnId": 3, "Label": "L", "Status": "Success", "Message": "OK", "NumberTotalRows": 1, "NumberLoadedRows": 1}`)
	}))
	defer be.Close()
	fe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if opened.Load() != 0 {
			t.Error("the body was opened for the frontend")
		}
		w.Header().Set("Location", strings.Replace(be.URL, "://", "://x:y@", 1)+r.RequestURI+"?")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer fe.Close()
	b := body("1\n")
	open := b.Open
	b.Open = func() (io.ReadCloser, error) { opened.Add(1); return open() }
	r, err := newClient(t, fe.URL).Load(t.Context(), "L", map[string]string{"columns": "a"}, b)
	if err != nil || r.Verdict() != Loaded || r.LoadedRows != 1 || r.TxnID != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestLoadErrors(t *testing.T) {
	location := ""
	var hops atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		if location != "-" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	c := newClient(t, srv.URL)
	for _, tt := range []struct{ location, want string }{
		{"-", "redirects to no address"},
		{"ftp://x/", "redirects to no address"},
		{srv.URL, "redirects more than 5 times"},
	} {
		location = tt.location
		if _, err := c.Load(t.Context(), "L", nil, body("x")); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.location, err, tt.want)
		}
	}
	ok := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, `{"Status": "Success"}`)
	}))
	defer ok.Close()
	c = newClient(t, ok.URL)
	broken := errors.New("a broken disk")
	_, err := c.Load(t.Context(), "L", nil, Body{Length: 5, Open: func() (io.ReadCloser, error) { return nil, broken }})
	if _, source := errors.AsType[*SourceError](err); !source || !errors.Is(err, broken) {
		t.Errorf("a source that does not open: %v", err)
	}
	_, err = c.Load(t.Context(), "L", nil, Body{Length: 5, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("abc"), errReader{broken})), nil
	}})
	if _, source := errors.AsType[*SourceError](err); !source || !errors.Is(err, broken) {
		t.Errorf("a source that breaks: %v", err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if _, err := newClient(t, ln.Addr().String()).Load(t.Context(), "L", nil, body("x")); !Unreachable(err) {
		t.Errorf("a dead address: %v", err)
	}
}

type errReader struct{ error }

func (r errReader) Read([]byte) (int, error) { return 0, r.error }

func TestEndpoints(t *testing.T) {
	for text, want := range map[string]string{
		"h:1": "http://h:1", " http://h:1/ ": "http://h:1", "https://h": "https://h", "[::1]:8030": "http://[::1]:8030",
		"": "!", "ftp://h:1": "!", "http://h:1/api": "!", "http://u:p@h:1": "!", "http://": "!",
	} {
		c, err := New(Options{Endpoints: []string{text}, DB: "d", Table: "t"})
		switch {
		case err != nil:
			if want != "!" || strings.Contains(err.Error(), "u:p") {
				t.Errorf("%q: %v", text, err)
			}
		case c.bases[0].String() != want:
			t.Errorf("%q is %s, want %s", text, c.bases[0], want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		reply Reply
		want  Verdict
	}{
		{Reply{HTTP: 200, Status: "Success"}, Loaded},
		{Reply{HTTP: 200, Status: "Publish Timeout"}, Loaded},
		{Reply{HTTP: 200, Status: "Label Already Exists", ExistingJobStatus: "FINISHED"}, Already},
		{Reply{HTTP: 200, Status: "Label Already Exists", ExistingJobStatus: "RUNNING"}, Running},
		{Reply{HTTP: 200, Status: "Label Already Exists", ExistingJobStatus: "PRECOMMITTED"}, Refused},
		{Reply{HTTP: 200, Status: "Unknown", Message: "[INTERNAL_ERROR]x"}, Again},
		{Reply{HTTP: 200, Status: "Fail", Message: "[DATA_QUALITY_ERROR]too many filtered rows"}, BadData},
		{Reply{HTTP: 200, Status: "Fail", Message: "[DATA_QUALITY_ERROR]schema version not match, maybe a schema change is in process."}, Again},
		{Reply{HTTP: 200, Status: "Fail", Message: "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = unknown table, table=t"}, Refused},
		{Reply{HTTP: 200, Status: "Fail", Message: "[ANALYSIS_ERROR]insert table 5 is blocked on schema change"}, Again},
		{Reply{HTTP: 200, Status: "Fail", Message: "[NETWORK_ERROR]sender is gone"}, Again},
		{Reply{HTTP: 200, Status: "Fail", Message: "[TIMEOUT]load timeout"}, Again},
		{Reply{HTTP: 200, Status: "Fail", Message: "[EXCEEDED_LIMIT]too many open loads"}, Again},
		{Reply{HTTP: 401, Status: "Fail", Message: "[NOT_AUTHORIZED]x"}, Refused},
		{Reply{HTTP: 200, Code: 401, Message: "Unauthorized"}, Refused},
		{Reply{HTTP: 200, Status: "FAILED", Message: "table is invalid: t"}, Refused},
		{Reply{HTTP: 200, Status: "FAILED", Message: "No backend available for load, please check"}, Again},
		{Reply{HTTP: 404, Message: "HTTP 404: Not Found"}, Refused},
		{Reply{HTTP: 431, Message: "HTTP 431"}, Refused},
		{Reply{HTTP: 429, Message: "HTTP 429"}, Again},
		{Reply{HTTP: 503, Message: "HTTP 503"}, Again},
		{Reply{HTTP: 200, Message: "HTTP 200: <html>"}, Again},
	} {
		if got := tt.reply.Verdict(); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.reply, got, tt.want)
		}
	}
}
