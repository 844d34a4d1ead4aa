// Package plan makes a query's plan on the FE: which tablets at which versions,
// read on which BE, and which BE coordinates.
package plan

import (
	"fmt"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/rpc/bepb"
	"dorisgo/value"
)

// Table is one mention of a table in the statement.
type Table struct {
	// Name is the relation's name in the statement.
	Name  string
	Table *meta.Table
	// Columns are the indexes of the columns that the statement needs.
	Columns []int
}

// Query is a statement to be planned.
type Query struct {
	ID string
	// SQL is in the engine's dialect and names the tables by their relations.
	SQL    string
	Tables []Table
	// Hints are what is known of the result's columns.
	Hints []value.Type
	// Seed spreads queries over replicas: the same seed chooses the same ones.
	Seed uint64
	// Avoid is what failed before; nil is nothing.
	Avoid *Avoid
	// Suspects are backends that are used only where nothing else is left.
	Suspects []int64
}

// Plan is a query ready to be sent.
type Plan struct {
	Coordinator *meta.Backend
	Request     *bepb.QueryRequest
}

// Make plans a statement in the state as it is: call it within one View, so that
// all versions are of one moment. Each tablet is read on a living backend that
// has all of its versions. A tablet that no backend can read fails the query
// with NoBackend and is named.
func Make(st *meta.State, q *Query) (*Plan, error) {
	p := &Plan{Request: &bepb.QueryRequest{QueryId: q.ID, Sql: q.SQL}}
	for _, h := range q.Hints {
		p.Request.ResultTypes = append(p.Request.ResultTypes, &bepb.ColumnDesc{
			Kind: uint32(h.Kind), Precision: uint32(h.Precision), Scale: uint32(h.Scale), Length: h.Length,
		})
	}
	r := &reader{st: st, avoid: q.Avoid, suspects: q.Suspects, seed: q.Seed}
	for i := range q.Tables {
		t, err := r.table(&q.Tables[i])
		if err != nil {
			return nil, err
		}
		p.Request.Tables = append(p.Request.Tables, t)
	}
	p.Coordinator = r.coordinator()
	if p.Coordinator == nil {
		return nil, doriserr.New(doriserr.NoBackend, "No alive backend")
	}
	r.assign(p.Coordinator.ID)
	return p, nil
}

// table adds the tablets of one mention of a table.
func (r *reader) table(in *Table) (*bepb.QueryTable, error) {
	// The definition may have changed since the statement was translated.
	t := r.st.Table(in.Table.ID)
	if t == nil {
		return nil, doriserr.New(doriserr.UnknownTable, "Table [%s] was dropped while the query was planned", in.Table.Name)
	}
	out := &bepb.QueryTable{Name: in.Name, TableId: t.ID, Columns: Columns(in.Table, in.Columns)}
	for _, part := range t.Partitions {
		v, ok := r.st.PartitionVersion(part.ID)
		if !ok {
			return nil, fmt.Errorf("BUG: partition %d of table %s has no version", part.ID, t.Name)
		}
		for _, tablet := range part.Tablets {
			scan, ok := r.add(part, tablet, v.Visible)
			if !ok {
				return nil, doriserr.New(doriserr.NoBackend, "tablet %d of table %s has no replica that can be read: %s",
					tablet.ID, t.Name, r.describe(part, tablet, v.Visible))
			}
			out.Tablets = append(out.Tablets, scan)
		}
	}
	return out, nil
}

// Columns describes some of a table's columns for a scan.
func Columns(t *meta.Table, which []int) []*bepb.ColumnDesc {
	out := make([]*bepb.ColumnDesc, len(which))
	for i, n := range which {
		c := &t.Columns[n]
		out[i] = &bepb.ColumnDesc{
			UniqueId: c.UniqueID, Name: c.Name, Kind: uint32(c.Type.Kind), Precision: uint32(c.Type.Precision), Scale: uint32(c.Type.Scale),
			Length: c.Type.Length, Nullable: c.Nullable, Key: c.Key,
		}
		if c.Default != nil && c.Default.Kind == meta.DefaultLiteral {
			out[i].DefaultValue = &c.Default.Text
		}
	}
	return out
}
