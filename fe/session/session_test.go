package session

import (
	"strings"
	"testing"
	"time"

	"dorisgo/doriserr"
)

func newSession(t *testing.T, stored map[string]string) *Session {
	t.Helper()
	g, err := NewGlobals(map[string]string{"time_zone": "UTC"}, stored)
	if err != nil {
		t.Fatal(err)
	}
	return New(g)
}

func TestSet(t *testing.T) {
	for _, tt := range []struct {
		name string
		val  Value
		// want is the text of SELECT @@name, or the text of the error.
		want string
		code uint16
	}{
		{"group_commit", String("ASYNC_mode"), "async_mode", 0},
		{"GROUP_COMMIT", String("sync_mode"), "sync_mode", 0},
		{"group_commit", String("bogus"), "Variable 'group_commit' can't be set to the value of 'bogus'", 1231},
		{"group_commit", Int(1), "Variable 'group_commit' can't be set to the value of '1'", 1231},
		{"group_commit", Null, "Variable 'group_commit' can't be set to the value of 'NULL'", 1231},
		{"nope", Int(1), "Unknown system variable 'nope'", 1193},
		{"version", String("8"), "Variable 'version' is a read only variable", 1238},
		{"init_connect", String(""), "Variable 'init_connect' is a GLOBAL variable and should be set with SET GLOBAL", 1229},
		{"autocommit", String("OFF"), "0", 0},
		{"autocommit", Bool(true), "1", 0},
		{"autocommit", Int(2), "Variable 'autocommit' can't be set to the value of '2'", 1231},
		{"wait_timeout", Int(5), "5", 0},
		{"wait_timeout", String("7"), "7", 0},
		{"wait_timeout", Int(0), "Variable 'wait_timeout' can't be set to the value of '0'", 1231},
		{"wait_timeout", String("soon"), "Incorrect argument type to variable 'wait_timeout'", 1232},
		{"insert_visible_timeout_ms", Int(999), "Variable 'insert_visible_timeout_ms' can't be set to the value of '999'", 1231},
		{"sql_select_limit", String("18446744073709551615"), "9223372036854775807", 0},
		{"insert_max_filter_ratio", String("0.5"), "0.5", 0},
		{"insert_max_filter_ratio", Float(1.5), "Variable 'insert_max_filter_ratio' can't be set to the value of '1.5'", 1231},
		{"sql_mode", String("strict_trans_tables, NO_BACKSLASH_ESCAPES"), "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES", 0},
		{"sql_mode", String(""), "", 0},
		{"sql_mode", String("LAX"), "Variable 'sql_mode' can't be set to the value of 'LAX'", 1231},
		{"time_zone", String("+8:00"), "+08:00", 0},
		{"time_zone", String("-13:59"), "-13:59", 0},
		{"time_zone", String("+14:01"), "Unknown or incorrect time zone: '+14:01'", 1298},
		{"time_zone", String("Europe/Berlin"), "Europe/Berlin", 0},
		{"time_zone", String("CST"), "Asia/Shanghai", 0},
		{"time_zone", String("../etc/passwd"), "Unknown or incorrect time zone: '../etc/passwd'", 1298},
		{"time_zone", String(""), "Unknown or incorrect time zone: ''", 1298},
		{"character_set_results", Null, "NULL", 0},
		{"character_set_client", String("UTF8"), "utf8", 0},
		{"character_set_client", String("klingon"), "Unknown character set: 'klingon'", 1115},
		{"transaction_isolation", String("read-committed"), "READ-COMMITTED", 0},
		{"exec_mem_limit", Int(1), "Variable 'exec_mem_limit' can't be set to the value of '1'", 1231},
	} {
		s := newSession(t, nil)
		before, _ := s.Get(tt.name)
		err := s.Set(tt.name, tt.val)
		if tt.code != 0 {
			if err == nil || err.Error() != tt.want || errCode(err) != tt.code {
				t.Errorf("SET %s = %s: error %v (%d), want %s (%d)", tt.name, tt.val.Literal(), err, errCode(err), tt.want, tt.code)
			}
			if after, _ := s.Get(tt.name); after != before {
				t.Errorf("SET %s: the old value did not stay", tt.name)
			}
			continue
		}
		got, _ := s.Get(tt.name)
		text, null := got.Text()
		if null {
			text = "NULL"
		}
		if err != nil || text != tt.want {
			t.Errorf("SET %s = %s: %q, %v; want %q", tt.name, tt.val.Literal(), text, err, tt.want)
		}
	}
}

func errCode(err error) uint16 {
	if e, ok := err.(interface{ MySQLError() (uint16, string) }); ok {
		code, _ := e.MySQLError()
		return code
	}
	code, _ := doriserr.KindOf(err).MySQL()
	return code
}

