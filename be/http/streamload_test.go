package behttp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dorisgo/doriserr"
)

const t3Path = "/api/db/t3/_stream_load"

// put sends a load whose columns are separated by commas.
func (r *rig) put(body string, headers ...string) reply {
	r.t.Helper()
	return r.do(r.request("PUT", t3Path, strings.NewReader(body), append([]string{"column_separator", ","}, headers...)...))
}

func (r *rig) do(req *http.Request) reply {
	r.t.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	rep := reply{code: res.StatusCode, text: string(text)}
	if bytes.HasPrefix(text, []byte("{")) {
		if err := json.Unmarshal(text, &rep.load); err != nil {
			r.t.Fatalf("%s: %v", text, err)
		}
		l := rep.load
		if l.Status == statusSuccess && l.NumberTotalRows != l.NumberLoadedRows+l.NumberFilteredRows+l.NumberUnselectedRows || l.Status == statusFail && l.NumberLoadedRows != 0 {
			r.t.Errorf("counters do not add up: %s", text)
		}
		if l.Message == "" && l.Status != "" {
			r.t.Errorf("an empty message: %s", text)
		}
	}
	return rep
}

var (
	times = regexp.MustCompile(`(Ms": )\d+`)
	ports = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	ids   = regexp.MustCompile(`__shard_\d+/error_log_db_([^_]+)_[0-9a-f]{16}_[0-9a-f]{16}`)
)

// golden compares a reply, times and random parts made equal.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = times.ReplaceAllString(got, "${1}0")
	got = ports.ReplaceAllString(got, "127.0.0.1:8040")
	got = ids.ReplaceAllString(got, "__shard_0/error_log_db_${1}_0_0")
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestGoldenReplies(t *testing.T) {
	r := newRig(t)
	body := "6,Amy,60\n7,Ross,98\n"
	golden(t, "group_async.json", r.put(body, "group_commit", "async_mode").text)
	if got := r.f.taken(); !slices.Equal(got, []string{"6 | Amy | 60", "7 | Ross | 98"}) {
		t.Errorf("rows %q", got)
	}
	golden(t, "normal.json", r.put(body, "label", "l1", "comment", "a \"comment\" <1>").text)
	golden(t, "label_exists.json", r.put(body, "label", "l1").text)
	golden(t, "failure.json", r.put("x,a,1\n1,b,2\n", "label", "l2").text)
	r.f.groupResult = GroupResult{Label: "group_commit_0_1", TxnID: 5}
	golden(t, "publish_timeout.json", r.put(body, "group_commit", "sync_mode").text)
	golden(t, "two_phase.json", r.put(body, "label", "l3", "two_phase_commit", "true").text)
	r.f.normal = func(ctx context.Context, l *NormalLoad) (NormalResult, error) {
		_, err := r.f.drain(ctx, l.Blocks)
		return NormalResult{TxnID: 9}, err
	}
	golden(t, "publish_timeout_normal.json", r.put(body, "label", "l4").text)
	golden(t, "unauthorized.json", r.put(body, "Authorization", "Basic eDp5").text)
	r.f.normal = nil
	golden(t, "unknown_table.json", r.do(r.request("PUT", "/api/db/none/_stream_load", strings.NewReader(body))).text)
}

