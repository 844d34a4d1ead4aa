package behttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func (r *rig) get(method, path string, headers ...string) (int, string) {
	r.t.Helper()
	res, err := http.DefaultClient.Do(r.request(method, path, nil, headers...))
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// TestRoutesDemandLogins walks the table: no route that needs a login answers
// without one.
func TestRoutesDemandLogins(t *testing.T) {
	r := newRig(t, func(o *Options) {
		o.Settings = fakeSettings{}
		o.Admin = func(_ context.Context, _, _, _ string) error { return errors.New("no") }
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "m 1\n") })
	})
	for _, route := range routeTable {
		method, path, ok := strings.Cut(route.pattern, " ")
		if !ok {
			continue
		}
		path = strings.NewReplacer("{db}", "db", "{table}", "t3").Replace(path)
		code, body := r.get(method, path, "Authorization", "", "group_commit", "off_mode")
		switch {
		case route.login == open && code != 200 && path != "/api/_load_error_log":
			t.Errorf("%s: %d %s", route.pattern, code, body)
		case route.login != open && code == 200 && !strings.Contains(body, `"Status": "Fail"`):
			t.Errorf("%s answers without a login: %s", route.pattern, body)
		}
	}
}

type fakeSettings struct{}

func (fakeSettings) List() []Setting {
	return []Setting{{"group_commit_insert_threads", "int32_t", "10", false}, {"group_commit_wal_path", "string", `/a"b`, true}}
}

func (fakeSettings) Update(key, value string, persist bool) error {
	if key != "group_commit_wal_path" {
		return errors.New("'" + key + "' is not supported to modify")
	}
	return nil
}

func TestSmallPaths(t *testing.T) {
	state := [2]bool{true, false}
	r := newRig(t, func(o *Options) {
		o.Settings = fakeSettings{}
		o.Health = func() (ready, stopping bool) { return state[0], state[1] }
		o.Registerer = prometheus.NewRegistry()
	})
	for _, tt := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/", 404, "Not Found"},
		{"GET", "/api/none", 404, "Not Found"},
		{"GET", "/metrics", 404, "Not Found"},
		{"GET", t3Path, 404, "Not Found"},
		{"POST", t3Path, 404, "Not Found"},
		{"GET", "/api/health", 200, `{"status": "OK","msg": "OK"}`},
		{"GET", "/api/_load_error_log?file=../../etc/passwd", 404, "Not Found"},
		{"HEAD", "/api/_load_error_log?file=x", 404, ""},
		{"GET", "/api/show_config", 200, `[["group_commit_insert_threads","int32_t","10","false"],["group_commit_wal_path","string","/a\"b","true"]]`},
		{"GET", "/api/show_config?conf_item=group_commit_wal_path", 200, `[["group_commit_wal_path","string","/a\"b","true"]]`},
		{"POST", "/api/update_config?group_commit_wal_path=/x&persist=true", 200, "[\n    {\n        \"config_name\": \"group_commit_wal_path\",\n        \"status\": \"OK\",\n        \"msg\": \"\"\n    }\n]\n"},
		{"POST", "/api/update_config?a=b", 200, "[\n    {\n        \"config_name\": \"a\",\n        \"status\": \"BAD\",\n        \"msg\": \"'a' is not supported to modify\"\n    }\n]\n"},
		{"PUT", "/api/db/_stream_load_2pc", 200, "{\n    \"status\": \"INVALID_ARGUMENT\",\n    \"msg\": \"No transaction id or label selected.\"\n}\n"},
		{"PUT", "/api/db/t3/_stream_load_2pc", 200, "{\n    \"status\": \"INVALID_ARGUMENT\",\n    \"msg\": \"No transaction id or label selected.\"\n}\n"},
		{"PUT", "/api/db/t3/_stream_load_forward?forward_to=x:1", 403, "Stream load forward is disabled"},
	} {
		if code, body := r.get(tt.method, tt.path); code != tt.code || body != tt.body {
			t.Errorf("%s %s: %d %q", tt.method, tt.path, code, body)
		}
	}
	for _, tt := range []struct {
		ready, stopping bool
		want            string
	}{{false, false, "Server is not ready"}, {false, true, "Server is shutting down"}} {
		state = [2]bool{tt.ready, tt.stopping}
		if code, body := r.get("GET", "/api/health"); code != 200 || !strings.Contains(body, tt.want) {
			t.Errorf("health: %d %s", code, body)
		}
	}
}

func TestErrorLogHead(t *testing.T) {
	r := newRig(t)
	rep := r.put("x,a,1\n")
	_, path, _ := strings.Cut(rep.load.ErrorURL, r.addr)
	res, err := http.DefaultClient.Do(r.request("HEAD", path, nil))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 || res.ContentLength <= 0 {
		t.Errorf("%d, length %d", res.StatusCode, res.ContentLength)
	}
}
