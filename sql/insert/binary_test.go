package insert

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// execute runs one row of parameters against the named columns of a table.
func execute(t *testing.T, tab *meta.Table, cols []string, strict bool, pk *packet) (*block.Block, error) {
	t.Helper()
	g, err := NewTarget(tab, cols, testNow, time.UTC, strict)
	if err != nil {
		t.Fatal(err)
	}
	var p Params
	if err := p.Parse(pk.bytes(), len(pk.null), nil); err != nil {
		t.Fatal(err)
	}
	sql := []byte("(" + strings.Repeat("?,", len(cols)-1) + "?)")
	var d Decoder
	b := block.New(types(tab))
	_, err = d.Binary(sql, 0, &p, g, b)
	return b, err
}

func le(n int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:n]
}

// TestBinaryNumbers: numbers of the binary protocol at their limits.
func TestBinaryNumbers(t *testing.T) {
	const max = math.MaxUint64
	f32 := func(v float32) []byte { return le(4, uint64(math.Float32bits(v))) }
	f64 := func(v float64) []byte { return le(8, math.Float64bits(v)) }
	const fail = "fails"
	tab := table(
		col("l", value.Type{Kind: value.BigInt}, true),
		col("h", value.Type{Kind: value.LargeInt}, true),
		col("t", value.Type{Kind: value.TinyInt}, true),
		col("dc", value.Type{Kind: value.Decimal, Precision: 20}, true),
		col("v", varchar(32), true),
		col("d", value.Type{Kind: value.Double}, true),
		col("f", value.Type{Kind: value.Float}, true),
		col("b", value.Type{Kind: value.Boolean}, true))
	names := []string{"l", "h", "t", "dc", "v", "d", "f", "b"}
	for _, c := range []struct {
		typ, flag byte
		bytes     []byte
		// want is the value in each column of names.
		want string
	}{
		{typeTiny, 0, le(1, 0xff), "-1 -1 -1 -1 -1 -1 -1 fails"},
		{typeTiny, 0x80, le(1, 0xff), "255 255 fails 255 255 255 255 fails"},
		{typeTiny, 0, le(1, 1), "1 1 1 1 1 1 1 1"},
		{typeShort, 0, le(2, 0xffff), "-1 -1 -1 -1 -1 -1 -1 fails"},
		{typeShort, 0x80, le(2, 0xffff), "65535 65535 fails 65535 65535 65535 65535 fails"},
		{typeYear, 0, le(2, 2024), "2024 2024 fails 2024 2024 2024 2024 fails"},
		{typeInt24, 0, le(4, 0xffffffff), "-1 -1 -1 -1 -1 -1 -1 fails"},
		{typeLong, 0x80, le(4, 0xffffffff), "4294967295 4294967295 fails 4294967295 4294967295 4294967295 4.2949673e+09 fails"},
		{typeLongLong, 0x80, le(8, max), "fails 18446744073709551615 fails 18446744073709551615 18446744073709551615 1.8446744073709552e+19 1.8446744e+19 fails"},
		{typeLongLong, 0, le(8, max), "-1 -1 -1 -1 -1 -1 -1 fails"},
		{typeLongLong, 0, le(8, 1<<63), "-9223372036854775808 -9223372036854775808 fails -9223372036854775808 -9223372036854775808 -9.223372036854776e+18 -9.223372e+18 fails"},
		{typeFloat, 0, f32(0.1), "fails fails fails 0 0.1 0.10000000149011612 0.1 fails"},
		{typeDouble, 0, f64(2.5), "fails fails fails 3 2.5 2.5 2.5 fails"},
		{typeDouble, 0, f64(1e300), "fails fails fails fails 1e+300 1e+300 fails fails"},
	} {
		var got []string
		for i, name := range names {
			pk := &packet{}
			pk.add(c.typ, c.flag, c.bytes...)
			b, err := execute(t, tab, []string{name}, true, pk)
			if err != nil {
				got = append(got, fail)
				continue
			}
			got = append(got, strings.Split(dump(b), ",")[i])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("type %d flag %x bytes %x:\n got %s\nwant %s", c.typ, c.flag, c.bytes, s, c.want)
		}
	}
}

