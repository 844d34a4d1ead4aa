package storage

import (
	"context"
	"iter"

	"dorisgo/storage/rowset"
)

// The descriptions of rowsets are package rowset's; these names are for callers
// that need nothing else of it.
type (
	// RowsetID names a rowset.
	RowsetID = rowset.ID
	// RowsetMeta describes a rowset as its coordinator built it.
	RowsetMeta = rowset.Meta
	// ColumnDesc is a column as a rowset was written with it.
	ColumnDesc = rowset.ColumnDesc
)

// Codec writes rows into Parquet files, merges such files and reads them.
type Codec interface {
	// WriteParquet creates the file at path, which does not exist, and returns
	// when all of it is written and closed. The engine makes the file durable
	// and gives it its final name afterwards; it removes the file after an
	// error. Calls may run at the same time.
	WriteParquet(ctx context.Context, path string, spec *FileSpec) (FileInfo, error)
	// SumRows adds up a hash of each of the rows (block.SumRows), which depends
	// neither on their order nor on where they are.
	SumRows(ctx context.Context, spec *FileSpec) (sum uint64, rows int64, err error)
}

// FileSpec says what goes into a Parquet file.
type FileSpec struct {
	// Columns are written with their names and with UniqueID as field_id.
	Columns []ColumnDesc
	// SortKey are the columns to sort by, as indexes in Columns, NULLs first;
	// rows with equal keys stay in the order in which they come. Empty: the
	// rows are in order already.
	SortKey []int
	Rows    int64
	// Chunks are the rows in the block codec, each chunk with Columns' types. A
	// chunk is valid until the next one is asked for. It can be walked once. It is
	// nil if the rows are those of Files.
	Chunks iter.Seq2[[]byte, error]
	// Files are files to be merged, all written with Columns.
	Files []File
}

// FileInfo describes a written file.
type FileInfo struct {
	Rows  int64
	Bytes int64
}
