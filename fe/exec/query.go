package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/fe/session"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/query/plan"
	"dorisgo/rpc/bepb"
	"dorisgo/sql/translate"
	"dorisgo/value"
)

// query runs a SELECT. It returns the rows sent.
func (s *Session) query(ctx context.Context, id [16]byte, sql []byte, w *mysql.ResultWriter) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.vars.QueryTimeout())
	defer cancel()
	tr, err := translate.Select(string(sql), s.env())
	if err != nil {
		return 0, err
	}
	for _, t := range tr.Tables {
		if err := s.require(priv.Select, t.DB, t.Table.Name); err != nil {
			return 0, err
		}
	}
	if tr.NoTable && tr.Constant != nil {
		return int64(tr.Constant.Rows()), s.sendConstant(tr, w)
	}
	for try := 1; ; try++ {
		rows, err := s.runQuery(ctx, id, tr, w)
		// A version that was merged away is planned again, as long as the
		// client has seen nothing (docs/protocol.md, rule 13).
		if doriserr.Is(err, doriserr.VersionGone) && rows < 0 && try < planTries {
			continue
		}
		return max(rows, 0), err
	}
}

// env is what a statement depends on besides its text.
func (s *Session) env() *translate.Env {
	return &translate.Env{
		Catalog: s.srv, DB: s.vars.DB, User: s.vars.User + "@" + s.vars.UserHost, ConnectionID: uint64(s.info.ID),
		Version: s.vars.Text("version"), Now: time.Now().In(s.vars.Location()),
		Variable: func(name string, global bool) (any, error) {
			get := s.vars.Get
			if global {
				get = s.srv.Globals().Get
			}
			v, err := get(name)
			if err != nil {
				return nil, err
			}
			return plainValue(v), nil
		},
		UserVariable: func(name string) any { return plainValue(s.vars.UserVar(name)) },
	}
}

func plainValue(v session.Value) any {
	switch v.Kind {
	case session.IntValue:
		return v.Int
	case session.FloatValue:
		return v.Float
	case session.StringValue:
		return v.Str
	}
	return nil
}

// Table implements translate.Catalog.
func (s *Server) Table(db, name string) (t *meta.Table, database bool) {
	s.Node.View(func(st *meta.State) {
		if d := st.DatabaseByName(db); d != nil {
			t, database = st.TableByName(d.ID, name), true
		}
	})
	return t, database || virtualDB(db)
}

func (s *Session) sendConstant(tr *translate.Translated, w *mysql.ResultWriter) error {
	cols := make([]mysql.Column, len(tr.Columns))
	for i, c := range tr.Columns {
		cols[i] = mysql.Column{Name: c.Name, Type: tr.Constant.Col(i).Type()}
	}
	if err := w.Columns(cols); err != nil {
		return err
	}
	if err := w.Block(tr.Constant); err != nil {
		return err
	}
	return w.End(0)
}

// runQuery plans at the present visible versions and streams the result; rows
// is -1 while nothing was sent.
func (s *Session) runQuery(ctx context.Context, id [16]byte, tr *translate.Translated, w *mysql.ResultWriter) (rows int64, err error) {
	p, err := s.srv.planQuery(id, tr)
	if err != nil {
		return -1, err
	}
	stream, err := s.srv.Backends.Query(ctx, p.Coordinator, p.Request)
	if err != nil {
		return -1, queryError(tr, p, err)
	}
	head, err := stream.Recv()
	if err != nil {
		return -1, queryError(tr, p, err)
	}
	types, cols := resultColumns(tr, head)
	if err := w.Columns(cols); err != nil {
		return 0, err
	}
	b := block.New(types)
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return rows, w.End(0)
		}
		if err != nil {
			return rows, queryError(tr, p, err)
		}
		b.Reset()
		if _, err := block.DecodeAppend(b, chunk.Block); err != nil {
			return rows, fmt.Errorf("cannot read the backend's rows: %w", err)
		}
		rows += int64(b.Rows())
		if err := w.Block(b); err != nil {
			return rows, err
		}
	}
}

// queryError is a failure of a query: nothing was changed, so that a broken
// connection is no doubt but a failure. The BE that ran the query read tablets
// of its own: one of them is named, like a tablet of a BE known to be dead.
func queryError(tr *translate.Translated, p *plan.Plan, err error) error {
	err = doriserr.FromStatus(err)
	if !doriserr.Is(err, doriserr.Unknown) {
		return err
	}
	be := p.Coordinator
	for i, t := range p.Request.Tables {
		for _, tablet := range t.Tablets {
			if tablet.BackendId == be.ID {
				return doriserr.New(doriserr.Internal, "tablet %d of table %s cannot be read: backend %d (%s) failed: %s",
					tablet.TabletId, tr.Tables[i].Table.Name, be.ID, be.Host, err)
			}
		}
	}
	return doriserr.New(doriserr.Internal, "backend %d (%s), which ran the query, failed: %s", be.ID, be.Host, err)
}

// resultColumns are the columns by what the engine gave, with the names and
// parameters that the translation knows.
func resultColumns(tr *translate.Translated, head *bepb.QueryChunk) ([]value.Type, []mysql.Column) {
	types := make([]value.Type, len(head.Columns))
	cols := make([]mysql.Column, len(head.Columns))
	for i, c := range head.Columns {
		types[i] = value.Type{Kind: value.Kind(c.Kind), Precision: uint8(c.Precision), Scale: uint8(c.Scale), Length: c.Length}
		cols[i] = mysql.Column{Name: c.Name, Type: types[i]}
		if i < len(tr.Columns) {
			k := &tr.Columns[i]
			cols[i].Name, cols[i].Schema, cols[i].Table, cols[i].OrgName = k.Name, k.DB, k.Table, k.OrgName
		}
	}
	return types, cols
}

// planQuery takes the visible versions and the BEs at one moment.
func (s *Server) planQuery(id [16]byte, tr *translate.Translated) (*plan.Plan, error) {
	tables := make([]plan.Table, len(tr.Tables))
	for i, t := range tr.Tables {
		tables[i] = plan.Table{Name: t.Name, Table: t.Table, Columns: t.Columns}
	}
	hints := make([]value.Type, len(tr.Columns))
	for i, c := range tr.Columns {
		hints[i] = c.Type
	}
	var p *plan.Plan
	var err error
	s.Node.View(func(st *meta.State) { p, err = plan.Make(st, queryID(id), tr.SQL, tables, hints) })
	return p, err
}
