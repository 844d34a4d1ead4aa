package ddl

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

func build(t *testing.T, sql string) (*meta.Table, error) {
	t.Helper()
	s, err := Parse(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s.(*CreateTable).Build(BuildOptions{AutoBuckets: 4, MaxBuckets: 100})
}

func TestBuild(t *testing.T) {
	got, err := build(t, "create table dt (id int(11) not null, name varchar(50), score int) engine=olap "+
		"duplicate key(ID) comment 'c' distributed by hash(`Name`, id) buckets 3")
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "dt" || got.Keys != meta.DuplicateKeys || got.KeyCount != 1 || got.Comment != "c" ||
		got.Buckets != 3 || !reflect.DeepEqual(got.DistCols, []int{1, 0}) || got.Props.AutoBucket {
		t.Errorf("table %+v", got)
	}
	if c := got.Columns[0]; !c.Key || c.Nullable || c.Type.String() != "int" {
		t.Errorf("column %+v", c)
	}
	if c := got.Columns[1]; c.Key || !c.Nullable || c.Type.String() != "varchar(50)" {
		t.Errorf("column %+v", c)
	}
}

func TestDefaultKeys(t *testing.T) {
	for cols, want := range map[string]int{
		"a int, b int, c int, d int":         3,
		"a int":                              1,
		"a int, b varchar(9), c int":         2,
		"a varchar(9), c int":                1,
		"a int, b double, c int":             1,
		"a largeint, b largeint, c largeint": 2,
		"a char(100), b int":                 1,
		"a int, b char(100)":                 1,
		"a int, b string":                    1,
	} {
		got, err := build(t, "create table t ("+cols+")")
		if err != nil || got.KeyCount != want || !got.Columns[0].Key {
			t.Errorf("%s: %+v, %v, want %d keys", cols, got, err, want)
		}
		if got.Buckets != 4 || !got.Props.AutoBucket || got.DistCols != nil {
			t.Errorf("%s: distribution %+v", cols, got)
		}
	}
	got, err := build(t, `create table t (a double, b int) distributed by random buckets 2 properties ("enable_duplicate_without_keys_by_default" = "true")`)
	if err != nil || got.KeyCount != 0 || got.Columns[0].Key {
		t.Errorf("without keys: %+v, %v", got, err)
	}
}

// TestBuildErrors has the texts of Doris.
func TestBuildErrors(t *testing.T) {
	for sql, want := range map[string]string{
		"create table t": "table should contain at least one column",
		"create table t (a double) duplicate key(a)":                                   "Float or double can not used as a key, use decimal instead.",
		"create table t (a string) duplicate key(a)":                                   "String Type should not be used in key column[a]",
		"create table t (a json) duplicate key(a)":                                     "JsonType type should not be used in key column[a].",
		"create table t (a float, b int)":                                              "The olap table first column could not be float, double, string or array, struct, map, please use decimal or varchar instead.",
		"create table t (`__DORIS_x` int)":                                             "Disable to create table column with name start with __DORIS_: __DORIS_x",
		"create table t (a int not null default null)":                                 "Can not set null default value to non nullable column: a",
		"create table t (a int, A int)":                                                "Duplicate column name 'A'",
		"create table t (a int, b int) duplicate key(b)":                               "Key columns should be a ordered prefix of the schema. KeyColumns[0] (starts from zero) is b, but corresponding column is a",
		"create table t (a int) duplicate key(c)":                                      "Key column[c] doesn't exist.",
		"create table t (a int) duplicate key(a, a)":                                   "The number of key columns should be less than the number of columns.",
		"create table t (a int) distributed by hash(b)":                                "Distribution column(b) doesn't exist.",
		"create table t (a int, b float) distributed by hash(b)":                       "Floating point type should not be used in distribution column[b].",
		"create table t (a int) distributed by hash(a, a)":                             "Duplicated distribution column a",
		"create table t (a int) distributed by hash(a) buckets 101":                    "the number of buckets is 101, at most 100",
		"create table t (a int) unique key(a) distributed by random buckets 1":         "Should not be distributed by random when keys type is unique",
		"create table t (a int, b int) unique key(a) distributed by hash(b)":           "Distribution column[b] is not key column",
		"create table t (a int, b int) aggregate key(a)":                               "should set aggregation type to non-key column in aggregate key table",
		"create table t (a int, b int replace) aggregate key(a) distributed by random": "Should not be distributed by random when keys type is aggregate",
		"create table t (a int, b int sum)":                                            "Cannot specify aggregation type SUM of column b",
		"create table t (a int default 'x')":                                           "Invalid default value 'x' for column a",
		"create table t (a varchar(2) default 'abc')":                                  "Invalid default value 'abc' for column a",
		"create table t (a int default current_timestamp)":                             "Types other than DATETIME and DATETIMEV2 cannot use current_timestamp as the default value",
		"create table t (a datetime default current_timestamp(3))":                     "default value precision: current_timestamp(3) can not be greater than type precision: datetime",
		"create table t (a int default current_date)":                                  "Types other than DATE and DATEV2 cannot use current_date",
		"create table t (a foo)":                                                       "unknown type: foo",
		"create table t (a varchar(70000))":                                            "varchar size must be <= 65533: 70000",
		"create table `a b` (a int)":                                                   "Incorrect table name 'a b'",
		"create table `1a` (a int)":                                                    "Incorrect table name '1a'",
		"create table t (`a\nb` int)":                                                  "Incorrect column name",
	} {
		_, err := build(t, sql)
		if !doriserr.Is(err, doriserr.Analysis) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
	for sql, want := range map[string]string{
		"create table t (a int) unique key(a) distributed by hash(a) buckets 1":               "table model UNIQUE KEY is not supported",
		"create table t (a int, b int sum) aggregate key(a) distributed by hash(a) buckets 1": "table model AGGREGATE KEY is not supported",
		"create table t (a int) partition by range(a) ()":                                     "PARTITION BY is not supported",
		"create table t (a int) engine=mysql":                                                 "ENGINE=MYSQL is not supported",
		"create table t (a int, index i (a))":                                                 "INDEX i is not supported",
		"create table t (a int) rollup (r (a))":                                               "ROLLUP is not supported",
		"create table t (a bitmap)":                                                           "type bitmap is not supported",
	} {
		_, err := build(t, sql)
		if !doriserr.Is(err, doriserr.Unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

func TestNamesOfAnyScript(t *testing.T) {
	got, err := build(t, "create table `表1` (ID int, `desc` int, `@t` int, `编号` int, Mixed int) distributed by hash(`编号`) buckets 1")
	if err != nil || got.DistCols[0] != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, ok := range map[string]bool{"d": true, "_d-1": true, "": false, "-d": false, "a.b": false, strings.Repeat("x", 65): false} {
		if err := CheckDatabaseName(name); (err == nil) != ok {
			t.Errorf("database %q: %v", name, err)
		}
	}
}

// TestShowCreate compares with testdata and reads the statement back.
func TestShowCreate(t *testing.T) {
	props := []Property{{"replication_allocation", "tag.location.default: 1"}, {"light_schema_change", "true"}, {"group_commit_mode", "async_mode"}}
	for name, sql := range map[string]string{
		"dt": "create table dt (`id` int(11) NOT NULL, `name` varchar(50) NULL, `score` int(11) NULL) ENGINE=OLAP " +
			"DUPLICATE KEY(`id`) DISTRIBUTED BY HASH(`id`) BUCKETS 1",
		"all": "create table `a-1` (k1 bigint not null, k2 char(3), `desc` decimal(9,3) default 1.50, " +
			"s string default 'it\"s \\\\ x' comment 'say \"hi\"', d date default current_date, at datetime(6) not null default current_timestamp(3), " +
			"b boolean default null, h largeint, f float, g double, j json, t tinyint, u smallint, e datetime) " +
			"duplicate key(k1, k2) comment 'it''s' distributed by hash(k1, k2) buckets auto",
		"nokeys": `create table n (a double) distributed by random buckets 2 properties ("enable_duplicate_without_keys_by_default" = "true")`,
	} {
		tab, err := build(t, sql)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ps := props
		if name == "nokeys" {
			ps = []Property{{noKeysProperty, "true"}}
		}
		got := ShowCreate(tab, ps)
		file := filepath.Join("testdata", "show_create_"+name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got+"\n" {
			t.Errorf("%s (%v):\n%s", file, err, got)
		}
		again, err := build(t, got)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range tab.Columns {
			// DEFAULT NULL of a column with NULLs is not shown.
			if d := tab.Columns[i].Default; d != nil && d.Kind == meta.DefaultNull {
				tab.Columns[i].Default = nil
			}
		}
		if !reflect.DeepEqual(again, tab) {
			t.Errorf("%s reads back as %+v, want %+v", name, again, tab)
		}
	}
	if got := CreateDatabaseText("a`b"); got != "CREATE DATABASE `a``b`" {
		t.Error(got)
	}
}
