package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dorisgo/value"
	"dorisgo/value/valuetest"
)

// typeTable is the table of one type: a row for each value and way in.
type typeTable struct {
	typ   value.Type
	name  string
	cases []valuetest.Case
	// want are the texts by id.
	want map[int64]string
}

func typeTables() []*typeTable {
	var out []*typeTable
	for i, typ := range valuetest.Types() {
		out = append(out, &typeTable{typ: typ, name: fmt.Sprintf("v%d", i), want: map[int64]string{}})
	}
	for _, c := range valuetest.Limits() {
		i := slices.IndexFunc(out, func(t *typeTable) bool { return t.typ == c.Type })
		out[i].cases = append(out[i].cases, c)
	}
	return out
}

// way sends all values of a table, with ids from first on, and NULL as the last
// one; it returns the cases that it cannot express.
type way struct {
	name string
	send func(s *session, beHTTP int, t *typeTable, first int64, mode string) (left []int)
}

var ways = []way{
	{"text", sendText},
	{"prepared with strings", sendPrepared(func(_ *typeTable, text string) any { return text })},
	{"prepared with native values", sendPrepared(native)},
	{"CSV", sendCSV},
	{"JSON", sendJSON},
}

func values(n int) string { return strings.TrimSuffix(strings.Repeat("(?, ?), ", n), ", ") }

// plainNumber are texts that are number literals of SQL.
var plainNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func sendText(s *session, _ int, t *typeTable, first int64, _ string) []int {
	s.tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s VALUES ", t.name)
	for i, c := range t.cases {
		lit := quote(c.Text)
		if plainNumber.MatchString(c.Text) && t.typ.Kind < value.Char && t.typ.Kind != value.Date && t.typ.Kind != value.DateTime {
			lit = c.Text
		}
		fmt.Fprintf(&b, "(%d, %s), ", first+int64(i), lit)
	}
	fmt.Fprintf(&b, "(%d, NULL)", first+int64(len(t.cases)))
	s.run(b.String())
	return nil
}

// quote is a text as a SQL string.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''", "\x00", `\0`, "\n", `\n`, "\r", `\r`).Replace(text) + "'"
}

func sendPrepared(arg func(t *typeTable, text string) any) func(*session, int, *typeTable, int64, string) []int {
	return func(s *session, _ int, t *typeTable, first int64, _ string) []int {
		s.tb.Helper()
		var args []any
		for i, c := range t.cases {
			args = append(args, first+int64(i), arg(t, c.Text))
		}
		args = append(args, first+int64(len(t.cases)), nil)
		if err := s.prepared("INSERT INTO "+t.name+" VALUES "+values(len(t.cases)+1), args...); err != nil {
			s.tb.Fatalf("%s, prepared: %s", t.typ, err)
		}
		return nil
	}
}

// native is the Go value that the driver sends in the type's binary form; a
// text that is none goes as text.
func native(t *typeTable, text string) any {
	switch k := t.typ.Kind; {
	case k <= value.LargeInt:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n
		}
	case k == value.Float || k == value.Double:
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	case k == value.DateTime || k == value.Date:
		// The driver knows no year 0.
		if at, err := time.Parse("2006-01-02 15:04:05.999999", text); err == nil && at.Year() > 0 {
			return at
		}
	case k >= value.Char:
		return []byte(text)
	}
	return text
}

// sendCSV uses separators that no value has.
func sendCSV(s *session, beHTTP int, t *typeTable, first int64, mode string) []int {
	s.tb.Helper()
	var b bytes.Buffer
	var left []int
	for i, c := range t.cases {
		if c.Text == `\N` {
			left = append(left, i) // the NULL mark
			continue
		}
		fmt.Fprintf(&b, "%d\x01%s\x02", first+int64(i), c.Text)
	}
	fmt.Fprintf(&b, "%d\x01\\N\x02", first+int64(len(t.cases)))
	mustLoad(s.tb, beHTTP, "types", t.name, &b, "column_separator", `\x01`, "line_delimiter", `\x02`, "group_commit", mode, "strict_mode", "true")
	return left
}

func sendJSON(s *session, beHTTP int, t *typeTable, first int64, mode string) []int {
	s.tb.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i, c := range t.cases {
		var v any = c.Text
		if t.typ.Kind == value.JSON && strings.ContainsAny(c.Text[:1], "{[") {
			v = json.RawMessage(c.Text) // else it is the text of a JSON value
		}
		if err := enc.Encode(map[string]any{"id": first + int64(i), "v": v}); err != nil {
			s.tb.Fatal(err)
		}
	}
	if err := enc.Encode(map[string]any{"id": first + int64(len(t.cases)), "v": nil}); err != nil {
		s.tb.Fatal(err)
	}
	mustLoad(s.tb, beHTTP, "types", t.name, &b, "format", "json", "read_json_by_line", "true", "group_commit", mode, "strict_mode", "true")
	return nil
}

// send sends a table's values by every way.
func send(s *session, beHTTP int, t *typeTable, base int64, mode string) {
	s.tb.Helper()
	s.run("SET group_commit = " + mode)
	for i, w := range ways {
		first := base + int64(i)*1000
		left := w.send(s, beHTTP, t, first, mode)
		for j, c := range t.cases {
			if !slices.Contains(left, j) {
				t.want[first+int64(j)] = c.Want
			}
		}
		t.want[first+int64(len(t.cases))] = null
	}
}

