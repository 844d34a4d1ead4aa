package behttp

import (
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"testing"
)

// stream sends an HTTP stream load.
func (r *rig) stream(sql, body string, headers ...string) reply {
	r.t.Helper()
	return r.do(r.request("PUT", "/api/_http_stream", strings.NewReader(body), append([]string{"sql", sql}, headers...)...))
}

func gzipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHTTPStream: what a statement makes of a body.
func TestHTTPStream(t *testing.T) {
	_, compile := withExpressions()
	r := newRig(t, compile)
	for _, tt := range []struct {
		sql, body string
		headers   []string
		want      []string
		call      string
	}{
		{`insert into db.t3 select * from http_stream("format"="csv", "column_separator"=",")`, "1,a,2\n", nil, []string{"1 | a | 2"}, "normal "},
		{`insert into db.t3 (n, id) select * from http_stream("format"="csv", "column_separator"="|")`, "2|1\n", nil, []string{"1 | NULL | 2"}, "normal "},
		{`insert into db.t3 (id, s, n) select c3, c1, c2 from http_stream("column_separator"=",")`, "a,2,1,more\nb,3\n", []string{"max_filter_ratio", "0.5"}, []string{"1 | a | 2"}, "normal "},
		{`INSERT INTO db.t3 WITH LABEL lx SELECT C1, 'k', c2 FROM http_stream("column_separator"=",");`, "1,2\n3\n", nil, []string{"1 | k | 2", "3 | k | NULL"}, "normal lx"},
		{`insert into db.t3 (id, s) select x, upper(x) AS u from http_stream("format"="json") h`, `{"x":7,"y":1}` + "\n" + `{"x":8}`, nil, []string{"7 | 7 | NULL", "8 | 8 | NULL"}, "normal "},
		{`insert into db.t3 (id, s) select n, x from http_stream("format"="json", "jsonpaths"="[\"$.b.x\", \"$.a.n\"]") where n >= 5`, `{"a":{"n":5},"b":{"x":"q"}}` + "\n" + `{"a":{"n":4}}`, nil, []string{"5 | q | NULL"}, "normal "},
		{`insert into db.t3 (id, s) select n, upper(x) from http_stream("format"="csv_with_names", "column_separator"=",") where n >= 5`, "\ufeffX,`other`,N\r\nab,zz,5\r\ncd,zz,4\r\n", nil, []string{"5 | AB | NULL"}, "normal "},
		{`insert into db.t3 (id, s) select n, x from http_stream("format"="csv_with_names_and_types", "column_separator"=",", "compress_type"="gz")`, gzipped(t, "x,n\nVARCHAR,INT\nab,5\n"), nil, []string{"5 | ab | NULL"}, "normal "},
		{`insert into db.t3 (id, s) select n, x from http_stream("format"="csv_with_names", "column_separator"=",", "enclose"="'")`, "'x','n'\n'a,b',5\n", nil, []string{"5 | a,b | NULL"}, "normal "},
		{`insert into db.t3 select c1, c2, c3 from http_stream("column_separator"=",")`, "1,a,2\n", []string{"group_commit", "async_mode"}, []string{"1 | a | 2"}, "group async=true"},
		{`insert into db.t3 with label ly select c1, c2, c3 from http_stream("column_separator"=",")`, "1,a,2\n", []string{"group_commit", "async_mode"}, []string{"1 | a | 2"}, "normal ly"},
		{`insert into db.t3 (id) select n from http_stream("format"="csv_with_names")`, gzipped(t, "n\n5\n"), []string{"Content-Encoding", "gzip"}, []string{"5 | NULL | NULL"}, "normal "},
		{`insert into db.t3 with label lz select c1, c2, c3 from http_stream("column_separator"=",")`, "1,a,2\n", []string{"two_phase_commit", "true"}, []string{"1 | a | 2"}, "normal lz two phases=true"},
		{`insert into db.t3 select c1, 'x', 1 from http_stream("column_separator"=",")`, "", nil, nil, "normal "},
	} {
		rep := r.stream(tt.sql, tt.body, tt.headers...)
		if got := r.f.taken(); rep.load.Status != statusSuccess || !slices.Equal(got, tt.want) || !strings.HasPrefix(r.f.lastCall(), tt.call) {
			t.Errorf("%s: %s: %s\nrows %q, call %s", tt.sql, rep.load.Status, rep.load.Message, got, r.f.lastCall())
		}
	}
	// Rows that WHERE does not choose are unselected, before they are converted.
	rep := r.stream(`insert into db.t3 (id, n) select x, n from http_stream("format"="json") where n >= 5`, `{"x":1,"n":5}{"x":"bad","n":1}`)
	if l := rep.load; l.NumberLoadedRows != 1 || l.NumberUnselectedRows != 1 || l.NumberFilteredRows != 0 {
		t.Errorf("unselected: %s", rep.text)
	}
	r.f.taken()
	// It is an INSERT: strict unless it is told otherwise.
	if rep = r.stream(`insert into db.t3 (id, n) select c1, c2 from http_stream("column_separator"=",")`, "1,x\n"); rep.load.Status != statusFail || rep.load.ErrorURL == "" {
		t.Errorf("strict: %s", rep.text)
	}
	rep = r.stream(`insert into db.t3 (id, n) select c1, c2 from http_stream("column_separator"=",")`, "1,x\n", "strict_mode", "false")
	if got := r.f.taken(); rep.load.Status != statusSuccess || !slices.Equal(got, []string{"1 | NULL | NULL"}) {
		t.Errorf("not strict: %s, %q", rep.text, got)
	}
}

