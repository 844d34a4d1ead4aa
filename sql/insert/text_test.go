package insert

import (
	"errors"
	"strings"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// wide has a column of every type, all NULL.
var wide = table(
	col("b", value.Type{Kind: value.Boolean}, true),
	col("t", value.Type{Kind: value.TinyInt}, true),
	col("i", typeInt, true),
	col("l", value.Type{Kind: value.BigInt}, true),
	col("h", value.Type{Kind: value.LargeInt}, true),
	col("d", value.Type{Kind: value.Double}, true),
	col("dc", value.Type{Kind: value.Decimal, Precision: 5, Scale: 2}, true),
	col("day", value.Type{Kind: value.Date}, true),
	col("at", value.Type{Kind: value.DateTime, Scale: 3}, true),
	col("v", varchar(32), true),
	col("j", value.Type{Kind: value.JSON}, true))

// load runs VALUES rows against columns of a table.
func load(t *testing.T, d *Decoder, tab *meta.Table, cols []string, values string) (*block.Block, Result, error) {
	t.Helper()
	b := block.New(types(tab))
	r, err := d.Text([]byte(values), 0, newTarget(t, tab, cols), b)
	return b, r, err
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ col, in, want string }{
		{"i", "(1)", "1"},
		{"i", "(-2147483648), (+7),(007)", "-2147483648;7;7"},
		{"i", "( '5' ),(\" 6 \")", "5;6"},
		{"i", "(NULL),(null),(true),(FALSE)", "NULL;NULL;1;0"},
		{"i", "(1.0),(1e2),(0x10),(X'0A'),(x'')", "1;100;16;10;0"},
		{"t", "(127),(-128)", "127;-128"},
		{"l", "(9223372036854775807),(-9223372036854775808)", "9223372036854775807;-9223372036854775808"},
		{"h", "(-170141183460469231731687303715884105728)", "-170141183460469231731687303715884105728"},
		{"d", "(1.5),(-1e-3),(.5),(2.)", "1.5;-0.001;0.5;2"},
		{"dc", "(1.005),(-1.005),(999.994),('-280.00'),(1e2)", "1.01;-1.01;999.99;-280.00;100.00"},
		{"b", "(true),(0),('TRUE')", "1;0;1"},
		{"day", "('2024-02-29'),(DATE'2000-02-29'),(date '2024-01-02 03:04:05'),(20240102)", "2024-02-29;2000-02-29;2024-01-02;2024-01-02"},
		{"at", "('2023-01-11 11:11:11.3'),(TIMESTAMP '2023-01-11 11:11:11.3336')", "2023-01-11 11:11:11.300;2023-01-11 11:11:11.334"},
		{"v", "(1),(-5),(+5),(007),(1.50),(.5),(1e2),(-0),(true),(12345678901234567890)", "1;-5;5;7;1.50;0.5;100;0;1;12345678901234567890"},
		{"v", "(X'4142'),(0x41424)", "AB;\x04\x14\x24"},
		{"v", "(date'2024-1-2'),(timestamp'2024-01-02 3:4:5'),(timestamp'2024-01-02 03:04:05.5')", "2024-01-02;2024-01-02 03:04:05;2024-01-02 03:04:05.500000"},
		{"j", `('{"a": 1}'),(5),('[]')`, `{"a":1};5;[]`},
		{"i", " -- c\n ( # d\n 1 /* e */ ) , /*,*/ (2);", "1;2"},
		{"i", "(DEFAULT)", "NULL"},
	} {
		var d Decoder
		b, r, err := load(t, &d, wide, []string{c.col}, c.in)
		if err != nil {
			t.Errorf("%s %s: %v", c.col, c.in, err)
			continue
		}
		i := columnIndex(wide, c.col)
		var got []string
		for _, row := range strings.Split(dump(b), ";") {
			got = append(got, strings.Split(row, ",")[i])
		}
		if s := strings.Join(got, ";"); s != c.want || r.Loaded != b.Rows() || r.End != len(c.in) {
			t.Errorf("%s %s:\n got %s, %+v\nwant %s", c.col, c.in, s, r, c.want)
		}
	}
}

