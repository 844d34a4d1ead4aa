package fehttp

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

var drainBuffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// beginDrain says before the answer whether the connection can live on: not if a
// body may follow that nobody will read to its end.
func (s *Server) beginDrain(w http.ResponseWriter, r *http.Request) {
	if unframed(r) || r.Body != http.NoBody && !drains(r, s.o.Limits()) {
		w.Header().Set("Connection", "close")
	}
}

func drains(r *http.Request, l Limits) bool {
	return l.DrainBytes > 0 && r.ContentLength <= l.DrainBytes
}

// drain reads and drops what a client sends although its load was answered, so
// that it sees the answer and no broken connection. The answer must be written
// before, beginDrain called before that. A client that waits for 100 Continue never
// gets it: package http sends none after the answer was begun. Bounds are
// stream_load_redirect_bounded_drain_max_bytes and …_max_idle_time_ms.
func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	l := s.o.Limits()
	if r.Body == http.NoBody {
		return
	}
	rc := http.NewResponseController(w)
	if !drains(r, l) {
		// Package http reads some of the body by itself; not for ever.
		_ = rc.SetReadDeadline(time.Now().Add(l.DrainIdle)) // without a connection there is no body either
		return
	}
	// An empty write stands for the answer's beginning if it has no body.
	if _, err := w.Write(nil); err != nil || rc.EnableFullDuplex() != nil || rc.Flush() != nil {
		return
	}
	if readAway(r.Body, rc, l) {
		return
	}
	// The rest of the body may still come, and must not be taken for a request.
	if c, _, err := rc.Hijack(); err == nil {
		c.Close()
	}
}

// readAway reports whether the body came to its end within the bounds.
func readAway(body io.Reader, rc *http.ResponseController, l Limits) bool {
	buf := drainBuffers.Get().(*[]byte)
	defer drainBuffers.Put(buf)
	left := l.DrainBytes
	for until := time.Now().Add(l.DrainTime); left > 0 && time.Now().Before(until); {
		if rc.SetReadDeadline(time.Now().Add(l.DrainIdle)) != nil {
			return false
		}
		n, err := body.Read(*buf)
		left -= int64(n)
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
	return false
}
