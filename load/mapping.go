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
	// targets are the sources that are loaded, in file order.
	targets []target
	// fills are the columns that are no source.
	fills []fill
	// templates has one row: the evaluated default of each column that has one.
	templates *block.Block
	opts      block.ConvertOptions
	strict    bool
}

type source struct {
	name string
	// col is the table's column, or -1: read and not loaded.
	col int
}

type target struct {
	field, col int
}

type fill struct {
	col int
	// null fills with NULL instead of the template's value.
	null bool
}

// MappingOptions are what a load's headers say about conversion.
type MappingOptions struct {
	// Columns are the source fields in order; nil means the table's columns.
	Columns []string
	// Strict is strict_mode.
	Strict bool
	// Location is the load's time zone; nil means UTC.
	Location *time.Location
	// Now is when the request came: CURRENT_TIMESTAMP and CURRENT_DATE.
	Now time.Time
	// StringLimit is the longest STRING and JSON in bytes, 0 for the default.
	StringLimit int
}

// NewMapping binds a load's source fields to a table. It fails, before any byte
// of the body is read, if a column that has no source has no default and is NOT
// NULL.
func NewMapping(t *meta.Table, o MappingOptions) (*Mapping, error) {
	if o.Location == nil {
		o.Location = time.UTC
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
	given := m.bind(o.Columns)
	for i := range t.Columns {
		if given[i] {
			continue
		}
		f := fill{col: i, null: !m.hasDefault(i)}
		if f.null && !t.Columns[i].Nullable {
			return nil, doriserr.New(doriserr.Analysis, "Column has no default value, column=%s", t.Columns[i].Name)
		}
		m.fills = append(m.fills, f)
	}
	return m, nil
}

// bind makes sources and targets and tells which columns have one.
func (m *Mapping) bind(columns []string) []bool {
	given := make([]bool, len(m.types))
	if columns == nil {
		for i := range m.types {
			m.sources = append(m.sources, source{m.table.Columns[i].Name, i})
			m.targets = append(m.targets, target{i, i})
			given[i] = true
		}
		return given
	}
	byName := make(map[string]int, len(m.types))
	for i := range m.types {
		byName[strings.ToLower(m.table.Columns[i].Name)] = i
	}
	for f, name := range columns {
		col, ok := byName[strings.ToLower(name)]
		if !ok || given[col] {
			col = -1
		} else {
			given[col] = true
			m.targets = append(m.targets, target{f, col})
		}
		m.sources = append(m.sources, source{name, col})
	}
	return given
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
		// Cut, not rounded: a default never lies in the future.
		unit := time.Second
		for range min(d.Scale, value.MaxDateTimeScale) {
			unit /= 10
		}
		return now.Truncate(unit).AppendFormat(nil, "2006-01-02 15:04:05.000000")
	case meta.DefaultCurrentDate:
		return now.AppendFormat(nil, "2006-01-02")
	default:
		return []byte(d.Text)
	}
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
