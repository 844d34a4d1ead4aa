package exec

import (
	"strings"
	"testing"

	"dorisgo/client"
	"dorisgo/meta"
	"dorisgo/meta/txn"
)

// cells are the rows of a result, a NULL as its two characters.
func cells(r *client.Result) (out [][]string) {
	for _, row := range r.Rows {
		var line []string
		for _, c := range row {
			if c == nil {
				line = append(line, `\N`)
			} else {
				line = append(line, *c)
			}
		}
		out = append(out, line)
	}
	return out
}

// transactions makes db.t3 and one transaction in each state.
func transactions(t *testing.T, w *world, run func(string) (*client.Result, error)) {
	t.Helper()
	must(t, run, "CREATE DATABASE db", "USE db", createT3)
	var table *meta.Table
	var be *meta.Backend
	w.View(func(st *meta.State) { table, be = st.Tables(0)[0], st.Backends()[0] })
	do := func(c meta.Command) *txn.Txn {
		t.Helper()
		res, err := w.Change(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return res.Txn
	}
	owner := txn.Owner{BackendID: be.ID, BootEpoch: 1, OwnerEpoch: 1}
	begin := func(label string, ms int64) *txn.Txn {
		return do(&meta.BeginTxn{
			DBID: table.DBID, TableID: table.ID, TableEpoch: table.Epoch, SchemaVersion: table.SchemaVersion, Label: label,
			Owner: owner, TimeoutMs: 5000, Source: txn.BackendStreaming, Coordinator: "BE: be1", WallMs: ms,
		})
	}
	begin("prepared", 1000)
	do(&meta.CommitTxn{TxnID: begin("precommitted", 1000).ID, Owner: owner, TwoPhase: true, WallMs: 2000})
	do(&meta.CommitTxn{TxnID: begin("visible", 1000).ID, Owner: owner, WallMs: 3000})
	do(&meta.AbortTxn{TxnID: begin("aborted", 1000).ID, Owner: owner, Reason: "bad rows", WallMs: 4000})
	do(&meta.CommitTxn{TxnID: begin("Visible", 1000).ID, Owner: owner, WallMs: 3000})
}

func TestShowTransaction(t *testing.T) {
	w, session := start(t)
	run := session("root")
	transactions(t, w, run)
	for _, tt := range []struct{ where, want string }{
		{"id = 1", "prepared"},
		{"label = 'visible'", "visible"},
		{"label = 'Visible'", "Visible"},
		{"status = 'precommitted'", "precommitted"},
		{"status = 'VISIBLE'", "visible Visible"},
		{"label = 'visible' AND status = 'visible'", "visible"},
		{"label LIKE 'pre%' ORDER BY TransactionId DESC", "precommitted prepared"},
		{"status != 'visible' LIMIT 1", "prepared"},
		{"status = 'committed'", ""},
		{"id IN (1, 4)", "prepared aborted"},
	} {
		r, err := run("SHOW TRANSACTION FROM db WHERE " + tt.where)
		if err != nil {
			t.Errorf("%s: %v", tt.where, err)
			continue
		}
		var labels []string
		for _, row := range cells(r) {
			labels = append(labels, row[1])
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.where, got, tt.want)
		}
	}
	for stmt, want := range map[string]string{
		"SHOW TRANSACTION WHERE label = 'none'":                            "transaction with label none does not exist",
		"SHOW TRANSACTION WHERE label = 'visible' AND status != 'visible'": "transaction with label visible does not exist",
		"SHOW TRANSACTION WHERE id = 77":                                   "transaction with id 77 does not exist",
		"SHOW TRANSACTION":                                                 "Where clause should looks like",
		"SHOW TRANSACTION WHERE foo = 1":                                   "Where clause should looks like",
		"SHOW TRANSACTION FROM none WHERE id = 1":                          "Unknown database 'none'",
		"SHOW TRANSACTION FROM information_schema WHERE id = 1":            "transaction with id 1 does not exist",
	} {
		if _, err := run(stmt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", stmt, err, want)
		}
	}
	if _, err := session("nobody")("SHOW TRANSACTION FROM db WHERE id = 1"); err == nil || !strings.Contains(err.Error(), "(LOAD) privilege") {
		t.Errorf("without the privilege: %v", err)
	}
	// The columns of a load that was aborted, and of one that is visible.
	r := must(t, run, "SHOW TRANSACTION WHERE id = 4")
	if got := cells(r)[0]; got[2] != "BE: be1" || got[4] != "BACKEND_STREAMING" || got[5] == `\N` || got[6] != `\N` || got[7] != `\N` || got[8] != `\N` || got[9] == `\N` ||
		got[10] != "bad rows" || got[13] != "5000" {
		t.Errorf("aborted: %q", got)
	}
	r = must(t, run, "SHOW TRANSACTION WHERE id = 3")
	if got := cells(r)[0]; got[6] != `\N` || got[7] == `\N` || got[8] == `\N` || got[9] == `\N` {
		t.Errorf("visible: %q", got)
	}
	if got := strings.Join(r.Columns, " "); got != "TransactionId Label Coordinator TransactionStatus LoadJobSourceType PrepareTime PreCommitTime CommitTime PublishTime FinishTime Reason ErrorReplicasCount ListenerId TimeoutMs ErrMsg" {
		t.Errorf("columns %s", got)
	}
}

// TestCleanLabel frees labels of finished transactions, and only those.
func TestCleanLabel(t *testing.T) {
	w, session := start(t)
	run := session("root")
	transactions(t, w, run)
	left := func() string {
		var labels []string
		w.View(func(st *meta.State) {
			for _, x := range st.Txns(0) {
				labels = append(labels, x.Label)
			}
		})
		return strings.Join(labels, " ")
	}
	for _, tt := range []struct{ stmt, left string }{
		{"CLEAN LABEL prepared FROM db", "prepared precommitted visible aborted Visible"},
		{"CLEAN LABEL visible FROM db", "prepared precommitted aborted Visible"},
		{"CLEAN LABEL none FROM db", "prepared precommitted aborted Visible"},
		{"CLEAN LABEL FROM db", "prepared precommitted"},
	} {
		must(t, run, tt.stmt)
		if got := left(); got != tt.left {
			t.Errorf("%s leaves %s, want %s", tt.stmt, got, tt.left)
		}
	}
	if _, err := session("nobody")("CLEAN LABEL FROM db"); err == nil || !strings.Contains(err.Error(), "(LOAD) privilege") {
		t.Errorf("without the privilege: %v", err)
	}
}
