package behttp

import "net/http"

// route is one path of the server.
type route struct {
	// pattern is a method and path as package http matches them.
	pattern string
	// login says who is let in; for the reader and the test that walks routes.
	login  access
	handle func(*Server, http.ResponseWriter, *http.Request)
}

// access is what a route demands.
type access uint8

const (
	open     access = iota // everybody
	loader                 // a login with LOAD on the table
	settings               // Options.Admin decides
)

var routeTable = []route{
	{"PUT /api/{db}/{table}/_stream_load", loader, (*Server).streamLoad},
	{"PUT /api/_http_stream", loader, (*Server).httpStream},
	{"PUT /api/{db}/_stream_load_2pc", loader, (*Server).twoPhase},
	{"PUT /api/{db}/{table}/_stream_load_2pc", loader, (*Server).twoPhase},
	{"PUT /api/{db}/{table}/_stream_load_forward", loader, (*Server).forward},
	{"GET /api/_load_error_log", open, (*Server).errorLog}, // HEAD too
	{"GET /api/health", open, (*Server).health},
	{"GET /metrics", open, (*Server).metrics},
	{"GET /api/show_config", open, (*Server).showConfig},
	{"POST /api/update_config", settings, (*Server).updateConfig},
	{"/", open, (*Server).notFound},
}

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routeTable {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { r.handle(s, w, req) })
	}
	return mux
}
