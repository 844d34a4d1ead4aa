package behttp

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
)

// notFound answers paths that are not ours.
func (s *Server) notFound(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusNotFound, "Not Found")
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	// A client that is gone needs no answer.
	_, _ = io.WriteString(w, text)
}

// forward answers PUT …/_stream_load_forward, which is off unless its key is set.
func (s *Server) forward(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusForbidden, "Stream load forward is disabled")
}

// errorLog answers GET and HEAD /api/_load_error_log?file=…: what an ErrorURL
// names. The name cannot be guessed, so there is no login.
func (s *Server) errorLog(w http.ResponseWriter, r *http.Request) {
	f, size, err := s.o.Errors.Open(r.URL.Query().Get("file"))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.o.Logger.Warn("cannot read an error log", "err", err)
		}
		writeText(w, http.StatusNotFound, "Not Found")
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	size = min(size, s.o.ErrorLogLimit)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, io.LimitReader(f, size)); err != nil {
		s.o.Logger.Debug("an error log was not read to its end", "err", err)
	}
}

// health answers GET /api/health, always with status 200, as Doris does.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	body := `{"status": "OK","msg": "OK"}`
	switch ready, stopping := s.o.Health(); {
	case stopping:
		body = `{"status": "Server is not available","msg": "Server is shutting down"}`
	case !ready:
		body = `{"status": "Server is not available","msg": "Server is not ready"}`
	}
	writeJSON(w, http.StatusOK, []byte(body))
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if s.o.Metrics == nil {
		s.notFound(w, r)
		return
	}
	s.o.Metrics.ServeHTTP(w, r)
}
