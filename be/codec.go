package be

import (
	"context"
	"errors"
	"io"
	"iter"

	"dorisgo/block"
	"dorisgo/duck"
	"dorisgo/storage"
	"dorisgo/value"
)

// parquet makes the storage's files with DuckDB.
type parquet struct{ db *duck.DB }

// WriteParquet implements storage.Codec.
func (p parquet) WriteParquet(ctx context.Context, path string, spec *storage.FileSpec) (storage.FileInfo, error) {
	cols := make([]duck.ColumnDesc, len(spec.Columns))
	types := make([]value.Type, len(spec.Columns))
	for i, c := range spec.Columns {
		cols[i] = duck.ColumnDesc{UniqueID: c.UniqueID, Name: c.Name, Type: c.Type, Nullable: c.Nullable}
		types[i] = c.Type
	}
	if len(spec.Files) > 0 {
		in := duck.TableInput{Columns: cols}
		for _, f := range spec.Files {
			in.Files = append(in.Files, duck.File{Path: f.Path})
		}
		info, err := p.db.MergeParquet(ctx, path, in, spec.SortKey)
		return storage.FileInfo{Rows: info.Rows, Bytes: info.Bytes}, err
	}
	info, err := p.db.WriteParquet(ctx, path, cols, decoded(types, spec.Chunks), spec.SortKey)
	return storage.FileInfo{Rows: info.Rows, Bytes: info.Bytes}, err
}

// SumRows implements storage.Codec.
func (p parquet) SumRows(ctx context.Context, spec *storage.FileSpec) (sum uint64, rows int64, err error) {
	in := duck.TableInput{Name: "t"}
	types := make([]value.Type, len(spec.Columns))
	ids := make([]int32, len(spec.Columns))
	for i, c := range spec.Columns {
		in.Columns = append(in.Columns, duck.ColumnDesc{UniqueID: c.UniqueID, Name: c.Name, Type: c.Type, Nullable: c.Nullable})
		types[i], ids[i] = c.Type, c.UniqueID
	}
	add := func(b *block.Block) {
		sum += b.SumRows(ids)
		rows += int64(b.Rows())
	}
	if spec.Chunks != nil {
		for b, err := range decoded(types, spec.Chunks) {
			if err != nil {
				return 0, 0, err
			}
			add(b)
		}
	}
	if len(spec.Files) == 0 {
		return sum, rows, nil
	}
	for _, f := range spec.Files {
		in.Files = append(in.Files, duck.File{Path: f.Path})
	}
	r, err := p.db.Query(ctx, &duck.Query{SQL: "SELECT * FROM t", Tables: []duck.TableInput{in}, Types: types})
	if err != nil {
		return 0, 0, err
	}
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return sum, rows, r.Close()
		}
		if err != nil {
			return 0, 0, errors.Join(err, r.Close())
		}
		add(b)
	}
}

// decoded turns encoded chunks into blocks, several chunks into one.
func decoded(types []value.Type, chunks iter.Seq2[[]byte, error]) iter.Seq2[*block.Block, error] {
	const enough = 64 << 10
	return func(yield func(*block.Block, error) bool) {
		b := block.New(types)
		for chunk, err := range chunks {
			if err == nil {
				_, err = block.DecodeAppend(b, chunk)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if b.Rows() >= enough {
				if !yield(b, nil) {
					return
				}
				b = block.New(types)
			}
		}
		if b.Rows() > 0 {
			yield(b, nil)
		}
	}
}
