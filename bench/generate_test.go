package bench

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// The rows of a seed never change: figures of different days are of the same
// data.
func TestFirstRows(t *testing.T) {
	for _, table := range Tables {
		for form, write := range map[string]func(*Generator, io.Writer, int) error{"csv": (*Generator).WriteCSV, "json": (*Generator).WriteJSON} {
			var b bytes.Buffer
			if err := write(NewGenerator(table, 1), &b, 20); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", fmt.Sprintf("rows%d.%s", table.Columns(), form))
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s:\n%s", file, b.Bytes())
			}
		}
	}
}

// Every value fits its column, and no text needs quotes.
func TestRowsFit(t *testing.T) {
	limits := map[string]int{"l_returnflag": 1, "l_linestatus": 1, "l_shipinstruct": 25, "l_shipmode": 10, "l_comment": 44, "name": 50, "clientip": 20, "request": 500}
	for _, table := range Tables {
		g := NewGenerator(table, 7)
		for range 20_000 {
			r := g.Next()
			for i, c := range table.columns {
				if c.kind == kindText && (len(r[i].text) > limits[c.name] || len(r[i].text) == 0 || bytes.ContainsAny(r[i].text, `,'"\`)) {
					t.Fatalf("%s: %q", c.name, r[i].text)
				}
				if c.kind != kindText && (r[i].num < 0 || r[i].num > 1<<31-1) {
					t.Fatalf("%s: %d", c.name, r[i].num)
				}
			}
		}
	}
}

func TestEncodings(t *testing.T) {
	small, wide := NewGenerator(Tables[0], 1), NewGenerator(Tables[1], 1)
	if got, want := string(appendLiterals(nil, Tables[0], small.Next())), `(1,'`; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	got := string(appendLiterals(nil, Tables[1], wide.Next()))
	if strings.Count(got, ",") != 15 || strings.Count(got, "'") != 16 {
		t.Errorf("%s", got)
	}
	row := Row{{num: 258}, {text: []byte("ab")}, {num: 1}}
	if got := appendParams(nil, Tables[0], row); !slices.Equal(got, []byte("\x02\x01\x00\x00\x02ab\x01\x00\x00\x00")) {
		t.Errorf("%q", got)
	}
	for n, want := range map[int64]string{0: "0.00", 5: "0.05", 123456: "1234.56"} {
		if got := string(appendDecimal(nil, n)); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestTableByColumns(t *testing.T) {
	if table, err := TableByColumns(16); err != nil || table != Tables[1] {
		t.Errorf("%v, %v", table, err)
	}
	if _, err := TableByColumns(4); err == nil || !strings.Contains(err.Error(), "choose 3 or 16 or 5") {
		t.Errorf("%v", err)
	}
}
