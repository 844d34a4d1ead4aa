package e2e

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// hop is one request of a load, without following a redirect.
func hop(tb testing.TB, url, user, password string, headers ...string) (status int, location, body string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPut, url, strings.NewReader("1,a\n"))
	if err != nil {
		tb.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, password)
	}
	req.Header.Set("column_separator", ",")
	for i := 0; i+1 < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	c := http.Client{Timeout: statementTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Location"), string(b)
}

// TestRedirectLogin: a login of any signs and a token work on both hops, a lost
// login is told, the path stays as it was sent, and no secret is in the log.
func TestRedirectLogin(t *testing.T) {
	const password, token = `p@:/%25#é?&"\`, "a-secret-token"
	a := startAlone(t, "cluster_token="+token, "sys_log_level=DEBUG")
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("CREATE TABLE db.t3 (id INT, s STRING) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	s.run(`CREATE USER u IDENTIFIED BY 'p@:/%25#é?&"\\'`)
	s.run("GRANT LOAD_PRIV ON *.*.* TO u")
	path := "/api/%64b/t%33/_stream_load?a=%26"
	fe := fmt.Sprintf("http://127.0.0.1:%d", a.feHTTP)
	be := fmt.Sprintf("http://127.0.0.1:%d%s", a.beHTTP, path)
	status, location, body := hop(t, fe+path, "u", password)
	if status != 307 || location != be {
		t.Fatalf("FE: %d %q %s, want %q", status, location, body, be)
	}
	loaded := 0
	for _, tt := range []struct {
		name, user, password string
		headers              []string
		status               int
		want                 string
	}{
		{"with the login", "u", password, nil, 200, `"Status": "Success"`},
		{"with the old form of the user", "u@default_cluster", password, nil, 200, `"Status": "Success"`},
		{"with the token", "", "", []string{"token", token}, 200, `"Status": "Success"`},
		{"the login is lost", "", "", nil, 401, "[NOT_AUTHORIZED]no valid Basic authorization"},
		{"a wrong password", "u", "wrong-secret", nil, 401, "[NOT_AUTHORIZED]Access denied for user 'u'"},
		{"a wrong token", "", "", []string{"token", "wrong-token"}, 401, "[NOT_AUTHORIZED]Invalid token"},
		{"a token with a login beside it", "u", password, []string{"token", "wrong-token"}, 401, "[NOT_AUTHORIZED]Invalid token"},
	} {
		status, _, body := hop(t, location, tt.user, tt.password, tt.headers...)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("BE, %s: %d %s", tt.name, status, body)
		}
		if status == 200 {
			loaded++
		}
		want := 307
		if tt.status == 401 {
			want = 401
		}
		if status, _, body := hop(t, fe+path, tt.user, tt.password, tt.headers...); status != want {
			t.Errorf("FE, %s: %d %s", tt.name, status, body)
		}
	}
	if n := s.value("SELECT count(*) FROM db.t3"); n != fmt.Sprint(loaded) {
		t.Errorf("%s rows, want %d", n, loaded)
	}
	a.stop()
	log, err := os.ReadFile(a.log)
	if err != nil {
		t.Fatal(err)
	}
	// The command line of the test has the token; what follows is the node's.
	_, lines, _ := strings.Cut(string(log), "\n")
	for _, secret := range []string{
		password, "wrong-secret", token, "wrong-token",
		base64.StdEncoding.EncodeToString([]byte("u:" + password)), base64.StdEncoding.EncodeToString([]byte("u:wrong-secret")),
	} {
		if strings.Contains(lines, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

// TestRedirectPolicy: operators give a backend addresses, and policies choose one
// of them; both survive a restart of the frontend.
func TestRedirectPolicy(t *testing.T) {
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("CREATE TABLE db.t (id INT, s STRING) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	own := fmt.Sprintf("127.0.0.1:%d", a.beHTTP)
	to := func(headers ...string) string {
		_, location, body := hop(t, fmt.Sprintf("http://127.0.0.1:%d/api/db/t/_stream_load", a.feHTTP), "root", "", headers...)
		if location == "" {
			return body
		}
		return strings.TrimSuffix(strings.TrimPrefix(location, "http://"), "/api/db/t/_stream_load")
	}
	is := func(what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	is("no tag", to(), own)
	is("public without a tag", to("redirect-policy", "public"), "public endpoint is null, please check be public endpoint config")
	name := s.run("SHOW BACKENDS")[0]
	backend := name[1] + ":" + name[2]
	for _, tt := range []struct{ set, want string }{
		{`"tag.public_endpoint" = "nowhere"`, "Invalid endpoint: nowhere, must be host:port"},
		{`"tag.public_endpoint" = "h:70000"`, "Invalid endpoint port: 70000"},
		{`"tag.location" = "group_a"`, "resource groups are not supported yet"},
		{`"disable_load" = "true"`, "backend property disable_load is not supported"},
	} {
		s.refused(`ALTER SYSTEM MODIFY BACKEND "`+backend+`" SET (`+tt.set+`)`, 0, tt.want)
	}
	s.refused(`ALTER SYSTEM MODIFY BACKEND "h:1" SET ("tag.public_endpoint" = "h:1")`, 0, "Backend does not exist[h:1]")
	s.run(`ALTER SYSTEM MODIFY BACKEND "` + backend + `" SET ("tag.public_endpoint" = "203.0.113.7:80", "tag.private_endpoint" = "[fd00::5]:8041")`)
	a.kill()
	a.start()
	s = connect(t, a.address("db"))
	eventually(t, 20*time.Second, "the backend takes loads", func() (bool, string) {
		got := to("redirect-policy", "direct")
		return got == own, got
	})
	is("SHOW BACKENDS", fmt.Sprint(s.run("SHOW BACKENDS")), `{"location" : "default", "private_endpoint" : "[fd00::5]:8041", "public_endpoint" : "203.0.113.7:80"}`)
	is("no policy", to(), "[fd00::5]:8041")
	is("public", to("redirect-policy", "public"), "203.0.113.7:80")
	is("random-be", to("redirect-policy", "random-be"), own)
	is("either, by a public address", to("redirect-policy", "public-private", "Host", "198.51.100.1:8030"), "203.0.113.7:80")
	s.refused(`ADMIN SET FRONTEND CONFIG ("streamload_redirect_policy" = "nearest")`, 0, "nearest")
	s.run(`ADMIN SET FRONTEND CONFIG ("streamload_redirect_policy" = "public")`)
	is("the key", to(), "203.0.113.7:80")
	is("the header before the key", to("redirect-policy", "direct"), own)
	s.run(`ALTER SYSTEM MODIFY BACKEND "` + backend + `" SET ("tag.public_endpoint" = "", "tag.private_endpoint" = "", "tag.location" = "default")`)
	s.run(`ADMIN SET FRONTEND CONFIG ("streamload_redirect_policy" = "")`)
	is("tags taken away", to(), own)
}