// TestHTTPStreamRefused: what is wrong with a statement is said before the body
// is read.
func TestHTTPStreamRefused(t *testing.T) {
	_, compile := withExpressions()
	r := newRig(t, compile)
	const from = ` from http_stream("format"="csv")`
	for _, tt := range []struct {
		sql, want string
		headers   []string
	}{
		{"", "[INVALID_ARGUMENT]http_stream needs the statement in header sql", nil},
		{"insert into t3 select c1" + from, "parse db and tb with wrong sql:insert into t3", nil},
		{"insert into db.t3 select c1 from s3('a'='b')", "expecting http_stream", nil},
		{"insert into db.t3 values (1)", "_http_stream takes INSERT INTO db.table SELECT", nil},
		{"insert into db.none select c1" + from, "unknown table, table=none", nil},
		{"insert into db.t3 select c1" + from, "insert into cols should be corresponding to the query output: 3 columns, 1 expressions", nil},
		{"insert into db.t3 (id, nosuch) select c1, c2" + from, "Unknown column 'nosuch' in table t", nil},
		{"insert into db.t3 (id, nosuch) select *" + from, "Unknown column 'nosuch' in table t", nil},
		{"insert into db.t3 (id, ID) select c1, c2" + from, "column ID is given twice", nil},
		{"insert into db.t3 (s) select c1" + from, "Column has no default value, column=id", nil},
		{"insert into db.t3 (id, s) select c1, nofunc(c2)" + from, "[NOT_IMPLEMENTED_ERROR]Header sql: s=nofunc(c2): no such expression", nil},
		{"insert into db.t3 (id, s) select c1, upper(x)" + from, "Header sql: s=upper(x): unknown reference column, column=s, reference=x", nil},
		{"insert into db.t3 (id) select c1" + from + " where x > 1", "Header sql: x > 1: unknown column reference in where statement, reference=x", nil},
		{"insert into db.t3 (id) select c1 from http_stream('format'='xml')", "unknown data format, format=xml", nil},
		{"insert into db.t3 (id) select c1 from http_stream('where'='1')", `unknown property "where" of http_stream`, nil},
		{"insert into db.t3 (id) select c1 from http_stream('jsonpaths'='[\"$.a[0]\"]','format'='json')", "a path of jsonpaths that does not end with a plain key", nil},
		{"insert into db.t3 (id) select c1 from http_stream('format'='csv_with_names')", "the line of names has an empty name or one twice", nil},
		{"insert into db.t3 (id) select c1" + from, "header columns has no meaning for _http_stream, the statement says it: id", []string{"columns", "id"}},
		{"insert into db.t3 (id) select c1" + from, "header merge_type has no meaning for _http_stream", []string{"merge_type", "DELETE"}},
		{"insert into db.t3 with label a (id) select c1" + from, "header label: b: the statement has label a", []string{"label", "b"}},
		{"insert into db.t3 with label `group_commit_1` (id) select c1" + from, "labels that start with group_commit_ are reserved", nil},
		{"insert into db.t3 (id) select c1" + from, "Invalid timezone: Nowhere/X", []string{"timezone", "Nowhere/X"}},
	} {
		rep := r.stream(tt.sql, "1\t\t2\n", tt.headers...)
		if rep.code != 200 || rep.load.Status != statusFail || !strings.Contains(rep.load.Message, tt.want) || rep.load.TxnId != -1 {
			t.Errorf("%s: %d %s\nwant %q", tt.sql, rep.code, rep.load.Message, tt.want)
		}
	}
	if c := r.f.lastCall(); c != "" {
		t.Errorf("a refused load reached the loader: %s", c)
	}
	if rep := r.stream("insert into db.t3 (id) select c1"+from, "1\n", "Authorization", "Basic eDp5"); rep.code != 401 {
		t.Errorf("a bad login: %d %s", rep.code, rep.text)
	}
}
