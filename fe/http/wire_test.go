package fehttp

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// wire is a client that speaks HTTP by hand.
type wire struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, c, bufio.NewReader(c)}
}

func (w *wire) send(s string) {
	w.t.Helper()
	if _, err := io.WriteString(w.c, s); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads one answer.
func (w *wire) answer() (line string, header map[string]string, body string) {
	w.t.Helper()
	header = map[string]string{}
	for first := true; ; first = false {
		s, err := w.r.ReadString('\n')
		if err != nil {
			w.t.Fatalf("after %q: %s", line, err)
		}
		s = strings.TrimRight(s, "\r\n")
		if s == "" {
			break
		}
		if first {
			line = s
			continue
		}
		k, v, _ := strings.Cut(s, ": ")
		header[strings.ToLower(k)] = v
	}
	n, err := strconv.Atoi(header["content-length"])
	if err != nil {
		rest, _ := io.ReadAll(w.r)
		return line, header, string(rest)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(w.r, b); err != nil {
		w.t.Fatal(err)
	}
	return line, header, string(b)
}

// closed waits for the end of the connection.
func (w *wire) closed() bool {
	_, err := w.r.ReadByte()
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

const putT3 = "PUT /api/db/t3/_stream_load HTTP/1.1\r\nHost: x\r\n"

// TestFraming: what says nothing, or nonsense, about its body's length ends the
// connection: what follows is never taken for a request.
func TestFraming(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 1<<30)
	smuggled := "GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, tt := range []struct {
		name, headers, body string
		line                string
		closed              bool
	}{
		{"no length", "", smuggled, "307", true},
		{"chunks go before a length", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "6\r\n1,a,2\n\r\n0\r\n\r\n", "307", false},
		{"a negative length", "Content-Length: -1\r\n", smuggled, "400", true},
		{"a length that is no number", "Content-Length: abc\r\n", smuggled, "400", true},
		{"a length with a sign", "Content-Length: +5\r\n", smuggled, "400", true},
		{"two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n", smuggled, "400", true},
		{"an empty transfer encoding", "Transfer-Encoding: \r\n", smuggled, "501", true},
		{"an unknown transfer encoding", "Transfer-Encoding: x\r\n", smuggled, "501", true},
		{"length 0", "Content-Length: 0\r\n", "", "307", false},
		{"chunked, only the last chunk", "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", "307", false},
		{"a body", "Content-Length: 6\r\n", "1,a,2\n", "307", false},
		{"a chunked body", "Transfer-Encoding: chunked\r\n", "6\r\n1,a,2\n\r\n0\r\n\r\n", "307", false},
	} {
		w := dial(t, addr)
		w.send(putT3 + basic("root", "") + tt.headers + "\r\n" + tt.body)
		line, _, body := w.answer()
		if !strings.HasPrefix(line, "HTTP/1.1 "+tt.line) {
			t.Errorf("%s: %s %s", tt.name, line, body)
		}
		if tt.closed {
			if !w.closed() {
				t.Errorf("%s: something follows the answer", tt.name)
			}
			continue
		}
		w.send(smuggled)
		if line, _, body := w.answer(); !strings.Contains(line, "200") || !strings.Contains(body, "total_backend_num") {
			t.Errorf("%s: the next request of the connection got %s %s", tt.name, line, body)
		}
	}
}

// TestKeepAlive: loads with bodies that are sent at once follow each other on one
// connection.
func TestKeepAlive(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 1<<30)
	w := dial(t, addr)
	for i, n := range []int{1 << 20, 0, 300_000, 5} {
		login := basic("root", "")
		want := "307"
		if i == 2 {
			login, want = basic("nobody", "x"), "401"
		}
		w.send(putT3 + login + fmt.Sprintf("Content-Length: %d\r\n\r\n", n) + strings.Repeat("x", n))
		if line, header, _ := w.answer(); !strings.Contains(line, want) || header["connection"] == "close" {
			t.Fatalf("request %d: %s %v", i, line, header)
		}
	}
}

// TestExpectIsNeverAnswered: a client that waits for 100 Continue hears the final
// answer alone, and its connection ends, since its body may come yet.
func TestExpectIsNeverAnswered(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 1<<30)
	for _, tt := range []struct{ name, login, length, want string }{
		{"a redirect", basic("root", ""), "Content-Length: 100000000\r\n", "307"},
		{"a redirect, chunked", basic("root", ""), "Transfer-Encoding: chunked\r\n", "307"},
		{"a bad login", basic("nobody", "x"), "Content-Length: 100000000\r\n", "401"},
		{"no login, chunked", "", "Transfer-Encoding: chunked\r\n", "401"},
	} {
		w := dial(t, addr)
		w.send(putT3 + tt.login + tt.length + "Expect: 100-continue\r\n\r\n")
		if line, header, _ := w.answer(); !strings.HasPrefix(line, "HTTP/1.1 "+tt.want) || header["connection"] != "close" {
			t.Errorf("%s: %s %v", tt.name, line, header)
		}
	}
}

