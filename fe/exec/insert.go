package exec

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/fe/session"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/router"
	"dorisgo/rpc/bepb"
	"dorisgo/sql/insert"
)

// The modes on the wire (rpc/bepb).
const (
	modeOff   = 0
	modeSync  = 1
	modeAsync = 2
)

// planTries is how often a statement is planned again because the table's
// schema changed on the way.
const planTries = 3

// cachedTarget keeps what was derived from the last statement's header.
type cachedTarget struct {
	header *insert.Header
	// at is the log index whose state table and the user's privilege were looked
	// up in, for user; with another index they are looked up again.
	at     uint64
	user   string
	db     string
	table  *meta.Table
	dbObj  *meta.Database
	target *insert.Target
}

// insert runs INSERT INTO … VALUES of a text. It returns the rows loaded.
func (s *Session) insert(ctx context.Context, id [16]byte, sql []byte, w *mysql.ResultWriter) (int64, error) {
	h, err := s.headers.Parse(sql)
	if err != nil {
		return 0, err
	}
	return s.load(ctx, h, &statement{id: id, text: sql}, w)
}

// statement is one execution of an INSERT.
type statement struct {
	id   [16]byte
	text []byte
	// prepared and params are set for the binary protocol.
	prepared *preparedInsert
	params   *insert.Params
	// reused says that a prepared statement's plan was there already.
	reused bool

	// ctx bounds all tries to hand the rows over; end gives it back.
	ctx context.Context
	end context.CancelFunc
}

// bound is the context that ends with insert_timeout.
func (s *Session) bound(ctx context.Context, st *statement, mode int) context.Context {
	if st.ctx == nil {
		if mode == modeOff {
			st.ctx, st.end = context.WithTimeout(ctx, s.vars.InsertTimeout())
		} else {
			st.ctx = s.patience.of(ctx, s.vars.InsertTimeout(), time.Now())
		}
	}
	return st.ctx
}

// load decodes a statement's rows and hands them over, again if the table
// changed meanwhile.
func (s *Session) load(ctx context.Context, h *insert.Header, st *statement, w *mysql.ResultWriter) (int64, error) {
	switch {
	case h.Overwrite:
		return 0, doriserr.New(doriserr.Unsupported, "INSERT OVERWRITE is not supported")
	case h.Select:
		return 0, doriserr.New(doriserr.Unsupported, "INSERT INTO ... SELECT is not supported yet: load with INSERT INTO ... VALUES or Stream Load")
	}
	defer func() {
		if st.end != nil {
			st.end()
		}
	}()
	var err error
	for range planTries {
		var rows int64
		rows, err = s.loadOnce(ctx, h, st, w)
		if !doriserr.Is(err, doriserr.SchemaChanged) {
			return rows, err
		}
		// The load is not in any group: the FSM refused its schema. It is a new
		// request now, since a BE answers a repeated one as it did before.
		s.target = cachedTarget{}
		st.id = s.newID()
	}
	return 0, err
}

func (s *Session) loadOnce(ctx context.Context, h *insert.Header, st *statement, w *mysql.ResultWriter) (int64, error) {
	c, err := s.plan(h)
	if err != nil {
		return 0, err
	}
	if len(h.Partitions) > 0 && (len(h.Partitions) > 1 || h.Partitions[0] != c.table.Name) {
		return 0, doriserr.New(doriserr.Analysis, "partition %s does not exist in table %s", h.Partitions[0], c.table.Name)
	}
	rows := s.block(c.table)
	res, expressions, err := s.decode(h, st, c, rows)
	if err != nil {
		return 0, err
	}
	if err := s.checkFiltered(&res); err != nil {
		return 0, err
	}
	if s.txn != nil {
		return int64(res.Loaded), s.addToTransaction(c, rows, &res, w)
	}
	mode := s.mode(c.table, h, expressions)
	if res.Loaded == 0 {
		return 0, w.OK(0, uint64(res.Filtered), "")
	}
	ctx = s.bound(ctx, st, mode)
	item := s.item(st.id, rows)
	item.TableId, item.SchemaVersion, item.Mode = c.table.ID, c.table.SchemaVersion, int32(mode)
	item.Rows, item.Filtered, item.Label = int64(res.Loaded), int64(res.Filtered), h.Label
	if mode == modeOff && item.Label == "" {
		item.Label = s.newLabel()
	}
	reply, err := s.send(ctx, c.table, item, w)
	if err != nil {
		s.spare = nil // it may still be on its way
		return 0, s.insertError(err, c, st)
	}
	return int64(res.Loaded), s.answer(ctx, c, st, &res, reply, w)
}

