package storage

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// pebbleLogger sends Pebble's log lines to slog: its running commentary as
// debug, errors as errors, and what it calls fatal to the root.
type pebbleLogger struct {
	log  *slog.Logger
	fail func(msg string)
}

// Infof implements pebble.Logger.
func (l pebbleLogger) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
	}
}

// Errorf implements pebble.Logger.
func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. Pebble goes on as if nothing had happened
// when it returns, so the root must be out of service by then.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fail("pebble: " + fmt.Sprintf(format, args...))
}

func pebbleEvents(log *slog.Logger) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) { log.Error("pebble: background error", "err", err) },
		DiskSlow:        func(i pebble.DiskSlowInfo) { log.Warn("pebble: disk is slow", "info", i.String()) },
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) { log.Warn("pebble: writes stall", "reason", i.Reason) },
		WriteStallEnd:   func() { log.Info("pebble: writes go on") },
	}
}
