package duck

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"dorisgo/block"
)

// FileInfo is what WriteParquet made.
type FileInfo struct {
	Rows int64
	// Bytes is the size of the file.
	Bytes int64
}

// WriteParquet writes the rows of blocks, which have the columns cols, to a new
// Parquet file at path (absolute, inside Options.Dirs). With sortCols (indexes
// of cols) the rows are sorted by them, NULL first, and rows that are equal in
// them keep their order; without, they stay in order. The file is written under
// a temporary name in the same directory, fsynced through a descriptor of our
// own, renamed, and its directory fsynced: when WriteParquet returns, the file
// is durable, and before it was complete nothing had its name. After an error
// nothing is left behind. A path must never be used twice.
func (d *DB) WriteParquet(ctx context.Context, path string, cols []ColumnDesc, blocks iter.Seq2[*block.Block, error], sortCols []int) (info FileInfo, err error) {
	err = d.run(ctx, func(ctx context.Context, c *conn) error {
		if err := c.createTable(ctx, "rows", cols); err != nil {
			return err
		}
		if info.Rows, err = c.fillTable(ctx, "rows", cols, blocks); err != nil {
			return err
		}
		info.Bytes, err = c.copyTo(ctx, path, cols, selectSorted(cols, sortCols))
		return err
	})
	return info, err
}

// MergeParquet writes the rows of the relation in to a new file as WriteParquet
// does, without bringing them into Go. Rows that are equal in sortCols come in
// the order of in: blocks first, then the files, each in its own order.
func (d *DB) MergeParquet(ctx context.Context, path string, in TableInput, sortCols []int) (info FileInfo, err error) {
	in.Name = "input"
	err = d.run(ctx, func(ctx context.Context, c *conn) error {
		if err := c.create(ctx, &in); err != nil {
			return err
		}
		if err := c.createTable(ctx, "rows", in.Columns); err != nil {
			return err
		}
		// The table gives each row its number: a sort in DuckDB is not stable.
		if err := c.exec(ctx, `INSERT INTO "rows" SELECT * FROM "input"`); err != nil {
			return err
		}
		if info.Rows, err = c.count(ctx, "rows"); err != nil {
			return err
		}
		info.Bytes, err = c.copyTo(ctx, path, in.Columns, selectSorted(in.Columns, sortCols))
		return err
	})
	return info, err
}

// selectSorted reads the TEMP table "rows" in file order and file types.
func selectSorted(cols []ColumnDesc, sortCols []int) string {
	var sb strings.Builder
	sb.WriteString("SELECT ")
	for i, col := range cols {
		if i > 0 {
			sb.WriteString(", ")
		}
		name := quoteIdent(col.Name)
		if fileType(col.Type) != sqlType(col.Type) {
			fmt.Fprintf(&sb, "CAST(%s AS %s) AS %s", name, fileType(col.Type), name)
			continue
		}
		sb.WriteString(name)
	}
	sb.WriteString(` FROM "rows"`)
	if len(sortCols) > 0 {
		sb.WriteString(" ORDER BY ")
		for _, i := range sortCols {
			// Qualified: a cast column of the same name would sort as text.
			sb.WriteString(`"rows".` + quoteIdent(cols[i].Name) + " ASC NULLS FIRST, ")
		}
		sb.WriteString(`"rows".rowid`)
	}
	return sb.String()
}

// copyTo runs COPY to a temporary name and makes the file durable under path.
func (c *conn) copyTo(ctx context.Context, path string, cols []ColumnDesc, query string) (size int64, err error) {
	dir := filepath.Dir(path)
	tmp := filepath.Join(dir, rand.Text()+".tmp")
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	ids := make([]string, len(cols))
	for i, col := range cols {
		ids[i] = fmt.Sprintf("%s: %d", quoteIdent(col.Name), col.UniqueID)
	}
	sql := fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, FIELD_IDS {%s})",
		query, quoteString(tmp), strings.Join(ids, ", "))
	if err := c.exec(ctx, sql); err != nil {
		return 0, err
	}
	if size, err = c.files.sync(tmp); err != nil {
		return 0, err
	}
	if err := c.files.rename(tmp, path); err != nil {
		return 0, fmt.Errorf("cannot give the file its name: %w", err)
	}
	if _, err := c.files.sync(dir); err != nil {
		// The name may be lost in a crash: such a file is none.
		os.Remove(path)
		return 0, err
	}
	return size, nil
}

// count is the number of rows of a TEMP table.
func (c *conn) count(ctx context.Context, table string) (int64, error) {
	r := &Rows{conn: c, ctx: ctx}
	var err error
	if r.res, err = c.query(ctx, "SELECT count(*) FROM "+quoteIdent(table)); err != nil {
		return 0, err
	}
	defer destroy(&r.res)
	if err := r.describe(nil); err != nil {
		return 0, err
	}
	chunk, err := r.fetch(ctx)
	if err != nil {
		return 0, err
	}
	defer destroyChunk(&chunk)
	return r.read(chunk).Col(0).Int64(0), nil
}
