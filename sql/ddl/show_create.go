package ddl

import (
	"strconv"
	"strings"

	"dorisgo/meta"
	"dorisgo/sql/token"
)

// ShowCreate is the statement that SHOW CREATE TABLE shows, with the
// properties in the order given (docs/compatibility.md).
func ShowCreate(t *meta.Table, props []Property) string {
	b := append([]byte("CREATE TABLE "), token.AppendName(nil, t.Name)...)
	b = append(b, " (\n"...)
	for i := range t.Columns {
		if strings.HasPrefix(t.Columns[i].Name, "__DORIS_") {
			continue
		}
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = appendColumn(append(b, "  "...), &t.Columns[i])
	}
	b = append(b, "\n) ENGINE=OLAP\n"...)
	b = appendKeys(b, t)
	if t.Comment != "" {
		b = append(appendQuoted(append(b, "COMMENT "...), t.Comment, '\''), '\n')
	}
	b = appendDistribution(b, t)
	b = append(b, "\nPROPERTIES (\n"...)
	for i, p := range props {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = appendQuoted(b, p.Key, '"')
		b = appendQuoted(append(b, " = "...), p.Value, '"')
	}
	return string(append(b, "\n);"...))
}

// appendColumn appends a column's definition.
func appendColumn(b []byte, c *meta.Column) []byte {
	b = append(token.AppendName(b, c.Name), ' ')
	b = append(b, c.Type.String()...)
	if c.Nullable {
		b = append(b, " NULL"...)
	} else {
		b = append(b, " NOT NULL"...)
	}
	b = appendDefault(b, c.Default)
	if c.Comment != "" {
		b = appendQuoted(append(b, " COMMENT "...), c.Comment, '"')
	}
	return b
}

func appendDefault(b []byte, d *meta.Default) []byte {
	if d == nil {
		return b
	}
	switch d.Kind {
	case meta.DefaultLiteral:
		return appendQuoted(append(b, " DEFAULT "...), d.Text, '"')
	case meta.DefaultCurrentTimestamp:
		b = append(b, " DEFAULT CURRENT_TIMESTAMP"...)
		if d.Scale > 0 {
			b = append(strconv.AppendUint(append(b, '('), uint64(d.Scale), 10), ')')
		}
	case meta.DefaultCurrentDate:
		b = append(b, " DEFAULT CURRENT_DATE"...)
	}
	return b
}

// appendKeys appends the key clause; a DUPLICATE table without keys has none.
func appendKeys(b []byte, t *meta.Table) []byte {
	if t.KeyCount == 0 {
		return b
	}
	b = append(b, strings.ToUpper(keysName(t.Keys))...)
	b = append(b, " KEY("...)
	for i := range t.KeyCount {
		b = appendListed(b, i, t.Columns[i].Name)
	}
	return append(b, ")\n"...)
}

func appendDistribution(b []byte, t *meta.Table) []byte {
	b = append(b, "DISTRIBUTED BY "...)
	if len(t.DistCols) == 0 {
		b = append(b, "RANDOM"...)
	} else {
		b = append(b, "HASH("...)
		for i, c := range t.DistCols {
			b = appendListed(b, i, t.Columns[c].Name)
		}
		b = append(b, ')')
	}
	b = append(b, " BUCKETS "...)
	if t.Props.AutoBucket {
		return append(b, "AUTO"...)
	}
	return strconv.AppendInt(b, int64(t.Buckets), 10)
}

func appendListed(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return token.AppendName(b, name)
}

// appendQuoted appends s as a string literal in the quotes q.
func appendQuoted(b []byte, s string, q byte) []byte {
	b = append(b, q)
	for i := range len(s) {
		if s[i] == q || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, q)
}

// CreateDatabaseText is the statement that SHOW CREATE DATABASE shows.
func CreateDatabaseText(name string) string {
	return "CREATE DATABASE " + string(token.AppendName(nil, name))
}
