package duck

import (
	"encoding/hex"
	"io"
	"testing"

	"dorisgo/block"
	"dorisgo/value"
)

var (
	intT    = value.Type{Kind: value.Int}
	bigT    = value.Type{Kind: value.BigInt}
	stringT = value.Type{Kind: value.String}
)

func open(t testing.TB, change ...func(*Options)) (*DB, string) {
	t.Helper()
	dir := t.TempDir()
	o := Options{Dirs: []string{dir}, TempDir: t.TempDir(), MemoryLimitBytes: 512 << 20}
	for _, f := range change {
		f(&o)
	}
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, dir
}

// all runs a query to its end.
func all(t testing.TB, d *DB, q *Query) (*block.Block, []ResultColumn, error) {
	t.Helper()
	r, err := d.Query(t.Context(), q)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	types := make([]value.Type, len(r.Columns()))
	for i, c := range r.Columns() {
		types[i] = c.Type
	}
	out := block.New(types)
	for {
		b, err := r.Next(t.Context())
		if err == io.EOF {
			return out, r.Columns(), nil
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range b.Rows() {
			for c := range types {
				out.Col(c).AppendFrom(b.Col(c), i)
			}
			out.EndRow()
		}
	}
}

func mustAll(t testing.TB, d *DB, q *Query) *block.Block {
	t.Helper()
	b, _, err := all(t, d, q)
	if err != nil {
		t.Fatalf("%s: %v", q.SQL, err)
	}
	return b
}

// single is the only value of a query, as an integer.
func single(t testing.TB, d *DB, q *Query) int64 {
	t.Helper()
	b := mustAll(t, d, q)
	if b.Rows() != 1 || b.NumCols() != 1 {
		t.Fatalf("%s: %d rows, %d columns, want one value", q.SQL, b.Rows(), b.NumCols())
	}
	c := b.Col(0)
	if c.Type().Width() == 16 {
		return int64(c.Int128(0).Lo)
	}
	return c.Int64(0)
}

// equal compares blocks bit for bit.
func equal(t testing.TB, what string, got, want *block.Block) {
	t.Helper()
	if got.Rows() != want.Rows() || got.NumCols() != want.NumCols() {
		t.Fatalf("%s: %d rows x %d columns, want %d x %d", what, got.Rows(), got.NumCols(), want.Rows(), want.NumCols())
	}
	for c := range got.NumCols() {
		g, w := got.Col(c), want.Col(c)
		if g.Type() != w.Type() {
			t.Fatalf("%s: column %d has type %s, want %s", what, c, g.Type(), w.Type())
		}
		for i := range got.Rows() {
			if g.IsNull(i) != w.IsNull(i) || string(g.Raw(i)) != string(w.Raw(i)) {
				t.Fatalf("%s: column %d (%s) row %d: %s (null %v), want %s (null %v)", what, c, g.Type(), i,
					hex.EncodeToString(g.Raw(i)), g.IsNull(i), hex.EncodeToString(w.Raw(i)), w.IsNull(i))
			}
		}
	}
}

// numbers is a block of one INT column with from, from+1, ...
func numbers(from, n int) *block.Block {
	b := block.New([]value.Type{intT})
	for i := range n {
		b.Col(0).AppendInt64(int64(from + i))
		b.EndRow()
	}
	return b
}

var numberCols = []ColumnDesc{{UniqueID: 1, Name: "n", Type: intT}}