// TestModes: which way a load goes, and what the reply says of it.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		property string
		heavy    bool // no light schema change
		chunked  bool
		body     string
		headers  []string
		call     string
		group    bool
	}{
		{"no header", "", false, false, "1,a,2\n", nil, "normal ", false},
		{"async", "", false, false, "1,a,2\n", []string{"group_commit", "async_mode"}, "group async=true own=false length=6", true},
		{"async in capitals", "", false, false, "1,a,2\n", []string{"group_commit", "ASYNC_MODE"}, "group async=true", true},
		{"sync", "", false, false, "1,a,2\n", []string{"group_commit", "sync_mode"}, "group async=false", true},
		{"chunked async runs as sync", "", false, true, "1,a,2\n", []string{"group_commit", "async_mode"}, "group async=false own=false length=-1", true},
		{"the table's property", "async_mode", false, false, "1,a,2\n", nil, "group async=true", true},
		{"the header goes before the property", "async_mode", false, false, "1,a,2\n", []string{"group_commit", "off_mode"}, "normal ", false},
		{"label", "", false, false, "1,a,2\n", []string{"group_commit", "async_mode", "label", "L"}, "normal L", false},
		{"chunked with a label", "", false, true, "1,a,2\n", []string{"group_commit", "async_mode", "label", "L"}, "normal L", false},
		{"partitions", "", false, false, "1,a,2\n", []string{"group_commit", "async_mode", "partitions", "t3"}, "normal ", false},
		{"no light schema change", "", true, false, "1,a,2\n", []string{"group_commit", "async_mode"}, "normal ", false},
		{"no body", "", false, false, "", []string{"group_commit", "async_mode"}, "normal ", false},
		{"no rows", "", false, false, "\n\n", []string{"group_commit", "async_mode"}, "normal ", false},
		{"a chunked body without bytes", "", false, true, "", []string{"group_commit", "sync_mode"}, "normal ", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			props := &r.f.tables["db.t3"].Props
			props.GroupCommitMode, props.LightSchemaChange = tt.property, !tt.heavy
			var body io.Reader = strings.NewReader(tt.body)
			if tt.chunked {
				body = struct{ io.Reader }{body}
			}
			req := r.request("PUT", t3Path, body, append([]string{"column_separator", ","}, tt.headers...)...)
			if tt.body == "" && !tt.chunked {
				req.Body, req.ContentLength = http.NoBody, 0
			}
			rep := r.do(req)
			if rep.load.Status != statusSuccess || rep.load.GroupCommit != tt.group || !strings.HasPrefix(r.f.lastCall(), tt.call) {
				t.Errorf("%s\ncall %q, want %q", rep.text, r.f.lastCall(), tt.call)
			}
			if strings.HasPrefix(rep.load.Label, reservedPrefix) != tt.group || rep.load.Label == "" {
				t.Errorf("label %q", rep.load.Label)
			}
		})
	}
}

