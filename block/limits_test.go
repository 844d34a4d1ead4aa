package block

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"dorisgo/value"
	"dorisgo/value/valuetest"
)

// TestLimits takes every value of valuetest through text, vector and codec.
func TestLimits(t *testing.T) {
	for _, c := range valuetest.Limits() {
		b := New([]value.Type{c.Type})
		col := b.Col(0)
		for _, text := range []string{c.Text, c.Want} {
			if err := col.AppendText([]byte(text), &ConvertOptions{Strict: true}); err != nil {
				t.Errorf("%s %.80q: %v", c.Type, text, err)
				continue
			}
			b.EndRow()
		}
		again := New([]value.Type{c.Type})
		if _, err := DecodeAppend(again, AppendEncoded(nil, b)); err != nil {
			t.Errorf("%s %.80q: %v", c.Type, c.Text, err)
			continue
		}
		for i := range again.Rows() {
			if got := string(value.AppendText(nil, c.Type, again.Col(0).Raw(i))); got != c.Want {
				t.Errorf("%s %.80q: got %.80q, want %.80q", c.Type, c.Text, got, c.Want)
			}
		}
	}
}

// TestArrowLimits reads the same values through the Arrow view.
func TestArrowLimits(t *testing.T) {
	for _, typ := range valuetest.Types() {
		b := New([]value.Type{typ})
		var want []string
		for _, c := range valuetest.Limits() {
			if c.Type != typ {
				continue
			}
			fill(t, b, []any{c.Text}, []any{nil})
			want = append(want, c.Want, "NULL")
		}
		rec := b.Arrow(ArrowSchema([]string{"c"}, []value.Type{typ}))
		if int(rec.NumRows()) != len(want) || rec.Column(0).NullN() != len(want)/2 {
			t.Fatalf("%s: %d rows, %d NULLs", typ, rec.NumRows(), rec.Column(0).NullN())
		}
		for i, w := range want {
			if got := arrowText(typ, rec.Column(0), i); got != w {
				t.Errorf("%s row %d: got %.80q, want %.80q", typ, i, got, w)
			}
		}
		rec.Release()
	}
	empty := New(valuetest.Types())
	rec := empty.Arrow(ArrowSchema(make([]string, empty.NumCols()), empty.Types()))
	if rec.NumRows() != 0 {
		t.Error(rec.NumRows())
	}
}

// arrowText is the text of a value taken with Arrow's own readers.
func arrowText(t value.Type, a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	col := New([]value.Type{t}).Col(0)
	switch a := a.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Boolean:
		col.AppendBool(a.Value(i))
	case *array.Int8:
		col.AppendInt64(int64(a.Value(i)))
	case *array.Int16:
		col.AppendInt64(int64(a.Value(i)))
	case *array.Int32:
		col.AppendInt64(int64(a.Value(i)))
	case *array.Int64:
		col.AppendInt64(a.Value(i))
	case *array.Float32:
		col.AppendFloat64(float64(a.Value(i)))
	case *array.Float64:
		col.AppendFloat64(a.Value(i))
	case *array.Decimal128:
		v := a.Value(i)
		col.AppendInt128(value.Int128{Hi: v.HighBits(), Lo: v.LowBits()})
	case *array.Date32:
		col.AppendInt64(int64(a.Value(i)))
	case *array.Timestamp:
		col.AppendInt64(int64(a.Value(i)))
	}
	return string(value.AppendText(nil, t, col.Raw(0)))
}
