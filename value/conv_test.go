package value

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// convCase is one text, and the stored value's text or why it is refused.
type convCase struct {
	in   string
	want string
	bad  ErrorKind
}

// convert reads a text by a type of fixed width and prints what it became.
func convert(t Type, in string, loc *time.Location) (string, error) {
	b := []byte(in)
	switch t.Kind {
	case Boolean:
		v, err := ParseBool(b)
		return map[bool]string{false: "0", true: "1"}[v], err
	case LargeInt:
		v, err := ParseInt128(b)
		return v.String(), err
	case Float, Double:
		v, err := ParseFloat(b, t.Kind)
		return string(AppendFloat(nil, v, t.Kind)), err
	case Decimal:
		v, err := ParseDecimal(b, t.Precision, t.Scale)
		return string(AppendDecimal(nil, v, t.Scale)), err
	case Date:
		v, err := ParseDateIn(b, loc)
		return string(AppendDate(nil, v)), err
	case DateTime:
		v, err := ParseDateTime(b, t.Scale, loc)
		return string(AppendDateTime(nil, v, t.Scale)), err
	default:
		v, err := ParseInteger(b, t.Kind)
		return Int128FromInt64(v).String(), err
	}
}

func runConv(t *testing.T, typ Type, loc *time.Location, cases []convCase) {
	t.Helper()
	for _, c := range cases {
		got, err := convert(typ, c.in, loc)
		conv, _ := errors.AsType[*ConvError](err)
		switch {
		case c.bad == 0 && err != nil:
			t.Errorf("%s %.60q: %v", typ, c.in, err)
		case c.bad == 0 && got != c.want:
			t.Errorf("%s %.60q: got %s, want %s", typ, c.in, got, c.want)
		case c.bad != 0 && conv == nil:
			t.Errorf("%s %.60q: got %s, %v, want it refused as %s", typ, c.in, got, err, c.bad)
		case c.bad != 0 && (conv.Kind != c.bad || conv.Type.Kind != typ.Kind):
			t.Errorf("%s %.60q: refused by %s as %s, want %s", typ, c.in, conv.Type, conv.Kind, c.bad)
		}
	}
}

func TestIntegers(t *testing.T) {
	runConv(t, Type{Kind: TinyInt}, nil, []convCase{
		{"127", "127", 0}, {"128", "", OutOfRange}, {"-128", "-128", 0}, {"-129", "", OutOfRange},
		{" 5 ", "5", 0}, {"+5", "5", 0}, {"05", "5", 0}, {"-0", "0", 0}, {"\t\r\n7\v\f", "7", 0},
		{"1.0", "1", 0}, {"1e2", "100", 0}, {"1E+2", "100", 0}, {"100e-2", "1", 0}, {"1.", "1", 0}, {".0", "0", 0},
		{"1.27e2", "127", 0}, {"1.28e2", "", OutOfRange}, {"0e999999999999", "0", 0},
		{"1.5", "", Malformed}, {"1e-1", "", Malformed}, {"0x10", "", Malformed}, {"", "", Malformed}, {" ", "", Malformed},
		{"-", "", Malformed}, {"+", "", Malformed}, {"--1", "", Malformed}, {"+-1", "", Malformed}, {"1 2", "", Malformed},
		{"1e", "", Malformed}, {"1e+", "", Malformed}, {".", "", Malformed}, {"e1", "", Malformed}, {"1_0", "", Malformed},
		{"１", "", Malformed}, {"1\x00", "", Malformed}, {"true", "", Malformed}, {"1.0.0", "", Malformed},
		{"256", "", OutOfRange}, {"4294967297", "", OutOfRange}, {"18446744073709551617", "", OutOfRange},
		{"340282366920938463463374607431768211457", "", OutOfRange}, {"1e999999999999999999999", "", OutOfRange},
	})
	runConv(t, Type{Kind: SmallInt}, nil, []convCase{
		{"32767", "32767", 0}, {"32768", "", OutOfRange}, {"-32768", "-32768", 0}, {"-32769", "", OutOfRange},
	})
	runConv(t, Type{Kind: Int}, nil, []convCase{
		{"2147483647", "2147483647", 0}, {"2147483648", "", OutOfRange}, {"-2147483648", "-2147483648", 0},
		{"-2147483649", "", OutOfRange},
	})
	runConv(t, Type{Kind: BigInt}, nil, []convCase{
		{"1.0", "1", 0}, {"1e3", "1000", 0}, {"9223372036854775807", "9223372036854775807", 0},
		{"9223372036854775808", "", OutOfRange}, {"-9223372036854775808", "-9223372036854775808", 0},
		{"-9223372036854775809", "", OutOfRange}, {"18446744073709551615", "", OutOfRange},
		{"000000000000000000000000000001", "1", 0}, {"999999999999999999", "999999999999999999", 0},
		{"9223372036854775.807e3", "9223372036854775807", 0},
	})
	runConv(t, Type{Kind: LargeInt}, nil, []convCase{
		{"170141183460469231731687303715884105727", "170141183460469231731687303715884105727", 0},
		{"170141183460469231731687303715884105728", "", OutOfRange},
		{"-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728", 0},
		{"-170141183460469231731687303715884105729", "", OutOfRange},
		{"340282366920938463463374607431768211456", "", OutOfRange}, {"999999999999999999999999999999999999999", "", OutOfRange},
		{"18446744073709551615", "18446744073709551615", 0}, {"1e38", "1" + strings.Repeat("0", 38), 0}, {"1e39", "", OutOfRange},
		{"1.5", "", Malformed}, {"abc", "", Malformed},
	})
}

