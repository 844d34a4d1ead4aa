package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
)

// fake is a server that counts rows and keeps statements.
type fake struct {
	rows atomic.Int64
	// hide is subtracted from COUNT(*).
	hide atomic.Int64
	// refuse makes every n-th INSERT fail.
	refuse int64
	n      atomic.Int64

	mu   sync.Mutex
	seen []string
}

func (f *fake) note(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, s)
}

func (f *fake) saw(part string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.seen {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// load counts n rows, or refuses.
func (f *fake) load(n int64) error {
	if f.refuse > 0 && f.n.Add(1)%f.refuse == 0 {
		return doriserr.New(doriserr.ExceededLimit, "too many")
	}
	f.rows.Add(n)
	return nil
}

func (f *fake) Credential(context.Context, string, net.Addr) (mysql.Credential, bool, error) {
	return mysql.Credential{}, true, nil
}

func (f *fake) Connect(context.Context, *mysql.ConnInfo) (mysql.Session, error) {
	return &fakeSession{f}, nil
}

type fakeSession struct{ f *fake }

func (s *fakeSession) Query(_ context.Context, sql []byte, w *mysql.ResultWriter) error {
	switch {
	case bytes.HasPrefix(sql, []byte("INSERT")):
		n := int64(bytes.Count(sql, []byte("),("))) + 1
		if err := s.f.load(n); err != nil {
			return err
		}
		return w.OK(uint64(n), 0, "")
	case bytes.HasPrefix(sql, []byte("SELECT COUNT(*)")):
		if err := w.Columns([]mysql.Column{{Name: "count(*)"}}); err != nil {
			return err
		}
		return w.Row(mysql.Text(strconv.FormatInt(s.f.rows.Load()-s.f.hide.Load(), 10)))
	}
	s.f.note(string(sql))
	return w.OK(0, 0, "")
}

func (s *fakeSession) Prepare(_ context.Context, sql []byte) (mysql.Statement, error) {
	s.f.note(string(sql))
	return &fakeStatement{s.f, bytes.Count(sql, []byte("?")), bytes.Count(sql, []byte("(?"))}, nil
}
func (s *fakeSession) SetUser(context.Context, string, string) error { return nil }
func (s *fakeSession) UseDB(context.Context, string) error           { return nil }
func (s *fakeSession) Reset(context.Context) error                   { return nil }
func (s *fakeSession) Status() mysql.Status                          { return mysql.Status{Autocommit: true} }
func (s *fakeSession) DB() string                                    { return "" }
func (s *fakeSession) MaxAllowedPacket() int                         { return 1 << 24 }
func (s *fakeSession) WaitTimeout() time.Duration                    { return time.Minute }
func (s *fakeSession) Close()                                        {}

type fakeStatement struct {
	f            *fake
	params, rows int
}

func (s *fakeStatement) Params() int             { return s.params }
func (s *fakeStatement) Columns() []mysql.Column { return nil }
func (s *fakeStatement) Close()                  {}
func (s *fakeStatement) Execute(_ context.Context, a *mysql.ExecuteArgs, w *mysql.ResultWriter) error {
	s.f.note(fmt.Sprintf("execute %v %x", a.Types[0].Type, a.Values[:4]))
	if err := s.f.load(int64(s.rows)); err != nil {
		return err
	}
	return w.OK(uint64(s.rows), 0, "")
}

// serve starts the fake's MySQL side.
func (f *fake) serve(t *testing.T) string {
	t.Helper()
	return serveHandler(t, f)
}

func serveHandler(t *testing.T, h mysql.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := mysql.New(h, mysql.Options{})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return l.Addr().String()
}

// serveHTTP starts the fake's Stream Load side and a frontend that redirects
// to it.
func (f *fake) serveHTTP(t *testing.T) (frontend, backend string) {
	t.Helper()
	be := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		f.note(r.URL.Path + " " + r.Header.Get("group_commit"))
		reply := map[string]any{"Status": "Success", "NumberLoadedRows": bytes.Count(body, []byte("\n"))}
		if err := f.load(int64(bytes.Count(body, []byte("\n")))); err != nil {
			reply = map[string]any{"Status": "Fail", "Message": err.Error()}
		}
		w.Header().Set("Content-Type", "application/json")
		b, err := json.MarshalIndent(reply, "", "    ")
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b)
	}))
	t.Cleanup(be.Close)
	fe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, be.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(fe.Close)
	return strings.TrimPrefix(fe.URL, "http://"), strings.TrimPrefix(be.URL, "http://")
}
