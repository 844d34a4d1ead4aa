package insert

import (
	"reflect"
	"strings"
	"testing"

	"dorisgo/doriserr"
)

func TestParseHeader(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want Header
		// rest is the text from ValuesPos on.
		rest string
	}{
		{"insert into dt values(1)", Header{Table: "dt"}, "(1)"},
		{"INSERT INTO db1.t3 (id, `s`, N) VALUES (1)", Header{DB: "db1", Table: "t3", Columns: []string{"id", "s", "N"}}, " (1)"},
		{"INSERT INTO internal.`d b`.t VALUES", Header{DB: "d b", Table: "t"}, ""},
		{";;/* c */ INSERT -- x\n INTO # y\n TABLE t/**/VALUES /**/ (1)", Header{Table: "t"}, " /**/ (1)"},
		{"insert into table values (1)", Header{Table: "table"}, " (1)"},
		{"insert into values values (1)", Header{Table: "values"}, " (1)"},
		{"insert into t () value (1)", Header{Table: "t"}, " (1)"},
		{"insert into t(`desc`, select1, 编号, `a``b`) VALUES(?)", Header{Table: "t", Columns: []string{"desc", "select1", "编号", "a`b"}}, "(?)"},
		{"insert into t partition(p1, `p2`) with label l1 (a) values (1)", Header{Table: "t", Columns: []string{"a"}, Label: "l1", Partitions: []string{"p1", "p2"}}, " (1)"},
		{"insert into t(a) partition p1 with label `my-label` values (1)", Header{Table: "t", Columns: []string{"a"}, Label: "my-label", Partitions: []string{"p1"}}, " (1)"},
		{"insert into t (a) [shuffle] select 1", Header{Table: "t", Columns: []string{"a"}, Select: true}, "select 1"},
		{"insert into t (select 1)", Header{Table: "t", Select: true}, "(select 1)"},
		{"insert into t (a) (select 1)", Header{Table: "t", Columns: []string{"a"}, Select: true}, "(select 1)"},
		{"insert into t with x as (select 1) select 1", Header{Table: "t", Select: true}, "with x as (select 1) select 1"},
		{"insert into t with label as (select 1) select 1", Header{Table: "t", Select: true}, "with label as (select 1) select 1"},
		{"insert overwrite table t values (1)", Header{Table: "t", Overwrite: true}, " (1)"},
	} {
		got, err := ParseHeader([]byte(c.sql))
		if err != nil {
			t.Errorf("%q: %v", c.sql, err)
			continue
		}
		c.want.ValuesPos = len(c.sql) - len(c.rest)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q:\n got %+v\nwant %+v", c.sql, got, c.want)
		}
	}
}

func TestParseHeaderErrors(t *testing.T) {
	for sql, want := range map[string]string{
		"":                                    "mismatched input '<EOF>' expecting INSERT(line 1, pos 0)",
		"insert":                              "mismatched input '<EOF>' expecting {'INTO', 'OVERWRITE'}(line 1, pos 6)",
		"insert into":                         "mismatched input '<EOF>' expecting identifier(line 1, pos 11)",
		"insert into\nt\nset a=1":             "mismatched input 'set' expecting {'(', 'PARTITION', 'SELECT', 'VALUES', 'WITH'}(line 3, pos 0)",
		"insert into t (a b) values":          "mismatched input 'b' expecting {')', ','}(line 1, pos 17)",
		"insert into t (a,) values":           "mismatched input ')' expecting identifier(line 1, pos 17)",
		"insert into t (`a":                   "unterminated text starting with '`a'(line 1, pos 15)",
		"insert into a.b.c.d values":          "mismatched input '.' expecting VALUES(line 1, pos 17)",
		"insert into hive.b.c values":         "catalog hive is not supported, the only catalog is internal",
		"insert into t temporary partition p": "INSERT into TEMPORARY PARTITION is not supported",
		"insert into t [shuffle":              "mismatched input '<EOF>' expecting ']'(line 1, pos 22)",
	} {
		_, err := ParseHeader([]byte(sql))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", sql, err, want)
		}
	}
}

func TestHeaders(t *testing.T) {
	var c Headers
	parse := func(sql string) *Header {
		h, err := c.Parse([]byte(sql))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	a := parse("insert into t (a) values (1)")
	if b := parse("insert into t (a) values(2),(3)"); b != a {
		t.Error("the same header was parsed again")
	}
	sql := []byte("insert into t (a) values (4)")
	if n := testing.AllocsPerRun(10, func() { _, _ = c.Parse(sql) }); n != 0 {
		t.Errorf("%v allocations for a known header", n)
	}
	if _, err := c.Parse([]byte("insert into t (a) valuesx (1)")); !doriserr.Is(err, doriserr.Parse) {
		t.Errorf("a longer word after the known header: %v", err)
	}
	if b := parse("insert into t (b) values (1)"); b == a || b.Columns[0] != "b" {
		t.Errorf("another header: %+v", b)
	}
	if s := parse("insert into t (b) select 1"); !s.Select {
		t.Errorf("a query: %+v", s)
	}
}