func TestBooleans(t *testing.T) {
	runConv(t, Type{Kind: Boolean}, nil, []convCase{
		{"0", "0", 0}, {"1", "1", 0}, {"true", "1", 0}, {"FALSE", "0", 0}, {" True ", "1", 0},
		{"2", "", Malformed}, {"", "", Malformed}, {"yes", "", Malformed}, {"tru", "", Malformed}, {"01", "", Malformed},
		{"\u212aalse", "", Malformed},
	})
}

func TestFloats(t *testing.T) {
	runConv(t, Type{Kind: Double}, nil, []convCase{
		{"0.1", "0.1", 0}, {"1", "1", 0}, {" -1.5e3 ", "-1500", 0}, {".5", "0.5", 0}, {"1e-7", "1e-07", 0}, {"1e16", "1e+16", 0},
		{"123456789012345678", "1.2345678901234568e+17", 0}, {"-0", "-0", 0}, {"1e-400", "0", 0}, {"0.0001", "0.0001", 0},
		{"nan", "NaN", 0}, {"-Inf", "-Infinity", 0}, {"+infinity", "Infinity", 0},
		{"1e309", "", OutOfRange}, {"-1e309", "", OutOfRange}, {"0x1p3", "", Malformed}, {"1_0", "", Malformed},
		{"", "", Malformed}, {"1.5f", "", Malformed}, {"infinit", "", Malformed}, {"- 1", "", Malformed},
	})
	runConv(t, Type{Kind: Float}, nil, []convCase{
		{"0.1", "0.1", 0}, {"16777217", "1.6777216e+07", 0}, {"999999.5", "999999.5", 0}, {"3.4028235e38", "3.4028235e+38", 0},
		{"3.5e38", "", OutOfRange},
	})
}

func TestDecimals(t *testing.T) {
	runConv(t, decimalType(5, 2), nil, []convCase{
		{"1.005", "1.01", 0}, {"1.004", "1.00", 0}, {"-1.005", "-1.01", 0}, {"-1.004", "-1.00", 0}, {"-280.00", "-280.00", 0},
		{"0.000000000000000000000000000000000001", "0.00", 0}, {"999.995", "", OutOfRange}, {"999.994", "999.99", 0},
		{"-999.995", "", OutOfRange}, {"1e2", "100.00", 0}, {"1e3", "", OutOfRange}, {"12345e-2", "123.45", 0}, {"+.5", "0.50", 0},
		{"-0.004", "0.00", 0}, {"0.005", "0.01", 0}, {"0.00499999999999999999999999999999999999999999999", "0.00", 0},
		{"5e-3", "0.01", 0}, {"5e-4", "0.00", 0}, {"9e-4", "0.00", 0}, {"1e-99999999999999999999", "0.00", 0},
		{"0e99999999999999999999", "0.00", 0}, {"1e99999999999999999999", "", OutOfRange}, {"000000999.99", "999.99", 0},
		{"", "", Malformed}, {"1,5", "", Malformed}, {"nan", "", Malformed}, {"1..5", "", Malformed}, {"0x1", "", Malformed},
	})
	runConv(t, decimalType(1, 0), nil, []convCase{
		{"1", "1", 0}, {"28", "", OutOfRange}, {"-400", "", OutOfRange}, {"9.4", "9", 0}, {"9.5", "", OutOfRange}, {"0.5", "1", 0},
		{"-0.5", "-1", 0},
	})
	nines := strings.Repeat("9", 38)
	runConv(t, decimalType(38, 0), nil, []convCase{
		{nines, nines, 0}, {"-" + nines, "-" + nines, 0}, {nines + ".4", nines, 0}, {nines + ".5", "", OutOfRange},
		{"1" + strings.Repeat("0", 38), "", OutOfRange}, {"340282366920938463463374607431768211455.9", "", OutOfRange},
	})
	runConv(t, decimalType(38, 38), nil, []convCase{
		{"0." + nines, "0." + nines, 0}, {"0." + nines + "4", "0." + nines, 0}, {"0." + nines + "5", "", OutOfRange},
		{"1", "", OutOfRange}, {"1e-38", "0." + strings.Repeat("0", 37) + "1", 0}, {"-4e-39", "0." + strings.Repeat("0", 38), 0},
	})
	runConv(t, decimalType(20, 0), nil, []convCase{{"18446744073709551615", "18446744073709551615", 0}})
}

func TestConvErrorText(t *testing.T) {
	long := strings.Repeat("中", 100)
	cases := []struct {
		err  *ConvError
		want string
	}{
		{NewConvError(OutOfRange, decimalType(5, 2), []byte("1e9")), `value "1e9" is out of range for decimal(5,2)`},
		{NewConvError(Malformed, Type{Kind: Date}, []byte("x")), `value "x" is not a valid date`},
		{NewConvError(TooLong, Type{Kind: VarChar, Length: 4}, []byte(long)), "the length of the value is too long for varchar(4): 300 bytes"},
		{NewConvError(BadUTF8, Type{Kind: String}, []byte("a\xc0\xaf")), `invalid UTF-8 in a value of text: "a\xc0\xaf"`},
	}
	for _, c := range cases {
		if got := c.err.Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if e := cases[2].err; len(e.Text) != 63 || e.Length != 300 {
		t.Errorf("kept %d bytes of %d", len(e.Text), e.Length)
	}
}
