package be

import (
	"context"
	"sync"
	"time"

	"dorisgo/be/catalog"
	"dorisgo/be/sink"
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/rpc/fepb"
	"dorisgo/rpc/peer"
)

// The modes of a load on the wire.
const (
	modeOff   = 0
	modeSync  = 1
	modeAsync = 2
)

// schemaWait is how long a load waits for the catalog copy to reach the schema
// that the FE planned it on.
const schemaWait = 5 * time.Second

// errSchema is Doris' text for a load that was planned on another schema.
func errSchema() error {
	return doriserr.New(doriserr.SchemaChanged, "schema version not match, maybe a schema change is in process. Please retry this load manually.")
}

// loads runs loads on this BE: those of FEs' streams, and Stream Loads.
type loads struct {
	catalog *catalog.Catalog
	groups  *groupcommit.Manager
	sink    *sink.Sink
	settler *settler
	// inflight counts the loads of FEs' streams.
	inflight *busy
	// publishWait is how long a Stream Load waits for VISIBLE before its answer
	// is Publish Timeout: half of txn_commit_rpc_timeout_ms, as in Doris.
	publishWait time.Duration
	// wait is wait_internal_group_commit_finish: async loads run as sync.
	wait func() bool

	mu     sync.RWMutex
	tables map[int64]groupTable
}

// groupTable remembers the group commit form of a table: it must be the same
// object while the table does not change.
type groupTable struct {
	of    *meta.Table
	group *groupcommit.Table
}

// handle is the peer.LoadHandler. The loads of a frame that are in the same group
// are answered together, without a goroutine that waits for them; every other one
// has a goroutine of its own.
func (l *loads) handle(f *peer.Loads) {
	var same [][]joinedLoad
	defer func() {
		// One frame of the stream is one of the WAL. If more frames have come, their
		// loads join while the disk is at work.
		for i, joined := range same {
			if last := &joined[len(joined)-1]; f.More || i < len(same)-1 {
				last.Kick()
			} else {
				last.Flush()
			}
		}
	}()
	for _, item := range f.Items {
		if j, ok := l.tryJoin(item); ok {
			same = gather(same, joinedLoad{item.Seq, j})
			continue
		}
		ctx := f.Context(item)
		l.inflight.enter()
		go func() {
			defer l.inflight.leave()
			r, err := l.load(ctx, item)
			f.Reply(answer(item.Seq, r, err))
		}()
	}
	for _, joined := range same {
		l.inflight.enter()
		// The last one's frame is on disk after those of the others.
		joined[len(joined)-1].Then(func() { l.acknowledge(f, joined) })
	}
}

// atOnce is how many loads the goroutine that wrote their WAL frame answers itself:
// for more of them the next fsync would wait longer than another one takes to wake.
const atOnce = 64

// acknowledge answers loads of one group. It does not wait.
func (l *loads) acknowledge(f *peer.Loads, joined []joinedLoad) {
	now := len(joined) <= atOnce
	for i := range joined {
		now = now && joined[i].Ready()
	}
	if now {
		defer l.inflight.leave()
		f.ReplyNow(acks(f.Stream, joined)...)
		return
	}
	go func() {
		defer l.inflight.leave()
		f.Reply(acks(f.Stream, joined)...)
	}()
}

// acks waits for the acknowledgements of loads.
func acks(ctx context.Context, joined []joinedLoad) []*bepb.LoadReply {
	replies := make([]*bepb.LoadReply, len(joined))
	for i := range joined {
		ack, err := joined[i].Wait(ctx)
		replies[i] = answer(joined[i].seq, groupReply(&ack), err)
	}
	return replies
}

// joinedLoad is a load of a stream that has its place in a group.
type joinedLoad struct {
	seq uint64
	groupcommit.Joined
}

// gather puts a load to those of the same group.
func gather(same [][]joinedLoad, j joinedLoad) [][]joinedLoad {
	for i := range same {
		if same[i][0].Together(&j.Joined) {
			same[i] = append(same[i], j)
			return same
		}
	}
	return append(same, []joinedLoad{j})
}

func answer(seq uint64, r *bepb.LoadReply, err error) *bepb.LoadReply {
	if err != nil {
		r = &bepb.LoadReply{ErrorKind: int32(doriserr.KindOf(err)) + 1, Error: err.Error()}
	}
	r.Seq = seq
	return r
}

// tryJoin gives an async load its place in a group if that needs no wait.
func (l *loads) tryJoin(item *bepb.LoadItem) (j groupcommit.Joined, ok bool) {
	t, known := l.catalog.TableByID(item.TableId)
	if !known || t.SchemaVersion != item.SchemaVersion || item.Mode != modeAsync || l.wait() || len(item.RequestId) != 16 {
		return j, false
	}
	return l.groups.TryAdd(l.groupLoad(t, item))
}

func (l *loads) load(ctx context.Context, item *bepb.LoadItem) (*bepb.LoadReply, error) {
	t, err := l.table(ctx, item.TableId, item.SchemaVersion)
	if err != nil {
		return nil, err
	}
	if len(item.RequestId) != 16 {
		return nil, doriserr.New(doriserr.Internal, "a load came without a request id")
	}
	if item.Mode == modeOff {
		return l.normal(ctx, t, item)
	}
	ack, err := l.groups.Add(ctx, l.groupLoad(t, item))
	if err != nil {
		return nil, err
	}
	return groupReply(&ack), nil
}

func (l *loads) groupLoad(t *meta.Table, item *bepb.LoadItem) *groupcommit.Load {
	return &groupcommit.Load{
		Table: l.groupTable(t), Async: item.Mode == modeAsync && !l.wait(), RequestID: [16]byte(item.RequestId),
		Encoded: item.Block, Rows: int(item.Rows), Bytes: item.Bytes,
	}
}

