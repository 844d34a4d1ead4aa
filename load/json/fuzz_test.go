package json

import (
	stdjson "encoding/json"
	"slices"
	"testing"
)

// FuzzDecode: any cut of the bytes gives the same rows, errors and counters, and
// nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add(`{"id":1,"n":1,"n":2}`+"\n"+`{"id":2} x`, uint8(1), uint8(0))
	f.Add(`[{"id":1},7,null,[],{"s":"\ud83d\ude00"}]`, uint8(2), uint8(3))
	f.Add(`{"a":{"b":[1,{"id":2}]}}`, uint8(3), uint8(4))
	f.Add("\xEF\xBB\xBF{\"a\":[{\"id\":1}]}\r\n{", uint8(1), uint8(7))
	f.Fuzz(func(t *testing.T, body string, cut, form uint8) {
		tt := testCase{body: body, series: form&1 != 0, strip: form&2 != 0}
		if form&4 != 0 {
			tt.root = "$.a"
		}
		if form&8 != 0 {
			tt.paths = `["$.b[1].id","$.s","$['n']"]`
		}
		whole, pieces := tt.run(t, 0), tt.run(t, int(cut)+1, 1)
		if (whole.Err == nil) != (pieces.Err == nil) {
			t.Fatalf("errors %v, %v", whole.Err, pieces.Err)
		}
		if !slices.Equal(whole.Rows, pieces.Rows) || !slices.Equal(whole.Errors, pieces.Errors) {
			t.Errorf("cut by %d: rows %q, errors %q, want %q, %q", cut, pieces.Rows, pieces.Errors, whole.Rows, whole.Errors)
		}
	})
}

// FuzzValue: the tokenizer takes what the standard library takes, but for deep
// nesting.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e-3,"x\u00e9\n",true,false,null]}`, `[]`, `{}`, `"\ud800"`, `-0`, `01`, `{"a":1,}`, `[1 2]`, "\"\x01\"", `nul`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := []byte(s)
		i := skipBlanks(b, 0)
		end, _ := scanner{b}.value(i, 0)
		ok := end >= 0 && skipBlanks(b, end) == len(b)
		if valid := stdjson.Valid(b); ok != valid && len(b) < maxDepth {
			t.Errorf("%q: %v, the standard library says %v", s, ok, valid)
		}
	})
}
