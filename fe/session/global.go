package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Globals is the values that new sessions start with: the defaults and what
// SET GLOBAL has put over them. It never changes; a new one is made when the
// catalog's variables change.
type Globals struct {
	vals []Value
	// set is the set of variables that SET GLOBAL or the configuration has set.
	set map[int]bool
}

// NewGlobals makes the values from what the catalog keeps (name to stored
// text; later maps win). An entry that this version does not know or allow is
// left out and named in the error, beside which the Globals are still good.
func NewGlobals(stored ...map[string]string) (*Globals, error) {
	g := &Globals{vals: make([]Value, len(variables)), set: make(map[int]bool)}
	for i, v := range variables {
		g.vals[i] = v.Default
	}
	var errs []error
	for _, m := range stored {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			v, err := Lookup(name)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			val, err := v.Convert(String(m[name]))
			if err != nil {
				errs = append(errs, fmt.Errorf("global variable: %w", err))
				continue
			}
			for _, id := range twins(v.id) {
				g.vals[id] = val
				g.set[id] = true
			}
		}
	}
	return g, errors.Join(errs...)
}

// Get is the global value of a variable.
func (g *Globals) Get(name string) (Value, error) {
	v, err := Lookup(name)
	if err != nil {
		return Null, err
	}
	return g.vals[v.id], nil
}

// CheckGlobal returns the text to store for SET GLOBAL name = val.
func CheckGlobal(name string, val Value) (stored string, err error) {
	v, err := Lookup(name)
	if err != nil {
		return "", err
	}
	switch v.Scope {
	case ReadOnly:
		return "", errReadOnly(v.Name)
	case SessionOnly:
		return "", errSessionOnly(v.Name)
	}
	val, err = v.Convert(val)
	if err != nil {
		return "", err
	}
	text, null := val.Text()
	if null {
		return "", errWrongValue(v.Name, "NULL")
	}
	return text, nil
}