// TestBinaryDates: dates and times of the binary protocol in all their lengths.
func TestBinaryDates(t *testing.T) {
	tab := table(
		col("at", value.Type{Kind: value.DateTime, Scale: 6}, true),
		col("day", value.Type{Kind: value.Date}, true),
		col("v", varchar(32), true))
	date := []byte{0xe8, 0x07, 2, 29}
	day7 := append(slices.Clone(date), 1, 2, 3)
	for _, c := range []struct {
		typ  byte
		in   []byte
		want string
	}{
		{typeDateTime, nil, "fails|fails|0000-00-00 00:00:00"},
		{typeDate, nil, "fails|fails|0000-00-00"},
		{typeDateTime, date, "2024-02-29 00:00:00.000000|2024-02-29|2024-02-29 00:00:00"},
		{typeDate, date, "2024-02-29 00:00:00.000000|2024-02-29|2024-02-29"},
		{typeTimestamp, day7, "2024-02-29 01:02:03.000000|2024-02-29|2024-02-29 01:02:03"},
		{typeDateTime, append(slices.Clone(day7), le(4, 1)...), "2024-02-29 01:02:03.000001|2024-02-29|2024-02-29 01:02:03.000001"},
		{typeDateTime, append(slices.Clone(day7), le(4, 999999)...), "2024-02-29 01:02:03.999999|2024-02-29|2024-02-29 01:02:03.999999"},
		{typeDateTime, []byte{0xe8, 0x07, 0, 10}, "fails|fails|2024-00-10 00:00:00"},
		{typeDateTime, []byte{0xff, 0xff, 1, 1, 99, 99, 99, 255, 255, 255, 255}, "fails|fails|65535-01-01 99:99:99.4294967295"},
		{typeTime, []byte{1, 2, 0, 0, 0, 3, 4, 5}, "fails|fails|-51:04:05"},
		{typeTime, []byte{0, 0, 0, 0, 0, 3, 4, 5, 1, 0, 0, 0}, "fails|fails|03:04:05.000001"},
		{typeTime, nil, "fails|fails|00:00:00"},
	} {
		var got []string
		for i, name := range []string{"at", "day", "v"} {
			pk := &packet{}
			pk.add(c.typ, 0, append([]byte{byte(len(c.in))}, c.in...)...)
			b, err := execute(t, tab, []string{name}, true, pk)
			if err != nil {
				got = append(got, "fails")
				continue
			}
			got = append(got, strings.Split(dump(b), ",")[i])
		}
		if s := strings.Join(got, "|"); s != c.want {
			t.Errorf("type %d bytes %x:\n got %s\nwant %s", c.typ, c.in, s, c.want)
		}
	}
	// The zero date is NULL where bad values may be NULL.
	pk := &packet{}
	pk.add(typeDate, 0, 0)
	if b, err := execute(t, tab, []string{"day"}, false, pk); err != nil || dump(b) != "NULL,NULL,NULL" {
		t.Errorf("zero date, not strict: %s, %v", dump(b), err)
	}
}

// TestBinaryStrings: strings of the binary protocol, a NUL byte among them.
func TestBinaryStrings(t *testing.T) {
	for _, typ := range []byte{0x00, 0x0f, 0x10, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff} {
		pk := &packet{}
		pk.strOf(typ, "12")
		pk.strOf(typ, "a\x00\\N'中")
		b, err := execute(t, t3, []string{"id", "s"}, true, pk)
		if err != nil || dump(b) != "12,a\x00\\N'中,NULL" {
			t.Errorf("type %x: %q, %v", typ, dump(b), err)
		}
	}
	pk := &packet{}
	pk.str("1")
	pk.str("a\xffb")
	if _, err := execute(t, t3, []string{"id", "s"}, true, pk); err == nil || !strings.Contains(err.Error(), "column_name[s], value is not valid UTF-8") {
		t.Errorf("bad UTF-8: %v", err)
	}
}

func TestLongData(t *testing.T) {
	prep, err := Prepare([]byte("insert into t values (?,?,?)"), false)
	if err != nil {
		t.Fatal(err)
	}
	g := newTarget(t, t3, nil)
	b := block.New(types(t3))
	var d Decoder
	var p Params
	run := func(body []byte, long [][]byte) {
		t.Helper()
		if err := p.Parse(body, prep.Params, long); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Binary(prep.SQL, prep.Header.ValuesPos, &p, g, b); err != nil {
			t.Fatal(err)
		}
	}
	pk := &packet{}
	pk.long(1)
	pk.strOf(0xfc, "")
	pk.long(3)
	// Long data has no bytes among the values.
	body := pk.bytes()
	cut := slices.Delete(slices.Clone(body), len(body)-5, len(body)-4)
	run(cut, [][]byte{nil, []byte("中文"), nil})
	run(pk.again(), nil)
	run(slices.Delete(pk.again(), len(pk.again())-5, len(pk.again())-4), [][]byte{nil, {}})
	if got := dump(b); got != "1,中文,3;1,,3;1,,3" {
		t.Errorf("rows %s", got)
	}
}

