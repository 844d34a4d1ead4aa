package ddl

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

func show(kind ShowKind, change ...func(*Show)) *Show {
	s := &Show{Kind: kind, Scope: SessionScope, Limit: -1}
	for _, f := range change {
		f(s)
	}
	return s
}

func TestParse(t *testing.T) {
	type props = []Property
	for _, c := range []struct {
		sql  string
		want Statement
	}{
		{"create database if not exists `d b` properties ('a'='b')", &CreateDatabase{"d b", true, props{{"a", "b"}}}},
		{"CREATE SCHEMA internal.d;", &CreateDatabase{Name: "d"}},
		{"drop database if exists d force", &DropDatabase{"d", true, true}},
		{"-- c\nDROP TABLE IF EXISTS d.t FORCE ; ;", &DropTable{TableName{"d", "t"}, true, true}},
		{"drop table `table`", &DropTable{Name: TableName{"", "table"}}},
		{"truncate table t", &TruncateTable{Name: TableName{"", "t"}}},
		{`ALTER TABLE dt SET ("group_commit_interval_ms" = "2000")`, &AlterTableSet{TableName{"", "dt"}, props{{"group_commit_interval_ms", "2000"}}}},
		{`alter table d.t set (a = 5, 'b' = true)`, &AlterTableSet{TableName{"d", "t"}, props{{"a", "5"}, {"b", "true"}}}},
		{"use `my db`", &Use{"my db"}},
		{"desc t", &Describe{Name: TableName{"", "t"}}},
		{"describe d.t all", &Describe{Name: TableName{"d", "t"}, All: true}},
		{"explain t 'c%'", &Describe{Name: TableName{"", "t"}, Column: "c%"}},
		{"explain verbose select 1; ", &Explain{"VERBOSE", "select 1; "}},
		{"explain insert into t values (1)", &Explain{"", "insert into t values (1)"}},
		{"create user if not exists 'u'@'%' identified by 'p''w'", &CreateUser{UserName{"u", "%"}, true, &Password{Text: "p'w"}}},
		{"create user u@localhost", &CreateUser{User: UserName{"u", "localhost"}}},
		{"create user u identified by password '*AB'", &CreateUser{User: UserName{"u", "%"}, Password: &Password{"*AB", true}}},
		{"drop user if exists u@'10.%'", &DropUser{UserName{"u", "10.%"}, true}},
		{"alter user if exists u identified by 'x'", &SetPassword{&UserName{"u", "%"}, true, Password{Text: "x"}}},
		{"set password = password('x')", &SetPassword{Password: Password{Text: "x"}}},
		{"set password for 'u'@'%' = 'plain'", &SetPassword{User: &UserName{"u", "%"}, Password: Password{Text: "plain"}}},
		{"set password = '*" + strings.Repeat("0A", 20) + "'", &SetPassword{Password: Password{"*" + strings.Repeat("0A", 20), true}}},
		{"grant select_priv, load_priv on db1.* to 'u'@'%'", &Grant{Privileges: []string{"SELECT_PRIV", "LOAD_PRIV"}, Scope: "db1.*", User: UserName{"u", "%"}}},
		{"grant all privileges on *.*.* to role r", &Grant{Privileges: []string{"ALL"}, Scope: "*.*.*", User: UserName{Name: "r"}, Role: true}},
		{"revoke 'my role' from u", &Grant{Revoke: true, Privileges: []string{"my role"}, User: UserName{"u", "%"}}},
		{`admin set frontend config ("a" = "1")`, &AdminSetConfig{Config: props{{"a", "1"}}}},
		{`admin set frontend all configs (a = 'b')`, &AdminSetConfig{All: true, Config: props{{"a", "b"}}}},
		{`admin check tablet (1, 22) properties ("type" = "consistency")`, &AdminCheckTablets{[]int64{1, 22}, props{{"type", "consistency"}}}},
		{`ALTER SYSTEM ADD BACKEND "h:9050", "i:9050" properties ("tag.location"="x")`, &AlterSystem{AddBackend, []string{"h:9050", "i:9050"}, props{{"tag.location", "x"}}}},
		{`alter system drop backend '1:2'`, &AlterSystem{Action: DropBackend, Hosts: []string{"1:2"}}},
		{`alter system dropp backend 10001`, &AlterSystem{Action: DropBackendForce, Hosts: []string{"10001"}}},
		{`alter system decommission backend 'a:1'`, &AlterSystem{Action: DecommissionBackend, Hosts: []string{"a:1"}}},
		{`cancel decommission backend 'a:1'`, &AlterSystem{Action: CancelDecommission, Hosts: []string{"a:1"}}},
		{`alter system add follower 'a:9010'`, &AlterSystem{Action: AddFollower, Hosts: []string{"a:9010"}}},
		{"clean label l1 from d", &CleanLabel{"l1", "d"}},
		{"clean label from `d`", &CleanLabel{"", "d"}},
		{"begin", &Begin{}},
		{"BEGIN WITH LABEL `a-b`", &Begin{"a-b"}},
		{"start transaction with consistent snapshot, read only", &Begin{}},
		{"commit work and no chain no release", &Commit{}},
		{"rollback;", &Rollback{}},
		{"kill 12", &Kill{ID: 12}},
		{"kill connection 12", &Kill{ID: 12}},
		{"kill query 12", &Kill{Query: true, ID: 12}},
		{"kill query 'ab-cd'", &Kill{Query: true, QueryID: "ab-cd"}},
		{"lock tables a read local, d.b as x low_priority write", &LockTables{}},
		{"unlock tables", &UnlockTables{}},
	} {
		got, err := Parse(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.sql, got, c.want)
		}
	}
}

