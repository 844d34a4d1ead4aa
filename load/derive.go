package load

import (
	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/value"
)

// computed is a column whose expression needs the engine.
type computed struct {
	col  int
	expr string
}

// step is one evaluation of expressions over the rows of a batch.
type step struct {
	prog *Program
	// filter and where are the outputs that choose rows, or -1.
	filter, where int
	// derived are the columns that outputs go to.
	derived []derivedColumn
}

type derivedColumn struct {
	col, output int
}

// derive looks at the derived columns: constants, defaults and other names for
// source fields are settled at once, the rest is returned.
func (m *Mapping) derive(o *MappingOptions, given []bool) ([]computed, error) {
	var out []computed
	for _, d := range o.Derived {
		col := m.columnOf(d.Column)
		if col < 0 {
			return nil, doriserr.New(doriserr.UnknownColumn, "%s: unknown column %s in table %s: %s=%s", o.Origin, d.Column, m.table.Name, d.Column, d.Expr)
		}
		if given[col] {
			return nil, doriserr.New(doriserr.Analysis, "%s: column %s is given twice", o.Origin, d.Column)
		}
		given[col] = true
		kind, text := m.simple(d.Expr, o)
		switch kind {
		case notSimple:
			out = append(out, computed{col, d.Expr})
		case sourceName:
			m.target(m.sourceOf(text), col)
		default:
			if err := m.constant(col, kind, text); err != nil {
				return nil, doriserr.Wrap(doriserr.Analysis, err, "%s: %s=%s", o.Origin, d.Column, d.Expr)
			}
		}
	}
	return out, nil
}

// constant fills a column with one value.
func (m *Mapping) constant(col int, kind simpleKind, text string) error {
	c := &m.table.Columns[col]
	switch {
	case kind == columnDefault:
		return m.fillDefault(col)
	case kind == constantNull && !c.Nullable:
		return doriserr.New(doriserr.Analysis, "column %s is NOT NULL", c.Name)
	case kind == constantNull:
		m.fills = append(m.fills, fill{col: col})
		return nil
	}
	b := block.New([]value.Type{c.Type})
	if err := b.Col(0).AppendText([]byte(text), &m.opts); err != nil {
		return err
	}
	b.EndRow()
	m.fills = append(m.fills, fill{col, b.Col(0)})
	return nil
}

// compile makes the steps: one, unless the rows are chosen by a derived column.
func (m *Mapping) compile(o *MappingOptions, list []computed) error {
	if len(list) == 0 && o.Filter == "" && o.Where == "" {
		return nil
	}
	if o.Compile == nil {
		return doriserr.New(doriserr.Internal, "BUG: expressions without a compiler")
	}
	first, err := m.step(o, list, o.Filter, o.Where)
	if err != nil {
		return err
	}
	m.steps = []*step{first}
	if !first.needsDerived() {
		return nil
	}
	if first, err = m.step(o, list, o.Filter, ""); err != nil {
		return err
	}
	second, err := m.step(o, nil, "", o.Where)
	m.steps = []*step{first, second}
	return err
}

// needsDerived reports whether a step's condition uses its own results.
func (s *step) needsDerived() bool {
	for _, c := range s.prog.Columns {
		for _, d := range s.derived {
			if d.col == c {
				return true
			}
		}
	}
	return false
}

func (m *Mapping) step(o *MappingOptions, list []computed, filter, where string) (*step, error) {
	spec := &ProgramSpec{Now: o.Now.In(o.Location)}
	for _, s := range m.sources {
		spec.Sources = append(spec.Sources, s.name)
	}
	for i := range m.table.Columns {
		spec.Columns = append(spec.Columns, ProgramColumn{m.table.Columns[i].Name, m.types[i]})
	}
	s := &step{filter: -1, where: -1}
	for _, c := range list {
		name := m.table.Columns[c.col].Name
		s.derived = append(s.derived, derivedColumn{c.col, len(spec.Outputs)})
		spec.Outputs = append(spec.Outputs, ProgramOutput{
			Text: c.expr, Want: m.types[c.col],
			Wrap: func(err error) error {
				return doriserr.Wrap(doriserr.KindOf(err), err, "%s: %s=%s", o.Origin, name, c.expr)
			},
			Unknown: func(ref string) error {
				return doriserr.New(doriserr.Analysis, "unknown reference column, column=%s, reference=%s", name, ref)
			},
		})
	}
	if filter != "" {
		s.filter = len(spec.Outputs)
		spec.Outputs = append(spec.Outputs, condition(filter, o.Origin, false))
	}
	if where != "" {
		s.where = len(spec.Outputs)
		spec.Outputs = append(spec.Outputs, condition(where, "Header `where`", true))
	}
	var err error
	s.prog, err = o.Compile(spec)
	return s, err
}

func condition(text, origin string, overColumns bool) ProgramOutput {
	return ProgramOutput{
		Text: text, OverColumns: overColumns, Condition: true,
		Wrap: func(err error) error { return doriserr.Wrap(doriserr.KindOf(err), err, "%s: %s", origin, text) },
		Unknown: func(ref string) error {
			return doriserr.New(doriserr.Analysis, "unknown column reference in where statement, reference=%s", ref)
		},
	}
}
