package fehttp

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dorisgo/doriserr"
)

// fakeFrontend knows table db.t3, user root without a password, and user u.
type fakeFrontend struct {
	t     TableState
	to    Route
	route error
	asked RouteRequest
	// limits changes those of the test's server; log has all of its lines.
	limits func(*Limits)
	log    syncBuffer
	ready  bool
}

func (f *fakeFrontend) Authenticate(_ context.Context, c Credentials) error {
	if c.Token == "secret-token" || c.Token == "" && (c.User == "root" && c.Password == "" || c.User == "u" && c.Password == "p@:/%25#é") {
		return nil
	}
	return doriserr.New(doriserr.AccessDenied, "Access denied for user '%s'@'%s' (using password: YES)", c.User, "127.0.0.1")
}

func (f *fakeFrontend) Authorize(_ context.Context, user string, p Privilege, db, table string) error {
	if user == "root" || p == PrivLoad && table != "secret" {
		return nil
	}
	return doriserr.New(doriserr.NoPrivilege, "Access denied; you need (at least one of) the (%s) privilege(s) for this operation", p)
}

func (f *fakeFrontend) Table(_ context.Context, db, table string) (TableState, error) {
	s := f.t
	s.DatabaseExists = db == "db"
	s.TableExists = db == "db" && table != "none"
	return s, nil
}

func (f *fakeFrontend) RouteLoad(_ context.Context, r RouteRequest) (Route, error) {
	f.asked = r
	return f.to, f.route
}

func (f *fakeFrontend) LoadState(_ context.Context, db, label string) (string, error) {
	if label == "L" {
		return "VISIBLE", nil
	}
	return "UNKNOWN", nil
}

func (f *fakeFrontend) WalSizes(_ context.Context, want []HostPort) ([]WalSize, error) {
	if len(want) == 0 {
		want = []HostPort{{"127.0.0.1", 9050}, {"::1", 9050}}
	}
	var out []WalSize
	for _, w := range want {
		if w.Host == "nobody" {
			return nil, errors.New("Backend does not exist[nobody:1]")
		}
		out = append(out, WalSize{w, 3})
	}
	return out, nil
}

func (f *fakeFrontend) Health(context.Context) (Health, bool) { return Health{3, 2}, f.ready }

func (f *fakeFrontend) Bootstrap(context.Context) (Bootstrap, error) {
	return Bootstrap{ClusterID: "7", Token: "tk", Ready: f.ready, ReplayedJournalID: 42, QueryPort: 9030, RPCPort: 9020, Version: "v"}, nil
}

func (f *fakeFrontend) Backends(context.Context) ([]BackendInfo, error) {
	return []BackendInfo{{"h1", 8040, true}, {"h2", 8040, false}}, nil
}

func (f *fakeFrontend) SetConfig(_ context.Context, key, value string, _ bool) error {
	if key == "bad" {
		return errors.New("no such key")
	}
	return nil
}

func (f *fakeFrontend) Schema(_ context.Context, _, table string) (TableSchema, error) {
	if table == "none" {
		return TableSchema{}, doriserr.New(doriserr.UnknownTable, "Unknown table 'none'")
	}
	return TableSchema{"DUP_KEYS", []SchemaColumn{{"id", "INT", "", "", true}}}, nil
}

func (f *fakeFrontend) RowCount(context.Context, string, string) (int64, error) { return 12, nil }

