package be

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dorisgo/block"
	"dorisgo/duck"
	"dorisgo/duck/ducktest"
	"dorisgo/storage"
	"dorisgo/storage/rowset"
	"dorisgo/value"
	"dorisgo/value/valuetest"
)

// everyType is a table with an id and a column for each type, NULLs between its
// limits.
func everyType(t *testing.T) (cols []storage.ColumnDesc, texts [][]string, rows *block.Block) {
	t.Helper()
	cols = []storage.ColumnDesc{{UniqueID: 100, Name: "id", Type: value.Type{Kind: value.Int}, Key: true}}
	cases := map[value.Type][]valuetest.Case{}
	for _, c := range valuetest.Limits() {
		cases[c.Type] = append(cases[c.Type], c)
	}
	n := 0
	for i, ty := range valuetest.Types() {
		cols = append(cols, storage.ColumnDesc{UniqueID: int32(i), Name: fmt.Sprintf(`Spalte "%d" %s`, i, ty), Type: ty, Nullable: true})
		n = max(n, len(cases[ty])+1)
	}
	types := make([]value.Type, len(cols))
	for i := range cols {
		types[i] = cols[i].Type
	}
	rows = block.New(types)
	texts = make([][]string, n)
	for r := range n {
		rows.Col(0).AppendInt64(int64(r))
		texts[r] = make([]string, len(cols))
		for i := 1; i < len(cols); i++ {
			list := cases[cols[i].Type]
			if r >= len(list) {
				texts[r][i] = "NULL"
				rows.Col(i).AppendNull()
				continue
			}
			texts[r][i] = fmt.Sprintf("decode(from_hex('%x'))", list[r].Want) // a literal cannot have every byte
			if err := rows.Col(i).AppendText([]byte(list[r].Text), &block.ConvertOptions{Strict: true}); err != nil {
				t.Fatal(err)
			}
		}
		rows.EndRow()
	}
	return cols, texts, rows
}

// stockRead compares a file with the table in an engine with stock settings.
func stockRead(t *testing.T, path string, cols []storage.ColumnDesc, texts [][]string, copies int) {
	t.Helper()
	db, err := ducktest.OpenStock()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	one := func(query string) string {
		t.Helper()
		out, err := db.Texts(query)
		if err != nil || len(out) != 1 {
			t.Fatalf("%s: %q, %v", query, out, err)
		}
		return out[0]
	}
	from := "read_parquet('" + path + "')"
	names, err := db.Columns("SELECT * FROM " + from)
	var want []string
	for _, c := range cols {
		want = append(want, c.Name)
	}
	n := strconv.Itoa(copies * len(texts))
	if got := one("SELECT count(*) FROM " + from); err != nil || !slices.Equal(names, want) || got != n {
		t.Errorf("%s: %s rows with the columns %q, %v", path, got, names, err)
	}
	for i, c := range cols[1:] {
		name := `"` + strings.ReplaceAll(c.Name, `"`, `""`) + `"`
		typ := one("SELECT typeof(" + name + ") FROM " + from + " LIMIT 1")
		var cells []string
		for r := range texts {
			cells = append(cells, fmt.Sprintf("(%d, CAST(%s AS %s))", r, texts[r][i+1], typ))
		}
		got := one(fmt.Sprintf("SELECT count(*) FROM %s f JOIN (VALUES %s) w(id, v) ON f.id = w.id AND f.%s IS NOT DISTINCT FROM w.v", from, strings.Join(cells, ", "), name))
		if got != n {
			t.Errorf("%s: column %s (%s): %s of %s values are right", path, c.Name, typ, got, n)
		}
	}
}

