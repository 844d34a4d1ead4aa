package exec

import (
	"strings"
	"testing"

	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

func TestShowStreamLoad(t *testing.T) {
	w, session := start(t)
	run := session("root")
	must(t, run, "CREATE DATABASE db", "USE db")
	var bes []*meta.Backend
	w.View(func(st *meta.State) { bes = st.Backends() })
	w.records = map[int64][]*bepb.StreamLoadRecord{
		bes[0].ID: {
			{Label: "load_2014_01", Db: "db", Table: "t", ClientIp: "10.0.0.1", Status: "Success", Message: "OK", TotalRows: 9, LoadedRows: 9, LoadBytes: 70, StartMs: 1000, FinishMs: 1500, User: "u", Comment: "c"},
			{Label: "load_2014_02", Db: "db", Table: "t", Status: "Fail", Message: "[DATA_QUALITY_ERROR]too many", ErrorUrl: "http://e", TotalRows: 10, FilteredRows: 7, UnselectedRows: 3, StartMs: 3000, FinishMs: 3001, FirstError: "bad"},
			{Label: "elsewhere", Db: "other", StartMs: 1},
		},
		bes[1].ID: {{Label: "load_2015_01", Db: "db", Table: "s", Status: "Publish Timeout", TotalRows: 100, StartMs: 2000, FinishMs: 2001}},
	}
	for _, tt := range []struct{ rest, want string }{
		{"", "load_2014_01 load_2015_01 load_2014_02"},
		{" FROM db", "load_2014_01 load_2015_01 load_2014_02"},
		{" FROM db WHERE LABEL LIKE '2014'", "load_2014_01 load_2014_02"},
		{" WHERE label LIKE '%_01'", "load_2014_01 load_2015_01"},
		{" WHERE LABEL = 'load_2014_02'", "load_2014_02"},
		{" WHERE STATUS = 'success'", "load_2014_01"},
		{" WHERE label LIKE '2014' AND status = 'FAIL'", "load_2014_02"},
		{" WHERE table = 's'", "load_2015_01"},
		{" ORDER BY TotalRows DESC", "load_2015_01 load_2014_02 load_2014_01"},
		{" ORDER BY StartTime DESC LIMIT 1, 1", "load_2015_01"},
		{" ORDER BY FinishTime LIMIT 2 OFFSET 1", "load_2015_01 load_2014_02"},
		{" WHERE label = 'none'", ""},
	} {
		r, err := run("SHOW STREAM LOAD" + tt.rest)
		if err != nil {
			t.Errorf("%s: %v", tt.rest, err)
			continue
		}
		var labels []string
		for _, row := range cells(r) {
			labels = append(labels, row[0])
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.rest, got, tt.want)
		}
	}
	r := must(t, run, "SHOW STREAM LOAD WHERE label = 'load_2014_02'")
	row := cells(r)[0]
	row[12], row[13] = "start", "finish" // by the zone of the machine
	if got := strings.Join(row, "|"); got != "load_2014_02|db|t||Fail|[DATA_QUALITY_ERROR]too many|http://e|10|0|7|3|0|start|finish|||bad" {
		t.Errorf("row %s", got)
	}
	if got := strings.Join(r.Columns, " "); got != "Label Db Table ClientIp Status Message Url TotalRows LoadedRows FilteredRows UnselectedRows LoadBytes StartTime FinishTime User Comment FirstErrorMsg" {
		t.Errorf("columns %s", got)
	}
	for stmt, want := range map[string]string{
		"SHOW STREAM LOAD FROM none":        "Unknown database 'none'",
		"SHOW STREAM LOAD WHERE foo = 1":    "Unknown column 'foo'",
		"SHOW STREAM LOAD ORDER BY nothing": "Unknown column 'nothing'",
	} {
		if _, err := run(stmt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", stmt, err, want)
		}
	}
	if _, err := session("root")("SHOW STREAM LOAD"); err == nil || !strings.Contains(err.Error(), "No database selected") {
		t.Errorf("without a database: %v", err)
	}
	if _, err := session("nobody")("SHOW STREAM LOAD FROM db"); err == nil || !strings.Contains(err.Error(), "(LOAD) privilege") {
		t.Errorf("without the privilege: %v", err)
	}
	// An alive BE that does not answer is named; a dead one has nothing to tell.
	w.silent = bes[1].ID
	if _, err := run("SHOW STREAM LOAD"); err == nil || !strings.Contains(err.Error(), "did not tell its stream loads") {
		t.Errorf("a silent backend: %v", err)
	}
	if _, err := w.Change(t.Context(), &meta.SetBackendAlive{ID: bes[1].ID, BootEpoch: 1}); err != nil {
		t.Fatal(err)
	}
	if got := must(t, run, "SHOW STREAM LOAD"); len(got.Rows) != 2 {
		t.Errorf("%d loads of the backend that is left", len(got.Rows))
	}
}
