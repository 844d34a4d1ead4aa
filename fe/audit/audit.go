// Package audit writes one line for each statement of a client: when, who,
// what, how long, and how it ended. Prepared statements are left out unless the
// session sets enable_prepared_stmt_audit_log.
package audit

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"dorisgo/fe/exec"
)

// maxStatement is how much of a statement's text is kept.
const maxStatement = 4096

// Log is an open audit log. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	f    *os.File
	buf  *bufio.Writer
	log  *slog.Logger
	stop chan struct{}
	done chan struct{}
}

var _ exec.Auditor = (*Log)(nil)

// Open appends to a file. Lines are written at least once a second.
func Open(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("cannot open the audit log: %w", err)
	}
	l := &Log{f: f, buf: bufio.NewWriterSize(f, 64<<10), stop: make(chan struct{}), done: make(chan struct{})}
	l.log = slog.New(slog.NewTextHandler(l.buf, nil))
	go l.flush()
	return l, nil
}

func (l *Log) flush() {
	defer close(l.done)
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
		}
		l.mu.Lock()
		// A full disk must not end the service; the line is lost.
		_ = l.buf.Flush()
		l.mu.Unlock()
	}
}

// Statement implements exec.Auditor.
func (l *Log) Statement(e *exec.AuditEntry) {
	text := string(e.Statement[:min(len(e.Statement), maxStatement)])
	state := "OK"
	if e.Err != nil {
		state = "ERR"
	}
	attrs := []any{
		"client", e.RemoteHost, "user", e.User, "db", e.DB, "state", state, "time_ms", e.Elapsed.Milliseconds(), "rows", e.Rows,
		"query_id", e.QueryID, "conn_id", e.ConnID, "prepared", e.Prepared, "stmt", text,
	}
	if e.Err != nil {
		attrs = append(attrs, "err", e.Err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.Info("statement", attrs...)
}

// Close writes what is left.
func (l *Log) Close() error {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.buf.Flush(); err != nil {
		return fmt.Errorf("cannot write the audit log: %w", err)
	}
	return l.f.Close()
}
