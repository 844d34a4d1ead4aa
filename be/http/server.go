package behttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dorisgo/doriserr"
	"dorisgo/load"
	"dorisgo/load/errlog"
	"dorisgo/load/parquet"
)

// statusUnknown is the Status of a load whose outcome could not be learnt. It
// is none of Doris': no client takes it for success, and Fail would be a lie.
const statusUnknown = "Unknown"

// Limits are the keys that bound loads. They may change between requests.
type Limits struct {
	// StreamingLoadMaxMB is streaming_load_max_mb, StreamingLoadJSONMaxMB is
	// streaming_load_json_max_mb (JSON that is not read by line). Both count
	// packed and unpacked bytes.
	StreamingLoadMaxMB, StreamingLoadJSONMaxMB int64
	// MaxRowBytes is the longest row.
	MaxRowBytes int
	// StringLimit is string_type_length_soft_limit_bytes.
	StringLimit int
	// Timeout is stream_load_default_timeout_second; MinTimeout and MaxTimeout
	// bound header timeout, in whole seconds.
	Timeout, MinTimeout, MaxTimeout time.Duration
	// MemoryRows is group_commit_memory_rows_for_max_filter_ratio.
	MemoryRows int64
	// BlockBytes is the size of the blocks of a streamed load while there is
	// memory; each becomes one rowset of each tablet.
	BlockBytes int
	// DrainBytes, DrainTime and DrainIdle bound how long the rest of a body is
	// read after its load was answered.
	DrainBytes           int64
	DrainTime, DrainIdle time.Duration
}

// DefaultLimits are Doris' defaults.
func DefaultLimits() Limits {
	return Limits{
		StreamingLoadMaxMB: 102400, StreamingLoadJSONMaxMB: 100,
		MaxRowBytes: 64 << 20, StringLimit: 10485760,
		Timeout: 259200 * time.Second, MinTimeout: time.Second, MaxTimeout: 259200 * time.Second,
		MemoryRows: 10000, BlockBytes: 32 << 20,
		DrainBytes: 1 << 30, DrainTime: 30 * time.Second, DrainIdle: time.Second,
	}
}

// bodyLimit is the key and value in MB that bound a load's body.
func (l Limits) bodyLimit(h *head) (key string, mb int64) {
	if h.json && !h.jsonForm.ByLine {
		return "streaming_load_json_max_mb", l.StreamingLoadJSONMaxMB
	}
	return "streaming_load_max_mb", l.StreamingLoadMaxMB
}

func (l Limits) maxBody(h *head) int64 {
	_, mb := l.bodyLimit(h)
	return mb << 20
}

// groupBytes is how large a load may be to join a group. No load takes more
// than half of the budget, nor a block more than its vectors can hold.
func (l Limits) groupBytes(property, total int64) int {
	const most = 1 << 30
	if property <= 0 {
		property = 64 << 20
	}
	return int(min(property, total/2, most))
}

// Options are what a Server is made of.
type Options struct {
	Loader Loader
	// Compile makes programs of expressions in headers; nil refuses them.
	Compile func(ctx context.Context, s *load.ProgramSpec) (*load.Program, error)
	// Spool keeps Parquet bodies, OpenParquet opens one; nil refuses them.
	Spool       *Spool
	OpenParquet func(ctx context.Context, path string) (parquet.File, error)
	// Errors keeps filtered rows for ErrorURL.
	Errors *errlog.Store
	// Advertise is the host:port that clients reach this server by.
	Advertise string
	// Limits is asked at the start of every request.
	Limits func() Limits
	// MemoryBytes is the memory of all bodies that wait to become complete, and
	// MemoryWait how long a load waits for a part of it.
	MemoryBytes int64
	MemoryWait  time.Duration
	// MaxOpenLoads bounds the loads that are answered at a time.
	MaxOpenLoads int64
	// Settings may be nil: then there is no configuration interface.
	Settings Settings
	// Admin checks a login that changes the configuration; nil lets everybody,
	// as Doris does without enable_all_http_auth.
	Admin func(ctx context.Context, user, password, token string) error
	// Health says whether the node takes loads, and whether it is stopping.
	Health func() (ready, stopping bool)
	// Metrics answers GET /metrics; nil is Not Found. Registerer takes this
	// server's own metrics; nil drops them.
	Metrics    http.Handler
	Registerer prometheus.Registerer
	// Finished hears of each load that had a login, once it is answered; nil
	// drops it. It is called on the load's goroutine and must not block.
	Finished func(*Finished)
	// ErrorLogLimit is load_error_log_limit_bytes, 0 for 200 MB.
	ErrorLogLimit int64
	Logger        *slog.Logger
}

// Server is a backend's HTTP server.
type Server struct {
	o      Options
	m      *metrics
	budget *budget
	mux    *http.ServeMux
	http   *http.Server
	open   atomic.Int64
}

// New makes a server; Serve starts it.
func New(o Options) (*Server, error) {
	if o.Limits == nil {
		o.Limits = DefaultLimits
	}
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 512 << 20
	}
	if o.MemoryWait <= 0 {
		o.MemoryWait = 10 * time.Second
	}
	if o.MaxOpenLoads <= 0 {
		o.MaxOpenLoads = 8192
	}
	if o.ErrorLogLimit <= 0 {
		o.ErrorLogLimit = 209715200
	}
	if o.Compile == nil {
		o.Compile = func(context.Context, *load.ProgramSpec) (*load.Program, error) {
			return nil, doriserr.New(doriserr.Unsupported, "this backend evaluates no expressions")
		}
	}
	if o.Health == nil {
		o.Health = func() (ready, stopping bool) { return true, false }
	}
	s := &Server{o: o, budget: newBudget(o.MemoryBytes, o.MemoryWait)}
	m, err := newMetrics(o.Registerer, s)
	if err != nil {
		return nil, err
	}
	s.m = m
	s.mux = s.routes()
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       5 * time.Minute,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
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
	err := s.http.Shutdown(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("cannot wait for open requests: %w", err), s.http.Close())
	}
	return nil
}

// enter takes one of the places for open loads.
func (s *Server) enter() bool {
	if s.open.Add(1) > s.o.MaxOpenLoads {
		s.open.Add(-1)
		return false
	}
	return true
}

func (s *Server) leave() { s.open.Add(-1) }