const fromParquet = "from Parquet"

// compare reads a table by both protocols.
func compare(s *session, t *typeTable, when string) {
	s.tb.Helper()
	stmt := "SELECT id, v FROM " + t.name + " WHERE id > 0"
	for protocol, rows := range map[string][][]string{"text": s.run(stmt), "binary": s.binary(stmt)} {
		got := map[int64]string{}
		for _, r := range rows {
			id := number(s.tb, r[0])
			if _, ok := got[id]; ok {
				s.tb.Errorf("%s, %s, %s: id %d twice", when, protocol, t.typ, id)
			}
			got[id] = r[1]
		}
		bad := 0
		for id, want := range t.want {
			have, ok := got[id]
			if ok && (have == want || sameFloat(t.typ, have, want)) {
				continue
			}
			if when == fromParquet && have == "0" && want == "-0" {
				continue // the writer's dictionary has one zero
			}
			if bad++; bad <= 5 {
				s.tb.Errorf("%s, %s, %s, %s: %q, want %q (there %t)", when, protocol, t.typ, ways[id%100_000/1000].name, short(have), short(want), ok)
			}
		}
	}
}

// sameFloat compares the numbers that the driver prints in its own way, bit for
// bit.
func sameFloat(t value.Type, have, want string) bool {
	if t.Kind != value.Float && t.Kind != value.Double || have == null || want == null {
		return false
	}
	h, err1 := strconv.ParseFloat(have, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	if t.Kind == value.Float {
		return err1 == nil && err2 == nil && math.Float32bits(float32(h)) == math.Float32bits(float32(w))
	}
	return err1 == nil && err2 == nil && math.Float64bits(h) == math.Float64bits(w)
}

// TestTypes: what goes in by any way comes out the same by any protocol: from
// the row store, after a crash from the WAL, from Parquet, and from files that a
// compaction made.
func TestTypes(t *testing.T) {
	t.Parallel()
	a := startAlone(t)
	s := connect(t, a.address(""))
	s.run("CREATE DATABASE types")
	tables := typeTables()
	s.run("USE types")
	for _, tab := range tables {
		s.run(fmt.Sprintf(`CREATE TABLE %s (id BIGINT NOT NULL, v %s NULL) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1
			PROPERTIES ("replication_num" = "1", "group_commit_interval_ms" = "1")`, tab.name, tab.typ))
	}
	for _, tab := range tables {
		send(s, a.beHTTP, tab, 1, "sync_mode")
		compare(s, tab, "in sync mode")
	}
	for _, tab := range tables {
		s.run(fmt.Sprintf(`ALTER TABLE %s SET ("group_commit_interval_ms" = "600000")`, tab.name))
		send(s, a.beHTTP, tab, 100_001, "async_mode")
	}
	if n := len(a.wals(t)); n < len(tables) {
		t.Errorf("%d WALs before the crash, want one for each of %d tables", n, len(tables))
	}
	a.kill()
	a.start()
	s = connect(t, a.address("types"))
	for _, tab := range tables {
		eventually(t, settleTime, "the WAL of "+tab.name+" is replayed", func() (bool, string) {
			n := s.value("SELECT COUNT(*) FROM " + tab.name + " WHERE id > 100000 AND id % 1000 = " + strconv.Itoa(len(tab.cases)+1))
			return n == strconv.Itoa(len(ways)), n
		})
		compare(s, tab, "after a crash")
	}
	a.stop()
	storage := filepath.Join(a.dir, "be", "storage")
	if n := len(parquets(t, storage)); n > 0 {
		t.Errorf("%d Parquet files before the flush", n)
	}
	a.args = append(a.args, "--set", "tablet_flush_rowsets=2")
	a.start()
	s = connect(t, a.address("types"))
	for _, tab := range tables {
		s.run("INSERT INTO " + tab.name + " VALUES (-1, NULL)")
	}
	eventually(t, settleTime, "every table is flushed", func() (bool, string) {
		n := len(parquets(t, storage))
		return n >= len(tables), fmt.Sprintf("%d Parquet files for %d tables", n, len(tables))
	})
	for _, tab := range tables {
		compare(s, tab, fromParquet)
	}
	a.stop()
	a.args = append(a.args, "--set", "compaction_min_files=2")
	a.start()
	s = connect(t, a.address("types"))
	for _, base := range []int64{200_001, 300_001} {
		for _, tab := range tables {
			send(s, a.beHTTP, tab, base, "off_mode")
		}
	}
	eventually(t, settleTime, "the files are merged", func() (bool, string) {
		n, most := metric(t, a.beHTTP, "dorisgo_be_compactions_total"), metric(t, a.beHTTP, "dorisgo_be_tablet_max_files")
		done, _ := strconv.Atoi(n)
		files, err := strconv.Atoi(most)
		return done >= len(tables) && err == nil && files <= 6, n + " compactions, up to " + most + " files"
	})
	for _, tab := range tables {
		compare(s, tab, fromParquet)
	}
}
