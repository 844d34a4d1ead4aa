package duck

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"dorisgo/block"
	"dorisgo/value"
)

// Prepared computes expressions over rows, again and again: a SELECT over one
// private relation on a connection of its own, which holds one of the DB's
// slots only while Run is called. Its methods may be called concurrently; runs
// come one after the other.
type Prepared struct {
	db    *DB
	cols  []ColumnDesc
	exprs string
	types []value.Type

	mu     sync.Mutex
	conn   *conn
	stmt   mapping.PreparedStatement
	closed bool
}

// smallRun is up to how many values come as parameters of the prepared
// statement. More of them go through a TEMP table, which costs more at the
// start and less for each value.
const smallRun = 512

// Prepare makes a Prepared of expressions, in DuckDB's dialect, over columns
// that they call by their names; types are the wanted types of the results (as
// Query.Types). Nothing is checked before the first Run. The caller closes it
// before the DB.
func (d *DB) Prepare(cols []ColumnDesc, exprs []string, types []value.Type) *Prepared {
	var sb strings.Builder
	for i, e := range exprs {
		if i > 0 {
			sb.WriteString(", ")
		}
		fmt.Fprintf(&sb, "%s AS r%d", e, i)
	}
	return &Prepared{db: d, cols: cols, exprs: sb.String(), types: types}
}

// Run computes the expressions for the rows of in, at least one, which has the
// columns: one row of results for each, in order. Errors are as those of
// DB.Query.
func (p *Prepared) Run(ctx context.Context, in *block.Block) (*block.Block, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.NumCols() != len(p.cols) {
		return nil, errColumns("rows", in.NumCols(), len(p.cols))
	}
	out, err := p.run(ctx, in)
	if wasInvalid(err) {
		out, err = p.run(ctx, in)
	}
	if err == nil && out.Rows() != in.Rows() {
		err = fmt.Errorf("BUG: %d results for %d rows", out.Rows(), in.Rows())
	}
	return out, clientError(err)
}

// Check prepares the statement: what is wrong with the expressions is told here.
func (p *Prepared) Check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := p.db.bound(ctx)
	defer cancel()
	if err := p.db.slot(ctx); err != nil {
		return clientError(err)
	}
	defer p.db.freeSlot()
	err := p.open(ctx)
	if wasInvalid(err) {
		err = p.open(ctx)
	}
	return clientError(err)
}

func (p *Prepared) run(ctx context.Context, in *block.Block) (out *block.Block, err error) {
	ctx, cancel := p.db.bound(ctx)
	defer cancel()
	if err := p.db.slot(ctx); err != nil {
		return nil, err
	}
	defer p.db.freeSlot()
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.db.inspect(p.conn.in, err)
			p.drop()
		}
	}()
	if in.Rows()*len(p.cols) <= smallRun {
		return p.withParameters(ctx, in)
	}
	return p.withTable(ctx, in)
}

// open connects and prepares, unless that was done.
func (p *Prepared) open(ctx context.Context) error {
	if p.conn != nil {
		return nil
	}
	if p.closed {
		return fmt.Errorf("BUG: a Prepared is used after its end")
	}
	c, err := p.db.connect()
	if err != nil {
		return err
	}
	p.conn = c
	err = c.call(ctx, func() error {
		if mapping.Prepare(c.raw, p.parameterSQL(), &p.stmt) == mapping.StateError {
			return &engineError{mapping.PrepareError(p.stmt)}
		}
		return nil
	})
	if err != nil {
		p.db.inspect(c.in, err)
		p.drop()
	}
	return err
}

// parameterSQL takes each column as a list of texts.
func (p *Prepared) parameterSQL() string {
	var typed, lists strings.Builder
	for i, c := range p.cols {
		if i > 0 {
			typed.WriteString(", ")
			lists.WriteString(", ")
		}
		name := quoteIdent(c.Name)
		fmt.Fprintf(&typed, "CAST(%s AS %s) AS %s", name, sqlType(c.Type), name)
		fmt.Fprintf(&lists, "unnest(CAST($%d AS VARCHAR[])) AS %s", i+1, name)
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT %s FROM (SELECT %s))", p.exprs, &typed, &lists)
}

