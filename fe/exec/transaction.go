package exec

import (
	"context"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/rpc/bepb"
	"dorisgo/sql/insert"
)

// transaction gathers the INSERTs between BEGIN and COMMIT. Its rows leave the
// FE at COMMIT, as one load of one table; ROLLBACK forgets them.
type transaction struct {
	label string
	plan  cachedTarget
	rows  *block.Block
	loads int
}

// maxTransactionBytes bounds what one transaction may gather.
const maxTransactionBytes = 256 << 20

func (s *Session) begin(w *mysql.ResultWriter) error {
	if s.txn != nil {
		return doriserr.New(doriserr.Analysis, "A transaction has already begin")
	}
	s.txn = &transaction{label: s.newLabel()}
	s.vars.InTransaction = true
	return w.OK(0, 0, "{'label':'"+s.txn.label+"', 'status':'PREPARE', 'txnId':''}")
}

func (s *Session) addToTransaction(c *cachedTarget, rows *block.Block, res *insert.Result, w *mysql.ResultWriter) error {
	t := s.txn
	if t.rows == nil {
		t.plan, t.rows = *c, block.New(rows.Types())
	}
	if t.plan.table.ID != c.table.ID {
		return doriserr.New(doriserr.Analysis, "Transaction insert must be in the same table, expect table_id=%d", t.plan.table.ID)
	}
	if t.plan.table.SchemaVersion != c.table.SchemaVersion {
		return doriserr.New(doriserr.Analysis, "table %s changed within the transaction: roll back and begin again", c.table.Name)
	}
	if t.rows.Bytes()+rows.Bytes() > maxTransactionBytes {
		return doriserr.New(doriserr.ExceededLimit, "the transaction has more than %d bytes: commit earlier, or use Stream Load", maxTransactionBytes)
	}
	t.rows.AppendBlock(rows)
	t.loads++
	return w.OK(uint64(res.Loaded), uint64(res.Filtered), "{'label':'"+t.label+"', 'status':'PREPARE', 'txnId':''}")
}

func (s *Session) commit(ctx context.Context, id [16]byte, w *mysql.ResultWriter) error {
	t := s.txn
	s.txn, s.vars.InTransaction = nil, false
	if t == nil || t.rows == nil || t.rows.Rows() == 0 {
		return w.OK(0, 0, "")
	}
	ctx, cancel := context.WithTimeout(ctx, s.vars.InsertTimeout())
	defer cancel()
	item := &bepb.LoadItem{
		RequestId: id[:], TableId: t.plan.table.ID, SchemaVersion: t.plan.table.SchemaVersion, Mode: modeOff,
		Rows: int64(t.rows.Rows()), Block: block.AppendEncoded(nil, t.rows), Label: t.label,
	}
	reply, err := s.send(ctx, t.plan.table, item, w)
	if err != nil {
		return err
	}
	return s.answer(ctx, &t.plan, &statement{id: id}, &insert.Result{Loaded: t.rows.Rows()}, reply, w)
}

func (s *Session) rollback(w *mysql.ResultWriter) error {
	s.txn, s.vars.InTransaction = nil, false
	return w.OK(0, 0, "")
}
