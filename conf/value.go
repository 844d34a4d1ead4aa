package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Int is an integer key.
type Int struct{ v atomic.Int64 }

// Get is the present value.
func (i *Int) Get() int64 { return i.v.Load() }

// Int is the value as an int.
func (i *Int) Int() int { return int(i.v.Load()) }

// Seconds is the value of a key that counts seconds.
func (i *Int) Seconds() time.Duration { return time.Duration(i.v.Load()) * time.Second }

// Millis is the value of a key that counts milliseconds.
func (i *Int) Millis() time.Duration { return time.Duration(i.v.Load()) * time.Millisecond }

func (i *Int) String() string { return strconv.FormatInt(i.v.Load(), 10) }

func (i *Int) parse(text string) (func(), float64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("%q is not an integer", text)
	}
	return func() { i.v.Store(n) }, float64(n), nil
}

// Bool is a boolean key.
type Bool struct{ v atomic.Bool }

// Get is the present value.
func (b *Bool) Get() bool { return b.v.Load() }

func (b *Bool) String() string { return strconv.FormatBool(b.v.Load()) }

func (b *Bool) parse(text string) (func(), float64, error) {
	var x bool
	switch strings.ToLower(text) {
	case "true":
		x = true
	case "false":
	default:
		return nil, 0, fmt.Errorf("%q is neither true nor false", text)
	}
	return func() { b.v.Store(x) }, 0, nil
}

// Float is a key with a fraction.
type Float struct{ v atomic.Uint64 }

// Get is the present value.
func (f *Float) Get() float64 { return math.Float64frombits(f.v.Load()) }

func (f *Float) String() string { return strconv.FormatFloat(f.Get(), 'f', -1, 64) }

func (f *Float) parse(text string) (func(), float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, 0, fmt.Errorf("%q is not a number", text)
	}
	return func() { f.v.Store(math.Float64bits(x)) }, x, nil
}

// Text is a key with free text.
type Text struct{ v atomic.Pointer[string] }

// Get is the present value.
func (t *Text) Get() string {
	if p := t.v.Load(); p != nil {
		return *p
	}
	return ""
}

func (t *Text) String() string { return t.Get() }

// List is the value of a key that lists things with a separator, without
// blanks and empty entries.
func (t *Text) List(sep string) []string {
	var list []string
	for s := range strings.SplitSeq(t.Get(), sep) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func (t *Text) parse(text string) (func(), float64, error) {
	return func() { t.v.Store(&text) }, 0, nil
}

// Size is a key in bytes, or in percent of something that the user of the key
// knows.
type Size struct{ Text }

// Bytes is the value; total is what a percentage is of.
func (s *Size) Bytes(total int64) int64 {
	n, percent, err := parseSize(s.Get())
	if err != nil {
		return 0 // was checked when it was set
	}
	if percent {
		return int64(n / 100 * float64(total))
	}
	return int64(n)
}

func (s *Size) parse(text string) (func(), float64, error) {
	if _, _, err := parseSize(text); err != nil {
		return nil, 0, err
	}
	return s.Text.parse(text)
}

// parseSize reads "10%", "67108864", "64M", "64MB" or "1.5G".
func parseSize(text string) (n float64, percent bool, err error) {
	s, scale := strings.ToUpper(strings.TrimSpace(text)), 1.0
	if rest, ok := strings.CutSuffix(s, "%"); ok {
		s, percent = rest, true
	} else {
		s = strings.TrimSuffix(s, "B")
		for i, unit := range []string{"K", "M", "G", "T"} {
			if rest, ok := strings.CutSuffix(s, unit); ok {
				s, scale = rest, math.Pow(1024, float64(i+1))
				break
			}
		}
	}
	n, err = strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n*scale > math.MaxInt64 || percent && n > 100 {
		return 0, false, fmt.Errorf("%q is neither a size (like 64M) nor a percentage", text)
	}
	return n * scale, percent, nil
}
