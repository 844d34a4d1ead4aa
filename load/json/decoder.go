package json

import (
	"bytes"
	"io"

	"dorisgo/doriserr"
	"dorisgo/load"
)

// Texts of row errors.
const (
	wantsStrip    = "JSON data is array-object, `strip_outer_array` must be TRUE."
	wantsNoStrip  = "JSON data is not an array-object, `strip_outer_array` must be FALSE."
	noRoot        = "JSON Root not found."
	notJSON       = "Parse json data failed"
	notObject     = "Expect json object value"
	halfSurrogate = "a string has half of a surrogate pair"
)

// Options are a JSON body's form.
type Options struct {
	// ByLine is read_json_by_line.
	ByLine bool
	// StripOuterArray makes the elements of arrays rows.
	StripOuterArray bool
	// Root is json_root, nil for the whole value.
	Root Path
	// Paths are jsonpaths, one for each source field; nil means that fields are
	// keys of the row's object.
	Paths []Path
}

// Decoder reads a JSON body. It implements load.Decoder.
type Decoder struct {
	in   *load.Input
	o    Options
	row  *rowReader
	next func(r *load.Rows) (n int, err error)
	// searched is the part of the window that holds no line end.
	searched int
	frame    frame
	// batch holds rows that were not yet handed on; it is there during Decode.
	batch *load.Batch
	// careful keeps tests from the quick way.
	careful bool
	array   arrayState
	started bool
}

// arrayState is where a streamed outer array stands.
type arrayState uint8

const (
	outside arrayState = iota
	afterOpen
	afterElement
	afterComma
)

// NewDecoder reads rows for a mapping from an input.
func NewDecoder(in *load.Input, m *load.Mapping, o Options) *Decoder {
	d := &Decoder{in: in, o: o, row: newRowReader(m, o.Paths)}
	d.next = d.nextValue
	if o.ByLine {
		d.next = d.nextLine
	}
	return d
}

// Decode implements load.Decoder.
func (d *Decoder) Decode(r *load.Rows, maxBytes int) error {
	if !d.started {
		if err := d.in.SkipBOM(); err != nil {
			return err
		}
		d.started = true
	}
	d.batch = load.NewBatch(len(d.row.blank))
	err := d.decode(r, maxBytes)
	d.batch.Flush(r)
	d.batch.Release()
	d.batch = nil
	if stopped := r.Stopped(); stopped != nil {
		return stopped
	}
	return err
}

func (d *Decoder) decode(r *load.Rows, maxBytes int) error {
	full := load.NewFull(maxBytes)
	for {
		n, err := d.next(r)
		if err != nil {
			return err
		}
		if err := r.Stopped(); err != nil {
			return err
		}
		d.in.Advance(n)
		d.searched, d.frame = 0, frame{}
		if full.Add(r, 1, n) {
			return nil
		}
	}
}

// more reads on, which moves the window.
func (d *Decoder) more(r *load.Rows) error {
	d.batch.Flush(r)
	return d.in.More()
}

// quick reads the object at the start of b as a row of the batch and returns its
// end, or -1.
func (d *Decoder) quick(r *load.Rows, b []byte) int {
	if d.careful {
		return -1
	}
	end := d.row.quick(d.batch, b)
	if end < 0 {
		return -1
	}
	if start := d.batch.Offset(b); d.batch.End(start, start+end) {
		d.batch.Flush(r)
	}
	return end
}

// reject hands on a row that is filtered, after those before it.
func (d *Decoder) reject(r *load.Rows, reason string, line []byte) {
	d.batch.Flush(r)
	r.Reject(reason, line)
}

// nextLine reads the rows of one line.
func (d *Decoder) nextLine(r *load.Rows) (n int, err error) {
	for {
		w := d.in.Bytes()
		if i := bytes.IndexByte(w[d.searched:], '\n'); i >= 0 {
			i += d.searched
			d.line(r, w[:i])
			return i + 1, nil
		}
		if d.in.EOF() {
			if len(w) == 0 {
				return 0, io.EOF
			}
			d.line(r, w)
			return len(w), nil
		}
		d.searched = len(w)
		if err := d.more(r); err != nil {
			return 0, err
		}
	}
}

// line reads the values of a line.
func (d *Decoder) line(r *load.Rows, line []byte) {
	for i := skipBlanks(line, 0); i < len(line); i = skipBlanks(line, i) {
		if line[i] == '{' && d.o.Root == nil && !d.o.StripOuterArray {
			if end := d.quick(r, line[i:]); end >= 0 {
				i += end
				continue
			}
		}
		s := scanner{line}
		end, esc := s.value(i, 0)
		if end < 0 {
			reason := notJSON
			if line[i] == '[' && !d.o.StripOuterArray {
				reason = wantsStrip // an array over several lines
			}
			d.reject(r, reason, line[i:])
			return
		}
		d.document(r, value{line[i:end], esc})
		i = end
	}
}