func TestParamsMixed(t *testing.T) {
	sql := []byte("insert into t3 (id, s, n) values (?, 'lit''s', ?), (2, ?, NULL), (?, DEFAULT, -3);")
	prep, err := Prepare(sql, false)
	if err != nil {
		t.Fatal(err)
	}
	if prep.Params != 4 || prep.Rows != 3 || prep.Width != 3 || prep.Expression {
		t.Errorf("prepared %+v", prep)
	}
	for i, want := range []int{0, 2, 1, 0} {
		if got := prep.Position(i); got != want {
			t.Errorf("parameter %d is at %d, want %d", i, got, want)
		}
	}
	pk := &packet{}
	pk.long(1)
	pk.nul()
	pk.str("x")
	pk.double(3)
	var p Params
	if err := p.Parse(pk.bytes(), 4, nil); err != nil {
		t.Fatal(err)
	}
	var d Decoder
	b := block.New(types(t3))
	r, err := d.Binary(prep.SQL, prep.Header.ValuesPos, &p, newTarget(t, t3, prep.Header.Columns), b)
	if err != nil || dump(b) != "1,lit's,NULL;2,x,NULL;3,NULL,-3" || r.Loaded != 3 {
		t.Errorf("%s, %+v, %v", dump(b), r, err)
	}
}

func TestParamsInExpression(t *testing.T) {
	prep, err := Prepare([]byte("insert into t values (?+1, concat(?, '-', ?), ?*2)"), false)
	if err != nil || !prep.Expression || prep.Params != 4 {
		t.Fatalf("%+v, %v", prep, err)
	}
	pk := &packet{}
	pk.long(41)
	pk.str("a")
	pk.nul()
	pk.double(1.5)
	var p Params
	if err := p.Parse(pk.bytes(), 4, nil); err != nil {
		t.Fatal(err)
	}
	d := Decoder{Expressions: true}
	b := block.New(types(t3))
	if _, err := d.Binary(prep.SQL, prep.Header.ValuesPos, &p, newTarget(t, t3, nil), b); err != nil || dump(b) != "42,NULL,3" {
		t.Errorf("%s, %v", dump(b), err)
	}
	for i, want := range []int{0, 1, 1, 2} {
		if got := prep.Position(i); got != want {
			t.Errorf("parameter %d is at %d, want %d", i, got, want)
		}
	}
}

func TestPrepare(t *testing.T) {
	for _, c := range []struct {
		sql                 string
		params, rows, width int
		expression          bool
	}{
		{"insert into t values (?,?,?)", 3, 1, 3, false},
		{"insert into t values (?,?),(?,?);", 4, 2, 2, false},
		{"insert into t values ()", 0, 1, 0, false},
		{"insert into t values (-1, +2.5, null, x'41', 0x41, date'2024-01-01', 'a?')", 0, 1, 7, false},
		{"insert into t values (now(), ?)", 1, 1, 2, true},
		{"insert into t values (f(?, ?), 1+1)", 2, 1, 2, true},
		{"insert into t select ?, '?' from u where a = ?", 2, 0, 0, false},
	} {
		p, err := Prepare([]byte(c.sql), false)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if p.Params != c.params || p.Rows != c.rows || p.Width != c.width || p.Expression != c.expression {
			t.Errorf("%s: %+v", c.sql, p)
		}
	}
}

func TestPrepareErrors(t *testing.T) {
	for sql, want := range map[string]string{
		"insert into t values (?,?),(?)":                              "Column count doesn't match value count at row 2",
		"insert into t values (?":                                     "mismatched input '<EOF>' expecting {')', ','}",
		"insert into t values (?,)":                                   "mismatched input ')' expecting expression",
		"insert into t values (?) x":                                  "mismatched input 'x' expecting {<EOF>, ','}",
		"insert into t values (?); select 1":                          "mismatched input ';' expecting {<EOF>, ','}",
		"insert into t values":                                        "mismatched input '<EOF>' expecting '('",
		"insert into t values ('a":                                    "unterminated text",
		"insert into t values (?);":                                   "",
		"insert into t values (1;2)":                                  "mismatched input ';'",
		"insert into t set a = ?":                                     "mismatched input 'set'",
		"insert into t values (?" + strings.Repeat(",?", 65534) + ")": "",
		"insert into t values (?" + strings.Repeat(",?", 65535) + ")": "Prepared statement contains too many placeholders",
	} {
		_, err := Prepare([]byte(sql), false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %q", sql, err, want)
		}
	}
	p, err := Prepare([]byte("insert into t3 values (?,?)"), false)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Prepare([]byte("insert into t select ?"), false); err != nil || s.Position(0) != -1 {
		t.Errorf("position in a query: %v", err)
	}
	err = p.Check(newTarget(t, t3, nil))
	if !doriserr.Is(err, doriserr.ColumnCount) || !strings.Contains(err.Error(), "Column count doesn't match value count") ||
		!strings.Contains(err.Error(), "Column size: 2 does not match with target column size: 3") {
		t.Errorf("wrong width: %v", err)
	}
}