// TestFilesAreForEveryEngine: a stock engine reads every Parquet file of a data
// directory, whether it comes from a load, a flush, a compaction or a clone, with
// the columns' names and all values of all types; and replicas that are laid out
// differently have the same checksum.
func TestFilesAreForEveryEngine(t *testing.T) {
	dir := t.TempDir()
	db, err := duck.Open(duck.Options{Dirs: []string{dir}, TempDir: filepath.Join(dir, "tmp"), MemoryLimitBytes: 256 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	open := func(name string, inline int64) (*storage.Engine, func() []string) {
		root := filepath.Join(dir, name)
		e, err := storage.Open(t.Context(), storage.Options{
			Roots: []storage.Root{{Path: root}}, Codec: parquet{db}, MinFreeBytes: -1, InlineLimitBytes: inline, CompactMinFiles: 2, StaleSweep: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e, func() []string {
			if err := errors.Join(e.Sweep(t.Context()), e.SyncPublished(t.Context())); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(root, "data", "*", "*"))
			if err != nil {
				t.Fatal(err)
			}
			return files
		}
	}
	inline, inlineFiles := open("inline", 1<<30)
	direct, directFiles := open("direct", 1)
	target, targetFiles := open("target", 1<<30)
	cols, texts, rows := everyType(t)
	data := block.AppendEncoded(nil, rows)
	const part, tablet = 7, 11
	load := func(e *storage.Engine, n byte) {
		t.Helper()
		rs := storage.PendingRowset{Data: data, RowsetMeta: storage.RowsetMeta{
			ID: storage.RowsetID{n}, TabletID: tablet, PartitionID: part, TxnID: int64(n), SchemaVersion: 1, Columns: cols,
			Rows: int64(rows.Rows()), Bytes: int64(len(data)), Checksum: rowset.Checksum(data),
		}}
		err := e.WritePending(t.Context(), int64(n), 1, []storage.PendingRowset{rs})
		if err == nil {
			_, err = e.Publish(t.Context(), storage.Publish{
				PartitionID: part, Version: int64(n) + 1, TxnID: int64(n), Tablets: []storage.PublishTablet{{TabletID: tablet, RowsetID: rs.ID}},
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, e *storage.Engine, files []string, copies int, want storage.ContentSum, version int64) {
		t.Helper()
		if len(files) != 1 {
			t.Fatalf("%s: files %v", what, files)
		}
		stockRead(t, files[0], cols, texts, copies)
		if sum, err := e.Checksum(t.Context(), part, tablet, 0, version); err != nil || sum != want {
			t.Errorf("%s: checksum %+v, %v, want %+v", what, sum, err, want)
		}
	}
	load(inline, 1)
	load(direct, 1)
	one, err := inline.Checksum(t.Context(), part, tablet, 0, 2)
	if err != nil || one.Rows != int64(rows.Rows()) {
		t.Fatalf("%+v, %v", one, err)
	}
	check("load", direct, directFiles(), 1, one, 2)
	if err := inline.Flush(t.Context(), tablet); err != nil {
		t.Fatal(err)
	}
	check("flush", inline, inlineFiles(), 1, one, 2)
	load(direct, 2)
	if did, err := direct.Compact(t.Context(), tablet); err != nil || !did {
		t.Fatalf("compaction: %v, %v", did, err)
	}
	two := storage.ContentSum{Sum: 2 * one.Sum, Rows: 2 * one.Rows}
	check("compaction", direct, directFiles(), 2, two, 3)
	if err := clone(t.Context(), target, direct, part, tablet); err != nil {
		t.Fatal(err)
	}
	check("clone", target, targetFiles(), 2, two, 3)
}

// clone fills a replica of one engine from another engine.
func clone(ctx context.Context, to, from *storage.Engine, partition, tablet int64) (err error) {
	c, err := to.BeginClone(ctx, partition, 1, storage.TabletReplica{TabletID: tablet, ReplicaID: 1, FromClone: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, err := from.OpenClone(ctx, partition, tablet, c.Ends(), 2)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, rs := range s.Rowsets {
		r, err := s.Read(ctx, i)
		if err == nil {
			err = errors.Join(c.Add(ctx, rs, r), r.Close())
		}
		if err != nil {
			return err
		}
	}
	_, err = c.Finish(ctx, s.Keep, s.Through)
	if err != nil {
		return err
	}
	// What is published here follows the order of versions.
	for v := int64(2); v <= s.Through; v++ {
		if _, err := to.Publish(ctx, storage.Publish{PartitionID: partition, Version: v, TxnID: v - 1}); err != nil {
			return err
		}
	}
	return nil
}