// TestRefusedHeaders: a bad value is refused before the body is read, and the
// reply names header or value.
func TestRefusedHeaders(t *testing.T) {
	_, compile := withExpressions()
	r := newRig(t, compile)
	for _, tt := range []struct{ name, value, want string }{
		{"group_commit", "asyncmode", "[INVALID_ARGUMENT]group_commit can only be [async_mode, sync_mode, off_mode], found: asyncmode"},
		{"label", "a b", "Label format error. regex: ^[\\-_A-Za-z0-9:]{1,128}$, label: a b"},
		{"label", strings.Repeat("x", 129), "Label format error"},
		{"label", "编", "Label format error"},
		{"label", " ", "Label format error. regex: ^[\\-_A-Za-z0-9:]{1,128}$, label is empty"},
		{"label", "group_commit_1_2", "labels that start with group_commit_ are reserved"},
		{"format", "jsonl", "[DATA_FILE_TYPE_ERROR]unknown data format, format=jsonl"},
		{"format", "parquet", "[NOT_IMPLEMENTED_ERROR]format parquet is not supported by this backend"},
		{"format", "ORC", "[NOT_IMPLEMENTED_ERROR]format ORC is not supported yet"},
		{"format", "arrow", "[NOT_IMPLEMENTED_ERROR]format arrow is not supported yet"},
		{"timeout", "abc", "[INVALID_ARGUMENT]Invalid format of 'timeout': 'abc', stoi"},
		{"timeout", "0", "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = Invalid timeout: 0. Timeout should be higher than Config.min_load_timeout_second: 1"},
		{"timeout", "-1", "Invalid timeout: -1"},
		{"timeout", "999999999", "Invalid timeout: 999999999. Timeout should be lower than Config.max_stream_load_timeout_second: 259200"},
		{"column_separator", `\x0`, "Hex str length error"},
		{"column_separator", `\xZZ`, "Hex str format error"},
		{"line_delimiter", `\x`, "Hex str is empty"},
		{"enclose", "ab", "enclose must be single-char, actually is ab"},
		{"escape", "ab", "escape must be single-char, actually is ab"},
		{"skip_lines", "-3", "Invalid 'skip_lines': -3"},
		{"skip_lines", "x", "[INVALID_ARGUMENT]Invalid format of 'skip_lines': 'x', stoi"},
		{"max_filter_ratio", "1.1", "Invalid max_filter_ratio: 1.1"},
		{"max_filter_ratio", "-0.1", "Invalid max_filter_ratio: -0.1"},
		{"max_filter_ratio", "abc", "Invalid max_filter_ratio: abc"},
		{"max_filter_ratio", "NaN", "Invalid max_filter_ratio: NaN"},
		{"strict_mode", "yes", "Invalid strict mode format. Must be bool type"},
		{"timezone", "Nowhere/X", "Invalid timezone: Nowhere/X"},
		{"timezone", "+25:00", "Invalid timezone: +25:00"},
		{"exec_mem_limit", "x", "Invalid mem limit format"},
		{"compress_type", "rar", "Invalid compress_type: rar"},
		{"compress_type", "lzo", "compress_type lzo is not supported yet"},
		{"trim_double_quotes", "maybe", "Invalid trim_double_quotes: maybe"},
		{"read_json_by_line", "1", "Invalid read_json_by_line: 1"},
		{"jsonpaths", "$.a", "Invalid json path: $.a"},
		{"json_root", "a", "JSON path \"a\" is not supported"},
		{"columns", "id, s=nofunc(id)", "[NOT_IMPLEMENTED_ERROR]Header `columns`: s=nofunc(id): no such expression"},
		{"columns", "id, s=upper(x)", "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = Header `columns`: s=upper(x): unknown reference column, column=s, reference=x"},
		{"columns", "id, nosuch=1", "Header `columns`: unknown column nosuch in table t: nosuch=1"},
		{"columns", "id, n=", "Invalid header `columns`: expected column names or name=expression separated by commas, found \" n=\""},
		{"columns", "s", "Column has no default value, column=id"},
		{"where", "x > 1", "Header `where`: x > 1: unknown column reference in where statement, reference=x"},
		{"where", "n >", "[NOT_IMPLEMENTED_ERROR]Header `where`: n >: no such expression"},
		{"merge_type", "DELETE", "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = load by MERGE or DELETE is only supported in unique tables."},
		{"merge_type", "MERGE", "[INVALID_ARGUMENT]Excepted DELETE ON clause when merge type is MERGE."},
		{"delete", "n > 1", "[INVALID_ARGUMENT]Not support DELETE ON clause when merge type is not MERGE."},
		{"merge_type", "upsert", "Invalid merge type upsert"},
		{"hidden_columns", "__DORIS_DELETE_SIGN__", "header hidden_columns: __DORIS_DELETE_SIGN__: table t has no hidden columns"},
		{"partial_columns", "true", "Only unique key merge on write support partial update"},
		{"partial_columns", "yes", "Invalid partial_columns: yes"},
		{"unique_key_update_mode", "update_fixed_columns", "Only unique key merge on write support partial update"},
		{"unique_key_update_mode", "UPDATE_FLEXIBLE_COLUMNS", "flexible partial update only support json format as input file currently"},
		{"unique_key_update_mode", "x", "Invalid unique_key_partial_mode x, must be one of"},
		{"partial_update_new_key_behavior", "x", "Invalid partial_update_new_key_behavior: x"},
		{"negative", "true", "header negative: true: table t has no SUM columns"},
		{"negative", "1", "Invalid negative: 1"},
		{"partitions", "p9", "unknown partition p9 in table t"},
		{"function_column.sequence_col", "n", "There is no sequence column in the table t"},
		{"two_phase_commit", "yes", "[INVALID_ARGUMENT]Invalid two_phase_commit: yes, must be true or false"},
	} {
		rep := r.put("1,a,2\n", tt.name, tt.value)
		if rep.code != 200 || rep.load.Status != statusFail || !strings.Contains(rep.load.Message, tt.want) || rep.load.TxnId != -1 {
			t.Errorf("%s: %s: %d %s\nwant %q", tt.name, tt.value, rep.code, rep.load.Message, tt.want)
		}
	}
	if c := r.f.lastCall(); c != "" {
		t.Errorf("a refused load reached the loader: %s", c)
	}
}

