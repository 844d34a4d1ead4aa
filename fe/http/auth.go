package fehttp

import (
	"net/http"
	"strings"

	"dorisgo/doriserr"
)

// needLogin is the data of a reply to a request without a login.
const needLogin = "Need auth information."

// login authenticates a request and returns its user, empty for the cluster
// token, which may do everything. No secret is ever logged.
func (s *Server) login(r *http.Request) (user string, err error) {
	c := Credentials{RemoteAddr: r.RemoteAddr, Token: r.Header.Get("token")}
	if c.Token != "" {
		if err := s.o.Frontend.Authenticate(r.Context(), c); err != nil {
			if doriserr.Is(err, doriserr.AccessDenied) {
				return "", doriserr.New(doriserr.AccessDenied, "Invalid token: it is not this cluster's")
			}
			return "", err
		}
		return "", nil
	}
	name, password, ok := r.BasicAuth()
	name, _, _ = strings.Cut(name, "@")
	if !ok || name == "" {
		return "", doriserr.New(doriserr.AccessDenied, needLogin)
	}
	c.User, c.Password = name, password
	return name, s.o.Frontend.Authenticate(r.Context(), c)
}

// allowed checks a privilege of a user that login returned.
func (s *Server) allowed(r *http.Request, user string, p Privilege, db, table string) error {
	if user == "" || p == PrivLogin {
		return nil
	}
	return s.o.Frontend.Authorize(r.Context(), user, p, db, table)
}

// admit lets a request in, or answers it.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, p Privilege) bool {
	user, err := s.login(r)
	if err == nil {
		err = s.allowed(r, user, p, r.PathValue("db"), r.PathValue("table"))
	}
	if err != nil {
		s.refuse(w, err)
		return false
	}
	return true
}

// refuse answers a request whose login or privilege was not good enough: in the
// body with code 401, and by the HTTP status if it was the login (Part A of
// docs/compatibility.md).
func (s *Server) refuse(w http.ResponseWriter, err error) {
	switch doriserr.KindOf(err) {
	case doriserr.AccessDenied:
		w.Header().Set("WWW-Authenticate", `Basic realm="dorisgo"`)
		answer(w, http.StatusUnauthorized, codeUnauthorized, err.Error())
	case doriserr.NoPrivilege:
		answer(w, http.StatusOK, codeUnauthorized, err.Error())
	default:
		fail(w, err)
	}
}
