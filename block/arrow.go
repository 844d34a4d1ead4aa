package block

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"dorisgo/value"
)

// ArrowType is the Arrow type in which a column is shown. LARGEINT is decimal
// text, since Arrow has no 128-bit integers; JSON is text.
func ArrowType(t value.Type) arrow.DataType {
	switch t.Kind {
	case value.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case value.TinyInt:
		return arrow.PrimitiveTypes.Int8
	case value.SmallInt:
		return arrow.PrimitiveTypes.Int16
	case value.Int:
		return arrow.PrimitiveTypes.Int32
	case value.BigInt:
		return arrow.PrimitiveTypes.Int64
	case value.Float:
		return arrow.PrimitiveTypes.Float32
	case value.Double:
		return arrow.PrimitiveTypes.Float64
	case value.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case value.Date:
		return arrow.FixedWidthTypes.Date32
	case value.DateTime:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	default:
		return arrow.BinaryTypes.String
	}
}

// ArrowSchema is the schema of Arrow's result for columns of these names and
// types, all nullable.
func ArrowSchema(names []string, types []value.Type) *arrow.Schema {
	fields := make([]arrow.Field, len(types))
	for i, t := range types {
		fields[i] = arrow.Field{Name: names[i], Type: ArrowType(t), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Arrow shows the rows as an Arrow record of a schema that ArrowSchema made.
// All columns but BOOLEAN and LARGEINT share the block's memory: the block may
// not change while the record is in use. The memory is Go's, so that Release
// frees nothing and is only for form.
func (b *Block) Arrow(schema *arrow.Schema) arrow.RecordBatch {
	cols := make([]arrow.Array, len(b.cols))
	for i := range b.cols {
		cols[i] = b.cols[i].arrow(schema.Field(i).Type)
	}
	rec := array.NewRecordBatch(schema, cols, int64(b.rows))
	for _, c := range cols {
		c.Release()
	}
	return rec
}

func (c *Column) arrow(t arrow.DataType) arrow.Array {
	var valid *memory.Buffer
	if c.nulls > 0 {
		valid = memory.NewBufferBytes(c.valid)
	}
	var bufs []*memory.Buffer
	switch {
	case c.typ.Kind == value.Boolean:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(packBits(c.data))}
	case c.typ.Kind == value.LargeInt:
		offsets, text := c.decimalText()
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(text)}
	case c.width == 0:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(arrow.GetBytes(c.offsets)), memory.NewBufferBytes(c.data)}
	default:
		bufs = []*memory.Buffer{valid, memory.NewBufferBytes(c.data)}
	}
	data := array.NewData(t, c.rows, bufs, nil, c.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// packBits turns bytes of 0 and 1 into bits, the first in the lowest bit.
func packBits(p []byte) []byte {
	out := make([]byte, (len(p)+7)/8)
	for i, v := range p {
		out[i>>3] |= v << (i & 7)
	}
	return out
}

// decimalText is a LARGEINT column as text, NULLs empty.
func (c *Column) decimalText() (offsets []int32, text []byte) {
	offsets = make([]int32, 1, c.rows+1)
	for i := range c.rows {
		if !c.IsNull(i) {
			text = value.AppendInt128(text, c.Int128(i))
		}
		offsets = append(offsets, int32(len(text)))
	}
	return offsets, text
}
