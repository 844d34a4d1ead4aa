package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// httpStream sends an HTTP stream load to a frontend or backend and follows the
// redirect with the login, as clients do.
func httpStream(tb testing.TB, port int, sql, body string, headers ...string) *reply {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	url := fmt.Sprintf("http://127.0.0.1:%d/api/_http_stream", port)
	for range 2 {
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(body))
		if err != nil {
			tb.Fatal(err)
		}
		r.SetBasicAuth("root", "")
		r.Header.Set("sql", sql)
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			tb.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			tb.Fatal(err)
		}
		if url = resp.Header.Get("Location"); resp.StatusCode == http.StatusTemporaryRedirect {
			continue
		}
		out := &reply{}
		if err := json.Unmarshal(b, out); err != nil {
			tb.Fatalf("HTTP %d with %q: %v", resp.StatusCode, b, err)
		}
		return out
	}
	tb.Fatal("more than one redirect")
	return nil
}

// TestHTTPStream: statements over CSV and JSON through the frontend, in each mode
// of commit.
func TestHTTPStream(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("USE db")
	for _, mode := range []string{"off_mode", "sync_mode", "async_mode"} {
		table := "t_" + mode
		s.run("CREATE TABLE " + table + ` (id INT NOT NULL, name VARCHAR(64) NULL, score INT NULL)
			DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "10")`)
		for _, tt := range []struct {
			sql, body string
			want      reply
		}{
			{`insert into db.%s select c1, c2, c3 from http_stream("format"="csv", "column_separator"=",")`, "1,a,10\n2,b,20\n", reply{Status: "Success", Total: 2, Loaded: 2}},
			{`insert into db.%s (id, name) select c2, concat(upper(c1), '-', c2) from http_stream("format"="csv", "column_separator"="|") where c2 > 3`, "x|3\ny|4\n", reply{Status: "Success", Total: 2, Loaded: 1, Unselected: 1}},
			{`insert into db.%s (score, id) select cast(s as int) * 2, k from http_stream("format"="json", "read_json_by_line"="true")`, `{"k":5,"s":"21"}` + "\n" + `{"k":6}`, reply{Status: "Success", Total: 2, Loaded: 2}},
			{`insert into db.%s (id, name) select n, x from http_stream("format"="csv_with_names", "column_separator"=",")`, "x,n\nq,7\n", reply{Status: "Success", Total: 1, Loaded: 1}},
			{`insert into db.%s (id, score) select c1, c2 from http_stream("column_separator"=",")`, "8,bad\n", reply{Status: "Fail", Total: 1, Filtered: 1}},
			{`insert into db.%s (id, score) select c1, nofunc(c2) from http_stream("column_separator"=",")`, "9,1\n", reply{Status: "Fail"}},
		} {
			sql := fmt.Sprintf(tt.sql, table)
			r := httpStream(t, a.feHTTP, sql, tt.body, "group_commit", mode)
			if r.Status != tt.want.Status || r.Total != tt.want.Total || r.Loaded != tt.want.Loaded || r.Filtered != tt.want.Filtered || r.Unselected != tt.want.Unselected {
				t.Errorf("%s: %+v", sql, *r)
			}
			if group := mode != "off_mode" && r.Status == "Success"; group && !r.GroupCommit {
				t.Errorf("%s, %s: no group: %+v", mode, sql, *r)
			}
		}
		eventually(t, statementTime, "6 rows", func() (bool, string) {
			n := s.value("SELECT count(*) FROM " + table)
			return n == "6", n + " rows"
		})
		got := fmt.Sprint(s.run("SELECT id, coalesce(name, '-'), coalesce(score, -1) FROM " + table + " ORDER BY id"))
		if want := "[[1 a 10] [2 b 20] [4 Y-4 -1] [5 - 42] [6 - -1] [7 q -1]]"; got != want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
	}
	one := httpStream(t, a.feHTTP, `insert into db.t_off_mode with label once (id) select c1 from http_stream("format"="csv")`, "100\n", "group_commit", "async_mode")
	two := httpStream(t, a.feHTTP, `insert into db.t_off_mode with label once (id) select c1 from http_stream("format"="csv")`, "100\n")
	if one.Status != "Success" || one.Label != "once" || one.GroupCommit || two.Status != "Label Already Exists" {
		t.Errorf("labels: %+v, then %+v", *one, *two)
	}
}

// TestParquetLoad: a file of the storage is a Parquet file as any other, and is
// loaded into another table; nothing of the bodies stays behind.
func TestParquetLoad(t *testing.T) {
	t.Parallel()
	a := startAlone(t, "tablet_flush_rowsets=2")
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE db")
	s.run("USE db")
	create := func(table, columns string) {
		s.run("CREATE TABLE " + table + " (" + columns + `) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1
			PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "10")`)
	}
	create("a", "id INT NOT NULL, s VARCHAR(64) NULL, d DECIMAL(20, 5) NULL, at DATETIME(3) NULL")
	create("b", "id BIGINT NOT NULL, at DATETIME(3) NULL, s STRING NULL, d DOUBLE NULL, extra INT NULL DEFAULT \"7\"")
	var body strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&body, "%d,text %d,%d.25,2024-01-02 03:04:05.%03d\n", i, i, i, i%1000)
	}
	mustLoad(t, a.beHTTP, "db", "a", strings.NewReader(body.String()), "column_separator", ",")
	var file []byte
	eventually(t, settleTime, "the table is flushed", func() (bool, string) {
		s.run("INSERT INTO a (id) VALUES (-1)")
		// A flush may leave rows of the INSERTs to a file of their own.
		for _, path := range parquets(t, filepath.Join(a.dir, "be", "storage")) {
			if b, err := os.ReadFile(path); err == nil && len(b) > len(file) {
				file = b
			}
		}
		return len(file) > 5000, fmt.Sprintf("the largest file has %d bytes", len(file))
	})
	r := mustLoad(t, a.beHTTP, "db", "b", bytes.NewReader(file), "format", "parquet", "where", "id >= 0", "strict_mode", "true")
	if r.Loaded != 5000 || r.Filtered != 0 || r.Total != r.Loaded+r.Unselected {
		t.Errorf("%+v", *r)
	}
	got := fmt.Sprint(s.run("SELECT count(*), count(DISTINCT id), sum(extra), min(d), max(d), max(s), max(at) FROM b"))
	if want := "[[5000 5000 35000 0.25 4999.25 text 999 2024-01-02 03:04:05.999]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, bad := range map[string]io.Reader{
		"cut": bytes.NewReader(file[:len(file)/2]), "text": strings.NewReader("1,a\n"), "empty": io.MultiReader(strings.NewReader("")),
	} {
		r, err := streamLoad(t.Context(), a.beHTTP, "db", "b", bad, "format", "parquet")
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != "Fail" || !strings.Contains(r.Message, "[DATA_QUALITY_ERROR]cannot read the body as Parquet") || strings.Contains(r.Message, a.dir) {
			t.Errorf("%s: %+v", name, *r)
		}
	}
	if n := s.value("SELECT count(*) FROM b"); n != "5000" {
		t.Errorf("%s rows after damaged files", n)
	}
	left, err := os.ReadDir(filepath.Join(a.dir, "be", "storage.spool"))
	if err != nil || len(left) > 0 {
		t.Errorf("%d bodies are left, %v", len(left), err)
	}
}
