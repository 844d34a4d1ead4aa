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
	out := &sender{tr: tr, w: w}
	err = s.srv.runQuery(ctx, id, tr, out)
	return out.rows, err
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

// rowSink takes a query's result: its columns once, then blocks, then the end.
type rowSink interface {
	columns(head *bepb.QueryChunk) error
	block(b *block.Block) error
	end() error
}

// sender sends a result to the client.
type sender struct {
	tr   *translate.Translated
	w    *mysql.ResultWriter
	rows int64
}

func (s *sender) columns(head *bepb.QueryChunk) error {
	_, cols := resultColumns(s.tr, head)
	return s.w.Columns(cols)
}

func (s *sender) block(b *block.Block) error {
	s.rows += int64(b.Rows())
	return s.w.Block(b)
}

func (s *sender) end() error { return s.w.End(0) }

// runQuery plans a query at the present visible versions and hands its result to
// out. Until out was given something, a failure that another replica may not
// have is answered by another plan.
func (s *Server) runQuery(ctx context.Context, id [16]byte, tr *translate.Translated, out rowSink) error {
	var f failover
	for {
		p, err := s.planQuery(id, tr, &f.avoid)
		if err != nil {
			return f.noPlan(err)
		}
		at, err := s.runPlan(ctx, p, tr, out)
		if err == nil {
			return nil
		}
		failed := s.queryError(tr, p, err)
		place, ok := failedAt(p, err)
		if !ok || ctx.Err() != nil {
			return failed
		}
		if place.TabletID == 0 {
			s.suspects.add(place.BackendID, time.Now())
		}
		if !f.again(p, place, at, err) {
			return failed
		}
		f.last = failed
		s.again.Add(1)
		s.Logger.Warn("a query is planned again", "backend_id", p.Coordinator.ID, "err", failed)
	}
}

// progress is how far a plan came.
type progress uint8

const (
	sent    progress = iota // its coordinator may not have got it
	running                 // its coordinator has taken it
	begun                   // somebody was given a part of the result
)

// runPlan runs a plan and says how far it came.
func (s *Server) runPlan(ctx context.Context, p *plan.Plan, tr *translate.Translated, out rowSink) (progress, error) {
	// Its end ends the stream.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.Backends.Query(ctx, p.Coordinator, p.Request)
	if err != nil {
		return sent, err
	}
	head, err := stream.Recv()
	if err != nil {
		return running, doriserr.FromStatus(err)
	}
	types, _ := resultColumns(tr, head)
	b := block.New(types)
	for at := running; ; {
		chunk, err := stream.Recv()
		if err != nil && !errors.Is(err, io.EOF) {
			return at, doriserr.FromStatus(err)
		}
		if at != begun {
			at = begun
			if err := out.columns(head); err != nil {
				return at, err
			}
		}
		if err != nil {
			return at, out.end()
		}
		b.Reset()
		if _, err := block.DecodeAppend(b, chunk.Block); err != nil {
			return at, fmt.Errorf("cannot read the backend's rows: %w", err)
		}
		if err := out.block(b); err != nil {
			return at, err
		}
	}
}

// queryError is a failure of a query: nothing was changed, so that a broken
// connection is no doubt but a failure. The backend that failed was read for
// tablets: one of them is named, like a tablet of a BE known to be dead.
func (s *Server) queryError(tr *translate.Translated, p *plan.Plan, err error) error {
	if !doriserr.Is(err, doriserr.Unknown) {
		return err
	}
	be := p.Coordinator
	if place, ok := doriserr.PlaceOf(err); ok && place.BackendID != be.ID {
		if other := s.present().byID[place.BackendID]; other != nil {
			be = other
		}
	}
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
func (s *Server) planQuery(id [16]byte, tr *translate.Translated, avoid *plan.Avoid) (*plan.Plan, error) {
	tables := make([]plan.Table, len(tr.Tables))
	for i, t := range tr.Tables {
		tables[i] = plan.Table{Name: t.Name, Table: t.Table, Columns: t.Columns}
	}
	hints := make([]value.Type, len(tr.Columns))
	for i, c := range tr.Columns {
		hints[i] = c.Type
	}
	q := &plan.Query{ID: queryID(id), SQL: tr.SQL, Tables: tables, Hints: hints, Seed: s.queries.Add(1), Avoid: avoid, Suspects: s.suspects.list(time.Now())}
	var p *plan.Plan
	var err error
	s.Node.View(func(st *meta.State) { p, err = plan.Make(st, q) })
	return p, err
}
