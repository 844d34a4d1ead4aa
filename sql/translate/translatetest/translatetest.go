// Package translatetest holds a small catalog with rows, for tests that
// translate statements and for those that run the translations.
package translatetest

import (
	"fmt"
	"strings"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/sql/translate"
	"dorisgo/value"
)

// DB is the session's database of Env.
const DB = "test"

// tables are "db.table (name type, ...)" followed by rows; NULL is \N.
var tables = []struct {
	db, name, columns string
	rows              []string
}{
	{"test", "users", "id int, name varchar(50), score int, city varchar(20), born date, seen datetime(3), balance decimal(9,2), big bigint, huge largeint, ratio double, flag boolean, doc json", []string{
		`1|Ann|90|Paris|1990-05-17|2024-02-29 23:59:59.123|1234.50|9223372036854775807|170141183460469231731687303715884105727|0.5|1|{"a":{"b":"x"},"n":7}`,
		`2|bob|75|Berlin|1985-12-31|2024-03-01 00:00:00.000|-0.01|-9223372036854775808|-170141183460469231731687303715884105728|-2|0|{"a":[1,2]}`,
		`3|Çelik|\N|Paris|\N|\N|\N|\N|\N|\N|\N|\N`,
		`4|d'Arc|60||2000-01-01|1999-12-31 12:00:00.500|0.00|0|0|0|1|"text"`,
		`5|50%_\|90|Rome|1970-01-01|1970-01-01 00:00:00.000|9999999.99|42|42|1e+20|0|null`,
	}},
	{"test", "orders", "id bigint, user_id int, amount decimal(18,4), status varchar(10), at datetime", []string{
		`100|1|10.5000|paid|2024-01-01 10:00:00`,
		`101|1|20.0000|open|2024-01-02 11:30:00`,
		`102|2|0.3333|paid|2024-01-02 00:00:00`,
		`103|9|7.0000|\N|2024-02-10 00:00:00`,
	}},
	{"test", "nothing", "k int, v string", nil},
	{"other", "users", "id int, nick varchar(20)", []string{`1|annie`, `7|seven`}},
}

// Catalog holds the tables.
type Catalog map[string]map[string]*meta.Table

// New makes the catalog.
func New() (Catalog, error) {
	c := Catalog{}
	for i, tb := range tables {
		t := &meta.Table{ID: int64(i + 1), Name: tb.name}
		for n, col := range strings.Split(tb.columns, ", ") {
			name, typ, _ := strings.Cut(col, " ")
			ty, err := parseType(typ)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", col, err)
			}
			t.Columns = append(t.Columns, meta.Column{UniqueID: int32(n), Name: name, Type: ty, Nullable: true})
		}
		if c[tb.db] == nil {
			c[tb.db] = map[string]*meta.Table{}
		}
		c[tb.db][tb.name] = t
	}
	return c, nil
}

// Table implements translate.Catalog.
func (c Catalog) Table(db, name string) (*meta.Table, bool) {
	d, ok := c[db]
	return d[name], ok
}

// Rows are the rows of some columns of a table.
func (c Catalog) Rows(db, name string, cols []int) (*block.Block, error) {
	t, _ := c.Table(db, name)
	types := make([]value.Type, len(cols))
	for i, n := range cols {
		types[i] = t.Columns[n].Type
	}
	b := block.New(types)
	for _, tb := range tables {
		if tb.db != db || tb.name != name {
			continue
		}
		for _, row := range tb.rows {
			fields := strings.Split(row, "|")
			for i, n := range cols {
				if fields[n] == `\N` {
					b.Col(i).AppendNull()
				} else if err := b.Col(i).AppendText([]byte(fields[n]), &block.ConvertOptions{Strict: true}); err != nil {
					return nil, err
				}
			}
			b.EndRow()
		}
	}
	return b, nil
}

func parseType(s string) (value.Type, error) {
	name, rest, _ := strings.Cut(s, "(")
	var params []int
	if rest != "" {
		for p := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
			n := 0
			if _, err := fmt.Sscan(p, &n); err != nil {
				return value.Type{}, err
			}
			params = append(params, n)
		}
	}
	return value.ParseType(name, params...)
}

// Env is the surroundings of the tests' statements.
func Env(c Catalog) *translate.Env {
	zone := time.FixedZone("+08:00", 8*3600)
	return &translate.Env{
		Catalog: c, DB: DB, User: "root@%", ConnectionID: 7, Version: "5.7.99",
		Now: time.Date(2024, 6, 1, 12, 34, 56, 789012000, zone),
		Variable: func(name string, global bool) (any, error) {
			switch strings.ToLower(name) {
			case "version_comment":
				return "dorisgo", nil
			case "autocommit":
				return true, nil
			case "max_allowed_packet":
				if global {
					return int64(1 << 20), nil
				}
				return int64(16 << 20), nil
			case "insert_max_filter_ratio":
				return 1.5, nil
			}
			return nil, doriserr.New(doriserr.UnknownVariable, "Unknown system variable '%s'", name)
		},
		UserVariable: func(name string) any {
			if name == "x" {
				return int64(5)
			}
			return nil
		},
	}
}