func TestParseShow(t *testing.T) {
	db := func(n string) func(*Show) { return func(s *Show) { s.DB = n } }
	on := func(d, n string) func(*Show) { return func(s *Show) { s.DB, s.Table = d, TableName{d, n} } }
	named := func(d, n string) func(*Show) { return func(s *Show) { s.Table = TableName{d, n} } }
	name := func(n string) func(*Show) { return func(s *Show) { s.Name = n } }
	like := func(p string) func(*Show) { return func(s *Show) { s.Like = &p } }
	full := func(s *Show) { s.Full = true }
	global := func(s *Show) { s.Scope = GlobalScope }
	partitions := func(names ...string) func(*Show) { return func(s *Show) { s.Partitions = names } }
	where := func(f Filter) func(*Show) { return func(s *Show) { s.Where = &f } }
	eq := func(c, v string) *Filter { return &Filter{Op: FilterEqual, Column: c, Values: []string{v}} }
	for _, c := range []struct {
		sql  string
		want *Show
	}{
		{"show databases", show(ShowDatabases)},
		{"show schemas like 'a%'", show(ShowDatabases, like("a%"))},
		{"show tables from d like 't\\_1'", show(ShowTables, db("d"), like(`t\_1`))},
		{"SHOW FULL TABLES IN `d` WHERE Table_type != 'VIEW'", show(ShowTables, full, db("d"), where(Filter{Op: FilterNotEqual, Column: "Table_type", Values: []string{"VIEW"}}))},
		{"show table status from d", show(ShowTableStatus, db("d"))},
		{"show full columns from t from d like '%'", show(ShowColumns, full, on("d", "t"), like("%"))},
		{"show fields in d.t", show(ShowColumns, on("d", "t"))},
		{"show create table d.t", show(ShowCreateTable, named("d", "t"))},
		{"show create database d", show(ShowCreateDatabase, name("d"))},
		{"show index from t", show(ShowIndex, on("", "t"))},
		{"show keys from `t` from `d`", show(ShowIndex, on("d", "t"))},
		{"show global variables like 'group_commit'", show(ShowVariables, global, like("group_commit"))},
		{"show session variables where variable_name in ('a', 'b')", show(ShowVariables, where(Filter{Op: FilterIn, Column: "variable_name", Values: []string{"a", "b"}}))},
		{"SHOW VARIABLES WHERE Variable_name ='language' OR Variable_name = 'x' AND NOT Value LIKE '1%'", show(ShowVariables, where(Filter{
			Op: FilterOr, Left: eq("Variable_name", "language"),
			Right: &Filter{Op: FilterAnd, Left: eq("Variable_name", "x"), Right: &Filter{Op: FilterNot, Left: &Filter{Op: FilterLike, Column: "Value", Values: []string{"1%"}}}}}))},
		{"show status", show(ShowStatus)},
		{"show warnings limit 3", show(ShowWarnings, func(s *Show) { s.Limit = 3 })},
		{"show count(*) warnings", show(ShowWarningCount)},
		{"show count(*) errors", show(ShowErrorCount)},
		{"show errors", show(ShowErrors)},
		{"show storage engines", show(ShowEngines)},
		{"show collation where charset = 'utf8mb4'", show(ShowCollation, where(*eq("charset", "utf8mb4")))},
		{"show character set", show(ShowCharset)},
		{"show full processlist", show(ShowProcesslist, full)},
		{"show backends", show(ShowBackends)},
		{"show frontends", show(ShowFrontends)},
		{"show frontends disks", show(ShowFrontendsDisks)},
		{"ADMIN SHOW FRONTEND CONFIG LIKE '%wal%'", show(ShowFrontendConfig, like("%wal%"))},
		{"show frontend config", show(ShowFrontendConfig)},
		{"show partitions from d.t order by PartitionId desc, `Range` limit 5, 10", show(ShowPartitions, on("d", "t"), func(s *Show) {
			s.OrderBy, s.Limit, s.Offset = []Order{{"PartitionId", true}, {"Range", false}}, 10, 5
		})},
		{"show tablets from t limit 10 offset 2", show(ShowTablets, on("", "t"), func(s *Show) { s.Limit, s.Offset = 10, 2 })},
		{"show tablets from d.t partition (p1, `p 2`) where BackendId = 10001 order by TabletId", show(ShowTablets, on("d", "t"), partitions("p1", "p 2"),
			where(*eq("BackendId", "10001")), func(s *Show) { s.OrderBy = []Order{{Column: "TabletId"}} })},
		{"admin show replica status from d.t partitions(p1) where status = 'OK'", show(ShowReplicaStatus, on("d", "t"), partitions("p1"), where(*eq("status", "OK")))},
		{"show replica status from t partition p1", show(ShowReplicaStatus, on("", "t"), partitions("p1"))},
		{"ADMIN SHOW REPLICA DISTRIBUTION FROM d.t", show(ShowReplicaSpread, on("d", "t"))},
		{"show tablet 10001", show(ShowTablet, name("10001"))},
		{"show transaction from d where label = 'x'", show(ShowTransaction, db("d"), where(*eq("label", "x")))},
		{"show transaction where id=12", show(ShowTransaction, where(*eq("id", "12")))},
		{"show last insert", show(ShowLastInsert)},
		{"show grants for 'u'@'%'", show(ShowGrants, func(s *Show) { s.User = &UserName{"u", "%"} })},
		{"show all grants", show(ShowAllGrants)},
		{"show plugins", show(ShowPlugins)},
		{"show triggers from d", show(ShowTriggers, db("d"))},
		{"show events", show(ShowEvents)},
		{"show procedure status where Db = 'd'", show(ShowProcedureStatus, where(*eq("Db", "d")))},
		{"show data from d.t", show(ShowData, on("d", "t"))},
		{"show data", show(ShowData)},
		{"show proc '/dbs/1'", show(ShowProc, name("/dbs/1"))},
		{"show load from d where label like 'a%'", show(ShowLoad, db("d"), where(Filter{Op: FilterLike, Column: "label", Values: []string{"a%"}}))},
		{"show alter table column from d", show(ShowAlterColumn, db("d"))},
	} {
		got, err := Parse(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.sql, got, c.want)
		}
	}
}

