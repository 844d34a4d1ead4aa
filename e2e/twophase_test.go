package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ask sends a request to a node's HTTP port, follows redirects, and decodes the
// JSON that comes back.
func ask(tb testing.TB, method string, port int, path string, into any, headers ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.SetBasicAuth("root", "")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		tb.Fatalf("%s %s: HTTP %d with %q: %v", method, path, resp.StatusCode, b, err)
	}
}

// second asks for a second phase and wants an answer that starts with the status
// and has the text in it.
func second(tb testing.TB, port int, path, want, text string, headers ...string) {
	tb.Helper()
	var got struct{ Status, Msg string }
	ask(tb, http.MethodPut, port, path, &got, headers...)
	if got.Status != want || !strings.Contains(got.Msg, text) {
		tb.Errorf("%s %v: %q, %q; want %q, %q", path, headers, got.Status, got.Msg, want, text)
	}
}

func loadState(tb testing.TB, port int, db, label string) string {
	tb.Helper()
	var got struct{ Data string }
	ask(tb, http.MethodGet, port, "/api/"+db+"/get_load_state?label="+label, &got)
	return got.Data
}

// precommit is the first phase of a load of one row.
func precommit(tb testing.TB, port int, table, label string, id int, headers ...string) *reply {
	tb.Helper()
	h := append([]string{"column_separator", ",", "two_phase_commit", "true", "label", label}, headers...)
	r := mustLoad(tb, port, "db", table, strings.NewReader(fmt.Sprintf("%d,%d\n", id, id)), h...)
	if r.TwoPhase != "true" || r.GroupCommit || r.Message != "OK" || r.Label != label || r.Loaded != 1 {
		tb.Fatalf("first phase: %+v", *r)
	}
	return r
}

