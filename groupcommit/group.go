package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dorisgo/block"
	"dorisgo/groupcommit/wal"
	"dorisgo/value"
)

// errNoWAL tells async loads that no file could be made: they go sync.
var errNoWAL = errors.New("no WAL file can be created")

// noWALPause is how long async loads run as sync after that.
const noWALPause = time.Second

// group is one group: one transaction, in async mode one WAL file. Its goroutine
// (run) owns it from begin to release; a parked one is owned by its table's
// replay goroutine.
type group struct {
	t   *table
	key key
	// id is the request id of its begin, label made from it; drawErr says that
	// it could not be drawn.
	id      [16]byte
	label   string
	drawErr error

	tbl *Table

	// Under t.mu. Interval and size are those of the load that opened it.
	interval time.Duration
	maxBytes int64
	blk      *block.Block
	seen     requests
	loads    int
	rows     int64
	bytes    int64 // what it holds of the memory budget
	opened   bool
	halfFull bool
	sealed   bool
	reason   SealReason
	// rewrites counts the times that the group was written again.
	rewrites int
	sealedAt time.Time
	waiters  int   // loads that wait for ready
	lastErr  error // of begin, while it is asked again

	// Written before ready is closed.
	txn     Txn // never changes afterwards
	w       *wal.Writer
	header  wal.Header
	openErr error

	ready   chan struct{} // opened, or openErr
	first   chan struct{} // the first load joined
	half    chan struct{} // half of DataBytes is there
	sealing chan struct{} // sealed
	gone    chan struct{} // parked
	done    chan struct{} // outcome or err is known
	decided chan struct{} // the FSM committed or aborted it, or never will

	// Written before done is closed.
	outcome Outcome
	err     error

	// prev is the group of an ordered table that must be decided before this
	// one is committed; it must have begun before this one begins (beginAfter),
	// since the FSM goes by the order of transaction ids.
	prev, beginAfter *group

	// Of parked groups; the replay goroutine's, times and flags under t.mu.
	path      string
	walBytes  int64
	due       time.Time
	attempts  int
	recycled  bool
	torn      error
	inspected bool // the file was read once: header, seen and torn are known
	owner     Txn  // txn as the last take-over made it
	taken     bool // nothing was written under owner yet
	neverUsed bool // the file has no header: nothing was acknowledged from it
	settled   bool // the owner's: done is closed
}

func newGroup(t *table, tb *Table, k key) *group {
	g := &group{
		t: t, key: k, tbl: tb,
		ready: make(chan struct{}), first: make(chan struct{}), half: make(chan struct{}),
		sealing: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}), decided: make(chan struct{}),
	}
	_, g.drawErr = io.ReadFull(t.m.opts.Rand, g.id[:])
	g.label = fmt.Sprintf("group_commit_%x_%x", g.id[:8], g.id[8:])
	return g
}

func types(cols []Column) []value.Type {
	h := wal.Header{Columns: cols}
	return h.Types()
}

func (g *group) info() GroupInfo {
	return GroupInfo{
		DBID: g.tbl.DBID, TableID: g.tbl.ID, Table: g.tbl.Name, TxnID: g.txn.ID, Label: g.label,
		Async: g.key.async, Rows: g.rows, Loads: g.loads,
	}
}

// run is the life of a group that this process opened.
func (g *group) run() {
	wanted := func() bool {
		g.t.mu.Lock()
		defer g.t.mu.Unlock()
		return g.waiters > 0
	}
	if !g.open(wanted) {
		return
	}
	g.collect()
	if g.loads == 0 {
		g.discard(string(g.reason))
		return
	}
	g.finish()
}

// open begins the transaction and makes the WAL file. If it cannot, loads that
// wait are told, the table is as if the group had never been, and it returns
// false.
func (g *group) open(wanted func() bool) bool {
	err := g.begin(wanted)
	if err != nil {
		g.openFailed(notBegun(err))
		g.settle(Outcome{}, g.openErr)
		g.markDecided()
		g.t.forget(g)
		return false
	}
	if g.key.async {
		if err := g.createWAL(); err != nil {
			g.t.mu.Lock()
			g.t.noWAL = time.Now()
			g.t.mu.Unlock()
			g.openFailed(fmt.Errorf("%w: %w", errNoWAL, err))
			g.discard("no wal")
			return false
		}
	}
	g.t.mu.Lock()
	g.blk = block.New(types(g.tbl.Columns))
	g.opened = true
	g.t.mu.Unlock()
	close(g.ready)
	return true
}

func (g *group) openFailed(err error) {
	g.t.mu.Lock()
	g.openErr = err
	g.seal(SealAsked)
	g.t.mu.Unlock()
	close(g.ready)
}