// TestDriverVariables asks for what drivers ask for when they connect: each
// must exist, and numbers must be numbers.
func TestDriverVariables(t *testing.T) {
	s := newSession(t, nil)
	numbers := strings.Fields(`auto_increment_increment autocommit foreign_key_checks interactive_timeout lower_case_table_names
		max_allowed_packet net_buffer_length net_write_timeout performance_schema profiling query_cache_size sql_auto_is_null
		sql_safe_updates sql_select_limit transaction_read_only tx_read_only unique_checks wait_timeout`)
	texts := strings.Fields(`character_set_client character_set_connection character_set_results character_set_server
		collation_connection collation_server have_query_cache init_connect license query_cache_type sql_mode system_time_zone time_zone
		transaction_isolation tx_isolation version version_comment`)
	for _, name := range numbers {
		if v, err := s.Get(name); err != nil || v.Type().String() != "bigint" {
			t.Errorf("@@%s = %v, %v; want an integer", name, v, err)
		}
	}
	for _, name := range texts {
		if v, err := s.Get(name); err != nil || v.Kind != StringValue {
			t.Errorf("@@%s = %v, %v; want a text", name, v, err)
		}
	}
}

// TestTable walks all rows: defaults pass their own checks.
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, v := range Variables() {
		if seen[v.Name] {
			t.Errorf("%s is in the table twice", v.Name)
		}
		seen[v.Name] = true
		if v.Name != strings.ToLower(v.Name) {
			t.Errorf("%s is not lower case", v.Name)
		}
		if got, err := v.Convert(v.Default); err != nil || got != v.Default {
			t.Errorf("%s: its default %v converts to %v, %v", v.Name, v.Default, got, err)
		}
		if got, err := v.Convert(String(v.Show(v.Default))); err != nil || got != v.Default {
			t.Errorf("%s: what SHOW prints converts to %v, %v", v.Name, got, err)
		}
	}
}

func TestScopesAndReset(t *testing.T) {
	s := newSession(t, map[string]string{"wait_timeout": "60", "enable_insert_strict": "false"})
	if s.WaitTimeout() != time.Minute || s.InsertStrict() || s.MaxFilterRatio() != 1 {
		t.Fatal("global values were not taken over")
	}
	if mode, set := s.GroupCommit(); mode != OffMode || set {
		t.Fatalf("group_commit = %s, %t before it was set", mode, set)
	}
	for _, set := range []func() error{
		func() error { return s.Set("group_commit", String("async_mode")) },
		func() error { return s.Set("enable_insert_strict", Bool(true)) },
		func() error { return s.Set("time_zone", String("+08:00")) },
		func() error { return s.Set("sql_mode", String("NO_BACKSLASH_ESCAPES")) },
		func() error { return s.SetUserVar("A", Int(3)) },
	} {
		if err := set(); err != nil {
			t.Fatal(err)
		}
	}
	if mode, set := s.GroupCommit(); mode != AsyncMode || !set {
		t.Fatalf("group_commit = %s, %t", mode, set)
	}
	if s.MaxFilterRatio() != 0 || !s.NoBackslashEscapes() || s.UserVar("a") != Int(3) {
		t.Fatal("session values do not count")
	}
	if _, off := time.Unix(0, 0).In(s.Location()).Zone(); off != 8*3600 {
		t.Fatalf("time zone is %d s from UTC", off)
	}
	if err := s.SetDefault("group_commit"); err != nil {
		t.Fatal(err)
	}
	if _, set := s.GroupCommit(); set {
		t.Fatal("group_commit = DEFAULT still counts as set")
	}
	s.Reset(s.Globals())
	if s.InsertStrict() || s.NoBackslashEscapes() || s.UserVar("a") != Null || s.Location() != time.UTC {
		t.Fatal("Reset left something")
	}
	g, err := NewGlobals(map[string]string{"group_commit": "sync_mode"})
	if err != nil {
		t.Fatal(err)
	}
	if mode, set := New(g).GroupCommit(); mode != SyncMode || !set {
		t.Fatal("SET GLOBAL group_commit does not count for new sessions")
	}
}

func TestTwins(t *testing.T) {
	s := newSession(t, nil)
	if err := s.SetTransaction("read  committed"); err != nil {
		t.Fatal(err)
	}
	if s.Text("tx_isolation") != "READ-COMMITTED" || s.Text("transaction_isolation") != "READ-COMMITTED" {
		t.Fatal("the two names of the isolation level differ")
	}
	if err := s.SetTransaction("READ ONLY"); err != nil || !s.Bool("tx_read_only") {
		t.Fatal("READ ONLY is not shown", err)
	}
	if err := s.SetTransaction("READ SIDEWAYS"); err == nil {
		t.Fatal("an unknown isolation level was taken")
	}
}

