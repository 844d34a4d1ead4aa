// Package loadtest has what the tests of load's packages share: tables written
// as text, bodies cut anywhere, blocks as text.
package loadtest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"dorisgo/block"
	"dorisgo/load"
	"dorisgo/meta"
	"dorisgo/value"
)

// T3 is the table most tests load into.
const T3 = "id INT NOT NULL, s VARCHAR(64), n INT"

// Now is the time of every test's request.
var Now = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// Table makes a table of columns written as in SQL: name, type, then NOT NULL
// and DEFAULT "text" or DEFAULT CURRENT_TIMESTAMP(p).
func Table(t testing.TB, columns string) *meta.Table {
	t.Helper()
	table := &meta.Table{ID: 10, DBID: 1, Name: "t", Keys: meta.DuplicateKeys, SchemaVersion: 1}
	for _, def := range strings.Split(columns, ", ") {
		name, rest, _ := strings.Cut(strings.TrimSpace(def), " ")
		typ, rest, _ := strings.Cut(rest, " ")
		c := meta.Column{UniqueID: int32(len(table.Columns)), Name: strings.Trim(name, "`"), Nullable: true, Type: parseType(t, typ)}
		if r, ok := strings.CutPrefix(rest, "NOT NULL"); ok {
			c.Nullable, rest = false, strings.TrimSpace(r)
		}
		if r, ok := strings.CutPrefix(rest, "DEFAULT "); ok {
			c.Default = parseDefault(r, c.Type)
		}
		table.Columns = append(table.Columns, c)
	}
	return table
}

func parseType(t testing.TB, s string) value.Type {
	t.Helper()
	name, params, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	var numbers []int
	for p := range strings.SplitSeq(params, ",") {
		if n, err := strconv.Atoi(p); err == nil {
			numbers = append(numbers, n)
		}
	}
	typ, err := value.ParseType(strings.ToLower(name), numbers...)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func parseDefault(s string, typ value.Type) *meta.Default {
	switch {
	case strings.HasPrefix(s, "CURRENT_TIMESTAMP"):
		return &meta.Default{Kind: meta.DefaultCurrentTimestamp, Scale: typ.Scale}
	case s == "CURRENT_DATE":
		return &meta.Default{Kind: meta.DefaultCurrentDate}
	case s == "NULL":
		return &meta.Default{Kind: meta.DefaultNull}
	}
	return &meta.Default{Kind: meta.DefaultLiteral, Text: strings.Trim(s, `"`)}
}

// Cut reads s in pieces: the sizes in turn, 0 for all at once.
func Cut(s string, sizes ...int) io.Reader { return &cutter{s: s, sizes: sizes} }

type cutter struct {
	s     string
	sizes []int
	i     int
}

func (c *cutter) Read(p []byte) (int, error) {
	if c.s == "" {
		return 0, io.EOF
	}
	n := len(p)
	if len(c.sizes) > 0 && c.sizes[c.i%len(c.sizes)] > 0 {
		n = min(n, c.sizes[c.i%len(c.sizes)])
	}
	c.i++
	n = copy(p[:n], c.s)
	c.s = c.s[n:]
	return n, nil
}

// Repeat reads text n times over, without holding it as often.
func Repeat(text string, n int) io.Reader {
	const atOnce = 1000
	return io.LimitReader(&repeater{text: strings.Repeat(text, min(n, atOnce))}, int64(len(text)*n))
}

type repeater struct {
	text string
	at   int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// Result is what a body became.
type Result struct {
	// Rows are the rows as text: values separated by " | ", NULL as NULL.
	Rows   []string
	Counts load.Counts
	// Errors are the filtered rows: reason, then " <- ", then the line.
	Errors []string
	Err    error
}

// RowError implements load.ErrorSink.
func (r *Result) RowError(reason string, line []byte) {
	r.Errors = append(r.Errors, fmt.Sprintf("%s <- %q", reason, line))
}

// Run decodes a whole body in blocks of about maxBytes.
func Run(t testing.TB, m *load.Mapping, d load.Decoder, maxBytes int, stopEarly bool) *Result {
	t.Helper()
	res := &Result{}
	rows := load.NewRows(m, load.RowOptions{Sink: res, StopEarly: stopEarly, Evaluate: func(p *load.Program, in *block.Block) (*block.Block, error) {
		return p.Eval(t.Context(), in)
	}})
	for {
		b := block.New(m.Types())
		rows.Start(b)
		err := d.Decode(rows, maxBytes)
		if flushed := rows.Flush(); err == nil || errors.Is(err, io.EOF) {
			err = cmp.Or(flushed, err)
		}
		res.Rows = append(res.Rows, Dump(t, b)...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			res.Err = err
			break
		}
	}
	res.Counts = rows.Counts()
	if c := res.Counts; c.Total != c.Loaded+c.Filtered+c.Unselected || c.Loaded != int64(len(res.Rows)) || c.Filtered != int64(len(res.Errors)) {
		t.Errorf("counters do not add up: %+v, %d rows, %d errors", c, len(res.Rows), len(res.Errors))
	}
	return res
}

// Dump writes a block's rows as text and checks that all columns are as long.
func Dump(t testing.TB, b *block.Block) []string {
	t.Helper()
	var rows []string
	for i := range b.Rows() {
		var line []byte
		for j := range b.NumCols() {
			c := b.Col(j)
			if c.Len() != b.Rows() {
				t.Fatalf("column %d has %d values in a block of %d rows", j, c.Len(), b.Rows())
			}
			if j > 0 {
				line = append(line, " | "...)
			}
			if c.IsNull(i) {
				line = append(line, "NULL"...)
			} else {
				line = value.AppendText(line, c.Type(), c.Raw(i))
			}
		}
		rows = append(rows, string(line))
	}
	return rows
}
