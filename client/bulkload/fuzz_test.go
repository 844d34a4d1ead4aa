package bulkload

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dorisgo/load"
	"dorisgo/load/csv"
	"dorisgo/load/json"
	"dorisgo/load/loadtest"
)

// cutAll cuts a body as a stream that comes in pieces and returns the chunks.
func cutAll(t testing.TB, f *form, body string, size int64, pieces ...int) []*chunk {
	t.Helper()
	var list []*chunk
	c := &cutter{
		form: f, table: "db.t", size: size, labels: labels{prefix: "p", seen: map[labelKey]int{}}, buf: make([]byte, 16),
		emit: func(_ context.Context, ch *chunk) error { list = append(list, ch); return nil },
	}
	if err := c.cut(t.Context(), &Source{Name: Stdin, Stream: loadtest.Cut(body, pieces...), Size: -1}); err != nil {
		t.Fatal(err)
	}
	return list
}

// bytesOf reads a chunk as a request does, and gives it up.
func bytesOf(t testing.TB, c *chunk) string {
	t.Helper()
	defer c.close()
	r, err := c.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// decoded is what the server's decoder makes of a body.
func decoded(t *testing.T, body, format string, o csv.Options) *loadtest.Result {
	t.Helper()
	m, err := load.NewMapping(loadtest.Table(t, loadtest.T3), load.MappingOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := load.NewInput(loadtest.Cut(body, 0), int64(len(body)), 0)
	defer in.Close()
	if format == "json" {
		return loadtest.Run(t, m, json.NewDecoder(in, m, json.Options{ByLine: true}), 1<<10, false)
	}
	return loadtest.Run(t, m, csv.NewDecoder(in, m.Fields(), o), 1<<10, false)
}

// same compares the chunks, decoded one by one, with the whole.
func same(t *testing.T, f *form, body string, size int64, pieces ...int) {
	t.Helper()
	o := csv.Options{Separator: string(f.separator), Delimiter: string(f.delimiter), Enclose: f.enclose, Escape: f.escape}
	first := o
	first.SkipLines = f.heads
	format := f.first["format"]
	want := decoded(t, body, format, first)
	got := &loadtest.Result{}
	all, offset := "", int64(0)
	for i, c := range cutAll(t, f, body, size, pieces...) {
		if c.offset != offset || c.size == 0 {
			t.Fatalf("chunk %d is at %d and has %d bytes, want it at %d", i, c.offset, c.size, offset)
		}
		offset += c.size
		part := bytesOf(t, c)
		all += part
		opt := o
		if i == 0 {
			opt = first
		}
		r := decoded(t, part, format, opt)
		got.Rows, got.Errors = append(got.Rows, r.Rows...), append(got.Errors, r.Errors...)
	}
	if all != body {
		t.Fatalf("the chunks have %q, want %q", all, body)
	}
	if !slices.Equal(got.Rows, want.Rows) || !slices.Equal(got.Errors, want.Errors) {
		t.Fatalf("chunks of %d of %q: rows %q, errors %q, want %q, %q", size, body, got.Rows, got.Errors, want.Rows, want.Errors)
	}
}

func mustForm(t testing.TB, headers map[string]string) *form {
	t.Helper()
	f, err := newForm(headers)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestChunksHaveTheRows: at every chunk size, and however the bytes come, the
// chunks decode to the rows of the whole.
func TestChunksHaveTheRows(t *testing.T) {
	comma := map[string]string{"column_separator": ","}
	quoted := map[string]string{"column_separator": ",", "enclose": `"`, "escape": `\`}
	with := func(m map[string]string, kv ...string) map[string]string {
		m = maps.Clone(m)
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for _, tt := range []struct {
		name    string
		headers map[string]string
		body    string
	}{
		{"lines", comma, "1,a,2\n2,b,3\r\n\n3,c,4\n"},
		{"no end of the last line", comma, "1,a,2\n2,b,3"},
		{"head lines", with(comma, "skip_lines", "2"), "x\n\n1,a,2\n2,b,3\n"},
		{"names", with(comma, "format", "CSV_with_names"), "id,s,n\n1,a,2\n2,b,3\n"},
		{"names and types", with(comma, "format", "csv_with_names_and_types"), "id,s,n\nINT,STRING,INT\n1,a,2\n2,b,3\n"},
		{"more head lines than there are", with(comma, "skip_lines", "5"), "x\n1,a,2\n"},
		{"enclosed ends of lines", quoted, "1,\"a\nb\",2\n2,\"c\"\"\n\"\"d\",3\n3,\"e\\\"\n\",4\r\n4,f,5\n"},
		{"an enclosed field that does not end", quoted, "1,a,2\n2,\"b\n3,c,4\n"},
		{"a quote inside a plain field", quoted, "1,a\"b\nc,2\n2,b,3\n"},
		{"a quote inside an enclosed field", quoted, "1,\"a\"b\n\",2\n2,b,3\n"},
		{"an enclosed head line is a line", with(quoted, "skip_lines", "1"), "\"a\nb\"\n1,\"x\ny\",2\n"},
		{"a mark, then quotes", quoted, "\xEF\xBB\xBF\"1\",\"a\nb\",2\n2,b,3\n"},
		{"a mark at a later row", comma, "1,a,2\n\xEF\xBB\xBF2,b,3\n3,c,4\n"},
		{"delimiters of several bytes", with(comma, "line_delimiter", "#END#"), "1,a,2#END#2,b#EN,3#END#3,c,4"},
		{"a delimiter that overlaps itself", with(comma, "line_delimiter", "xx"), "1,a,2xxx2,b,3xxxx3,c,4xx"},
		{"a separator that starts the delimiter", map[string]string{"column_separator": "|", "line_delimiter": "||", "enclose": "'"}, "1|'a||b'|2||2|c|3||"},
		{"separators as hex", map[string]string{"column_separator": `\x01`, "line_delimiter": `\x02`}, "1\x01a\x012\x022\x01b\x013\x02"},
		{"raw control bytes", map[string]string{"column_separator": "\x01", "line_delimiter": "\x02"}, "1\x01a\x012\x022\x01b\x013\x02"},
		{"JSON by line", map[string]string{"format": "json"}, "{\"id\":1,\"s\":\"a\\nb\"}\n\n{\"id\":2}\n{\"id\":3}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := int64(1); size < int64(len(tt.body))+3; size++ {
				pieces := [][]int{{0}, {1}, {3, 2}}[size%3]
				same(t, mustForm(t, tt.headers), tt.body, size, pieces...)
			}
		})
	}
}

// FuzzChunks: the same for bytes that nobody thought of.
func FuzzChunks(f *testing.F) {
	f.Add("1,a,2\n2,\"b\"\"c\",3\r\n\n\\N,,\n", ",", "\n", byte('"'), byte('\\'), uint8(3), uint8(0), uint8(7))
	f.Add("1|aa#END#2|bb#EN", "|", "#END#", byte(0), byte(0), uint8(1), uint8(1), uint8(1))
	f.Add("1#'a#'#2#END#3", "#", "#END#", byte('\''), byte('\''), uint8(5), uint8(2), uint8(2))
	f.Add("\xEF\xBB\xBF'a\r\n'\r\n'", "\r", "\n", byte('\''), byte('x'), uint8(1), uint8(0), uint8(3))
	f.Fuzz(func(t *testing.T, body, sep, eol string, enclose, escape byte, piece, skip, size uint8) {
		if sep == "" || eol == "" || len(body) > 1<<10 {
			return
		}
		o := &form{separator: []byte(sep), delimiter: []byte(eol), enclose: enclose, escape: escape, heads: int(skip % 4)}
		same(t, o, body, int64(size)+1, int(piece)+1, 1)
	})
}

// TestCutsDependOnTheBytesAlone: labels are the same however the bytes come.
func TestCutsDependOnTheBytesAlone(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "%d,\"row\n%d\",%d\n", i, i, i)
	}
	f := mustForm(t, map[string]string{"column_separator": ",", "enclose": `"`})
	var want []string
	for _, pieces := range [][]int{{0}, {1000, 3}, {4096}, {70000, 1}} {
		var got []string
		for _, c := range cutAll(t, f, b.String(), 10000, pieces...) {
			got = append(got, c.label)
			if b := bytesOf(t, c); !strings.HasSuffix(b, "\n") || int64(len(b)) != c.size || c.size > 10100 {
				t.Errorf("chunk at %d ends with %q and has %d bytes", c.offset, b[max(0, len(b)-5):], c.size)
			}
		}
		if want == nil {
			want = got
		}
		if len(got) < 8 || !slices.Equal(got, want) {
			t.Errorf("pieces %v: labels %q, want %q", pieces, got, want)
		}
	}
}

// TestEqualChunksHaveLabelsOfTheirOwn: files with the same bytes are all loaded.
func TestEqualChunksHaveLabelsOfTheirOwn(t *testing.T) {
	l := labels{prefix: "p", seen: map[labelKey]int{}}
	sum := newHash("db.t").Sum(nil)
	seen := map[string]bool{}
	for range 3 {
		for offset := range int64(3) {
			seen[l.next(sum, offset)] = true
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d labels, want 9: %v", len(seen), seen)
	}
	other := newHash("db.u").Sum(nil)
	if seen[l.next(other, 0)] {
		t.Error("another table has the same label")
	}
	long := labels{prefix: strings.Repeat("x", maxPrefix), seen: map[labelKey]int{}}
	long.seen[labelKey{[16]byte(sum), 1<<63 - 1}] = 99998
	if got := long.next(sum, 1<<63-1); len(got) > 128 || !strings.HasSuffix(got, "_"+strconv.Itoa(99999)) {
		t.Errorf("label %q has %d characters", got, len(got))
	}
}
