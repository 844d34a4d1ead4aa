package duck

import (
	"context"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"dorisgo/value"
)

// Query is a SELECT over private relations.
type Query struct {
	// SQL is in DuckDB's dialect and refers to the relations by name.
	SQL    string
	Tables []TableInput
	// Types are hints for the result columns, Invalid where nothing is known:
	// the fraction digits of a DateTime, JSON or the length of a string.
	Types []value.Type
}

// Query starts q. The whole query, fetching included, is interrupted when ctx
// ends. The caller closes the Rows. Errors are worded for clients; those of a
// context are its cause.
func (d *DB) Query(ctx context.Context, q *Query) (*Rows, error) {
	r, err := d.start(ctx, q)
	if wasInvalid(err) {
		r, err = d.start(ctx, q)
	}
	if err != nil {
		return nil, clientError(err)
	}
	return r, nil
}

func (d *DB) start(ctx context.Context, q *Query) (*Rows, error) {
	ctx, cancel := d.bound(ctx)
	c, err := d.enter(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	r := &Rows{db: d, conn: c, cancel: cancel, ctx: ctx}
	if err := r.start(q); err != nil {
		d.inspect(c.in, err)
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rows) start(q *Query) error {
	for i := range q.Tables {
		if err := r.conn.create(r.ctx, &q.Tables[i]); err != nil {
			return err
		}
	}
	var err error
	if r.res, err = r.conn.query(r.ctx, q.SQL); err != nil {
		r.res = mapping.Result{}
		return err
	}
	return r.describe(q.Types)
}
