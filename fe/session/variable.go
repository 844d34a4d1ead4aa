package session

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Variable is a row of the table of system variables.
type Variable struct {
	Name string
	// Default is the value without SET GLOBAL.
	Default Value
	Scope   Scope
	// OnOff shows a Bool as ON and OFF in SHOW VARIABLES, as MySQL's own
	// variables are; Doris' are true and false.
	OnOff bool
	// Nullable allows SET name = NULL.
	Nullable bool
	// Min and Max bound an Int or Float; both zero means no bounds.
	Min, Max float64
	// Enum lists the allowed texts of a String in their stored form. Case does
	// not matter when one is set.
	Enum []string
	// check returns the stored form of a text.
	check func(name, text string) (string, error)

	id int
}

// Scope says where a variable can be set.
type Scope uint8

// The scopes.
const (
	// Both: SET and SET GLOBAL.
	Both Scope = iota
	// SessionOnly: SET alone.
	SessionOnly
	// GlobalOnly: SET GLOBAL alone.
	GlobalOnly
	// ReadOnly: never.
	ReadOnly
)

var (
	// variables is the table, in order of name.
	variables = joinTables(commitVars, driverVars, planVars)
	byName    = indexTable(variables)
)

// Variables is the table of all variables in order of name. Callers do not
// change it.
func Variables() []*Variable { return variables }

// Lookup finds a variable by its name in any case.
func Lookup(name string) (*Variable, error) {
	if v := byName[name]; v != nil {
		return v, nil
	}
	if v := byName[strings.ToLower(name)]; v != nil {
		return v, nil
	}
	return nil, errUnknown(name)
}

// Show is the value as SHOW VARIABLES prints it.
func (v *Variable) Show(val Value) string {
	if val.Kind == BoolValue {
		switch {
		case v.OnOff && val.Int != 0:
			return "ON"
		case v.OnOff:
			return "OFF"
		}
		return strconv.FormatBool(val.Int != 0)
	}
	text, _ := val.Text()
	return text
}

// Convert makes the stored value from one that a client set, of any kind. The
// error is the client's.
func (v *Variable) Convert(val Value) (Value, error) {
	if val.Kind == NullValue {
		if v.Nullable {
			return Null, nil
		}
		return Null, errWrongValue(v.Name, "NULL")
	}
	switch v.Default.Kind {
	case BoolValue:
		return v.toBool(val)
	case IntValue:
		return v.toInt(val)
	case FloatValue:
		return v.toFloat(val)
	}
	text, _ := val.Text()
	if v.Enum != nil {
		for _, e := range v.Enum {
			if strings.EqualFold(e, text) {
				return String(e), nil
			}
		}
		return Null, errWrongValue(v.Name, text)
	}
	if v.check != nil {
		stored, err := v.check(v.Name, text)
		return String(stored), err
	}
	return String(text), nil
}

func (v *Variable) toBool(val Value) (Value, error) {
	text, _ := val.Text()
	switch strings.ToLower(text) {
	case "1", "on", "true", "yes":
		return Bool(true), nil
	case "0", "off", "false", "no":
		return Bool(false), nil
	}
	return Null, errWrongValue(v.Name, text)
}

func (v *Variable) toInt(val Value) (Value, error) {
	text, _ := val.Text()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0:
		// MySQL's "no limit" is the unsigned maximum, which clients send back;
		// n is the signed one now.
	case err != nil:
		return Null, errWrongType(v.Name)
	}
	if v.outside(float64(n)) {
		return Null, errWrongValue(v.Name, text)
	}
	return Int(n), nil
}

func (v *Variable) toFloat(val Value) (Value, error) {
	text, _ := val.Text()
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil, math.IsNaN(f):
		return Null, errWrongType(v.Name)
	case v.outside(f):
		return Null, errWrongValue(v.Name, text)
	}
	return Float(f), nil
}

func (v *Variable) outside(f float64) bool {
	return (v.Min != 0 || v.Max != 0) && (f < v.Min || f > v.Max)
}