// plan finds the table and maps the statement's columns; the same header costs
// a few comparisons while nothing changes in the metadata, and little more
// while the table does not.
func (s *Session) plan(h *insert.Header) (*cachedTarget, error) {
	dbName := h.DB
	if dbName == "" {
		dbName = s.vars.DB
	}
	c := &s.target
	at := s.srv.Node.AppliedIndex()
	if c.header == h && c.at == at && c.db == dbName && c.user == s.vars.User {
		return c, c.target.Begin(time.Now(), s.vars.Location(), s.vars.InsertStrict())
	}
	db, t, err := s.srv.table(dbName, h.Table)
	if err != nil {
		return nil, err
	}
	if err := s.require(priv.Load, dbName, h.Table); err != nil {
		return nil, err
	}
	now, loc, strict := time.Now(), s.vars.Location(), s.vars.InsertStrict()
	if c.header == h && c.table == t {
		c.at, c.user, c.db, c.dbObj = at, s.vars.User, dbName, db
		return c, c.target.Begin(now, loc, strict)
	}
	target, err := insert.NewTarget(t, h.Columns, now, loc, strict)
	if err != nil {
		return nil, err
	}
	*c = cachedTarget{header: h, at: at, user: s.vars.User, db: dbName, table: t, dbObj: db, target: target}
	return c, nil
}

// spareItem is what a session hands its loads over in.
type spareItem struct {
	item bepb.LoadItem
	id   [16]byte
}

// item is a load of the rows. A load that was answered has left, or was copied,
// so the next one uses its memory again.
func (s *Session) item(id [16]byte, rows *block.Block) *bepb.LoadItem {
	const keep = 1 << 20
	if s.spare == nil || cap(s.spare.item.Block) > keep {
		s.spare = &spareItem{}
	}
	s.spare.id = id
	item := &s.spare.item
	item.RequestId, item.Block, item.Bytes = s.spare.id[:], block.AppendEncoded(item.Block[:0], rows), int64(rows.Bytes())
	return item
}

// block is the session's empty block for a table.
func (s *Session) block(t *meta.Table) *block.Block {
	const keep = 1 << 20
	if s.rowsOf == t && s.rows.MemSize() <= keep {
		s.rows.Reset()
		return s.rows
	}
	s.rows, s.rowsOf = block.New(columnTypes(t)), t
	return s.rows
}

// decode reads the rows. Values that are expressions make the statement a
// normal load.
func (s *Session) decode(h *insert.Header, st *statement, c *cachedTarget, rows *block.Block) (insert.Result, bool, error) {
	s.decoder.NoBackslashEscapes = s.vars.NoBackslashEscapes()
	run := func() (insert.Result, error) {
		if st.params != nil {
			return s.decoder.Binary(st.text, h.ValuesPos, st.params, c.target, rows)
		}
		return s.decoder.Text(st.text, h.ValuesPos, c.target, rows)
	}
	s.decoder.Expressions = false
	res, err := run()
	if _, ok := errors.AsType[*insert.ExpressionError](err); ok {
		s.decoder.Expressions = true
		res, err = run()
		return res, true, err
	}
	return res, false, err
}

// checkFiltered applies insert_max_filter_ratio.
func (s *Session) checkFiltered(res *insert.Result) error {
	if res.Filtered == 0 {
		return nil
	}
	total := res.Loaded + res.Filtered
	ratio := s.vars.MaxFilterRatio()
	// By division both sides are the double nearest to the same number when the
	// ratio is just reached; a product can lie below it.
	if float64(res.Filtered)/float64(total) <= ratio {
		return nil
	}
	return doriserr.New(doriserr.DataQuality, "Insert has too many filtered data %d/%d insert_max_filter_ratio is %f. first_error_msg: %s",
		res.Filtered, total, ratio, res.FirstError)
}

// mode is how a statement is committed: what turns group commit off silently
// makes it a normal load.
func (s *Session) mode(t *meta.Table, h *insert.Header, expressions bool) int {
	if h.Label != "" || len(h.Partitions) > 0 || expressions || !t.Props.LightSchemaChange || s.vars.Bool("enable_unique_key_partial_update") {
		return modeOff
	}
	name, set := s.vars.GroupCommit()
	if !set {
		name = t.Props.GroupCommitMode
	}
	switch name {
	case session.AsyncMode:
		if s.srv.Limits().WaitGroups {
			return modeSync
		}
		return modeAsync
	case session.SyncMode:
		return modeSync
	}
	return modeOff
}

func (s *Session) newLabel() string {
	id := s.newID()
	return "label_" + hex.EncodeToString(id[:8]) + "_" + hex.EncodeToString(id[8:])
}

// send gives a load to a BE. It goes to another BE only while it is certain
// that none has taken it (docs/protocol.md, rule 5).
func (s *Session) send(ctx context.Context, t *meta.Table, item *bepb.LoadItem, w *mysql.ResultWriter) (*bepb.LoadReply, error) {
	if deadline, ok := ctx.Deadline(); ok {
		item.TimeoutMs = max(time.Until(deadline).Milliseconds(), 1)
	}
	wait := 10 * time.Millisecond
	tried := map[int64]bool{}
	var refused error
	for {
		be, err := s.srv.choose(t, item, tried)
		if err != nil {
			return nil, err
		}
		reply, err := s.hand(ctx, be, item, w)
		if !doriserr.Is(err, doriserr.NotAdmitted) {
			return reply, err
		}
		w.MayBlock()
		// The first refusal says why; later ones often only that the BE is gone.
		if refused == nil {
			refused = err
		}
		tried[be.ID] = true
		select {
		case <-ctx.Done():
			return nil, refused
		case <-time.After(wait):
		}
		if wait *= 2; wait > time.Second {
			return nil, refused
		}
	}
}

