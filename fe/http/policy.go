package fehttp

import (
	"net"
	"net/http"
	"strings"

	"dorisgo/doriserr"
)

// The policies that choose which of a backend's addresses a load is redirected to,
// by header redirect-policy or key streamload_redirect_policy.
const (
	// policyAuto: the public address if the client came by it, else the private
	// one if there is one, else the backend's own.
	policyAuto = ""
	// policyDirect: the backend's own address.
	policyDirect = "direct"
	// policyRandom: any backend's own address, also for loads that would go where
	// others of their table go.
	policyRandom = "random-be"
	// policyPublic, policyPrivate: that address, or the load is refused.
	policyPublic  = "public"
	policyPrivate = "private"
	// policyEither: private for clients that came by a private IP address, public
	// for other IP addresses and for names that say so, private for other names.
	policyEither = "public-private"
)

// choose finds the backend of a load and its address.
func (s *Server) choose(r *http.Request, q RouteRequest) (Endpoint, error) {
	policy := r.Header.Get("redirect-policy")
	if policy == "" {
		policy = s.o.Limits().RedirectPolicy
	}
	policy = strings.ToLower(policy)
	if policy == policyRandom {
		q.GroupCommit = false
	}
	switch policy {
	case policyAuto, policyDirect, policyRandom, policyPublic, policyPrivate, policyEither:
	default:
		return Endpoint{}, doriserr.New(doriserr.BadProperty, "Invalid redirect-policy: %s, must be direct, random-be, public, private or public-private", policy)
	}
	to, err := s.o.Frontend.RouteLoad(r.Context(), q)
	if err != nil {
		return Endpoint{}, err
	}
	return to.by(policy, hostOf(r.Host))
}

// hostOf is a Host header without its port and brackets.
func hostOf(h string) string {
	if host, _, err := net.SplitHostPort(h); err == nil {
		return host
	}
	return strings.Trim(h, "[]")
}

// by is the address for a client that named the frontend host.
func (t Route) by(policy, host string) (Endpoint, error) {
	public, private := t.Public != Endpoint{}, t.Private != Endpoint{}
	ip := net.ParseIP(host)
	switch policy {
	case policyDirect, policyRandom:
		return t.Endpoint, nil
	case policyPublic:
		if !public {
			return Endpoint{}, doriserr.New(doriserr.Analysis, "public endpoint is null, please check be public endpoint config")
		}
		return t.Public, nil
	case policyPrivate:
		if !private {
			return Endpoint{}, doriserr.New(doriserr.Analysis, "private endpoint is null, please check be private endpoint config")
		}
		return t.Private, nil
	case policyEither:
		switch {
		case ip == nil && public && strings.Contains(strings.ToLower(host), "public"):
			return t.Public, nil
		case ip == nil && private, ip.IsPrivate() && private:
			return t.Private, nil
		case ip != nil && public:
			return t.Public, nil
		}
		return Endpoint{}, doriserr.New(doriserr.Analysis, "Invalid header host: %s", host)
	}
	switch {
	case public && ip != nil && strings.EqualFold(host, t.Public.Host):
		return t.Public, nil
	case private:
		return t.Private, nil
	}
	return t.Endpoint, nil
}
