package json

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dorisgo/load"
	"dorisgo/load/loadtest"
)

// cuts are the ways in which every body of these tests is handed over.
var cuts = [][]int{{0}, {1}, {2, 3}, {7, 1, 1}, {1000}}

type testCase struct {
	name    string
	table   string
	columns []string
	paths   string
	root    string
	series  bool // not by line
	strip   bool
	strict  bool
	body    string
	want    []string
	errors  []string
	err     string
	careful bool
}

func (tt *testCase) run(t testing.TB, sizes ...int) *loadtest.Result {
	t.Helper()
	table := tt.table
	if table == "" {
		table = loadtest.T3
	}
	o := Options{ByLine: !tt.series, StripOuterArray: tt.strip}
	var err error
	if tt.paths != "" {
		if o.Paths, err = ParsePaths(tt.paths); err != nil {
			t.Fatal(err)
		}
	}
	if tt.root != "" {
		if o.Root, err = ParsePath(tt.root); err != nil {
			t.Fatal(err)
		}
	}
	m, err := load.NewMapping(loadtest.Table(t, table), load.MappingOptions{
		Columns: tt.columns, Strict: tt.strict, Now: loadtest.Now, Location: time.FixedZone("+08:00", 8*3600),
	})
	if err != nil {
		t.Fatal(err)
	}
	in := load.NewInput(loadtest.Cut(tt.body, sizes...), int64(len(tt.body)), 0)
	defer in.Close()
	d := NewDecoder(in, m, o)
	d.careful = tt.careful
	return loadtest.Run(t, m, d, 1<<20, false)
}

