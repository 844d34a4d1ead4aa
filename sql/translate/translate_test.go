package translate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"dorisgo/doriserr"
	"dorisgo/sql/translate"
	"dorisgo/sql/translate/translatetest"
	"dorisgo/value"
)

func env(t testing.TB) *translate.Env {
	t.Helper()
	c, err := translatetest.New()
	if err != nil {
		t.Fatal(err)
	}
	return translatetest.Env(c)
}

// TestGolden: each case is "sql" with one statement for each line that ends
// with a semicolon, and what becomes of it.
func TestGolden(t *testing.T) {
	e := env(t)
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var sb strings.Builder
			for sql := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(d.Input), ";"), ";\n") {
				tr, err := translate.Select(sql, e)
				if err != nil {
					sb.WriteString(describeError(t, sql, err) + "\n")
					continue
				}
				sb.WriteString(tr.SQL + "\n")
				if d.HasArg("full") {
					sb.WriteString(describe(tr))
				}
			}
			return sb.String()
		})
	})
}

func describeError(t *testing.T, sql string, err error) string {
	if _, ok := errors.AsType[*doriserr.Error](err); !ok {
		t.Errorf("%s: %T is no error for clients: %v", sql, err, err)
	}
	return fmt.Sprintf("ERROR %s: %s", doriserr.KindOf(err), err)
}

func describe(tr *translate.Translated) string {
	var sb strings.Builder
	for _, ref := range tr.Tables {
		fmt.Fprintf(&sb, "  %s = %s.%s", ref.Name, ref.DB, ref.Table.Name)
		for _, c := range ref.Columns {
			sb.WriteString(" " + ref.Table.Columns[c].Name)
		}
		if ref.Partitions != nil {
			fmt.Fprintf(&sb, " partitions %v", ref.Partitions)
		}
		sb.WriteString("\n")
	}
	for _, c := range tr.Columns {
		typ := "?"
		if c.Type.Kind != value.Invalid {
			typ = c.Type.String()
		}
		fmt.Fprintf(&sb, "  column %q %s", c.Name, typ)
		if c.OrgName != "" {
			fmt.Fprintf(&sb, " of %s.%s.%s", c.DB, c.Table, c.OrgName)
		}
		sb.WriteString("\n")
	}
	return sb.String()
}

// TestConstants: statements without a table and their result.
func TestConstants(t *testing.T) {
	e := env(t)
	datadriven.RunTest(t, "testdata/constants.txt", func(t *testing.T, d *datadriven.TestData) string {
		var sb strings.Builder
		for sql := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(d.Input), ";"), ";\n") {
			tr, err := translate.Select(sql, e)
			switch {
			case err != nil:
				fmt.Fprintf(&sb, "ERROR %s: %s", doriserr.KindOf(err), err)
			case !tr.NoTable:
				t.Errorf("%s: a table", sql)
			case tr.Constant == nil:
				sb.WriteString("left to DuckDB: " + tr.SQL)
			default:
				b := tr.Constant
				fmt.Fprintf(&sb, "%d:", b.Rows())
				for i := range b.NumCols() {
					fmt.Fprintf(&sb, " %s %s", tr.Columns[i].Name, b.Col(i).Type())
					for r := range b.Rows() {
						if b.Col(i).IsNull(r) {
							sb.WriteString(" NULL")
							continue
						}
						fmt.Fprintf(&sb, " %s", value.AppendText(nil, b.Col(i).Type(), b.Col(i).Raw(r)))
					}
					sb.WriteString(";")
				}
			}
			sb.WriteString("\n")
		}
		return sb.String()
	})
}

func TestNoDatabase(t *testing.T) {
	e := env(t)
	e.DB = ""
	if _, err := translate.Select("select 1 from users", e); !doriserr.Is(err, doriserr.NoDatabase) {
		t.Fatalf("%v", err)
	}
	if _, err := translate.Select("select id from test.users", e); err != nil {
		t.Fatal(err)
	}
}

func TestDeepNesting(t *testing.T) {
	e := env(t)
	for _, sql := range []string{
		"select " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000),
		"select " + strings.Repeat("not ", 100_000) + "1",
		"select 1" + strings.Repeat("+1", 100_000),
		"select " + strings.Repeat("-", 1_000) + " 1",
	} {
		_, err := translate.Select(sql, e)
		if _, ok := errors.AsType[*doriserr.Error](err); !ok {
			t.Errorf("%.20s: %v", sql, err)
		}
	}
	long := "select id from users where id = 0" + strings.Repeat(" or id = 1", 20_000)
	if _, err := translate.Select(long, e); err != nil {
		t.Errorf("a long OR: %v", err)
	}
}

func FuzzSelect(f *testing.F) {
	for _, s := range []string{
		"select 1", "select * from users u join other.users o using (id) where u.name like 'a%' group by 1 order by 2 limit 3, 4",
		"select cast(id as bigint), @@autocommit from users", "with a as (select 1 x) select x from a union all select 2",
		"select date_format(born, '%Y'), born + interval 1 day from users where born in ('2020-01-01', null)",
		"select count(distinct name, city) from users having 1", "select x'41', 0x4, b'1', 'a\\'b', \"q\"",
	} {
		f.Add(s)
	}
	e := env(f)
	f.Fuzz(func(t *testing.T, sql string) {
		start := time.Now()
		tr, err := translate.Select(sql, e)
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("%v for %d bytes", d, len(sql))
		}
		if err != nil {
			return
		}
		if strings.IndexByte(tr.SQL, 0) >= 0 {
			t.Fatalf("NUL in %q", tr.SQL)
		}
		for _, ref := range tr.Tables {
			if len(ref.Columns) == 0 {
				t.Fatalf("no columns of %s in %q", ref.Name, tr.SQL)
			}
		}
	})
}