func TestAcceptedHeaders(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		headers []string
		body    string
		want    []string
	}{
		{[]string{"column_sepatator", "|", "column_separator", ","}, "1,a,2\n", []string{"1 | a | 2"}},
		{[]string{"column_separator", `\x01`, "line_delimiter", `\x02`}, "1\x01a\x012\x02", []string{"1 | a | 2"}},
		{[]string{"column_separator", ""}, "1\ta\t2\n", []string{"1 | a | 2"}},
		{[]string{"format", "CSV_with_names"}, "id,s,n\n1,a,2\n", []string{"1 | a | 2"}},
		{[]string{"format", "csv_with_names_and_types", "skip_lines", "7"}, "id,s,n\nINT,x,INT\n1,a,2\n", []string{"1 | a | 2"}},
		{[]string{"columns", "`N`, tmp, ID"}, "2,zz,1\n", []string{"1 | NULL | 2"}},
		{[]string{"format", "json"}, "{\"id\":1,\"n\":2}\n{\"id\":2} {\"id\":3}", []string{"1 | NULL | 2", "2 | NULL | NULL", "3 | NULL | NULL"}},
		{[]string{"format", "JSON", "strip_outer_array", "true"}, "[{\"id\":1},\n{\"id\":2}]", []string{"1 | NULL | NULL", "2 | NULL | NULL"}},
		{[]string{"format", "json", "read_json_by_line", "false"}, "{\"id\":\n1}", []string{"1 | NULL | NULL"}},
		{[]string{"format", "json", "jsonpaths", `["$.b","$.a"]`}, `{"a":"x","b":1}`, []string{"1 | x | NULL"}},
		{[]string{"format", "json", "jsonpaths", `["$.b","$.a"]`, "columns", "n,id"}, `{"a":1,"b":2}`, []string{"1 | NULL | 2"}},
		{[]string{"timezone", "Africa/Abidjan", "timeout", "259200", "negative", "false", "merge_type", "append", "unique_key_update_mode", "upsert"}, "1,a,2\n", []string{"1 | a | 2"}},
		{[]string{"label", strings.Repeat("x", 128)}, "1,a,2\n", []string{"1 | a | 2"}},
		{[]string{"label", "a:b-c_d"}, "1,a,2\n", []string{"1 | a | 2"}},
	} {
		rep := r.put(tt.body, tt.headers...)
		if got := r.f.taken(); rep.load.Status != statusSuccess || !slices.Equal(got, tt.want) {
			t.Errorf("%q: %s: %s\nrows %q", tt.headers, rep.load.Status, rep.load.Message, got)
		}
	}
}

func rows(good, bad int) string {
	return strings.Repeat("x,a,1\n", bad) + strings.Repeat("1,a,2\n", good)
}

