package behttp

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// smallBody is a body in bytes that is not worth ending a connection for.
const smallBody = 64 << 10

var drainBuffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// drain reads and drops a body until it ends, n bytes have come, the sender
// pauses for idle, or the time is up. It reports whether the body ended.
func drain(body io.Reader, rc *http.ResponseController, n int64, until time.Time, idle time.Duration) bool {
	buf := drainBuffers.Get().(*[]byte)
	defer drainBuffers.Put(buf)
	for n > 0 {
		next := time.Now().Add(idle)
		if next.After(until) {
			next = until
		}
		if rc.SetReadDeadline(next) != nil {
			return false // without a deadline a sender could hold us for ever
		}
		got, err := body.Read(*buf)
		n -= int64(got)
		if err != nil {
			return errors.Is(err, io.EOF)
		}
	}
	return false
}
