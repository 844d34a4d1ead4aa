package groupcommit

import (
	"context"
	"errors"
	"io"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
)

// AddAlone gives a load a group of its own, in sync mode: for one that is larger
// than its table's DataBytes (docs/protocol.md, rule 9). The rows are l.Encoded,
// or the blocks of next if it is not nil, whose memory the caller bounds; l.Rows
// then need not be known. ctx is the deadline of the load and of its writing.
func (m *Manager) AddAlone(ctx context.Context, l *Load, next Stream) (Ack, error) {
	t := m.table(l.Table.DBID, l.Table.ID, l.Table.Name)
	if err := t.awaitRecovery(ctx); err != nil {
		return Ack{}, err
	}
	if next == nil {
		held := min(l.bytes(), m.mem.limit.Load())
		if err := m.mem.acquire(ctx, held, m.stop); err != nil {
			return Ack{}, err
		}
		defer m.mem.release(held)
		rows := block.New(types(l.Table.Columns))
		rest, err := block.DecodeAppend(rows, l.Encoded)
		if err != nil || len(rest) > 0 || rows.Rows() != l.Rows {
			return Ack{}, doriserr.New(doriserr.Corrupt, "cannot read the load's rows: %v, %d rows, %d bytes left", err, rows.Rows(), len(rest))
		}
		next = oneBlock(rows)
	}
	j, err := t.joinAlone(ctx, l, next)
	if err != nil {
		return Ack{}, err
	}
	ack, err := j.wait(ctx)
	if err == nil && l.Async && !ack.Async {
		ack.Switched = "the load is larger than group_commit_data_bytes"
		m.counters.Switched.Add(1)
	}
	if err == nil && !j.repeat {
		t.mu.Lock()
		ack.Rows = int(j.g.rows)
		t.mu.Unlock()
		m.counters.Loads.Add(1)
		m.counters.Rows.Add(int64(ack.Rows))
	}
	return ack, err
}

func (t *table) joinAlone(ctx context.Context, l *Load, next Stream) (joined, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j, ok := t.repeat(l.RequestID); ok {
		return j, nil
	}
	if t.m.stopping() {
		return joined{}, errStopping
	}
	k := key{l.Table.Epoch, l.Table.SchemaVersion, false}
	t.sealOthers(k, l.Table.Ordered)
	for _, g := range []*group{t.open[k], t.spare[k]} {
		if g != nil && l.Table.Ordered {
			g.seal(SealMode)
		}
	}
	g := newGroup(t, l.Table, k)
	g.loads, g.sealed, g.reason, g.sealedAt = 1, true, SealBytes, time.Now()
	g.seen.put(l.RequestID, l.Rows)
	t.launch(g, func() { g.runAlone(ctx, l, next) })
	return joined{g: g}, nil
}

// runAlone is the life of a group that belongs to one load.
func (g *group) runAlone(ctx context.Context, l *Load, next Stream) {
	if !g.open(func() bool { return ctx.Err() == nil }) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.t.m.ctx, cancel)()
	counted := func(ctx context.Context) (*block.Block, error) {
		b, err := next(ctx)
		if err == nil {
			g.t.mu.Lock()
			g.rows += int64(b.Rows())
			g.seen.put(l.RequestID, int(g.rows))
			g.t.mu.Unlock()
		}
		return b, err
	}
	g.finishWith(ctx, func(ctx context.Context) (Written, error) {
		if s, ok := g.t.m.sink.(StreamWriter); ok {
			return s.WriteStream(ctx, g.txn, g.tbl, counted)
		}
		rows, err := gather(ctx, g.tbl, counted)
		if err != nil {
			return nil, err
		}
		return g.t.m.sink.Write(ctx, g.txn, g.tbl, rows)
	})
}

func oneBlock(b *block.Block) Stream {
	return func(context.Context) (*block.Block, error) {
		if b == nil {
			return nil, io.EOF
		}
		out := b
		b = nil
		return out, nil
	}
}

func gather(ctx context.Context, t *Table, next Stream) (*block.Block, error) {
	var all *block.Block
	for {
		b, err := next(ctx)
		switch {
		case errors.Is(err, io.EOF) && all == nil:
			return block.New(types(t.Columns)), nil
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case all == nil:
			all = b
		default:
			all.AppendBlock(b)
		}
	}
}