// TestFilterRatio: the limit itself is allowed; what is over it fails the load,
// in both ways of writing, and leaves nothing behind.
func TestFilterRatio(t *testing.T) {
	for _, tt := range []struct {
		name      string
		good, bad int
		ratio     string
		group     bool
		status    string
		message   string
	}{
		{"at the limit", 71, 29, "0.29", false, statusSuccess, "OK"},
		{"over the limit", 70, 30, "0.29", false, statusFail, "[DATA_QUALITY_ERROR]too many filtered rows"},
		{"at the limit, grouped", 71, 29, "0.29", true, statusSuccess, "OK"},
		{"over the limit, grouped", 70, 30, "0.29", true, statusFail, "[DATA_QUALITY_ERROR]too many filtered rows, column_name[id], null value for not null column, type=INT: cannot convert 'x'. Src line: x,a,1"},
		{"all filtered", 0, 1, "1", false, statusSuccess, "OK"},
		{"all filtered, grouped", 0, 1, "1", true, statusSuccess, "OK"},
		{"none allowed", 2, 1, "0", false, statusFail, "[DATA_QUALITY_ERROR]too many filtered rows"},
		{"none allowed, many rows", 5000, 1, "0", false, statusFail, "[DATA_QUALITY_ERROR]Encountered unqualified data, stop processing."},
		{"none allowed, grouped", 2, 1, "0", true, statusFail, "[DATA_QUALITY_ERROR]too many filtered rows, "},
		{"as many rows as are checked, grouped", 9999, 1, "0", true, statusFail, "[DATA_QUALITY_ERROR]too many filtered rows, "},
		{"more rows than are checked, grouped", 10000, 1, "0", true, statusSuccess, "OK, max_filter_ratio was not enforced: the load has more than 10000 rows"},
		{"many rows within the ratio, grouped", 10000, 1, "0.5", true, statusSuccess, "OK"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			headers := []string{"max_filter_ratio", tt.ratio}
			if tt.group {
				headers = append(headers, "group_commit", "sync_mode")
			}
			rep := r.put(rows(tt.good, tt.bad), headers...)
			if rep.load.Status != tt.status || !strings.HasPrefix(rep.load.Message, tt.message) || tt.message == "OK" && rep.load.Message != "OK" {
				t.Errorf("%s: %s", rep.load.Status, rep.load.Message)
			}
			got := r.f.taken()
			if tt.status == statusFail && len(got) != 0 || tt.status == statusSuccess && len(got) != tt.good {
				t.Errorf("%d rows stored", len(got))
			}
			if tt.status == statusSuccess && (rep.load.NumberLoadedRows != int64(tt.good) || rep.load.NumberFilteredRows != int64(tt.bad)) {
				t.Errorf("%s", rep.text)
			}
			if rep.load.ErrorURL == "" || rep.load.FirstErrorMsg == "" {
				t.Errorf("no error details: %s", rep.text)
			}
			res, err := http.Get(rep.load.ErrorURL)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			log, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != 200 || strings.Count(string(log), "\n") != min(50, tt.bad) || !strings.Contains(string(log), "src line [x,a,1]; ") {
				t.Errorf("error log %d %q, %v", res.StatusCode, log, err)
			}
		})
	}
}

func TestLabelIsFreeAfterAFailure(t *testing.T) {
	r := newRig(t)
	if rep := r.put("x,a,1\n", "label", "L"); rep.load.Status != statusFail || !r.f.labelFree("L") {
		t.Fatalf("%s", rep.text)
	}
	if rep := r.put("1,a,1\n", "label", "L"); rep.load.Status != statusSuccess {
		t.Fatalf("%s", rep.text)
	}
	if rep := r.put("1,a,1\n", "label", "L"); rep.load.Status != statusLabelExists || rep.load.ExistingJobStatus != "FINISHED" {
		t.Fatalf("%s", rep.text)
	}
}

// TestLargeLoadGetsAGroupOfItsOwn: it streams, runs as sync and stays whole.
func TestLargeLoadGetsAGroupOfItsOwn(t *testing.T) {
	r := newRig(t)
	r.limits.BlockBytes = 8 << 10
	r.f.tables["db.t3"].Props.GroupCommitDataBytes = 64 << 10
	rep := r.put(rows(20000, 0), "group_commit", "async_mode")
	if rep.load.Status != statusSuccess || !rep.load.GroupCommit || rep.load.NumberLoadedRows != 20000 || len(r.f.taken()) != 20000 {
		t.Errorf("%s", rep.text)
	}
	if c := r.f.lastCall(); !strings.HasPrefix(c, "group async=false own=true") {
		t.Errorf("call %q", c)
	}
	// A ratio that fails only at the end takes the streamed rows back.
	r.f.tables["db.t3"].Props.GroupCommitDataBytes = 16 << 10
	rep = r.put(rows(5000, 1), "group_commit", "sync_mode")
	if rep.load.Status != statusFail || len(r.f.taken()) != 0 {
		t.Errorf("%s", rep.text)
	}
	if held := r.s.budget.held(); held != 0 {
		t.Errorf("%d bytes of the budget are still held", held)
	}
}

