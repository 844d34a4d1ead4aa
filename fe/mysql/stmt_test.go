package mysql

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	proto "github.com/go-mysql-org/go-mysql/mysql"
)

// prepare sends COM_STMT_PREPARE and reads all of its answer.
func (c *raw) prepare(sql string) (id uint32, params int) {
	c.t.Helper()
	p := c.command(proto.COM_STMT_PREPARE, []byte(sql)...)
	if p[0] != 0 || len(p) != 12 {
		c.t.Fatalf("prepare: %q", p)
	}
	id = binary.LittleEndian.Uint32(p[1:])
	cols, params := int(binary.LittleEndian.Uint16(p[5:])), int(binary.LittleEndian.Uint16(p[7:]))
	for _, n := range []int{params, cols} {
		for range n {
			c.read()
		}
		if n > 0 && c.caps&proto.CLIENT_DEPRECATE_EOF == 0 {
			c.read()
		}
	}
	return id, params
}

// executeBody is a COM_STMT_EXECUTE after its command byte.
func executeBody(id uint32, params []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, id)
	return append(append(b, 0, 1, 0, 0, 0), params...)
}

func (c *raw) execute(id uint32, params []byte) []byte {
	c.t.Helper()
	return c.command(proto.COM_STMT_EXECUTE, executeBody(id, params)...)
}

// TestExecuteFlags is about the flag before the parameter types.
func TestExecuteFlags(t *testing.T) {
	_, p := serve(t, newFake(), Options{})
	c := signIn(t, p.dial(t), 0)
	id, _ := c.prepare("INSERT ? ?")
	for _, tt := range []struct {
		name   string
		params string // bitmap, flag, types, values
		want   string // part of the answer
	}{
		{"flag 0 before any types", "\x00\x00\x01\x02", "never sent"},
		{"flag 2", "\x00\x02\x01\x00\x01\x00\x01\x02", "neither 0 nor 1"},
		{"flag 1", "\x00\x01\x01\x00\x01\x80\xff\xff", "INSERT -1 255"},
		{"flag 0 after it", "\x00\x00\xfe\xfd", "INSERT -2 253"},
		{"NULL", "\x01\x00\xfd", "INSERT NULL 253"},
		{"cut with other types", "\x00\x01\x08\x00\x08\x00\x01", "cut short"},
		{"the earlier types still count", "\x00\x00\x01\x02", "INSERT 1 2"},
		{"unknown type", "\x00\x01\x77\x00\x77\x00\x01", "type 119 is unknown"},
		{"length past the end", "\x00\x01\xfd\x00\x01\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff", "cut short"},
		{"length that is NULL", "\x00\x01\xfd\x00\x01\x00\xfb\x01", "cut short"},
		{"nothing", "", "NULL bitmap"},
		{"good at the end", "\x00\x01\xfd\x00\x01\x00\x02hi\x01", "INSERT 'hi' 1"},
	} {
		answer := c.execute(id, []byte(tt.params))
		if !bytes.Contains(answer, []byte(tt.want)) {
			t.Errorf("%s: answer %q, want %q in it", tt.name, answer, tt.want)
		}
	}
	none, _ := c.prepare("INSERT")
	for _, params := range []string{"", "\x00", "\x01\x02\x03"} {
		if answer := c.execute(none, []byte(params)); answer[0] != 0 {
			t.Errorf("no parameters, %q: %q", params, answer)
		}
	}
}

// TestExecuteCutPackets cuts an execution at each byte; the types of the one
// before stay.
func TestExecuteCutPackets(t *testing.T) {
	_, p := serve(t, newFake(), Options{})
	c := signIn(t, p.dial(t), 0)
	id, _ := c.prepare("INSERT ? ? ? ?")
	good := "\x00\x01\x03\x00\xfd\x00\x05\x00\x0c\x00" + "\x01\x00\x00\x00" + "\x03abc" + "\x00\x00\x00\x00\x00\x00\xe0\x3f" + "\x07\xe8\x07\x02\x1d\x01\x02\x03"
	want := "INSERT 1 'abc' 5e-01 '2024-02-29 01:02:03'"
	if answer := c.execute(id, []byte(good)); !bytes.Contains(answer, []byte(want)) {
		t.Fatalf("answer %q", answer)
	}
	body := executeBody(id, []byte(good))
	for n := range len(body) {
		answer := c.command(proto.COM_STMT_EXECUTE, body[:n]...)
		if code(answer) != 1835 {
			t.Errorf("cut at %d: %q", n, answer)
		}
	}
	if answer := c.execute(id, []byte("\x00\x00"+good[10:])); !bytes.Contains(answer, []byte(want)) {
		t.Errorf("after the cut ones: %q", answer)
	}
}

