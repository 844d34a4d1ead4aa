package duck

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dorisgo/doriserr"
)

// foreign writes a file as another program would.
func foreign(t testing.TB, d *DB, dir, name, query string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	err := d.run(t.Context(), func(ctx context.Context, c *conn) error {
		return c.exec(ctx, "COPY ("+query+") TO "+quoteString(path)+" (FORMAT parquet, ROW_GROUP_SIZE 2048)")
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// read is all rows of some columns, values separated by " | ".
func readForeign(t testing.TB, f *ForeignFile, columns ...int) (rows []string, err error) {
	t.Helper()
	r, err := f.Read(t.Context(), columns)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		b, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range b.Rows() {
			var parts []string
			for c := range b.NumCols() {
				if b.Col(c).IsNull(i) {
					parts = append(parts, "NULL")
				} else {
					parts = append(parts, string(b.Col(c).Raw(i)))
				}
			}
			rows = append(rows, strings.Join(parts, " | "))
		}
	}
}

// TestForeignTypes: every type becomes the text that a CSV file would have.
func TestForeignTypes(t *testing.T) {
	d, dir := open(t)
	for _, tt := range []struct{ expr, want string }{
		{"true", "1"},
		{"CAST(-128 AS TINYINT)", "-128"},
		{"CAST(18446744073709551615 AS UBIGINT)", "18446744073709551615"},
		{"CAST('-12345678901234567.89' AS DECIMAL(38,2))", "-12345678901234567.89"},
		{"CAST(1.5 AS FLOAT)", "1.5"},
		{"CAST(3 AS DOUBLE)", "3"},
		{"CAST(1e300 AS DOUBLE)", "1e+300"},
		{"CAST('nan' AS DOUBLE)", "nan"},
		{"DATE '2024-02-29'", "2024-02-29"},
		{"TIMESTAMP '2024-02-29 01:02:03.456789'", "2024-02-29 01:02:03.456789"},
		{"TIMESTAMP_NS '2024-02-29 01:02:03.456789123'", "2024-02-29 01:02:03.456789"},
		{"TIMESTAMP_MS '2024-02-29 01:02:03.456'", "2024-02-29 01:02:03.456000"},
		{"TIMESTAMPTZ '2024-02-29 01:02:03+00'", "2024-02-29 01:02:03.000000Z"},
		{"TIMESTAMP '0000-01-01 00:00:00'", "0000-01-01 00:00:00.000000"},
		{"DATE '0000-01-01'", "0000-01-01"},
		{"DATE '9999-12-31'", "9999-12-31"},
		{"TIMESTAMP_S '2024-02-29 01:02:03'", "2024-02-29 01:02:03.000000"},
		{"TIME '01:02:03'", "01:02:03"},
		{"'中文 text'", "中文 text"},
		{"''", ""},
		{"'\\xFFa'::BLOB", "\xffa"},
		{"'11111111-2222-3333-4444-555555555555'::UUID", "11111111-2222-3333-4444-555555555555"},
		{"[1, 2]", "[1,2]"},
		{"{'a': 1, 'b': 'x'}", `{"a":1,"b":"x"}`},
		{"MAP {'k': 2}", `{"k":2}`},
		{"CAST(NULL AS VARCHAR)", "NULL"},
		{"CAST(NULL AS BLOB)", "NULL"},
	} {
		path := foreign(t, d, dir, "types.parquet", "SELECT "+tt.expr+` AS "A ""b"`)
		f, err := d.OpenForeign(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		if got := f.Columns(); !slices.Equal(got, []string{`A "b`}) {
			t.Errorf("columns %q", got)
		}
		if got, err := readForeign(t, f, 0); err != nil || !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: %q, %v, want %q", tt.expr, got, err, tt.want)
		}
	}
}

// TestForeignRows: many rows in order, columns in the order that was asked for.
func TestForeignRows(t *testing.T) {
	d, dir := open(t)
	path := foreign(t, d, dir, "rows.parquet", "SELECT range AS a, 'x' || range AS b, CAST('y' || range AS BLOB) AS c FROM range(10000)")
	f, err := d.OpenForeign(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := readForeign(t, f, 2, 0)
	if err != nil || len(rows) != 10000 || rows[0] != "y0 | 0" || rows[9999] != "y9999 | 9999" {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if rows, err = readForeign(t, f); err != nil || len(rows) != 10000 {
		t.Errorf("no column: %d rows, %v", len(rows), err)
	}
	path = foreign(t, d, dir, "empty.parquet", "SELECT 1 AS a WHERE false")
	if f, err = d.OpenForeign(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if rows, err := readForeign(t, f, 0); err != nil || len(rows) != 0 {
		t.Errorf("no rows: %q, %v", rows, err)
	}
}

// TestForeignDamage: wherever a file is cut or a byte of it is changed, reading
// ends with rows or with an error of the client's data that names no path, and
// the next file is read as if nothing had been.
func TestForeignDamage(t *testing.T) {
	d, dir := open(t)
	whole, err := os.ReadFile(foreign(t, d, dir, "good.parquet", "SELECT range AS a, 'text ' || range AS b FROM range(100)"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bad.parquet")
	check := func(what string, content []byte, mustFail bool) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := d.OpenForeign(t.Context(), path)
		if err == nil {
			_, err = readForeign(t, f, 0, 1)
		}
		if mustFail && err == nil {
			t.Errorf("%s: no error", what)
		}
		if err != nil && (!doriserr.Is(err, doriserr.DataQuality) && !doriserr.Is(err, doriserr.ExceededLimit) || strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v (%s)", what, err, doriserr.KindOf(err))
		}
	}
	check("empty", nil, true)
	check("text", []byte("1,a,2\n"), true)
	for n := 1; n < len(whole); n += 1 + len(whole)/60 {
		check("cut", whole[:n], true)
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/150 {
		bad := slices.Clone(whole)
		bad[n] ^= 0x55
		check("changed", bad, false)
	}
	check("good", whole, false)
	f, err := d.OpenForeign(t.Context(), filepath.Join(dir, "good.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := readForeign(t, f, 0, 1); err != nil || len(rows) != 100 {
		t.Errorf("after damaged files: %d rows, %v", len(rows), err)
	}
	if _, err := d.OpenForeign(t.Context(), "/etc/passwd"); err == nil || strings.Contains(err.Error(), "root:") {
		t.Errorf("a file outside: %v", err)
	}
}
