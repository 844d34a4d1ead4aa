package value

import (
	"errors"
	"testing"
)

func TestParseType(t *testing.T) {
	cases := []struct {
		name   string
		params []int
		want   string
	}{
		{"BOOLEAN", nil, "boolean"}, {"bool", nil, "boolean"}, {"TinyInt", nil, "tinyint"}, {"int", []int{11}, "int"}, {"integer", nil, "int"},
		{"bigint", nil, "bigint"}, {"largeint", nil, "largeint"}, {"float", nil, "float"}, {"double", nil, "double"},
		{"decimal", nil, "decimal(38,9)"}, {"decimal", []int{9}, "decimal(9,0)"}, {"DECIMALV3", []int{38, 38}, "decimal(38,38)"},
		{"date", nil, "date"}, {"datetime", nil, "datetime"}, {"datetimev2", []int{6}, "datetime(6)"}, {"char", nil, "char(1)"},
		{"char", []int{255}, "char(255)"}, {"varchar", nil, "varchar(65533)"}, {"varchar", []int{50}, "varchar(50)"},
		{"string", nil, "text"}, {"text", nil, "text"}, {"json", nil, "json"}, {"jsonb", nil, "json"},
	}
	for _, c := range cases {
		if got, err := ParseType(c.name, c.params...); err != nil || got.String() != c.want {
			t.Errorf("%s%v: %s, %v", c.name, c.params, got, err)
		}
	}
	refused := []struct {
		name        string
		params      []int
		unsupported bool
	}{
		{"decimal", []int{0}, false}, {"decimal", []int{39}, false}, {"decimal", []int{5, 6}, false}, {"decimal", []int{5, -1}, false},
		{"decimal", []int{5, 2, 1}, false}, {"datetime", []int{7}, false}, {"datetime", []int{-1}, false}, {"char", []int{256}, false},
		{"char", []int{0}, false}, {"varchar", []int{65534}, false}, {"varchar", []int{0}, false}, {"date", []int{1}, false},
		{"uuid", nil, false}, {"", nil, false}, {"bitmap", nil, true}, {"ARRAY", nil, true}, {"variant", nil, true},
	}
	for _, c := range refused {
		_, err := ParseType(c.name, c.params...)
		te, ok := errors.AsType[*TypeError](err)
		if !ok || te.Unsupported != c.unsupported || te.Error() == "" {
			t.Errorf("%s%v: %v", c.name, c.params, err)
		}
	}
}

func TestWidths(t *testing.T) {
	for name, want := range map[string]int{"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "largeint": 16, "float": 4,
		"double": 8, "decimal": 16, "date": 4, "datetime": 8, "char": 0, "varchar": 0, "string": 0, "json": 0} {
		typ, err := ParseType(name)
		if err != nil || typ.Width() != want || typ.IsVar() != (want == 0) {
			t.Errorf("%s: width %d, %v", name, typ.Width(), err)
		}
	}
}