// TestParameterTypes binds the narrow and the unsigned, and dates of every
// length.
func TestParameterTypes(t *testing.T) {
	_, p := serve(t, newFake(), Options{})
	c := signIn(t, p.dial(t), 0)
	id, _ := c.prepare("=?=")
	for _, tt := range []struct {
		typ  string
		data string
		want string
	}{
		{"\x01\x00", "\xff", "-1"}, {"\x01\x80", "\xff", "255"},
		{"\x02\x00", "\x00\x80", "-32768"}, {"\x02\x80", "\x00\x80", "32768"},
		{"\x03\x00", "\xff\xff\xff\xff", "-1"}, {"\x03\x80", "\xff\xff\xff\xff", "4294967295"},
		{"\x09\x00", "\xff\xff\xff\xff", "-1"}, {"\x0d\x00", "\xe8\x07", "2024"},
		{"\x08\x00", strings.Repeat("\xff", 8), "-1"}, {"\x08\x80", strings.Repeat("\xff", 8), "18446744073709551615"},
		{"\x04\x00", "\xcd\xcc\xcc\x3d", "1e-01"}, {"\x05\x00", "\x9a\x99\x99\x99\x99\x99\xb9\x3f", "1e-01"},
		{"\x06\x00", "", "NULL"},
		{"\x00\x00", "\x05-1.50", "-1.50"}, {"\xf6\x00", "\x06" + "1'OR'1", "'1''OR''1'"},
		{"\x0c\x00", "\x00", "'0000-00-00 00:00:00'"}, {"\x0c\x00", "\x04\xe8\x07\x02\x1d", "'2024-02-29 00:00:00'"},
		{"\x07\x00", "\x07\xe8\x07\x02\x1d\x01\x02\x03", "'2024-02-29 01:02:03'"},
		{"\x0c\x00", "\x0b\xe8\x07\x02\x1d\x01\x02\x03\x01\x00\x00\x00", "'2024-02-29 01:02:03.000001'"},
		{"\x0c\x00", "\x0b\xe8\x07\x02\x1d\x01\x02\x03\x3f\x42\x0f\x00", "'2024-02-29 01:02:03.999999'"},
		{"\x0a\x00", "\x04\x01\x00\x00\x01", "'0001-00-01'"}, {"\x0a\x00", "\x00", "'0000-00-00'"},
		{"\x0b\x00", "\x00", "'00:00:00'"}, {"\x0b\x00", "\x08\x01\x02\x00\x00\x00\x03\x04\x05", "'-51:04:05'"},
		{"\x0b\x00", "\x0c\x00\x00\x00\x00\x00\x03\x04\x05\x07\x00\x00\x00", "'03:04:05.000007'"},
		{"\xf9\x00", "\x01a", "'a'"}, {"\xfa\x00", "\x01a", "'a'"}, {"\xfb\x00", "\x01a", "'a'"}, {"\xfc\x00", "\x01a", "'a'"},
		{"\xfd\x00", "\x01\\", `'\\'`}, {"\xfe\x00", "\x00", "''"}, {"\x0f\x00", "\x01'", "''''"}, {"\xf5\x00", "\x02{}", "'{}'"},
		{"\x0c\x00", "\x05\xe8\x07\x02\x1d\x01", "wrong length"}, {"\x0b\x00", "\x04\xe8\x07\x02\x1d", "wrong length"},
		{"\x05\x00", "\x00\x00\x00\x00\x00\x00\xf0\x7f", "finite"},
	} {
		answer := c.execute(id, []byte("\x00\x01"+tt.typ+tt.data))
		want := tt.want
		if answer[0] == 0 {
			want = "=" + tt.want + "="
		}
		if !bytes.Contains(answer, []byte(want)) {
			t.Errorf("type %q, data %q: %q, want %q", tt.typ, tt.data, answer, want)
		}
	}
}

