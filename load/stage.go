package load

import (
	"fmt"
	"unicode/utf8"

	"dorisgo/block"
	"dorisgo/value"
)

// stageBytes is how many bytes of source rows, their texts and their converted
// columns together, wait before they are evaluated, however few rows they are.
const stageBytes = 1 << 20

// stage collects the rows of a load with expressions until they are evaluated
// together. All its parts have one entry for each row, also for rows that will
// be filtered: their values are NULL.
type stage struct {
	// in are the source fields that expressions use, cols the table's columns;
	// those that are derived are empty until Flush.
	in, cols *block.Block
	rows     []stagedRow
	lines    []byte
	// out are the rows that are chosen, while Flush runs.
	out []int32
	err error
}

type stagedRow struct {
	// end is where the row's text ends in lines.
	end int
	// reason is set for a row that is to be filtered.
	reason string
	// damaged rows have no source fields that a filter could look at.
	damaged bool
}

func newStage(m *Mapping) *stage {
	in := make([]value.Type, len(m.steps[0].prog.Sources))
	for i := range in {
		in[i] = value.Type{Kind: value.String}
	}
	return &stage{in: block.New(in), cols: block.New(m.types)}
}

// stageRow takes one row.
func (r *Rows) stageRow(fields [][]byte, line []byte) {
	s := r.stage
	at := s.cols.Rows()
	reason := r.convert(s.cols, fields)
	if reason != "" {
		s.cols.Truncate(at)
		r.appendNulls(s.cols)
	}
	s.cols.EndRow()
	damaged := false
	for i, f := range r.m.steps[0].prog.Sources {
		c, text := s.in.Col(i), fields[f]
		switch {
		case text == nil || isMissing(text):
			c.AppendNull()
		case !utf8.Valid(text):
			c.AppendNull()
			if damaged = true; reason == "" {
				reason = fmt.Sprintf("column_name[%s], the value is not valid UTF-8", r.m.sources[f].name)
			}
		default:
			c.AppendBytes(text)
		}
	}
	s.in.EndRow()
	r.staged(stagedRow{reason: reason, damaged: damaged}, line)
}

// stageBad takes a row that could not be cut into fields.
func (r *Rows) stageBad(reason string, line []byte) {
	s := r.stage
	r.appendNulls(s.cols)
	s.cols.EndRow()
	for i := range s.in.NumCols() {
		s.in.Col(i).AppendNull()
	}
	s.in.EndRow()
	r.staged(stagedRow{reason: reason, damaged: true}, line)
}

// appendNulls appends a row of NULLs but for the derived columns.
func (r *Rows) appendNulls(b *block.Block) {
	for _, t := range r.m.targets {
		b.Col(t.col).AppendNull()
	}
	for _, f := range r.m.fills {
		b.Col(f.col).AppendNull()
	}
}

func (r *Rows) staged(row stagedRow, line []byte) {
	r.stage.note(row, line)
	r.flushFull()
}

// note adds a row whose values are there.
func (s *stage) note(row stagedRow, line []byte) {
	if len(line) > maxErrorLine {
		line = value.TruncateUTF8(line, maxErrorLine)
	}
	s.lines = append(s.lines, line...)
	row.end = len(s.lines)
	s.rows = append(s.rows, row)
}

func (r *Rows) flushFull() {
	s := r.stage
	if len(s.rows) >= MaxBatch || s.in.Bytes()+s.cols.Bytes()+len(s.lines) >= stageBytes {
		// Its error is told by Stopped, which decoders ask after every row.
		_ = r.Flush()
	}
}

// Flush evaluates the rows that wait for their expressions and appends those
// that are chosen to the block. It is called when a decoder has returned, before
// the block or the counts are looked at. After an error the load has failed.
func (r *Rows) Flush() error {
	s := r.stage
	if s == nil || s.err != nil || len(s.rows) == 0 {
		if s != nil {
			return s.err
		}
		return nil
	}
	if s.err = r.evaluate(); s.err != nil {
		return s.err
	}
	r.settle()
	s.in.Reset()
	s.cols.Reset()
	s.rows, s.lines, s.out = s.rows[:0], s.lines[:0], s.out[:0]
	return nil
}

// unselected is the reason of a row that was not chosen.
const unselected = "\x00unselected"

// evaluate runs the steps and marks the rows that are not to be loaded.
func (r *Rows) evaluate() error {
	for n, step := range r.m.steps {
		out, err := r.o.Evaluate(step.prog, r.programInput(n, step))
		if err != nil {
			return err
		}
		for i := range r.stage.rows {
			row := &r.stage.rows[i]
			if step.filter >= 0 && !row.damaged && !isTrue(out.Col(step.filter), i) {
				row.reason = unselected
			}
			for _, d := range step.derived {
				r.appendDerived(row, d.col, out.Col(d.output), i)
			}
			if row.reason == "" && step.where >= 0 && !isTrue(out.Col(step.where), i) {
				row.reason = unselected
			}
		}
	}
	return nil
}

func isTrue(c *block.Column, i int) bool { return !c.IsNull(i) && c.Int64(i) != 0 }

// programInput puts a program's inputs side by side.
func (r *Rows) programInput(n int, step *step) *block.Block {
	s, prog := r.stage, step.prog
	if n == 0 && len(prog.Columns) == 0 {
		return s.in
	}
	types := make([]value.Type, 0, len(prog.Sources)+len(prog.Columns))
	for range prog.Sources {
		types = append(types, value.Type{Kind: value.String})
	}
	for _, c := range prog.Columns {
		types = append(types, r.m.types[c])
	}
	b := block.New(types)
	for i := range prog.Sources {
		b.Col(i).AppendColumn(s.in.Col(i))
	}
	for i, c := range prog.Columns {
		b.Col(len(prog.Sources) + i).AppendColumn(s.cols.Col(c))
	}
	b.EndRows(len(s.rows))
	return b
}

// appendDerived converts a result to its column. Strict mode is no matter to it,
// but for the length of a text: what a function gives is no damaged source.
func (r *Rows) appendDerived(row *stagedRow, col int, from *block.Column, i int) {
	c := r.stage.cols.Col(col)
	if row.reason != "" {
		c.AppendNull()
		return
	}
	switch {
	case from.IsNull(i):
	case from.Type() == c.Type() && c.Type().Kind != value.String:
		c.AppendFrom(from, i)
		return
	default:
		text := value.AppendText(nil, from.Type(), from.Raw(i))
		err := c.AppendText(text, &r.opts)
		if err == nil {
			return
		}
		row.reason, _ = r.refused(col, text, err, false)
	}
	c.AppendNull()
	if row.reason == "" && !r.m.table.Columns[col].Nullable {
		row.reason = r.nullReason(col)
	}
}

// settle counts the rows and appends those without a reason to the block.
func (r *Rows) settle() {
	s := r.stage
	start := 0
	for i, row := range s.rows {
		line := s.lines[start:row.end]
		start = row.end
		switch row.reason {
		case "":
			r.counts.Total++
			r.counts.Loaded++
			s.out = append(s.out, int32(i))
		case unselected:
			r.counts.Total++
			r.counts.Unselected++
		default:
			r.reject(row.reason, line)
		}
	}
	switch {
	case len(s.out) == len(s.rows):
		r.b.AppendBlock(s.cols)
	case len(s.out) > 0:
		r.b.AppendBlock(s.cols.Gather(s.out))
	}
}