// TestManyParams: as many parameters as the protocol can count, and more.
func TestManyParams(t *testing.T) {
	sql := func(rows int) []byte {
		return []byte("INSERT INTO t3 VALUES (?,?,?)" + strings.Repeat(",(?,?,?)", rows-1))
	}
	p, err := Prepare(sql(21845), false)
	if err != nil || p.Params != 65535 || p.Rows != 21845 {
		t.Errorf("21845 rows: %v", err)
	}
	if _, err = Prepare(sql(21846), false); !doriserr.Is(err, doriserr.TooManyParameters) {
		t.Errorf("21846 rows: %v", err)
	}
	if _, err = CountParams(sql(21846), false); !doriserr.Is(err, doriserr.TooManyParameters) {
		t.Errorf("counting: %v", err)
	}
}

// TestParamsCut: cut packets and odd flags.
func TestParamsCut(t *testing.T) {
	pk := &packet{}
	pk.long(1)
	pk.nul()
	pk.str("中文")
	pk.double(2.5)
	pk.add(typeDateTime, 0, 7, 0xe8, 0x07, 2, 29, 1, 2, 3)
	pk.strOf(0xfc, strings.Repeat("x", 300))
	full, n := pk.bytes(), len(pk.null)
	var p Params
	if err := p.Parse(pk.again(), n, nil); !doriserr.Is(err, doriserr.MalformedPacket) {
		t.Errorf("flag 0 before any flag 1: %v", err)
	}
	if err := p.Parse(full, n, nil); err != nil {
		t.Fatal(err)
	}
	known := slices.Clone(p.Types())
	for cut := range len(full) {
		if err := p.Parse(full[:cut], n, nil); !doriserr.Is(err, doriserr.MalformedPacket) {
			t.Errorf("cut at %d of %d: %v", cut, len(full), err)
		}
	}
	for name, body := range map[string][]byte{
		"flag 2":          append(pk.nulls(), 2),
		"rubbish behind":  append(slices.Clone(full), 0),
		"unknown type":    {0, 1, 0x20, 0, 0, 0},
		"length too long": {0, 1, 0xfd, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"NULL length":     {0, 1, 0xfd, 0, 0xfb},
		"date of 5 bytes": {0, 1, typeDate, 0, 5, 1, 1, 1, 1, 1},
	} {
		m := n
		if len(body) < 20 && name != "flag 2" {
			m = 1
		}
		if err := p.Parse(body, m, nil); !doriserr.Is(err, doriserr.MalformedPacket) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(p.Types(), known) {
		t.Errorf("types after bad packets: %v", p.Types())
	}
	if err := p.Parse(pk.again(), n, nil); err != nil {
		t.Errorf("flag 0 after a good packet: %v", err)
	}
	if err := p.Parse(nil, 0, nil); err != nil {
		t.Errorf("no parameters: %v", err)
	}
}

func TestParseExecute(t *testing.T) {
	x, err := ParseExecute([]byte{7, 0, 0, 0, 1, 1, 0, 0, 0, 'p'})
	if err != nil || x.StatementID != 7 || x.Cursor != 1 || string(x.Params) != "p" {
		t.Errorf("%+v, %v", x, err)
	}
	if _, err = ParseExecute([]byte{7, 0, 0, 0, 1, 1, 0, 0}); !doriserr.Is(err, doriserr.MalformedPacket) {
		t.Errorf("short: %v", err)
	}
}

func TestAppendSQL(t *testing.T) {
	pk := &packet{}
	pk.long(-5)
	pk.str(`it's \ "`)
	pk.nul()
	pk.double(0.5)
	pk.strOf(0xf6, "-1.50")
	pk.add(typeDate, 0, 4, 0xe8, 0x07, 2, 29)
	pk.add(typeLongLong, 0x80, le(8, math.MaxUint64)...)
	var p Params
	if err := p.Parse(pk.bytes(), 7, nil); err != nil {
		t.Fatal(err)
	}
	got, err := p.AppendSQL(nil, []byte("select '?', 1-?, ? /* ? */, ?,?,?,?,? from `?`"), false)
	want := `select '?', 1- -5, 'it''s \\ "' /* ? */, NULL,0.5, -1.50,'2024-02-29',18446744073709551615 from ` + "`?`"
	if err != nil || string(got) != want {
		t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
	if _, err := p.AppendSQL(nil, []byte("????????"), false); !doriserr.Is(err, doriserr.MalformedPacket) {
		t.Errorf("too few: %v", err)
	}
}
