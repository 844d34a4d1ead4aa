package value

import "fmt"

// Kind is a Doris column type without its parameters. The numbers are written
// to disk (WAL header, rowset header, catalog): never renumber, only append.
type Kind uint8

// The kinds that a column may have.
const (
	Invalid  Kind = 0
	Boolean  Kind = 1
	TinyInt  Kind = 2
	SmallInt Kind = 3
	Int      Kind = 4
	BigInt   Kind = 5
	LargeInt Kind = 6
	Float    Kind = 7
	Double   Kind = 8
	Decimal  Kind = 9
	Date     Kind = 10
	DateTime Kind = 11
	Char     Kind = 12
	VarChar  Kind = 13
	String   Kind = 14
	JSON     Kind = 15
)

// Limits of the type parameters.
const (
	MaxDecimalPrecision = 38
	MaxDateTimeScale    = 6
	MaxCharLength       = 255
	MaxVarCharLength    = 65533
	// MaxStringLength is the default of the BE key
	// string_type_length_soft_limit_bytes, in bytes.
	MaxStringLength = 10485760
)

// Type is a column type. The zero value is invalid. Types are comparable.
type Type struct {
	Kind Kind
	// Precision is the number of digits of a Decimal, 1 to 38.
	Precision uint8
	// Scale is the digits after the point of a Decimal, or the fraction
	// digits (0 to 6) of a DateTime.
	Scale uint8
	// Length is the limit of Char and VarChar in bytes.
	Length uint32
}

// Width is the number of bytes of one value in a block vector, 0 for types of
// variable length. Booleans take one byte (0 or 1).
func (t Type) Width() int {
	switch t.Kind {
	case Boolean, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Float, Date:
		return 4
	case BigInt, Double, DateTime:
		return 8
	case LargeInt, Decimal:
		return 16
	default:
		return 0
	}
}

// IsVar reports whether values have variable length (strings and JSON).
func (t Type) IsVar() bool { return t.Kind >= Char }

// String is the type as SHOW CREATE TABLE and DESC print it: lower case, with
// parameters, for example "varchar(50)", "decimal(9,3)", "datetime(6)".
func (t Type) String() string {
	switch t.Kind {
	case Boolean:
		return "boolean"
	case TinyInt:
		return "tinyint"
	case SmallInt:
		return "smallint"
	case Int:
		return "int"
	case BigInt:
		return "bigint"
	case LargeInt:
		return "largeint"
	case Float:
		return "float"
	case Double:
		return "double"
	case Decimal:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale)
	case Date:
		return "date"
	case DateTime:
		if t.Scale == 0 {
			return "datetime"
		}
		return fmt.Sprintf("datetime(%d)", t.Scale)
	case Char:
		return fmt.Sprintf("char(%d)", t.Length)
	case VarChar:
		return fmt.Sprintf("varchar(%d)", t.Length)
	case String:
		return "text"
	case JSON:
		return "json"
	default:
		return fmt.Sprintf("invalid(%d)", t.Kind)
	}
}
