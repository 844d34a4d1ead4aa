package fehttp

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"strings"

	"dorisgo/doriserr"
)

func (s *Server) notFound(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusNotFound, codeNotFound, "Not Found")
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if s.o.Metrics == nil {
		s.notFound(w, r)
		return
	}
	s.o.Metrics.ServeHTTP(w, r)
}

func (s *Server) loadState(w http.ResponseWriter, r *http.Request) {
	label := r.URL.Query().Get("label")
	if label == "" {
		answer(w, http.StatusOK, codeBadRequest, "Missing label")
		return
	}
	state, err := s.o.Frontend.LoadState(r.Context(), r.PathValue("db"), label)
	if err != nil {
		fail(w, err)
		return
	}
	ok(w, state)
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	h, ready := s.o.Frontend.Health(r.Context())
	if !ready {
		answer(w, http.StatusServiceUnavailable, codeUnavailable, nil)
		return
	}
	ok(w, struct {
		Total  int `json:"total_backend_num"`
		Online int `json:"online_backend_num"`
	}{h.Total, h.Online})
}

// bootstrap tells who this FE is to those who know the cluster's id and token.
func (s *Server) bootstrap(w http.ResponseWriter, r *http.Request) {
	b, err := s.o.Frontend.Bootstrap(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	if !b.Ready {
		writeJSON(w, http.StatusOK, common{Msg: "not ready", Code: codeError})
		return
	}
	data := struct {
		ReplayedJournalID  uint64 `json:"replayedJournalId"`
		QueryPort          int    `json:"queryPort"`
		RPCPort            int    `json:"rpcPort"`
		ArrowFlightSQLPort int    `json:"arrowFlightSqlPort"`
		Version            string `json:"version"`
	}{}
	q := r.URL.Query()
	id, token := q.Get("cluster_id"), q.Get("token")
	if id != "" && token != "" {
		switch {
		case id != b.ClusterID:
			writeJSON(w, http.StatusOK, common{Msg: "invalid cluster id: " + id, Code: codeError})
			return
		case subtle.ConstantTimeCompare([]byte(token), []byte(b.Token)) != 1:
			writeJSON(w, http.StatusOK, common{Msg: "invalid token", Code: codeError})
			return
		}
		data.ReplayedJournalID, data.QueryPort, data.RPCPort, data.Version = b.ReplayedJournalID, b.QueryPort, b.RPCPort, b.Version
	}
	ok(w, data)
}

func (s *Server) backends(w http.ResponseWriter, r *http.Request) {
	all, err := s.o.Frontend.Backends(r.Context())
	if err != nil {
		fail(w, err)
		return
	}
	type backend struct {
		IP    string `json:"ip"`
		Port  int    `json:"http_port"`
		Alive bool   `json:"is_alive"`
	}
	alive := r.URL.Query().Get("is_alive") == "true"
	list := []backend{}
	for _, b := range all {
		if b.Alive || !alive {
			list = append(list, backend{b.Host, b.HTTPPort, b.Alive})
		}
	}
	ok(w, map[string]any{"backends": list})
}

// walSize answers /api/get_wal_size[?host_ports=h:p,h2:p2] with the numbers of
// WAL files; ports are heartbeat ports.
func (s *Server) walSize(w http.ResponseWriter, r *http.Request) {
	var want []HostPort
	if text := r.URL.Query().Get("host_ports"); text != "" {
		for hp := range strings.SplitSeq(text, ",") {
			host, port, err := net.SplitHostPort(strings.TrimSpace(hp))
			n, bad := strconv.Atoi(port)
			if err != nil || bad != nil || host == "" || n < 1 || n > 65535 {
				answer(w, http.StatusOK, codeBadRequest, "host_ports must be host:port, separated by commas, found: "+hp)
				return
			}
			want = append(want, HostPort{host, n})
		}
	}
	sizes, err := s.o.Frontend.WalSizes(r.Context(), want)
	if err != nil {
		answer(w, http.StatusOK, codeError, err.Error())
		return
	}
	list := make([]string, len(sizes))
	for i, z := range sizes {
		list[i] = net.JoinHostPort(z.Host, strconv.Itoa(z.Port)) + ":" + strconv.Itoa(z.Files)
	}
	ok(w, list)
}

// setConfig answers /api/_set_config?key=value[&persist=true].
func (s *Server) setConfig(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	persist := q.Get("persist") == "true"
	q.Del("persist")
	type refused struct {
		Name  string `json:"configName"`
		Value string `json:"configValue"`
		Err   string `json:"errInfo"`
	}
	set, errs := map[string]string{}, []refused{}
	for k := range q {
		if err := s.o.Frontend.SetConfig(r.Context(), k, q.Get(k), persist); err != nil {
			errs = append(errs, refused{k, q.Get(k), err.Error()})
		} else {
			set[k] = q.Get(k)
		}
	}
	persisted := ""
	if persist && len(set) > 0 {
		persisted = "Persist to FE success"
	}
	ok(w, map[string]any{"set": set, "err": errs, "persist": persisted})
}

func (s *Server) showProc(w http.ResponseWriter, r *http.Request) {
	fail(w, doriserr.New(doriserr.Unsupported, "show_proc is not supported yet, path: %s", r.URL.Query().Get("path")))
}

func (s *Server) schema(w http.ResponseWriter, r *http.Request) {
	t, err := s.o.Frontend.Schema(r.Context(), r.PathValue("db"), r.PathValue("table"))
	if err != nil {
		fail(w, err)
		return
	}
	type column struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Comment     string `json:"comment"`
		Aggregation string `json:"aggregation_type"`
		Key         bool   `json:"is_key"`
	}
	columns := make([]column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = column{c.Name, c.Type, c.Comment, c.AggregationType, c.IsKey}
	}
	ok(w, struct {
		KeysType   string   `json:"keysType"`
		Properties []column `json:"properties"`
		Status     int      `json:"status"`
	}{t.KeysType, columns, http.StatusOK})
}

func (s *Server) count(w http.ResponseWriter, r *http.Request) {
	n, err := s.o.Frontend.RowCount(r.Context(), r.PathValue("db"), r.PathValue("table"))
	if err != nil {
		fail(w, err)
		return
	}
	ok(w, struct {
		Size   int64 `json:"size"`
		Status int   `json:"status"`
	}{n, http.StatusOK})
}
