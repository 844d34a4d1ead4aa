package token

import "testing"

func FuzzLexer(f *testing.F) {
	for _, s := range []string{"", "select 'a;b' ; x", "0x1F x'1' 1e+5 @@a @'b", "/* -- # `", `'\`, "1.e5.6", "--", "?;?"} {
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, sql []byte, noBackslash bool) {
		l := Lexer{Src: sql, NoBackslash: noBackslash}
		last := 0
		for {
			tok := l.Next()
			if tok.Pos < last || tok.End < tok.Pos || tok.End > len(sql) || l.Pos != tok.End {
				t.Fatalf("token %+v after %d, lexer at %d of %d", tok, last, l.Pos, len(sql))
			}
			if tok.Kind == EOF {
				break
			}
			if tok.End == tok.Pos {
				t.Fatalf("empty token %+v", tok)
			}
			if tok.Kind == String || tok.Kind == Quoted {
				Unquote(nil, sql[tok.Pos:tok.End], noBackslash)
			}
			last = tok.End
		}
		end := 0
		for s := range Split(sql, noBackslash) {
			if s.Pos < end || s.End < s.Pos || s.End > len(sql) {
				t.Fatalf("span %+v after %d", s, end)
			}
			end = s.End
		}
		Classify(sql)
		Params(sql, noBackslash)
	})
}
