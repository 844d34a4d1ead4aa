package behttp

import (
	"net/http"
	"strings"
)

// login is what a request says about who sends it. It is never logged.
type login struct {
	user, password, token string
	ok                    bool
}

// loginOf reads Basic authentication or the token header. The user's "@cluster"
// is dropped.
func loginOf(r *http.Request) login {
	if t := r.Header.Get("token"); t != "" {
		return login{token: t, ok: true}
	}
	user, password, ok := r.BasicAuth()
	user, _, _ = strings.Cut(user, "@")
	return login{user: user, password: password, ok: ok && user != ""}
}
