package behttp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// wire is a client that speaks HTTP by hand.
type wire struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func (r *rig) dial() *wire {
	r.t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		r.t.Fatal(err)
	}
	return &wire{t: r.t, c: c, r: bufio.NewReader(c)}
}

const rootLogin = "Authorization: Basic cm9vdDo=\r\n"

// head sends a load's head; headers are lines.
func (w *wire) head(headers ...string) {
	w.t.Helper()
	w.send(loadHead(headers...))
}

func loadHead(headers ...string) string {
	return "PUT " + t3Path + " HTTP/1.1\r\nHost: x\r\ncolumn_separator: ,\r\n" + strings.Join(headers, "") + "\r\n"
}

func (w *wire) send(s string) {
	w.t.Helper()
	if _, err := io.WriteString(w.c, s); err != nil {
		w.t.Fatal(err)
	}
}

// status reads one status line and its headers.
func (w *wire) status() (line string, header map[string]string) {
	w.t.Helper()
	header = map[string]string{}
	for first := true; ; first = false {
		s, err := w.r.ReadString('\n')
		if err != nil {
			w.t.Fatal(err)
		}
		s = strings.TrimRight(s, "\r\n")
		switch {
		case first:
			line = s
		case s == "":
			return line, header
		default:
			k, v, _ := strings.Cut(s, ": ")
			header[strings.ToLower(k)] = v
		}
	}
}

// answer reads a whole final answer.
func (w *wire) answer() (line, body string, header map[string]string) {
	w.t.Helper()
	line, header = w.status()
	var n int
	if _, err := fmt.Sscan(header["content-length"], &n); err != nil {
		rest, _ := io.ReadAll(w.r)
		return line, string(rest), header
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(w.r, b); err != nil {
		w.t.Fatal(err)
	}
	return line, string(b), header
}

func (w *wire) closed() bool {
	_, err := w.r.ReadByte()
	return err != nil
}

func expect(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s: %q lacks %q", what, got, p)
		}
	}
}

// TestFraming: how long the body is must be said, once.
func TestFraming(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		name, headers, body string
		line, answer        string
		rows                int
	}{
		{"no length", rootLogin, "1,a,2\n", "200", "content_length is empty and transfer-encoding!=chunked, please set content_length or transfer-encoding=chunked", 0},
		{"chunked goes before a length", rootLogin + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "6\r\n1,a,2\n\r\n0\r\n\r\n", "200", `"Status": "Success"`, 1},
		{"a negative length", rootLogin + "Content-Length: -1\r\n", "", "400", "", 0},
		{"a length that is no number", rootLogin + "Content-Length: abc\r\n", "", "400", "", 0},
		{"a length with a sign", rootLogin + "Content-Length: +5\r\n", "", "400", "", 0},
		{"an unknown transfer encoding", rootLogin + "Transfer-Encoding: x\r\n", "", "501", "", 0},
		{"a control byte in a header", rootLogin + "line_delimiter: \x01\r\nContent-Length: 0\r\n", "", "400", "", 0},
		{"length 0", rootLogin + "Content-Length: 0\r\n", "", "200", `"Status": "Success"`, 0},
		{"chunked, only the last chunk", rootLogin + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", "200", `"Status": "Success"`, 0},
		{"a separator that is a tab", rootLogin + "line_delimiter: \t\r\nContent-Length: 6\r\n", "1,a,2\n", "200", `"Status": "Success"`, 1},
	} {
		w := r.dial()
		// One write: the server may end the connection right after the head.
		w.send(loadHead(tt.headers) + tt.body)
		line, body, _ := w.answer()
		expect(t, tt.name, line, "HTTP/1.1 "+tt.line)
		expect(t, tt.name, body, tt.answer)
		if got := r.f.taken(); len(got) != tt.rows {
			t.Errorf("%s: %d rows", tt.name, len(got))
		}
		if strings.Contains(tt.name, "no length") && !w.closed() {
			t.Errorf("%s: the connection lives on", tt.name)
		}
	}
}

// TestExpect: 100 Continue comes only when the body is wanted.
func TestExpect(t *testing.T) {
	r := newRig(t)
	good := rootLogin + "Expect: 100-continue\r\n"
	w := r.dial()
	w.head(good + "Content-Length: 6\r\nlabel: used\r\n")
	if line, _ := w.status(); line != "HTTP/1.1 100 Continue" {
		t.Fatalf("first line %q", line)
	}
	w.send("1,a,2\n")
	_, body, _ := w.answer()
	expect(t, "a good load", body, `"Status": "Success"`)

	w = r.dial()
	w.head(good + "Transfer-Encoding: chunked\r\ngroup_commit: sync_mode\r\n")
	if line, _ := w.status(); line != "HTTP/1.1 100 Continue" {
		t.Fatalf("first line %q", line)
	}
	w.send("6\r\n1,a,2\n\r\n0\r\n\r\n")
	_, body, _ = w.answer()
	expect(t, "a chunked load", body, `"Status": "Success"`, `"GroupCommit": true`)

	for _, tt := range []struct{ name, headers, line, want string }{
		{"a bad login", "Authorization: Basic eDp5\r\nExpect: 100-continue\r\nContent-Length: 100000000\r\n", "401", "NOT_AUTHORIZED"},
		{"a used label", good + "Content-Length: 100000000\r\nlabel: used\r\n", "200", "Label Already Exists"},
		{"a bad header", good + "Content-Length: 100000000\r\ntimeout: x\r\n", "200", "stoi"},
		{"too large", good + "Content-Length: 999999999999\r\n", "200", "streaming_load_max_mb"},
	} {
		w := r.dial()
		w.head(tt.headers)
		line, body, header := w.answer()
		expect(t, tt.name, line, "HTTP/1.1 "+tt.line)
		expect(t, tt.name, body, tt.want)
		if header["connection"] != "close" {
			t.Errorf("%s: headers %v", tt.name, header)
		}
	}
	// A client that does not wait for the 100 works too.
	w = r.dial()
	w.head(good + "Content-Length: 6\r\n")
	w.send("1,a,2\n")
	if line, _ := w.status(); line != "HTTP/1.1 100 Continue" {
		t.Fatalf("first line %q", line)
	}
	_, body, _ = w.answer()
	expect(t, "a hasty client", body, `"Status": "Success"`)
}

