package json

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"dorisgo/block"
	"dorisgo/load"
	types "dorisgo/value"
)

// rowReader turns one value into one row.
type rowReader struct {
	paths  []Path
	byName names
	// With paths, the numbers of byName and order are those of byKey: what paths
	// that start at a key go on to. wholes are the fields of paths without steps.
	byKey  [][]pathEnd
	wholes []int
	// asWritten are the fields whose columns take true and false as text.
	asWritten []bool
	// order are the keys of the last object in their order: rows mostly repeat
	// it, and comparing is cheaper than looking up.
	order []seen
	// kept is where the bytes of their keys go.
	kept []byte
	// blank is a row of missing values.
	blank   []block.Cell
	fields  [][]byte
	escaped []bool
	scratch []byte
}

// pathEnd is a field and the steps to it after the first.
type pathEnd struct {
	field int
	rest  Path
}

type seen struct {
	// key is as written, with quotes and a colon.
	key   []byte
	field int
}

// maxOrder bounds the keys that are remembered.
const maxOrder = 1024

func newRowReader(m *load.Mapping, paths []Path) *rowReader {
	n := m.Fields()
	rr := &rowReader{
		paths: paths, byName: newNames(n), asWritten: make([]bool, n),
		blank: make([]block.Cell, n), order: make([]seen, 0, n),
	}
	for i := range n {
		if paths == nil {
			rr.byName.add(strings.ToLower(m.FieldName(i)), i)
		}
		t, _ := m.FieldType(i)
		rr.asWritten[i] = t.IsVar() || t.Kind == types.Boolean
		rr.blank[i].Start = block.MissingCell
	}
	for i, p := range paths {
		switch {
		case len(p) == 0:
			rr.wholes = append(rr.wholes, i)
		case p[0].key != nil:
			k, ok := rr.byName.find(p[0].key)
			if !ok {
				k = len(rr.byKey)
				rr.byName.add(string(p[0].key), k)
				rr.byKey = append(rr.byKey, nil)
			}
			rr.byKey[k] = append(rr.byKey[k], pathEnd{i, p[1:]})
		}
	}
	return rr
}

func (rr *rowReader) reset() {
	if rr.fields == nil {
		rr.fields, rr.escaped = make([][]byte, len(rr.blank)), make([]bool, len(rr.blank))
	}
	for i := range rr.fields {
		rr.fields[i] = load.Missing
	}
}

// value reads a checked value.
func (rr *rowReader) value(r *load.Rows, v value) {
	if v.kind() != '{' {
		r.Reject(notObject, v.raw)
		return
	}
	if rr.paths == nil {
		rr.object(r, v.raw)
		return
	}
	rr.reset()
	for i, p := range rr.paths {
		if found, ok := p.find(v); ok {
			rr.fields[i], rr.escaped[i] = found.raw, found.escaped
		}
	}
	rr.append(r, v.raw)
}

// object reads the object at the start of b, which need not be checked, and
// returns its end; -1, and no row, if it is no JSON.
func (rr *rowReader) object(r *load.Rows, b []byte) int {
	rr.reset()
	s := scanner{b}
	i := skipBlanks(b, 1)
	if i < len(b) && b[i] == '}' {
		rr.append(r, b[:i+1])
		return i + 1
	}
	for n := 0; ; n++ {
		key, val, end := s.member(i, 1)
		if end < 0 {
			return -1
		}
		if f := rr.lookup(n, key); f >= 0 {
			rr.fields[f], rr.escaped[f] = val.raw, val.escaped
		}
		i = skipBlanks(b, end)
		switch {
		case i >= len(b):
			return -1
		case b[i] == '}':
			rr.append(r, b[:i+1])
			return i + 1
		case b[i] != ',':
			return -1
		}
		i = skipBlanks(b, i+1)
	}
}

// lookup is the field of the n-th key of an object, or -1. Names match without
// case, keys in paths in their exact case.
func (rr *rowReader) lookup(n int, key value) int {
	text := key.raw[1 : len(key.raw)-1]
	if n < len(rr.order) {
		if k := rr.order[n].key; string(k[1:len(k)-2]) == string(text) {
			return rr.order[n].field
		}
	}
	name := text
	if key.escaped {
		var ok bool
		if name, ok = unescape(nil, key.raw); !ok {
			return -1
		}
	}
	f, ok := rr.byName.find(name)
	if !ok {
		f = -1
		if rr.paths == nil && bytes.ContainsFunc(name, func(c rune) bool { return 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf }) {
			if g, ok := rr.byName.find(bytes.ToLower(name)); ok {
				f = g
			}
		}
	}
	switch {
	case n < len(rr.order):
		rr.order[n] = seen{rr.keep(key.raw), f}
	case n == len(rr.order) && n < maxOrder:
		rr.order = append(rr.order, seen{rr.keep(key.raw), f})
	}
	return f
}

// keep copies a key, with a colon. Keys share memory; one that another order of
// keys replaces is lost until the next piece of it.
func (rr *rowReader) keep(key []byte) []byte {
	if cap(rr.kept)-len(rr.kept) <= len(key) {
		rr.kept = make([]byte, 0, max(24*len(rr.blank), len(key)+1))
	}
	n := len(rr.kept)
	rr.kept = append(append(rr.kept, key...), ':')
	return rr.kept[n:len(rr.kept):len(rr.kept)]
}

// append turns the fields' values into text and hands the row on.
func (rr *rowReader) append(r *load.Rows, line []byte) {
	rr.scratch = rr.scratch[:0]
	for i, f := range rr.fields {
		switch f[0] {
		case 'n':
			rr.fields[i] = nil
		case 't':
			if !rr.asWritten[i] {
				rr.fields[i] = one
			}
		case 'f':
			if !rr.asWritten[i] {
				rr.fields[i] = zero
			}
		case '"':
			if !rr.escaped[i] {
				rr.fields[i] = f[1 : len(f)-1]
				continue
			}
			from := len(rr.scratch)
			var ok bool
			if rr.scratch, ok = unescape(rr.scratch, f); !ok {
				r.Reject(halfSurrogate, line)
				return
			}
			rr.fields[i] = rr.scratch[from:len(rr.scratch):len(rr.scratch)]
		}
	}
	r.Append(rr.fields, line)
}

var one, zero = []byte("1"), []byte("0")