func groupReply(ack *groupcommit.Ack) *bepb.LoadReply {
	r := &bepb.LoadReply{Label: ack.Label, TxnId: ack.TxnID, Group: true, Index: ack.Index, State: int32(txn.Prepare)}
	switch {
	case ack.Visible:
		r.State = int32(txn.Visible)
	case !ack.Async:
		r.State = int32(txn.Committed)
	}
	return r
}

// table is the table as the load was planned on it.
func (l *loads) table(ctx context.Context, id int64, schema int32) (*meta.Table, error) {
	t, ok := l.catalog.TableByID(id)
	if !ok || t.SchemaVersion < schema {
		wait, cancel := context.WithTimeout(ctx, schemaWait)
		defer cancel()
		err := l.catalog.Until(wait, func() bool {
			t, ok = l.catalog.TableByID(id)
			return ok && t.SchemaVersion >= schema
		})
		if err != nil {
			return nil, doriserr.New(doriserr.SchemaChanged, "table %d with schema version %d is not known to this backend: it was dropped, or the catalog is late", id, schema)
		}
	}
	if t.SchemaVersion != schema {
		return nil, errSchema()
	}
	return t, nil
}

func (l *loads) groupTable(t *meta.Table) *groupcommit.Table {
	l.mu.RLock()
	g, ok := l.tables[t.ID]
	l.mu.RUnlock()
	if ok && g.of == t {
		return g.group
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if g := l.tables[t.ID]; g.of == t {
		return g.group
	}
	g = groupTable{of: t, group: sink.GroupTable(t)}
	l.tables[t.ID] = g
	return g.group
}

// normal runs a load as a transaction of its own.
func (l *loads) normal(ctx context.Context, t *meta.Table, item *bepb.LoadItem) (*bepb.LoadReply, error) {
	rows := block.New(sink.Types(t))
	if _, err := block.DecodeAppend(rows, item.Block); err != nil {
		return nil, err
	}
	tx, err := l.begin(ctx, t, [16]byte(item.RequestId), item.Label, time.Duration(item.TimeoutMs)*time.Millisecond, txn.InsertStreaming)
	if err != nil {
		return nil, err
	}
	out, err := l.finish(ctx, tx, t, rows, item.Filtered)
	if err != nil {
		return nil, err
	}
	return &bepb.LoadReply{Label: tx.Label, TxnId: tx.ID, State: int32(out.State), Index: out.Index}, nil
}

func (l *loads) begin(ctx context.Context, t *meta.Table, id [16]byte, label string, timeout time.Duration, source txn.Source) (sink.Txn, error) {
	r := &fepb.BeginRequest{
		RequestId: id[:], DbId: t.DBID, TableId: t.ID, TableEpoch: t.Epoch, SchemaVersion: t.SchemaVersion,
		Label: label, TimeoutMs: max(timeout.Milliseconds(), 1000), Source: int32(source),
	}
	tx, err := l.sink.Begin(ctx, r)
	if err != nil && ctx.Err() != nil {
		l.settler.add(undecided{begin: r, reason: "the load ended while its transaction began: " + context.Cause(ctx).Error()})
	}
	return tx, err
}

// finish writes and commits. A write that failed aborts the transaction: no
// commit was asked for, so nothing of it can become visible.
//
// Replicas may move between the two; then the rows are written again to those
// that are there now.
func (l *loads) finish(ctx context.Context, tx sink.Txn, t *meta.Table, rows *block.Block, filtered int64) (sink.Outcome, error) {
	for pause := 100 * time.Millisecond; ; pause *= 2 {
		if now, ok := l.catalog.TableByID(t.ID); ok && now.SchemaVersion == t.SchemaVersion && now.Epoch == t.Epoch {
			t = now
		}
		w, err := l.sink.Write(ctx, tx, t, rows, false)
		if err != nil {
			l.abort(ctx, tx, err)
			return sink.Outcome{}, err
		}
		out, err := l.sink.Commit(ctx, tx, w, filtered, l.sink.VisibleWait)
		if doriserr.Is(err, doriserr.FewReplicas) && pause < time.Second {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		if err != nil {
			l.settler.add(undecided{tx: tx, reason: "the load was not committed: " + err.Error()})
		}
		return out, err
	}
}

// commit asks for the decision, and for VISIBLE within wait. Without one, or with a refusal, the transaction
// is not left open.
func (l *loads) commit(ctx context.Context, tx sink.Txn, w *sink.Written, filtered int64, wait time.Duration) (sink.Outcome, error) {
	out, err := l.sink.Commit(ctx, tx, w, filtered, wait)
	if err != nil {
		l.settler.add(undecided{tx: tx, reason: "the load was not committed: " + err.Error()})
	}
	return out, err
}

// precommit leaves the decision to the client. If it is not known whether the
// client may decide, the settler asks for an abort, which is refused once the
// transaction is pre-committed.
func (l *loads) precommit(ctx context.Context, tx sink.Txn, w *sink.Written, filtered int64) error {
	err := l.sink.Precommit(ctx, tx, w, filtered)
	if err != nil {
		l.settler.add(undecided{tx: tx, reason: "the load was not pre-committed: " + err.Error()})
	}
	return err
}

// abort ends a transaction although its load's time may be up.
func (l *loads) abort(ctx context.Context, tx sink.Txn, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := l.sink.Abort(ctx, tx, why.Error()); err != nil {
		l.settler.add(undecided{tx: tx, reason: why.Error()})
	}
}
