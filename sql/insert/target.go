package insert

import (
	"strings"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// hiddenPrefix starts the names of columns that only a column list reaches.
const hiddenPrefix = "__DORIS_"

// Target maps the values of a statement to the columns of a block that has all
// columns of the table in their order. It holds what belongs to one statement
// (the time of its defaults, its zone, strictness): Begin renews that, so that
// a session may keep the target of a table and column list. It belongs to one
// goroutine.
type Target struct {
	table *meta.Table
	// all says that the statement had no column list.
	all bool
	// cols is the block column of each value position.
	cols []int
	// fill are the columns that no value reaches; they take their defaults.
	fill []int
	// defaults has one row: the default of each column, NULL for none.
	defaults *block.Block
	// timed says that a default depends on the time of the statement.
	timed  bool
	strict bool
	now    time.Time
	opts   block.ConvertOptions
}

// NewTarget maps the column list cols (nil for all columns) of a statement
// that started at now in a session of zone loc. Column names match without
// case. strict is enable_insert_strict.
func NewTarget(t *meta.Table, cols []string, now time.Time, loc *time.Location, strict bool) (*Target, error) {
	g := &Target{table: t, all: cols == nil, defaults: block.New(types(t))}
	used := make([]bool, len(t.Columns))
	if cols == nil {
		for i, c := range t.Columns {
			if !strings.HasPrefix(c.Name, hiddenPrefix) {
				g.cols = append(g.cols, i)
				used[i] = true
			}
		}
	}
	for _, name := range cols {
		i := columnIndex(t, name)
		if i < 0 {
			return nil, doriserr.New(doriserr.UnknownColumn, "Unknown column '%s' in '%s'", name, t.Name)
		}
		if used[i] {
			return nil, doriserr.New(doriserr.Analysis, "Column '%s' specified twice", name)
		}
		g.cols = append(g.cols, i)
		used[i] = true
	}
	for i, u := range used {
		if u {
			continue
		}
		if !hasDefault(&t.Columns[i]) {
			return nil, noDefault(&t.Columns[i])
		}
		g.fill = append(g.fill, i)
	}
	for i := range t.Columns {
		g.timed = g.timed || isTimed(t.Columns[i].Default)
	}
	g.set(now, loc, strict)
	return g, g.evaluate()
}

// Begin makes the target that of a new statement.
func (g *Target) Begin(now time.Time, loc *time.Location, strict bool) error {
	zone := g.opts.Loc
	g.set(now, loc, strict)
	if g.timed || zone != loc {
		return g.evaluate()
	}
	return nil
}

func (g *Target) set(now time.Time, loc *time.Location, strict bool) {
	g.now, g.strict = now, strict
	g.opts = block.ConvertOptions{Loc: loc, Strict: strict, StringLimit: value.MaxStringLength}
}

// Width is the number of values that a row must have.
func (g *Target) Width() int { return len(g.cols) }

// Column is the definition of the column that value position i fills.
func (g *Target) Column(i int) *meta.Column { return &g.table.Columns[g.cols[i]] }

// Table is the table of the target.
func (g *Target) Table() *meta.Table { return g.table }

func types(t *meta.Table) []value.Type {
	out := make([]value.Type, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Type
	}
	return out
}

func columnIndex(t *meta.Table, name string) int {
	for i := range t.Columns {
		if strings.EqualFold(t.Columns[i].Name, name) {
			return i
		}
	}
	return -1
}

// hasDefault reports whether a row may leave the column out.
func hasDefault(c *meta.Column) bool { return c.Default != nil || c.Nullable }

func noDefault(c *meta.Column) error {
	return doriserr.New(doriserr.Analysis, "Column has no default value, column=%s", c.Name)
}

func isTimed(d *meta.Default) bool {
	return d != nil && (d.Kind == meta.DefaultCurrentTimestamp || d.Kind == meta.DefaultCurrentDate)
}

// evaluate computes the row of defaults.
func (g *Target) evaluate() error {
	g.defaults.Reset()
	for i := range g.table.Columns {
		c := &g.table.Columns[i]
		if err := g.appendDefault(g.defaults.Col(i), c); err != nil {
			return doriserr.Wrap(doriserr.Internal, err, "default value of column %s", c.Name)
		}
	}
	g.defaults.EndRow()
	return nil
}

func (g *Target) appendDefault(dst *block.Column, c *meta.Column) error {
	d := c.Default
	if d == nil {
		dst.AppendNull()
		return nil
	}
	switch d.Kind {
	case meta.DefaultLiteral:
		o := g.opts
		o.Strict = true
		return dst.AppendText([]byte(d.Text), &o)
	case meta.DefaultCurrentTimestamp:
		return g.appendNow(dst, d.Scale)
	case meta.DefaultCurrentDate:
		return appendDate(dst, wallMicros(g.now, g.opts.Loc), &g.opts)
	}
	dst.AppendNull()
	return nil
}

// appendFill appends the default of column i to dst.
func (g *Target) appendFill(dst *block.Column, i int) error {
	src := g.defaults.Col(i)
	if !dst.Fits(len(src.Raw(0))) {
		return block.ErrFull
	}
	dst.AppendFrom(src, 0)
	return nil
}

const microsOfDay = 24 * 3600 * 1e6

// wallMicros is what a clock on the wall in loc shows at now, as a DATETIME(6).
func wallMicros(now time.Time, loc *time.Location) int64 {
	if loc == nil {
		loc = time.UTC
	}
	_, offset := now.In(loc).Zone()
	return now.UnixMicro() + int64(offset)*1e6
}

// floorTo cuts micros down to scale fraction digits.
func floorTo(micros int64, scale uint8) int64 {
	unit := int64(1)
	for range 6 - min(scale, 6) {
		unit *= 10
	}
	return micros - ((micros%unit)+unit)%unit
}

func (g *Target) appendNow(dst *block.Column, scale uint8) error {
	micros := floorTo(wallMicros(g.now, g.opts.Loc), scale)
	switch dst.Type().Kind {
	case value.DateTime:
		dst.AppendInt64(floorTo(micros, dst.Type().Scale))
		return nil
	case value.Date:
		return appendDate(dst, micros, &g.opts)
	}
	return dst.AppendText(value.AppendDateTime(nil, micros, scale), &g.opts)
}

func appendDate(dst *block.Column, micros int64, o *block.ConvertOptions) error {
	if dst.Type().Kind == value.Date {
		dst.AppendInt64(int64(daysOf(micros)))
		return nil
	}
	return dst.AppendText(value.AppendDate(nil, daysOf(micros)), o)
}

// daysOf is the date of micros as days since 1970-01-01.
func daysOf(micros int64) int32 {
	days := micros / microsOfDay
	if micros%microsOfDay < 0 {
		days--
	}
	return int32(days)
}
