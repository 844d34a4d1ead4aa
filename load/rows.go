package load

import (
	"errors"
	"fmt"

	"dorisgo/block"
	"dorisgo/value"
)

// Missing is the value of a source field that a row does not have, unlike one
// that is NULL. It is told by identity, so no text of a body can be taken for
// it.
var Missing = []byte{0}

// stopAfter is how many rows after the first filtered one are still looked at
// when no row may be filtered: enough for the error log to show whether all
// rows are bad.
const stopAfter = 1024

// maxErrorLine is how much of a source row an error keeps, in bytes.
const maxErrorLine = 4096

// RowOptions are how Rows treats rows that do not fit.
type RowOptions struct {
	// Sink takes the filtered rows; nil drops them.
	Sink ErrorSink
	// Evaluate computes a program's results; it is needed if the mapping has
	// expressions. It carries the load's context.
	Evaluate func(p *Program, in *block.Block) (*block.Block, error)
	// StopEarly ends the load by ErrStopped soon after the first filtered row:
	// for a max_filter_ratio of 0.
	StopEarly bool
}

// Rows converts source rows into a block and counts them. It is used by one
// goroutine.
type Rows struct {
	m        *Mapping
	b        *block.Block
	opts     block.ConvertOptions
	o        RowOptions
	counts   Counts
	firstBad int64
	firstMsg string
	// stage has the rows that wait for their expressions, nil without any.
	stage *stage
}

// NewRows makes the row writer of one load.
func NewRows(m *Mapping, o RowOptions) *Rows {
	r := &Rows{m: m, opts: m.opts, o: o}
	if m.steps != nil {
		r.stage = newStage(m)
	}
	return r
}

// StopEarly changes the option of that name.
func (r *Rows) StopEarly(on bool) { r.o.StopEarly = on }

// Start lets rows go to b, whose types are the mapping's.
func (r *Rows) Start(b *block.Block) { r.b = b }

// Block is where rows go.
func (r *Rows) Block() *block.Block { return r.b }

// Counts are the rows so far, without those that wait for Flush.
func (r *Rows) Counts() Counts { return r.counts }

// FirstError is the first filtered row in the words of FirstErrorMsg, empty if
// there is none.
func (r *Rows) FirstError() string { return r.firstMsg }

// Mapping is the load's mapping.
func (r *Rows) Mapping() *Mapping { return r.m }

// Stopped is ErrStopped once enough rows were seen after one that may not be
// filtered, or why expressions could not be evaluated.
func (r *Rows) Stopped() error {
	if r.stage != nil && r.stage.err != nil {
		return r.stage.err
	}
	if r.o.StopEarly && r.firstBad > 0 && r.counts.Total-r.firstBad >= stopAfter {
		return ErrStopped
	}
	return nil
}

// Append converts one row. Fields are in source order: nil is NULL, Missing is a
// field that the row does not have. The line is the row's source text for the
// error log. Nothing is kept of fields and line.
func (r *Rows) Append(fields [][]byte, line []byte) {
	if r.stage != nil {
		r.stageRow(fields, line)
		return
	}
	at := r.b.Rows()
	if reason := r.convert(r.b, fields); reason != "" {
		r.b.Truncate(at)
		r.reject(reason, line)
		return
	}
	r.b.EndRow()
	r.counts.Total++
	r.counts.Loaded++
}

// convert appends a row's values to b, those of derived columns excepted. If the
// row is to be filtered it gives the reason, and leaves b with a part of the row.
func (r *Rows) convert(b *block.Block, fields [][]byte) (reason string) {
	for _, t := range r.m.targets {
		f := fields[t.field]
		c := b.Col(t.col)
		if f == nil || isMissing(f) {
			if !r.appendNothing(c, t.col, f != nil) {
				return r.nullReason(t.col)
			}
			continue
		}
		if err := c.AppendText(f, &r.opts); err != nil {
			if reason, bad := r.refused(t.col, f, err, r.m.strict); bad {
				return reason
			}
			c.AppendNull()
		}
	}
	for _, f := range r.m.fills {
		if f.from == nil {
			b.Col(f.col).AppendNull()
		} else {
			b.Col(f.col).AppendFrom(f.from, 0)
		}
	}
	return ""
}

// appendNothing appends what a NULL or missing field becomes; false if the
// column does not take it.
func (r *Rows) appendNothing(c *block.Column, col int, missing bool) bool {
	switch {
	case missing && r.m.hasDefault(col):
		c.AppendFrom(r.m.templates.Col(col), 0)
	case r.m.table.Columns[col].Nullable:
		c.AppendNull()
	default:
		return false
	}
	return true
}

// refused decides about a text that its column refused: bad means that the row
// is filtered for the reason, otherwise the value becomes NULL.
func (r *Rows) refused(col int, text []byte, err error, strict bool) (reason string, bad bool) {
	c := &r.m.table.Columns[col]
	ce, ok := errors.AsType[*value.ConvError](err)
	switch {
	case !ok:
		return fmt.Sprintf("column_name[%s], %s", c.Name, err), true
	case ce.Kind == value.BadUTF8:
		return fmt.Sprintf("column_name[%s], the value is not valid UTF-8", c.Name), true
	case ce.Kind == value.TooLong:
		limit := r.opts.StringLimit
		if limit == 0 {
			limit = value.MaxStringLength
		}
		if c.Type.Length > 0 {
			limit = int(c.Type.Length)
		}
		return fmt.Sprintf("column_name[%s], the length of input is too long than schema. first 32 bytes of input str: [%s] schema length: %d; actual length: %d; ",
			c.Name, value.TruncateUTF8(text, 32), limit, len(text)), true
	case strict:
		return fmt.Sprintf("column_name[%s], cannot convert '%s' to %s: %s", c.Name, ce.Text, r.m.typeName(col), ce.Kind), true
	case !c.Nullable:
		return fmt.Sprintf("%s: cannot convert '%s'", r.nullReason(col), ce.Text), true
	}
	return "", false
}

func (r *Rows) nullReason(col int) string {
	return fmt.Sprintf("column_name[%s], null value for not null column, type=%s", r.m.table.Columns[col].Name, r.m.typeName(col))
}

// Reject counts a source row that could not even be cut into fields.
func (r *Rows) Reject(reason string, line []byte) {
	if r.stage != nil {
		r.stageBad(reason, line)
		return
	}
	r.reject(reason, line)
}

func (r *Rows) reject(reason string, line []byte) {
	r.counts.Total++
	r.counts.Filtered++
	if len(line) > maxErrorLine {
		line = value.TruncateUTF8(line, maxErrorLine)
	}
	if r.firstBad == 0 {
		r.firstBad = r.counts.Total
		r.firstMsg = fmt.Sprintf("%s. Src line: %s", reason, line)
	}
	if r.o.Sink != nil {
		r.o.Sink.RowError(reason, line)
	}
}

func isMissing(f []byte) bool { return len(f) == 1 && &f[0] == &Missing[0] }