func TestDecode(t *testing.T) {
	const d = `id INT NOT NULL, v INT DEFAULT "100", c VARCHAR(8), m INT NOT NULL DEFAULT "7", q INT NOT NULL`
	id := "id INT NOT NULL"
	for _, tt := range []testCase{
		{
			name: "several values on a line and over lines", table: id,
			body: "{\"id\":1}\n{\"id\":2} {\"id\":3}",
			want: []string{"1", "2", "3"},
		},
		{
			name: "several values without by line", table: id, series: true,
			body: "{\"id\":1}\n{\"id\"\n:2}{\"id\":3}",
			want: []string{"1", "2", "3"},
		},
		{
			name: "an array without the flag", table: id,
			body: `[{"id":1},{"id":2}]`, errors: []string{wantsStrip + ` <- "[{\"id\":1},{\"id\":2}]"`},
		},
		{
			name: "an array over lines without the flag", table: id, series: true,
			body: "[\n{\"id\":1},{\"id\":2}]", errors: []string{wantsStrip + ` <- "["`}, err: wantsStrip,
		},
		{
			name: "an object with the flag", table: id, series: true, strip: true,
			body: `{"id":1}`, errors: []string{wantsNoStrip + ` <- "{\"id\":1}"`},
		},
		{name: "an empty array", table: id, series: true, strip: true, body: " [ ] "},
		{name: "an empty body", table: id, series: true},
		{name: "an empty body by line", table: id, body: "\n"},
		{
			name: "elements that are no objects", table: id, series: true, strip: true,
			body:   `[{"id":1},7,null,[]]`,
			want:   []string{"1"},
			errors: []string{notObject + ` <- "7"`, notObject + ` <- "null"`, notObject + ` <- "[]"`},
		},
		{
			name: "arrays by line", table: id, strip: true,
			body: "[{\"id\":1},{\"id\":2}]\n[]\n[{\"id\":3}]\n{\"id\":4}",
			want: []string{"1", "2", "3"}, errors: []string{wantsNoStrip + ` <- "{\"id\":4}"`},
		},
		{
			name: "an array that is not closed", table: id, series: true, strip: true,
			body: `[{"id":1},`, want: []string{"1"}, err: "the body ends inside the outer array",
		},
		{
			name: "an element cut short", table: id, series: true, strip: true,
			body: `[{"id":1},{"id":`, want: []string{"1"}, err: "the body ends inside a value",
		},
		{
			name: "an array without a comma", table: id, series: true, strip: true,
			body: `[{"id":1} {"id":2}]`, want: []string{"1"}, err: "expected a comma",
		},
		{
			name: "a comma too many", table: id, series: true, strip: true,
			body: `[{"id":1},]`, want: []string{"1"}, err: "expected a value after a comma",
		},
		{
			name: "a damaged element of an array", table: id, series: true, strip: true,
			body: `[{"id":1},{"id":x},{"id":3}]`, want: []string{"1", "3"}, errors: []string{notJSON + ` <- "{\"id\":x}"`},
		},
		{
			name: "missing keys, nulls and defaults", table: d,
			body: `{"id":1,"q":1}` + "\n" + `{"id":2,"q":1,"v":null}` + "\n" + `{"id":3,"q":1,"m":null}` + "\n" + `{"id":4}`,
			want: []string{"1 | 100 | NULL | 7 | 1", "2 | NULL | NULL | 7 | 1"},
			errors: []string{
				`column_name[m], null value for not null column, type=INT <- "{\"id\":3,\"q\":1,\"m\":null}"`,
				`column_name[q], null value for not null column, type=INT <- "{\"id\":4}"`,
			},
		},
		{
			name: "paths through null and scalars", paths: `["$.id", "$.a.b"]`, columns: []string{"id", "n"},
			body: `{"id":1,"a":{"b":5}}` + "\n" + `{"id":2,"a":null}` + "\n" + `{"id":3,"a":7}` + "\n" + `{"id":4}`,
			want: []string{"1 | NULL | 5", "2 | NULL | NULL", "3 | NULL | NULL", "4 | NULL | NULL"},
		},
		{
			name: "paths that share a key, and the last of repeated keys", paths: `["$.a.x","$.a.y","$.a.x"]`,
			body:   `{"a":{"x":1,"y":"p"}}` + "\n" + `{"a":{"x":1},"a":{"x":2,"y":"q"}}` + "\n" + `{"a":{"x":3,"y":"r"},"a":{"x":4,"x":5}}` + "\n" + `{"\u0061":{"x":6}}` + "\n" + `{"A":{"x":7}}`,
			want:   []string{"1 | p | 1", "2 | q | 2", "5 | NULL | 5", "6 | NULL | 6"},
			errors: []string{`column_name[id], null value for not null column, type=INT <- "{\"A\":{\"x\":7}}"`},
		},
		{
			name: "paths with indexes, quoted keys and the whole", paths: `["$.x[1]","$[\"a.b\"]","$.\"c\"","$"]`,
			columns: []string{"id", "n", "skip", "s"},
			body:    `{"x":[1,2],"a.b":3,"a":{"b":4}}`,
			want:    []string{`2 | {"x":[1,2],"a.b":3,"a":{"b":4}} | 3`},
		},
		{
			name: "repeated keys, case, dots and order", table: "id INT, n INT",
			body: `{"id":1,"n":1,"n":2}` + "\n" + `{"id":2,"N":5}` + "\n" + `{"id":3,"a.b":1,"a":{"b":2}}` + "\n" + `{"n":9,"id":4}` + "\n" + `{"\u0069d":5}`,
			want: []string{"1 | 2", "2 | 5", "3 | NULL", "4 | 9", "5 | NULL"},
		},
		{
			name: "keys of other scripts without case", table: "`Äß` INT, id INT",
			body: `{"äß":1,"ID":2}` + "\n" + `{"ÄSS":1,"iD":3}`,
			want: []string{"1 | 2", "NULL | 3"},
		},
		{
			name: "blank lines and CRLF", table: id,
			body: "\n{\"id\":1}\r\n   \n{\"id\":2}",
			want: []string{"1", "2"},
		},
		{
			name: "one bad line among good ones",
			body: `{"id":1,"s":"a"}` + "\n" + `{"id":2,"s":"x\.y"}` + "\n" + `{"id":3,"s":"b"}` + "\n",
			want: []string{"1 | a | NULL", "3 | b | NULL"}, errors: []string{notJSON + ` <- "{\"id\":2,\"s\":\"x\\.y\"}"`},
		},
		{
			name: "rubbish behind a good value", table: id,
			body: `{"id":1} x` + "\n" + `{"id":2}}` + "\n" + `{"id":3`,
			want: []string{"1", "2"}, errors: []string{notJSON + ` <- "x"`, notJSON + ` <- "}"`, notJSON + ` <- "{\"id\":3"`},
		},
		{
			name: "numbers digit by digit", table: "b BIGINT, l LARGEINT, d DECIMAL(38,10), s STRING",
			body: `{"b":9223372036854775807,"l":170141183460469231731687303715884105727,"d":1234567890123456789012345678.0123456789,"s":1.10}` + "\n" +
				`{"b":9223372036854775808,"l":1,"d":0,"s":1e400}` + "\n" + `{"b":1.0,"l":-0}` + "\n" + `{"b":1e3}`,
			want: []string{
				"9223372036854775807 | 170141183460469231731687303715884105727 | 1234567890123456789012345678.0123456789 | 1.10",
				"NULL | 1 | 0.0000000000 | 1e400",
				"1 | 0 | NULL | NULL", "1000 | NULL | NULL | NULL",
			},
		},
		{
			name: "numbers that JSON does not have", table: "id DOUBLE",
			body:   "{\"id\":01}\n{\"id\":.5}\n{\"id\":1.}\n{\"id\":+1}\n{\"id\":NaN}\n{\"id\":0x1}\n{\"id\":1e}\n{\"id\":-}\n{\"id\":-0.5e-1}",
			want:   []string{"-0.05"},
			errors: []string{`{"id":01}`, `{"id":.5}`, `{"id":1.}`, `{"id":+1}`, `{"id":NaN}`, `{"id":0x1}`, `{"id":1e}`, `{"id":-}`},
		},
		{
			name: "booleans, containers and JSON columns", table: "b BOOLEAN, i INT, s STRING, j JSON",
			body: `{"b":true,"i":false,"s":true,"j":false}` + "\n" + `{"s":{"a": [1, 2]},"j":{"a": [1, 2]}}` + "\n" + `{"j":"{\"x\":1}","s":[]}` + "\n" + `{"b":"TRUE","i":[1]}`,
			want: []string{"1 | 0 | true | false", `NULL | NULL | {"a": [1, 2]} | {"a":[1,2]}`, `NULL | NULL | [] | {"x":1}`, "1 | NULL | NULL | NULL"},
		},
		{
			name: "escapes", table: "s STRING",
			body: `{"s":"\"\\\/\b\f\n\r\t\u00e9\u4E2D\ud83d\ude00"}` + "\n" + `{"s":"\u0000"}`,
			want: []string{"\"\\/\b\f\n\r\té中😀", "\x00"},
		},
		{
			name:   "text that is not UTF-8",
			body:   "{\"id\":1,\"s\":\"a\xC0\xAFb\"}\n" + `{"id":2,"s":"\ud800"}` + "\n" + `{"id":3,"s":"\udc00x"}` + "\n" + `{"id":4,"s":"\ud800\u0041"}`,
			errors: []string{"column_name[s], the value is not valid UTF-8", halfSurrogate, halfSurrogate, halfSurrogate},
		},
		{
			name: "control bytes in strings", table: id,
			body: "{\"id\":1,\"x\":\"a\tb\"}", errors: []string{notJSON},
		},
		{
			name: "zones of datetimes", table: "id INT, ts DATETIME(3)",
			body: `{"id":1,"ts":"2023-06-15T10:00:00.000Z"}` + "\n" + `{"id":2,"ts":"2023-06-15T18:00:00.000+08:00"}` + "\n" + `{"id":3,"ts":"2023-06-15 10:00:00"}`,
			want: []string{"1 | 2023-06-15 18:00:00.000", "2 | 2023-06-15 18:00:00.000", "3 | 2023-06-15 10:00:00.000"},
		},
		{
			name: "default times in the load's zone", table: "id INT, at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), on DATE DEFAULT CURRENT_DATE",
			body: `{"id":1}`, want: []string{"1 | 2024-05-06 15:08:09.123 | 2024-05-06"},
		},
		{
			name: "a root", table: id, root: "$.data.rows", strip: true,
			body: `{"data":{"rows":[{"id":1},{"id":2}]}}` + "\n" + `{"data":{"rows":{"id":3}}}` + "\n" + `{"data":null}`,
			want: []string{"1", "2"}, errors: []string{wantsNoStrip, noRoot},
		},
		{
			name: "a root over lines", table: id, root: "$.d", series: true, strip: true,
			body: "{\"d\":\n[{\"id\":1}]}\n{\"d\":[]}", want: []string{"1"},
		},
		{
			name: "byte order mark", table: id, body: "\xEF\xBB\xBF{\"id\":1}", want: []string{"1"},
		},
		{
			name: "values nested too deep", table: "s STRING",
			body:   `{"s":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "}\n" + `{"s":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}",
			want:   []string{strings.Repeat("[", 200) + strings.Repeat("]", 200)},
			errors: []string{notJSON},
		},
		{
			name: "strict mode", strict: true,
			body: `{"id":1,"n":"x"}` + "\n" + `{"id":2,"n":null}`,
			want: []string{"2 | NULL | NULL"}, errors: []string{"column_name[n], cannot convert 'x' to INT: malformed"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, sizes := range cuts {
				got := tt.run(t, sizes...)
				if msg := fmt.Sprint(got.Err); got.Err == nil && tt.err != "" || got.Err != nil && (tt.err == "" || !strings.Contains(msg, tt.err)) {
					t.Errorf("cut %v: %v, want %q", sizes, got.Err, tt.err)
				}
				if !slices.Equal(got.Rows, tt.want) {
					t.Errorf("cut %v: rows %q, want %q", sizes, got.Rows, tt.want)
				}
				if !slices.EqualFunc(got.Errors, tt.errors, func(got, want string) bool {
					return strings.Contains(strings.ReplaceAll(got, `\"`, `"`), strings.ReplaceAll(want, `\"`, `"`))
				}) {
					t.Errorf("cut %v: errors\n%s\nwant\n%s", sizes, strings.Join(got.Errors, "\n"), strings.Join(tt.errors, "\n"))
				}
			}
		})
	}
}

