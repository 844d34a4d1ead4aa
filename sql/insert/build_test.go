package insert

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/meta"
	"dorisgo/value"
)

var testNow = time.Date(2024, 2, 29, 23, 59, 58, 987654321, time.UTC)

func col(name string, t value.Type, nullable bool) meta.Column {
	return meta.Column{Name: name, Type: t, Nullable: nullable}
}

// table is a table of columns given by name, type and NULL.
func table(cols ...meta.Column) *meta.Table { return &meta.Table{Name: "t", Columns: cols} }

var (
	typeInt = value.Type{Kind: value.Int}
	// t3 is the table of the case list.
	t3 = table(
		col("id", typeInt, false),
		col("s", varchar(64), true),
		col("n", typeInt, true))
)

func varchar(n int) value.Type { return value.Type{Kind: value.VarChar, Length: uint32(n)} }

func newTarget(t testing.TB, tab *meta.Table, cols []string) *Target {
	t.Helper()
	g, err := NewTarget(tab, cols, testNow, time.UTC, true)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// dump shows rows as text: columns split by commas, rows by semicolons.
func dump(b *block.Block) string {
	var rows []string
	for i := range b.Rows() {
		var vals []string
		for j := range b.NumCols() {
			c := b.Col(j)
			if c.IsNull(i) {
				vals = append(vals, "NULL")
				continue
			}
			vals = append(vals, string(value.AppendText(nil, c.Type(), c.Raw(i))))
		}
		rows = append(rows, strings.Join(vals, ","))
	}
	return strings.Join(rows, ";")
}

// packet builds what Params.Parse reads, flag 1.
type packet struct {
	types, values []byte
	null          []bool
}

func (p *packet) add(typ, flag byte, v ...byte) {
	p.types = append(p.types, typ, flag)
	p.values = append(p.values, v...)
	p.null = append(p.null, false)
}

func (p *packet) nul() {
	p.add(typeNull, 0)
	p.null[len(p.null)-1] = true
}

func (p *packet) long(v int32) {
	p.add(typeLong, 0, binary.LittleEndian.AppendUint32(nil, uint32(v))...)
}

func (p *packet) double(v float64) {
	p.add(typeDouble, 0, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))...)
}

func (p *packet) str(s string) { p.strOf(0xfd, s) }

func (p *packet) strOf(typ byte, s string) {
	p.add(typ, 0)
	if len(s) < 251 {
		p.values = append(p.values, byte(len(s)))
	} else {
		p.values = append(p.values, 0xfd, byte(len(s)), byte(len(s)>>8), byte(len(s)>>16))
	}
	p.values = append(p.values, s...)
}

func (p *packet) nulls() []byte {
	out := make([]byte, (len(p.null)+7)/8)
	for i, n := range p.null {
		if n {
			out[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}

func (p *packet) bytes() []byte {
	out := append(p.nulls(), 1)
	return append(append(out, p.types...), p.values...)
}

// again is the packet of a later execution: flag 0 and no types.
func (p *packet) again() []byte {
	return append(append(p.nulls(), 0), p.values...)
}