// TestTwoPhaseTexts: commit and abort, repeated and crossed, by id and label, on
// frontend and backend.
func TestTwoPhaseTexts(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createV(s, "t", "id INT NOT NULL, n INT NULL", 50)
	s.run("CREATE DATABASE other")
	const path, short = "/api/db/t/_stream_load_2pc", "/api/db/_stream_load_2pc"

	one := precommit(t, a.feHTTP, "t", "one", 1)
	id := fmt.Sprint(one.TxnID)
	if n := s.value("SELECT COUNT(*) FROM t"); n != "0" {
		t.Fatalf("%s rows before the second phase", n)
	}
	r, err := streamLoad(t.Context(), a.beHTTP, "db", "t", strings.NewReader("9,9\n"), "column_separator", ",", "label", "one")
	if err != nil || r.Status != "Label Already Exists" || r.Existing != "PRECOMMITTED" || r.TxnID != -1 || !strings.Contains(r.Message, "relate to txn ["+id+"], status [PRECOMMITTED]") {
		t.Errorf("the label again: %+v, %v", r, err)
	}
	second(t, a.feHTTP, "/api/other/_stream_load_2pc", "ANALYSIS_ERROR", "transaction ["+id+"] not found", "txn_id", id, "txn_operation", "commit")
	second(t, a.feHTTP, short, "ANALYSIS_ERROR", "not found", "txn_id", id, "label", "two", "txn_operation", "commit")
	second(t, a.feHTTP, short, "ANALYSIS_ERROR", "transaction [987654] not found", "txn_id", "987654", "txn_operation", "abort")
	second(t, a.feHTTP, path, "Success", "transaction ["+id+"] commit successfully.", "txn_id", id, "txn_operation", "commit")
	if n := s.value("SELECT COUNT(*) FROM t"); n != "1" {
		t.Errorf("%s rows after the commit", n)
	}
	second(t, a.beHTTP, short, "ANALYSIS_ERROR", "transaction ["+id+"] is already visible, not pre-committed.", "txn_id", id, "txn_operation", "commit")
	second(t, a.beHTTP, short, "ANALYSIS_ERROR", "transaction not found, label=one: transaction ["+id+"] is already visible, not pre-committed.", "label", "one", "txn_operation", "commit")
	second(t, a.beHTTP, short, "ANALYSIS_ERROR", "transaction ["+id+"] is already VISIBLE, could not abort.", "txn_id", id, "txn_operation", "abort")
	if got := s.run("SHOW TRANSACTION FROM db WHERE id = " + id)[0]; got[1] != "one" || got[3] != "VISIBLE" || got[6] == null {
		t.Errorf("SHOW TRANSACTION: %q", got)
	}

	two := precommit(t, a.beHTTP, "t", "two", 2, "group_commit", "async_mode")
	id = fmt.Sprint(two.TxnID)
	second(t, a.beHTTP, path, "Success", "label [two] abort successfully.", "label", "two", "txn_operation", "abort")
	second(t, a.beHTTP, path, "ANALYSIS_ERROR", "transaction ["+id+"] is already aborted. abort reason: User Abort", "txn_id", id, "txn_operation", "abort")
	second(t, a.beHTTP, path, "ANALYSIS_ERROR", "transaction ["+id+"] is already aborted. abort reason: User Abort", "txn_id", id, "txn_operation", "commit")
	second(t, a.beHTTP, path, "ANALYSIS_ERROR", "transaction not found, label=two", "label", "two", "txn_operation", "commit")
	if got := loadState(t, a.feHTTP, "db", "two"); got != "ABORTED" {
		t.Errorf("the aborted label is %s", got)
	}
	mustLoad(t, a.feHTTP, "db", "t", strings.NewReader("3,3\n"), "column_separator", ",", "label", "two")
	if n := s.value("SELECT SUM(id) FROM t"); n != "4" {
		t.Errorf("the ids sum up to %s", n)
	}

	// Without the table there is nothing to commit; an abort always goes.
	s.run("CREATE TABLE gone (id INT NOT NULL, n INT NULL) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
	precommit(t, a.feHTTP, "gone", "three", 1)
	s.run("DROP TABLE gone")
	second(t, a.feHTTP, "/api/db/gone/_stream_load_2pc", "ANALYSIS_ERROR", "its table db.gone was dropped", "label", "three", "txn_operation", "commit")
	second(t, a.feHTTP, "/api/db/gone/_stream_load_2pc", "Success", "", "label", "three", "txn_operation", "abort")
	four := precommit(t, a.feHTTP, "t", "four", 5)
	s.run("TRUNCATE TABLE t")
	second(t, a.feHTTP, short, "ANALYSIS_ERROR", "truncated or dropped", "label", "four", "txn_operation", "commit")
	s.run("DROP DATABASE db FORCE")
	second(t, a.feHTTP, short, "Success", "", "txn_id", fmt.Sprint(four.TxnID), "txn_operation", "abort")
	a.stop()
}

// TestTwoPhaseAcrossCrashes: a frontend and both backends die between the
// phases.
func TestTwoPhaseAcrossCrashes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 2)
	createV(connect(t, c.address("")), "t", "id INT NOT NULL, n INT NULL", 50)
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "%d,%d\n", i, i)
	}
	for _, label := range []string{"kept", "given-up"} {
		r := mustLoad(t, c.feHTTP, "db", "t", strings.NewReader(rows.String()), "column_separator", ",", "two_phase_commit", "true", "label", label)
		if r.TwoPhase != "true" || r.Loaded != 100 {
			t.Fatalf("first phase: %+v", *r)
		}
	}
	c.fe.kill()
	for _, b := range c.be {
		b.kill()
	}
	c.fe.start()
	for _, b := range c.be {
		b.start()
	}
	s := connect(t, c.address("db"))
	for _, label := range []string{"kept", "given-up"} {
		if got := loadState(t, c.feHTTP, "db", label); got != "PRECOMMITTED" {
			t.Fatalf("%s is %s after the crash", label, got)
		}
	}
	if n := s.value("SELECT COUNT(*) FROM t"); n != "0" {
		t.Fatalf("%s rows before the second phase", n)
	}
	second(t, c.feHTTP, "/api/db/_stream_load_2pc", "Success", "label [given-up] abort successfully.", "label", "given-up", "txn_operation", "abort")
	second(t, c.feHTTP, "/api/db/_stream_load_2pc", "Success", "label [kept] commit successfully.", "label", "kept", "txn_operation", "commit")
	eventually(t, settleTime, "the load is visible", func() (bool, string) {
		got := loadState(t, c.feHTTP, "db", "kept")
		if got != "COMMITTED" && got != "VISIBLE" {
			t.Fatalf("the load is %s after its commit", got)
		}
		return got == "VISIBLE", got
	})
	if n := s.value("SELECT COUNT(DISTINCT id) FROM t"); n != "100" {
		t.Errorf("%s different rows", n)
	}
	if n := s.value("SELECT COUNT(*) FROM t"); n != "100" {
		t.Errorf("%s rows", n)
	}
	for _, b := range c.be {
		b.stop()
	}
	c.fe.stop()
}

