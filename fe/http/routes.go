package fehttp

import "net/http"

// route is one path of the server and what it demands.
type route struct {
	// pattern is a method and path as package http matches them.
	pattern string
	priv    Privilege
	handle  func(*Server, http.ResponseWriter, *http.Request)
	// own says that the handler checks the login itself, since Doris wants other
	// checks before it.
	own bool
}

var routeTable = []route{
	{"PUT /api/{db}/{table}/_stream_load", PrivLoad, (*Server).streamLoad, true},
	{"PUT /api/{db}/_stream_load_2pc", PrivLogin, (*Server).twoPhase, false},
	{"PUT /api/{db}/{table}/_stream_load_2pc", PrivLogin, (*Server).twoPhase, false},
	{"PUT /api/_http_stream", PrivLoad, (*Server).httpStream, true},
	{"PUT /api/{db}/{table}/_load", PrivNone, (*Server).miniLoad, false},
	{"GET /api/{db}/get_load_state", PrivLoad, (*Server).loadState, false},
	{"GET /api/{db}/{table}/_schema", PrivSelect, (*Server).schema, false},
	{"GET /api/{db}/{table}/_count", PrivSelect, (*Server).count, false},
	{"GET /api/health", PrivNone, (*Server).health, false},
	{"GET /api/bootstrap", PrivNone, (*Server).bootstrap, false},
	{"GET /api/backends", PrivLogin, (*Server).backends, false},
	{"GET /api/get_wal_size", PrivOperator, (*Server).walSize, false},
	{"GET /api/_set_config", PrivAdmin, (*Server).setConfig, false},
	{"GET /api/show_proc", PrivAdmin, (*Server).showProc, false},
	{"GET /metrics", PrivNone, (*Server).metrics, false},
	{"/", PrivNone, (*Server).notFound, false},
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routeTable {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			if r.own || r.priv == PrivNone || s.admit(w, req, r.priv) {
				r.handle(s, w, req)
			}
		})
	}
	return mux
}
