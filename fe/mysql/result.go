package mysql

import (
	"context"
	"fmt"
	"math"

	proto "github.com/go-mysql-org/go-mysql/mysql"

	"dorisgo/block"
	"dorisgo/value"
)

// ResultWriter takes the outcome of one statement: either one OK, or Columns,
// then any number of Block, Row and Rows calls, then End. A Session that
// returns nil without OK or End has that done for it (OK without rows).
//
// Rows are written to the client as they come, in pieces of 64 KB: memory
// stays bounded, and a client that does not read holds the writer back until
// the write times out. An error of any method means that the client is gone:
// the Session returns it.
type ResultWriter struct {
	c      *conn
	binary bool
	// more says that another statement of the same packet follows.
	more  bool
	state resultState
	cols  []Column
}

type resultState uint8

const (
	resultNone resultState = iota
	resultRows
	resultDone
	resultFailed
)

func (w *ResultWriter) reset(binary, more bool) {
	w.binary, w.more, w.state = binary, more, resultNone
	w.cols = w.cols[:0]
}

// Binary reports whether rows go out in the binary protocol.
func (w *ResultWriter) Binary() bool { return w.binary }

// MayBlock must be called by a Session before a statement does anything that may
// wait: for another node, a file that may be slow, a lock that is held for long.
// Most do at once. What comes then runs on a goroutine of the connection.
func (w *ResultWriter) MayBlock() { w.c.mayBlock() }

// Quick tells that statements like this one need not wait, or wait with Await
// alone: the connection may do without a goroutine from the next one on.
func (w *ResultWriter) Quick() { w.c.quick = w.c.poller != nil }

// Waker is nil if the statement has a goroutine and may just wait. Otherwise it is
// what ends Await, any goroutine may call it, and it never blocks.
func (w *ResultWriter) Waker() func() {
	if !w.c.polled {
		return nil
	}
	return w.c.wake
}

// Await waits, if there is a waker, until that is called and a is ready. It
// returns earlier, with a goroutine as after MayBlock, when that takes long, ctx
// ends, or the connection is to end.
func (w *ResultWriter) Await(ctx context.Context, a Awaited) { w.c.awaitAnswer(ctx, a) }

// OK ends a statement without rows. info is shown by clients after the count
// of rows; warnings over 65535 are sent as that.
func (w *ResultWriter) OK(affected, warnings uint64, info string) error {
	if err := w.step(resultNone, resultDone); err != nil {
		return err
	}
	appendOK(w.c, 0x00, affected, warnings, info, w.more)
	return w.c.w.end()
}

// OKBytes is OK for an info that was built in a buffer.
func (w *ResultWriter) OKBytes(affected, warnings uint64, info []byte) error {
	if err := w.step(resultNone, resultDone); err != nil {
		return err
	}
	appendOK(w.c, 0x00, affected, warnings, info, w.more)
	return w.c.w.end()
}

// Columns starts a result set. cols is copied.
func (w *ResultWriter) Columns(cols []Column) error {
	if err := w.step(resultNone, resultRows); err != nil {
		return err
	}
	w.cols = append(w.cols[:0], cols...)
	out := w.c.w
	out.begin()
	out.out = appendLenInt(out.out, uint64(len(cols)))
	if err := out.end(); err != nil {
		return err
	}
	for i := range w.cols {
		out.begin()
		out.out = appendColumn(out.out, &w.cols[i], false)
		if err := out.end(); err != nil {
			return err
		}
	}
	if w.c.has(proto.CLIENT_DEPRECATE_EOF) {
		return nil
	}
	return w.c.writeEOF(0, w.more)
}

// Block writes every row of b, whose columns have the types told to Columns.
func (w *ResultWriter) Block(b *block.Block) error {
	if w.state != resultRows || b.NumCols() != len(w.cols) {
		return w.misuse("Block")
	}
	out := w.c.w
	for row := range b.Rows() {
		out.begin()
		if w.binary {
			out.out = appendBinaryRow(out.out, b, row)
		} else {
			out.out = appendTextRow(out.out, b, row)
		}
		if err := out.end(); err != nil {
			return err
		}
	}
	return nil
}

// Row writes one row of texts, which are converted to the columns' types for
// the binary protocol.
func (w *ResultWriter) Row(cells ...Cell) error {
	if w.state != resultRows || len(cells) != len(w.cols) {
		return w.misuse("Row")
	}
	out := w.c.w
	out.begin()
	if w.binary {
		b, err := appendBinaryCells(out.out, w.cols, cells)
		if err != nil {
			out.cancel()
			return err
		}
		out.out = b
		return out.end()
	}
	for _, c := range cells {
		if c.Null {
			out.out = append(out.out, 0xfb)
		} else {
			out.out = appendLenString(out.out, c.Text)
		}
	}
	return out.end()
}

// Rows writes a whole result set of string columns, without NULLs: the form of
// most SHOW statements. It includes Columns and End.
func (w *ResultWriter) Rows(names []string, rows [][]string) error {
	cols := make([]Column, len(names))
	for i, name := range names {
		cols[i] = Column{Name: name, Type: value.Type{Kind: value.VarChar}}
	}
	if err := w.Columns(cols); err != nil {
		return err
	}
	cells := make([]Cell, len(names))
	for _, row := range rows {
		for i := range cells {
			cells[i] = Cell{Null: i >= len(row)}
			if i < len(row) {
				cells[i].Text = row[i]
			}
		}
		if err := w.Row(cells...); err != nil {
			return err
		}
	}
	return w.End(0)
}

// End ends the rows.
func (w *ResultWriter) End(warnings uint64) error {
	if err := w.step(resultRows, resultDone); err != nil {
		return err
	}
	if w.c.has(proto.CLIENT_DEPRECATE_EOF) {
		appendOK(w.c, 0xfe, 0, warnings, "", w.more)
		return w.c.w.end()
	}
	return w.c.writeEOF(warnings, w.more)
}

// finish does what a Session left undone.
func (w *ResultWriter) finish() error {
	switch w.state {
	case resultNone:
		return w.OK(0, 0, "")
	case resultRows:
		return w.End(0)
	}
	return nil
}

func (w *ResultWriter) step(from, to resultState) error {
	if w.state != from {
		return w.misuse("call")
	}
	w.state = to
	return w.c.w.werr
}

func (w *ResultWriter) misuse(what string) error {
	return fmt.Errorf("result writer: %s out of order or with a wrong number of columns", what)
}

// appendOK starts a packet with an OK payload, or with the EOF that has its
// form (header 0xfe). The info is length-encoded whether the client tracks the
// session or not: documents tell of a bare text in the latter case, but the C
// library, hence most clients, reads a length first.
func appendOK[S string | []byte](c *conn, header byte, affected, warnings uint64, info S, more bool) {
	c.w.begin()
	b := append(c.w.out, header)
	b = appendLenInt(b, affected)
	b = append(b, 0) // last insert id
	status, warn := c.status(more), uint16(min(warnings, math.MaxUint16))
	b = append(b, byte(status), byte(status>>8), byte(warn), byte(warn>>8))
	if len(info) > 0 {
		b = appendLenString(b, info)
	}
	c.w.out = b
}
