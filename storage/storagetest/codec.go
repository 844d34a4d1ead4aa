// Package storagetest helps to test what uses the storage: a Codec that needs
// no DuckDB, so that files lie in any vfs.FS.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/block"
	"dorisgo/storage"
	"dorisgo/value"
)

// Codec writes a file that holds one block in the block codec, sorted as asked.
// Its files are not Parquet.
type Codec struct {
	FS vfs.FS
}

// WriteParquet implements storage.Codec.
func (c Codec) WriteParquet(ctx context.Context, path string, spec *storage.FileSpec) (info storage.FileInfo, err error) {
	b, err := Decode(spec.Columns, nil)
	if err != nil {
		return info, err
	}
	for _, f := range spec.Files {
		rows, err := c.Read(f)
		if err != nil {
			return info, err
		}
		b.AppendBlock(rows)
	}
	chunks := spec.Chunks
	if chunks == nil {
		chunks = func(func([]byte, error) bool) {}
	}
	for chunk, err := range chunks {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return info, err
		}
		if _, err := block.DecodeAppend(b, chunk); err != nil {
			return info, fmt.Errorf("cannot read chunk: %w", err)
		}
	}
	if len(spec.SortKey) > 0 {
		b = b.Gather(b.SortPermutation(spec.SortKey))
	}
	data := block.AppendEncoded(nil, b)
	f, err := c.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return info, err
	}
	_, err = f.Write(data)
	return storage.FileInfo{Rows: int64(b.Rows()), Bytes: int64(len(data))}, errors.Join(err, f.Close())
}

// SumRows implements storage.Codec.
func (c Codec) SumRows(_ context.Context, spec *storage.FileSpec) (sum uint64, rows int64, err error) {
	ids := make([]int32, len(spec.Columns))
	for i := range ids {
		ids[i] = spec.Columns[i].UniqueID
	}
	add := func(b *block.Block) {
		sum += b.SumRows(ids)
		rows += int64(b.Rows())
	}
	for _, f := range spec.Files {
		b, err := c.Read(f)
		if err != nil {
			return 0, 0, err
		}
		add(b)
	}
	if spec.Chunks == nil {
		return sum, rows, nil
	}
	for chunk, err := range spec.Chunks {
		if err != nil {
			return 0, 0, err
		}
		b, err := Decode(spec.Columns, chunk)
		if err != nil {
			return 0, 0, err
		}
		add(b)
	}
	return sum, rows, nil
}

// Read reads a file that a Codec wrote.
func (c Codec) Read(f storage.File) (*block.Block, error) {
	in, err := c.FS.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	return Decode(f.Columns, data)
}

// Decode makes a block of rows in the block codec; nil data are no rows.
func Decode(cols []storage.ColumnDesc, data []byte) (*block.Block, error) {
	types := make([]value.Type, len(cols))
	for i := range cols {
		types[i] = cols[i].Type
	}
	b := block.New(types)
	if data == nil {
		return b, nil
	}
	_, err := block.DecodeAppend(b, data)
	return b, err
}
