package meta

import (
	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// finishTwoPhase is the second phase. Texts and look-up are Doris'.
func (s *State) finishTwoPhase(c *FinishTwoPhase) (Result, error) {
	t, err := s.twoPhaseTxn(c)
	if err != nil {
		return Result{}, err
	}
	if !c.Commit {
		if !t.State.Undecided() {
			return txnResult(t), doriserr.New(doriserr.TxnState, "transaction [%d] is already %s, could not abort.", t.ID, t.State)
		}
		t, err = s.book.Abort(&txn.Abort{TxnID: t.ID, Reason: "User Abort", WallMs: c.WallMs})
		return txnResult(t), err
	}
	switch t.State {
	case txn.Precommitted:
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

func (s *State) twoPhaseTxn(c *FinishTwoPhase) (*txn.Txn, error) {
	if c.TxnID != 0 {
		t := s.book.Get(c.TxnID)
		if t == nil || t.DBID != c.DBID {
			return nil, doriserr.New(doriserr.TxnNotFound, "transaction [%d] not found", c.TxnID)
		}
		if c.Label != "" && c.Label != t.Label {
			return nil, doriserr.New(doriserr.TxnNotFound, "transaction [%d] not found, label=%s", c.TxnID, c.Label)
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
