package mysql

import (
	"dorisgo/block"
	"dorisgo/value"
)

var allTypes = []Column{
	{Name: "b", Type: value.Type{Kind: value.Boolean}},
	{Name: "t", Type: value.Type{Kind: value.TinyInt}, NotNull: true},
	{Name: "s", Type: value.Type{Kind: value.SmallInt}},
	{Name: "i", Type: value.Type{Kind: value.Int}},
	{Name: "l", Type: value.Type{Kind: value.BigInt}},
	{Name: "ll", Type: value.Type{Kind: value.LargeInt}},
	{Name: "f", Type: value.Type{Kind: value.Float}},
	{Name: "d", Type: value.Type{Kind: value.Double}},
	{Name: "dec", Type: value.Type{Kind: value.Decimal, Precision: 20, Scale: 3}},
	{Name: "dt", Type: value.Type{Kind: value.Date}},
	{Name: "ts", Type: value.Type{Kind: value.DateTime}},
	{Name: "ts6", Type: value.Type{Kind: value.DateTime, Scale: 6}},
	{Name: "c", Type: value.Type{Kind: value.Char, Length: 4}},
	{Name: "v", Type: value.Type{Kind: value.VarChar, Length: 50}},
	{Name: "str", Type: value.Type{Kind: value.String}},
	{Name: "j", Type: value.Type{Kind: value.JSON}},
}

// typesBlock has a row of values, a row at limits and a row of NULLs.
func typesBlock() *block.Block {
	types := make([]value.Type, len(allTypes))
	for i, c := range allTypes {
		types[i] = c.Type
	}
	b := block.New(types)
	day := int64(value.DaysFromCivil(2024, 2, 29)) * 86400e6
	for i, n := range []int64{1, -1, -300, 70000, -5e9} {
		b.Col(i).AppendInt64(n)
	}
	b.Col(5).AppendInt128(value.Int128{Hi: -1 << 63})
	b.Col(6).AppendFloat64(0.1)
	b.Col(7).AppendFloat64(-2.5)
	b.Col(8).AppendInt128(value.Int128{Lo: 12345})
	b.Col(9).AppendInt64(int64(value.DaysFromCivil(2024, 2, 29)))
	b.Col(10).AppendInt64(day)
	b.Col(11).AppendInt64(day + 3723e6 + 1)
	for i, s := range []string{"ab", "it's", "中文", `{"k":1}`} {
		b.Col(12 + i).AppendBytes([]byte(s))
	}
	b.EndRow()
	for i, n := range []int64{0, 127, 32767, -1 << 31, -1 << 63} {
		b.Col(i).AppendInt64(n)
	}
	b.Col(5).AppendInt128(value.Int128{Hi: 1<<63 - 1, Lo: 1<<64 - 1})
	b.Col(6).AppendFloat64(0)
	b.Col(7).AppendFloat64(1e300)
	b.Col(8).AppendInt128(value.Int128{Hi: -1, Lo: 1<<64 - 1})
	b.Col(9).AppendInt64(int64(value.DaysFromCivil(0, 1, 1)))
	b.Col(10).AppendInt64(int64(value.DaysFromCivil(1969, 12, 31))*86400e6 + 86399e6)
	b.Col(11).AppendInt64(int64(value.DaysFromCivil(9999, 12, 31))*86400e6 + 86399999999)
	for i := range 4 {
		b.Col(12 + i).AppendBytes(nil)
	}
	b.EndRow()
	for i := range types {
		b.Col(i).AppendNull()
	}
	b.EndRow()
	return b
}
