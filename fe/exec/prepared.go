package exec

import (
	"context"
	"slices"
	"time"

	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/sql/insert"
	"dorisgo/sql/token"
)

// Prepare implements mysql.Session.
func (s *Session) Prepare(ctx context.Context, sql []byte) (mysql.Statement, error) {
	noBackslash := s.vars.NoBackslashEscapes()
	if token.Classify(sql) == token.Insert {
		p, err := insert.Prepare(sql, noBackslash)
		if err != nil {
			return nil, err
		}
		if p.Header.Select || p.Header.Overwrite {
			return nil, doriserr.New(doriserr.Unsupported, "INSERT INTO ... SELECT is not supported yet: load with INSERT INTO ... VALUES or Stream Load")
		}
		c, err := s.plan(p.Header)
		if err != nil {
			return nil, err
		}
		if err := p.Check(c.target); err != nil {
			return nil, err
		}
		return &preparedInsert{session: s, Prepared: p}, nil
	}
	n, err := insert.CountParams(sql, noBackslash)
	if err != nil {
		return nil, err
	}
	return &preparedText{session: s, sql: slices.Clone(sql), params: n}, nil
}

// preparedInsert is an INSERT INTO … VALUES whose parameters go straight from
// the packet into block vectors.
type preparedInsert struct {
	session *Session
	*insert.Prepared
	params insert.Params
	types  []insert.ParamType
	target cachedTarget
	ran    bool
}

// Params implements mysql.Statement.
func (p *preparedInsert) Params() int { return p.Prepared.Params }

// Columns implements mysql.Statement: an INSERT has no result.
func (p *preparedInsert) Columns() []mysql.Column { return nil }

// Execute implements mysql.Statement. The plan (target) follows the table and
// the session: a cached one is used while both are as they were.
func (p *preparedInsert) Execute(ctx context.Context, args *mysql.ExecuteArgs, w *mysql.ResultWriter) error {
	s, start := p.session, time.Now()
	p.bind(args)
	st := &statement{id: s.newID(), text: p.SQL, prepared: p, params: &p.params}
	s.target, p.target = p.target, s.target
	st.reused = p.ran && s.target.target != nil
	rows, err := s.load(ctx, p.Header, st, w)
	s.target, p.target = p.target, s.target
	p.ran = err == nil
	s.audit(start, st.id, p.SQL, rows, true, err)
	return err
}

func (p *preparedInsert) bind(args *mysql.ExecuteArgs) {
	p.types = p.types[:0]
	for _, t := range args.Types {
		p.types = append(p.types, insert.ParamType{Type: t.Type, Unsigned: t.Unsigned})
	}
	var long [][]byte
	if len(args.LongData) > 0 {
		long = make([][]byte, len(args.Types))
		for i, b := range args.LongData {
			if b == nil {
				b = []byte{}
			}
			long[i] = b
		}
	}
	p.params.Bind(p.types, args.NullBitmap, args.Values, long)
}

// Close implements mysql.Statement.
func (p *preparedInsert) Close() {}

// preparedText is any other statement: the parameters are written into its
// text.
type preparedText struct {
	session *Session
	sql     []byte
	params  int
}

// Params implements mysql.Statement.
func (p *preparedText) Params() int { return p.params }

// Columns implements mysql.Statement: they are known at execution.
func (p *preparedText) Columns() []mysql.Column { return nil }

// Execute implements mysql.Statement.
func (p *preparedText) Execute(ctx context.Context, args *mysql.ExecuteArgs, w *mysql.ResultWriter) error {
	text, err := args.Substitute(nil, p.sql, p.session.vars.NoBackslashEscapes())
	if err != nil {
		return err
	}
	return p.session.Query(ctx, text, w)
}

// Close implements mysql.Statement.
func (p *preparedText) Close() {}
