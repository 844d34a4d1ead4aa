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
	if c.Commit {
		return s.commitTwoPhase(t, c)
	}
	switch t.State {
	case txn.Prepare, txn.Precommitted:
		t, err = s.book.Abort(&txn.Abort{TxnID: t.ID, Reason: "User Abort", WallMs: c.WallMs})
	case txn.Aborted:
		err = doriserr.New(doriserr.TxnState, "transaction [%d] is already aborted. abort reason: %s", t.ID, t.Reason)
	default:
		err = doriserr.New(doriserr.TxnState, "transaction [%d] is already %s, could not abort.", t.ID, t.State)
	}
	return txnResult(t), err
}

func (s *State) commitTwoPhase(t *txn.Txn, c *FinishTwoPhase) (Result, error) {
	var err error
	switch t.State {
	case txn.Precommitted:
		if s.tables[t.TableID] == nil {
			err = doriserr.New(doriserr.UnknownTable, "transaction [%d] cannot be committed: %s was dropped. Abort it.", t.ID, s.droppedName(t.TableID))
			break
		}
		return s.commit(&txn.Commit{TxnID: t.ID, WallMs: c.WallMs})
	case txn.Prepare:
		err = doriserr.New(doriserr.TxnState, "transaction [%d] is prepare, not pre-committed.", t.ID)
	case txn.Committed:
		err = doriserr.New(doriserr.TxnState, "transaction [%d] is already committed, not pre-committed.", t.ID)
	case txn.Visible:
		err = doriserr.New(doriserr.TxnState, "transaction [%d] is already visible, not pre-committed.", t.ID)
	default:
		err = doriserr.New(doriserr.TxnState, "transaction [%d] is already aborted. abort reason: %s", t.ID, t.Reason)
	}
	return txnResult(t), err
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
	t := s.book.ByLabel(c.DBID, c.Label)
	switch {
	case t == nil, c.Commit && t.State != txn.Precommitted:
		return nil, doriserr.New(doriserr.TxnNotFound, "transaction not found, label=%s", c.Label)
	case !t.State.Undecided():
		return nil, doriserr.New(doriserr.TxnNotFound, "running transaction not found, label=%s", c.Label)
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
