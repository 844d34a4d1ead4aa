package load

import (
	"fmt"
	"strings"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// Mapping says which source field goes to which column of a table, and what the
// other columns get. It is made once for a load and then read only.
type Mapping struct {
	table *meta.Table
	types []value.Type
	// sources are the fields in file (or jsonpaths) order.
	sources []source
	// sourceNames and columnNames are indexes by lower-case name, made when they
	// are needed.
	sourceNames, columnNames map[string]int
	// targets are the fields that are loaded as they are.
	targets []target
	// fills are the columns that are the same in every row.
	fills []fill
	// templates has one row: the evaluated default of each column that has one.
	templates *block.Block
	opts      block.ConvertOptions
	strict    bool
	// steps are the expressions, nil for a load without any.
	steps []*step
}

type source struct {
	name string
	// col is the table's column, or -1: read and not loaded as it is.
	col int
}

type target struct {
	field, col int
}

type fill struct {
	col int
	// from has the value in its first row; nil fills with NULL.
	from *block.Column
}

// MappingOptions are what a load's headers say about conversion.
type MappingOptions struct {
	// Columns are the source fields in order; nil means the table's columns.
	Columns []string
	// Derived are columns that are computed from source fields. They go before a
	// source of the same name.
	Derived []Derived
	// Explicit leaves columns that are not derived to their defaults, whatever
	// the sources are called.
	Explicit bool
	// Filter chooses source rows before they are converted, by their fields;
	// Where chooses rows by their converted columns. "" is none. Rows that are not
	// chosen count as unselected.
	Filter, Where string
	// Compile is needed if there are expressions.
	Compile Compile
	// Origin names where expressions come from in errors: "Header `columns`" if
	// it is empty.
	Origin string
	// Strict is strict_mode. It is no matter to derived columns, but for the
	// length of texts.
	Strict bool
	// Location is the load's time zone; nil means UTC.
	Location *time.Location
	// Now is when the request came: CURRENT_TIMESTAMP and CURRENT_DATE.
	Now time.Time
	// StringLimit is the longest STRING and JSON in bytes, 0 for the default.
	StringLimit int
}

// NewMapping binds a load's source fields to a table. It fails, before any byte
// of the body is read, if an expression is wrong, or if a column that has no
// source has no default and is NOT NULL.
func NewMapping(t *meta.Table, o MappingOptions) (*Mapping, error) {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Origin == "" {
		o.Origin = "Header `columns`"
	}
	m := &Mapping{
		table:  t,
		types:  make([]value.Type, len(t.Columns)),
		strict: o.Strict,
		opts:   block.ConvertOptions{Loc: o.Location, Strict: o.Strict, StringLimit: o.StringLimit},
	}
	for i := range t.Columns {
		m.types[i] = t.Columns[i].Type
	}
	if err := m.evaluate(o); err != nil {
		return nil, err
	}
	given := make([]bool, len(m.types))
	m.bindSources(o.Columns)
	computed, err := m.derive(&o, given)
	if err != nil {
		return nil, err
	}
	if !o.Explicit {
		m.bindTargets(given, o.Columns == nil)
	}
	for i := range t.Columns {
		if given[i] {
			continue
		}
		if err := m.fillDefault(i); err != nil {
			return nil, err
		}
	}
	return m, m.compile(&o, computed)
}

func (m *Mapping) bindSources(columns []string) {
	if columns == nil {
		for i := range m.table.Columns {
			m.sources = append(m.sources, source{m.table.Columns[i].Name, -1})
		}
		return
	}
	for _, name := range columns {
		m.sources = append(m.sources, source{name, -1})
	}
}

// bindTargets lets the sources that are called as a column go there; same says
// that the sources are the columns.
func (m *Mapping) bindTargets(given []bool, same bool) {
	for f, s := range m.sources {
		col := f
		if !same {
			col = m.columnOf(s.name)
		}
		if col >= 0 && !given[col] {
			given[col] = true
			m.target(f, col)
		}
	}
}

func (m *Mapping) target(field, col int) {
	m.targets = append(m.targets, target{field, col})
	if m.sources[field].col < 0 {
		m.sources[field].col = col
	}
}

// columnOf is the table's column of a name, or -1.
func (m *Mapping) columnOf(name string) int {
	if m.columnNames == nil {
		m.columnNames = make(map[string]int, len(m.table.Columns))
		for i := range m.table.Columns {
			m.columnNames[strings.ToLower(m.table.Columns[i].Name)] = i
		}
	}
	return lookup(m.columnNames, name)
}

// sourceOf is the source field of a name, or -1.
func (m *Mapping) sourceOf(name string) int {
	if m.sourceNames == nil {
		m.sourceNames = make(map[string]int, len(m.sources))
		for i, s := range m.sources {
			m.sourceNames[strings.ToLower(s.name)] = i
		}
	}
	return lookup(m.sourceNames, name)
}

func lookup(names map[string]int, name string) int {
	if i, ok := names[strings.ToLower(name)]; ok {
		return i
	}
	return -1
}

func (m *Mapping) fillDefault(col int) error {
	f := fill{col: col}
	if m.hasDefault(col) {
		f.from = m.templates.Col(col)
	} else if !m.table.Columns[col].Nullable {
		return doriserr.New(doriserr.Analysis, "Column has no default value, column=%s", m.table.Columns[col].Name)
	}
	m.fills = append(m.fills, f)
	return nil
}

// evaluate fills the templates: defaults belong to the request, not to the
// group that carries it later (docs/protocol.md, rule 14).
func (m *Mapping) evaluate(o MappingOptions) error {
	m.templates = block.New(m.types)
	now := o.Now.In(o.Location)
	for i := range m.table.Columns {
		c := &m.table.Columns[i]
		dst := m.templates.Col(i)
		if c.Default == nil || c.Default.Kind == meta.DefaultNull {
			dst.AppendNull()
			continue
		}
		if err := dst.AppendText(defaultText(c.Default, now), &m.opts); err != nil {
			return doriserr.Wrap(doriserr.Analysis, err, "cannot evaluate the default of column %s", c.Name)
		}
	}
	m.templates.EndRow()
	return nil
}

func defaultText(d *meta.Default, now time.Time) []byte {
	switch d.Kind {
	case meta.DefaultCurrentTimestamp:
		return []byte(stampText(now, d.Scale))
	case meta.DefaultCurrentDate:
		return now.AppendFormat(nil, "2006-01-02")
	default:
		return []byte(d.Text)
	}
}

// stampText is a time with so many digits of its fraction: cut, not rounded, so
// that it never lies in the future.
func stampText(now time.Time, scale uint8) string {
	unit := time.Second
	for range min(scale, value.MaxDateTimeScale) {
		unit /= 10
	}
	return now.Truncate(unit).Format("2006-01-02 15:04:05.000000")
}

func (m *Mapping) hasDefault(col int) bool {
	d := m.table.Columns[col].Default
	return d != nil && d.Kind != meta.DefaultNull
}

// Fields is the number of source fields of a row.
func (m *Mapping) Fields() int { return len(m.sources) }

// FieldName is the name of source field i.
func (m *Mapping) FieldName(i int) string { return m.sources[i].name }

// FieldType is the type of the column that source field i goes to; ok is false
// if the field is not loaded.
func (m *Mapping) FieldType(i int) (t value.Type, ok bool) {
	col := m.sources[i].col
	if col < 0 {
		return value.Type{}, false
	}
	return m.types[col], true
}

// CanMiss is an error if no row can do without source field i, because it goes to
// a column that is NOT NULL and has no default.
func (m *Mapping) CanMiss(i int) error {
	for _, t := range m.targets {
		if c := &m.table.Columns[t.col]; t.field == i && !c.Nullable && !m.hasDefault(t.col) {
			return doriserr.New(doriserr.Analysis, "Column has no default value, column=%s", c.Name)
		}
	}
	return nil
}

// Types are the types of the blocks that a load makes: the table's columns in
// order. The slice is not to be changed.
func (m *Mapping) Types() []value.Type { return m.types }

// typeName is a column's type in row error texts.
func (m *Mapping) typeName(col int) string {
	t := m.types[col]
	if t.Kind == value.String {
		return "STRING"
	}
	return strings.ToUpper(fmt.Sprint(t))
}