func gz(t *testing.T, s string) string {
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

func TestCompressedBodies(t *testing.T) {
	r := newRig(t)
	r.limits.StreamingLoadMaxMB = 1
	one, two := gz(t, "1,a,1\n"), gz(t, "2,b,2\n")
	for _, mode := range []string{"off_mode", "sync_mode"} {
		for _, tt := range []struct {
			name, body string
			rows       int
			want       string
		}{
			{"two parts", one + two, 2, ""},
			{"cut short", one[:len(one)-5], 0, "cannot unpack the body as gz: unexpected EOF"},
			{"plain text", "1,a,1\n", 0, "cannot unpack the body as gz"},
			{"expanding", gz(t, strings.Repeat("1,a,1\n", 400000)), 0, "the unpacked body exceeds the limit of 1048576 bytes"},
			{"no byte", "", 0, ""},
		} {
			rep := r.put(tt.body, "compress_type", "gz", "group_commit", mode)
			ok := rep.load.Status == statusSuccess && tt.want == "" || rep.load.Status == statusFail && tt.want != "" && strings.Contains(rep.load.Message, tt.want)
			if got := r.f.taken(); !ok || len(got) != tt.rows {
				t.Errorf("%s, %s: %d rows, %s", mode, tt.name, len(got), rep.text)
			}
		}
	}
	if rep := r.put(gz(t, `{"id":1}`), "compress_type", "GZ", "format", "json"); rep.load.NumberLoadedRows != 1 {
		t.Errorf("packed JSON: %s", rep.text)
	}
}

func TestBodyLimits(t *testing.T) {
	r := newRig(t)
	r.limits.StreamingLoadMaxMB, r.limits.StreamingLoadJSONMaxMB = 1, 1
	big := strings.Repeat("1,a,1\n", 400000)
	rep := r.put(big)
	if want := "[EXCEEDED_LIMIT]body size 2400000 exceed BE's conf `streaming_load_max_mb` 1048576. increase it if you are sure this load is reasonable"; rep.load.Message != want || r.f.lastCall() != "" {
		t.Errorf("known length: %s", rep.text)
	}
	req := r.request("PUT", t3Path, struct{ io.Reader }{strings.NewReader(big)}, "column_separator", ",", "label", "L")
	if rep := r.do(req); rep.load.Status != statusFail || !strings.Contains(rep.load.Message, "`streaming_load_max_mb` 1048576") || len(r.f.taken()) != 0 || !r.f.labelFree("L") {
		t.Errorf("chunked: %s", rep.text)
	}
	rep = r.put(strings.Repeat(`{"id":1}`, 200000), "format", "json", "read_json_by_line", "false")
	if !strings.Contains(rep.load.Message, "`streaming_load_json_max_mb` 1048576") {
		t.Errorf("JSON: %s", rep.text)
	}
	// Long headers are taken; too long ones are refused as what they are.
	names := make([]string, 0, 9000)
	for i := range 9000 {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	rep = r.put("1,a\n", "columns", "id,s,"+strings.Join(names, ","))
	if !strings.Contains(rep.load.Message, "too many filtered rows") {
		t.Errorf("a long header: %s", rep.text)
	}
	res, err := http.DefaultClient.Do(r.request("PUT", t3Path, nil, "columns", strings.Repeat("x", 2<<20)))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 2 MB: %d", res.StatusCode)
	}
}

func TestAuthentication(t *testing.T) {
	r := newRig(t)
	req := func(user, password, token, path string) reply {
		q := r.request("PUT", path, strings.NewReader("1,a,2\n"), "column_separator", ",")
		q.Header.Del("Authorization")
		if user != "" {
			q.SetBasicAuth(user, password)
		}
		if token != "" {
			q.Header.Set("token", token)
		}
		return r.do(q)
	}
	for _, tt := range []struct {
		user, password, token, path string
		code                        int
		want                        string
	}{
		{"u", "p@:/%25#é", "", t3Path, 200, "OK"},
		{"u@default_cluster", "p@:/%25#é", "", t3Path, 200, "OK"},
		{"u", "p@:/%25#é", "", "/api/db/t%20x/_stream_load", 200, "OK"},
		{"", "", "secret-token", t3Path, 200, "OK"},
		{"u", "wrong", "", t3Path, 401, "[NOT_AUTHORIZED]Access denied for user 'u'"},
		{"", "", "", t3Path, 401, "[NOT_AUTHORIZED]no valid Basic authorization"},
		{"u", "p@:/%25#é", "", "/api/db/secret/_stream_load", 200, "[NOT_AUTHORIZED]LOAD command denied"},
		{"u", "p@:/%25#é", "", "/api/db/none/_stream_load", 200, "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = unknown table, table=none"},
	} {
		rep := req(tt.user, tt.password, tt.token, tt.path)
		if rep.code != tt.code || !strings.HasPrefix(rep.load.Message, tt.want) {
			t.Errorf("%s %s: %d %s", tt.user, tt.path, rep.code, rep.text)
		}
		if strings.Contains(rep.text, "p@:/") || strings.Contains(rep.text, "secret-token") {
			t.Errorf("a secret in the reply: %s", rep.text)
		}
	}
}

func TestLoaderErrors(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		err             error
		status, message string
	}{
		{doriserr.New(doriserr.ExceededLimit, "Too many group commit async WALs for table t3"), statusFail, "[EXCEEDED_LIMIT]Too many group commit async WALs for table t3"},
		{doriserr.New(doriserr.SchemaChanged, "schema version not match, maybe a schema change is in process. Please retry this load manually."), statusFail, "[DATA_QUALITY_ERROR]schema version not match, maybe a schema change is in process. Please retry this load manually."},
		{doriserr.New(doriserr.Stopping, "be is stopping"), statusFail, "[INTERNAL_ERROR]be is stopping"},
		{doriserr.New(doriserr.Unknown, "the leader did not answer"), statusUnknown, "[INTERNAL_ERROR]the leader did not answer"},
	} {
		r.f.groupErr = tt.err
		if rep := r.put("1,a,2\n", "group_commit", "sync_mode"); rep.load.Status != tt.status || rep.load.Message != tt.message || rep.load.NumberLoadedRows != 0 {
			t.Errorf("%v: %s", tt.err, rep.text)
		}
	}
	r.f.plan = func(p *Plan) { p.Blocked = true }
	if rep := r.put("1,a,2\n", "group_commit", "sync_mode"); rep.load.Message != "[ANALYSIS_ERROR]TStatus: errCode = 2, detailMessage = insert table 10 is blocked on schema change" {
		t.Errorf("%s", rep.text)
	}
	if rep := r.put("1,a,2\n"); rep.load.Status != statusSuccess {
		t.Errorf("a block stops a normal load: %s", rep.text)
	}
}