// begin asks for a transaction until there is a decision. It gives up if no
// load is left that wants it and no earlier call can have begun it.
func (g *group) begin(wanted func() bool) error {
	m := g.t.m
	if g.drawErr != nil {
		return fmt.Errorf("cannot draw a request id: %w", g.drawErr)
	}
	if g.beginAfter != nil {
		select {
		case <-g.beginAfter.ready:
		case <-m.stop:
			return errStopping
		}
		g.beginAfter = nil
	}
	r := BeginRequest{Table: g.tbl, Async: g.key.async, RequestID: g.id, Label: g.label}
	maybe := false // an earlier call may have begun it
	for b := newBackoff(); ; {
		ctx, cancel := context.WithTimeout(m.ctx, m.opts.BeginTimeout)
		txn, err := m.sink.Begin(ctx, r)
		cancel()
		if err == nil {
			g.txn = txn
			return nil
		}
		if decided(err) {
			return err
		}
		maybe = maybe || !notInLog(err)
		g.t.mu.Lock()
		g.lastErr = err
		g.t.mu.Unlock()
		if !b.wait(m.ctx, m.stop) {
			return errStopping
		}
		if !maybe && !wanted() {
			return err
		}
	}
}

func (g *group) createWAL() error {
	o := &g.t.m.opts
	g.header = wal.Header{
		ClusterID: o.ClusterID, MetaEpoch: o.MetaEpoch, BackendUUID: o.BackendUUID, BackendID: o.BackendID,
		TxnID: g.txn.ID, OwnerEpoch: g.txn.OwnerEpoch, Label: g.txn.Label,
		DBID: g.tbl.DBID, TableID: g.tbl.ID, TableEpoch: g.tbl.Epoch, SchemaVersion: g.tbl.SchemaVersion,
		Ordered: g.tbl.Ordered, Columns: g.tbl.Columns, Facts: g.tbl.Facts, CreatedMs: time.Now().UnixMilli(),
	}
	w, err := g.t.m.wals.Create(g.t.m.ctx, &g.header, g.walDied)
	if err != nil {
		return err
	}
	g.w, g.path = w, w.Path()
	return nil
}

// walDied runs in the WAL's goroutine before its waiters hear of the error: the
// group is sealed at once and committed from memory (docs/protocol.md, rule 7).
func (g *group) walDied(err error) {
	g.t.mu.Lock()
	g.seal(SealWAL)
	info := g.info()
	g.t.mu.Unlock()
	g.t.m.log.Error("wal file failed, its group is committed from memory", "table", info.Table, "txn_id", info.TxnID, "label", info.Label, "path", g.path, "err", err)
	if f := g.t.m.opts.Events.WALFailed; f != nil {
		f(info, err)
	}
}

// collect waits until the group is sealed: by its interval, which runs from its
// first load, by being idle, or by what others do. While it collects the next
// group begins, once this one is half full or half its time is over.
func (g *group) collect() {
	idle := time.NewTimer(max(2*g.tbl.interval(), time.Second))
	defer idle.Stop()
	select {
	case <-g.sealing:
		return
	case <-g.first:
	case <-idle.C:
		g.t.mu.Lock()
		if g.loads == 0 {
			g.seal(SealIdle)
		}
		g.t.mu.Unlock()
	}
	g.t.mu.Lock()
	interval := g.interval
	g.t.mu.Unlock()
	end := time.NewTimer(interval)
	defer end.Stop()
	middle := time.NewTimer(interval / 2)
	defer middle.Stop()
	half := g.half
	for {
		select {
		case <-g.sealing:
			return
		case <-end.C:
			g.t.seal(g, SealInterval)
		case <-middle.C:
			g.t.prefetch(g)
		case <-half:
			half = nil
			g.t.prefetch(g)
		}
	}
}

// settle makes the outcome known, once, and gives the memory back.
func (g *group) settle(out Outcome, err error) {
	if g.settled {
		return
	}
	g.settled = true
	g.outcome, g.err = out, err
	g.freeMemory()
	close(g.done)
	if g.w != nil {
		g.w.Waive()
	}
}

// freeMemory gives back what the group holds of the memory budget.
func (g *group) freeMemory() {
	g.t.mu.Lock()
	n := g.bytes
	g.bytes = 0
	g.t.mu.Unlock()
	if n > 0 {
		g.t.m.mem.release(n)
	}
}

// discard ends a group in which there is nothing.
func (g *group) discard(reason string) {
	g.t.m.counters.Discarded.Add(1)
	g.settle(Outcome{}, errStopping)
	g.closeWAL()
	if g.abort(reason) && g.removeWAL() {
		g.t.m.release(g)
	}
}

// markDecided lets the groups that wait for this one's decision go on.
func (g *group) markDecided() {
	select {
	case <-g.decided:
	default:
		close(g.decided)
	}
}
