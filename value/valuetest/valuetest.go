// Package valuetest holds values of every column type for the tests of other
// packages: both limits, empty strings, and values that broke databases
// before. What goes in by any door must come out with the text Want.
package valuetest

import (
	"strings"

	"dorisgo/value"
)

// Case is one value: its text as a client sends it and as a query shows it.
type Case struct {
	Type value.Type
	// Text is a legal text of the value.
	Text string
	// Want is the text of the stored value.
	Want string
}

// Types are the types of Limits, each once, in order.
func Types() []value.Type {
	var types []value.Type
	seen := map[value.Type]bool{}
	for _, c := range Limits() {
		if !seen[c.Type] {
			seen[c.Type] = true
			types = append(types, c.Type)
		}
	}
	return types
}

// Limits are values of every type. Cases of one type stand together.
func Limits() []Case {
	var out []Case
	for _, g := range groups {
		for _, v := range g.values {
			out = append(out, Case{g.typ, v[0], v[1]})
		}
	}
	return out
}

type group struct {
	typ    value.Type
	values [][2]string
}

// same is values whose text is already the one shown.
func same(texts ...string) [][2]string {
	out := make([][2]string, len(texts))
	for i, t := range texts {
		out[i] = [2]string{t, t}
	}
	return out
}

func decimal(p, s uint8) value.Type {
	return value.Type{Kind: value.Decimal, Precision: p, Scale: s}
}

func datetime(s uint8) value.Type { return value.Type{Kind: value.DateTime, Scale: s} }

func kind(k value.Kind) value.Type { return value.Type{Kind: k} }

var strs = []string{
	"", " ", "0", "NULL", `\N`, `"q"`, "it's", "a,b\n\tc", "back\\slash", "nul\x00byte", "中文", "😀", "é", " blanks ",
	"\r\n", "\ufeffbom", "e\u0301",
}

var groups = []group{
	{kind(value.Boolean), [][2]string{{"0", "0"}, {"1", "1"}, {"true", "1"}, {"FALSE", "0"}}},
	{kind(value.TinyInt), append(same("-128", "127", "0", "-1"), [2]string{" +5 ", "5"}, [2]string{"1e2", "100"})},
	{kind(value.SmallInt), same("-32768", "32767", "0", "-1")},
	{kind(value.Int), append(same("-2147483648", "2147483647", "0", "-1"), [2]string{"-000", "0"})},
	{kind(value.BigInt), append(same("-9223372036854775808", "9223372036854775807", "0", "-1", "9007199254740993"),
		[2]string{"1.0", "1"})},
	{kind(value.LargeInt), same("-170141183460469231731687303715884105728", "170141183460469231731687303715884105727",
		"0", "-1", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "9223372036854775808",
		"100000000000000000000000000000000000000")},
	{kind(value.Float), append(same("3.4028235e+38", "-3.4028235e+38", "1e-45", "1.1754944e-38", "0", "-0", "0.1", "-1.5",
		"1e+07", "999999.9"), [2]string{"16777217", "1.6777216e+07"}, [2]string{"16777216.0", "1.6777216e+07"})},
	{kind(value.Double), append(same("1.7976931348623157e+308", "-1.7976931348623157e+308", "5e-324",
		"2.2250738585072014e-308", "0", "-0", "0.1", "-1.5", "1e+16", "0.0001", "9007199254740992"),
		[2]string{"0.30000000000000004", "0.30000000000000004"}, [2]string{"1e15", "1000000000000000"})},
	{decimal(1, 0), append(same("9", "-9", "0"), [2]string{"0.5", "1"}, [2]string{"-0.4", "0"})},
	{decimal(5, 2), [][2]string{{"999.99", "999.99"}, {"-999.99", "-999.99"}, {"1.005", "1.01"}, {"-1.005", "-1.01"},
		{"-280", "-280.00"}, {"0.000000000000000000000000000000000001", "0.00"}, {"999.994", "999.99"}}},
	{decimal(9, 3), [][2]string{{"123456.7895", "123456.790"}, {"0.001", "0.001"}, {"-0.001", "-0.001"}}},
	{decimal(18, 18), same("0.999999999999999999", "-0.999999999999999999", "0.000000000000000001")},
	{decimal(27, 9), same("999999999999999999.999999999", "-999999999999999999.999999999", "0.000000001")},
	{decimal(38, 0), same("99999999999999999999999999999999999999", "-99999999999999999999999999999999999999")},
	{decimal(38, 9), same("99999999999999999999999999999.999999999", "-99999999999999999999999999999.999999999")},
	{decimal(38, 38), same("0.99999999999999999999999999999999999999", "-0.99999999999999999999999999999999999999")},
	{kind(value.Date), append(same("0000-01-01", "9999-12-31", "1970-01-01", "1969-12-31", "2024-02-29", "2000-02-29",
		"1900-02-28", "0000-03-01"), [2]string{"20230111", "2023-01-11"}, [2]string{"2023-01-11 23:59:59.9", "2023-01-11"})},
	{datetime(0), append(same("0000-01-01 00:00:00", "9999-12-31 23:59:59", "1970-01-01 00:00:00", "1969-12-31 23:59:59",
		"1900-01-01 00:00:00"), [2]string{"2023-1-1 1:1:1", "2023-01-01 01:01:01"},
		[2]string{"20230111111111", "2023-01-11 11:11:11"}, [2]string{"2023-12-31 23:59:59.5", "2024-01-01 00:00:00"},
		[2]string{"2024-02-29", "2024-02-29 00:00:00"})},
	{datetime(3), append(same("0000-01-01 00:00:00.000", "9999-12-31 23:59:59.999"),
		[2]string{"2023-01-11T11:11:11.3", "2023-01-11 11:11:11.300"},
		[2]string{"2023-01-11 11:11:11.3335", "2023-01-11 11:11:11.334"})},
	{datetime(6), same("0000-01-01 00:00:00.000000", "0000-01-01 00:00:00.000001", "9999-12-31 23:59:59.999999",
		"1970-01-01 00:00:00.000001", "1969-12-31 23:59:59.999999")},
	{value.Type{Kind: value.Char, Length: value.MaxCharLength}, same(append(strs, strings.Repeat("x", value.MaxCharLength),
		strings.Repeat("中", value.MaxCharLength/3))...)},
	{value.Type{Kind: value.VarChar, Length: value.MaxVarCharLength}, same(append(strs,
		strings.Repeat("y", value.MaxVarCharLength), strings.Repeat("é", value.MaxVarCharLength/2))...)},
	{kind(value.String), same(append(strs, strings.Repeat("z", 100_000))...)},
	{kind(value.JSON), append(same("null", "true", "0", "-1.5e-10", `""`, "{}", "[]", `{"a":1,"a":2}`, `[[[[]]]]`,
		`"\ud83d\ude00\u0000 中"`, `12345678901234567890123`, `{"k":" sp ace \" "}`),
		[2]string{" { \"a\" :\t[ 1 , 2 ] }\n", `{"a":[1,2]}`})},
}