// quickBytes is the longest load of a statement that may do without a goroutine.
const quickBytes = 1 << 10

// hand gives a load to a BE and waits for the answer; for a short async one
// without a goroutine, if it can have its place in a group at once.
func (s *Session) hand(ctx context.Context, be *meta.Backend, item *bepb.LoadItem, w *mysql.ResultWriter) (*bepb.LoadReply, error) {
	quick := item.Mode == modeAsync && len(item.Block) <= quickBytes
	if wake := w.Waker(); wake != nil && quick {
		if started, ok := s.srv.Backends.Start(be, item, wake); ok {
			w.Await(ctx, started)
			return started.Reply(ctx)
		}
	}
	w.MayBlock()
	reply, err := s.srv.Backends.Load(ctx, be, item)
	if quick && err == nil {
		w.Quick()
	}
	return reply, err
}

// choose is the BE of a load: the table's for group commit, any other one in
// turn, those that refused it only if there is no other.
func (s *Server) choose(t *meta.Table, item *bepb.LoadItem, tried map[int64]bool) (*meta.Backend, error) {
	set := s.present()
	list, byID := s.staying(set.list), set.byID
	if len(tried) > 0 {
		var left []router.Backend
		for _, b := range list {
			if !tried[b.ID] {
				left = append(left, b)
			}
		}
		if len(left) > 0 {
			list = left
		} else {
			clear(tried)
		}
	}
	var id int64
	var err error
	if item.Mode == modeOff {
		id, err = s.next.Choose(list)
	} else {
		id, err = s.Groups.Choose(router.Table{
			ID: t.ID, IntervalMs: int64(t.Props.GroupCommitIntervalMs), DataBytes: int64(t.Props.GroupCommitDataBytes),
			OneBE: t.Keys != meta.DuplicateKeys,
		}, int64(len(item.Block)), list, time.Now())
	}
	if err != nil {
		return nil, err
	}
	return byID[id], nil
}

// staying marks the BEs that said that they stop.
func (s *Server) staying(list []router.Backend) []router.Backend {
	if s.Leaving == nil {
		return list
	}
	out := list
	for i, b := range list {
		if !s.Leaving(b.ID) {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		out[i].Decommissioned = true
	}
	return out
}

// insertError words the failure of a load.
func (s *Session) insertError(err error, c *cachedTarget, st *statement) error {
	if st.prepared == nil {
		return err
	}
	switch doriserr.KindOf(err) {
	case doriserr.Internal, doriserr.DataQuality, doriserr.NoBackend, doriserr.FewReplicas:
		return doriserr.New(doriserr.GroupCommitInsert, "group commit insert failed. db: %s, table: %s, query: %s, status: %s",
			c.db, c.table.Name, queryID(st.id), err)
	}
	return err
}

// answer waits until this FE sees what the BE reported and writes the OK
// packet with the label.
func (s *Session) answer(ctx context.Context, c *cachedTarget, st *statement, res *insert.Result, reply *bepb.LoadReply, w *mysql.ResultWriter) error {
	if reply.Index > 0 && reply.Index > s.srv.Node.AppliedIndex() {
		w.MayBlock()
		if err := s.srv.Node.WaitApplied(ctx, reply.Index); err != nil {
			s.srv.Logger.Warn("an INSERT is answered before this frontend shows it", "label", reply.Label, "err", err)
		}
	}
	status := "PREPARE"
	if !reply.Group {
		status = txnStateName(reply.State)
	}
	last := s.vars.LastInsert
	if last == nil {
		last = &session.InsertInfo{}
		s.vars.LastInsert = last
	}
	*last = session.InsertInfo{
		TxnID: reply.TxnId, Label: reply.Label, Database: c.db, Table: c.table.Name, Status: status,
		LoadedRows: int64(res.Loaded), FilteredRows: int64(res.Filtered), FirstErrorMsg: res.FirstError,
	}
	b := append(s.info0[:0], "{'label':'"...)
	b = append(b, reply.Label...)
	b = append(b, "', 'status':'"...)
	b = append(b, status...)
	b = append(b, "', 'txnId':'"...)
	b = strconv.AppendInt(b, reply.TxnId, 10)
	b = append(b, '\'')
	if res.Filtered > 0 && res.FirstError != "" {
		b = append(b, ", 'first_error_msg':'"...)
		b = append(b, res.FirstError...)
		b = append(b, '\'')
	}
	if reply.Group || st.prepared != nil {
		b = append(b, ", 'query_id':'"...)
		b = append(b, queryID(st.id)...)
		b = append(b, '\'')
	}
	if st.reused {
		b = append(b, ", 'reuse_group_commit_plan':'true'"...)
	}
	b = append(b, '}')
	s.info0 = b
	return w.OKBytes(uint64(res.Loaded), uint64(res.Filtered), b)
}
