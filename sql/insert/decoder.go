package insert

import (
	"errors"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/sql/token"
)

// Decoder turns VALUES lists into rows of a block. Its zero value is ready; a
// session keeps one and sets the fields as its SQL mode changes. It belongs to
// one goroutine.
type Decoder struct {
	// NoBackslashEscapes is the SQL mode of that name.
	NoBackslashEscapes bool
	// MultiStatements allows another statement after a semicolon; Result.End
	// says where.
	MultiStatements bool
	// Expressions makes values that are no literals be computed (constants
	// and a few functions). Without it they end in an ExpressionError.
	Expressions bool
	// MaxBytes bounds the memory of one statement's rows, which defaults make
	// many times larger than its text; 0 is 1 GiB.
	MaxBytes int

	src    []byte
	pos    int
	target *Target
	params *Params
	// row is the number of the row being read, from 1; at is the block column
	// being filled.
	row, at int
	res     Result
	scratch []byte
}

// defaultMaxBytes is what Decoder.MaxBytes is without a setting.
const defaultMaxBytes = 1 << 30

// rowsBetweenChecks is after how many rows MaxBytes is looked at.
const rowsBetweenChecks = 64

// Result is what became of a statement's rows.
type Result struct {
	// Loaded rows are in the block. Filtered rows were left out for a bad
	// value, which happens only if the target is not strict; whether there
	// are too many of them is the caller's decision.
	Loaded, Filtered int
	// FirstError is the text of the first bad value, of a filtered row or one
	// that became NULL.
	FirstError string
	// End is the position after the statement and its semicolon.
	End int
}

// Text reads the rows that start at pos (Header.ValuesPos) of sql into b, which
// has the columns of the target's table. After an error b is as before.
// The errors are *doriserr.Error and *ExpressionError.
func (d *Decoder) Text(sql []byte, pos int, t *Target, b *block.Block) (Result, error) {
	return d.run(sql, pos, nil, t, b)
}

// Binary is Text for a prepared statement: each question mark takes the next
// value of p. Literals may stand beside them.
func (d *Decoder) Binary(sql []byte, pos int, p *Params, t *Target, b *block.Block) (Result, error) {
	p.rewind()
	return d.run(sql, pos, p, t, b)
}

func (d *Decoder) run(sql []byte, pos int, p *Params, t *Target, b *block.Block) (Result, error) {
	base := b.Rows()
	d.src, d.pos, d.params, d.target, d.row = sql, pos, p, t, 0
	d.res = Result{}
	err := d.rows(b)
	d.src, d.params, d.target = nil, nil, nil
	if err != nil {
		b.Truncate(base)
		if errors.Is(err, block.ErrFull) {
			err = doriserr.Wrap(doriserr.ExceededLimit, err, "the statement is too large")
		}
		return Result{}, err
	}
	d.res.Loaded = b.Rows() - base
	return d.res, nil
}

// rows reads (values), ... to the end of the statement.
func (d *Decoder) rows(b *block.Block) error {
	limit := d.MaxBytes
	if limit == 0 {
		limit = defaultMaxBytes
	}
	limit += b.Bytes()
	for {
		if d.row%rowsBetweenChecks == rowsBetweenChecks-1 && b.Bytes() > limit {
			return doriserr.New(doriserr.ExceededLimit, "the rows of the statement take too much memory, row=%d", d.row)
		}
		if d.skip() != '(' {
			return d.syntax("'('")
		}
		d.pos++
		d.row++
		if err := d.readRow(b); err != nil {
			return err
		}
		switch c := d.skip(); {
		case c == ',':
			d.pos++
		case c == ';':
			d.pos++
			return d.end()
		case d.pos == len(d.src):
			return d.end()
		default:
			return d.syntax("{<EOF>, ';', ','}")
		}
	}
}

// end checks what follows the statement.
func (d *Decoder) end() error {
	d.res.End = d.pos
	if !d.MultiStatements && !token.OnlyBlank(d.src[d.pos:]) {
		return d.syntax("<EOF>")
	}
	return nil
}

// readRow reads one row after its opening parenthesis and closes it.
func (d *Decoder) readRow(b *block.Block) error {
	t := d.target
	bad := false
	n := 0
	for ; ; n++ {
		if n == 0 && t.all && d.skip() == ')' {
			return d.emptyRow(b)
		}
		if n == len(t.cols) {
			return d.columnCount()
		}
		d.at = t.cols[n]
		if err := d.value(b.Col(d.at)); err != nil {
			if err = d.rejected(b.Col(d.at), err, &bad); err != nil {
				return err
			}
		}
		c := d.skip()
		if c != ',' && c != ')' {
			return d.syntax("{')', ','}")
		}
		d.pos++
		if c == ')' {
			break
		}
	}
	if n+1 != len(t.cols) {
		return d.columnCount()
	}
	if bad {
		d.res.Filtered++
		b.Truncate(b.Rows())
		return nil
	}
	for _, i := range t.fill {
		if err := t.appendFill(b.Col(i), i); err != nil {
			return err
		}
	}
	b.EndRow()
	return nil
}

// emptyRow is the row of (): every column takes its default.
func (d *Decoder) emptyRow(b *block.Block) error {
	d.pos++
	for i := range b.NumCols() {
		if c := &d.target.table.Columns[i]; !hasDefault(c) {
			return noDefault(c)
		}
		if err := d.target.appendFill(b.Col(i), i); err != nil {
			return err
		}
	}
	b.EndRow()
	return nil
}

// skip passes over blanks and comments and gives the next byte, 0 at the end
// and at a comment that never ends (which no caller expects, so that it comes
// out as a syntax error).
func (d *Decoder) skip() byte {
	if d.pos < len(d.src) {
		if c := d.src[d.pos]; c > '/' || c == '\'' || c == ',' || c == '(' || c == ')' {
			return c
		}
	}
	pos, ok := token.SkipBlank(d.src, d.pos)
	d.pos = pos
	if !ok || pos == len(d.src) {
		return 0
	}
	return d.src[pos]
}

// syntax is the parse error at the present position.
func (d *Decoder) syntax(expecting string) error {
	l := token.Lexer{Src: d.src, Pos: d.pos, NoBackslash: d.NoBackslashEscapes}
	return token.SyntaxError(d.src, l.Next(), expecting)
}

func (d *Decoder) columnCount() error {
	return doriserr.New(doriserr.ColumnCount, "Column count doesn't match value count at row %d", d.row)
}
