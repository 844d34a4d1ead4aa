package mysql

import (
	"encoding/binary"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/value"
)

// charset is the collation id of every column (utf8_general_ci), as Doris
// sends it.
const charset = 33

// wireType is how a type is announced to clients.
type wireType struct {
	code   byte
	length uint32
}

// wireTypes is the table of docs/compatibility.md, Part B, "Types and MySQL
// wire types".
var wireTypes = [...]wireType{
	value.Invalid:  {proto.MYSQL_TYPE_STRING, 255},
	value.Boolean:  {proto.MYSQL_TYPE_TINY, 1},
	value.TinyInt:  {proto.MYSQL_TYPE_TINY, 4},
	value.SmallInt: {proto.MYSQL_TYPE_SHORT, 6},
	value.Int:      {proto.MYSQL_TYPE_LONG, 11},
	value.BigInt:   {proto.MYSQL_TYPE_LONGLONG, 20},
	value.LargeInt: {proto.MYSQL_TYPE_STRING, 255},
	value.Float:    {proto.MYSQL_TYPE_FLOAT, 12},
	value.Double:   {proto.MYSQL_TYPE_DOUBLE, 22},
	value.Decimal:  {proto.MYSQL_TYPE_NEWDECIMAL, 255},
	value.Date:     {proto.MYSQL_TYPE_DATE, 10},
	value.DateTime: {proto.MYSQL_TYPE_DATETIME, 19},
	value.Char:     {proto.MYSQL_TYPE_STRING, 255},
	value.VarChar:  {proto.MYSQL_TYPE_STRING, 255},
	value.String:   {proto.MYSQL_TYPE_BLOB, 255},
	value.JSON:     {proto.MYSQL_TYPE_JSON, 255},
}

// appendColumn appends a column definition's payload. fieldList adds the
// default value's place, which only COM_FIELD_LIST has.
func appendColumn(b []byte, c *Column, fieldList bool) []byte {
	wt := wireTypes[value.Invalid]
	if int(c.Type.Kind) < len(wireTypes) {
		wt = wireTypes[c.Type.Kind]
	}
	var decimals byte
	switch c.Type.Kind {
	case value.Float, value.Double:
		decimals = 31
	case value.Decimal:
		decimals = c.Type.Scale
	case value.DateTime:
		if decimals = c.Type.Scale; decimals > 0 {
			wt.length += 1 + uint32(decimals)
		}
	}
	var flags uint16
	if c.NotNull {
		flags = proto.NOT_NULL_FLAG
	}
	orgName := c.OrgName
	if orgName == "" {
		orgName = c.Name
	}
	b = appendLenString(b, "def")
	b = appendLenString(b, c.Schema)
	b = appendLenString(b, c.Table)
	b = appendLenString(b, c.Table)
	b = appendLenString(b, c.Name)
	b = appendLenString(b, orgName)
	b = append(b, 0x0c, charset, 0)
	b = binary.LittleEndian.AppendUint32(b, wt.length)
	b = append(b, wt.code, byte(flags), byte(flags>>8), decimals, 0, 0)
	if fieldList {
		b = append(b, 0xfb)
	}
	return b
}

// appendParameter appends the definition of a `?`.
func appendParameter(b []byte) []byte {
	b = appendLenString(b, "def")
	b = append(b, 0, 0, 0, 1, '?', 0, 0x0c, 63, 0)
	b = binary.LittleEndian.AppendUint32(b, 0)
	return append(b, proto.MYSQL_TYPE_VAR_STRING, 0, 0, 0, 0, 0)
}
