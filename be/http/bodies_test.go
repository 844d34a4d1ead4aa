package behttp

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"

	"dorisgo/load/loadtest"
)

// TestMessyBodies: bodies with bad rows through the whole interface: status,
// rows, counters and the texts of the error log.
func TestMessyBodies(t *testing.T) {
	for _, tt := range []struct {
		name, table, body string
		headers           []string
		status            string
		want              []string
		total, filtered   int64
		log               []string
	}{
		{
			name: "a separator too many at the line end", body: "1|a|2|\n2|b\n3|c|4\n", headers: []string{"column_separator", "|"},
			status: statusFail, total: 3, filtered: 2,
			log: []string{"expected 3, but found 4 (sep:|, delim:\\n). src line [1|a|2|]", "expected 3, but found 2 (sep:|, delim:\\n). src line [2|b]"},
		},
		{
			name: "a separator too many within the ratio", body: "1|a|2|\n2|b\n3|c|4\n", headers: []string{"column_separator", "|", "max_filter_ratio", "0.7"},
			status: statusSuccess, want: []string{"3 | c | 4"}, total: 3, filtered: 2,
			log: []string{"src line [1|a|2|]", "src line [2|b]"},
		},
		{
			name: "one bad line of JSON", body: `{"id":1,"s":"a"}` + "\n" + `{"id":2,"s":"x\.y"}` + "\n" + `{"id":3,"s":"b"}` + "\n", headers: []string{"format", "json"},
			status: statusFail, total: 3, filtered: 1, log: []string{`src line [{"id":2,"s":"x\.y"}]`},
		},
		{
			name: "one bad line of JSON within the ratio", body: `{"id":1,"s":"a"}` + "\n" + `{"id":2,"s":"x\.y"}` + "\n" + `{"id":3,"s":"b"}` + "\n",
			headers: []string{"format", "json", "max_filter_ratio", "0.4"},
			status:  statusSuccess, want: []string{"1 | a | NULL", "3 | b | NULL"}, total: 3, filtered: 1, log: []string{`src line [{"id":2,"s":"x\.y"}]`},
		},
		{
			name: "elements that are no objects", body: `[{"id":1},7,null,[]]`, headers: []string{"format", "json", "strip_outer_array", "true", "max_filter_ratio", "1"},
			status: statusSuccess, want: []string{"1 | NULL | NULL"}, total: 4, filtered: 3,
		},
		{
			name: "an array without the flag", body: `[{"id":1},{"id":2}]`, headers: []string{"format", "json"},
			status: statusFail, total: 1, filtered: 1, log: []string{"JSON data is array-object, `strip_outer_array` must be TRUE."},
		},
		{
			name: "an empty array", body: `[]`, headers: []string{"format", "json", "strip_outer_array", "true"}, status: statusSuccess,
		},
		{
			name: "missing keys, nulls and defaults", table: `id INT NOT NULL, v INT DEFAULT "100", c VARCHAR(8), m INT NOT NULL DEFAULT "7", q INT NOT NULL`,
			body:    `{"id":1,"q":1}` + "\n" + `{"id":2,"q":1,"v":null}` + "\n" + `{"id":3,"q":1,"m":null}` + "\n" + `{"id":4}`,
			headers: []string{"format", "json", "max_filter_ratio", "0.5"},
			status:  statusSuccess, want: []string{"1 | 100 | NULL | 7 | 1", "2 | NULL | NULL | 7 | 1"}, total: 4, filtered: 2,
		},
		{
			name: "two of three bad", body: "x,a,1\ny,b,2\n3,c,3\n", headers: []string{"max_filter_ratio", "0.1"},
			status: statusFail, total: 3, filtered: 2,
		},
		{
			name: "blank lines are no rows", body: "\n1,a,2\n\n\n3,b,4\n\n", status: statusSuccess, want: []string{"1 | a | 2", "3 | b | 4"}, total: 2,
		},
		{
			name: "blank lines of JSON", body: "\n{\"id\":1}\r\n   \n{\"id\":2}", headers: []string{"format", "json", "read_json_by_line", "true"},
			status: statusSuccess, want: []string{"1 | NULL | NULL", "2 | NULL | NULL"}, total: 2,
		},
		{
			name: "the separator in force shows", body: "1,a,2\n", headers: []string{"column_separator", "", "column_sepatator", ","},
			status: statusFail, total: 1, filtered: 1, log: []string{`(sep:\t, delim:\n)`},
		},
		{
			name: "bytes that are not UTF-8", body: "1,a\xffb,2\n", status: statusFail, total: 1, filtered: 1, log: []string{"column_name[s], the value is not valid UTF-8"},
		},
		{
			name: "names with signs and other scripts", table: "id INT, `desc` INT, `@t` INT, `编号` INT, Mixed INT",
			body: "1,2,3,4,5\n", headers: []string{"columns", "ID, `desc`, `@t`, 编号, mixed"},
			status: statusSuccess, want: []string{"1 | 2 | 3 | 4 | 5"}, total: 1,
		},
		{
			name: "numbers as strings", table: "b BIGINT, d DECIMAL(38,10), s STRING",
			body:    `{"b":9223372036854775807,"d":1234567890123456789012345678.0123456789,"s":123456789012345678901234567890.10}`,
			headers: []string{"format", "json", "num_as_string", "true"},
			status:  statusSuccess, want: []string{"9223372036854775807 | 1234567890123456789012345678.0123456789 | 123456789012345678901234567890.10"}, total: 1,
		},
		{
			name: "an empty ratio is none", body: "x,a,1\n1,a,1\n", headers: []string{"max_filter_ratio", ""}, status: statusFail, total: 2, filtered: 1,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
				r := newRig(t)
				if tt.table != "" {
					table := loadtest.Table(t, tt.table)
					table.Props = r.f.tables["db.t3"].Props
					r.f.tables["db.t3"] = table
				}
				rep := r.put(tt.body, append([]string{"group_commit", mode}, tt.headers...)...)
				l := rep.load
				if got := r.f.taken(); l.Status != tt.status || !slices.Equal(got, tt.want) {
					t.Errorf("%s: %s\nrows %q, want %q", mode, rep.text, got, tt.want)
				}
				if l.NumberTotalRows != tt.total || l.NumberFilteredRows != tt.filtered || tt.filtered > 0 == (l.ErrorURL == "") || tt.filtered > 0 == (l.FirstErrorMsg == "") {
					t.Errorf("%s: counters or error details: %s", mode, rep.text)
				}
				if tt.filtered == 0 {
					continue
				}
				log := fetchLog(t, l.ErrorURL)
				if n := strings.Count(log, "Reason: "); n != int(tt.filtered) {
					t.Errorf("%s: %d rows in the error log:\n%s", mode, n, log)
				}
				for _, want := range tt.log {
					if !strings.Contains(log, want) {
						t.Errorf("%s: the error log lacks %q:\n%s", mode, want, log)
					}
				}
			}
		})
	}
}