// start serves a frontend on the loopback.
func start(t *testing.T, f *fakeFrontend, drain int64) string {
	t.Helper()
	if f.to.Host == "" {
		f.to.Endpoint = Endpoint{"be1", 8040}
	}
	f.ready = true
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Frontend: f, Limits: func() Limits {
		l := Limits{DrainBytes: drain, DrainIdle: 15 * time.Second, DrainTime: 30 * time.Second}
		if f.limits != nil {
			f.limits(&l)
		}
		return l
	}, Logger: slog.New(slog.NewTextHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Close(ctx)
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// ask sends a request and does not follow redirects.
func ask(t *testing.T, method, url, user, password string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// TestLoadChecks: the checks before the redirect, in Doris' order.
func TestLoadChecks(t *testing.T) {
	const unauthorized = `{"msg":"Unauthorized","code":401,"data":"`
	for _, tt := range []struct {
		name, path, user string
		headers          []string
		blocked          bool
		route            error
		status           int
		body             string
	}{
		{"a bad mode goes before the login", "/api/db/t3/_stream_load", "", []string{"group_commit", "x"}, false, nil, 200, "{\"status\":\"FAILED\",\"msg\":\"Header `group_commit` can only be `sync_mode`, `async_mode` or `off_mode`.\"}"},
		{"async: unknown database before the login", "/api/no/t3/_stream_load", "", []string{"group_commit", "async_mode"}, false, nil, 200, `{"status":"FAILED","msg":"database is invalid for dbName: no"}`},
		{"async: unknown table", "/api/db/none/_stream_load", "", []string{"group_commit", "ASYNC_MODE"}, false, nil, 200, `{"status":"FAILED","msg":"table is invalid: none"}`},
		{"async: blocked", "/api/db/t3/_stream_load", "", []string{"group_commit", "async_mode"}, true, nil, 200, `{"status":"FAILED","msg":"insert table t3 is blocked on schema change"}`},
		{"no login", "/api/db/t3/_stream_load", "", nil, false, nil, 401, unauthorized + `Need auth information.","count":0}`},
		{"a bad login", "/api/db/t3/_stream_load", "nobody", nil, false, nil, 401, unauthorized + "Access denied for user"},
		{"a bad token", "/api/db/t3/_stream_load", "", []string{"token", "x"}, false, nil, 401, unauthorized + "Invalid token: "},
		{"no privilege", "/api/db/secret/_stream_load", "u", nil, false, nil, 200, unauthorized + "Access denied; you need (at least one of) the (LOAD)"},
		{"no database", "/api/%20/t3/_stream_load", "root", nil, false, nil, 200, `{"status":"FAILED","msg":"No database selected."}`},
		{"no table", "/api/db/%20/_stream_load", "root", nil, false, nil, 200, `{"status":"FAILED","msg":"No table selected."}`},
		{"sync: unknown database", "/api/no/t3/_stream_load", "root", []string{"group_commit", "sync_mode"}, false, nil, 200, `{"status":"FAILED","msg":"Database not found."}`},
		{"sync: unknown table", "/api/db/none/_stream_load", "root", []string{"group_commit", "sync_mode"}, false, nil, 200, `{"status":"FAILED","msg":"OlapTable not found."}`},
		{"no group: the BE reports an unknown table", "/api/db/none/_stream_load", "root", nil, false, nil, 307, ""},
		{"no backend", "/api/db/t3/_stream_load", "root", nil, false, doriserr.New(doriserr.NoBackend, "No alive backend"), 200, `{"status":"FAILED","msg":"No alive backend"}`},
		{"a token", "/api/db/t3/_stream_load", "", []string{"token", "secret-token"}, false, nil, 307, ""},
		{"without Expect", "/api/db/t3/_stream_load", "u", nil, false, nil, 307, ""},
		{"stream: no statement", "/api/_http_stream", "root", nil, false, nil, 200, `{"status":"FAILED","msg":"parse db and tb with wrong sql:"}`},
		{"stream: no database", "/api/_http_stream", "root", []string{"sql", "insert into t3 select c1 from http_stream()"}, false, nil, 200, `{"status":"FAILED","msg":"parse db and tb with wrong sql:insert into t3 select c1 from http_stream()"}`},
		{"stream, async: unknown table before the login", "/api/_http_stream", "", []string{"sql", "insert into db.none(id) select c1", "group_commit", "async_mode"}, false, nil, 200, `{"status":"FAILED","msg":"table is invalid: none"}`},
		{"stream, sync: unknown database before the login", "/api/_http_stream", "", []string{"sql", "insert into no.t3 select c1", "group_commit", "sync_mode"}, false, nil, 200, `{"status":"FAILED","msg":"database is invalid for dbName: no"}`},
		{"stream, async: blocked", "/api/_http_stream", "", []string{"sql", "insert into db.t3 select c1", "group_commit", "async_mode"}, true, nil, 200, `{"status":"FAILED","msg":"insert table t3 is blocked on schema change"}`},
		{"stream, sync: blocked is for the backend to say", "/api/_http_stream", "root", []string{"sql", "insert into db.t3 select c1", "group_commit", "sync_mode"}, true, nil, 307, ""},
		{"stream: a bad mode", "/api/_http_stream", "", []string{"sql", "insert into db.t3 select c1", "group_commit", "x"}, false, nil, 200, "{\"status\":\"FAILED\",\"msg\":\"Header `group_commit` can only be"},
		{"stream: no login", "/api/_http_stream", "", []string{"sql", "insert into db.t3 select c1"}, false, nil, 401, unauthorized},
		{"stream: no privilege", "/api/_http_stream", "u", []string{"sql", "insert into db.secret select c1"}, false, nil, 200, unauthorized + "Access denied; you need (at least one of) the (LOAD)"},
		{"stream", "/api/_http_stream", "root", []string{"sql", "insert into `db`.`t3` (id) select c1 from http_stream('format'='csv')"}, false, nil, 307, ""},
		{"off mode", "/api/db/t3/_stream_load", "root", []string{"group_commit", "off_mode"}, true, nil, 307, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addr := start(t, &fakeFrontend{t: TableState{Blocked: tt.blocked}, route: tt.route}, 1<<30)
			password := map[string]string{"u": "p@:/%25#é", "nobody": "x"}[tt.user]
			res, body := ask(t, "PUT", "http://"+addr+tt.path, tt.user, password, strings.NewReader("1,a,2\n"), tt.headers...)
			if res.StatusCode != tt.status || !strings.HasPrefix(body, tt.body) {
				t.Errorf("%d %s\nwant %d %s", res.StatusCode, body, tt.status, tt.body)
			}
		})
	}
}

// TestRedirect: path and query come back byte for byte, and no login does.
func TestRedirect(t *testing.T) {
	for _, tt := range []struct {
		to        Endpoint
		uri, want string
	}{
		{Endpoint{"be1", 8040}, "/api/db/t3/_stream_load", "http://be1:8040/api/db/t3/_stream_load"},
		{Endpoint{"be1", 8040}, "/api/db/t%20x/_stream_load?a=%26", "http://be1:8040/api/db/t%20x/_stream_load?a=%26"},
		{Endpoint{"be1", 8040}, "/api/_http_stream", "http://be1:8040/api/_http_stream"},
		{Endpoint{"::1", 8040}, "/api/db/%E7%BC%96/_stream_load?", "http://[::1]:8040/api/db/%E7%BC%96/_stream_load?"},
	} {
		f := &fakeFrontend{to: Route{Endpoint: tt.to}}
		addr := start(t, f, 1<<30)
		res, _ := ask(t, "PUT", "http://"+addr+tt.uri, "u", "p@:/%25#é", nil, "sql", "insert into db.t3 select c1 from http_stream()")
		if got := res.Header.Get("Location"); res.StatusCode != 307 || got != tt.want {
			t.Errorf("%d %q, want %q", res.StatusCode, got, tt.want)
		}
	}
}

// TestGroupLoadsAreRoutedTogether: by header, else by the table's property.
func TestGroupLoadsAreRoutedTogether(t *testing.T) {
	for _, tt := range []struct {
		header, property string
		want             bool
	}{{"", "", false}, {"", "async_mode", true}, {"off_mode", "async_mode", false}, {"Sync_Mode", "off_mode", true}} {
		f := &fakeFrontend{t: TableState{GroupCommitMode: tt.property}}
		addr := start(t, f, 1<<30)
		res, _ := ask(t, "PUT", "http://"+addr+"/api/db/t3/_stream_load", "root", "", nil, "group_commit", tt.header)
		if want := (RouteRequest{DB: "db", Table: "t3", GroupCommit: tt.want, User: "root"}); res.StatusCode != 307 || f.asked != want {
			t.Errorf("%d %+v, want %+v", res.StatusCode, f.asked, want)
		}
	}
}

func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
}

// TestRedirectWithAndWithoutExpect: no 100 goes before the 307, and a client that
// sends its body at once still sees the 307.
func TestRedirectWithAndWithoutExpect(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 64<<20)
	for _, tt := range []struct {
		name, headers string
		size          int
	}{
		{"expecting", "Expect: 100-continue\r\nContent-Length: 100000000\r\n", 0},
		{"expecting, chunked", "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n", 0},
		{"sending at once", fmt.Sprintf("Content-Length: %d\r\n", 32<<20), 32 << 20},
		{"expecting and sending at once", fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n", 32<<20), 32 << 20},
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "PUT /api/db/t3/_stream_load HTTP/1.1\r\nHost: x\r\n"+basic("root", "")+tt.headers+"\r\n"); err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c, strings.Repeat("x", tt.size))
			sent <- err
		}()
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "HTTP/1.1 307") {
			t.Errorf("%s: first line %q, %v", tt.name, line, err)
		}
		if err := <-sent; err != nil {
			t.Errorf("%s: the sender met %v", tt.name, err)
		}
		c.Close()
	}
}

