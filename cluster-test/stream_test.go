package clustertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// streamer sends Stream Loads to the FE and follows its redirect to a BE.
type streamer struct {
	http  *http.Client
	url   string
	group string
	// labels gives each load a label and repeats it until its fate is known.
	labels bool
}

func streams(mode string, labels bool) func(*cluster) sender {
	return func(c *cluster) sender {
		return &streamer{
			url: fmt.Sprintf("http://%s:8030/api/%s/%s/_stream_load", c.fe().ip, database, table), group: mode, labels: labels,
			http: &http.Client{
				Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, ExpectContinueTimeout: 5 * time.Second},
				CheckRedirect: func(r *http.Request, _ []*http.Request) error {
					r.SetBasicAuth("root", "") // as curl --location-trusted
					return nil
				},
			},
		}
	}
}

func (s *streamer) close() { s.http.CloseIdleConnections() }

func (s *streamer) send(ctx context.Context, e *entry) error {
	ctx, cancel := context.WithTimeout(ctx, statementTime)
	defer cancel()
	var body bytes.Buffer
	for id := e.first; id < e.first+int64(e.rows); id++ {
		fmt.Fprintf(&body, "%d,%s\n", id, note(id))
	}
	if !s.labels {
		_, err := s.put(ctx, body.Bytes(), "")
		return err
	}
	// The label makes a repetition safe: the load happens once, and the client
	// must come to know it.
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		existing, err := s.put(ctx, body.Bytes(), fmt.Sprintf("chaos-%d", e.first))
		if err == nil || existing == "FINISHED" {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errUndecided, err)
		}
	}
}

// errUndecided is a labelled load whose fate did not become known.
var errUndecided = errors.New("a labelled load stayed undecided")

// put sends one request; existing is the state of an earlier load with the
// label.
func (s *streamer) put(ctx context.Context, body []byte, label string) (existing string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, s.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.SetBasicAuth("root", "")
	for k, v := range map[string]string{"Expect": "100-continue", "column_separator": ",", "columns": "id,note", "group_commit": s.group} {
		req.Header.Set(k, v)
	}
	if label != "" {
		req.Header.Set("label", label)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	var m struct{ Status, ExistingJobStatus, Message string }
	if err := json.Unmarshal(b, &m); err != nil {
		return "", fmt.Errorf("HTTP %d, %q: %w", res.StatusCode, b, err)
	}
	// A publish timeout is a committed load that will be visible.
	if m.Status == "Success" || m.Status == "Publish Timeout" {
		return "", nil
	}
	return m.ExistingJobStatus, fmt.Errorf("HTTP %d, %s: %s", res.StatusCode, m.Status, m.Message)
}
