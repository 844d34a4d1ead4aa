package ddl

import (
	"errors"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// ColumnDef is a column of CREATE TABLE as written.
type ColumnDef struct {
	Name string
	// TypeName and TypeParams are what value.ParseType takes.
	TypeName   string
	TypeParams []int
	Key        bool
	// Aggregate is the aggregation in upper case, empty for none.
	Aggregate string
	Nullable  bool
	Default   *meta.Default
	Comment   string
}

// columnType is the column's type, refused by name if there is no such type.
func (c *ColumnDef) columnType() (value.Type, error) {
	t, err := value.ParseType(c.TypeName, c.TypeParams...)
	if e, ok := errors.AsType[*value.TypeError](err); ok {
		if e.Unsupported {
			return t, doriserr.New(doriserr.Unsupported, "column %s: %s", c.Name, e.Msg)
		}
		return t, doriserr.New(doriserr.Analysis, "column %s: %s", c.Name, e.Msg)
	}
	return t, err
}

// isTypeWord reports whether a word is the name of a type.
func isTypeWord(b []byte) bool {
	_, err := value.ParseType(string(b))
	e, ok := errors.AsType[*value.TypeError](err)
	return err == nil || ok && e.Unsupported
}
