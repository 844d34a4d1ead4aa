package behttp

import (
	"net/http"
	"slices"
	"strconv"
)

// showConfig answers GET /api/show_config[?conf_item=key]: an array of
// [name, type, value, mutable].
func (s *Server) showConfig(w http.ResponseWriter, r *http.Request) {
	if s.o.Settings == nil {
		s.notFound(w, r)
		return
	}
	item := r.URL.Query().Get("conf_item")
	out := []byte{'['}
	for _, k := range s.o.Settings.List() {
		if item != "" && item != k.Name {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		for i, v := range []string{k.Name, k.Type, k.Value, strconv.FormatBool(k.Mutable)} {
			out = append(out, "[,,,"[i])
			out = appendJSONText(out, v)
		}
		out = append(out, ']')
	}
	writeJSON(w, http.StatusOK, append(out, ']'))
}

// updateConfig answers POST /api/update_config?key=value[&persist=true] with
// one result for each key.
func (s *Server) updateConfig(w http.ResponseWriter, r *http.Request) {
	if s.o.Settings == nil {
		s.notFound(w, r)
		return
	}
	if s.o.Admin != nil {
		l := loginOf(r)
		if !l.ok || s.o.Admin(r.Context(), l.user, l.password, l.token) != nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="dorisgo"`)
			writeText(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
	}
	query := r.URL.Query()
	persist := query.Get("persist") == "true"
	query.Del("persist")
	keys := make([]string, 0, len(query))
	for k := range query {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := []byte("[")
	for i, k := range keys {
		status, msg := "OK", ""
		if err := s.o.Settings.Update(k, query.Get(k), persist); err != nil {
			status, msg = "BAD", err.Error()
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, "\n    {\n        \"config_name\": "...)
		out = appendJSONText(out, k)
		out = append(out, ",\n        \"status\": "...)
		out = appendJSONText(out, status)
		out = append(out, ",\n        \"msg\": "...)
		out = appendJSONText(out, msg)
		out = append(out, "\n    }"...)
	}
	writeJSON(w, http.StatusOK, append(out, "\n]\n"...))
}