// TestLargeValues: a document is not cut at any buffer's size.
func TestLargeValues(t *testing.T) {
	var b strings.Builder
	b.WriteString("[\n")
	for i := range 5000 {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  {\n    \"id\": %d,\n    \"s\": %q,\n    \"n\": null\n  }", i, strings.Repeat("x", 350)[:60])
	}
	b.WriteString("\n]\n")
	for _, sizes := range [][]int{{0}, {1024}} {
		tt := testCase{series: true, strip: true, body: b.String()}
		if got := tt.run(t, sizes...); got.Err != nil || len(got.Rows) != 5000 || len(got.Errors) != 0 {
			t.Fatalf("cut %v: %v, %d rows, %d errors", sizes, got.Err, len(got.Rows), len(got.Errors))
		}
		long := strings.Repeat("y", 1500000)
		tt = testCase{table: "s STRING", body: `{"s":"` + long + `"}`}
		if got := tt.run(t, sizes...); got.Err != nil || len(got.Rows) != 1 || got.Rows[0] != long {
			t.Fatalf("cut %v: a long string: %v, %d rows", sizes, got.Err, len(got.Rows))
		}
	}
}

func TestParsePaths(t *testing.T) {
	for _, tt := range []struct {
		header string
		n      int
	}{
		{`["$.id","$.a.b"]`, 2}, {` [ "$" ] `, 1}, {`["$.a[0].b","$['x y']","$.[2]"]`, 3},
		{`[]`, -1}, {``, -1}, {`{}`, -1}, {`["a"]`, -1}, {`["$.*"]`, -1}, {`["$.a[*]"]`, -1}, {`[1]`, -1}, {`["$.a"] x`, -1}, {`["$..a"]`, -1}, {`["$[-1]"]`, -1}, {`["$["]`, -1}, {`["$.a[1"]`, -1}, {`["$."]`, -1},
	} {
		p, err := ParsePaths(tt.header)
		if (err == nil) != (tt.n > 0) || err == nil && len(p) != tt.n {
			t.Errorf("%s: %v, %v", tt.header, p, err)
		}
	}
}
