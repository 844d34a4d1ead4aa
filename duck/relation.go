package duck

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"dorisgo/block"
	"dorisgo/value"
)

// ColumnDesc is a column of a relation and of Parquet files.
type ColumnDesc struct {
	// UniqueID is the field_id in Parquet files.
	UniqueID int32
	Name     string
	Type     value.Type
	Nullable bool
	// Default is the text of the value that rows of files written before the
	// column existed have; nil means NULL.
	Default *string
}

// File is a Parquet file made by WriteParquet.
type File struct {
	Path string
	// Deleted are the row numbers (from 0, ascending) that do not exist any
	// more; nil for none.
	Deleted []uint32
}

// TableInput is one relation of a query: the rows of Blocks and of Files
// together, in this order.
type TableInput struct {
	// Name is how the query's SQL calls it. Names are private to the query.
	Name string
	// Columns are those that the query needs, at least one. A file may have
	// more, in any order, under any names: the unique id decides.
	Columns []ColumnDesc
	// Blocks have exactly Columns. They are copied before Query returns.
	Blocks []*block.Block
	// Rows, if it is set, gives further blocks as they come, walked once before
	// Query returns: what does not fit into the memory limit is spilled. It must
	// end soon after the query's context does.
	Rows iter.Seq2[*block.Block, error]
	// Files must exist until the Rows are closed.
	Files []File
}

// create makes the relation on the query's connection.
func (c *conn) create(ctx context.Context, in *TableInput) error {
	if len(in.Columns) == 0 {
		return fmt.Errorf("duck: relation %q has no columns", in.Name)
	}
	hot := in.Name
	if len(in.Files) > 0 {
		hot += ":hot"
	}
	var parts []string
	if len(in.Blocks) > 0 || in.Rows != nil || len(in.Files) == 0 {
		if err := c.createTable(ctx, hot, in.Columns); err != nil {
			return err
		}
		if _, err := c.fillTable(ctx, hot, in.Columns, in.hotRows()); err != nil {
			return err
		}
		parts = append(parts, "SELECT * FROM "+quoteIdent(hot))
	}
	if len(in.Files) == 0 {
		return nil
	}
	scans, err := c.scans(ctx, in)
	if err != nil {
		return err
	}
	parts = append(parts, scans...)
	return c.exec(ctx, "CREATE TEMP VIEW "+quoteIdent(in.Name)+" AS "+strings.Join(parts, " UNION ALL "))
}

// scans are the SELECTs over the files: one for all files without deleted
// rows, one for each of the others.
func (c *conn) scans(ctx context.Context, in *TableInput) ([]string, error) {
	var out, whole []string
	for i, f := range in.Files {
		if len(f.Deleted) == 0 {
			whole = append(whole, f.Path)
			continue
		}
		name := fmt.Sprintf("%s:deleted:%d", in.Name, i)
		col := []ColumnDesc{{Name: "n", Type: value.Type{Kind: value.BigInt}}}
		if err := c.createTable(ctx, name, col); err != nil {
			return nil, err
		}
		b := block.New([]value.Type{col[0].Type})
		for _, n := range f.Deleted {
			b.Col(0).AppendInt64(int64(n))
			b.EndRow()
		}
		if _, err := c.fillTable(ctx, name, col, sequence([]*block.Block{b})); err != nil {
			return nil, err
		}
		out = append(out, scanFiles(in.Columns, []string{f.Path}, true)+
			" WHERE NOT EXISTS (SELECT 1 FROM "+quoteIdent(name)+" AS d WHERE d.n = f.file_row_number)")
	}
	if len(whole) > 0 {
		out = append([]string{scanFiles(in.Columns, whole, false)}, out...)
	}
	return out, nil
}

// scanFiles reads columns by their unique ids. Column names inside files are
// for people: the schema map gives each id its present name and type.
func scanFiles(cols []ColumnDesc, paths []string, rowNumbers bool) string {
	var sel, schema, files strings.Builder
	for i, col := range cols {
		if i > 0 {
			sel.WriteString(", ")
			schema.WriteString(", ")
		}
		if name := quoteIdent(col.Name); fileType(col.Type) != sqlType(col.Type) {
			fmt.Fprintf(&sel, "CAST(f.%s AS %s) AS %s", name, sqlType(col.Type), name)
		} else {
			fmt.Fprintf(&sel, "f.%s", name)
		}
		def := "CAST(NULL AS VARCHAR)"
		if col.Default != nil {
			def = quoteString(*col.Default)
		}
		fmt.Fprintf(&schema, "%d: {name: %s, type: %s, default_value: %s}",
			col.UniqueID, quoteString(col.Name), quoteString(fileType(col.Type)), def)
	}
	for i, p := range paths {
		if i > 0 {
			files.WriteString(", ")
		}
		files.WriteString(quoteString(p))
	}
	extra := ""
	if rowNumbers {
		extra = ", file_row_number = true"
	}
	return fmt.Sprintf("SELECT %s FROM read_parquet([%s], schema = MAP {%s}%s) AS f", sel.String(), files.String(), schema.String(), extra)
}

// hotRows are Blocks, then Rows.
func (in *TableInput) hotRows() iter.Seq2[*block.Block, error] {
	if in.Rows == nil {
		return sequence(in.Blocks)
	}
	return func(yield func(*block.Block, error) bool) {
		for _, b := range in.Blocks {
			if !yield(b, nil) {
				return
			}
		}
		in.Rows(yield)
	}
}

func sequence(blocks []*block.Block) func(func(*block.Block, error) bool) {
	return func(yield func(*block.Block, error) bool) {
		for _, b := range blocks {
			if !yield(b, nil) {
				return
			}
		}
	}
}
