package main

import (
	"fmt"
	"log/slog"
	"os"

	"dorisgo/conf"
)

// newLogger makes a node's logger from the keys sys_log_level, sys_log_format
// and sys_log_file.
func newLogger(level *conf.Text, format, file string) (*slog.Logger, func() error, error) {
	out, closer := os.Stderr, func() error { return nil }
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot open the log: %w", err)
		}
		out, closer = f, f.Close
	}
	opts := &slog.HandlerOptions{Level: logLevel{level}}
	var h slog.Handler = slog.NewTextHandler(out, opts)
	if format == "json" {
		h = slog.NewJSONHandler(out, opts)
	}
	return slog.New(h), closer, nil
}

// logLevel follows sys_log_level, which may change at run time.
type logLevel struct{ text *conf.Text }

// Level implements slog.Leveler.
func (l logLevel) Level() slog.Level {
	switch l.text.Get() {
	case "DEBUG":
		return slog.LevelDebug
	case "WARN":
		return slog.LevelWarn
	case "ERROR", "FATAL":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// logClose ends something whose failure changes nothing any more but should be
// known.
func logClose(log *slog.Logger, what string, close func() error) {
	if err := close(); err != nil {
		log.Warn("closing "+what+" failed", "err", err)
	}
}
