package block

import (
	"errors"
	"math"
	"time"
	"unicode/utf8"

	"dorisgo/value"
)

// ErrFull is the refusal of a value for which a column has no room: a column
// of variable length holds at most 2 GiB. Callers seal blocks long before.
var ErrFull = errors.New("block: column is full")

// ConvertOptions is what the conversion of text depends on besides the type.
type ConvertOptions struct {
	// Loc is the zone to which texts with a zone of their own are converted;
	// nil is UTC.
	Loc *time.Location
	// Strict makes a CHAR or VARCHAR that is too long an error; without it
	// the value is cut to the longest whole characters that fit.
	Strict bool
	// StringLimit is the longest STRING or JSON in bytes; longer ones are
	// errors in both modes. 0 is value.MaxStringLength.
	StringLimit int
}

// Fits reports whether n more bytes of a value fit the column.
func (c *Column) Fits(n int) bool { return c.width > 0 || len(c.data)+n <= math.MaxInt32 }

// AppendText appends the value that text b spells, by the column's type (Part A
// of docs/compatibility.md; the rules are those of package value). On error
// nothing is appended; it is a *value.ConvError or ErrFull. b is copied. NULL
// has no text: see AppendNull. It does not allocate once the column has grown.
func (c *Column) AppendText(b []byte, o *ConvertOptions) error {
	switch k := c.typ.Kind; k {
	case value.TinyInt, value.SmallInt, value.Int, value.BigInt:
		v, err := value.ParseInteger(b, k)
		if err != nil {
			return err
		}
		c.AppendInt64(v)
	case value.VarChar, value.Char:
		return c.appendString(b, int(c.typ.Length), !o.Strict)
	case value.String:
		return c.appendString(b, o.stringLimit(), false)
	case value.JSON:
		return c.appendJSON(b, o)
	case value.Boolean:
		v, err := value.ParseBool(b)
		if err != nil {
			return err
		}
		c.AppendBool(v)
	case value.LargeInt:
		v, err := value.ParseInt128(b)
		if err != nil {
			return err
		}
		c.AppendInt128(v)
	case value.Float, value.Double:
		v, err := value.ParseFloat(b, k)
		if err != nil {
			return err
		}
		c.AppendFloat64(v)
	case value.Decimal:
		v, err := value.ParseDecimal(b, c.typ.Precision, c.typ.Scale)
		if err != nil {
			return err
		}
		c.AppendInt128(v)
	case value.Date:
		v, err := value.ParseDateIn(b, o.Loc)
		if err != nil {
			return err
		}
		c.AppendInt64(int64(v))
	case value.DateTime:
		v, err := value.ParseDateTime(b, c.typ.Scale, o.Loc)
		if err != nil {
			return err
		}
		c.AppendInt64(v)
	default:
		return value.NewConvError(value.Malformed, c.typ, b)
	}
	return nil
}

func (o *ConvertOptions) stringLimit() int {
	if o.StringLimit > 0 {
		return o.StringLimit
	}
	return value.MaxStringLength
}

func (c *Column) appendString(b []byte, limit int, cut bool) error {
	if !utf8.Valid(b) {
		return value.NewConvError(value.BadUTF8, c.typ, b)
	}
	if len(b) > limit {
		if !cut {
			return value.NewConvError(value.TooLong, c.typ, b)
		}
		b = value.TruncateUTF8(b, limit)
	}
	if !c.Fits(len(b)) {
		return ErrFull
	}
	c.AppendBytes(b)
	return nil
}

func (c *Column) appendJSON(b []byte, o *ConvertOptions) error {
	switch {
	case !utf8.Valid(b):
		return value.NewConvError(value.BadUTF8, c.typ, b)
	case !value.ValidJSON(b):
		return value.NewConvError(value.Malformed, c.typ, b)
	case len(b) > o.stringLimit():
		return value.NewConvError(value.TooLong, c.typ, b)
	case !c.Fits(len(b)):
		return ErrFull
	}
	c.data = value.AppendCompactJSON(c.data, b)
	c.offsets = append(c.offsets, int32(len(c.data)))
	c.grew()
	return nil
}
