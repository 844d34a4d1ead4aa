package ddl

import (
	"errors"
	"testing"

	"dorisgo/doriserr"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"create table if not exists d.t (a int(11) not null default 'x' comment 'c', index i (a) using inverted) engine=olap duplicate key(a) partition by range(a) () distributed by hash(a) buckets 3 properties ('a'='b')",
		"show full columns from t from d where a = 1 and not (b like 'x' or c in (1,2)) order by a desc limit 1,2",
		"set @@global.a = concat(1, (2)), names utf8 collate x, transaction isolation level read committed, @x := -1",
		"grant select_priv, all on *.*.* to 'u'@'%'", "alter system add backend 'a:1' properties (a=1)",
		"create user u@h identified by password '*A'", "explain verbose select 1", "begin with label l", "kill query 'x'",
		"alter table t set ('a'='b')", "lock tables a as b read", "show variables where ((((a=1))))", "set a='",
	} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, sql string, noBackslash bool) {
		s, err := ParseMode(sql, noBackslash)
		if err != nil {
			if _, ok := errors.AsType[*doriserr.Error](err); !ok && !errors.Is(err, ErrNotOurs) {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		switch s := s.(type) {
		case *CreateTable:
			tab, err := s.Build(BuildOptions{AutoBuckets: 1})
			if err != nil {
				return
			}
			if _, err := Parse(ShowCreate(tab, s.Properties)); err != nil {
				t.Fatalf("%q is shown as %q: %v", sql, ShowCreate(tab, s.Properties), err)
			}
		case *Show:
			if s.Where != nil {
				s.Where.Match(func(c string) (string, bool) { return c, c != "" })
			}
		}
	})
}
