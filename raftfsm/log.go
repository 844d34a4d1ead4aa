package raftfsm

import (
	"bytes"
	"context"
	"log/slog"
)

// logWriter hands raft's log lines to a slog.Logger. Raft writes one line a
// call: time, level in brackets, text.
type logWriter struct{ logger *slog.Logger }

var levels = map[string]slog.Level{
	"TRACE": slog.LevelDebug, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError,
}

// Write implements io.Writer.
func (w *logWriter) Write(line []byte) (int, error) {
	level, text := slog.LevelInfo, bytes.TrimSpace(line)
	if _, rest, ok := bytes.Cut(text, []byte(" [")); ok {
		if name, msg, ok := bytes.Cut(rest, []byte("]")); ok {
			if l, known := levels[string(name)]; known {
				level, text = l, bytes.TrimSpace(msg)
			}
		}
	}
	w.logger.Log(context.Background(), level, string(text))
	return len(line), nil
}