// TestStrings: quotes, escapes and bytes that are easily taken for something else.
func TestStrings(t *testing.T) {
	const sql = `(1,'\\N',1),(2,'"q"',2),(3,'a,b\n\tc',3),(4,'',4),(5,NULL,5),(6,"it""s 'x'",6),(7,'50\%\_',7),(8,'é''中',8)`
	want := []string{`\N`, `"q"`, "a,b\n\tc", "", "NULL", `it"s 'x'`, `50\%\_`, "é'中"}
	var d Decoder
	b, _, err := load(t, &d, t3, nil, sql)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		c := b.Col(1)
		if got := string(c.Raw(i)); w == "NULL" != c.IsNull(i) || w != "NULL" && got != w {
			t.Errorf("row %d is %q, want %q", i+1, got, w)
		}
	}
	d.NoBackslashEscapes = true
	b, _, err = load(t, &d, t3, nil, `(1,'a\',1),(2,'\n''',2)`)
	if err != nil || dump(b) != `1,a\,1;2,\n',2` {
		t.Errorf("NO_BACKSLASH_ESCAPES: %s, %v", dump(b), err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		cols []string
		in   string
		kind doriserr.Kind
		want string
	}{
		{nil, `(1,"a",1),(2147483648,"b",2)`, doriserr.OutOfRange, "column_name[id], value '2147483648' is out of range, type=int, row=2"},
		{nil, `(99999999999999999999,"b",2)`, doriserr.OutOfRange, "column_name[id]"},
		{nil, `(NULL,"b",2)`, doriserr.NullViolation, "column_name[id], null value for not null column, type=int, row=1"},
		{nil, `(1,'a',1),('x','b',2)`, doriserr.DataQuality, "column_name[id], invalid value 'x', type=int, row=2"},
		{nil, "(1,'" + strings.Repeat("é", 33) + "',1)", doriserr.DataQuality, "the length of input is too long than schema. first 32 bytes of input str: [" + strings.Repeat("é", 16) + "] schema length: 64; actual length: 66; row=1"},
		{nil, "(1,'a\xc0\xafb',1)", doriserr.DataQuality, "column_name[s], value is not valid UTF-8"},
		{nil, "(1,'a')", doriserr.ColumnCount, "Column count doesn't match value count at row 1"},
		{nil, "(1,'a',1),(1,'a',1,1)", doriserr.ColumnCount, "Column count doesn't match value count at row 2"},
		{[]string{"id"}, "(1,2)", doriserr.ColumnCount, "Column count doesn't match value count"},
		{[]string{"id"}, "()", doriserr.Parse, "mismatched input ')' expecting expression(line 1, pos 1)"},
		{nil, "()", doriserr.Analysis, "Column has no default value, column=id"},
		{[]string{"id"}, "(DEFAULT)", doriserr.Analysis, "Column has no default value, column=id"},
		{nil, "", doriserr.Parse, "mismatched input '<EOF>' expecting '('(line 1, pos 0)"},
		{nil, "(1,'a',1", doriserr.Parse, "mismatched input '<EOF>' expecting {')', ','}"},
		{nil, "(1,'a',1) x", doriserr.Parse, "mismatched input 'x' expecting {<EOF>, ';', ','}(line 1, pos 10)"},
		{nil, "(1,'a',1) on duplicate key update n=1", doriserr.Parse, "mismatched input 'on'"},
		{nil, "(1,'a',1),", doriserr.Parse, "mismatched input '<EOF>' expecting '('"},
		{nil, "(1,'a',1);select 1", doriserr.Parse, "mismatched input 'select' expecting <EOF>"},
		{nil, "(1,,1)", doriserr.Parse, "mismatched input ',' expecting expression"},
		{nil, "(1,'a,1)", doriserr.Parse, "unterminated text starting with ''a,1)'(line 1, pos 3)"},
		{nil, "(1,'a' /* ", doriserr.Parse, "unterminated text"},
		{nil, "(x'123','a',1)", doriserr.Parse, "an even number of hexadecimal digits"},
		{nil, "(1,date'2023-02-29',1)", doriserr.OutOfRange, "column_name[s], value '2023-02-29' is out of range"},
	} {
		var d Decoder
		b := block.New(types(t3))
		g := newTarget(t, t3, nil)
		if _, err := d.Text([]byte("(7,'kept',NULL)"), 0, g, b); err != nil {
			t.Fatal(err)
		}
		_, err := d.Text([]byte(c.in), 0, newTarget(t, t3, c.cols), b)
		if !doriserr.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%s), want %s", c.in, err, doriserr.KindOf(err), c.want)
		}
		if got := dump(b); got != "7,kept,NULL" || b.Col(0).Len() != 1 {
			t.Errorf("%s: the block is %s", c.in, got)
		}
	}
}

func TestNotStrict(t *testing.T) {
	g, err := NewTarget(t3, nil, testNow, time.UTC, false)
	if err != nil {
		t.Fatal(err)
	}
	var d Decoder
	b := block.New(types(t3))
	long := strings.Repeat("中", 22)
	r, err := d.Text([]byte(`(1,'a','x'),('bad','b',NULL),(NULL,'c',3),(4,'`+long+`',99999999999),(5,'d',5),(6,'e',DEFAULT)`), 0, g, b)
	if err != nil {
		t.Fatal(err)
	}
	want := "1,a,NULL;4," + strings.Repeat("中", 21) + ",NULL;5,d,5;6,e,NULL"
	if got := dump(b); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if r.Loaded != 4 || r.Filtered != 2 || r.FirstError != "column_name[n], invalid value 'x', type=int, row=1" {
		t.Errorf("result %+v", r)
	}
	// A wrong number of values is an error of the statement in every mode.
	if _, err := d.Text([]byte("(1,'a',1),(2)"), 0, g, b); !doriserr.Is(err, doriserr.ColumnCount) || b.Rows() != 4 {
		t.Errorf("wrong count: %v, %d rows", err, b.Rows())
	}
}