// TestDrainIsBounded: a body that does not end, one that is announced as too long,
// and one that stops coming hold no connection.
func TestDrainIsBounded(t *testing.T) {
	f := &fakeFrontend{limits: func(l *Limits) { l.DrainIdle = 100 * time.Millisecond }}
	addr := start(t, f, 1<<20)
	for _, tt := range []struct {
		name, length string
		endless      bool
	}{
		{"endless", "Transfer-Encoding: chunked\r\n", true},
		{"announced as longer than the bound", "Content-Length: 100000000\r\n", true},
		{"stalled", "Content-Length: 1000\r\n", false},
	} {
		w := dial(t, addr)
		w.send(putT3 + basic("root", "") + tt.length + "\r\n")
		if tt.endless {
			chunk := fmt.Sprintf("%x\r\n%s\r\n", 64<<10, strings.Repeat("x", 64<<10))
			sent := 0
			for ; sent < 256<<20; sent += len(chunk) {
				if _, err := io.WriteString(w.c, chunk); err != nil {
					break
				}
			}
			if sent >= 256<<20 {
				t.Errorf("%s: the server took %d bytes", tt.name, sent)
			}
			continue
		}
		w.send("1,a,2\n")
		start := time.Now()
		if line, _, _ := w.answer(); !strings.Contains(line, "307") {
			t.Errorf("%s: %s", tt.name, line)
		}
		if !w.closed() || time.Since(start) > 10*time.Second {
			t.Errorf("%s: the connection lived for %s", tt.name, time.Since(start))
		}
	}
}

// TestLongHeaders: 1,500 column names are a header like others; what is over the
// server's limit is refused for its size and not for its login.
func TestLongHeaders(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 1<<30)
	w := dial(t, addr)
	w.send(putT3 + "columns: " + strings.Repeat("a_long_name_of_a_column_with_40_letters_,", 1500) + "z\r\n" + basic("root", "") + "Content-Length: 0\r\n\r\n")
	if line, header, _ := w.answer(); !strings.Contains(line, "307") {
		t.Errorf("60 KB: %s %v", line, header)
	}
	w = dial(t, addr)
	go func() {
		// The server answers before all has come.
		_, _ = io.WriteString(w.c, putT3+"columns: "+strings.Repeat("x", 2<<20)+"\r\n"+basic("root", "")+"Content-Length: 0\r\n\r\n")
	}()
	if line, _, body := w.answer(); !strings.Contains(line, "431") || strings.Contains(strings.ToLower(body), "denied") {
		t.Errorf("2 MB: %s %s", line, body)
	}
}

// TestProxyForm: the absolute form of a request line gives the same Location, byte
// for byte.
func TestProxyForm(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 1<<30)
	for _, path := range []string{"/api/db/t%20x/_stream_load?a=%26", "/api/db/%e7%bc%96/_stream_load?", "/api/d%2Fb/t3/_stream_load"} {
		for _, form := range []string{path, "http://fe.example:8030" + path} {
			w := dial(t, addr)
			w.send("PUT " + form + " HTTP/1.1\r\nHost: fe.example:8030\r\n" + basic("root", "") + "Content-Length: 0\r\n\r\n")
			if line, header, _ := w.answer(); header["location"] != "http://be1:8040"+path {
				t.Errorf("%s: %s %q", form, line, header["location"])
			}
		}
	}
}

// TestNoSecretIsLogged: whatever goes wrong, no password and no token is in the
// log or in an answer.
func TestNoSecretIsLogged(t *testing.T) {
	f := &fakeFrontend{}
	addr := start(t, f, 1<<20)
	const password = "p@:/%25#é"
	secrets := []string{password, "wrong-secret", "secret-token", "wrong-token",
		base64.StdEncoding.EncodeToString([]byte("u:" + password)), base64.StdEncoding.EncodeToString([]byte("u:wrong-secret"))}
	answers := ""
	for _, headers := range []string{
		basic("u", password), basic("u", "wrong-secret"), "token: secret-token\r\n", "token: wrong-token\r\n",
		basic("u", password) + "group_commit: x\r\n", basic("u", password) + "bad header\r\n", basic("u", password) + "Transfer-Encoding: x\r\n",
	} {
		w := dial(t, addr)
		w.send(putT3 + headers + "Content-Length: 6\r\n\r\n1,a,2\n")
		line, header, body := w.answer()
		answers += fmt.Sprint(line, header, body, "\n")
	}
	w := dial(t, addr)
	w.send(putT3 + basic("u", password) + "Content-Length: 60\r\n\r\n1,a,2\n")
	w.c.Close()
	for _, s := range secrets {
		if strings.Contains(answers, s) || strings.Contains(f.log.String(), s) {
			t.Errorf("%q is in an answer or in the log:\n%s\n%s", s, answers, f.log.String())
		}
	}
}
