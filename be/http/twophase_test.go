package behttp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"dorisgo/doriserr"
)

// secondPhase asks for a second phase and returns status and msg.
func (r *rig) secondPhase(path string, headers ...string) (code int, status, msg string) {
	r.t.Helper()
	code, body := r.get("PUT", path, headers...)
	var got struct{ Status, Msg string }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	return code, got.Status, got.Msg
}

// TestSecondPhase: what is asked of the frontend, and what the client reads.
func TestSecondPhase(t *testing.T) {
	const path = "/api/db/_stream_load_2pc"
	fe := func(k doriserr.Kind, text string) error { return doriserr.New(k, "%s", text) }
	for _, tt := range []struct {
		path        string
		headers     []string
		answer      error
		asked       *TwoPhase
		status, msg string
	}{
		{path, []string{"txn_id", "7", "txn_operation", "commit"}, nil, &TwoPhase{DB: "db", TxnID: 7, Commit: true}, "Success", "transaction [7] commit successfully."},
		{path, []string{"label", "l", "txn_operation", "abort"}, nil, &TwoPhase{DB: "db", Label: "l"}, "Success", "label [l] abort successfully."},
		{path, []string{"label", "l", "txn_id", "7", "txn_operation", "COMMIT"}, nil, &TwoPhase{DB: "db", TxnID: 7, Label: "l", Commit: true}, "Success", "label [l] transaction [7] commit successfully."},
		{"/api/d%C3%A9/gone/_stream_load_2pc", []string{"txn_id", " 7 ", "txn_operation", "abort"}, nil, &TwoPhase{DB: "dé", TxnID: 7}, "Success", "transaction [7] abort successfully."},
		{path, []string{"txn_operation", "commit"}, nil, nil, "INVALID_ARGUMENT", "No transaction id or label selected."},
		{path, []string{"txn_id", "x1", "txn_operation", "commit"}, nil, nil, "INVALID_ARGUMENT", "convert txn_id [x1] failed, reason=it is not a number"},
		{path, []string{"txn_id", "99999999999999999999", "txn_operation", "commit"}, nil, nil, "INVALID_ARGUMENT", "convert txn_id [99999999999999999999] failed, reason=it is not a number"},
		{path, []string{"txn_id", "0", "label", "l", "txn_operation", "commit"}, nil, nil, "INVALID_ARGUMENT", "convert txn_id [0] failed, reason=ids start at 1"},
		{path, []string{"txn_id", "-3", "txn_operation", "commit"}, nil, nil, "INVALID_ARGUMENT", "convert txn_id [-3] failed, reason=ids start at 1"},
		{path, []string{"txn_id", "7"}, nil, nil, "INVALID_ARGUMENT", "transaction operation should be 'commit' or 'abort'"},
		{path, []string{"txn_id", "7", "txn_operation", "rollback"}, nil, nil, "INVALID_ARGUMENT", "transaction operation should be 'commit' or 'abort'"},
		{
			path, []string{"txn_id", "7", "txn_operation", "commit"}, fe(doriserr.TxnState, "transaction [7] is already visible, not pre-committed."),
			&TwoPhase{DB: "db", TxnID: 7, Commit: true}, "ANALYSIS_ERROR", "TStatus: errCode = 2, detailMessage = transaction [7] is already visible, not pre-committed.",
		},
		{
			path, []string{"label", "l", "txn_operation", "commit"}, fe(doriserr.TxnNotFound, "transaction not found, label=l"),
			&TwoPhase{DB: "db", Label: "l", Commit: true}, "ANALYSIS_ERROR", "TStatus: errCode = 2, detailMessage = transaction not found, label=l",
		},
		{
			path, []string{"label", "l", "txn_operation", "commit"}, fe(doriserr.NoBackend, "Failed to commit txn 7"),
			&TwoPhase{DB: "db", Label: "l", Commit: true}, "INTERNAL_ERROR", "Failed to commit txn 7",
		},
		{
			path, []string{"label", "l", "txn_operation", "abort"}, fe(doriserr.Unknown, "no leader"),
			&TwoPhase{DB: "db", Label: "l"}, "Unknown", "no leader: send the same abort again",
		},
		{path, []string{"txn_id", "7", "txn_operation", "commit", "Authorization", "Basic dTpwQDovJTI1I8Op"}, nil, nil, "NOT_AUTHORIZED", "LOAD command denied to user 'u' for database 'db'"},
	} {
		r := newRig(t)
		r.f.finish = func(*TwoPhase) error { return tt.answer }
		code, status, msg := r.secondPhase(tt.path, tt.headers...)
		if code != http.StatusOK || status != tt.status || msg != tt.msg {
			t.Errorf("%v: %d, %q, %q; want %q, %q", tt.headers, code, status, msg, tt.status, tt.msg)
		}
		if tt.asked == nil {
			if len(r.f.finished) > 0 {
				t.Errorf("%v: the frontend was asked %+v", tt.headers, r.f.finished)
			}
			continue
		}
		if len(r.f.finished) != 1 {
			t.Fatalf("%v: the frontend was asked %+v", tt.headers, r.f.finished)
		}
		got := r.f.finished[0]
		if got.RequestID == ([16]byte{}) {
			t.Errorf("%v: without a request id", tt.headers)
		}
		if got.RequestID = [16]byte{}; got != *tt.asked {
			t.Errorf("%v: the frontend was asked %+v", tt.headers, got)
		}
	}
}

func TestSecondPhaseDemandsALogin(t *testing.T) {
	for _, auth := range []string{"", "Basic eDp5"} {
		r := newRig(t)
		code, status, _ := r.secondPhase("/api/db/_stream_load_2pc", "txn_id", "7", "txn_operation", "commit", "Authorization", auth)
		if code != http.StatusUnauthorized || status != "NOT_AUTHORIZED" || len(r.f.finished) > 0 {
			t.Errorf("%q: %d, %s, %v", auth, code, status, r.f.finished)
		}
	}
}

// TestTwoPhaseIsNoGroupCommit: two phases are a load of their own, whatever
// group commit was asked for.
func TestTwoPhaseIsNoGroupCommit(t *testing.T) {
	for _, mode := range []string{"async_mode", "sync_mode", "off_mode"} {
		r := newRig(t)
		got := r.put("1,a,2\n", "group_commit", mode, "two_phase_commit", "true")
		if l := got.load; l.Status != statusSuccess || l.Message != "OK" || l.TwoPhaseCommit != "true" || strings.Contains(got.text, "GroupCommit") || l.NumberLoadedRows != 1 {
			t.Errorf("%s: %s", mode, got.text)
		}
		if call := r.f.lastCall(); !strings.HasPrefix(call, "normal ") || !strings.HasSuffix(call, " two phases=true") {
			t.Errorf("%s: %s", mode, call)
		}
	}
}
