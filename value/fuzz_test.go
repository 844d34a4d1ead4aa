package value

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const blanks = " \t\n\v\f\r"

var numberForm = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// slowDecimal is the unscaled value by math/big; ok is false if the text is
// refused. Exponents beyond a thousand are left out by the callers.
func slowDecimal(s string, scale int) (v *big.Int, whole, ok bool) {
	s = strings.Trim(s, blanks)
	if !numberForm.MatchString(s) {
		return nil, false, false
	}
	r, ok := new(big.Rat).SetString(strings.TrimPrefix(s, "+"))
	if !ok {
		return nil, false, false
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	whole = r.IsInt()
	// Half away from zero: floor(|2r|+1)/2 with the sign.
	n := new(big.Int).Lsh(new(big.Int).Abs(r.Num()), 1)
	n.Add(n, r.Denom())
	n.Quo(n, new(big.Int).Lsh(r.Denom(), 1))
	if r.Sign() < 0 {
		n.Neg(n)
	}
	return n, whole, true
}

// hugeExponent says that math/big would need too much memory.
func hugeExponent(s string) bool {
	_, e, found := strings.Cut(strings.ToLower(strings.Trim(s, blanks)), "e")
	if !found {
		return false
	}
	n, err := strconv.Atoi(e)
	return err != nil || n > 1000 || n < -1000
}

func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"1.005", "-280.00", "1e2", ".5", "5.", " 9 ", "+0.0e-3", "99999999999999999999999999999999999999.5", "0x1", "1e", "--1", "1e-5"} {
		f.Add(s, uint8(5), uint8(2))
		f.Add(s, uint8(38), uint8(0))
		f.Add(s, uint8(38), uint8(38))
	}
	f.Fuzz(func(t *testing.T, s string, p, scale uint8) {
		p = p%MaxDecimalPrecision + 1
		scale %= p + 1
		v, err := ParseDecimal([]byte(s), p, scale)
		if hugeExponent(s) {
			return
		}
		want, _, ok := slowDecimal(s, int(scale))
		if ok && want.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(p)), nil)) >= 0 {
			ok = false
		}
		if ok != (err == nil) || ok && toBig(v).Cmp(want) != 0 {
			t.Fatalf("ParseDecimal(%q, %d, %d) = %s, %v; want %s, %v", s, p, scale, v, err, want, ok)
		}
		if !ok {
			return
		}
		text := AppendDecimal(nil, v, scale)
		if back, err := ParseDecimal(text, p, scale); err != nil || back != v {
			t.Fatalf("%s prints as %s, which reads as %s, %v", v, text, back, err)
		}
	})
}

func FuzzInteger(f *testing.F) {
	for _, s := range []string{"127", "128", "-129", " 5 ", "+5", "05", "1.0", "1e2", "0x10", "", "9223372036854775808", "1.27e2", "100e-2"} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(4))
	}
	f.Fuzz(func(t *testing.T, s string, k uint8) {
		kind := TinyInt + Kind(k%5)
		got, err := convert(Type{Kind: kind}, s, nil)
		if hugeExponent(s) {
			return
		}
		want, whole, ok := slowDecimal(s, 0)
		ok = ok && whole
		if ok {
			bits := map[Kind]uint{TinyInt: 7, SmallInt: 15, Int: 31, BigInt: 63, LargeInt: 127}[kind]
			limit := new(big.Int).Lsh(big.NewInt(1), bits)
			ok = want.Cmp(limit) < 0 && want.Cmp(new(big.Int).Neg(limit)) >= 0
		}
		if ok != (err == nil) || ok && got != want.String() {
			t.Fatalf("%q as %s: got %s, %v; want %s, %v", s, Type{Kind: kind}, got, err, want, ok)
		}
	})
}

var (
	zoneForm = `(?:[ \t\n\v\f\r]*(?:([zZ]|[uU][tT][cC]|[gG][mM][tT])|([+-])(?:(\d\d)(\d\d)|(\d{1,2})(?::(\d\d))?)))?`
	timeForm = `(?:(\d\d)(\d\d)(\d\d)(?:\.(\d+))?|(\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d+))?)?)?)`
	dateForm = `(?:(\d\d|\d{4})(?:-(\d\d?)-(\d\d?)|/(\d\d?)/(\d\d?))|(\d\d|\d{4})(\d\d)(\d\d))`
	// separateForm and runForm are the two shapes of scanStamp's grammar.
	separateForm = regexp.MustCompile(`^` + dateForm + `(?:(?:[tT]|[ \t\n\v\f\r]+)` + timeForm + zoneForm + `)?$`)
	runForm      = regexp.MustCompile(`^(\d\d|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d+))?` + zoneForm + `$`)
)

