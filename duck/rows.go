package duck

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"dorisgo/block"
	"dorisgo/value"
)

// ResultColumn describes one column of a result.
type ResultColumn struct {
	Name string
	Type value.Type
}

// Rows is a running query. It holds one of the DB's MaxConcurrent slots, its
// private relations and a connection until Close. It is owned by one goroutine.
type Rows struct {
	db     *DB
	conn   *conn
	res    mapping.Result
	cols   []ResultColumn
	raw    []mapping.Type
	types  []value.Type
	cancel context.CancelFunc
	ctx    context.Context
	closed bool
	done   bool
}

// Columns are the result's columns.
func (r *Rows) Columns() []ResultColumn { return r.cols }

// Next returns the next rows, never an empty block, and io.EOF after the last.
// The block is the caller's. The query runs while Next is called; it is
// interrupted when ctx or the context of Query ends. After an error only Close
// is left to call.
func (r *Rows) Next(ctx context.Context) (*block.Block, error) {
	for !r.done {
		chunk, err := r.fetch(ctx)
		if err != nil {
			r.done = true
			r.db.inspect(r.conn.in, err)
			return nil, clientError(err)
		}
		if chunk.Ptr == nil {
			r.done = true
			break
		}
		b := r.read(chunk)
		mapping.DestroyDataChunk(&chunk)
		if b.Rows() > 0 {
			return b, nil
		}
	}
	return nil, io.EOF
}

func (r *Rows) fetch(ctx context.Context) (chunk mapping.DataChunk, err error) {
	both, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	if err := ended(ctx); err != nil {
		return chunk, err
	}
	err = r.conn.call(both, func() error {
		chunk = mapping.FetchChunk(r.res)
		if chunk.Ptr != nil {
			return nil
		}
		if msg := mapping.ResultError(&r.res); msg != "" {
			return &engineError{msg}
		}
		return nil
	})
	if err != nil && chunk.Ptr != nil {
		mapping.DestroyDataChunk(&chunk)
	}
	if err == nil && chunk.Ptr == nil {
		// An interrupted fetch may look like the end.
		err = ended(both)
	}
	return chunk, err
}

// Close ends the query, if it still runs, and gives back all that it held. It
// may be called more than once.
func (r *Rows) Close() error {
	if r.closed {
		return nil
	}
	r.closed, r.done = true, true
	r.cancel()
	mapping.DestroyResult(&r.res)
	r.conn.close()
	r.db.leave()
	return nil
}

// describe reads the result's columns; hints name types more closely than
// DuckDB knows them (fraction digits, JSON, lengths).
func (r *Rows) describe(hints []value.Type) error {
	n := int(mapping.ColumnCount(&r.res))
	for i := range n {
		lt := mapping.ColumnLogicalType(&r.res, mapping.IdxT(i))
		t, err := resultType(lt)
		id := mapping.GetTypeId(lt)
		mapping.DestroyLogicalType(&lt)
		if err != nil {
			return err
		}
		if i < len(hints) {
			t = refine(t, hints[i])
		}
		r.cols = append(r.cols, ResultColumn{Name: mapping.ColumnName(&r.res, mapping.IdxT(i)), Type: t})
		r.types = append(r.types, t)
		r.raw = append(r.raw, id)
	}
	return nil
}

func refine(t, hint value.Type) value.Type {
	switch {
	case t.Kind == value.DateTime && hint.Kind == value.DateTime, t.IsVar() && hint.IsVar():
		return hint
	}
	return t
}

// read copies a chunk to a block.
func (r *Rows) read(chunk mapping.DataChunk) *block.Block {
	n := int(mapping.DataChunkGetSize(chunk))
	b := block.New(r.types)
	for i := range r.types {
		vec := mapping.DataChunkGetVector(chunk, mapping.IdxT(i))
		readVector(b.Col(i), r.raw[i], mapping.VectorGetData(vec), (*uint64)(mapping.VectorGetValidity(vec)), n)
	}
	for range n {
		b.EndRow()
	}
	return b
}

