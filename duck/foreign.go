package duck

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/value"
)

// ForeignFile is a Parquet file that another program wrote, read as texts: what a
// client would write into a CSV file for the same values, so that they are
// converted by the same rules.
type ForeignFile struct {
	db   *DB
	path string
	cols []foreignColumn
}

type foreignColumn struct {
	name, typ string
}

// OpenForeign reads the schema of a file inside Options.Dirs. A file that is no
// Parquet, or is damaged where that shows, is a DataQuality error.
func (d *DB) OpenForeign(ctx context.Context, path string) (*ForeignFile, error) {
	f := &ForeignFile{db: d, path: path}
	rows, err := d.Query(ctx, &Query{SQL: "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet(" + quoteString(path) + "))"})
	if err != nil {
		return nil, f.wrong(err)
	}
	defer rows.Close()
	for {
		b, err := rows.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return f, nil
		case err != nil:
			return nil, f.wrong(err)
		}
		for i := range b.Rows() {
			f.cols = append(f.cols, foreignColumn{string(b.Col(0).Raw(i)), string(b.Col(1).Raw(i))})
		}
	}
}

// Columns are the names of the file's columns in order.
func (f *ForeignFile) Columns() []string {
	names := make([]string, len(f.cols))
	for i, c := range f.cols {
		names[i] = c.name
	}
	return names
}

// wrong words an error about a file for the client, who knows no path here.
func (f *ForeignFile) wrong(err error) error {
	switch doriserr.KindOf(err) {
	case doriserr.Analysis, doriserr.Internal, doriserr.Unsupported:
		text := strings.ReplaceAll(err.Error(), f.path, "the body")
		return doriserr.New(doriserr.DataQuality, "cannot read the body as Parquet: %s", text)
	}
	return err
}

// Read starts reading columns by their index; the caller closes the result,
// which holds a slot of the DB.
func (f *ForeignFile) Read(ctx context.Context, columns []int) (*ForeignRows, error) {
	out := &ForeignRows{file: f}
	exprs := make([]string, len(columns))
	for i, c := range columns {
		expr, isHex := f.cols[c].text()
		exprs[i] = expr + fmt.Sprintf(" AS c%d", i)
		out.hex = append(out.hex, isHex)
	}
	if len(columns) == 0 {
		exprs = []string{"'' AS c0"} // the rows count
		out.hex = []bool{false}
	}
	rows, err := f.db.Query(ctx, &Query{SQL: "SELECT " + strings.Join(exprs, ", ") + " FROM read_parquet(" + quoteString(f.path) + ")"})
	if err != nil {
		return nil, f.wrong(err)
	}
	out.rows = rows
	return out, nil
}

// text is SQL for a column as a text. Bytes without a character set come in
// hexadecimal digits, since they may be no UTF-8.
func (c foreignColumn) text() (sql string, isHex bool) {
	name := quoteIdent(c.name)
	switch typ := c.typ; {
	case typ == "VARCHAR":
		return name, false
	case typ == "BLOB":
		return "hex(" + name + ")", true
	case typ == "BOOLEAN":
		return "CAST(CAST(" + name + " AS TINYINT) AS VARCHAR)", false
	case typ == "FLOAT" || typ == "DOUBLE":
		return "regexp_replace(CAST(" + name + " AS VARCHAR), '\\.0$', '')", false
	// A cast to text would call the year 0 "0001 (BC)".
	case typ == "DATE":
		return "strftime(" + name + ", '%Y-%m-%d')", false
	case typ == "TIMESTAMP WITH TIME ZONE":
		// An instant: the load's time zone decides what it is called.
		return "strftime(make_timestamp(epoch_us(" + name + ")), '%Y-%m-%d %H:%M:%S.%f') || 'Z'", false
	case strings.HasPrefix(typ, "TIMESTAMP"):
		return "strftime(CAST(" + name + " AS TIMESTAMP), '%Y-%m-%d %H:%M:%S.%f')", false
	case strings.HasSuffix(typ, "]") || strings.HasPrefix(typ, "STRUCT") || strings.HasPrefix(typ, "MAP"):
		return "CAST(to_json(" + name + ") AS VARCHAR)", false
	}
	return "CAST(" + name + " AS VARCHAR)", false
}

// ForeignRows are rows of a ForeignFile. They are owned by one goroutine.
type ForeignRows struct {
	file *ForeignFile
	rows *Rows
	hex  []bool
}

// Next returns the next rows as STRING columns, whose bytes may be no UTF-8, and
// io.EOF after the last.
func (r *ForeignRows) Next(ctx context.Context) (*block.Block, error) {
	b, err := r.rows.Next(ctx)
	if errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil {
		return nil, r.file.wrong(err)
	}
	for i, isHex := range r.hex {
		if isHex {
			return r.unhex(b, i)
		}
	}
	return b, nil
}

// unhex turns the columns that need it, of which from is the first, into bytes.
func (r *ForeignRows) unhex(b *block.Block, from int) (*block.Block, error) {
	types := make([]value.Type, b.NumCols())
	for i := range types {
		types[i] = value.Type{Kind: value.String}
	}
	out := block.New(types)
	for i := range types {
		src, dst := b.Col(i), out.Col(i)
		if i < from || !r.hex[i] {
			dst.AppendColumn(src)
			continue
		}
		for k := range src.Len() {
			if src.IsNull(k) {
				dst.AppendNull()
				continue
			}
			raw, err := hex.DecodeString(string(src.Raw(k)))
			if err != nil {
				return nil, fmt.Errorf("BUG: the engine's hexadecimal digits: %w", err)
			}
			dst.AppendBytes(raw)
		}
	}
	out.EndRows(b.Rows())
	return out, nil
}

// Close ends the reading.
func (r *ForeignRows) Close() error { return r.rows.Close() }