// slowDateTime is ParseDateTime by regular expressions and package time.
func slowDateTime(s string, scale uint8, loc *time.Location) (int64, bool) {
	s = strings.Trim(s, blanks)
	var date, clock, zone []string
	var frac string
	if m := runForm.FindStringSubmatch(s); m != nil {
		date, clock, frac, zone = m[1:4], m[4:7], m[7], m[8:]
	} else if m := separateForm.FindStringSubmatch(s); m != nil {
		for _, at := range [][3]int{{1, 2, 3}, {1, 4, 5}, {6, 7, 8}} {
			if m[at[2]] != "" {
				date = []string{m[at[0]], m[at[1]], m[at[2]]}
			}
		}
		clock, frac = m[9:12], m[12]
		if m[13] != "" {
			clock, frac = m[13:16], m[16]
		}
		zone = m[17:]
	} else {
		return 0, false
	}
	n := func(s string) int { v, _ := strconv.Atoi(s); return v }
	y := n(date[0])
	if len(date[0]) == 2 {
		y += 1900
		if y < 1970 {
			y += 100
		}
	}
	at := time.Date(y, time.Month(n(date[1])), n(date[2]), n(clock[0]), n(clock[1]), n(clock[2]), 0, time.UTC)
	if at.Year() != y || int(at.Month()) != n(date[1]) || at.Day() != n(date[2]) || at.Hour() != n(clock[0]) ||
		at.Minute() != n(clock[1]) || at.Second() != n(clock[2]) || y == 0 && at.YearDay() == 60 && at.Day() == 29 {
		return 0, false
	}
	if zone[0] != "" || zone[1] != "" {
		minutes := 60*n(zone[2]+zone[4]) + n(zone[3]+zone[5])
		if n(zone[3]+zone[5]) > 59 || minutes > 840 || minutes == 840 && zone[1] == "-" {
			return 0, false
		}
		if zone[1] == "-" {
			minutes = -minutes
		}
		local := at.Add(-time.Duration(minutes) * time.Minute).In(loc)
		at = time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
	}
	rounded, _, _ := slowDecimal("0."+frac+"0", int(scale))
	v := at.Unix()*1e6 + rounded.Int64()*int64(pow10[6-scale])
	return v, v >= MinDateTime && v <= MaxDateTime
}

func FuzzDateTime(f *testing.F) {
	for _, s := range []string{"2023-01-11 11:11:11.3", "20230111111111.5", "2023-1-1 1:1:1", "20230111T111111Z", "2023/1/1", "230111",
		"2024-02-29 23:59:59.9999999+08:00", "0000-02-29", "9999-12-31 23:59:59.9", "2023-06-15 10:00 -0530", "2023-01-11 24:00:00",
		"2023-01-11 11:11:11:333", "230111111111gmt", " 70-1-1\t1 ", "2023-01-11T11:11:11+8"} {
		f.Add(s, uint8(3))
	}
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string, scale uint8) {
		scale %= MaxDateTimeScale + 1
		got, err := ParseDateTime([]byte(s), scale, loc)
		want, ok := slowDateTime(s, scale, loc)
		if ok != (err == nil) || ok && got != want {
			t.Fatalf("ParseDateTime(%q, %d) = %d, %v; want %d, %v", s, scale, got, err, want, ok)
		}
		if !ok {
			return
		}
		text := AppendDateTime(nil, got, scale)
		// A zone may lead to the one day that has no text.
		if strings.HasPrefix(string(text), "0000-02-29") {
			return
		}
		if back, err := ParseDateTime(text, scale, loc); err != nil || back != got {
			t.Fatalf("%q is %s, which reads as %d, %v; want %d", s, text, back, err, got)
		}
		days, err := ParseDateIn([]byte(s), loc)
		if err != nil || !strings.HasPrefix(string(AppendDateTime(nil, got-fractionMicros(fractionOf(s), scale), scale)), string(AppendDate(nil, days))) {
			t.Fatalf("ParseDateIn(%q) = %s, %v, but the datetime is %s", s, AppendDate(nil, days), err, text)
		}
	})
}

func fractionOf(s string) []byte {
	st, _ := scanStamp([]byte(s))
	return st.frac
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":[true,null]}`, `"\ud83d\ude00"`, `"\ud800"`, "\"\xc0\xaf\"", "01", "1e5", "[1,]", ` { } `, `"\u00"`, `-`,
		"\"a\tb\"", strings.Repeat("[", 101) + strings.Repeat("]", 101)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ok := ValidJSON([]byte(s))
		// encoding/json accepts more: bad UTF-8, single surrogates, depth.
		if ok && !json.Valid([]byte(s)) {
			t.Fatalf("%q is not JSON", s)
		}
		if !ok {
			if json.Valid([]byte(s)) && utf8.ValidString(s) && !strings.Contains(s, `\u`) && strings.Count(s, "[")+strings.Count(s, "{") <= MaxJSONDepth {
				t.Fatalf("%q is JSON", s)
			}
			return
		}
		compact := AppendCompactJSON(nil, []byte(s))
		if !ValidJSON(compact) {
			t.Fatalf("%q became %q", s, compact)
		}
		var a, b any
		if json.Unmarshal([]byte(s), &a) == nil && json.Unmarshal(compact, &b) == nil {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Fatalf("%q became %q", s, compact)
			}
		}
	})
}

func FuzzTruncateUTF8(f *testing.F) {
	f.Add("ab😀", 4)
	f.Add("中文", 4)
	f.Add("\x80\x80\x80\x80\x80", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(0, n)
		got := TruncateUTF8([]byte(s), n)
		if len(got) > n || !strings.HasPrefix(s, string(got)) {
			t.Fatalf("TruncateUTF8(%q, %d) = %q", s, n, got)
		}
		if !utf8.ValidString(s) {
			return
		}
		want := 0
		for i, r := range s {
			if i+utf8.RuneLen(r) <= n {
				want = i + utf8.RuneLen(r)
			}
		}
		if len(got) != want {
			t.Fatalf("TruncateUTF8(%q, %d) = %q, want %d bytes", s, n, got, want)
		}
	})
}

// FuzzNoPanic gives every reader the same rubbish: errors are typed.
func FuzzNoPanic(f *testing.F) {
	f.Add("nan")
	f.Add("-")
	f.Add("\xff\x00")
	f.Fuzz(func(t *testing.T, s string) {
		for k := Boolean; k <= DateTime; k++ {
			typ := Type{Kind: k, Precision: 9, Scale: 3}
			if _, err := convert(typ, s, time.UTC); err != nil {
				if _, ok := errors.AsType[*ConvError](err); !ok {
					t.Fatalf("%s: %v", typ, err)
				}
			}
		}
	})
}
