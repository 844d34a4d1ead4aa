package json

import (
	stdjson "encoding/json"
	"slices"
	"testing"

	"dorisgo/load/loadtest"
)

// FuzzDecode: any cut of the bytes and the careful way give the same rows,
// errors and counters, which add up, and nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add(`{"id":1,"n":1,"n":2}`+"\n"+`{"id":2} x`, uint16(1), uint8(0))
	f.Add(`[{"id":1},7,null,[],{"s":"\ud83d\ude00"}]`, uint16(2), uint8(3))
	f.Add(`{"a":{"b":[1,{"id":2}]}}`, uint16(3), uint8(4))
	f.Add("\xEF\xBB\xBF{\"a\":[{\"id\":1}]}\r\n{", uint16(1), uint8(7))
	f.Add(`{"a":1,"b":2,"c":3.45,"d":"1996-03-13","e":"1996-03-13 10:11:12.5"}`+"\n"+`{"b":true,"a":"\u0031","c":null, "D":"x" }`, uint16(9), uint8(0x10))
	f.Add(`{"id":1,"f":0.5,"g":1e3,"l":12345678901234567890,"b":true,"v":"abcdef","j":{"a": [1]}}{"v":"\xff\""}`, uint16(64), uint8(0x31))
	f.Fuzz(func(t *testing.T, body string, cut uint16, form uint8) {
		tt := testCase{body: body, series: form&1 != 0, strip: form&2 != 0, strict: form&64 != 0}
		tt.table = []string{
			"", "a TINYINT, b BIGINT NOT NULL, c DECIMAL(9,2), d DATE, e DATETIME(3)",
			"s STRING, a STRING, j JSON",
			`id INT NOT NULL DEFAULT "7", f FLOAT, g DOUBLE, l LARGEINT, b BOOLEAN, v VARCHAR(5) NOT NULL, j JSON`,
		}[form>>4%4]
		if form&4 != 0 {
			tt.root = "$.a"
		}
		if form&8 != 0 && tt.table == "" {
			tt.paths = []string{`["$.b[1].id","$.s","$['n']"]`, `["$.id","$.a.b","$.a"]`, `["$","$[0]","$.n"]`}[cut%3]
		}
		whole := tt.run(t, 0)
		careful := tt
		careful.careful = true
		for what, other := range map[string]*loadtest.Result{
			"cut": tt.run(t, int(cut)+1, 1), "careful": careful.run(t, 0), "careful, cut": careful.run(t, 1, int(cut)+1),
		} {
			if (whole.Err == nil) != (other.Err == nil) || !slices.Equal(whole.Rows, other.Rows) || !slices.Equal(whole.Errors, other.Errors) || whole.Counts != other.Counts {
				t.Errorf("%s by %d: %v, rows %q, errors %q, %+v, want %v, %q, %q, %+v", what, cut, other.Err, other.Rows, other.Errors, other.Counts, whole.Err, whole.Rows, whole.Errors, whole.Counts)
			}
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
