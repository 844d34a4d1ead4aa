package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/sql/translate"
	"dorisgo/value"
)

var inputs = []translate.Input{
	{Name: "a", Type: value.Type{Kind: value.String}, SQL: "s0"},
	{Name: "Tmp", Type: value.Type{Kind: value.String}, SQL: "s1"},
	{Name: "n", Type: value.Type{Kind: value.Int}, SQL: "c2"},
}

// TestScalar: an expression becomes SQL over the inputs' own names, and says
// what it uses.
func TestScalar(t *testing.T) {
	for _, tt := range []struct {
		text      string
		want      value.Kind
		condition bool
		sql       string
		typ       value.Kind
		uses      []int
		timed     bool
	}{
		{"concat(tmp, '-', A)", value.VarChar, false, "TRY((s1 || '-' || s0))", value.String, []int{0, 1}, false},
		{"n", value.Int, false, "TRY(TRY_CAST(c2 AS INTEGER))", value.Int, []int{2}, false},
		{"a", value.Int, false, "TRY(s0)", value.String, []int{0}, false},
		{"n > 1 and a is not null", value.Invalid, true, "TRY(((c2 > 1) AND (s0 IS NOT NULL)))", value.Boolean, []int{0, 2}, false},
		{"a", value.Invalid, true, "TRY((TRY_CAST(s0 AS DOUBLE) <> 0))", value.Boolean, []int{0}, false},
		{"unix_timestamp()", value.BigInt, false, "", value.BigInt, nil, true},
		{"-- a comment\n 1", value.Int, false, "TRY(TRY_CAST(1 AS INTEGER))", value.Int, nil, false},
		{"1 -- a comment", value.Int, false, "TRY(TRY_CAST(1 AS INTEGER))", value.Int, nil, false},
	} {
		s, err := translate.NewScalar(tt.text, inputs, translate.ScalarOptions{Want: value.Type{Kind: tt.want}, Condition: tt.condition}, env(t))
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if tt.sql != "" && s.SQL != tt.sql || s.Type.Kind != tt.typ || !slices.Equal(s.Uses, tt.uses) || s.Timed != tt.timed {
			t.Errorf("%s: %s, %s, uses %v, timed %t", tt.text, s.SQL, s.Type, s.Uses, s.Timed)
		}
	}
}

func TestScalarRefused(t *testing.T) {
	for text, want := range map[string]string{
		"nofunc(a)":                "function nofunc is not supported",
		"b":                        "no input b",
		"t.a":                      "no input t.a",
		"":                         "syntax error",
		"a, n":                     "Operand should contain 1 column(s)",
		"a) as x, (n":              "expected one expression",
		"a) from t where (1":       "expected one expression",
		"a) union (select 1":       "expected one expression",
		"a) limit (1":              "expected one expression",
		"a) order by (1":           "expected one expression",
		"(select a from t)":        "a subquery",
		"a in (select 1)":          "a subquery",
		"max(a)":                   "aggregate function max",
		"group_concat(a)":          "aggregate function group_concat",
		"approx_count_distinct(a)": "aggregate function",
		"a /* never closed":        "syntax error",
		"'a":                       "syntax error",
		"\xff":                     "not valid UTF-8",
		strings.Repeat("(", 600):   "nests deeper",
	} {
		o := translate.ScalarOptions{Unknown: func(n string) error { return doriserr.New(doriserr.Analysis, "no input %s", n) }}
		s, err := translate.NewScalar(text, inputs, o, env(t))
		if err == nil || !strings.Contains(err.Error(), want) || doriserr.KindOf(err) == doriserr.Internal {
			t.Errorf("%q: %+v, %v, want %q", text, s, err, want)
		}
	}
}

// FuzzScalar: no text makes it panic, and what it takes mentions no name that a
// client wrote.
func FuzzScalar(f *testing.F) {
	for _, s := range []string{"concat(a, n)", "a) from (t", "case a when 1 then n end", "a in (1, 'x')", "1 --", "`a``b`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, condition := range []bool{false, true} {
			s, err := translate.NewScalar(text, inputs, translate.ScalarOptions{Want: value.Type{Kind: value.BigInt}, Condition: condition}, env(t))
			if err != nil {
				if doriserr.KindOf(err) == doriserr.Internal {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			if !strings.HasPrefix(s.SQL, "TRY(") || strings.Contains(s.SQL, "__t") && !strings.Contains(text, "__t") {
				t.Errorf("%q: %s", text, fmt.Sprint(s.SQL))
			}
		}
	})
}
