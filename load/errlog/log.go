package errlog

import (
	"os"
	"path/filepath"
)

// Log is the error log of one load: a load.ErrorSink. It is used by one
// goroutine.
type Log struct {
	s      *Store
	name   string
	f      *os.File
	rows   int
	failed bool
}

// RowError writes one filtered row, unless the log has its rows already.
func (l *Log) RowError(reason string, line []byte) {
	if l.failed || l.rows >= l.s.o.MaxRows {
		return
	}
	if l.f == nil && !l.create() {
		return
	}
	buf := append([]byte("Reason: "), reason...)
	buf = append(buf, ". src line ["...)
	buf = append(buf, line...)
	buf = append(buf, "]; \n"...)
	if _, err := l.f.Write(buf); err != nil {
		l.fail(err)
		return
	}
	l.rows++
}

func (l *Log) create() bool {
	path := filepath.Join(l.s.o.Dir, filepath.FromSlash(l.name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.fail(err)
		return false
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o644)
	if err != nil {
		l.fail(err)
		return false
	}
	l.f = f
	return true
}

func (l *Log) fail(err error) {
	l.failed = true
	l.s.o.Logger.Warn("cannot write an error log", "file", l.name, "err", err)
}

// Name is the file's name for an ErrorURL, empty if no row was written.
func (l *Log) Name() string {
	if l.rows == 0 {
		return ""
	}
	return l.name
}

// Close closes the file; the log may be read from the first row on.
func (l *Log) Close() {
	if l.f == nil {
		return
	}
	if err := l.f.Close(); err != nil {
		l.fail(err)
	}
	l.f = nil
}
