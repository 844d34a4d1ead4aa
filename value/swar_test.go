package value

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// shortForms read a text of a type at b[start:end] by words, as bytes.
func shortForm(t Type, b []byte, start, end int) (raw string, ok bool) {
	switch t.Kind {
	case Float, Double:
		v, ok := ShortFloat(b, start, end, t.Kind)
		return fmt.Sprint(v), ok
	case Decimal:
		v, ok := ShortDecimal(b, start, end, t.Scale)
		return fmt.Sprint(v), ok && Int128FromInt64(v).FitsDecimal(t.Precision)
	case Date:
		v, ok := ShortDate(b, start, end)
		return fmt.Sprint(v), ok
	case DateTime:
		v, ok := ShortDateTime(b, start, end, t.Scale)
		return fmt.Sprint(v), ok
	default:
		v, ok := ShortInteger(b, start, end)
		return fmt.Sprint(v), ok && InIntegerRange(v, t.Kind)
	}
}

// fullForm reads a text by the full grammar, in the form of shortForm.
func fullForm(t Type, text []byte) (string, error) {
	switch t.Kind {
	case Float, Double:
		v, err := ParseFloat(text, t.Kind)
		return fmt.Sprint(v), err
	case Decimal:
		v, err := ParseDecimal(text, t.Precision, t.Scale)
		return v.String(), err
	case Date:
		v, err := ParseDateIn(text, nil)
		return fmt.Sprint(v), err
	case DateTime:
		v, err := ParseDateTime(text, t.Scale, nil)
		return fmt.Sprint(v), err
	default:
		v, err := ParseInteger(text, t.Kind)
		return fmt.Sprint(v), err
	}
}

var shortTypes = []Type{
	{Kind: TinyInt}, {Kind: SmallInt}, {Kind: Int}, {Kind: BigInt}, {Kind: Float}, {Kind: Double}, {Kind: Date},
	{Kind: DateTime}, {Kind: DateTime, Scale: 3}, {Kind: DateTime, Scale: 6},
	decimalType(15, 2), decimalType(5, 0), decimalType(38, 10), decimalType(18, 18), decimalType(38, 38), decimalType(9, 8),
}

// sameAsFull: what is read by words is what the full grammar reads, wherever in
// the buffer the text stands. It reports whether the text was read by words.
func sameAsFull(t *testing.T, typ Type, before, text, after string) bool {
	t.Helper()
	b := []byte(before + text + after)
	got, ok := shortForm(typ, b, len(before), len(before)+len(text))
	if !ok {
		return false
	}
	want, err := fullForm(typ, []byte(text))
	if err != nil || got != want {
		t.Errorf("%s %q behind %d bytes: %s by words, %s, %v in full", typ, text, len(before), got, want, err)
	}
	return true
}

