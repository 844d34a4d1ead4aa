package parquet

import (
	"errors"
	"slices"
	"strings"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/load"
)

// File is an open Parquet file.
type File interface {
	// Columns are the names of its columns.
	Columns() []string
	// Read starts reading columns by their index.
	Read(columns []int) (Rows, error)
	Close() error
}

// Rows are rows of a file as texts.
type Rows interface {
	// Next returns the next rows, one STRING column for each that was asked for,
	// and io.EOF after the last.
	Next() (*block.Block, error)
	Close() error
}

// Decoder reads a Parquet body. It implements load.Decoder.
type Decoder struct {
	m    *load.Mapping
	open func() (File, error)
	file File
	rows Rows
	// block is what is decoded at present, at its next row; cols are the block's
	// columns of the source fields, or -1 for those that the file does not have.
	block  *block.Block
	at     int
	cols   []int
	fields [][]byte
	line   []byte
}

// NewDecoder makes a decoder for a mapping whose source fields are found by name.
// The file is opened by the first Decode: that is when the body is read.
func NewDecoder(m *load.Mapping, open func() (File, error)) *Decoder {
	return &Decoder{m: m, open: open}
}

// checkRows is how many rows may pass before the block's size is looked at again.
const checkRows = 256

// Decode implements load.Decoder.
func (d *Decoder) Decode(r *load.Rows, maxBytes int) error {
	if d.rows == nil {
		if err := d.start(); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		if d.block == nil || d.at == d.block.Rows() {
			b, err := d.rows.Next()
			if err != nil {
				return err
			}
			d.block, d.at = b, 0
		}
		d.row(r)
		if err := r.Stopped(); err != nil {
			return err
		}
		if n%checkRows == 0 && r.Block().Bytes() >= maxBytes {
			return nil
		}
	}
}

// start opens the file and finds the source fields in it.
func (d *Decoder) start() (err error) {
	if d.file, err = d.open(); err != nil {
		return err
	}
	names := d.file.Columns()
	d.cols, d.fields = make([]int, d.m.Fields()), make([][]byte, d.m.Fields())
	var wanted []int
	for i := range d.cols {
		name := d.m.FieldName(i)
		at := slices.Index(names, name)
		if at < 0 {
			at = slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		}
		if d.cols[i] = at; at >= 0 {
			d.cols[i] = len(wanted)
			wanted = append(wanted, at)
		} else if err := d.m.CanMiss(i); err != nil {
			return doriserr.Wrap(doriserr.Analysis, err, "the Parquet file has no column %s, its columns are %s", name, strings.Join(names, ", "))
		}
	}
	if len(wanted) == 0 {
		return doriserr.New(doriserr.Analysis, "the Parquet file has none of the columns of the load, its columns are %s", strings.Join(names, ", "))
	}
	d.rows, err = d.file.Read(wanted)
	return err
}

// row hands the next row on.
func (d *Decoder) row(r *load.Rows) {
	d.line = d.line[:0]
	for i, at := range d.cols {
		if i > 0 {
			d.line = append(d.line, '\t')
		}
		switch {
		case at < 0:
			d.fields[i] = load.Missing
		case d.block.Col(at).IsNull(d.at):
			d.fields[i] = nil
			d.line = append(d.line, `\N`...)
		default:
			d.fields[i] = d.block.Col(at).Raw(d.at)
			d.line = append(d.line, d.fields[i]...)
		}
	}
	d.at++
	r.Append(d.fields, d.line)
}

// Close gives back what reading took.
func (d *Decoder) Close() error {
	var errs []error
	if d.rows != nil {
		errs = append(errs, d.rows.Close())
	}
	if d.file != nil {
		errs = append(errs, d.file.Close())
	}
	return errors.Join(errs...)
}

var _ load.Decoder = (*Decoder)(nil)
