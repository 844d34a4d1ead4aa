package block

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"dorisgo/value"
)

var cellTypes = []value.Type{
	typ(value.Boolean), typ(value.TinyInt), typ(value.SmallInt), typ(value.Int), typ(value.BigInt), typ(value.LargeInt), typ(value.Float),
	typ(value.Double), typ(value.Decimal, 5, 2), typ(value.Decimal, 38, 10), typ(value.Date), typ(value.DateTime, 0), typ(value.DateTime, 3),
	typ(value.Char, 3), typ(value.VarChar, 20), typ(value.String), typ(value.JSON),
}

var cellTexts = []string{
	"0", "1", "-1", "127", "128", "32768", "2147483648", "-9223372036854775808", "12345678901234567890", "1.5", "123.456", "-0.01", "99999.9",
	"1996-03-13", "2023-02-29", "1996-03-13 10:11:12", "1996-03-13T10:11:12.345Z", "1996-03-13 10:11:12.3456", "a", "abcd", "true", "",
	"0123456789abcdef", "0123456789abcdef0123456789", "中文", "ab😀", "\xff", "\xe4\xb8", `{"a": 1}`, "[1, 2", " 7 ", "+7", "1e3", "nan", ".5",
}

// TestCellsEqualTexts holds AppendCells, restarted at what it leaves, against
// appends of the same texts one by one.
func TestCellsEqualTexts(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	o := &ConvertOptions{Loc: time.FixedZone("x", 3600), StringLimit: 24}
	for round := range 300 {
		o.Strict = round%2 == 0
		rows := rng.IntN(40)
		cs := &Cells{Stride: 3, Extra: []byte("extra")}
		texts := make([]string, 0, rows)
		for range rows {
			text := cellTexts[rng.IntN(len(cellTexts))]
			if rng.IntN(3) > 0 {
				text = fmt.Sprint(rng.IntN(100)) // mostly what many types take
			}
			cell := Cell{NullCell, 0}
			switch rng.IntN(12) {
			case 0:
			case 1:
				cell.Start = MissingCell
			case 2:
				cell = Cell{^int32(len(cs.Extra)), int32(len(cs.Extra) + len(text))}
				cs.Extra = append(cs.Extra, text...)
			default:
				cs.Text = append(cs.Text, "x,"[rng.IntN(2):]...)
				cell = Cell{int32(len(cs.Text)), int32(len(cs.Text) + len(text))}
				cs.Text = append(cs.Text, text...)
			}
			texts = append(texts, text)
			cs.At = append(cs.At, Cell{}, cell, Cell{})
		}
		cs.Text = append(cs.Text, "tail"...)
		types := []value.Type{cellTypes[rng.IntN(len(cellTypes))]}
		got, want := New(types), New(types)
		if rng.IntN(2) == 0 {
			got.Col(0).AppendNull()
			want.Col(0).AppendNull()
			got.EndRow()
			want.EndRow()
		}
		for i, text := range texts {
			if cs.At[i*3+1].Start <= MissingCell || want.Col(0).AppendText([]byte(text), o) != nil {
				want.Col(0).AppendNull()
			}
			want.EndRow()
		}
		for i := 0; i < rows; {
			stop := got.Col(0).AppendCells(cs, 1, i, rows, o)
			if got.Col(0).Len() != got.Rows()+stop-i {
				t.Fatalf("seed %d: %d values after rows %d to %d", seed, got.Col(0).Len()-got.Rows(), i, stop)
			}
			got.EndRows(stop - i)
			if i = stop; i == rows {
				break
			}
			cell := cs.At[i*3+1]
			if f := cs.Field(cell); cell.Start > MissingCell && got.Col(0).AppendText(f, o) == nil {
				t.Fatalf("seed %d: %s: %q was left", seed, types[0], f)
			}
			got.Col(0).AppendNull()
			got.EndRow()
			i++
		}
		equal(t, fmt.Sprintf("seed %d, round %d, %s, %q", seed, round, types[0], texts), got, want)
	}
}