func fetchLog(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("error log: %d, %v", res.StatusCode, err)
	}
	return string(b)
}

// TestZonesOfLoads: spellings of one instant are one value whatever the load's
// zone; a text without a zone is kept.
func TestZonesOfLoads(t *testing.T) {
	body := `{"id":1,"ts":"2023-06-15T10:00:00.000Z"}` + "\n" + `{"id":2,"ts":"2023-06-15T18:00:00.000+08:00"}` + "\n" + `{"id":3,"ts":"2023-06-15 10:00:00"}`
	for zone, want := range map[string]string{"": "2023-06-15 10:00:00", "+08:00": "2023-06-15 18:00:00", "Africa/Abidjan": "2023-06-15 10:00:00"} {
		r := newRig(t)
		table := loadtest.Table(t, "id INT, ts DATETIME")
		table.Props = r.f.tables["db.t3"].Props
		r.f.tables["db.t3"] = table
		rep := r.put(body, "format", "json", "timezone", zone)
		if got := r.f.taken(); !slices.Equal(got, []string{"1 | " + want, "2 | " + want, "3 | 2023-06-15 10:00:00"}) {
			t.Errorf("zone %q: %q, %s", zone, got, rep.text)
		}
	}
}

// TestContentEncoding: HTTP's name for a packed body unpacks it once, also when
// compress_type says the same.
func TestContentEncoding(t *testing.T) {
	r := newRig(t)
	framed := func(w interface {
		io.WriteCloser
		Reset(io.Writer)
	}) string {
		var b bytes.Buffer
		w.Reset(&b)
		if _, err := io.WriteString(w, "1,a,1\n"); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	packedLZ4, packedSnappy := framed(lz4.NewWriter(nil)), framed(s2.NewWriter(nil, s2.WriterSnappyCompat()))
	for _, tt := range []struct {
		body    string
		headers []string
		want    string
	}{
		{packedLZ4, []string{"Content-Encoding", "lz4", "compress_type", "LZ4"}, ""},
		{packedLZ4, []string{"Content-Encoding", "lz4"}, ""},
		{packedLZ4, []string{"compress_type", "lz4", "Content-Encoding", "identity"}, ""},
		{packedSnappy, []string{"compress_type", "snappy"}, ""},
		{gz(t, "1,a,1\n"), []string{"Content-Encoding", "gzip"}, ""},
		{gz(t, "1,a,1\n"), []string{"Content-Encoding", "X-Gzip", "compress_type", "gz"}, ""},
		{"1,a,1\n", []string{"Content-Encoding", "identity"}, ""},
		{packedLZ4, []string{"Content-Encoding", "lz4", "compress_type", "gz"}, "Invalid Content-Encoding: lz4, since header compress_type says gz"},
		{"1,a,1\n", []string{"Content-Encoding", "br"}, "Invalid Content-Encoding: br, must be one of"},
		{"1,a,1\n", []string{"Content-Encoding", "gzip, lz4"}, "Invalid Content-Encoding: gzip, lz4, must be one of"},
	} {
		rep := r.put(tt.body, tt.headers...)
		got := r.f.taken()
		if ok := slices.Equal(got, []string{"1 | a | 1"}); ok != (tt.want == "") || !strings.Contains(rep.load.Message, tt.want) {
			t.Errorf("%q: rows %q, %s", tt.headers, got, rep.text)
		}
	}
}
