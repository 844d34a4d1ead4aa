package streamload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Reply is the answer to a load, a backend's or a frontend's.
type Reply struct {
	// HTTP is the HTTP status.
	HTTP int `json:"-"`
	// Host is who answered.
	Host              string `json:"-"`
	TxnID             int64  `json:"TxnId"`
	Label             string
	Status            string
	ExistingJobStatus string
	Message           string
	TotalRows         int64 `json:"NumberTotalRows"`
	LoadedRows        int64 `json:"NumberLoadedRows"`
	FilteredRows      int64 `json:"NumberFilteredRows"`
	UnselectedRows    int64 `json:"NumberUnselectedRows"`
	LoadBytes         int64
	ErrorURL          string
	FirstErrorMsg     string

	// Msg, Code and Data are of a frontend's own answers.
	Msg  string `json:"msg"`
	Code int    `json:"code"`
	Data any    `json:"data"`
}

// read takes an answer that is no redirect and closes it.
func read(res *http.Response) (*Reply, error) {
	defer res.Body.Close()
	host := res.Request.URL.Host
	b, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s broke off: %w", host, plain(err))
	}
	r := &Reply{HTTP: res.StatusCode, Host: host}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		if err := json.Unmarshal(b, r); err != nil {
			return nil, fmt.Errorf("the answer of %s is not Stream Load's (HTTP %d): %w", host, res.StatusCode, err)
		}
	}
	switch {
	case r.Message != "":
	case r.Msg != "" && r.Data != nil:
		r.Message = fmt.Sprintf("%s: %v", r.Msg, r.Data)
	case r.Msg != "":
		r.Message = r.Msg
	case r.Status == "":
		r.Message = fmt.Sprintf("HTTP %d: %s", res.StatusCode, excerpt(b))
	}
	return r, nil
}

// excerpt is the start of a page that is no answer of ours.
func excerpt(b []byte) string {
	s := strings.Join(strings.Fields(string(b)), " ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// discard reads the rest of a short answer, so that its connection can be used
// again.
func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // only the connection is at stake
	res.Body.Close()
}

// Verdict is what an answer means for the client.
type Verdict uint8

// The verdicts.
const (
	// Loaded: the rows are there, or committed and soon visible.
	Loaded Verdict = iota
	// Already: an earlier load under the label is committed or visible.
	Already
	// Running: an earlier load under the label has not ended yet.
	Running
	// Again: nothing was loaded for a reason that may pass, or the outcome is
	// not known; a retry under the same label is safe.
	Again
	// BadData: the load's own rows are the reason; others may go through.
	BadData
	// Refused: every load like this one would be refused.
	Refused
)

// String is the verdict's name in messages.
func (v Verdict) String() string {
	return [...]string{"loaded", "already loaded", "running", "to be tried again", "bad data", "refused"}[v]
}

// refusals are the codes in brackets of answers that the same request meets
// again.
var refusals = []string{
	"[ANALYSIS_ERROR]", "[INVALID_ARGUMENT]", "[NOT_AUTHORIZED]", "[NOT_IMPLEMENTED_ERROR]", "[DATA_FILE_TYPE_ERROR]", "[NOT_FOUND]", "[ALREADY_EXIST]",
}

// passing are texts of answers that look like refusals and pass.
var passing = []string{"is blocked on schema change", "schema version not match", "No backend available", "No alive backend", "No suitable backend"}

// Verdict says what the answer means.
func (r *Reply) Verdict() Verdict {
	switch r.Status {
	case "Success", "Publish Timeout":
		return Loaded
	case "Label Already Exists":
		switch r.ExistingJobStatus {
		case "FINISHED":
			return Already
		case "PRECOMMITTED": // it waits for somebody's commit or abort, not for time
			return Refused
		}
		return Running
	case "Unknown":
		return Again
	}
	for _, p := range passing {
		if strings.Contains(r.Message, p) {
			return Again
		}
	}
	switch {
	case r.HTTP == http.StatusUnauthorized, r.HTTP == http.StatusForbidden, r.Code == http.StatusUnauthorized:
		return Refused
	case r.HTTP == http.StatusTooManyRequests, r.HTTP == http.StatusRequestTimeout, r.HTTP >= 500:
		return Again
	case strings.HasPrefix(r.Message, "[DATA_QUALITY_ERROR]"), strings.Contains(r.Message, "too many filtered rows"):
		return BadData
	case r.Status == "FAILED", r.HTTP >= 400:
		return Refused
	}
	for _, code := range refusals {
		if strings.HasPrefix(r.Message, code) {
			return Refused
		}
	}
	return Again
}
