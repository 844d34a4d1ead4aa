package session

import (
	"strconv"

	"dorisgo/value"
)

// Value is the value of a variable or of a user variable.
type Value struct {
	Kind ValueKind
	// Int is the value of Int, and of Bool as 0 or 1.
	Int   int64
	Float float64
	Str   string
}

// ValueKind is the kind of a Value.
type ValueKind uint8

// The kinds of values.
const (
	NullValue ValueKind = iota
	IntValue
	BoolValue
	FloatValue
	StringValue
)

// Int, Bool, Float and String make a Value.
func Int(n int64) Value     { return Value{Kind: IntValue, Int: n} }
func Float(f float64) Value { return Value{Kind: FloatValue, Float: f} }
func String(s string) Value { return Value{Kind: StringValue, Str: s} }

// Bool makes a Value that is 0 or 1 for clients.
func Bool(b bool) Value {
	if b {
		return Value{Kind: BoolValue, Int: 1}
	}
	return Value{Kind: BoolValue}
}

// Null is NULL.
var Null = Value{}

// Text is the value as SELECT @@name shows it: booleans are 1 and 0.
func (v Value) Text() (text string, null bool) {
	switch v.Kind {
	case NullValue:
		return "", true
	case IntValue, BoolValue:
		return strconv.FormatInt(v.Int, 10), false
	case FloatValue:
		return strconv.FormatFloat(v.Float, 'f', -1, 64), false
	}
	return v.Str, false
}

// Type is the type of the result column that shows the value: numbers are
// numbers for clients, which drivers rely on at their start.
func (v Value) Type() value.Type {
	switch v.Kind {
	case IntValue, BoolValue:
		return value.Type{Kind: value.BigInt}
	case FloatValue:
		return value.Type{Kind: value.Double}
	}
	return value.Type{Kind: value.VarChar, Length: value.MaxVarCharLength}
}

// Literal is the value as an SQL literal, for statements that name a variable.
func (v Value) Literal() string {
	text, null := v.Text()
	switch {
	case null:
		return "NULL"
	case v.Kind != StringValue:
		return text
	}
	b := []byte{'\''}
	for i := range len(text) {
		if text[i] == '\'' {
			b = append(b, '\'')
		}
		b = append(b, text[i])
	}
	return string(append(b, '\''))
}