func (p *Prepared) withParameters(ctx context.Context, in *block.Block) (out *block.Block, err error) {
	text := mapping.CreateLogicalType(mapping.TypeVarchar)
	defer mapping.DestroyLogicalType(&text)
	for i := range p.cols {
		list := listOf(text, in.Col(i))
		state := mapping.BindValue(p.stmt, mapping.IdxT(i+1), list)
		mapping.DestroyValue(&list)
		if state == mapping.StateError {
			return nil, &engineError{mapping.PrepareError(p.stmt)}
		}
	}
	r := &Rows{conn: p.conn, ctx: ctx}
	err = p.conn.call(ctx, func() error {
		if mapping.ExecutePrepared(p.stmt, &r.res) == mapping.StateError {
			return &engineError{mapping.ResultError(&r.res)}
		}
		return nil
	})
	defer destroy(&r.res)
	if err != nil {
		return nil, err
	}
	return p.collect(ctx, r, in.Rows())
}

// listOf is a column as a list of texts.
func listOf(text mapping.LogicalType, c *block.Column) mapping.Value {
	vals := make([]mapping.Value, c.Len())
	var buf []byte
	for i := range vals {
		if c.IsNull(i) {
			vals[i] = mapping.CreateNullValue()
			continue
		}
		buf = value.AppendText(buf[:0], c.Type(), c.Raw(i))
		vals[i] = mapping.CreateVarcharLength(string(buf), mapping.IdxT(len(buf)))
	}
	list := mapping.CreateListValue(text, vals)
	for i := range vals {
		mapping.DestroyValue(&vals[i])
	}
	return list
}

func (p *Prepared) withTable(ctx context.Context, in *block.Block) (out *block.Block, err error) {
	const table = "rows"
	if err := p.conn.createTable(ctx, table, p.cols); err != nil {
		return nil, err
	}
	if _, err = p.conn.fillTable(ctx, table, p.cols, sequence([]*block.Block{in})); err != nil {
		return nil, err
	}
	r := &Rows{conn: p.conn, ctx: ctx}
	if r.res, err = p.conn.query(ctx, "SELECT "+p.exprs+" FROM "+quoteIdent(table)); err != nil {
		return nil, err
	}
	out, err = p.collect(ctx, r, in.Rows())
	destroy(&r.res)
	if err != nil {
		return nil, err
	}
	return out, p.conn.exec(ctx, "DROP TABLE "+quoteIdent(table))
}

// collect reads a result to its end.
func (p *Prepared) collect(ctx context.Context, r *Rows, rows int) (*block.Block, error) {
	if err := r.describe(p.types); err != nil {
		return nil, err
	}
	var out *block.Block
	for {
		chunk, err := r.fetch(ctx)
		if err != nil {
			return nil, err
		}
		if chunk.Ptr == nil {
			break
		}
		b := r.read(chunk)
		destroyChunk(&chunk)
		if out == nil && b.Rows() == rows {
			return b, nil
		}
		if out == nil {
			out = block.New(r.types)
		}
		out.AppendBlock(b)
	}
	if out == nil {
		out = block.New(r.types)
	}
	return out, nil
}

// drop ends the connection; the next run opens another.
func (p *Prepared) drop() {
	if p.conn == nil {
		return
	}
	mapping.DestroyPrepare(&p.stmt)
	p.stmt = mapping.PreparedStatement{}
	p.conn.close()
	p.conn = nil
	p.db.active.Done()
}

// Release gives the connection back, after the run that goes on; a later run
// takes another.
func (p *Prepared) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

// Close is Release for good.
func (p *Prepared) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.drop()
}
