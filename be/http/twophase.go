package behttp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"dorisgo/doriserr"
)

// twoPhaseTime bounds a second phase: the wait for a frontend and for VISIBLE.
const twoPhaseTime = 180 * time.Second

// twoPhase answers PUT /api/{db}[/{table}]/_stream_load_2pc: the second phase of
// two-phase commit. The table in the path is not looked at, so that an abort
// does not need it to exist.
func (s *Server) twoPhase(w http.ResponseWriter, r *http.Request) {
	l := loginOf(r)
	err := error(doriserr.New(doriserr.AccessDenied, "no valid Basic authorization"))
	if l.ok {
		err = s.o.Loader.Authenticate(r.Context(), l.user, l.password, l.token)
	}
	if err != nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="dorisgo"`)
		twoPhaseReply(w, http.StatusUnauthorized, doriserr.KindOf(err).LoadCode(), err.Error())
		return
	}
	f, err := parseTwoPhase(r)
	if err != nil {
		twoPhaseReply(w, http.StatusOK, doriserr.KindOf(err).LoadCode(), err.Error())
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), twoPhaseTime)
	defer cancel()
	if err := s.o.Loader.FinishTwoPhase(ctx, l.user, f); err != nil {
		status, msg := twoPhaseError(err, f)
		twoPhaseReply(w, http.StatusOK, status, msg)
		return
	}
	twoPhaseReply(w, http.StatusOK, statusSuccess, f.done())
}

// parseTwoPhase reads and checks the headers of a second phase.
func parseTwoPhase(r *http.Request) (*TwoPhase, error) {
	f := &TwoPhase{DB: r.PathValue("db"), Label: r.Header.Get("label")}
	id := strings.TrimSpace(r.Header.Get("txn_id"))
	if id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		switch {
		case err != nil:
			return nil, invalid("convert txn_id [%s] failed, reason=it is not a number", id)
		case n <= 0:
			return nil, invalid("convert txn_id [%s] failed, reason=ids start at 1", id)
		}
		f.TxnID = n
	} else if f.Label == "" {
		return nil, invalid("No transaction id or label selected.")
	}
	switch strings.ToLower(r.Header.Get("txn_operation")) {
	case "commit":
		f.Commit = true
	case "abort":
	default:
		return nil, invalid("transaction operation should be 'commit' or 'abort'")
	}
	rand.Read(f.RequestID[:])
	return f, nil
}

// done is the text of success; it names the transaction as the client did.
func (f *TwoPhase) done() string {
	text := f.operation() + " successfully."
	if f.TxnID != 0 {
		text = fmt.Sprintf("transaction [%d] %s", f.TxnID, text)
	}
	if f.Label != "" {
		text = fmt.Sprintf("label [%s] %s", f.Label, text)
	}
	return text
}

func (f *TwoPhase) operation() string {
	if f.Commit {
		return "commit"
	}
	return "abort"
}

// twoPhaseError words a refusal as Doris' frontend does.
func twoPhaseError(err error, f *TwoPhase) (status, msg string) {
	kind := doriserr.KindOf(err)
	switch {
	case kind == doriserr.Unknown:
		return statusUnknown, err.Error() + ": send the same " + f.operation() + " again"
	case kind.LoadCode() == "ANALYSIS_ERROR":
		return kind.LoadCode(), detail + err.Error()
	}
	return kind.LoadCode(), err.Error()
}

func twoPhaseReply(w http.ResponseWriter, httpStatus int, status, msg string) {
	o := object{buf: []byte{'{'}}
	o.text("status", status)
	o.text("msg", msg)
	writeJSON(w, httpStatus, o.end())
}