// TestShowForms reads every form of the table in its shortest spelling.
func TestShowForms(t *testing.T) {
	object := map[showObject]string{
		onTable: " FROM t", onPartitions: " FROM t", namedTable: " t", namedDatabase: " d", namedID: " 1", namedPath: " '/x'",
	}
	for _, f := range showForms {
		sql := "SHOW " + strings.Join(f.words, " ") + object[f.object]
		if f.words[0] == "COUNT" {
			sql = "SHOW COUNT(*) " + countWord(f.kind)
		}
		s, err := Parse(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if got := s.(*Show).Kind; got != f.kind {
			t.Errorf("%s is %s, want %s", sql, got, f.kind)
		}
	}
}

func TestParseSet(t *testing.T) {
	item := func(scope SetScope, name string, k ValueKind, text string) SetItem {
		return SetItem{scope, name, Value{k, text}}
	}
	for _, c := range []struct {
		sql  string
		want []SetItem
	}{
		{"set group_commit = async_mode", []SetItem{item(SessionScope, "group_commit", WordValue, "async_mode")}},
		{"SET a=1, @@session.B='x', GLOBAL c=-2, @@global.d = ON, session e = default, @@f := null, local g=+1.5",
			[]SetItem{
				item(SessionScope, "a", NumberValue, "1"), item(SessionScope, "b", StringValue, "x"),
				item(GlobalScope, "c", NumberValue, "-2"), item(GlobalScope, "d", WordValue, "ON"),
				item(SessionScope, "e", DefaultValue, ""), item(SessionScope, "f", NullValue, ""),
				item(SessionScope, "g", NumberValue, "1.5"),
			}},
		{"set @User_Var = 5, @`q v` = @x, @@sql_mode = @@global.Sql_Mode",
			[]SetItem{
				item(UserScope, "User_Var", NumberValue, "5"), item(UserScope, "q v", UserVariableValue, "x"),
				item(SessionScope, "sql_mode", VariableValue, "sql_mode"),
			}},
		{"SET NAMES utf8mb4 COLLATE utf8mb4_bin", []SetItem{
			item(SessionScope, "character_set_client", StringValue, "utf8mb4"),
			item(SessionScope, "character_set_connection", StringValue, "utf8mb4"),
			item(SessionScope, "character_set_results", StringValue, "utf8mb4"),
			item(SessionScope, "collation_connection", StringValue, "utf8mb4_bin"),
		}},
		{"set names default, autocommit = 1", []SetItem{
			item(SessionScope, "character_set_client", DefaultValue, ""),
			item(SessionScope, "character_set_connection", DefaultValue, ""),
			item(SessionScope, "character_set_results", DefaultValue, ""),
			item(SessionScope, "collation_connection", DefaultValue, ""),
			item(SessionScope, "autocommit", NumberValue, "1"),
		}},
		{"set character set 'utf8'", []SetItem{
			item(SessionScope, "character_set_client", StringValue, "utf8"),
			item(SessionScope, "character_set_results", StringValue, "utf8"),
		}},
		{"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", []SetItem{
			item(SessionScope, "transaction_isolation", StringValue, "REPEATABLE-READ"),
			item(SessionScope, "transaction_read_only", StringValue, "1"),
		}},
		{"set global transaction read write", []SetItem{item(GlobalScope, "transaction_read_only", StringValue, "0")}},
		{"SET sql_mode=concat(@@sql_mode, ',STRICT_TRANS_TABLES'), x = (1), y = 1+1", []SetItem{
			item(SessionScope, "sql_mode", ExpressionValue, "concat(@@sql_mode, ',STRICT_TRANS_TABLES')"),
			item(SessionScope, "x", ExpressionValue, "(1)"),
			item(SessionScope, "y", ExpressionValue, "1+1"),
		}},
		{"set names = 'x', global = 1, session = 2, charset = 3, `a` = `b`", []SetItem{
			item(SessionScope, "names", StringValue, "x"), item(SessionScope, "global", NumberValue, "1"),
			item(SessionScope, "session", NumberValue, "2"), item(SessionScope, "charset", NumberValue, "3"),
			item(SessionScope, "a", WordValue, "b"),
		}},
	} {
		got, err := Parse(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if !reflect.DeepEqual(got, &Set{c.want}) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.sql, got, c.want)
		}
	}
}