func TestLongData(t *testing.T) {
	f := newFake()
	f.max.Store(int64(1 << 20))
	_, p := serve(t, f, Options{})
	c := signIn(t, p.dial(t), 0)
	id, _ := c.prepare("=?=")
	part := func(id uint32, param int, data string) {
		b := binary.LittleEndian.AppendUint32(nil, id)
		b = append(b, byte(param), byte(param>>8))
		c.send(proto.COM_STMT_SEND_LONG_DATA, append(b, data...))
	}
	reset := func() {
		if a := c.command(proto.COM_STMT_RESET, binary.LittleEndian.AppendUint32(nil, id)...); a[0] != 0 {
			t.Errorf("reset: %q", a)
		}
	}
	const long, short = "\x00\x01\xfc\x00", "\x00\x01\xfd\x00\x01s"
	want := func(what, params, want string) {
		t.Helper()
		if a := c.execute(id, []byte(params)); !bytes.Contains(a, []byte(want)) {
			t.Errorf("%s: %q, want %q", what, a, want)
		}
	}
	part(id, 0, "中"[:2])
	part(id, 0, "中"[2:]+"文")
	want("joined", long, "='中文'=")
	want("gone after execute", short, "='s'=")
	part(id, 0, "x")
	reset()
	want("gone after reset", short, "='s'=")
	part(id, 0, "")
	want("empty", long, "=''=")
	part(id, 7, "x")
	want("no such parameter", long, "does not exist")
	want("and after it", short, "='s'=")
	part(99, 0, "x")
	for range 3 {
		part(id, 0, strings.Repeat("y", 1<<19))
	}
	want("too long", long, "max_allowed_packet")
	want("and after it", short, "='s'=")
	for range 2 * longDataPackets {
		other, _ := c.prepare("=?=")
		part(other, 0, strings.Repeat("y", 1<<19))
	}
	part(id, 0, "y")
	want("too much in all", long, "max_allowed_packet")
	c.send(proto.COM_STMT_CLOSE, binary.LittleEndian.AppendUint32(nil, id))
	if a := c.execute(id, []byte(short)); code(a) != 1243 || !bytes.Contains(a, []byte("not found,  maybe expired")) {
		t.Errorf("after close: %q", a)
	}
	if a := c.command(proto.COM_STMT_RESET, 9, 9, 9, 9); code(a) != 1243 {
		t.Errorf("reset of nothing: %q", a)
	}
	if a := c.command(proto.COM_STMT_FETCH, 1, 0, 0, 0, 1, 0, 0, 0); code(a) != 1421 {
		t.Errorf("fetch: %q", a)
	}
}

// TestParameterCount: 65,535 is the most that a prepare-OK can tell.
func TestParameterCount(t *testing.T) {
	_, p := serve(t, newFake(), Options{MaxPreparedStmts: 2})
	c := signIn(t, p.dial(t), proto.CLIENT_DEPRECATE_EOF)
	rows := func(n int) string { return "INSERT INTO t3 VALUES " + strings.Repeat("(?,?,?),", n) }
	if _, params := c.prepare(rows(21845)); params != 65535 {
		t.Errorf("%d parameters", params)
	}
	if a := c.command(proto.COM_STMT_PREPARE, []byte(rows(21846))...); code(a) != 1390 {
		t.Errorf("one row more: %.80q", a)
	}
	c.prepare("a")
	if a := c.command(proto.COM_STMT_PREPARE, 'b'); code(a) != 1461 {
		t.Errorf("one statement more: %q", a)
	}
	if a := c.command(proto.COM_RESET_CONNECTION); a[0] != 0 {
		t.Errorf("reset: %q", a)
	}
	c.prepare("b")
	if a := c.command(proto.COM_STMT_PREPARE, []byte("a; b")...); code(a) != 1105 {
		t.Errorf("two statements: %q", a)
	}
}
