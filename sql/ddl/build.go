package ddl

import (
	"slices"
	"strings"
	"time"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/value"
)

// BuildOptions is what a table depends on besides its statement.
type BuildOptions struct {
	// AutoBuckets is the number of buckets for BUCKETS AUTO, at least 1.
	AutoBuckets int
	// MaxBuckets refuses more; 0 is no limit.
	MaxBuckets int
}

// noKeysProperty makes a table without a key clause one without keys.
const noKeysProperty = "enable_duplicate_without_keys_by_default"

// Build checks a CREATE TABLE and makes its table, without ids, partitions and
// Props: the caller fills these (c.Properties are the properties as written).
// Only Props.AutoBucket is set, for BUCKETS AUTO. The texts are those of Doris.
func (c *CreateTable) Build(o BuildOptions) (*meta.Table, error) {
	b := builder{c: c, t: &meta.Table{Name: c.Name.Table, Comment: c.Comment, Keys: c.Keys}}
	for _, step := range []func() error{
		b.clauses, b.columns, b.keys, b.types, func() error { return b.distribution(o) }, b.model,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.t, nil
}

type builder struct {
	c *CreateTable
	t *meta.Table
}

func analysis(format string, args ...any) error {
	return doriserr.New(doriserr.Analysis, format, args...)
}

func unsupported(format string, args ...any) error {
	return doriserr.New(doriserr.Unsupported, format+" is not supported", args...)
}

// clauses refuses what a table of ours cannot have.
func (b *builder) clauses() error {
	c := b.c
	switch {
	case c.Engine != "" && c.Engine != "OLAP":
		return unsupported("ENGINE=%s", c.Engine)
	case c.Partition != "":
		return unsupported("PARTITION BY")
	case c.Rollup:
		return unsupported("ROLLUP")
	case len(c.ClusterBy) > 0:
		return unsupported("CLUSTER BY")
	case len(c.Indexes) > 0:
		return unsupported("INDEX %s", c.Indexes[0])
	case len(c.Columns) == 0:
		return analysis("table should contain at least one column")
	}
	return CheckTableName(c.Name.Table)
}

// columns makes the columns and checks each by itself.
func (b *builder) columns() error {
	for i := range b.c.Columns {
		d := &b.c.Columns[i]
		if err := b.columnName(d.Name); err != nil {
			return err
		}
		t, err := d.columnType()
		if err != nil {
			return err
		}
		col := meta.Column{Name: d.Name, Type: t, Nullable: d.Nullable, Default: d.Default, Comment: d.Comment}
		if err := checkDefault(&col); err != nil {
			return err
		}
		b.t.Columns = append(b.t.Columns, col)
	}
	return nil
}

func (b *builder) columnName(name string) error {
	if err := checkColumnName(name); err != nil {
		return err
	}
	if strings.HasPrefix(strings.ToUpper(name), "__DORIS_") {
		return analysis("Disable to create table column with name start with __DORIS_: %s", name)
	}
	if b.index(name) >= 0 {
		return analysis("Duplicate column name '%s'", name)
	}
	return nil
}

func (b *builder) index(name string) int {
	return slices.IndexFunc(b.t.Columns, func(c meta.Column) bool { return strings.EqualFold(c.Name, name) })
}

// checkDefault checks that a default fits its column.
func checkDefault(c *meta.Column) error {
	d := c.Default
	if d == nil {
		return nil
	}
	switch d.Kind {
	case meta.DefaultNull:
		if !c.Nullable {
			return analysis("Can not set null default value to non nullable column: %s", c.Name)
		}
	case meta.DefaultCurrentTimestamp:
		if c.Type.Kind != value.DateTime {
			return analysis("Types other than DATETIME and DATETIMEV2 cannot use current_timestamp as the default value")
		}
		if d.Scale > c.Type.Scale {
			return analysis("default value precision: current_timestamp(%d) can not be greater than type precision: %s", d.Scale, c.Type)
		}
	case meta.DefaultCurrentDate:
		if c.Type.Kind != value.Date {
			return analysis("Types other than DATE and DATEV2 cannot use current_date as the default value")
		}
	case meta.DefaultLiteral:
		probe := block.New([]value.Type{c.Type})
		if err := probe.Col(0).AppendText([]byte(d.Text), &block.ConvertOptions{Loc: time.UTC, Strict: true}); err != nil {
			return analysis("Invalid default value '%s' for column %s: %v", d.Text, c.Name, err)
		}
	}
	return nil
}

// keys finds the key columns, which lead the columns.
func (b *builder) keys() error {
	if b.t.Keys == 0 {
		b.t.Keys = meta.DuplicateKeys
		if !b.wantsNoKeys() {
			b.t.KeyCount = b.defaultKeys()
		}
		if b.t.KeyCount == 0 && !b.wantsNoKeys() {
			return analysis("The olap table first column could not be float, double, string or array, struct, map, please use decimal or varchar instead.")
		}
		return b.markKeys()
	}
	cols := b.c.KeyColumns
	if len(cols) > len(b.t.Columns) {
		return analysis("The number of key columns should be less than the number of columns.")
	}
	for i, name := range cols {
		if b.index(name) < 0 {
			return analysis("Key column[%s] doesn't exist.", name)
		}
		if got := b.t.Columns[i].Name; !strings.EqualFold(got, name) {
			return analysis("Key columns should be a ordered prefix of the schema. KeyColumns[%d] (starts from zero) is %s, "+
				"but corresponding column is %s in the previous columns declaration.", i, name, got)
		}
	}
	b.t.KeyCount = len(cols)
	return b.markKeys()
}

func (b *builder) wantsNoKeys() bool {
	for _, p := range b.c.Properties {
		if strings.EqualFold(p.Key, noKeysProperty) && strings.EqualFold(p.Value, "true") {
			return true
		}
	}
	return false
}

// The limits of the key that is chosen for a table without a key clause.
const (
	maxDefaultKeyColumns = 3
	maxDefaultKeyBytes   = 36
)

// defaultKeys is how many leading columns become the key of a table without a
// key clause: up to three that take at most 36 bytes, ending with the first
// VARCHAR.
func (b *builder) defaultKeys() int {
	size := 0
	for i, c := range b.t.Columns {
		if keyTypeError(&c) != nil || b.c.Columns[i].Aggregate != "" {
			return i
		}
		size += keySize(c.Type)
		if i == maxDefaultKeyColumns || size > maxDefaultKeyBytes {
			if i == 0 && c.Type.IsVar() {
				return 1
			}
			return i
		}
		if c.Type.Kind == value.VarChar {
			return i + 1
		}
	}
	return min(len(b.t.Columns), maxDefaultKeyColumns)
}

func keySize(t value.Type) int {
	switch t.Kind {
	case value.Char:
		return int(t.Length)
	case value.VarChar:
		return 20
	}
	return t.Width()
}

func (b *builder) markKeys() error {
	for i := range b.t.KeyCount {
		b.t.Columns[i].Key = true
	}
	return nil
}

// types checks the types of keys and the aggregations of the others.
func (b *builder) types() error {
	for i := range b.t.Columns {
		c, d := &b.t.Columns[i], &b.c.Columns[i]
		if c.Key {
			if d.Aggregate != "" {
				return analysis("Key column %s can not set aggregation type", c.Name)
			}
			if err := keyTypeError(c); err != nil {
				return err
			}
			continue
		}
		if d.Key {
			return analysis("Column[%s] is not in the key clause", c.Name)
		}
		switch {
		case b.t.Keys == meta.AggregateKeys && d.Aggregate == "":
			return analysis("should set aggregation type to non-key column in aggregate key table")
		case b.t.Keys != meta.AggregateKeys && d.Aggregate != "":
			return analysis("Cannot specify aggregation type %s of column %s in a table that is no AGGREGATE KEY table", d.Aggregate, c.Name)
		}
	}
	return nil
}

// keyTypeError says why the column's type cannot be that of a key.
func keyTypeError(c *meta.Column) error {
	switch c.Type.Kind {
	case value.Float, value.Double:
		return analysis("Float or double can not used as a key, use decimal instead.")
	case value.String:
		return analysis("String Type should not be used in key column[%s]", c.Name)
	case value.JSON:
		return analysis("JsonType type should not be used in key column[%s].", c.Name)
	}
	return nil
}

// distribution checks DISTRIBUTED BY; without one the table is RANDOM AUTO.
func (b *builder) distribution(o BuildOptions) error {
	d := b.c.Distribution
	if d == nil {
		d = &Distribution{}
	}
	for _, name := range d.Columns {
		i := b.index(name)
		if i < 0 {
			return analysis("Distribution column(%s) doesn't exist.", name)
		}
		if err := b.distributionColumn(i); err != nil {
			return err
		}
		b.t.DistCols = append(b.t.DistCols, i)
	}
	if len(d.Columns) == 0 && b.randomRefused() {
		return analysis("Should not be distributed by random when keys type is %s", keysName(b.t.Keys))
	}
	b.t.Buckets = d.Buckets
	if d.Buckets == 0 {
		b.t.Buckets = max(o.AutoBuckets, 1)
		b.t.Props.AutoBucket = true
	}
	if o.MaxBuckets > 0 && b.t.Buckets > o.MaxBuckets {
		return analysis("the number of buckets is %d, at most %d are allowed", b.t.Buckets, o.MaxBuckets)
	}
	return nil
}

func (b *builder) distributionColumn(i int) error {
	c := &b.t.Columns[i]
	switch {
	case slices.Contains(b.t.DistCols, i):
		return analysis("Duplicated distribution column %s", c.Name)
	case !c.Key && b.t.Keys != meta.DuplicateKeys:
		return analysis("Distribution column[%s] is not key column", c.Name)
	}
	switch c.Type.Kind {
	case value.Float, value.Double:
		return analysis("Floating point type should not be used in distribution column[%s].", c.Name)
	case value.String:
		return analysis("String Type should not be used in distribution column[%s].", c.Name)
	case value.JSON:
		return analysis("JsonType type should not be used in distribution column[%s].", c.Name)
	}
	return nil
}

// randomRefused says that rows of one key must meet in one bucket.
func (b *builder) randomRefused() bool {
	if b.t.Keys == meta.AggregateKeys {
		return slices.ContainsFunc(b.c.Columns, func(d ColumnDef) bool { return strings.HasPrefix(d.Aggregate, "REPLACE") })
	}
	return b.t.Keys == meta.UniqueKeys
}

// model refuses the table models that cannot be written yet.
func (b *builder) model() error {
	if b.t.Keys == meta.DuplicateKeys {
		return nil
	}
	return unsupported("table model %s KEY", strings.ToUpper(keysName(b.t.Keys)))
}

func keysName(k meta.KeysType) string {
	switch k {
	case meta.UniqueKeys:
		return "unique"
	case meta.AggregateKeys:
		return "aggregate"
	}
	return "duplicate"
}