func TestNotOurs(t *testing.T) {
	for _, sql := range []string{"select 1", "(select 1)", "with x as (select 1) select 1", "insert into t values (1)", "update t set a=1", "delete from t", "values (1)"} {
		if _, err := Parse(sql); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for sql, want := range map[string]string{
		"":                                 "mismatched input '<EOF>' expecting a statement(line 1, pos 0)",
		"foo bar":                          "mismatched input 'foo' expecting a statement(line 1, pos 0)",
		"drop table t x":                   "mismatched input 'x' expecting <EOF>(line 1, pos 13)",
		"drop table a.b.c.d":               "mismatched input '.' expecting <EOF>",
		"create table t (\n a intt,\n b":   "mismatched input '<EOF>' expecting identifier(line 3, pos 2)",
		"create table t (a int b int)":     "mismatched input 'b' expecting ')'(line 1, pos 22)",
		"create table t (a int) foo":       "mismatched input 'foo' expecting {<EOF>, 'COMMENT'",
		"create table t (a int default b)": "mismatched input 'b' expecting {'CURRENT_DATE'",
		"create table t (a varchar(x))":    "mismatched input 'x' expecting integer",
		"create table t (a int) distributed by hash(a) buckets 0": "mismatched input '0' expecting a number of buckets",
		"create table t (a int) distributed by list(a)":           "mismatched input 'list' expecting {'HASH', 'RANDOM'}",
		"create table t (a int) duplicate key(a) unique key(a)":   "expecting one key clause only",
		"alter table t set":           "mismatched input '<EOF>' expecting '('",
		"alter table t set ()":        "Properties is not set",
		"alter table t set ('a' 'b')": "mismatched input ''b'' expecting '='",
		"set":                         "mismatched input '<EOF>' expecting variable",
		"set a":                       "mismatched input '<EOF>' expecting '='",
		"set a =":                     "mismatched input '<EOF>' expecting expression",
		"set a = , b = 1":             "mismatched input ',' expecting expression",
		"set a = 'x":                  "unterminated text starting with ''x'(line 1, pos 8)",
		"set transaction foo":         "mismatched input 'foo' expecting {'ISOLATION', 'READ'}",
		"show":                        "mismatched input '<EOF>' expecting what to show",
		"show columns":                "mismatched input '<EOF>' expecting {'FROM', 'IN'}",
		"show variables where a":      "mismatched input '<EOF>' expecting {'<', '=', '>', 'IN', 'LIKE'}",
		"show variables where a = b":  "mismatched input 'b' expecting literal",
		"show tables like a":          "mismatched input 'a' expecting string",
		"kill":                        "mismatched input '<EOF>' expecting integer",
		"kill 99999999999999999999":   "expecting integer of 64 bits",
		"grant select on d.* u":       "mismatched input 'u' expecting TO",
		"use":                         "mismatched input '<EOF>' expecting identifier",
		"create database 'x'":         "mismatched input ''x'' expecting identifier",
	} {
		_, err := Parse(sql)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", sql, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for sql, want := range map[string]string{
		"create table t like u":                                   "CREATE TABLE LIKE is not supported",
		"create table t as select 1":                              "CREATE TABLE AS SELECT is not supported",
		"create table t (a int auto_increment)":                   "AUTO_INCREMENT of column a is not supported",
		"create table t (a array<int>)":                           "type array is not supported",
		"create table t (a datetime on update current_timestamp)": "ON UPDATE of column a is not supported",
		"create materialized view v as select 1":                  "CREATE MATERIALIZED is not supported",
		"drop view v":                                             "DROP VIEW is not supported",
		"alter table t add column a int":                          "ALTER TABLE ADD COLUMN is not supported",
		"alter table t rename u":                                  "ALTER TABLE RENAME U is not supported",
		"alter database d set quota 1":                            "ALTER DATABASE is not supported",
		"truncate table t partition (p)":                          "TRUNCATE of single partitions is not supported",
		"use hive.d":                                              "catalog hive is not supported",
		"backup snapshot s to r":                                  "statement BACKUP is not supported",
		"load label l (x)":                                        "statement LOAD is not supported",
		"show routine load":                                       "SHOW ROUTINE is not supported",
		"admin check partition p":                                 "ADMIN CHECK is not supported",
		"alter system set x":                                      "ALTER SYSTEM SET is not supported",
		"set property for u 'a'='b'":                              "SET PROPERTY is not supported",
		"create user u default role 'r'":                          "DEFAULT ROLE of CREATE USER is not supported",
		"create user u password_expire default":                   "user option PASSWORD_EXPIRE is not supported",
		"grant usage_priv on resource 'r' to u":                   "GRANT ON RESOURCE is not supported",
		"rollback to savepoint s":                                 "ROLLBACK TO SAVEPOINT is not supported",
		"clean profile":                                           "CLEAN PROFILE is not supported",
	} {
		_, err := Parse(sql)
		if !doriserr.Is(err, doriserr.Unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", sql, err, want)
		}
	}
}

func TestParseCreateTable(t *testing.T) {
	const sql = "CREATE TABLE IF NOT EXISTS `db`.`dt` (\n" +
		"    `id` int(11) NOT NULL,\n" +
		"    `name` varchar(50) NULL DEFAULT 'x\\'y' COMMENT \"who\",\n" +
		"    index int default -5,\n" +
		"    v varchar(*), d DECIMAL(9, 3) default 1.5, `at` datetime(3) default current_timestamp(3),\n" +
		"    day date default CURRENT_DATE, b boolean default true, n int default null,\n" +
		"    INDEX idx (name) USING INVERTED PROPERTIES(\"a\"=\"b\") COMMENT 'c', s bigint sum null\n" +
		") ENGINE=OLAP\nDUPLICATE KEY(`id`)\nCOMMENT 'tab'\n" +
		"AUTO PARTITION BY RANGE(date_trunc(day, 'day')) (partition p values less than ('x)'))\n" +
		"DISTRIBUTED BY HASH(`id`, name) BUCKETS 3\nROLLUP (r1 (id))\n" +
		"PROPERTIES (\n    \"replication_num\" = \"1\"\n);"
	got, err := Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	lit := func(s string) *meta.Default { return &meta.Default{Kind: meta.DefaultLiteral, Text: s} }
	want := &CreateTable{
		Name: TableName{"db", "dt"}, IfNotExists: true,
		Columns: []ColumnDef{
			{Name: "id", TypeName: "int", TypeParams: []int{11}},
			{Name: "name", TypeName: "varchar", TypeParams: []int{50}, Nullable: true, Default: lit("x'y"), Comment: "who"},
			{Name: "index", TypeName: "int", Nullable: true, Default: lit("-5")},
			{Name: "v", TypeName: "varchar", Nullable: true},
			{Name: "d", TypeName: "DECIMAL", TypeParams: []int{9, 3}, Nullable: true, Default: lit("1.5")},
			{Name: "at", TypeName: "datetime", TypeParams: []int{3}, Nullable: true, Default: &meta.Default{Kind: meta.DefaultCurrentTimestamp, Scale: 3}},
			{Name: "day", TypeName: "date", Nullable: true, Default: &meta.Default{Kind: meta.DefaultCurrentDate}},
			{Name: "b", TypeName: "boolean", Nullable: true, Default: lit("true")},
			{Name: "n", TypeName: "int", Nullable: true, Default: &meta.Default{Kind: meta.DefaultNull}},
			{Name: "s", TypeName: "bigint", Nullable: true, Aggregate: "SUM"},
		},
		Indexes: []string{"idx"}, Engine: "OLAP", Keys: meta.DuplicateKeys, KeyColumns: []string{"id"}, Comment: "tab",
		Partition:    "AUTO PARTITION BY RANGE(date_trunc(day, 'day')) (partition p values less than ('x)'))",
		Distribution: &Distribution{Columns: []string{"id", "name"}, Buckets: 3}, Rollup: true,
		Properties: []Property{{"replication_num", "1"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestNoBackslash(t *testing.T) {
	got, err := ParseMode(`set a = 'x\'`, true)
	if err != nil || got.(*Set).Items[0].Value.Text != `x\` {
		t.Errorf("%+v, %v", got, err)
	}
}
