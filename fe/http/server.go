package fehttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Options are what a Server is made of.
type Options struct {
	Frontend Frontend
	// Metrics answers GET /metrics; nil is Not Found.
	Metrics http.Handler
	// DrainBytes is stream_load_redirect_bounded_drain_max_bytes, 0 for none.
	// DrainIdle is …_max_idle_time_ms, 0 for a second; DrainTime bounds the
	// whole, 0 for 30 seconds.
	DrainBytes           int64
	DrainIdle, DrainTime time.Duration
	Logger               *slog.Logger
}

// DefaultDrainBytes is Doris' default of the key of DrainBytes.
const DefaultDrainBytes = 1 << 30

// Server is a frontend's HTTP server.
type Server struct {
	o    Options
	mux  *http.ServeMux
	http *http.Server
}

// New makes a server; Serve starts it.
func New(o Options) *Server {
	if o.DrainIdle <= 0 {
		o.DrainIdle = time.Second
	}
	if o.DrainTime <= 0 {
		o.DrainTime = 30 * time.Second
	}
	s := &Server{o: o}
	s.mux = s.routes()
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// ServeHTTP answers one request; tests call it without a listener.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Serve answers on a listener until Close, and then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http server at %s: %w", ln.Addr(), err)
	}
	return nil
}

// Close stops taking connections and waits for the open requests; when ctx ends
// their connections are cut.
func (s *Server) Close(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("cannot wait for open requests: %w", err), s.http.Close())
	}
	return nil
}
