package mysql

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/value"
)

// TestSeveralStatements: one result for each, stop at the first error, and
// nothing that hides a semicolon splits.
func TestSeveralStatements(t *testing.T) {
	const inserts = "INSERT INTO t3 VALUES (1,'a;b',1); INSERT INTO t3 VALUES (2,'it''s; \\' x',2) -- c;d"
	for _, tt := range []struct {
		sql  string
		caps uint32
		seen []string
		// codes are those of the results, 0 for OK.
		codes []int
	}{
		{"a; b;", proto.CLIENT_MULTI_STATEMENTS, []string{"a", "b"}, []int{0, 0}},
		{inserts, proto.CLIENT_MULTI_STATEMENTS, []string{"INSERT INTO t3 VALUES (1,'a;b',1)", "INSERT INTO t3 VALUES (2,'it''s; \\' x',2) -- c;d"}, []int{0, 0}},
		{"a; BAD; c", proto.CLIENT_MULTI_STATEMENTS, []string{"a", "BAD"}, []int{0, 1105}},
		{";; a ;; ; b; /* c */ ; ", proto.CLIENT_MULTI_STATEMENTS, []string{"a", "b"}, []int{0, 0}},
		{"a; b", 0, nil, []int{1105}},
		{" a ; ", 0, []string{"a"}, []int{0}},
		{"a /* ; */", 0, []string{"a /* ; */"}, []int{0}},
		{"-- only; this", proto.CLIENT_MULTI_STATEMENTS, nil, []int{1065}},
	} {
		f := newFake()
		_, p := serve(t, f, Options{})
		c := signIn(t, p.dial(t), tt.caps)
		c.send(proto.COM_QUERY, []byte(tt.sql))
		for i, want := range tt.codes {
			answer := c.read()
			more := answer[0] == 0 && answer[3]&byte(proto.SERVER_MORE_RESULTS_EXISTS) != 0
			if code(answer) != want || more != (i < len(tt.codes)-1) {
				t.Errorf("%q: result %d is %q", tt.sql, i, answer)
			}
		}
		if a := c.command(proto.COM_PING); a[0] != 0 {
			t.Errorf("%q: ping after it: %q", tt.sql, a)
		}
		if got := f.statements(); !slices.Equal(got, tt.seen) {
			t.Errorf("%q: statements %q, want %q", tt.sql, got, tt.seen)
		}
	}
}

func TestNextStatement(t *testing.T) {
	for _, tt := range []struct {
		sql         string
		noBackslash bool
		stmt, rest  string
	}{
		{"a;b", false, "a", "b"}, {`'\';';b`, false, `'\';'`, "b"}, {`'\';b`, true, `'\'`, "b"}, {"`;`;b", false, "`;`", "b"},
		{`";";b`, false, `";"`, "b"}, {"a--;b", false, "a--", "b"}, {"a-- ;b\n;c", false, "a-- ;b", "c"}, {"a#;\n;b", false, "a#", "b"},
		{"/*;*/a;b", false, "/*;*/a", "b"}, {"'a;b", false, "'a;b", ""}, {"a;-- b", false, "a", ""}, {"a/;b", false, "a/", "b"},
		{"a;", false, "a", ""}, {"", false, "", ""}, {"/*", false, "/*", ""}, {"a -", false, "a -", ""},
	} {
		stmt, rest := nextStatement([]byte(tt.sql), tt.noBackslash)
		if string(stmt) != tt.stmt || string(rest) != tt.rest {
			t.Errorf("%q: %q, %q; want %q, %q", tt.sql, stmt, rest, tt.stmt, tt.rest)
		}
	}
}

// TestCommands sends the less common commands.
func TestCommands(t *testing.T) {
	f := newFake()
	f.queries["SHOW PROCESSLIST"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		return w.Rows([]string{"Id"}, [][]string{{"1"}})
	}
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	for _, tt := range []struct {
		name string
		cmd  byte
		body string
		code int
	}{
		{"ping", proto.COM_PING, "", 0}, {"use", proto.COM_INIT_DB, "shop", 0}, {"use nothing", proto.COM_INIT_DB, "nosuch", 1049},
		{"sleep", proto.COM_SLEEP, "", 1047}, {"dump", proto.COM_BINLOG_DUMP, "x", 1047}, {"unknown", 0xfe, "x", 1047},
		{"option cut", proto.COM_SET_OPTION, "\x00", 1835}, {"option 2", proto.COM_SET_OPTION, "\x02\x00", 1835},
		{"kill cut", proto.COM_PROCESS_KILL, "\x01", 1835}, {"kill", proto.COM_PROCESS_KILL, "\x01\x02\x00\x00", 0},
		{"fields cut", proto.COM_FIELD_LIST, "t", 1835}, {"reset", proto.COM_RESET_CONNECTION, "", 0}, {"empty query", proto.COM_QUERY, "", 1065},
	} {
		a := c.command(tt.cmd, []byte(tt.body)...)
		if code(a) != tt.code || tt.code == 0 && a[0] != 0 {
			t.Errorf("%s: %q, want code %d", tt.name, a, tt.code)
		}
	}
	if got := f.statements(); !slices.Contains(got, "KILL CONNECTION 513") {
		t.Errorf("statements %q", got)
	}
	if a := c.command(proto.COM_STATISTICS); !bytes.HasPrefix(a, []byte("Uptime: ")) {
		t.Errorf("statistics: %q", a)
	}
	c.send(proto.COM_PROCESS_INFO, nil)
	if all := c.result(); len(all) != 5 {
		t.Errorf("process info: %q", all)
	}
	c.seq = 0
	c.write(nil)
	if a := c.read(); code(a) != 1047 {
		t.Errorf("empty packet: %q", a)
	}
	if a := c.command(proto.COM_SET_OPTION, 0, 0); a[0] != 0xfe {
		t.Errorf("several statements on: %q", a)
	}
	c.send(proto.COM_QUERY, []byte("a;b"))
	if a, b := c.read(), c.read(); a[0] != 0 || b[0] != 0 {
		t.Errorf("several statements: %q, %q", a, b)
	}
	if a := c.command(proto.COM_SET_OPTION, 1, 0); a[0] != 0xfe {
		t.Errorf("several statements off: %q", a)
	}
	if a := c.command(proto.COM_QUERY, []byte("a;b")...); code(a) != 1105 {
		t.Errorf("several statements: %q", a)
	}
	c.send(proto.COM_QUIT, nil)
	if _, err := c.tryRead(); err == nil {
		t.Error("the connection is open after COM_QUIT")
	}
}

