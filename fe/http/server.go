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
	// Limits is asked at every load; nil is DefaultLimits.
	Limits func() Limits
	Logger *slog.Logger
}

// Limits are the keys that redirects depend on. They may change between requests.
type Limits struct {
	// RedirectPolicy is streamload_redirect_policy.
	RedirectPolicy string
	// DrainBytes is stream_load_redirect_bounded_drain_max_bytes, 0 for none.
	// DrainIdle is …_max_idle_time_ms; DrainTime bounds the whole.
	DrainBytes           int64
	DrainIdle, DrainTime time.Duration
}

// DefaultLimits are Doris' defaults.
func DefaultLimits() Limits {
	return Limits{DrainBytes: 1 << 30, DrainIdle: time.Second, DrainTime: 30 * time.Second}
}

// Server is a frontend's HTTP server.
type Server struct {
	o    Options
	mux  *http.ServeMux
	http *http.Server
}

// New makes a server; Serve starts it.
func New(o Options) *Server {
	if o.Limits == nil {
		o.Limits = DefaultLimits
	}
	s := &Server{o: o}
	s.mux = s.routes()
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		ReadTimeout:       time.Minute, // drain sets its own
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