// TestFastSenderSeesTheReason: a load that fails early does not break the
// connection under a client that is still sending.
func TestFastSenderSeesTheReason(t *testing.T) {
	r := newRig(t)
	r.limits.DrainIdle = 10 * time.Second // the machine may be busy
	const size = 48 << 20
	w := r.dial()
	w.head(rootLogin + fmt.Sprintf("Content-Length: %d\r\n", size))
	sent := make(chan error, 1)
	go func() {
		chunk := strings.Repeat("1,a,2\n", 10000)
		_, err := io.WriteString(w.c, "x,a,2\n")
		for n := 6; n < size && err == nil; n += len(chunk) {
			_, err = io.WriteString(w.c, chunk[:min(len(chunk), size-n)])
		}
		sent <- err
	}()
	_, body, header := w.answer()
	expect(t, "the reply", body, "[DATA_QUALITY_ERROR]Encountered unqualified data, stop processing.", "ErrorURL", `"NumberLoadedRows": 0`)
	if header["connection"] != "close" {
		t.Errorf("headers %v", header)
	}
	if err := <-sent; err != nil {
		t.Errorf("the sender met %v", err)
	}
}

func TestKeepAlive(t *testing.T) {
	r := newRig(t)
	w := r.dial()
	for i, extra := range []string{"", "timeout: x\r\n", "group_commit: async_mode\r\n", "label: bad label\r\n", ""} {
		w.head(rootLogin + extra + "Content-Length: 6\r\n")
		w.send("1,a,2\n")
		line, body, header := w.answer()
		if !strings.Contains(line, "200") || header["connection"] == "close" {
			t.Fatalf("request %d: %s %v %s", i, line, header, body)
		}
	}
	if got := r.f.taken(); len(got) != 3 {
		t.Errorf("%d rows", len(got))
	}
}

// TestShortBody: a client that ends its side before the body is complete.
func TestShortBody(t *testing.T) {
	r := newRig(t)
	for _, mode := range []string{"off_mode", "sync_mode"} {
		w := r.dial()
		w.head(rootLogin + "Content-Length: 100\r\nlabel2: L\r\ngroup_commit: " + mode + "\r\n")
		w.send("1,a,2\n1,b")
		if err := w.c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_, body, _ := w.answer()
		expect(t, mode, body, "[NETWORK_ERROR]receive body don't equal with body bytes", `"Status": "Fail"`)
		if got := r.f.taken(); len(got) != 0 {
			t.Errorf("%s: rows %q of half a body", mode, got)
		}
	}
}

// TestTimeoutCountsForTheWholeLoad: a sender of one byte now and then, and a
// backend that does not answer.
func TestTimeoutCountsForTheWholeLoad(t *testing.T) {
	r := newRig(t)
	start := time.Now()
	w := r.dial()
	w.head(rootLogin + "Content-Length: 100000\r\ntimeout: 1\r\nlabel: slow\r\n")
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(50 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
				_, _ = io.WriteString(w.c, "1")
			}
		}
	}()
	_, body, _ := w.answer()
	close(stop)
	<-done
	expect(t, "a slow sender", body, "[TIMEOUT]load timeout", `"Status": "Fail"`)
	if took := time.Since(start); took > 2500*time.Millisecond || !r.f.labelFree("slow") {
		t.Errorf("took %s, label free %v", took, r.f.labelFree("slow"))
	}

	r.f.hold = make(chan struct{})
	start = time.Now()
	rep := r.put("1,a,2\n", "timeout", "1", "group_commit", "sync_mode")
	expect(t, "a slow backend", rep.load.Message, "[TIMEOUT]load timeout")
	if took := time.Since(start); took > 2500*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

// TestSlowSendersLeaveOthersAlone: hundreds of uploads that crawl take no worker
// from health, metrics and other loads.
func TestSlowSendersLeaveOthersAlone(t *testing.T) {
	r := newRig(t)
	for range 300 {
		w := r.dial()
		w.head(rootLogin + "Content-Length: 100000\r\ngroup_commit: sync_mode\r\n")
		w.send("1,a,2\n1")
	}
	start := time.Now()
	for range 20 {
		if rep := r.put("1,a,2\n"); rep.load.Status != statusSuccess {
			t.Fatalf("%s", rep.text)
		}
	}
	res, err := http.Get("http://" + r.addr + "/api/health")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("others took %s", took)
	}
}

// TestVanishedClient: a load whose client goes away while its group collects is
// told by its context.
func TestVanishedClient(t *testing.T) {
	r := newRig(t)
	r.f.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	req := r.request("PUT", t3Path, strings.NewReader("1,a,2\n"), "column_separator", ",", "group_commit", "sync_mode")
	failed := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(req.WithContext(ctx))
		if err == nil {
			res.Body.Close()
		}
		failed <- err
	}()
	<-r.f.started
	cancel()
	if err := <-failed; err == nil {
		t.Error("the client got an answer")
	}
	// Close waits for the handler.
	if err := r.s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.s.open.Load(); n != 0 {
		t.Errorf("%d loads are still open", n)
	}
}
