package fehttp

import (
	"strings"
	"testing"
)

// TestRedirectPolicies: which address a load is sent to.
func TestRedirectPolicies(t *testing.T) {
	own, public, private := Endpoint{"be1", 8040}, Endpoint{"203.0.113.7", 80}, Endpoint{"10.0.0.5", 8041}
	none, both := Route{Endpoint: own}, Route{own, public, private}
	onlyPublic, onlyPrivate := Route{Endpoint: own, Public: public}, Route{Endpoint: own, Private: private}
	for _, tt := range []struct {
		name           string
		header, config string
		host           string
		to             Route
		want           string
	}{
		{"no policy", "", "", "fe1:8030", none, "be1:8040"},
		{"no policy, by the public address", "", "", "203.0.113.7:8030", both, "203.0.113.7:80"},
		{"no policy, by another address", "", "", "198.51.100.1", both, "10.0.0.5:8041"},
		{"no policy, without a private address", "", "", "fe1", onlyPublic, "be1:8040"},
		{"direct", "direct", "", "fe1", both, "be1:8040"},
		{"the header goes before the key", "Direct", "public", "fe1", both, "be1:8040"},
		{"the key", "", "public", "fe1", both, "203.0.113.7:80"},
		{"random-be", "random-be", "", "fe1", both, "be1:8040"},
		{"public", "PUBLIC", "", "fe1", both, "203.0.113.7:80"},
		{"public, none", "public", "", "fe1", onlyPrivate, "public endpoint is null, please check be public endpoint config"},
		{"private", "private", "", "fe1", both, "10.0.0.5:8041"},
		{"private, none", "private", "", "fe1", onlyPublic, "private endpoint is null, please check be private endpoint config"},
		{"either, private address", "public-private", "", "192.168.1.1:8030", both, "10.0.0.5:8041"},
		{"either, private IPv6 address", "public-private", "", "[fd00::1]:8030", both, "10.0.0.5:8041"},
		{"either, private address, none", "public-private", "", "192.168.1.1:8030", onlyPublic, "203.0.113.7:80"},
		{"either, public address", "public-private", "", "198.51.100.1:8030", both, "203.0.113.7:80"},
		{"either, public address, none", "public-private", "", "198.51.100.1:8030", onlyPrivate, "Invalid header host: 198.51.100.1"},
		{"either, public name", "public-private", "", "fe.Public.example", both, "203.0.113.7:80"},
		{"either, another name", "public-private", "", "fe.example:8030", both, "10.0.0.5:8041"},
		{"either, another name, none", "public-private", "", "fe.example:8030", onlyPublic, "Invalid header host: fe.example"},
		{"either, nothing", "public-private", "", "fe.example:8030", none, "Invalid header host: fe.example"},
		{"unknown", "nearest", "", "fe1", both, "Invalid redirect-policy: nearest, must be direct, random-be, public, private or public-private"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fakeFrontend{to: tt.to, limits: func(l *Limits) { l.RedirectPolicy = tt.config }}
			addr := start(t, f, 1<<30)
			w := dial(t, addr)
			w.send("PUT /api/db/t%20x/_stream_load?a=%26 HTTP/1.1\r\nHost: " + tt.host + "\r\n" + basic("root", "") +
				"redirect-policy: " + tt.header + "\r\ngroup_commit: sync_mode\r\nContent-Length: 0\r\n\r\n")
			_, header, body := w.answer()
			got := strings.TrimSuffix(strings.TrimPrefix(header["location"], "http://"), "/api/db/t%20x/_stream_load?a=%26")
			if got != tt.want && body != `{"status":"FAILED","msg":"`+tt.want+`"}` {
				t.Errorf("%q %s, want %s", header["location"], body, tt.want)
			}
			if random := tt.header == "random-be"; f.asked.DB != "" && f.asked.GroupCommit == random {
				t.Errorf("asked %+v", f.asked)
			}
		})
	}
}
