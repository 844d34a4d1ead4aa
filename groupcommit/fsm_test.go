package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit/wal"
)

// fsm is a cluster that remembers what groups were begun, written, committed
// and released, and complains about steps that no FSM would allow.
type fsm struct {
	t      testing.TB
	mu     sync.Mutex
	nextID int64
	boot   int
	txns   map[int64]*fsmTxn
	byReq  map[[16]byte]int64
	// rows are the visible row ids by table, in commit order.
	rows map[int64][]int64
	// commits are the transactions in commit order.
	commits []int64
	// reported is the last report of WALs.
	reported []int64
	// early are commits that came before an earlier group was decided.
	early atomic.Int64
}

type fsmTxn struct {
	id      int64
	label   string
	table   int64
	async   bool
	ordered bool
	state   State
	boot    int
	owner   uint64
	pending []int64
	written bool
	result  Outcome
}

func newFSM(t testing.TB) *fsm {
	return &fsm{t: t, nextID: 100, txns: map[int64]*fsmTxn{}, byReq: map[[16]byte]int64{}, rows: map[int64][]int64{}}
}

// sink is one life of a backend. before and after are asked around each call
// (op is the method's name); an error of before stops the call, one of after
// replaces the answer of a call that took effect.
type sink struct {
	*fsm
	life          int
	cut           atomic.Bool // nothing comes through any more
	before, after func(ctx context.Context, op string, t Txn) error
	convert       func(h *wal.Header, b *block.Block) (*Table, *block.Block, error)
}

func (f *fsm) newLife() *sink {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boot++
	for _, x := range f.txns {
		if !x.async && x.state == StatePrepare {
			x.state = StateAborted
		}
	}
	return &sink{fsm: f, life: f.boot}
}

func call[T any](s *sink, ctx context.Context, op string, t Txn, do func() (T, error)) (T, error) {
	var zero T
	if err := ctx.Err(); err != nil || s.cut.Load() {
		return zero, errors.Join(err, errBroken)
	}
	if s.before != nil {
		if err := s.before(ctx, op, t); err != nil {
			return zero, err
		}
	}
	s.mu.Lock()
	v, err := do()
	s.mu.Unlock()
	if s.after != nil && err == nil {
		if err := s.after(ctx, op, t); err != nil {
			return zero, err
		}
	}
	return v, err
}

func (s *sink) Begin(ctx context.Context, r BeginRequest) (Txn, error) {
	return call(s, ctx, "Begin", Txn{}, func() (Txn, error) {
		if id, ok := s.byReq[r.RequestID]; ok {
			x := s.txns[id]
			return Txn{ID: id, Label: x.label, OwnerEpoch: x.owner}, nil
		}
		if s.life != s.boot {
			return Txn{}, doriserr.New(doriserr.StaleEpoch, "old life")
		}
		s.nextID++
		x := &fsmTxn{id: s.nextID, label: r.Label, table: r.Table.ID, async: r.Async, ordered: r.Table.Ordered, state: StatePrepare, boot: s.life, owner: 1}
		s.txns[x.id], s.byReq[r.RequestID] = x, x.id
		return Txn{ID: x.id, Label: x.label, OwnerEpoch: 1}, nil
	})
}

func (s *sink) owned(t Txn) (*fsmTxn, error) {
	x := s.txns[t.ID]
	if x == nil {
		return nil, doriserr.New(doriserr.TxnNotFound, "transaction [%d] not found", t.ID)
	}
	if s.life != s.boot || x.owner != t.OwnerEpoch {
		return nil, doriserr.New(doriserr.StaleEpoch, "transaction [%d] has another owner", t.ID)
	}
	return x, nil
}

func (s *sink) Write(ctx context.Context, t Txn, table *Table, rows *block.Block) (Written, error) {
	return call(s, ctx, "Write", t, func() (Written, error) {
		x, err := s.owned(t)
		if err != nil {
			return nil, err
		}
		if x.written {
			s.t.Errorf("transaction %d written twice by one owner", t.ID)
		}
		if rows.NumCols() != len(table.Columns) {
			s.t.Errorf("%d columns for a table of %d", rows.NumCols(), len(table.Columns))
		}
		x.written = true
		for i := range rows.Rows() {
			x.pending = append(x.pending, rows.Col(0).Int64(i))
		}
		return fmt.Sprintf("rowsets of %d", t.ID), nil
	})
}

