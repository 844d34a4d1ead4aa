package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// reply is a Stream Load's answer.
type reply struct {
	TxnID        int64 `json:"TxnId"`
	Label        string
	GroupCommit  bool
	TwoPhase     string `json:"TwoPhaseCommit"`
	Status       string
	Existing     string `json:"ExistingJobStatus"`
	Message      string
	Total        int64  `json:"NumberTotalRows"`
	Loaded       int64  `json:"NumberLoadedRows"`
	Filtered     int64  `json:"NumberFilteredRows"`
	Unselected   int64  `json:"NumberUnselectedRows"`
	ErrorURL     string `json:"ErrorURL"`
	FirstErrorMg string `json:"FirstErrorMsg"`
}

// streamLoad sends a body to a node's HTTP port, with headers as key, value, …;
// a body of unknown length goes in chunks.
func streamLoad(ctx context.Context, port int, db, table string, body io.Reader, headers ...string) (*reply, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, fmt.Sprintf("http://127.0.0.1:%d/api/%s/%s/_stream_load", port, db, table), body)
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth("root", "")
	r.Header.Set("Expect", "100-continue")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	out := &reply{}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, errors.Join(fmt.Errorf("HTTP %d with %q", resp.StatusCode, b), err)
	}
	return out, nil
}

// mustLoad is a Stream Load that has to succeed.
func mustLoad(tb testing.TB, port int, db, table string, body io.Reader, headers ...string) *reply {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	r, err := streamLoad(ctx, port, db, table, body, headers...)
	if err != nil {
		tb.Fatal(err)
	}
	if r.Status != "Success" {
		tb.Fatalf("Stream Load of %s.%s: %+v", db, table, *r)
	}
	return r
}
