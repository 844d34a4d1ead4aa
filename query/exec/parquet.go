package exec

import (
	"context"
	"fmt"

	"dorisgo/block"
	"dorisgo/duck"
	"dorisgo/load/parquet"
)

// ParquetReads is how many Parquet bodies are read at a time. The engine of loads
// needs more slots than that: a load that reads a file may wait for expressions.
const ParquetReads = 4

// OpenParquet opens a Parquet file of a load, in one of the engine's directories.
// ctx is the load's.
func (e *Expressions) OpenParquet(ctx context.Context, path string) (parquet.File, error) {
	db, err := e.engine()
	if err != nil {
		return nil, err
	}
	select {
	case e.reads <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("the load waited for others that read Parquet: %w", context.Cause(ctx))
	case <-e.life.Done():
		return nil, stopping()
	}
	f, err := db.OpenForeign(ctx, path)
	if err != nil {
		<-e.reads
		return nil, err
	}
	return &parquetFile{e: e, ctx: ctx, f: f}, nil
}

// parquetFile is used by one load alone, whose context it carries.
type parquetFile struct {
	e   *Expressions
	ctx context.Context //nolint:containedctx // it lives as long as its load
	f   *duck.ForeignFile
}

func (p *parquetFile) Columns() []string { return p.f.Columns() }

func (p *parquetFile) Read(columns []int) (parquet.Rows, error) {
	rows, err := p.f.Read(p.ctx, columns)
	if err != nil {
		return nil, err
	}
	return parquetRows{p.ctx, rows}, nil
}

func (p *parquetFile) Close() error {
	<-p.e.reads
	return nil
}

type parquetRows struct {
	ctx  context.Context //nolint:containedctx // it lives as long as its load
	rows *duck.ForeignRows
}

func (r parquetRows) Next() (*block.Block, error) { return r.rows.Next(r.ctx) }
func (r parquetRows) Close() error                { return r.rows.Close() }