// TestWaitingBodiesShareMemory: a load that gets no part of the budget is
// refused with a text, and goes through once there is room.
func TestWaitingBodiesShareMemory(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MemoryBytes, o.MemoryWait = 1<<20, 20*time.Millisecond })
	r.f.hold = make(chan struct{})
	body := rows(10000, 0)
	held := make(chan reply, 3)
	var loads []*GroupLoad
	for range 3 {
		go func() { held <- r.put(body, "group_commit", "sync_mode") }()
		loads = append(loads, <-r.f.started)
	}
	rep := r.put(body, "group_commit", "sync_mode")
	if rep.load.Status != statusFail || !strings.Contains(rep.load.Message, "[EXCEEDED_LIMIT]the memory for loads of this backend (1048576 bytes) is in use") {
		t.Errorf("%s", rep.text)
	}
	loads[0].Admitted()
	go func() { held <- r.put(body, "group_commit", "sync_mode") }()
	<-r.f.started
	close(r.f.hold)
	for range 4 {
		if rep := <-held; rep.load.Status != statusSuccess {
			t.Errorf("%s", rep.text)
		}
	}
	if n := r.s.budget.held(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
}

func TestOpenLoadsAreBounded(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxOpenLoads = 1 })
	r.f.hold = make(chan struct{})
	first := make(chan reply, 1)
	go func() { first <- r.put("1,a,2\n", "group_commit", "sync_mode") }()
	<-r.f.started
	if rep := r.put("1,a,2\n"); rep.load.Message != "[EXCEEDED_LIMIT]too many open loads on this backend, try again later" {
		t.Errorf("%s", rep.text)
	}
	close(r.f.hold)
	<-first
}