func readVector(c *block.Column, id mapping.Type, data unsafe.Pointer, mask *uint64, n int) {
	var valid []uint64
	if mask != nil {
		valid = unsafe.Slice(mask, (n+63)/64)
	}
	read := reader(c.Type(), id)
	for i := range n {
		if valid != nil && valid[i/64]&(1<<(i%64)) == 0 {
			c.AppendNull()
			continue
		}
		read(c, data, i)
	}
}

// reader appends value i of a vector of the engine's type id.
func reader(t value.Type, id mapping.Type) func(c *block.Column, data unsafe.Pointer, i int) {
	switch id {
	case mapping.TypeBoolean, mapping.TypeTinyInt:
		return integer[int8]
	case mapping.TypeUTinyInt:
		return integer[uint8]
	case mapping.TypeSmallInt:
		return integer[int16]
	case mapping.TypeUSmallInt:
		return integer[uint16]
	case mapping.TypeInteger, mapping.TypeDate, mapping.TypeSQLNull:
		return integer[int32]
	case mapping.TypeUInteger:
		return integer[uint32]
	case mapping.TypeBigInt:
		return integer[int64]
	case mapping.TypeTimestamp:
		if t.Scale == value.MaxDateTimeScale {
			return integer[int64]
		}
		unit := int64(math.Pow10(int(value.MaxDateTimeScale - t.Scale)))
		return func(c *block.Column, data unsafe.Pointer, i int) {
			v := *at[int64](data, i)
			c.AppendInt64(v - ((v%unit)+unit)%unit)
		}
	case mapping.TypeTimestampS:
		return func(c *block.Column, data unsafe.Pointer, i int) { c.AppendInt64(*at[int64](data, i) * 1_000_000) }
	case mapping.TypeUBigInt:
		return func(c *block.Column, data unsafe.Pointer, i int) {
			c.AppendInt128(value.Int128{Lo: *at[uint64](data, i)})
		}
	case mapping.TypeHugeInt:
		return hugeint
	case mapping.TypeFloat:
		return func(c *block.Column, data unsafe.Pointer, i int) { c.AppendFloat64(float64(*at[float32](data, i))) }
	case mapping.TypeDouble:
		return func(c *block.Column, data unsafe.Pointer, i int) { c.AppendFloat64(*at[float64](data, i)) }
	case mapping.TypeDecimal:
		switch decimalWidth(t.Precision) {
		case 2:
			return decimal[int16]
		case 4:
			return decimal[int32]
		case 8:
			return decimal[int64]
		}
		return hugeint
	default:
		return str
	}
}

func at[T any](data unsafe.Pointer, i int) *T {
	return (*T)(unsafe.Add(data, uintptr(i)*unsafe.Sizeof(*new(T))))
}

func integer[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64](c *block.Column, data unsafe.Pointer, i int) {
	c.AppendInt64(int64(*at[T](data, i)))
}

func decimal[T int16 | int32 | int64](c *block.Column, data unsafe.Pointer, i int) {
	v := int64(*at[T](data, i))
	c.AppendInt128(value.Int128{Hi: v >> 63, Lo: uint64(v)})
}

func hugeint(c *block.Column, data unsafe.Pointer, i int) {
	p := at[[2]uint64](data, i)
	c.AppendInt128(value.Int128{Lo: p[0], Hi: int64(p[1])})
}

func str(c *block.Column, data unsafe.Pointer, i int) {
	p := at[[stringWidth]byte](data, i)
	n := binary.LittleEndian.Uint32(p[:4])
	if n <= stringInline {
		c.AppendBytes(p[4 : 4+n])
		return
	}
	c.AppendBytes(unsafe.Slice(*(**byte)(unsafe.Pointer(&p[8])), n))
}

func errColumns(table string, got, want int) error {
	return fmt.Errorf("duck: a block of relation %q has %d columns, want %d", table, got, want)
}

func errType(column string, got, want value.Type) error {
	return fmt.Errorf("duck: column %q has type %s in a block, want %s", column, got, want)
}
