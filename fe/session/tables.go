package session

import (
	"slices"
	"strings"
)

// Short forms for the tables.

func boolean(name string, def bool) *Variable { return &Variable{Name: name, Default: Bool(def)} }
func onOff(name string, def bool) *Variable {
	return &Variable{Name: name, Default: Bool(def), OnOff: true}
}
func integer(name string, def int64) *Variable { return &Variable{Name: name, Default: Int(def)} }
func number(name string, def, low, high float64) *Variable {
	return &Variable{Name: name, Default: Float(def), Min: low, Max: high}
}
func text(name, def string) *Variable { return &Variable{Name: name, Default: String(def)} }

func ranged(name string, def, low, high int64) *Variable {
	return &Variable{Name: name, Default: Int(def), Min: float64(low), Max: float64(high)}
}

// choice is a text that must be one of few; the first is the default.
func choice(name string, list ...string) *Variable {
	return &Variable{Name: name, Default: String(list[0]), Enum: list}
}

func checked(name, def string, check func(name, text string) (string, error)) *Variable {
	return &Variable{Name: name, Default: String(def), check: check}
}

func scoped(s Scope, v *Variable) *Variable {
	v.Scope = s
	return v
}

func nullable(v *Variable) *Variable {
	v.Nullable = true
	return v
}

func readOnly(v *Variable) *Variable { return scoped(ReadOnly, v) }

func joinTables(tables ...[]*Variable) []*Variable {
	all := slices.Concat(tables...)
	slices.SortFunc(all, func(a, b *Variable) int { return strings.Compare(a.Name, b.Name) })
	for i, v := range all {
		v.id = i
	}
	return all
}

func indexTable(all []*Variable) map[string]*Variable {
	m := make(map[string]*Variable, len(all))
	for _, v := range all {
		m[v.Name] = v
	}
	return m
}

// mustID is the number of a variable that the code itself reads.
func mustID(name string) int {
	v := byName[name]
	if v == nil {
		panic("session: no variable " + name)
	}
	return v.id
}
