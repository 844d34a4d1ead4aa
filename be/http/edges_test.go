package behttp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestEmptyBodies: no byte, no row and one line end are one rule in every format
// and mode: Success without rows, and nothing stays open, however often.
func TestEmptyBodies(t *testing.T) {
	r := newRig(t)
	times := 0
	for _, format := range []struct {
		name    string
		headers []string
		bodies  []string
	}{
		{"csv", nil, []string{"", "\n", "\r\n\n"}},
		{"json", []string{"format", "json"}, []string{"", "\n"}},
		{"json, not by line", []string{"format", "json", "read_json_by_line", "false"}, []string{"", "\n"}},
		{"json array", []string{"format", "json", "strip_outer_array", "true"}, []string{"", "\n", "[]"}},
		{"gz", []string{"compress_type", "gz"}, []string{"", gz(t, ""), gz(t, "\n")}},
	} {
		for _, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
			for _, body := range format.bodies {
				for i := range 120 { // 4,680 in all
					var in io.Reader = strings.NewReader(body)
					if i%2 == 1 {
						in = struct{ io.Reader }{in} // chunked
					}
					req := httptest.NewRequest(http.MethodPut, t3Path, in)
					if i%2 == 1 {
						req.TransferEncoding = []string{"chunked"}
					} else {
						req.Header.Set("Content-Length", fmt.Sprint(len(body)))
					}
					req.SetBasicAuth("root", "")
					req.Header.Set("group_commit", mode)
					for j := 0; j < len(format.headers); j += 2 {
						req.Header.Set(format.headers[j], format.headers[j+1])
					}
					w := httptest.NewRecorder()
					r.s.ServeHTTP(w, req)
					times++
					if out := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(out, `"Status": "Success"`) || !strings.Contains(out, `"NumberTotalRows": 0`) {
						t.Fatalf("%s, %s, body %q, chunked %v: %d %s", format.name, mode, body, i%2 == 1, w.Code, out)
					}
				}
			}
		}
	}
	if n := r.s.open.Load(); n != 0 || len(r.f.taken()) != 0 {
		t.Errorf("%d loads are open after %d, rows %q", n, times, r.f.taken())
	}
}

// TestEmptyTransferEncoding: a header without a value says nothing, and what
// follows is no request.
func TestEmptyTransferEncoding(t *testing.T) {
	w := newRig(t).dial()
	w.send(loadHead(rootLogin+"Transfer-Encoding: \r\n") + "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n")
	line, _, _ := w.answer()
	expect(t, "the answer", line, "HTTP/1.1 501")
	if rest, err := io.ReadAll(w.r); err != nil || len(rest) > 0 {
		t.Errorf("%q follows, %v", rest, err)
	}
}

// TestLongHeaders: 1,500 column names are a header like others; what is over the
// server's limit is refused for its size and not for its login.
func TestLongHeaders(t *testing.T) {
	r := newRig(t)
	columns := "id, s, n"
	for i := range 1500 {
		columns += fmt.Sprintf(", a_long_name_of_a_column_%d", i)
	}
	w := r.dial()
	w.head("columns: "+columns+"\r\n", "Content-Length: 6\r\n", rootLogin)
	w.send("1,a,2\n")
	line, body, _ := w.answer()
	expect(t, "60 KB", line, "200")
	expect(t, "60 KB", body, "Column count mismatch: expected 1503, but found 3")
	w = r.dial()
	go func() {
		// The server answers before all has come.
		_, _ = io.WriteString(w.c, loadHead("columns: "+strings.Repeat("x", 2<<20)+"\r\n", rootLogin, "Content-Length: 6\r\n"))
	}()
	line, body, _ = w.answer()
	expect(t, "2 MB", line, "431")
	if strings.Contains(strings.ToLower(body), "denied") {
		t.Errorf("2 MB: %s", body)
	}
}

// logBuffer is a log that a test reads while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestNoSecretIsLogged: whatever goes wrong, no password and no token is in the
// log or in an answer.
func TestNoSecretIsLogged(t *testing.T) {
	var log logBuffer
	r := newRig(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	const password = "p@:/%25#é"
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	basic := func(password string) string { return "Authorization: Basic " + encode("u:"+password) + "\r\n" }
	answers := ""
	for _, headers := range []string{
		basic(password), basic("wrong-secret"), "token: secret-token\r\n", "token: wrong-token\r\n",
		basic(password) + "timeout: x\r\n", basic(password) + "bad header\r\n", basic(password) + "Transfer-Encoding: x\r\n",
	} {
		w := r.dial()
		w.send(loadHead(headers, "Content-Length: 6\r\n") + "1,a,2\n")
		line, body, header := w.answer()
		answers += fmt.Sprint(line, body, header, "\n")
	}
	w := r.dial()
	w.send(loadHead(basic(password), "Content-Length: 60\r\n") + "1,a,2\n")
	w.c.Close()
	if err := r.s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{password, "wrong-secret", "secret-token", "wrong-token", encode("u:" + password), encode("u:wrong-secret")} {
		if strings.Contains(answers, s) || strings.Contains(log.String(), s) {
			t.Errorf("%q is in an answer or in the log:\n%s\n%s", s, answers, log.String())
		}
	}
}