func (s *sink) Commit(ctx context.Context, t Txn, w Written, rows int64) (Outcome, error) {
	return call(s, ctx, "Commit", t, func() (Outcome, error) {
		x := s.txns[t.ID]
		if x != nil && x.state == StateVisible {
			return x.result, nil
		}
		x, err := s.owned(t)
		if err != nil {
			return Outcome{}, err
		}
		if x.state != StatePrepare {
			return Outcome{}, doriserr.New(doriserr.TxnState, "transaction [%d] is aborted", t.ID)
		}
		if int64(len(x.pending)) != rows || w != fmt.Sprintf("rowsets of %d", t.ID) {
			s.t.Errorf("commit of %d with %v: %d rows written, %d named", t.ID, w, len(x.pending), rows)
		}
		for _, o := range s.txns {
			if x.ordered && o.table == x.table && o.id > x.id && o.state == StateVisible {
				s.t.Errorf("transaction %d committed after %d", x.id, o.id)
			}
			if x.ordered && o.table == x.table && o.id < x.id && o.state == StatePrepare {
				s.early.Add(1)
				return Outcome{}, doriserr.New(doriserr.Blocked, "transaction [%d] waits for group [%d]", x.id, o.id)
			}
		}
		s.rows[x.table] = append(s.rows[x.table], x.pending...)
		s.commits = append(s.commits, x.id)
		x.state, x.result = StateVisible, Outcome{Visible: true, Index: uint64(1000 + len(s.commits))}
		return x.result, nil
	})
}

func (s *sink) Abort(ctx context.Context, t Txn, _ string) error {
	_, err := call(s, ctx, "Abort", t, func() (any, error) {
		x, err := s.owned(t)
		if err != nil {
			return nil, err
		}
		if x.state != StatePrepare && x.state != StateAborted {
			s.t.Errorf("abort of transaction %d in state %d", t.ID, x.state)
			return nil, doriserr.New(doriserr.TxnState, "too late")
		}
		x.state = StateAborted
		return nil, nil
	})
	return err
}

func (s *sink) TakeOver(ctx context.Context, h *wal.Header) (Txn, State, error) {
	var state State
	t, err := call(s, ctx, "TakeOver", Txn{ID: h.TxnID}, func() (Txn, error) {
		x := s.txns[h.TxnID]
		if x == nil {
			return Txn{}, nil
		}
		state = x.state
		if state == StatePrepare {
			x.owner++
			x.boot, x.pending, x.written = s.life, nil, false
		}
		return Txn{ID: x.id, Label: x.label, OwnerEpoch: x.owner}, nil
	})
	return t, state, err
}

func (s *sink) Convert(_ context.Context, h *wal.Header, b *block.Block) (*Table, *block.Block, error) {
	if s.convert != nil {
		return s.convert(h, b)
	}
	return &Table{DBID: h.DBID, ID: h.TableID, Columns: h.Columns, SchemaVersion: h.SchemaVersion}, b, nil
}

func (s *sink) Release(ctx context.Context, ids []int64) error {
	_, err := call(s, ctx, "Release", Txn{}, func() (any, error) {
		for _, id := range ids {
			if x := s.txns[id]; x != nil {
				if x.state == StatePrepare {
					s.t.Errorf("release of transaction %d in state PREPARE", id)
				}
				delete(s.txns, id)
			}
		}
		return nil, nil
	})
	return err
}

func (s *sink) ReportWALs(ctx context.Context, ids []int64) error {
	_, err := call(s, ctx, "ReportWALs", Txn{}, func() (any, error) {
		s.reported = slices.Clone(ids)
		for id, x := range s.txns {
			if x.async && x.boot < s.life && !slices.Contains(ids, id) && x.state == StatePrepare {
				delete(s.txns, id) // nothing was acknowledged
			}
		}
		return nil, nil
	})
	return err
}

// visible are the visible rows of a table, sorted; a row that is there twice is
// an error.
func (f *fsm) visible(table int64) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	rows := slices.Clone(f.rows[table])
	slices.Sort(rows)
	if n := len(slices.Compact(slices.Clone(rows))); n != len(rows) {
		f.t.Errorf("table %d: %d rows, %d distinct: %v", table, len(rows), n, rows)
	}
	return rows
}

// groups is the number of group records and how many are PREPARE.
func (f *fsm) groups() (all, prepare int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.txns {
		if x.state == StatePrepare {
			prepare++
		}
	}
	return len(f.txns), prepare
}

var errBroken = errors.New("connection reset by peer")
