package sqltest

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/duck"
	"dorisgo/sql/translate"
	"dorisgo/sql/translate/translatetest"
	"dorisgo/value"
)

// runner runs statements over the tables of translatetest.
type runner struct {
	t     *testing.T
	db    *duck.DB
	dir   string
	files int
	cat   translatetest.Catalog
}

func newRunner(t *testing.T) *runner {
	cat, err := translatetest.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, err := duck.Open(duck.Options{Dirs: []string{dir}, MemoryLimitBytes: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &runner{t: t, db: db, dir: dir, cat: cat}
}

// inputs are the tables of a statement: their rows hot, or one half of them in
// a file.
func (r *runner) inputs(tr *translate.Translated, files bool) []duck.TableInput {
	r.t.Helper()
	var out []duck.TableInput
	for _, ref := range tr.Tables {
		in := duck.TableInput{Name: ref.Name}
		for _, i := range ref.Columns {
			c := ref.Table.Columns[i]
			in.Columns = append(in.Columns, duck.ColumnDesc{UniqueID: c.UniqueID, Name: c.Name, Type: c.Type, Nullable: c.Nullable})
		}
		b, err := r.cat.Rows(ref.DB, ref.Table.Name, ref.Columns)
		if err != nil {
			r.t.Fatal(err)
		}
		in.Blocks = []*block.Block{b}
		if files {
			half := b.Rows() / 2
			cold := b.Gather(span(0, half))
			path := filepath.Join(r.dir, fmt.Sprintf("%d.parquet", r.files))
			r.files++
			blocks := func(yield func(*block.Block, error) bool) { yield(cold, nil) }
			if _, err := r.db.WriteParquet(r.t.Context(), path, in.Columns, blocks, nil); err != nil {
				r.t.Fatal(err)
			}
			in.Files = []duck.File{{Path: path}}
			in.Blocks[0] = b.Gather(span(half, b.Rows()))
		}
		out = append(out, in)
	}
	return out
}

func span(from, to int) []int32 {
	var out []int32
	for i := from; i < to; i++ {
		out = append(out, int32(i))
	}
	return out
}

// run is the result of a statement as lines, the first with the types.
func (r *runner) run(sql string, files bool) (lines []string, tr *translate.Translated, err error) {
	if tr, err = translate.Select(sql, translatetest.Env(r.cat)); err != nil {
		return nil, nil, err
	}
	types := make([]value.Type, len(tr.Columns))
	for i, c := range tr.Columns {
		types[i] = c.Type
	}
	rows, err := r.db.Query(r.t.Context(), &duck.Query{SQL: tr.SQL, Tables: r.inputs(tr, files), Types: types})
	if err != nil {
		return nil, tr, fmt.Errorf("%w", err)
	}
	defer rows.Close()
	var head []string
	for i, c := range rows.Columns() {
		if want := tr.Columns[i].Type; !agree(want, c.Type) {
			r.t.Errorf("%s: column %d has type %s, the translator said %s", sql, i, c.Type, want)
		}
		if c.Name != tr.Columns[i].Name {
			r.t.Errorf("%s: column %d is called %q, want %q", sql, i, c.Name, tr.Columns[i].Name)
		}
		head = append(head, c.Type.String())
	}
	lines = append(lines, strings.Join(head, " | "))
	for {
		b, err := rows.Next(r.t.Context())
		if err == io.EOF {
			return lines, tr, nil
		}
		if err != nil {
			return nil, tr, err
		}
		lines = append(lines, textRows(b)...)
	}
}

// agree: a hint may be a wider integer, as literals take the least type.
func agree(hint, got value.Type) bool {
	whole := func(t value.Type) bool { return t.Kind >= value.TinyInt && t.Kind <= value.BigInt }
	return hint.Kind == value.Invalid || hint.Kind == got.Kind || hint.IsVar() && got.IsVar() || whole(hint) && whole(got) && got.Kind < hint.Kind
}

func textRows(b *block.Block) []string {
	var out []string
	for i := range b.Rows() {
		cells := make([]string, b.NumCols())
		for c := range cells {
			col := b.Col(c)
			cells[c] = "NULL"
			if !col.IsNull(i) {
				cells[c] = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\x00", `\0`).Replace(string(value.AppendText(nil, col.Type(), col.Raw(i))))
			}
		}
		out = append(out, strings.Join(cells, " | "))
	}
	return out
}

// TestGolden runs the statements of testdata over hot rows and over files: the
// rows must be the same. Statements without ORDER BY have one row or rows in
// the order of the table.
func TestGolden(t *testing.T) {
	r := newRunner(t)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r.t = t
			var sb strings.Builder
			for sql := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(d.Input), ";"), ";\n") {
				lines, tr, err := r.run(sql, false)
				if err != nil {
					if _, ok := errors.AsType[*doriserr.Error](err); !ok {
						t.Errorf("%s: no error for clients: %v", sql, err)
					}
					if doriserr.Is(err, doriserr.Internal) {
						t.Errorf("%s: %v\n%s", sql, err, tr.SQL)
					}
					fmt.Fprintf(&sb, "ERROR %s: %s\n", doriserr.KindOf(err), err)
					continue
				}
				if len(tr.Tables) > 0 {
					cold, _, err := r.run(sql, true)
					if err != nil || strings.Join(cold, "\n") != strings.Join(lines, "\n") {
						t.Errorf("%s: over files:\n%s\n%v\nwant:\n%s", sql, strings.Join(cold, "\n"), err, strings.Join(lines, "\n"))
					}
				}
				sb.WriteString(strings.Join(lines, "\n") + "\n")
			}
			return sb.String()
		})
	})
}

// TestConstantsAgree: what sql/translate evaluates is what DuckDB says.
func TestConstantsAgree(t *testing.T) {
	r := newRunner(t)
	for _, sql := range constantStatements {
		lines, tr, err := r.run(sql, false)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if tr.Constant == nil {
			t.Errorf("%s: not evaluated", sql)
			continue
		}
		if got, want := strings.Join(textRows(tr.Constant), "\n"), strings.Join(lines[1:], "\n"); got != want {
			t.Errorf("%s: evaluated to\n%s\nDuckDB says\n%s", sql, got, want)
		}
	}
}

var constantStatements = []string{
	"select 1, -1, 2147483648, -9223372036854775808, 170141183460469231731687303715884105727, 1.50, -1.5, .5, 1e3",
	"select 1 + 1, 1 - 2, 3 * 4, 7 / 2, 1 / 0, 1.5 + 2, 1.5 * 1.5, 1.50 - 1.5, 1e3 + 1, 99999999999999999999 + 1, 0.1 + 0.2",
	"select null, true, false, null + 1, 1 = 1, 1 <> 1, 1 <=> null, null = 1, null <=> null, 'a' = 'A', 'a' < 'b', 1 < 1.5, '2' > 1, 1e0 = 1",
	"select not 1, not 0, not null, 1 and null, 0 and null, 1 or null, 0 or null, 1 is null, null is null, 0 is true, 1 is not false",
	"select concat('a', 1, 2.50, true), concat('a', null), if(1 > 0, 'yes', 'no'), if(null, 1, 2), ifnull(null, 3), coalesce(null, 'x')",
	"select now(), now(3), now(6), curdate(), curtime(), utc_timestamp(), database(), version(), @x, @@autocommit",
	"select 'it''s', \"x\\ny\", x'4142', 0x43, b'101', 'a' 'b', '\\%', 'nul\\0x'",
	"select 1 where 1 = 0", "select 1 limit 0", "select 1 where 'a' = 'a'", "select 1 where null",
}