// document reads the rows of one checked value.
func (d *Decoder) document(r *load.Rows, v value) {
	whole := v.raw
	if d.o.Root != nil {
		var ok bool
		if v, ok = d.o.Root.find(v); !ok {
			d.reject(r, noRoot, whole)
			return
		}
	}
	isArray := v.kind() == '['
	switch {
	case isArray && !d.o.StripOuterArray:
		d.reject(r, wantsStrip, whole)
	case !isArray && d.o.StripOuterArray:
		d.reject(r, wantsNoStrip, whole)
	case !isArray:
		d.batch.Flush(r)
		d.row.value(r, v)
	default:
		d.batch.Flush(r)
		s := scanner{v.raw}
		for i := skipBlanks(s.b, 1); s.b[i] != ']'; {
			end, esc := s.value(i, 1)
			if end < 0 { // deeper by one than when it was checked
				d.reject(r, notJSON, s.b[i:])
				return
			}
			d.row.value(r, value{s.b[i:end], esc})
			if i = skipBlanks(s.b, end); s.b[i] == ',' {
				i = skipBlanks(s.b, i+1)
			}
		}
	}
}

// nextValue reads one value of a series, or one element of a streamed array.
func (d *Decoder) nextValue(r *load.Rows) (n int, err error) {
	for {
		w := d.in.Bytes()
		if i := skipBlanks(w, 0); i > 0 && d.frame.pos == 0 {
			d.in.Advance(i)
			continue
		}
		switch {
		case len(w) > 0 && d.frame.pos == 0:
			used, start, err := d.punctuation(r, w)
			if err != nil {
				return 0, err
			}
			if !start {
				d.in.Advance(used)
				continue
			}
			if w[0] == '{' && (d.array != outside || d.o.Root == nil && !d.o.StripOuterArray) {
				if end := d.quick(r, w); end >= 0 {
					if d.array != outside {
						d.array = afterElement
					}
					return end, nil
				}
			}
		case len(w) == 0 && d.in.EOF():
			if d.array != outside {
				return 0, damaged("the body ends inside the outer array")
			}
			return 0, io.EOF
		}
		if end := d.frame.end(w, d.in.EOF()); end >= 0 {
			return end, d.whole(r, w[:end])
		}
		if d.in.EOF() && len(w) > 0 {
			return 0, damaged("the body ends inside a value")
		}
		if err := d.more(r); err != nil {
			return 0, err
		}
	}
}

// punctuation looks at a byte outside values: start says that a value begins,
// otherwise used bytes are done with.
func (d *Decoder) punctuation(r *load.Rows, w []byte) (used int, start bool, err error) {
	c := w[0]
	switch d.array {
	case outside:
		if c != '[' || d.o.Root != nil {
			return 0, true, nil
		}
		if !d.o.StripOuterArray {
			d.reject(r, wantsStrip, w[:1])
			return 0, false, doriserr.New(doriserr.DataQuality, "%s", wantsStrip)
		}
		d.array = afterOpen
		return 1, false, nil
	case afterOpen:
		if c != ']' {
			return 0, true, nil
		}
	case afterElement:
		if c == ',' {
			d.array = afterComma
			return 1, false, nil
		}
		if c != ']' {
			return 0, false, damaged("expected a comma or the end of the outer array")
		}
	case afterComma:
		if c == ']' || c == ',' {
			return 0, false, damaged("expected a value after a comma")
		}
		return 0, true, nil
	}
	d.array = outside
	return 1, false, nil
}

// whole reads the rows of a value that was only framed so far.
func (d *Decoder) whole(r *load.Rows, b []byte) error {
	end, esc := scanner{b}.value(0, 0)
	inArray := d.array != outside
	if inArray {
		d.array = afterElement
	}
	switch {
	case end == len(b) && inArray:
		d.batch.Flush(r)
		d.row.value(r, value{b, esc})
	case end == len(b):
		d.document(r, value{b, esc})
	case b[0] == '{' || b[0] == '[' || b[0] == '"':
		d.reject(r, notJSON, b) // its end is known, so the next value is found
	default:
		return damaged("expected a value")
	}
	return nil
}

func damaged(what string) error {
	return doriserr.New(doriserr.DataQuality, "%s: %s", notJSON, what)
}
