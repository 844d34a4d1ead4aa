package be

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	behttp "dorisgo/be/http"
	"dorisgo/be/sink"
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/groupcommit"
	"dorisgo/meta/priv"
	"dorisgo/meta/txn"
)

// Loader is what Stream Load needs of the node.
type Loader struct {
	*loads
	token string
}

var _ behttp.Loader = (*Loader)(nil)

// Authenticate implements behttp.Loader.
func (l *Loader) Authenticate(_ context.Context, user, password, token string) error {
	if token != "" {
		if l.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(l.token)) != 1 {
			return doriserr.New(doriserr.AccessDenied, "Invalid token: it is not this cluster's")
		}
		return nil
	}
	u, ok := l.catalog.User(user)
	if !ok || !priv.CheckPassword(u, password) {
		return doriserr.New(doriserr.AccessDenied, "Access denied for user '%s' (using password: %s)", user, yesNo(password != ""))
	}
	return nil
}

// Authorize checks a privilege of a user.
func (l *Loader) Authorize(user string, p priv.Privilege) error {
	u, ok := l.catalog.User(user)
	if !ok || !priv.Allowed(u, p) {
		return doriserr.New(doriserr.NoPrivilege, "Access denied; user '%s' needs the %s privilege", user, p)
	}
	return nil
}

func yesNo(b bool) string {
	if b {
		return "YES"
	}
	return "NO"
}

// Plan implements behttp.Loader. The copy of the catalog may be behind a CREATE
// TABLE that the client just saw succeed: an unknown name is looked up again
// once the copy has reached the leader's index.
func (l *Loader) Plan(ctx context.Context, user, db, table string) (*behttp.Plan, error) {
	p, err := l.plan(user, db, table)
	if doriserr.Is(err, doriserr.UnknownDatabase) || doriserr.Is(err, doriserr.UnknownTable) {
		if l.catchUp(ctx) == nil {
			p, err = l.plan(user, db, table)
		}
	}
	return p, err
}

func (l *Loader) plan(user, db, table string) (*behttp.Plan, error) {
	d, ok := l.catalog.Database(db)
	if !ok {
		return nil, doriserr.New(doriserr.UnknownDatabase, "unknown database, database=%s", db)
	}
	t, ok := l.catalog.Table(d.ID, table)
	if !ok {
		return nil, doriserr.New(doriserr.UnknownTable, "unknown table, table=%s", table)
	}
	if user != "" && l.Authorize(user, priv.Load) != nil {
		return nil, doriserr.New(doriserr.NoPrivilege, "LOAD command denied to user '%s' for table '%s.%s'", user, db, table)
	}
	p := &behttp.Plan{DBID: d.ID, DBName: db, Table: t}
	if zone, ok := l.catalog.Global("time_zone"); ok {
		if loc, err := behttp.ParseZone(zone); err == nil {
			p.Location = loc
		}
	}
	return p, nil
}

// catchUp waits until the copy has what the leader has now.
func (l *loads) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, schemaWait)
	defer cancel()
	index, err := l.sink.CatalogIndex(ctx)
	if err != nil {
		return err
	}
	return l.catalog.Wait(ctx, index)
}

// GroupCommit implements behttp.Loader.
func (l *Loader) GroupCommit(ctx context.Context, g *behttp.GroupLoad) (behttp.GroupResult, error) {
	load := &groupcommit.Load{Table: l.groupTable(g.Plan.Table), Async: g.Async && !l.wait(), RequestID: g.RequestID}
	var ack groupcommit.Ack
	var err error
	if g.Own != nil {
		load.Async = false
		ack, err = l.groups.AddAlone(ctx, load, g.Own.Next)
	} else {
		load.Encoded, load.Rows, load.Bytes = block.AppendEncoded(nil, g.Block), g.Block.Rows(), int64(g.Block.Bytes())
		load.Joined = g.Admitted
		ack, err = l.groups.Add(ctx, load)
	}
	if err != nil {
		return behttp.GroupResult{}, err
	}
	return behttp.GroupResult{Label: ack.Label, TxnID: ack.TxnID, Async: ack.Async, Visible: ack.Visible}, nil
}

// Normal implements behttp.Loader.
func (l *Loader) Normal(ctx context.Context, n *behttp.NormalLoad) (behttp.NormalResult, error) {
	start := time.Now()
	tx, err := l.begin(ctx, n.Plan.Table, n.RequestID, n.Label, n.Timeout, txn.BackendStreaming)
	if err != nil {
		return behttp.NormalResult{}, labelError(err)
	}
	res := behttp.NormalResult{TxnID: tx.ID, BeginTime: time.Since(start)}
	w, err := l.sink.WriteStream(ctx, tx, n.Plan.Table, n.Blocks.Next)
	if err != nil {
		l.abort(ctx, tx, err)
		return res, err
	}
	_, filtered := n.Counts()
	start = time.Now()
	if n.TwoPhase {
		err := l.precommit(ctx, tx, w, filtered)
		res.CommitTime = time.Since(start)
		return res, err
	}
	out, err := l.commit(ctx, tx, w, filtered, l.publishWait)
	res.CommitTime = time.Since(start)
	res.Visible = out.State == txn.Visible
	return res, err
}

// FinishTwoPhase implements behttp.Loader.
func (l *Loader) FinishTwoPhase(ctx context.Context, user string, f *behttp.TwoPhase) error {
	if user != "" && l.Authorize(user, priv.Load) != nil {
		return doriserr.New(doriserr.NoPrivilege, "LOAD command denied to user '%s' for database '%s'", user, f.DB)
	}
	_, err := l.sink.FinishTwoPhase(ctx, sink.TwoPhase{RequestID: f.RequestID, DB: f.DB, TxnID: f.TxnID, Label: f.Label, Commit: f.Commit})
	return err
}

// labelError is the refusal of a label in the form that replies use.
func labelError(err error) error {
	if e, ok := errors.AsType[*sink.LabelError](err); ok {
		return &behttp.LabelExistsError{Label: e.Label, TxnID: e.TxnID, State: e.State.String()}
	}
	return err
}
