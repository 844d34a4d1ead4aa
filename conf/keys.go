package conf

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Errors of Set, to be found with errors.Is.
var (
	ErrUnknownKey = errors.New("unknown key")
	ErrNotMutable = errors.New("not mutable")
	ErrBadValue   = errors.New("bad value")
)

// setting is the common part of Int, Bool, Float, Text and Size.
type setting interface {
	String() string
	// parse checks a text. The function stores it; the number is what limits
	// apply to.
	parse(text string) (store func(), n float64, err error)
}

// Keys is the part of FE and BE that handles keys by name.
type Keys struct {
	role   string
	fields []*field
	byKey  map[string]*field
}

type field struct {
	Entry
	at       setting
	min, max float64
	bounded  bool
	choices  []string
}

// Entry describes a key and its present value.
type Entry struct {
	Key, Value, Default string
	// Type is int, bool, float, string or size.
	Type    string
	Mutable bool
	// Doc is a sentence without its end.
	Doc string
	// Section is the heading under which the reference lists it.
	Section string
}

// bind reads the tags of a role's struct and sets the defaults. A bad tag is a
// mistake in this package and found by every test, hence a panic.
func (k *Keys) bind(role string, target any) {
	k.role, k.byKey = role, make(map[string]*field)
	v := reflect.ValueOf(target).Elem()
	section := ""
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if s := tag.Get("section"); s != "" {
			section = s
		}
		key := tag.Get("key")
		if key == "" {
			continue
		}
		at := v.Field(i).Addr().Interface().(setting)
		f := &field{at: at, Entry: Entry{
			Key: key, Default: tag.Get("default"), Doc: tag.Get("doc"), Section: section,
			Type: typeName(at), Mutable: tag.Get("mutable") == "true",
		}}
		f.limits(tag)
		if err := f.set(f.Default); err != nil {
			panic(fmt.Sprintf("conf: default of %s: %v", key, err))
		}
		k.fields = append(k.fields, f)
		k.byKey[key] = f
	}
}

func typeName(s setting) string {
	switch s.(type) {
	case *Int:
		return "int"
	case *Bool:
		return "bool"
	case *Float:
		return "float"
	case *Size:
		return "size"
	}
	return "string"
}

func (f *field) limits(tag reflect.StructTag) {
	if r := tag.Get("range"); r != "" {
		low, high, _ := strings.Cut(r, "..")
		var err1, err2 error
		f.min, err1 = strconv.ParseFloat(low, 64)
		f.max, err2 = strconv.ParseFloat(high, 64)
		if err := errors.Join(err1, err2); err != nil {
			panic(fmt.Sprintf("conf: range of %s: %v", f.Key, err))
		}
		f.bounded = true
	}
	if c := tag.Get("choices"); c != "" {
		f.choices = strings.Split(c, ",")
	}
}

func (f *field) set(text string) error {
	text = strings.TrimSpace(text)
	if f.choices != nil {
		i := slices.IndexFunc(f.choices, func(c string) bool { return strings.EqualFold(c, text) })
		if i < 0 {
			return fmt.Errorf("%w for %s: %q is none of %s", ErrBadValue, f.Key, text, strings.Join(f.choices, ", "))
		}
		text = f.choices[i]
	}
	store, n, err := f.at.parse(text)
	if err != nil {
		return fmt.Errorf("%w for %s: %w", ErrBadValue, f.Key, err)
	}
	if f.bounded && (n < f.min || n > f.max) {
		return fmt.Errorf("%w for %s: %s is not between %s and %s", ErrBadValue, f.Key, text, plain(f.min), plain(f.max))
	}
	store()
	return nil
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Set changes a mutable key at run time. A wrong value leaves the old one.
func (k *Keys) Set(key, val string) error {
	f := k.byKey[key]
	switch {
	case f == nil:
		return k.unknown(key)
	case !f.Mutable:
		return fmt.Errorf("key %q of the %s is %w: it needs a restart", key, k.role, ErrNotMutable)
	}
	return f.set(val)
}

// Has reports whether the role has the key.
func (k *Keys) Has(key string) bool { return k.byKey[key] != nil }

// Lookup describes a key.
func (k *Keys) Lookup(key string) (Entry, bool) {
	f := k.byKey[key]
	if f == nil {
		return Entry{}, false
	}
	e := f.Entry
	e.Value = f.at.String()
	return e, true
}

// Entries describes all keys in the order of the reference.
func (k *Keys) Entries() []Entry {
	list := make([]Entry, len(k.fields))
	for i, f := range k.fields {
		list[i] = f.Entry
		list[i].Value = f.at.String()
	}
	return list
}

func (k *Keys) unknown(key string) error {
	if near := k.nearest(key); near != "" {
		return fmt.Errorf("%w %q of the %s: did you mean %q?", ErrUnknownKey, key, k.role, near)
	}
	return fmt.Errorf("%w %q of the %s", ErrUnknownKey, key, k.role)
}
