package load

import (
	"sync"
	"unicode/utf8"

	"dorisgo/block"
)

// Sizes of a batch: as many rows as keep its cells in the nearest cache, and no
// more bytes than a decoder may read between two looks at its block's size.
const (
	batchRows  = 128
	batchBytes = checkBytes
)

// Batch collects rows of a body whose bytes stay where they are, so that each
// column can be converted in one loop. A decoder takes one with NewBatch for a
// call of Decode, adds rows, and flushes before the input's window moves and
// before it hands a row to Rows itself.
type Batch struct {
	cells block.Cells
	// ends are where the rows' source texts lie; the first byte of the batch is
	// that of base.
	lines  []block.Cell
	base   []byte
	fields [][]byte
}

var batches = sync.Pool{New: func() any { return new(Batch) }}

// NewBatch is an empty batch for rows of n fields. Release returns its memory.
func NewBatch(n int) *Batch {
	b := batches.Get().(*Batch)
	b.cells.Stride = n
	b.reset()
	return b
}

// Release gives the batch back.
func (b *Batch) Release() {
	b.base, b.cells.Text = nil, nil
	if cap(b.cells.At) <= 1<<16 && cap(b.cells.Extra) <= 1<<20 {
		clear(b.fields[:cap(b.fields)])
		batches.Put(b)
	}
}

func (b *Batch) reset() {
	b.cells.At, b.cells.Extra, b.lines, b.base = b.cells.At[:0], b.cells.Extra[:0], b.lines[:0], nil
}

// Rows is the number of rows.
func (b *Batch) Rows() int { return len(b.lines) }

// Offset is where the bytes w lie in the batch's text. Of an empty batch they
// are the start; otherwise they are a later part of the same memory, cut from
// the same slice.
func (b *Batch) Offset(w []byte) int {
	if b.base == nil {
		b.base = w
		return 0
	}
	return cap(b.base) - cap(w)
}

// Row adds a row and returns its cells for the caller to fill. They are what an
// earlier batch left there. Drop takes the row back.
func (b *Batch) Row() []block.Cell {
	n := len(b.cells.At)
	need := n + b.cells.Stride
	if need > cap(b.cells.At) {
		grown := make([]block.Cell, n, max(2*need, min(batchRows, 8)*b.cells.Stride))
		copy(grown, b.cells.At)
		b.cells.At = grown
	}
	b.cells.At = b.cells.At[:need]
	return b.cells.At[n:need]
}

// Drop takes back the last row of Row, before End.
func (b *Batch) Drop() { b.cells.At = b.cells.At[:len(b.cells.At)-b.cells.Stride] }

// End completes a row whose source text lies from start to end in the batch's
// text, and reports whether the batch is to be flushed.
func (b *Batch) End(start, end int) bool {
	b.lines = append(b.lines, block.Cell{Start: int32(start), End: int32(end)})
	return len(b.lines) >= batchRows || end >= batchBytes
}

// Text adds a text that does not lie in the body, and is its cell. What append
// does not make, ok false, leaves no trace.
func (b *Batch) Text(appendTo func(dst []byte) (text []byte, ok bool)) (c block.Cell, ok bool) {
	start := len(b.cells.Extra)
	text, ok := appendTo(b.cells.Extra)
	if !ok {
		b.cells.Extra = text[:start]
		return c, false
	}
	b.cells.Extra = text
	return block.Cell{Start: ^int32(start), End: int32(len(text))}, true
}

// Flush hands the rows on and empties the batch.
func (b *Batch) Flush(r *Rows) {
	if len(b.lines) == 0 {
		b.reset()
		return
	}
	b.cells.Text = b.base[:b.lines[len(b.lines)-1].End]
	b.cells.Valid = utf8.Valid(b.cells.Text)
	if !r.appendBatch(b) {
		b.oneByOne(r)
	}
	b.reset()
}

// oneByOne hands the rows on singly, up to one after which the load stops.
func (b *Batch) oneByOne(r *Rows) {
	for i, l := range b.lines {
		b.fields = b.fields[:0]
		for _, c := range b.cells.At[i*b.cells.Stride : (i+1)*b.cells.Stride] {
			f := b.cells.Field(c)
			if c.Start == block.MissingCell {
				f = Missing
			}
			b.fields = append(b.fields, f)
		}
		r.Append(b.fields, b.cells.Text[l.Start:l.End])
		if r.Stopped() != nil {
			return
		}
	}
}

// appendBatch converts the rows column by column if each of them becomes a row
// of the block; otherwise it leaves no trace and returns false.
func (r *Rows) appendBatch(batch *Batch) bool {
	switch {
	case r.o.StopEarly && r.firstBad > 0:
		return false // rows are counted one by one until the load stops
	case r.stage != nil:
		return r.stageBatch(batch)
	case !r.convertBatch(r.b, batch):
		return false
	}
	n := batch.Rows()
	r.b.EndRows(n)
	r.counts.Total += int64(n)
	r.counts.Loaded += int64(n)
	return true
}

// convertBatch is convert for all rows of a batch: it appends their values to b,
// or nothing if one of them is to be filtered.
func (r *Rows) convertBatch(b *block.Block, batch *Batch) bool {
	at, n := b.Rows(), batch.Rows()
	for _, t := range r.m.targets {
		if !r.appendField(b, &batch.cells, t, n) {
			b.Truncate(at)
			return false
		}
	}
	for _, f := range r.m.fills {
		c := b.Col(f.col)
		for range n {
			if f.from == nil {
				c.AppendNull()
			} else {
				c.AppendFrom(f.from, 0)
			}
		}
	}
	return true
}

// appendField converts one field of all rows; false if one of them is to be
// filtered.
func (r *Rows) appendField(b *block.Block, cs *block.Cells, t target, n int) bool {
	c := b.Col(t.col)
	for i := 0; ; i++ {
		if i = c.AppendCells(cs, t.field, i, n, &r.opts); i == n {
			return true
		}
		cell := cs.At[i*cs.Stride+t.field]
		if cell.Start <= block.MissingCell {
			if !r.appendNothing(c, t.col, cell.Start == block.MissingCell) {
				return false
			}
			continue
		}
		f := cs.Field(cell)
		if err := c.AppendText(f, &r.opts); err != nil {
			if _, bad := r.refused(t.col, f, err, r.m.strict); bad {
				return false
			}
			c.AppendNull()
		}
	}
}

// stageBatch is stageRow for all rows of a batch; false, and no trace, if one of
// them needs a look of its own.
func (r *Rows) stageBatch(batch *Batch) bool {
	s, cs, n := r.stage, &batch.cells, batch.Rows()
	if !cs.Valid || n > MaxBatch {
		return false
	}
	if len(s.rows)+n > MaxBatch && r.Flush() != nil {
		return true // the load has failed, as Stopped tells
	}
	if !r.convertBatch(s.cols, batch) {
		return false
	}
	s.cols.EndRows(n)
	for i, f := range r.m.steps[0].prog.Sources {
		c := s.in.Col(i)
		for row := range n {
			if cell := cs.At[row*cs.Stride+f]; cell.Start <= block.MissingCell {
				c.AppendNull()
			} else {
				c.AppendBytes(cs.Field(cell))
			}
		}
	}
	s.in.EndRows(n)
	for _, l := range batch.lines {
		s.note(stagedRow{}, cs.Text[l.Start:l.End])
	}
	r.flushFull()
	return true
}
