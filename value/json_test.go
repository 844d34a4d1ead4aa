package value

import (
	"strings"
	"testing"
)

func TestValidJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	cases := map[string]bool{
		"null": true, "true": true, "false": true, "0": true, "-0": true, "1.5e-3": true, `"x"`: true, "{}": true, "[]": true,
		` {"a" : [1, {"b":null}] } `: true, `{"a":1,"a":2}`: true, `"\"\\\/\b\f\n\r\t\u00e9"`: true, `"\ud83d\ude00"`: true,
		deep(MaxJSONDepth): true, "\"\u2028中\"": true,
		"": false, " ": false, "nul": false, "01": false, "-": false, "+1": false, ".5": false, "1.": false, "1e": false, "NaN": false,
		`"x`: false, `'x'`: false, "{": false, `{"a"}`: false, `{"a":}`: false, `{"a":1,}`: false, `{a:1}`: false, "[1,]": false,
		"[1 2]": false, "1 2": false, "{} x": false, `"\x"`: false, `"\u12g4"`: false, `"\u123"`: false, `"\ud800"`: false,
		`"\ud800\u0041"`: false, `"\udc00"`: false, "\"a\nb\"": false, "\"\x00\"": false, "\"\xc0\xaf\"": false, "\"\xff\"": false,
		"\ufeff1": false, "// c\n1": false, deep(MaxJSONDepth + 1): false, `"\`: false, `"\u`: false,
	}
	for in, want := range cases {
		if got := ValidJSON([]byte(in)); got != want {
			t.Errorf("ValidJSON(%.40q) = %v", in, got)
		}
	}
}

func TestCompactJSON(t *testing.T) {
	for in, want := range map[string]string{
		" { \"a b\" : [ 1 ,\n2 ] , \"c\\\" \" : \" \\\\\" } ": `{"a b":[1,2],"c\" ":" \\"}`,
		"1":     "1",
		" 1\t":  "1",
		`"a b"`: `"a b"`,
	} {
		if got := string(AppendCompactJSON([]byte("x"), []byte(in))); got != "x"+want {
			t.Errorf("%q: got %q, want %q", in, got[1:], want)
		}
	}
}
