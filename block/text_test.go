package block

import (
	"errors"
	"strings"
	"testing"

	"dorisgo/value"
)

// TestStrings: lengths are bytes, a cut is at a character's edge, and what is
// stored is always UTF-8.
func TestStrings(t *testing.T) {
	cases := []struct {
		typ    value.Type
		in     string
		cut    string
		strict value.ErrorKind // 0: stored whole in both modes
		lax    value.ErrorKind
	}{
		{typ(value.VarChar, 4), "abcd", "abcd", 0, 0},
		{typ(value.VarChar, 4), "abcde", "abcd", value.TooLong, 0},
		{typ(value.VarChar, 4), "中a", "中a", 0, 0},
		{typ(value.VarChar, 4), "中文", "中", value.TooLong, 0},
		{typ(value.VarChar, 4), "ab😀", "ab", value.TooLong, 0},
		{typ(value.VarChar, 4), "ééé", "éé", value.TooLong, 0},
		{typ(value.Char, 1), "é", "", value.TooLong, 0},
		{typ(value.Char, 3), " a ", " a ", 0, 0},
		{typ(value.VarChar, 4), "", "", 0, 0},
		{typ(value.VarChar, 9), "a\xc0\xafb", "", value.BadUTF8, value.BadUTF8},
		{typ(value.VarChar, 9), "a\xffb", "", value.BadUTF8, value.BadUTF8},
		{typ(value.VarChar, 1), "a\xff", "", value.BadUTF8, value.BadUTF8},
		{typ(value.String), "\xed\xa0\x80", "", value.BadUTF8, value.BadUTF8},
		{typ(value.String), "nul\x00", "nul\x00", 0, 0},
		{typ(value.String), strings.Repeat("x", 20), strings.Repeat("x", 20), 0, 0},
		{typ(value.String), strings.Repeat("x", 21), "", value.TooLong, value.TooLong},
		{typ(value.JSON), `{"a" : 1}`, `{"a":1}`, 0, 0},
		{typ(value.JSON), `{"a":`, "", value.Malformed, value.Malformed},
		{typ(value.JSON), "", "", value.Malformed, value.Malformed},
		{typ(value.JSON), "\"\xff\"", "", value.BadUTF8, value.BadUTF8},
		{typ(value.JSON), `"` + strings.Repeat("x", 21) + `"`, "", value.TooLong, value.TooLong},
	}
	for _, c := range cases {
		for _, strict := range []bool{true, false} {
			bad := c.lax
			if strict {
				bad = c.strict
			}
			col := New([]value.Type{c.typ}).Col(0)
			err := col.AppendText([]byte(c.in), &ConvertOptions{Strict: strict, StringLimit: 20})
			conv, _ := errors.AsType[*value.ConvError](err)
			switch {
			case bad != 0 && (conv == nil || conv.Kind != bad || conv.Type != c.typ || col.Len() != 0):
				t.Errorf("%s %q, strict %v: %v, %d values", c.typ, c.in, strict, err, col.Len())
			case bad == 0 && (err != nil || string(col.Raw(0)) != c.cut):
				t.Errorf("%s %q, strict %v: %v", c.typ, c.in, strict, err)
			}
		}
	}
}

// TestRefusedTextLeavesNoTrace covers each kind's own branch.
func TestRefusedTextLeavesNoTrace(t *testing.T) {
	for k := value.Boolean; k <= value.DateTime; k++ {
		typ := value.Type{Kind: k, Precision: 5, Scale: 2}
		col := New([]value.Type{typ}).Col(0)
		err := col.AppendText([]byte("x"), &ConvertOptions{})
		if conv, ok := errors.AsType[*value.ConvError](err); !ok || conv.Type.Kind != k || col.Len() != 0 || len(col.data) != 0 {
			t.Errorf("%s: %v", typ, err)
		}
	}
	if err := New(make([]value.Type, 1)).Col(0).AppendText(nil, &ConvertOptions{}); err == nil {
		t.Error("a column without type takes a value")
	}
}