// TestResetConnection: statements are gone, and ids are not used again.
func TestResetConnection(t *testing.T) {
	s, p := serve(t, newFake(), Options{})
	c := signIn(t, p.dial(t), 0)
	old, _ := c.prepare("a")
	if a := c.command(proto.COM_RESET_CONNECTION); a[0] != 0 {
		t.Fatalf("reset: %q", a)
	}
	if n := s.stmts.Load(); n != 0 {
		t.Errorf("%d statements are left", n)
	}
	if a := c.execute(old, nil); code(a) != 1243 {
		t.Errorf("execute after reset: %q", a)
	}
	if id, _ := c.prepare("a"); id == old {
		t.Error("an id was given again")
	}
}

func TestChangeUser(t *testing.T) {
	for _, tt := range []struct {
		user, password, db string
		code               int
	}{{"ann", "secret", "shop", 0}, {"ann", "guess", "", 1045}, {"nobody", "x", "", 1045}, {"root", "", "", 0}, {"ann", "secret", "nosuch", 1049}} {
		f := newFake()
		s, p := serve(t, f, Options{})
		c := signIn(t, p.dial(t), 0)
		c.prepare("a")
		body := append([]byte(tt.user), 0, 0)
		body = append(append(body, tt.db...), 0, charset, 0)
		body = append(append(body, proto.AUTH_NATIVE_PASSWORD...), 0)
		a := c.command(proto.COM_CHANGE_USER, body...)
		name, salt, _ := bytes.Cut(a[1:], []byte{0})
		if a[0] != 0xfe || string(name) != proto.AUTH_NATIVE_PASSWORD {
			t.Fatalf("%s: answer %q, want a new salt", tt.user, a)
		}
		c.write(scramble(proto.AUTH_NATIVE_PASSWORD, tt.password, salt[:20]))
		if a := c.read(); code(a) != tt.code {
			t.Errorf("%s: %q, want code %d", tt.user, a, tt.code)
		}
		if tt.code != 0 {
			continue
		}
		if a := c.command(proto.COM_PING); a[0] != 0 {
			t.Errorf("%s: ping: %q", tt.user, a)
		}
		if list := s.ProcessList(); list[0].User != tt.user || list[0].DB != tt.db || s.stmts.Load() != 0 {
			t.Errorf("%s: %+v, %d statements", tt.user, list, s.stmts.Load())
		}
	}
}

// TestMisuse: a session that calls its writer in a wrong order gets errors, and
// the client a whole answer.
func TestMisuse(t *testing.T) {
	f := newFake()
	cols := []Column{{Name: "n", Type: value.Type{Kind: value.BigInt}}}
	f.queries["rows without columns"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error { return w.Row(Text("x")) }
	f.queries["too many cells"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		_ = w.Columns(cols)
		return w.Row(Text("1"), Text("2"))
	}
	f.queries["forgotten end"] = func(_ context.Context, _ *fakeSession, w *ResultWriter) error {
		_ = w.Columns(cols)
		return w.Row(Text("1"))
	}
	f.queries["nothing"] = func(context.Context, *fakeSession, *ResultWriter) error { return nil }
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	for q, last := range map[string]byte{"rows without columns": 0xff, "too many cells": 0xff, "forgotten end": 0xfe, "nothing": 0} {
		c.send(proto.COM_QUERY, []byte(q))
		all := c.result()
		if got := all[len(all)-1][0]; got != last {
			t.Errorf("%s: last packet %#x, want %#x", q, got, last)
		}
	}
}

// TestCells writes rows of texts through the binary protocol.
func TestCells(t *testing.T) {
	cols, cells := []Column{}, []Cell{}
	for _, c := range []struct {
		kind value.Kind
		text string
	}{
		{value.TinyInt, "-1"}, {value.BigInt, "7"}, {value.Float, "0.5"}, {value.Double, "0.5"}, {value.Date, "2024-02-29"},
		{value.DateTime, "2024-02-29 00:00:01"}, {value.VarChar, "x"}, {value.LargeInt, "12"},
	} {
		cols = append(cols, Column{Type: value.Type{Kind: c.kind}})
		cells = append(cells, Text(c.text))
	}
	cols, cells = append(cols, cols[1]), append(cells, Null)
	got, err := appendBinaryCells(nil, cols, cells)
	want := "\x00\x00\x04" + "\xff" + "\x07\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x3f" + "\x00\x00\x00\x00\x00\x00\xe0\x3f" +
		"\x04\xe8\x07\x02\x1d" + "\x07\xe8\x07\x02\x1d\x00\x00\x01" + "\x01x" + "\x0212"
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for i, bad := range []string{"300", "x", "x", "x", "x", "x"} {
		if _, err := appendBinaryCells(nil, cols[i:i+1], []Cell{Text(bad)}); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s as %v: error %v", bad, cols[i].Type, err)
		}
	}
}
