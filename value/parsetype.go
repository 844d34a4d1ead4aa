package value

import (
	"fmt"
	"strings"
)

// TypeError is the refusal of a type by its name or parameters.
type TypeError struct {
	// Name is the type's name as written, in lower case.
	Name string
	// Unsupported says that Doris has the type and dorisgo does not.
	Unsupported bool
	// Msg is the text for the client.
	Msg string
}

// Error is the text for the client.
func (e *TypeError) Error() string { return e.Msg }

// typeNames maps names of the DDL to kinds.
var typeNames = map[string]Kind{
	"boolean": Boolean, "bool": Boolean,
	"tinyint": TinyInt, "smallint": SmallInt, "int": Int, "integer": Int, "bigint": BigInt, "largeint": LargeInt,
	"float": Float, "double": Double,
	"decimal": Decimal, "decimalv3": Decimal, "numeric": Decimal,
	"date": Date, "datev2": Date, "datetime": DateTime, "datetimev2": DateTime,
	"char": Char, "varchar": VarChar, "string": String, "text": String,
	"json": JSON, "jsonb": JSON,
}

// unsupportedTypes are types of Doris that dorisgo refuses by name.
var unsupportedTypes = map[string]bool{
	"array": true, "map": true, "struct": true, "variant": true, "hll": true, "bitmap": true,
	"quantile_state": true, "agg_state": true, "ipv4": true, "ipv6": true, "time": true, "timestamptz": true,
	"varbinary": true, "decimalv2": true, "datev1": true, "datetimev1": true,
}

// ParseType is the type of a DDL name (any case) and its parameters. Without
// parameters DECIMAL is (38,9), DATETIME has scale 0, CHAR one byte and
// VARCHAR 65533. The error is a *TypeError.
func ParseType(name string, params ...int) (Type, error) {
	name = strings.ToLower(name)
	k, ok := typeNames[name]
	if !ok {
		if unsupportedTypes[name] {
			return Type{}, &TypeError{Name: name, Unsupported: true, Msg: fmt.Sprintf("type %s is not supported", name)}
		}
		return Type{}, typeError(name, "unknown type: %s", name)
	}
	if most := maxParams(k); len(params) > most {
		return Type{}, typeError(name, "type %s takes at most %d parameters, got %d", name, most, len(params))
	}
	switch k {
	case Decimal:
		return parseDecimalType(name, params)
	case DateTime:
		return parseDateTimeType(name, params)
	case Char:
		return parseLengthType(name, k, MaxCharLength, 1, params)
	case VarChar:
		return parseLengthType(name, k, MaxVarCharLength, MaxVarCharLength, params)
	default:
		// The display width of integers, as in INT(11), has no meaning.
		return Type{Kind: k}, nil
	}
}

func maxParams(k Kind) int {
	switch k {
	case Decimal:
		return 2
	case TinyInt, SmallInt, Int, BigInt, LargeInt, DateTime, Char, VarChar:
		return 1
	default:
		return 0
	}
}

func parseDecimalType(name string, params []int) (Type, error) {
	p, s := MaxDecimalPrecision, 9
	if len(params) > 0 {
		p, s = params[0], 0
	}
	if len(params) > 1 {
		s = params[1]
	}
	if p < 1 || p > MaxDecimalPrecision {
		return Type{}, typeError(name, "Precision of decimal must between 1 and %d. Precision was set to: %d", MaxDecimalPrecision, p)
	}
	if s < 0 || s > p {
		return Type{}, typeError(name, "Scale of decimal must between 0 and precision. Scale was set to: %d, where precision is %d", s, p)
	}
	return Type{Kind: Decimal, Precision: uint8(p), Scale: uint8(s)}, nil
}

func parseDateTimeType(name string, params []int) (Type, error) {
	s := 0
	if len(params) > 0 {
		s = params[0]
	}
	if s < 0 || s > MaxDateTimeScale {
		return Type{}, typeError(name, "Scale of Datetime/Time must between 0 and %d. Scale was set to: %d", MaxDateTimeScale, s)
	}
	return Type{Kind: DateTime, Scale: uint8(s)}, nil
}

func parseLengthType(name string, k Kind, most, otherwise int, params []int) (Type, error) {
	n := otherwise
	if len(params) > 0 {
		n = params[0]
	}
	if n < 1 {
		return Type{}, typeError(name, "%s size must be > 0: %d", name, n)
	}
	if n > most {
		return Type{}, typeError(name, "%s size must be <= %d: %d", name, most, n)
	}
	return Type{Kind: k, Length: uint32(n)}, nil
}

func typeError(name, format string, args ...any) *TypeError {
	return &TypeError{Name: name, Msg: fmt.Sprintf(format, args...)}
}
