package fehttp

import (
	"net/http"
	"sync"
	"time"
)

var drainBuffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// drain reads and drops what a client sends although its load was answered, so
// that it sees the answer and no broken connection. The answer must be written
// before. A client that waits for 100 Continue never gets it: package http sends
// none after the answer was begun. Bounds are
// stream_load_redirect_bounded_drain_max_bytes and …_max_idle_time_ms.
func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	left := s.o.DrainBytes
	if r.Body == http.NoBody || left == 0 || r.ContentLength > left {
		return
	}
	rc := http.NewResponseController(w)
	// An empty write stands for the answer's beginning if it has no body.
	if _, err := w.Write(nil); err != nil || rc.EnableFullDuplex() != nil || rc.Flush() != nil {
		return
	}
	buf := drainBuffers.Get().(*[]byte)
	defer drainBuffers.Put(buf)
	for until := time.Now().Add(s.o.DrainTime); left > 0 && time.Now().Before(until); {
		if rc.SetReadDeadline(time.Now().Add(s.o.DrainIdle)) != nil {
			return
		}
		n, err := r.Body.Read(*buf)
		left -= int64(n)
		if err != nil {
			return
		}
	}
}
