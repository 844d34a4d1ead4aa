package block

import "dorisgo/value"

// Block is an append-only batch of rows as one typed vector per column, in
// Arrow memory layout. It is owned by one goroutine at a time.
type Block struct {
	cols []Column
	rows int
}

// New returns an empty block with one column for each type.
func New(types []value.Type) *Block {
	b := &Block{cols: make([]Column, len(types))}
	for i, t := range types {
		b.cols[i].init(t)
	}
	return b
}

// Rows is the number of complete rows: those counted by EndRow(s).
func (b *Block) Rows() int { return b.rows }

// NumCols is the number of columns.
func (b *Block) NumCols() int { return len(b.cols) }

// Col returns column i for appending or reading.
func (b *Block) Col(i int) *Column { return &b.cols[i] }

// EndRow counts a row after one value was appended to every column.
func (b *Block) EndRow() { b.rows++ }

// EndRows counts n rows after n values were appended to every column.
func (b *Block) EndRows(n int) { b.rows += n }

// Truncate drops every value after the first n rows, those of an unfinished
// row too: the way back after a conversion error.
func (b *Block) Truncate(n int) {
	for i := range b.cols {
		b.cols[i].truncate(n)
	}
	b.rows = n
}

// Reset empties the block and keeps its memory.
func (b *Block) Reset() { b.Truncate(0) }

// Bytes is the memory that the rows take in the vectors, the measure of
// group_commit_data_bytes.
func (b *Block) Bytes() int {
	n := 0
	for i := range b.cols {
		c := &b.cols[i]
		n += len(c.data) + len(c.valid)
		if c.width == 0 {
			n += 4 * len(c.offsets)
		}
	}
	return n
}
