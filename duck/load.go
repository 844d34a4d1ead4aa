package duck

import (
	"context"
	"encoding/binary"
	"iter"
	"runtime"
	"strings"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"dorisgo/block"
	"dorisgo/value"
)

// vectorSize is how many rows one of DuckDB's chunks takes.
var vectorSize = int(mapping.VectorSize())

// createTable makes the TEMP table name with one column for each of cols. It
// belongs to the connection.
func (c *conn) createTable(ctx context.Context, name string, cols []ColumnDesc) error {
	var sb strings.Builder
	sb.WriteString("CREATE TEMP TABLE " + quoteIdent(name) + " (")
	for i, col := range cols {
		if i > 0 {
			sb.WriteString(", ")
		}
		sb.WriteString(quoteIdent(col.Name) + " " + sqlType(col.Type))
	}
	sb.WriteString(")")
	return c.exec(ctx, sb.String())
}

// fillTable copies blocks to the end of a TEMP table made by createTable and
// returns the number of rows. The blocks are not referenced afterwards.
func (c *conn) fillTable(ctx context.Context, name string, cols []ColumnDesc, blocks iter.Seq2[*block.Block, error]) (rows int64, err error) {
	types := make([]mapping.LogicalType, len(cols))
	for i, col := range cols {
		types[i] = logicalType(col.Type)
		defer mapping.DestroyLogicalType(&types[i])
	}
	chunk := mapping.CreateDataChunk(types)
	defer mapping.DestroyDataChunk(&chunk)
	var app mapping.Appender
	if mapping.AppenderCreateExt(c.raw, "temp", "main", name, &app) == mapping.StateError {
		err := &engineError{mapping.AppenderError(app)}
		mapping.AppenderDestroy(&app)
		return 0, err
	}
	// Destroying would flush again after an error; clearing first avoids it.
	defer func() {
		if err != nil {
			mapping.AppenderClear(app)
		}
		mapping.AppenderDestroy(&app)
	}()
	for b, err := range blocks {
		if err != nil {
			return rows, err
		}
		if b.NumCols() != len(cols) {
			return rows, errColumns(name, b.NumCols(), len(cols))
		}
		for from := 0; from < b.Rows(); from += vectorSize {
			if err := c.appendChunk(ctx, app, chunk, cols, b, from, min(from+vectorSize, b.Rows())); err != nil {
				return rows, err
			}
		}
		rows += int64(b.Rows())
	}
	return rows, c.call(ctx, func() error {
		if mapping.AppenderFlush(app) == mapping.StateError {
			return &engineError{mapping.AppenderError(app)}
		}
		return nil
	})
}

// appendChunk copies rows [from, to) of b. Long strings are not copied into the
// chunk: its vectors point at the block's bytes, which stay pinned until the
// table has its own copy.
func (c *conn) appendChunk(ctx context.Context, app mapping.Appender, chunk mapping.DataChunk, cols []ColumnDesc, b *block.Block, from, to int) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	mapping.DataChunkReset(chunk)
	for i, col := range cols {
		src := b.Col(i)
		if src.Type().Kind != col.Type.Kind || src.Type().Scale != col.Type.Scale {
			return errType(col.Name, src.Type(), col.Type)
		}
		fillVector(mapping.DataChunkGetVector(chunk, mapping.IdxT(i)), &pins, src, from, to)
	}
	mapping.DataChunkSetSize(chunk, mapping.IdxT(to-from))
	return c.call(ctx, func() error {
		if mapping.AppendDataChunk(app, chunk) == mapping.StateError {
			return &engineError{mapping.AppenderError(app)}
		}
		return nil
	})
}

// fillVector writes values [from, to) of src to a vector of the same type.
func fillVector(vec mapping.Vector, pins *runtime.Pinner, src *block.Column, from, to int) {
	n := to - from
	data := mapping.VectorGetData(vec)
	t := src.Type()
	switch {
	case t.IsVar():
		fillStrings(unsafe.Slice((*byte)(data), n*stringWidth), pins, src, from)
	case t.Kind == value.Decimal:
		fillDecimals(unsafe.Slice((*byte)(data), n*decimalWidth(t.Precision)), src, from, decimalWidth(t.Precision))
	default:
		// Raw aliases the whole vector: from value from on, all lie in a row.
		w := t.Width()
		copy(unsafe.Slice((*byte)(data), n*w), src.Raw(from)[:n*w])
	}
	if src.NullCount() == 0 {
		return
	}
	mapping.VectorEnsureValidityWritable(vec)
	mask := unsafe.Slice((*uint64)(mapping.VectorGetValidity(vec)), (n+63)/64)
	for i := range n {
		if src.IsNull(from + i) {
			mask[i/64] &^= 1 << (i % 64)
		}
	}
}

// The layout of DuckDB's strings: length (4 bytes), then up to 12 bytes inline,
// or the first 4 bytes and a pointer.
const (
	stringWidth  = 16
	stringInline = 12
)

func fillStrings(dst []byte, pins *runtime.Pinner, src *block.Column, from int) {
	pinned := false
	for i := range len(dst) / stringWidth {
		s, d := src.Raw(from+i), dst[i*stringWidth:(i+1)*stringWidth]
		clear(d)
		binary.LittleEndian.PutUint32(d, uint32(len(s)))
		if len(s) <= stringInline {
			copy(d[4:], s)
			continue
		}
		copy(d[4:8], s)
		if !pinned {
			// All values of a column lie in one allocation.
			pins.Pin(&s[0])
			pinned = true
		}
		*(*unsafe.Pointer)(unsafe.Pointer(&d[8])) = unsafe.Pointer(&s[0])
	}
}

// decimalWidth is the bytes that DuckDB keeps a decimal of the precision in.
func decimalWidth(precision uint8) int {
	switch {
	case precision <= 4:
		return 2
	case precision <= 9:
		return 4
	case precision <= 18:
		return 8
	}
	return 16
}

// fillDecimals cuts 16-byte values to width bytes: two's complement and little
// endian, so the low bytes are the narrower value.
func fillDecimals(dst []byte, src *block.Column, from, width int) {
	for i := range len(dst) / width {
		copy(dst[i*width:(i+1)*width], src.Raw(from + i)[:width])
	}
}
