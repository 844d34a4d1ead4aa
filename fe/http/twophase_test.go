package fehttp

import (
	"errors"
	"testing"
)

// TestSecondPhaseIsRedirected to any backend, whatever became of the table.
func TestSecondPhaseIsRedirected(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		headers    []string
		route      error
		status     int
		location   string
		body       string
	}{
		{"by id", "/api/db/_stream_load_2pc", []string{"txn_id", "1", "txn_operation", "commit"}, nil, 307, "http://be1:8040/api/db/_stream_load_2pc", ""},
		{"by label", "/api/db/none/_stream_load_2pc?a=b%20c", []string{"label", "l", "txn_operation", "abort"}, nil, 307, "http://be1:8040/api/db/none/_stream_load_2pc?a=b%20c", ""},
		{"no operation", "/api/db/_stream_load_2pc", []string{"txn_id", "1"}, nil, 200, "", `{"status":"FAILED","msg":"No transaction operation('commit' or 'abort') selected."}`},
		{"no database", "/api/%20/_stream_load_2pc", []string{"txn_id", "1", "txn_operation", "abort"}, nil, 200, "", `{"status":"FAILED","msg":"No database selected."}`},
		{"no backend", "/api/db/_stream_load_2pc", []string{"txn_id", "1", "txn_operation", "abort"}, errors.New("No backend available for load"), 200, "", `{"status":"FAILED","msg":"No backend available for load"}`},
	} {
		f := &fakeFrontend{route: tt.route}
		addr := start(t, f, 0)
		res, body := ask(t, "PUT", "http://"+addr+tt.path, "root", "", nil, tt.headers...)
		if res.StatusCode != tt.status || res.Header.Get("Location") != tt.location || body != tt.body {
			t.Errorf("%s: %d, %q, %s", tt.name, res.StatusCode, res.Header.Get("Location"), body)
		}
		if f.asked.GroupCommit {
			t.Errorf("%s: routed as group commit: %+v", tt.name, f.asked)
		}
	}
}