// TestOneLabelAtTheSameMoment: of loads that race for a label, over the frontend
// and every backend, exactly one wins.
func TestOneLabelAtTheSameMoment(t *testing.T) {
	t.Parallel()
	const racers = 16
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	c := startCluster(t, 2)
	s := connect(t, c.address(""))
	createV(s, "t", "id INT NOT NULL, n INT NULL", 50)
	doors := []int{c.feHTTP, c.be[0].http, c.be[1].http}
	for round := range rounds {
		label := fmt.Sprintf("race-%d", round)
		var wg sync.WaitGroup
		replies := make([]*reply, racers)
		for i := range racers {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), statementTime)
				defer cancel()
				var err error
				body := fmt.Sprintf("%d,%d\n", round*racers+i, i)
				if replies[i], err = streamLoad(ctx, doors[i%len(doors)], "db", "t", strings.NewReader(body), "column_separator", ",", "label", label); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		winner := -1
		for i, r := range replies {
			switch {
			case r.Status == "Success" && winner < 0:
				winner = i
			case r.Status == "Label Already Exists" && (r.Existing == "RUNNING" || r.Existing == "FINISHED"):
			default:
				t.Fatalf("round %d: %+v beside the winner %d", round, *r, winner)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d has no winner", round)
		}
		want := fmt.Sprint(round*racers + winner)
		got := s.run(fmt.Sprintf("SELECT id FROM t WHERE id >= %d", round*racers))
		if len(got) != 1 || got[0][0] != want {
			t.Fatalf("round %d: rows %v, want %s alone", round, got, want)
		}
	}
	for _, b := range c.be {
		b.stop()
	}
	c.fe.stop()
}

// TestLabelsGoBeforeGroups: a label and group commit together are a load of its
// own under that label, so that the retry is refused.
func TestLabelsGoBeforeGroups(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	createV(s, "t", "id INT NOT NULL, n INT NULL", 50)
	send := func() *reply {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), statementTime)
		defer cancel()
		r, err := streamLoad(ctx, a.feHTTP, "db", "t", strings.NewReader("1,1\n"), "column_separator", ",", "label", "L", "group_commit", "async_mode")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := send(); r.Status != "Success" || r.GroupCommit || r.Label != "L" {
		t.Errorf("%+v", *r)
	}
	if r := send(); r.Status != "Label Already Exists" || r.Existing != "FINISHED" || r.GroupCommit {
		t.Errorf("the same again: %+v", *r)
	}
	s.run("SET group_commit = async_mode")
	s.run("INSERT INTO t WITH LABEL M VALUES (2, 2)")
	s.refused("INSERT INTO t WITH LABEL M VALUES (2, 2)", 1105, "Label [M] has already been used")
	if n := s.value("SELECT COUNT(*) FROM t"); n != "2" {
		t.Errorf("%s rows", n)
	}
	// Only CLEAN LABEL frees a label that was used.
	s.run("CLEAN LABEL L FROM db")
	if got := loadState(t, a.feHTTP, "db", "L"); got != "UNKNOWN" {
		t.Errorf("a cleaned label is %s", got)
	}
	if r := send(); r.Status != "Success" {
		t.Errorf("after CLEAN LABEL: %+v", *r)
	}
	var shown []string
	for _, row := range s.run("SHOW STREAM LOAD FROM db WHERE label = 'L' ORDER BY StartTime") {
		shown = append(shown, row[4]+" "+row[8]) // Status and LoadedRows
	}
	if want := []string{"Success 1", "Label Already Exists 0", "Success 1"}; !slices.Equal(shown, want) {
		t.Errorf("SHOW STREAM LOAD: %q, want %q", shown, want)
	}
	// A client that goes away within its body leaves nothing behind.
	body, sender := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = streamLoad(ctx, a.beHTTP, "db", "t", body, "column_separator", ",", "label", "cut") // it is cut
	}()
	if _, err := io.WriteString(sender, "7,7\n"); err != nil {
		t.Fatal(err)
	}
	eventually(t, settleTime, "the load has begun", func() (bool, string) {
		got := loadState(t, a.feHTTP, "db", "cut")
		return got == "PREPARE", got
	})
	cancel()
	sender.CloseWithError(io.ErrUnexpectedEOF)
	<-done
	eventually(t, 5*time.Second, "the label is free", func() (bool, string) {
		got := loadState(t, a.feHTTP, "db", "cut")
		return got == "ABORTED", got
	})
	mustLoad(t, a.beHTTP, "db", "t", strings.NewReader("8,8\n"), "column_separator", ",", "label", "cut")
	if n := s.value("SELECT COUNT(*) FROM t WHERE id = 7"); n != "0" {
		t.Errorf("%s rows of the load that was cut", n)
	}
	a.stop()
}
