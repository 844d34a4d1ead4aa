package behttp

import (
	"context"
	"errors"
	"io"

	"dorisgo/load"
	"dorisgo/load/parquet"
)

// spooledFile is a Parquet file whose body goes with it.
type spooledFile struct {
	parquet.File
	body *spooled
}

// Close removes the file.
func (f spooledFile) Close() error { return errors.Join(f.File.Close(), f.body.drop()) }

// parquetDecoder reads a body as Parquet: as a whole into a file, when the first
// rows are asked for.
func (l *request) parquetDecoder(ctx context.Context, m *load.Mapping, body io.Reader) *parquet.Decoder {
	return parquet.NewDecoder(m, func() (parquet.File, error) {
		sp, err := l.s.o.Spool.take(body)
		if err != nil {
			return nil, err
		}
		var f parquet.File
		// Those that it waits for here may need the turn to go on.
		l.body.aside(func() { f, err = l.s.o.OpenParquet(ctx, sp.path) })
		if err != nil {
			return nil, errors.Join(err, sp.drop())
		}
		return spooledFile{f, sp}, nil
	})
}