func TestInfo(t *testing.T) {
	f := &fakeFrontend{}
	addr := start(t, f, 0)
	for _, tt := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/api/health", 200, `{"msg":"success","code":0,"data":{"total_backend_num":3,"online_backend_num":2},"count":0}`},
		{"GET", "/api/bootstrap", 200, `{"msg":"success","code":0,"data":{"replayedJournalId":0,"queryPort":0,"rpcPort":0,"arrowFlightSqlPort":0,"version":""},"count":0}`},
		{"GET", "/api/bootstrap?cluster_id=7&token=tk", 200, `{"msg":"success","code":0,"data":{"replayedJournalId":42,"queryPort":9030,"rpcPort":9020,"arrowFlightSqlPort":0,"version":"v"},"count":0}`},
		{"GET", "/api/bootstrap?cluster_id=8&token=tk", 200, `{"msg":"invalid cluster id: 8","code":1,"data":null,"count":0}`},
		{"GET", "/api/bootstrap?cluster_id=7&token=x", 200, `{"msg":"invalid token","code":1,"data":null,"count":0}`},
		{"GET", "/api/backends?is_alive=true", 200, `{"msg":"success","code":0,"data":{"backends":[{"ip":"h1","http_port":8040,"is_alive":true}]},"count":0}`},
		{"GET", "/api/get_wal_size", 200, `{"msg":"success","code":0,"data":["127.0.0.1:9050:3","[::1]:9050:3"],"count":0}`},
		{"GET", "/api/get_wal_size?host_ports=h:1,h2:2", 200, `{"msg":"success","code":0,"data":["h:1:3","h2:2:3"],"count":0}`},
		{"GET", "/api/get_wal_size?host_ports=nobody:1", 200, `{"msg":"Error","code":1,"data":"Backend does not exist[nobody:1]","count":0}`},
		{"GET", "/api/get_wal_size?host_ports=h", 200, `{"msg":"Bad Request","code":403,"data":"host_ports must be host:port, separated by commas, found: h","count":0}`},
		{"GET", "/api/db/get_load_state?label=L", 200, `{"msg":"success","code":0,"data":"VISIBLE","count":0}`},
		{"GET", "/api/db/get_load_state?label=x", 200, `{"msg":"success","code":0,"data":"UNKNOWN","count":0}`},
		{"GET", "/api/db/get_load_state", 200, `{"msg":"Bad Request","code":403,"data":"Missing label","count":0}`},
		{"GET", "/api/db/t3/_schema", 200, `{"msg":"success","code":0,"data":{"keysType":"DUP_KEYS","properties":[{"name":"id","type":"INT","comment":"","aggregation_type":"","is_key":true}],"status":200},"count":0}`},
		{"GET", "/api/db/none/_schema", 200, `{"msg":"Not Found","code":404,"data":"Unknown table 'none'","count":0}`},
		{"GET", "/api/db/t3/_count", 200, `{"msg":"success","code":0,"data":{"size":12,"status":200},"count":0}`},
		{"GET", "/api/_set_config?a=1&bad=2", 200, `{"msg":"success","code":0,"data":{"err":[{"configName":"bad","configValue":"2","errInfo":"no such key"}],"persist":"","set":{"a":"1"}},"count":0}`},
		{"GET", "/api/show_proc?path=/", 200, `{"msg":"Error","code":1,"data":"show_proc is not supported yet, path: /","count":0}`},
		{"PUT", "/api/db/t3/_load", 200, `{"status":"FAILED","msg":"The mini load operation has been disabled by default, if you need to add disable_mini_load=false in fe.conf."}`},
		{"PUT", "/api/db/_stream_load_2pc", 200, `{"status":"FAILED","msg":"No transaction id or label selected."}`},
		{"PUT", "/api/db/t3/_stream_load_2pc", 200, `{"status":"FAILED","msg":"No transaction id or label selected."}`},
		{"GET", "/api/none", 404, `{"msg":"Not Found","code":404,"data":"Not Found","count":0}`},
		{"GET", "/metrics", 404, `{"msg":"Not Found","code":404,"data":"Not Found","count":0}`},
	} {
		if res, body := ask(t, tt.method, "http://"+addr+tt.path, "root", "", nil); res.StatusCode != tt.status || body != tt.want {
			t.Errorf("%s %s: %d %s\nwant %s", tt.method, tt.path, res.StatusCode, body, tt.want)
		}
	}
	f.ready = false
	if res, body := ask(t, "GET", "http://"+addr+"/api/health", "", "", nil); res.StatusCode != 503 || body != `{"msg":"Server is not ready","code":503,"data":null,"count":0}` {
		t.Errorf("health: %d %s", res.StatusCode, body)
	}
	if _, body := ask(t, "GET", "http://"+addr+"/api/bootstrap", "", "", nil); body != `{"msg":"not ready","code":1,"data":null,"count":0}` {
		t.Errorf("bootstrap: %s", body)
	}
}

// TestRoutesDemandPrivileges walks the table: every route refuses those without
// its privilege, and open ones need no login.
func TestRoutesDemandPrivileges(t *testing.T) {
	addr := start(t, &fakeFrontend{}, 0)
	for _, r := range routeTable {
		method, path, ok := strings.Cut(r.pattern, " ")
		if !ok {
			continue
		}
		url := "http://" + addr + strings.NewReplacer("{db}", "db", "{table}", "secret").Replace(path)
		res, body := ask(t, method, url, "", "", nil, "sql", "insert into db.secret select c1")
		if refused := res.StatusCode == 401; refused != (r.priv != PrivNone) {
			t.Errorf("%s without a login: %d %s", r.pattern, res.StatusCode, body)
		}
		if r.priv <= PrivLogin || strings.HasSuffix(path, "get_load_state") {
			continue
		}
		if _, body := ask(t, method, url, "u", "p@:/%25#é", nil, "sql", "insert into db.secret select c1"); !strings.Contains(body, `"code":401`) {
			t.Errorf("%s without the privilege: %s", r.pattern, body)
		}
	}
}