func TestMultiStatements(t *testing.T) {
	d := Decoder{MultiStatements: true}
	sql := "(1,'a;b',1) ; INSERT"
	_, r, err := load(t, &d, t3, nil, sql)
	if err != nil || sql[r.End:] != " INSERT" {
		t.Errorf("rest %q, %v", sql[r.End:], err)
	}
}

func TestExpressionError(t *testing.T) {
	for _, v := range []string{"1+1", "1 + 1", "-(1)", "now()", "'a' 'b'", "abs(1)", "@x", "`id`", "CURRENT_TIMESTAMP", "- 1", "?", "date(1)"} {
		var d Decoder
		_, _, err := load(t, &d, t3, nil, "(1,'a',1),(2, "+v+",1)")
		e, ok := errors.AsType[*ExpressionError](err)
		if !ok || !errors.Is(err, ErrExpression) || e.Pos != 14 || e.Row != 2 {
			t.Errorf("%s: %v", v, err)
		}
	}
}

func TestNewTarget(t *testing.T) {
	for _, c := range []struct {
		cols []string
		want string
	}{
		{[]string{"id", "names"}, "Unknown column 'names' in 't'"},
		{[]string{"ID", "id"}, "Column 'id' specified twice"},
		{[]string{"s"}, "Column has no default value, column=id"},
	} {
		_, err := NewTarget(t3, c.cols, testNow, time.UTC, true)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.cols, err, c.want)
		}
	}
	var d Decoder
	b, _, err := load(t, &d, t3, []string{"N", "Id"}, "(1,2)")
	if err != nil || dump(b) != "2,NULL,1" {
		t.Errorf("mapped columns: %s, %v", dump(b), err)
	}
}

func withDefault(c meta.Column, k meta.DefaultKind, text string, scale uint8) meta.Column {
	c.Default = &meta.Default{Kind: k, Text: text, Scale: scale}
	return c
}

// TestDefaults: the time of the statement in the session's zone.
func TestDefaults(t *testing.T) {
	stamp := func(scale uint8) value.Type { return value.Type{Kind: value.DateTime, Scale: scale} }
	tab := table(
		col("id", typeInt, false),
		withDefault(col("a", stamp(3), true), meta.DefaultCurrentTimestamp, "", 3),
		withDefault(col("b", stamp(6), true), meta.DefaultCurrentTimestamp, "", 0),
		withDefault(col("c", value.Type{Kind: value.Date}, true), meta.DefaultCurrentDate, "", 0),
		withDefault(col("d", varchar(9), false), meta.DefaultLiteral, "x", 0),
		withDefault(col("e", typeInt, true), meta.DefaultNull, "", 0),
		col("__DORIS_DELETE_SIGN__", value.Type{Kind: value.TinyInt}, true))
	g := newTarget(t, tab, []string{"id"})
	b := block.New(types(tab))
	var d Decoder
	run := func(sql string) {
		t.Helper()
		if _, err := d.Text([]byte(sql), 0, g, b); err != nil {
			t.Fatal(err)
		}
	}
	run("(1)")
	if err := g.Begin(testNow.Add(8*time.Second), time.FixedZone("", 8*3600), true); err != nil {
		t.Fatal(err)
	}
	run("(2)")
	g = newTarget(t, tab, nil)
	run("(3,DEFAULT,'2000-01-01','2000-01-01',DEFAULT,4)")
	if err := g.Begin(time.Date(1969, 12, 31, 1, 2, 3, 999, time.UTC), time.UTC, true); err != nil {
		t.Fatal(err)
	}
	run("(4,DEFAULT,DEFAULT,DEFAULT,'y',5)")
	want := "1,2024-02-29 23:59:58.987,2024-02-29 23:59:58.000000,2024-02-29,x,NULL,NULL;" +
		"2,2024-03-01 08:00:06.987,2024-03-01 08:00:06.000000,2024-03-01,x,NULL,NULL;" +
		"3,2024-02-29 23:59:58.987,2000-01-01 00:00:00.000000,2000-01-01,x,4,NULL;" +
		"4,1969-12-31 01:02:03.000,1969-12-31 01:02:03.000000,1969-12-31,y,5,NULL"
	if got := dump(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMaxBytes has rows that are much larger than their text.
func TestMaxBytes(t *testing.T) {
	tab := table(withDefault(col("v", varchar(65533), false), meta.DefaultLiteral, strings.Repeat("x", 60000), 0))
	d := Decoder{MaxBytes: 1 << 20}
	sql := []byte("()" + strings.Repeat(",()", 1000))
	b := block.New(types(tab))
	_, err := d.Text(sql, 0, newTarget(t, tab, nil), b)
	if !doriserr.Is(err, doriserr.ExceededLimit) || b.Rows() != 0 || b.MemSize() > 16<<20 {
		t.Errorf("%v, %d rows, %d bytes", err, b.Rows(), b.MemSize())
	}
}
