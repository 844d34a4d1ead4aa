package csv

import (
	"bytes"
	"fmt"
	"io"

	"dorisgo/load"
)

// Options are a CSV body's form. The zero value of a field is its default.
type Options struct {
	// Separator is between fields, Delimiter between rows; "" is a tab and LF.
	Separator, Delimiter string
	// Enclose and Escape are 0 for none. Escape works inside enclosed fields.
	Enclose, Escape byte
	// TrimDoubleQuotes drops a pair of double quotes round a field.
	TrimDoubleQuotes bool
	// EmptyFieldAsNull reads an empty field that is not enclosed as NULL.
	EmptyFieldAsNull bool
	// SkipLines are dropped at the start, blank ones counted.
	SkipLines int
	// AnyWidth reads rows of any number of fields: those that are not there are
	// NULL, those past the wanted ones are dropped.
	AnyWidth bool
}

// Decoder reads a CSV body. It implements load.Decoder.
type Decoder struct {
	in   *load.Input
	o    Options
	sep  []byte
	eol  []byte
	crlf bool // a CR before the line end belongs to it
	want int
	// fast says that scan knows the form.
	fast bool
	// odd says that a field's value takes more than a look at its length.
	odd bool
	// searched is the part of the window that holds no line end.
	searched int
	started  bool
	skip     int
	fields   [][]byte
	// found counts the fields of a row, also those past want.
	found   int
	scratch []byte
}

// NewDecoder reads rows of the given number of fields from an input.
func NewDecoder(in *load.Input, fields int, o Options) *Decoder {
	if o.Separator == "" {
		o.Separator = "\t"
	}
	if o.Delimiter == "" {
		o.Delimiter = "\n"
	}
	return &Decoder{
		in: in, o: o, want: fields, skip: o.SkipLines,
		sep: []byte(o.Separator), eol: []byte(o.Delimiter), crlf: o.Delimiter == "\n",
		fast: scannable(&o), odd: o.TrimDoubleQuotes || o.EmptyFieldAsNull,
	}
}

// Decode implements load.Decoder.
func (d *Decoder) Decode(r *load.Rows, maxBytes int) error {
	if !d.started {
		if err := d.in.SkipBOM(); err != nil {
			return err
		}
		d.started = true
	}
	full := load.NewFull(maxBytes)
	var batch *load.Batch
	if d.fast {
		batch = load.NewBatch(d.want)
		defer batch.Release()
	}
	for {
		if d.fast && d.skip == 0 {
			rows, n := d.scan(batch, d.in.Bytes())
			batch.Flush(r)
			if err := r.Stopped(); err != nil {
				return err
			}
			d.in.Advance(n)
			if n > 0 && full.Add(r, rows, n) {
				return nil
			}
			if rows > 0 {
				continue
			}
		}
		line, n, err := d.next()
		if err != nil {
			return err
		}
		if line != nil {
			d.row(r, line)
			if err := r.Stopped(); err != nil {
				return err
			}
		}
		d.in.Advance(n)
		d.searched = 0
		if full.Add(r, 1, n) {
			return nil
		}
	}
}

// next finds the next row in the window, reading more as needed. Line is nil
// for a line that is no row; n is what to consume. A row's fields are split if
// the form has enclosed fields.
func (d *Decoder) next() (line []byte, n int, err error) {
	for {
		w := d.in.Bytes()
		var ok bool
		if d.o.Enclose != 0 && d.skip == 0 {
			line, n, ok = d.record(w)
		} else {
			line, n, ok = d.line(w)
		}
		switch {
		case ok && d.skip > 0:
			d.skip--
			return nil, n, nil
		case ok && len(line) == 0:
			return nil, n, nil
		case ok:
			return line, n, nil
		case len(w) == 0 && d.in.EOF():
			return nil, 0, io.EOF
		}
		if err := d.more(); err != nil {
			return nil, 0, err
		}
	}
}

// more reads on. A row that is split anew each time reads as much again as it
// has, so that the splitting costs linear time in all.
func (d *Decoder) more() error {
	have := len(d.in.Bytes())
	for {
		if err := d.in.More(); err != nil {
			return err
		}
		now := len(d.in.Bytes())
		if d.o.Enclose == 0 || have < patience || d.in.EOF() || now >= min(2*have, d.in.MaxRow()) {
			return nil
		}
	}
}

// patience is the size in bytes of an unfinished row from which on splitting it
// again waits for more than the next bytes.
const patience = 64 << 10

// line cuts the line at the start of the window; ok is false if its end is not
// there yet.
func (d *Decoder) line(w []byte) (line []byte, n int, ok bool) {
	i := d.find(w[d.searched:])
	if i < 0 {
		if d.in.EOF() && len(w) > 0 {
			return w, len(w), true
		}
		d.searched = max(0, len(w)-len(d.eol)+1)
		return nil, 0, false
	}
	i += d.searched
	return d.trimCR(w[:i]), i + len(d.eol), true
}

func (d *Decoder) find(b []byte) int {
	if len(d.eol) == 1 {
		return bytes.IndexByte(b, d.eol[0])
	}
	return bytes.Index(b, d.eol)
}

func (d *Decoder) trimCR(line []byte) []byte {
	if d.crlf && len(line) > 0 && line[len(line)-1] == '\r' {
		return line[:len(line)-1]
	}
	return line
}

// row hands one row on.
func (d *Decoder) row(r *load.Rows, line []byte) {
	if d.o.Enclose == 0 {
		d.split(line)
	} else if d.found < 0 {
		r.Reject("Unterminated enclosed field", line)
		return
	}
	if d.found != d.want && !d.fit() {
		r.Reject(fmt.Sprintf("Column count mismatch: expected %d, but found %d (sep:%s, delim:%s)",
			d.want, d.found, visible(d.o.Separator), visible(d.o.Delimiter)), line)
		return
	}
	r.Append(d.fields, line)
}

// fit gives a row the wanted number of fields, if that is allowed.
func (d *Decoder) fit() bool {
	if !d.o.AnyWidth {
		return false
	}
	for len(d.fields) < d.want {
		d.fields = append(d.fields, nil)
	}
	d.fields = d.fields[:d.want]
	return true
}

// split cuts a line without enclosed fields.
func (d *Decoder) split(line []byte) {
	fields := d.fields[:0]
	if len(d.sep) == 1 {
		sep := d.sep[0]
		for len(fields) < d.want {
			i := bytes.IndexByte(line, sep)
			if i < 0 {
				d.fields = append(fields, d.plain(line))
				d.found = len(d.fields)
				return
			}
			fields = append(fields, d.plain(line[:i]))
			line = line[i+1:]
		}
	} else {
		for len(fields) < d.want {
			i := bytes.Index(line, d.sep)
			if i < 0 {
				d.fields = append(fields, d.plain(line))
				d.found = len(d.fields)
				return
			}
			fields = append(fields, d.plain(line[:i]))
			line = line[i+len(d.sep):]
		}
	}
	d.fields = fields
	d.found = len(fields) + 1 + bytes.Count(line, d.sep)
}

// plain is the value of a field that is not enclosed: nil for NULL.
func (d *Decoder) plain(f []byte) []byte {
	if len(f) == 2 && f[0] == '\\' && f[1] == 'N' {
		return nil
	}
	if d.o.TrimDoubleQuotes && len(f) >= 2 && f[0] == '"' && f[len(f)-1] == '"' {
		f = f[1 : len(f)-1]
	}
	if len(f) == 0 && d.o.EmptyFieldAsNull {
		return nil
	}
	return f
}

// visible writes a separator for people.
func visible(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}