func TestGlobals(t *testing.T) {
	g, err := NewGlobals(map[string]string{"of_the_future": "1", "wait_timeout": "many", "query_timeout": "5"})
	if err == nil || !strings.Contains(err.Error(), "of_the_future") || !strings.Contains(err.Error(), "wait_timeout") {
		t.Errorf("error %v does not name the bad entries", err)
	}
	if v, _ := g.Get("query_timeout"); v != Int(5) {
		t.Errorf("good entries are lost: %v", v)
	}
	for _, tt := range []struct {
		name string
		val  Value
		want string
		code uint16
	}{
		{"query_timeout", Int(9), "9", 0},
		{"autocommit", String("on"), "1", 0},
		{"version", String("x"), "", 1238},
		{"pseudo_thread_id", Int(1), "", 1228},
		{"init_connect", String("SET x"), "SET x", 0},
		{"query_timeout", Int(-1), "", 1231},
	} {
		got, err := CheckGlobal(tt.name, tt.val)
		if got != tt.want || (err != nil) != (tt.code != 0) || err != nil && errCode(err) != tt.code {
			t.Errorf("SET GLOBAL %s = %v: %q, %v", tt.name, tt.val, got, err)
		}
	}
}

func TestShow(t *testing.T) {
	s := newSession(t, nil)
	_ = s.Set("autocommit", Bool(false))
	rows := s.Show("%COMMIT")
	var got []string
	for _, r := range rows {
		got = append(got, r.Name+"="+r.Value)
	}
	if want := "autocommit=OFF group_commit=off_mode"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if !rows[0].Changed || rows[1].Changed {
		t.Error("Changed is wrong")
	}
	if n := len(s.Show("")); n != len(Variables()) {
		t.Errorf("%d rows of %d", n, len(Variables()))
	}
	if rows := s.Globals().Show("pseudo_thread_id"); rows != nil {
		t.Error("SHOW GLOBAL has a session variable")
	}
}

func TestSetNames(t *testing.T) {
	s := newSession(t, nil)
	if err := s.SetNames("UTF8", ""); err != nil || s.Text("character_set_client") != "utf8" || s.Text("collation_connection") != "utf8_general_ci" {
		t.Error("SET NAMES utf8", err, s.Text("collation_connection"))
	}
	if err := s.SetNames("utf8mb4", "utf8mb4_unicode_ci"); err != nil || s.Text("collation_connection") != "utf8mb4_unicode_ci" {
		t.Error("SET NAMES with COLLATE", err)
	}
	if err := s.SetNames("klingon", ""); err == nil || s.Text("character_set_client") != "utf8mb4" {
		t.Error("an unknown character set was taken")
	}
	if err := s.SetNames("DEFAULT", ""); err != nil || s.Text("collation_connection") != "utf8mb4_0900_bin" {
		t.Error("SET NAMES DEFAULT", err)
	}
}

func TestLike(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"%", "", true}, {"a%", "ABC", true}, {"%b%", "abc", true}, {"%b", "abc", false},
		{"a_c", "abc", true}, {"a_c", "ac", false}, {`a\_c`, "a_c", true}, {`a\_c`, "abc", false}, {`50\%`, "50%", true},
		{"_", "é", true}, {"%ab%ab%", "abcab", true}, {"%ab%ab%", "abc", false}, {strings.Repeat("%a", 50), strings.Repeat("a", 50), true},
		{strings.Repeat("%a", 50) + "b", strings.Repeat("a", 2000), false}, {`x\`, `x\`, true},
	} {
		if got := Like(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q LIKE %q = %t", tt.s, tt.pattern, got)
		}
	}
}

func TestUserVariableLimits(t *testing.T) {
	s := newSession(t, nil)
	for i := range maxUserVars {
		if err := s.SetUserVar(strings.Repeat("x", i+1), Int(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetUserVar("another", Int(1)); !doriserr.Is(err, doriserr.ExceededLimit) {
		t.Errorf("one more: %v", err)
	}
	if err := s.SetUserVar("x", String(strings.Repeat("y", maxUserVarBytes+1))); err == nil {
		t.Error("a huge value was taken")
	}
}

func FuzzLoadLocation(f *testing.F) {
	for _, s := range []string{"+08:00", "-00:30", "Asia/Tokyo", "SYSTEM", "+", "+1", "+99:99", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		loc, name, err := LoadLocation(s)
		if err != nil {
			return
		}
		again, name2, err := LoadLocation(name)
		if err != nil || name2 != name || again.String() != loc.String() {
			t.Errorf("%q is stored as %q, which gives %q, %v", s, name, name2, err)
		}
	})
}

func FuzzLike(f *testing.F) {
	f.Add("a%b_", "axxby")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		Like(pattern, s)
		if !Like("%", s) {
			t.Errorf("%q is not LIKE %%", s)
		}
	})
}

// BenchmarkCheckout is what a pool does before each statement.
func BenchmarkCheckout(b *testing.B) {
	g, _ := NewGlobals()
	s := New(g)
	for b.Loop() {
		_ = s.Set("group_commit", String("async_mode"))
		_ = s.Set("time_zone", String("+00:00"))
		_ = s.Set("autocommit", Int(1))
	}
}