func TestShortForms(t *testing.T) {
	for _, tt := range []struct {
		typ   Type
		texts string
		read  bool
	}{
		{Type{Kind: BigInt}, "0 7 -7 12345678 123456789 1234567890123456 -1234567890123456 00000007", true},
		{Type{Kind: BigInt}, "- +1 1.0 1e2 12345678901234567 0x10 1/ :1 １ --1 1-", false},
		{Type{Kind: TinyInt}, "127 -128", true},
		{Type{Kind: TinyInt}, "128 -129", false},
		{decimalType(15, 2), "0.04 17 -17 21168.23 1234567890123.45 0.1 -0.01 1234.56 99999.99 104949.50 000.10", true},
		{decimalType(15, 2), ".5 1. 1.005 1..5 1.2.3 1e2 - -. 12345678901234567 +1.5 99999999999999.99 1.-5", false},
		{decimalType(38, 10), "0.0123456789 1234.5 12345678", true},
		{decimalType(38, 10), "123456789.0123456789 123456789", false},
		{Type{Kind: Date}, "1996-03-13 2024-02-29 0000-01-01 9999-12-31", true},
		{Type{Kind: Date}, "2023-02-29 1996/03/13 1996-3-13 19960313 1996-00-13 1996-03-00 199a-03-13 0000-02-29", false},
		{Type{Kind: DateTime, Scale: 3}, "1996-03-13T01:02:03 1996-03-13T23:59:59.9 1996-03-13T01:02:03.123 0000-01-01T00:00:00", true},
		{Type{Kind: DateTime, Scale: 3}, "1996-03-13T01:02:03.1234 1996-03-13T24:00:00 1996-03-13T01:60:00 1996-03-13T01:02:60 1996-03-13T01:02:03Z 1996-03-13T01:02:03. 1996-03-13 1996-03-13t01:02:03", false},
		{Type{Kind: Double}, "0 -0 0.1 -1.5 123456789.123456 3.141592653589 0.000000000001", true},
		{Type{Kind: Double}, ".5 1. 1e5 nan inf 1234567890.1234567 - +1", false},
		{Type{Kind: Float}, "0.1 16777215 -1.5 0.0000001", true},
		{Type{Kind: Float}, "16777217 0.12345678901", false},
	} {
		for _, text := range strings.Fields(tt.texts) {
			for _, before := range []string{"", "x", "9999999", "88888888", "1234567890123456789"} {
				if read := sameAsFull(t, tt.typ, before, text, "7,8"); read != tt.read {
					t.Errorf("%s %q behind %d bytes: read by words: %v", tt.typ, text, len(before), read)
				}
			}
		}
	}
}

// TestShortFormsAtRandom: texts near the common spellings.
func TestShortFormsAtRandom(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	const signs = "0123456789012345678901234567890123456789.-: T/"
	read := 0
	for range 200_000 {
		var b []byte
		switch rng.IntN(4) {
		case 0:
			b = fmt.Appendf(b, "%04d-%02d-%02d %02d:%02d:%02d", rng.IntN(10000), rng.IntN(14), rng.IntN(33), rng.IntN(25), rng.IntN(61), rng.IntN(61))
			b = b[:[]int{10, 19}[rng.IntN(2)]]
			if rng.IntN(2) == 0 {
				b = fmt.Appendf(b, ".%d", rng.IntN(1000000))
			}
		case 1:
			b = fmt.Appendf(b, "%d.%d", rng.Int64N(1e10)-5e9, rng.IntN(1000))
		case 2:
			b = fmt.Appendf(b, "%d", rng.Int64()>>rng.IntN(64))
		}
		for range rng.IntN(3) {
			b = append(b, signs[rng.IntN(len(signs))])
		}
		if len(b) > 0 && rng.IntN(4) == 0 {
			b[rng.IntN(len(b))] = signs[rng.IntN(len(signs))]
		}
		before := "12345678901234567890"[:rng.IntN(20)]
		if sameAsFull(t, shortTypes[rng.IntN(len(shortTypes))], before, string(b), "0") {
			read++
		}
	}
	if read < 10_000 || t.Failed() {
		t.Errorf("seed %d: %d texts were read by words", seed, read)
	}
}

// TestMarchDays walks every day of the years 0 to 9999.
func TestMarchDays(t *testing.T) {
	for days := MinDate; days <= MaxDate; days++ {
		y, m, d := CivilFromDays(days)
		if got := marchDays(uint32(y), uint32(m), uint32(d)); got != days {
			t.Fatalf("%d-%d-%d: day %d, want %d", y, m, d, got, days)
		}
	}
}

func FuzzShortForms(f *testing.F) {
	for _, s := range []string{"-21168.23", "1996-03-13 10:11:12.5", "0.1", "1234567890123456"} {
		f.Add(s, "12345678", uint8(3))
	}
	f.Fuzz(func(t *testing.T, text, before string, typ uint8) {
		sameAsFull(t, shortTypes[int(typ)%len(shortTypes)], before, text, "1")
		if _, err := fullForm(shortTypes[int(typ)%len(shortTypes)], []byte(text)); err != nil {
			if _, ok := errors.AsType[*ConvError](err); !ok {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
