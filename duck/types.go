package duck

import (
	"fmt"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"dorisgo/doriserr"
	"dorisgo/value"
)

// sqlType is the type that values of t have inside a query.
func sqlType(t value.Type) string {
	switch t.Kind {
	case value.Boolean:
		return "BOOLEAN"
	case value.TinyInt:
		return "TINYINT"
	case value.SmallInt:
		return "SMALLINT"
	case value.Int:
		return "INTEGER"
	case value.BigInt:
		return "BIGINT"
	case value.LargeInt:
		return "HUGEINT"
	case value.Float:
		return "FLOAT"
	case value.Double:
		return "DOUBLE"
	case value.Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case value.Date:
		return "DATE"
	case value.DateTime:
		return "TIMESTAMP"
	default:
		return "VARCHAR"
	}
}

// fileType is the type that a column of t has in a Parquet file: DuckDB would
// write a HUGEINT as DOUBLE.
func fileType(t value.Type) string {
	if t.Kind == value.LargeInt {
		return "VARCHAR"
	}
	return sqlType(t)
}

// logicalType is sqlType for the C interface; the caller destroys it.
func logicalType(t value.Type) mapping.LogicalType {
	if t.Kind == value.Decimal {
		return mapping.CreateDecimalType(t.Precision, t.Scale)
	}
	id, ok := map[value.Kind]mapping.Type{
		value.Boolean: mapping.TypeBoolean, value.TinyInt: mapping.TypeTinyInt, value.SmallInt: mapping.TypeSmallInt,
		value.Int: mapping.TypeInteger, value.BigInt: mapping.TypeBigInt, value.LargeInt: mapping.TypeHugeInt,
		value.Float: mapping.TypeFloat, value.Double: mapping.TypeDouble,
		value.Date: mapping.TypeDate, value.DateTime: mapping.TypeTimestamp,
	}[t.Kind]
	if !ok {
		id = mapping.TypeVarchar
	}
	return mapping.CreateLogicalType(id)
}

// resultType is the Doris type of a result column.
func resultType(lt mapping.LogicalType) (value.Type, error) {
	switch id := mapping.GetTypeId(lt); id {
	case mapping.TypeBoolean:
		return value.Type{Kind: value.Boolean}, nil
	case mapping.TypeTinyInt:
		return value.Type{Kind: value.TinyInt}, nil
	case mapping.TypeSmallInt, mapping.TypeUTinyInt:
		return value.Type{Kind: value.SmallInt}, nil
	case mapping.TypeInteger, mapping.TypeUSmallInt, mapping.TypeSQLNull:
		return value.Type{Kind: value.Int}, nil
	case mapping.TypeBigInt, mapping.TypeUInteger:
		return value.Type{Kind: value.BigInt}, nil
	case mapping.TypeUBigInt, mapping.TypeHugeInt:
		return value.Type{Kind: value.LargeInt}, nil
	case mapping.TypeFloat:
		return value.Type{Kind: value.Float}, nil
	case mapping.TypeDouble:
		return value.Type{Kind: value.Double}, nil
	case mapping.TypeDecimal:
		return value.Type{Kind: value.Decimal, Precision: mapping.DecimalWidth(lt), Scale: mapping.DecimalScale(lt)}, nil
	case mapping.TypeDate:
		return value.Type{Kind: value.Date}, nil
	case mapping.TypeTimestamp:
		return value.Type{Kind: value.DateTime, Scale: value.MaxDateTimeScale}, nil
	case mapping.TypeTimestampS:
		return value.Type{Kind: value.DateTime}, nil
	case mapping.TypeVarchar:
		if mapping.LogicalTypeGetAlias(lt) == "JSON" {
			return value.Type{Kind: value.JSON}, nil
		}
		return value.Type{Kind: value.String}, nil
	default:
		return value.Type{}, doriserr.New(doriserr.Unsupported, "result columns of the engine's type %s are not supported", typeName(id))
	}
}

func typeName(id mapping.Type) string {
	name, ok := map[mapping.Type]string{
		mapping.TypeUHugeInt: "UHUGEINT", mapping.TypeTime: "TIME", mapping.TypeInterval: "INTERVAL", mapping.TypeBlob: "BLOB",
		mapping.TypeEnum: "ENUM", mapping.TypeList: "LIST", mapping.TypeStruct: "STRUCT", mapping.TypeMap: "MAP",
		mapping.TypeArray: "ARRAY", mapping.TypeUUID: "UUID", mapping.TypeUnion: "UNION", mapping.TypeBit: "BIT",
		mapping.TypeTimeTZ: "TIME WITH TIME ZONE", mapping.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE",
		mapping.TypeTimestampMS: "TIMESTAMP_MS", mapping.TypeTimestampNS: "TIMESTAMP_NS",
	}[id]
	if !ok {
		return fmt.Sprintf("number %d", id)
	}
	return name
}
