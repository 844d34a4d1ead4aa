package fehttp

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"dorisgo/sql/insert"
)

// streamLoad answers PUT /api/{db}/{table}/_stream_load with a redirect to a
// backend. The checks are in Doris' order.
func (s *Server) streamLoad(w http.ResponseWriter, r *http.Request) {
	s.beginDrain(w, r)
	refuse := s.redirectTo(w, r, r.PathValue("db"), r.PathValue("table"), false)
	if refuse != nil {
		refuse()
	}
	s.drain(w, r)
}

// redirectTo writes the redirect, or returns how to refuse the load. Of an HTTP
// stream Doris looks at the table before the login in sync_mode too.
func (s *Server) redirectTo(w http.ResponseWriter, r *http.Request, db, table string, stream bool) (refuse func()) {
	because := func(text string) func() { return func() { failed(w, text) } }
	ctx := r.Context()
	mode := strings.ToLower(r.Header.Get("group_commit"))
	switch mode {
	case "", "off_mode", "sync_mode", "async_mode":
	default:
		return because("Header `group_commit` can only be `sync_mode`, `async_mode` or `off_mode`.")
	}
	t, err := s.o.Frontend.Table(ctx, db, table)
	if err != nil {
		return because(err.Error())
	}
	if mode == "async_mode" || stream && mode == "sync_mode" {
		switch {
		case !t.DatabaseExists:
			return because("database is invalid for dbName: " + db)
		case !t.TableExists:
			return because("table is invalid: " + table)
		case t.Blocked && mode == "async_mode":
			return because("insert table " + table + " is blocked on schema change")
		}
	}
	user, err := s.login(r)
	if err != nil {
		return func() { s.refuse(w, err) }
	}
	switch {
	case strings.TrimSpace(db) == "":
		return because("No database selected.")
	case strings.TrimSpace(table) == "":
		return because("No table selected.")
	}
	if err := s.allowed(r, user, PrivLoad, db, table); err != nil {
		return func() { s.refuse(w, err) }
	}
	group := mode == "sync_mode" || mode == "async_mode"
	if group {
		switch {
		case !t.DatabaseExists:
			return because("Database not found.")
		case !t.TableExists:
			return because("OlapTable not found.")
		}
	}
	if mode == "" {
		// The table's property makes loads without the header group loads too:
		// they go where the others of the table go.
		group = t.GroupCommitMode == "sync_mode" || t.GroupCommitMode == "async_mode"
	}
	to, err := s.choose(r, RouteRequest{DB: db, Table: table, GroupCommit: group, User: user})
	if err != nil {
		return because(err.Error())
	}
	redirect(w, r, to)
	return nil
}

// redirect answers 307 to the same path and query, byte for byte. It carries no
// login: clients that follow keep the header themselves.
func redirect(w http.ResponseWriter, r *http.Request, to Endpoint) {
	w.Header().Set("Location", "http://"+net.JoinHostPort(to.Host, strconv.Itoa(to.Port))+target(r.RequestURI))
	w.Header().Set("Content-Type", "text/html;charset=UTF-8")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusTemporaryRedirect)
}

// target is the path and query of a request line as they were sent, also of the
// absolute form that proxies send.
func target(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok && !strings.HasPrefix(uri, "/") {
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			return rest[i:]
		}
	}
	return uri
}

// unframed says that a body may follow whose end nobody knows: there is neither a
// length nor chunks. What comes next on the connection is no request.
func unframed(r *http.Request) bool {
	return r.ContentLength == 0 && r.Header.Get("Content-Length") == "" && len(r.TransferEncoding) == 0
}

// twoPhase answers the second phase of two-phase commit with a redirect to a
// backend, which checks the privilege and asks the leader. Neither the table nor
// the database needs to exist any more: an abort must always be possible.
func (s *Server) twoPhase(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.TrimSpace(r.PathValue("db")) == "":
		failed(w, "No database selected.")
		return
	case r.Header.Get("txn_id") == "" && r.Header.Get("label") == "":
		failed(w, "No transaction id or label selected.")
		return
	case r.Header.Get("txn_operation") == "":
		failed(w, "No transaction operation('commit' or 'abort') selected.")
		return
	}
	to, err := s.choose(r, RouteRequest{DB: r.PathValue("db"), Table: r.PathValue("table")})
	if err != nil {
		failed(w, err.Error())
		return
	}
	redirect(w, r, to)
}

// httpStream answers PUT /api/_http_stream, whose table is in header sql, with a
// redirect to a backend.
func (s *Server) httpStream(w http.ResponseWriter, r *http.Request) {
	s.beginDrain(w, r)
	sql := r.Header.Get("sql")
	h, err := insert.ParseHeader([]byte(sql))
	if err == nil && h.DB != "" {
		if refuse := s.redirectTo(w, r, h.DB, h.Table, true); refuse != nil {
			refuse()
		}
	} else if _, err := s.login(r); err != nil {
		s.refuse(w, err)
	} else {
		failed(w, "parse db and tb with wrong sql:"+sql)
	}
	s.drain(w, r)
}

func (s *Server) miniLoad(w http.ResponseWriter, r *http.Request) {
	s.beginDrain(w, r)
	failed(w, "The mini load operation has been disabled by default, if you need to add disable_mini_load=false in fe.conf.")
	s.drain(w, r)
}
