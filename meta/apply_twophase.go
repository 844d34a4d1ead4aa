package meta

import (
	"fmt"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// finishTwoPhase is the second phase. Texts and look-up are Doris'. An abort
// needs neither the table nor the database to exist.
func (s *State) finishTwoPhase(c *FinishTwoPhase) (Result, error) {
	t, err := s.twoPhaseTxn(c)
	if err != nil {
		return Result{}, err
	}
	if t.Group != nil {
		return Result{}, doriserr.New(doriserr.TxnState, "transaction [%d] is a group of group commit: it holds other clients' loads and has no second phase", t.ID)
	}
	switch {
	case c.Commit && t.State == txn.Precommitted:
		if s.tables[t.TableID] == nil {
			return txnResult(t), doriserr.New(doriserr.UnknownTable, "transaction [%d] cannot be committed: %s was dropped. Abort it.", t.ID, s.droppedName(t.TableID))
		}
		return s.commit(&txn.Commit{TxnID: t.ID, WallMs: c.WallMs})
	case !c.Commit && t.State.Undecided():
		t, err = s.book.Abort(&txn.Abort{TxnID: t.ID, Reason: "User Abort", WallMs: c.WallMs})
		return txnResult(t), err
	}
	return txnResult(t), doriserr.New(doriserr.TxnState, "%s", notInState(t, c.Commit))
}

// notInState says why a transaction has no such second phase, as Doris does.
func notInState(t *txn.Txn, commit bool) string {
	switch {
	case t.State == txn.Aborted:
		return fmt.Sprintf("transaction [%d] is already aborted. abort reason: %s", t.ID, t.Reason)
	case !commit:
		return fmt.Sprintf("transaction [%d] is already %s, could not abort.", t.ID, t.State)
	case t.State == txn.Prepare:
		return fmt.Sprintf("transaction [%d] is prepare, not pre-committed.", t.ID)
	case t.State == txn.Committed:
		return fmt.Sprintf("transaction [%d] is already committed, not pre-committed.", t.ID)
	default:
		return fmt.Sprintf("transaction [%d] is already visible, not pre-committed.", t.ID)
	}
}

// droppedName names a table that is gone, as far as anything of it is left.
func (s *State) droppedName(id int64) string {
	if r := s.recycled[id]; r != nil {
		return fmt.Sprintf("its table %s.%s", r.DatabaseName, r.Table.Name)
	}
	return "its table"
}

// twoPhaseTxn finds the transaction of a second phase. One whose database was
// dropped is found under any database's id: no name leads to its own any more.
func (s *State) twoPhaseTxn(c *FinishTwoPhase) (*txn.Txn, error) {
	if c.TxnID != 0 {
		t := s.book.Get(c.TxnID)
		if t == nil || t.DBID != c.DBID && s.dbs[t.DBID] != nil {
			return nil, doriserr.New(doriserr.TxnNotFound, "transaction [%d] not found", c.TxnID)
		}
		if c.Label != "" && c.Label != t.Label {
			return nil, doriserr.New(doriserr.TxnNotFound, "transaction [%d] not found, label=%s: that transaction has another label", c.TxnID, c.Label)
		}
		return t, nil
	}
	// Doris' texts for a label; what became of its transaction is added, so that
	// whoever repeats a second phase by label can tell.
	t := s.book.ByLabel(c.DBID, c.Label)
	switch {
	case t == nil:
		return nil, doriserr.New(doriserr.TxnNotFound, "transaction not found, label=%s", c.Label)
	case c.Commit && t.State != txn.Precommitted:
		return nil, doriserr.New(doriserr.TxnNotFound, "transaction not found, label=%s: %s", c.Label, notInState(t, true))
	case !t.State.Undecided():
		return nil, doriserr.New(doriserr.TxnNotFound, "running transaction not found, label=%s: %s", c.Label, notInState(t, false))
	}
	return t, nil
}

// TwoPhaseDatabase is the id of the database in which a client names a
// transaction for its second phase. The name of a dropped database still finds
// the transactions that it left, by id or label, so that they can be aborted;
// ok is false if nothing is found.
func (s *State) TwoPhaseDatabase(name string, txnID int64, label string) (id int64, ok bool) {
	if d := s.DatabaseByName(name); d != nil {
		return d.ID, true
	}
	for _, t := range s.book.Undecided() {
		if s.dbs[t.DBID] != nil || txnID != 0 && t.ID != txnID || txnID == 0 && t.Label != label {
			continue
		}
		if r := s.recycled[t.TableID]; r != nil && r.DatabaseName != name {
			continue
		}
		return t.DBID, true
	}
	// It may be decided already: the answer by id says how.
	if t := s.book.Get(txnID); t != nil && s.dbs[t.DBID] == nil {
		return t.DBID, true
	}
	return 0, false
}
