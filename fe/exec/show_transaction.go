package exec

import (
	"context"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/meta/txn"
	"dorisgo/sql/ddl"
)

var errTransactionWhere = doriserr.New(doriserr.Analysis, `Where clause should looks like one of: WHERE id = n, WHERE label = "l", WHERE status = "prepare"`)

// showTransaction shows the transactions of a database that a WHERE of id, label
// and status finds. Labels know upper and lower case.
func showTransaction(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Load); err != nil {
		return nil, err
	}
	name := st.DB
	if name == "" {
		name = s.vars.DB
	}
	db, err := s.srv.database(name)
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"TransactionId", "Label", "Coordinator", "TransactionStatus", "LoadJobSourceType", "PrepareTime", "PreCommitTime",
		"CommitTime", "PublishTime", "FinishTime", "Reason", "ErrorReplicasCount", "ListenerId", "TimeoutMs", "ErrMsg"}}
	if st.Where == nil {
		return nil, errTransactionWhere
	}
	for _, c := range st.Where.Columns(nil) {
		switch strings.ToLower(c) {
		case "id", "label", "status":
		default:
			return nil, errTransactionWhere
		}
	}
	label, byLabel := st.Where.Equal("label")
	id, byID := st.Where.Equal("id")
	var all []*txn.Txn
	if db != nil { // a virtual one has no transactions
		s.srv.Node.View(func(state *meta.State) { all = state.Txns(db.ID) })
	}
	for _, t := range all {
		if byLabel && t.Label != label || !st.Where.Match(transactionColumn(t)) {
			continue
		}
		r.rows = append(r.rows, transactionRow(t))
	}
	switch {
	case len(r.rows) == 0 && byLabel:
		return nil, doriserr.New(doriserr.TxnNotFound, "transaction with label %s does not exist", label)
	case len(r.rows) == 0 && byID:
		return nil, doriserr.New(doriserr.TxnNotFound, "transaction with id %s does not exist", id)
	}
	st.Where = nil // its columns are not those of the result
	return r, nil
}

// transactionColumn gives a transaction's values to a WHERE.
func transactionColumn(t *txn.Txn) func(string) (string, bool) {
	return func(column string) (string, bool) {
		switch strings.ToLower(column) {
		case "id":
			return itoa(t.ID), true
		case "label":
			return t.Label, true
		case "status":
			return t.State.String(), true
		}
		return "", false
	}
}

func transactionRow(t *txn.Txn) []string {
	published := t.FinishMs
	if t.State != txn.Visible {
		published = 0
	}
	return []string{itoa(t.ID), t.Label, t.CoordinatorText, t.State.String(), t.Source.String(), wallText(t.PrepareMs), wallText(t.PrecommitMs),
		wallText(t.CommitMs), wallText(published), wallText(t.FinishMs), t.Reason, "0", "-1", itoa(t.TimeoutMs), ""}
}
