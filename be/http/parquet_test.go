package behttp

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/load/parquet"
	"dorisgo/value"
)

// textFile stands for a Parquet file: a line of names, then rows of fields that
// are separated by commas.
type textFile struct {
	names []string
	rows  [][]string
	read  int
}

func openText(path string) (parquet.File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if lines[0] == "" {
		return nil, doriserr.New(doriserr.DataQuality, "cannot read the body as Parquet: too small")
	}
	f := &textFile{names: strings.Split(lines[0], ",")}
	for _, l := range lines[1:] {
		f.rows = append(f.rows, strings.Split(l, ","))
	}
	return f, nil
}

func (f *textFile) Columns() []string { return f.names }
func (f *textFile) Close() error      { return nil }

func (f *textFile) Read(columns []int) (parquet.Rows, error) { return &textRows{f, columns}, nil }

type textRows struct {
	f       *textFile
	columns []int
}

func (r *textRows) Close() error { return nil }

func (r *textRows) Next() (*block.Block, error) {
	if r.f.read == len(r.f.rows) {
		return nil, io.EOF
	}
	types := make([]value.Type, len(r.columns))
	for i := range types {
		types[i] = value.Type{Kind: value.String}
	}
	b := block.New(types)
	for i, c := range r.columns {
		b.Col(i).AppendBytes([]byte(r.f.rows[r.f.read][c]))
	}
	b.EndRow()
	r.f.read++
	return b, nil
}

// TestParquet: a body goes through a file that is gone afterwards, whatever the
// outcome.
func TestParquet(t *testing.T) {
	limit := int64(1 << 30)
	dir := filepath.Join(t.TempDir(), "spool")
	spool, err := OpenSpool(dir, func() int64 { return limit })
	if err != nil {
		t.Fatal(err)
	}
	_, compile := withExpressions()
	r := newRig(t, compile, func(o *Options) {
		o.Spool = spool
		o.OpenParquet = func(_ context.Context, path string) (parquet.File, error) { return openText(path) }
	})
	big := "id,s\n" + strings.Repeat("1,abcdefghij\n", 300_000)
	for _, tt := range []struct {
		name, body string
		headers    []string
		limit      int64
		status     string
		message    string
		loaded     int64
	}{
		{"a file", "n,s,id\n2,a,1\n", nil, 1 << 30, statusSuccess, "OK", 1},
		{"in a group", "n,s,id\n2,a,1\n", []string{"group_commit", "sync_mode"}, 1 << 30, statusSuccess, "OK", 1},
		{"expressions and where", "id,x,n\n1,a,5\n2,b,4\n", []string{"columns", "id,x,n,s=upper(x)", "where", "n >= 5"}, 1 << 30, statusSuccess, "OK", 1},
		{"a large one", big, nil, 1 << 30, statusSuccess, "OK", 300_000},
		{"bad rows", "id,s\nx,a\n", nil, 1 << 30, statusFail, "[DATA_QUALITY_ERROR]too many filtered rows", 0},
		{"no Parquet", "\n", nil, 1 << 30, statusFail, "[DATA_QUALITY_ERROR]cannot read the body as Parquet", 0},
		{"no key column", "s\na\n", nil, 1 << 30, statusFail, "the Parquet file has no column id, its columns are s", 0},
		{"more than may be kept", big, nil, 2 << 20, statusFail, "would exceed load_spool_limit of 2097152 bytes", 0},
		{"compressed", "id\n1\n", []string{"compress_type", "gz"}, 1 << 30, statusFail, "Invalid compress_type: gz: a Parquet file is compressed inside", 0},
	} {
		limit = tt.limit
		rep := r.put(tt.body, append([]string{"format", "parquet"}, tt.headers...)...)
		if l := rep.load; l.Status != tt.status || !strings.Contains(l.Message, tt.message) || l.NumberLoadedRows != tt.loaded {
			t.Errorf("%s: %s", tt.name, rep.text)
		}
		if got := r.f.taken(); int64(len(got)) != tt.loaded {
			t.Errorf("%s: %d rows", tt.name, len(got))
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 || spool.used != 0 {
			t.Errorf("%s: %d files and %d bytes are left, %v", tt.name, len(left), spool.used, err)
		}
	}
	// A used label is refused before the body is kept.
	r.put("id\n1\n", "format", "parquet", "label", "once")
	if rep := r.put("id\n1\n", "format", "parquet", "label", "once"); rep.load.Status != statusLabelExists || rep.load.LoadBytes != 0 {
		t.Errorf("a used label: %s", rep.text)
	}
	// What an earlier life left is removed.
	if err := os.WriteFile(filepath.Join(dir, "body-1.spool"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSpool(dir, func() int64 { return limit }); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files of an earlier life are left, %v", len(left), err)
	}
	if rep := r.stream(`insert into db.t3 (id) select id from http_stream("format"="parquet")`, "id\n1\n"); !strings.Contains(rep.load.Message, "format parquet is not supported by _http_stream") {
		t.Errorf("a statement over Parquet: %s", rep.text)
	}
	if rep := newRig(t).put("id\n1\n", "format", "parquet"); !strings.Contains(rep.load.Message, "format parquet is not supported by this backend") {
		t.Errorf("without a spool: %s", rep.text)
	}
}

// TestParquetGivesItsTurnUp: bodies that wait until they may be opened keep no
// large load from being decoded.
func TestParquetGivesItsTurnUp(t *testing.T) {
	spool, err := OpenSpool(filepath.Join(t.TempDir(), "spool"), func() int64 { return 1 << 30 })
	if err != nil {
		t.Fatal(err)
	}
	opened, hold := make(chan struct{}, 16), make(chan struct{})
	r := newRig(t, func(o *Options) {
		o.Spool = spool
		o.OpenParquet = func(_ context.Context, path string) (parquet.File, error) {
			opened <- struct{}{}
			<-hold
			return openText(path)
		}
	})
	big := "id,s\n" + strings.Repeat("1,abcdefghij\n", 300_000)
	var wg sync.WaitGroup
	const waiting = 8
	for range waiting {
		wg.Go(func() {
			if rep := r.put(big, "format", "parquet"); rep.load.NumberLoadedRows != 300_000 {
				t.Errorf("a body that waited: %s", rep.text)
			}
		})
	}
	for range waiting {
		<-opened
	}
	if rep := r.put(strings.TrimPrefix(big, "id,s\n"), "columns", "id,s"); rep.load.NumberLoadedRows != 300_000 {
		t.Errorf("beside bodies that wait: %s", rep.text)
	}
	close(hold)
	wg.Wait()
}

// TestSpoolErrors: errors of the body and of the disk leave nothing behind.
func TestSpoolErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	spool, err := OpenSpool(dir, func() int64 { return 10 << 20 })
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the sender is gone")
	if _, err := spool.take(io.MultiReader(strings.NewReader("some bytes"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a broken body: %v", err)
	}
	one, err := spool.take(strings.NewReader(strings.Repeat("x", 7<<20)))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(one.path); err != nil || len(b) != 7<<20 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := spool.take(strings.NewReader(strings.Repeat("x", 7<<20))); !doriserr.Is(err, doriserr.ExceededLimit) {
		t.Errorf("beside another: %v", err)
	}
	if err := errors.Join(one.drop(), one.drop()); err != nil || spool.used != 0 {
		t.Errorf("drop: %v, %d bytes", err, spool.used)
	}
	if two, err := spool.take(strings.NewReader(strings.Repeat("x", 7<<20))); err != nil || two.drop() != nil {
		t.Errorf("after the other: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.take(strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "cannot make a spool file") {
		t.Errorf("without the directory: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
