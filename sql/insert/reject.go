package insert

import (
	"errors"
	"fmt"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/sql/token"
	"dorisgo/value"
)

// ErrExpression is what every ExpressionError wraps.
var ErrExpression = errors.New("a value is an expression")

// ExpressionError says that a value is neither a literal nor a parameter. The
// statement then makes a normal load, with Decoder.Expressions set.
type ExpressionError struct {
	// Pos is where the value starts in the text.
	Pos int
	// Row is its row, from 1.
	Row int
}

// Error names the place.
func (e *ExpressionError) Error() string {
	return fmt.Sprintf("the value at position %d of row %d is an expression", e.Pos, e.Row)
}

// Unwrap is ErrExpression.
func (e *ExpressionError) Unwrap() error { return ErrExpression }

// errNull is NULL for a column without NULLs.
var errNull = errors.New("null value for not null column")

// rejected decides about a value that its column refused with err. In strict
// mode the statement fails. Else the value becomes NULL, or the row bad if
// the column has no NULLs. Errors of the statement itself pass unchanged.
func (d *Decoder) rejected(c *block.Column, err error, bad *bool) error {
	conv, ok := errors.AsType[*value.ConvError](err)
	if !ok && !errors.Is(err, errNull) {
		return err
	}
	if d.target.strict {
		return d.valueError(conv)
	}
	if d.res.FirstError == "" {
		d.res.FirstError = d.valueError(conv).Error()
	}
	if d.target.table.Columns[d.at].Nullable {
		c.AppendNull()
		return nil
	}
	*bad = true
	return nil
}

// valueError words the refusal of a value; conv is nil for a NULL.
func (d *Decoder) valueError(conv *value.ConvError) error {
	c := &d.target.table.Columns[d.at]
	if conv == nil {
		return doriserr.New(doriserr.NullViolation, "column_name[%s], null value for not null column, type=%s, row=%d",
			c.Name, c.Type, d.row)
	}
	switch conv.Kind {
	case value.OutOfRange:
		return doriserr.New(doriserr.OutOfRange, "column_name[%s], value '%s' is out of range, type=%s, row=%d",
			c.Name, token.Shown([]byte(conv.Text)), c.Type, d.row)
	case value.TooLong:
		return doriserr.New(doriserr.DataQuality, "column_name[%s], the length of input is too long than schema. "+
			"first 32 bytes of input str: [%s] schema length: %d; actual length: %d; row=%d",
			c.Name, value.TruncateUTF8([]byte(conv.Text), 32), lengthLimit(c.Type), conv.Length, d.row)
	case value.BadUTF8:
		return doriserr.New(doriserr.DataQuality, "column_name[%s], value is not valid UTF-8: %q, type=%s, row=%d",
			c.Name, conv.Text, c.Type, d.row)
	}
	return doriserr.New(doriserr.DataQuality, "column_name[%s], invalid value '%s', type=%s, row=%d",
		c.Name, conv.Text, c.Type, d.row)
}

func lengthLimit(t value.Type) int {
	if t.Length > 0 {
		return int(t.Length)
	}
	return value.MaxStringLength
}
