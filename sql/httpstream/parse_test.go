package httpstream

import (
	"reflect"
	"strings"
	"testing"

	"dorisgo/doriserr"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		sql  string
		want Statement
	}{
		{
			`insert into db.t select * from http_stream("format"="csv", "Column_Separator"=",")`,
			Statement{DB: "db", Table: "t", Items: []string{"*"}, Star: true, Properties: map[string]string{"format": "csv", "column_separator": ","}},
		},
		{
			"INSERT INTO db.t WITH LABEL l1 (id, `s`) SELECT c1, concat(c2, ',', c3) AS x FROM http_stream(\"format\" = 'CSV') WHERE c1 > 5 and c4 = 'a;b';",
			Statement{
				DB: "db", Table: "t", Label: "l1", Columns: []string{"id", "s"}, Items: []string{"c1", "concat(c2, ',', c3)"},
				Where: "c1 > 5 and c4 = 'a;b'", Properties: map[string]string{"format": "CSV"}, Names: []string{"c1", "c2", "c3", "and", "c4"},
			},
		},
		{
			"insert into `d b`.`t``x` select cast(c1 as int), `from`, case when c2 > 1 then 1 else 2 end from http_stream() as h where left(`where`, 1) = 'x'",
			Statement{
				DB: "d b", Table: "t`x", Items: []string{"cast(c1 as int)", "`from`", "case when c2 > 1 then 1 else 2 end"}, Where: "left(`where`, 1) = 'x'",
				Properties: map[string]string{}, Names: []string{"c1", "as", "int", "from", "case", "when", "c2", "then", "else", "end", "where"},
			},
		},
	} {
		got, err := Parse(tt.sql)
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
			continue
		}
		if !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s:\n%+v, want\n%+v", tt.sql, *got, tt.want)
		}
	}
}

func TestParseRefused(t *testing.T) {
	for sql, want := range map[string]string{
		"":                                                                        "expecting INSERT",
		"select 1":                                                                "expecting INSERT",
		"insert into t select 1 from x":                                           "parse db and tb with wrong sql:insert into t select 1 from x",
		"insert into db.t values (1)":                                             "_http_stream takes INSERT INTO db.table SELECT",
		"insert overwrite table db.t select 1":                                    "INSERT OVERWRITE",
		"insert into db.t select c1":                                              "expecting FROM",
		"insert into db.t select from x":                                          "expecting an expression",
		"insert into db.t select c1,, c2 from x":                                  "expecting an expression",
		"insert into db.t select c1 from s3('a'='b')":                             "expecting http_stream",
		"insert into db.t select c1 from http_stream":                             "expecting '('",
		"insert into db.t select c1 from http_stream(a=b)":                        "expecting a string",
		"insert into db.t select c1 from http_stream('a' 'b')":                    "expecting '='",
		"insert into db.t select c1 from http_stream('a'='b'":                     "expecting {',', ')'}",
		"insert into db.t select c1 from http_stream('a'='b','A'='c')":            "given twice",
		"insert into db.t select *, c1 from http_stream('a'='b')":                 "* beside other items",
		"insert into db.t select c1 from http_stream('a'='b') where":              "expecting a condition",
		"insert into db.t select c1 from http_stream('a'='b') limit 1":            "LIMIT is not supported",
		"insert into db.t select c1 from http_stream('a'='b') where c1=1 limit 1": "LIMIT is not supported",
		"insert into db.t select c1 from http_stream('a'='b') h join x":           "expecting {'WHERE', <EOF>}",
		"insert into db.t select c1 from http_stream('a'='b'); select 1":          "expecting {'WHERE', <EOF>}",
		"insert into db.t select 'c1 from http_stream()":                          "unterminated",
	} {
		s, err := Parse(sql)
		if err == nil || !strings.Contains(err.Error(), want) || doriserr.KindOf(err) == doriserr.Internal {
			t.Errorf("%s: %+v, %v, want %q", sql, s, err, want)
		}
	}
}

// FuzzParse: no text makes it panic, and the parts are parts of the text.
func FuzzParse(f *testing.F) {
	f.Add("insert into db.t with label l (a) select c1 as x, 'y' from http_stream('a'='b') h where c1 > (1);")
	f.Add("insert into db.t select `a``b` from http_stream(")
	f.Fuzz(func(t *testing.T, sql string) {
		s, err := Parse(sql)
		if err != nil {
			return
		}
		for _, part := range append([]string{s.Where}, s.Items...) {
			if !strings.Contains(sql, part) {
				t.Errorf("%q is not in %q", part, sql)
			}
		}
		if len(s.Items) == 0 || s.DB == "" || s.Table == "" {
			t.Errorf("%q: %+v", sql, s)
		}
	})
}
