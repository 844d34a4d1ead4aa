package token

import (
	"slices"
	"strings"
	"testing"
)

// kinds is the text of each token with its kind, for tables.
func kinds(sql string, noBackslash bool) []string {
	l := Lexer{Src: []byte(sql), NoBackslash: noBackslash}
	var out []string
	for {
		t := l.Next()
		if t.Kind == EOF {
			return out
		}
		out = append(out, t.Kind.String()+" "+sql[t.Pos:t.End])
	}
}

func TestLexer(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want string
	}{
		{"", ""},
		{"insert INTO `a``b`.t", "word insert|word INTO|quoted name `a``b`|sign .|word t"},
		{"1 1.5 .5 1. 1e5 1E-5 1e 1x", "integer 1|number 1.5|number .5|number 1.|number 1e5|number 1E-5|word 1e|word 1x"},
		{"0x1F 0xZZ x'1f' X'' 0x", "hexadecimal number 0x1F|word 0xZZ|hexadecimal string x'1f'|hexadecimal string X''|word 0x"},
		{"x'1f", "unterminated text x'1f"},
		{`'it''s' "a""b" 'a\'b'`, `string 'it''s'|string "a""b"|string 'a\'b'`},
		{"'abc", "unterminated text 'abc"},
		{"`abc", "unterminated text `abc"},
		{"1 /* x", "integer 1|unterminated text /* x"},
		{"a -- b\nc --d # e\n/* ; */ ;", "word a|word c|sign -|sign -|word d|sign ;"},
		{"a --", "word a"},
		{"1--1", "integer 1|sign -|sign -|integer 1"},
		{"@a @'b c' @@global.x @@`y` @ ?", "user variable @a|user variable @'b c'|system variable @@global|sign .|word x|system variable @@`y`|sign @|?"},
		{"编号=a$1", "word 编号|sign =|word a$1"},
	} {
		got := strings.ReplaceAll(strings.Join(kinds(c.sql, false), "|"), "? ?", "?")
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
	if got := kinds(`'a\' b`, true); !slices.Equal(got, []string{`string 'a\'`, "word b"}) {
		t.Errorf("NO_BACKSLASH_ESCAPES: %q", got)
	}
}

func TestUnquote(t *testing.T) {
	for _, c := range []struct {
		in, want, noBackslash string
	}{
		{`''`, "", ""},
		{`'abc'`, "abc", "abc"},
		{`'it''s'`, "it's", "it's"},
		{`"a""b'c"`, `a"b'c`, `a"b'c`},
		{`'\n\t\r\b\0\Z\\\'\"\q\%\_'`, "\n\t\r\b\x00\x1a\\'\"q\\%\\_", ""},
		{`'\\N'`, `\N`, `\\N`},
		{`'a,b\n\tc'`, "a,b\n\tc", `a,b\n\tc`},
		{`'中\文'`, "中文", `中\文`},
	} {
		if got := string(Unquote(nil, []byte(c.in), false)); got != c.want {
			t.Errorf("%s: got %q want %q", c.in, got, c.want)
		}
		if c.noBackslash == "" {
			continue
		}
		if got := string(Unquote(nil, []byte(c.in), true)); got != c.noBackslash {
			t.Errorf("%s without backslashes: got %q want %q", c.in, got, c.noBackslash)
		}
	}
}

func TestNames(t *testing.T) {
	if got := string(AppendName(nil, "a`b")); got != "`a``b`" || Name([]byte(got)) != "a`b" {
		t.Errorf("name %s, back %s", got, Name([]byte(got)))
	}
	for _, nb := range []bool{false, true} {
		const text = "it's \\n \x00 \"中"
		lit := AppendString(nil, []byte(text), nb)
		if got := string(Unquote(nil, lit, nb)); got != text {
			t.Errorf("no backslash %v: %s reads back as %q", nb, lit, got)
		}
	}
}

func TestClassify(t *testing.T) {
	for sql, want := range map[string]Class{
		"":                                  Empty,
		" ; -- x\n;":                        Empty,
		"/* mysql-connector */ SELECT @@x":  Query,
		"(select 1)":                        Query,
		"with a as (select 1) select 1":     Query,
		";; insert into t values (1)":       Insert,
		"Update t set a=1":                  Update,
		"# c\ndelete from t":                Delete,
		"show tables":                       Command,
		"'x'":                               Command,
		"`insert`":                          Command,
		"/*!40101 SET NAMES utf8 */;":       Empty,
		"explain select 1":                  Command,
		"inserted":                          Command,
		"values row(1)":                     Query,
		"/*+ SET_VAR(a=1) */ insert into t": Insert,
	} {
		if got := Classify([]byte(sql)); got != want {
			t.Errorf("%q is %s, want %s", sql, got, want)
		}
	}
}

// TestSplit: a semicolon ends a statement unless quotes or comments hide it.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"", nil},
		{"select 1; select 2;", []string{"select 1", " select 2"}},
		{";; ;select 1", []string{"select 1"}},
		{`INSERT INTO t3 VALUES (1,'a;b',1); INSERT INTO t3 VALUES (2,'it''s; \\'' x',2) -- c;d`,
			[]string{`INSERT INTO t3 VALUES (1,'a;b',1)`, ` INSERT INTO t3 VALUES (2,'it''s; \\'' x',2) -- c;d`}},
		{"a /* ; */ `;` # ;\n b; -- ;", []string{"a /* ; */ `;` # ;\n b"}},
		{"a; 'open ; b", []string{"a", " 'open ; b"}},
		{"a; /* open ; b", []string{"a", " /* open ; b"}},
	} {
		var got []string
		for s := range Split([]byte(c.sql), false) {
			got = append(got, c.sql[s.Pos:s.End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q want %q", c.sql, got, c.want)
		}
	}
}

func TestParams(t *testing.T) {
	sql := "select ?, '?', `?`, /* ? */ ?+1 -- ?"
	if got := Params([]byte(sql), false); got != 2 {
		t.Errorf("%d parameters, want 2", got)
	}
}

func TestLineColumn(t *testing.T) {
	src := []byte("ab\ncd\n")
	for pos, want := range map[int][2]int{0: {1, 0}, 1: {1, 1}, 3: {2, 0}, 6: {3, 0}, 99: {3, 0}} {
		if l, c := LineColumn(src, pos); l != want[0] || c != want[1] {
			t.Errorf("position %d is line %d column %d, want %v", pos, l, c, want)
		}
	}
}
