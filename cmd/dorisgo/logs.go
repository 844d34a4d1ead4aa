package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// newLogger makes a node's logger from the keys sys_log_level, sys_log_format
// and sys_log_file.
func newLogger(level, format, file string) (*slog.Logger, func() error, error) {
	var l slog.Level
	name := strings.ToUpper(level)
	if name == "FATAL" {
		name = "ERROR"
	}
	if err := l.UnmarshalText([]byte(name)); err != nil {
		return nil, nil, fmt.Errorf("sys_log_level: %w", err)
	}
	out, closer := os.Stderr, func() error { return nil }
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot open the log: %w", err)
		}
		out, closer = f, f.Close
	}
	opts := &slog.HandlerOptions{Level: l}
	var h slog.Handler = slog.NewTextHandler(out, opts)
	if format == "json" {
		h = slog.NewJSONHandler(out, opts)
	}
	return slog.New(h), closer, nil
}
