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

// Plan is a query ready to be sent.
type Plan struct {
	Coordinator *meta.Backend
	Request     *bepb.QueryRequest
}

// Make plans a statement in the state as it is: call it within one View, so that
// all versions are of one moment. A tablet whose replicas are all down fails the
// query and is named.
func Make(st *meta.State, queryID, sql string, tables []Table, hints []value.Type) (*Plan, error) {
	p := &Plan{Request: &bepb.QueryRequest{QueryId: queryID, Sql: sql}}
	for _, h := range hints {
		p.Request.ResultTypes = append(p.Request.ResultTypes, &bepb.ColumnDesc{
			Kind: uint32(h.Kind), Precision: uint32(h.Precision), Scale: uint32(h.Scale), Length: h.Length,
		})
	}
	tablets := map[int64]int{}
	for i := range tables {
		t, err := planTable(st, &tables[i], tablets)
		if err != nil {
			return nil, err
		}
		p.Request.Tables = append(p.Request.Tables, t)
	}
	p.Coordinator = coordinator(st, tablets)
	if p.Coordinator == nil {
		return nil, doriserr.New(doriserr.NoBackend, "No alive backend")
	}
	return p, nil
}

func planTable(st *meta.State, in *Table, count map[int64]int) (*bepb.QueryTable, error) {
	// The definition may have changed since the statement was translated.
	t := st.Table(in.Table.ID)
	if t == nil {
		return nil, doriserr.New(doriserr.UnknownTable, "Table [%s] was dropped while the query was planned", in.Table.Name)
	}
	out := &bepb.QueryTable{Name: in.Name, TableId: t.ID, Columns: Columns(in.Table, in.Columns)}
	for _, part := range t.Partitions {
		v, ok := st.PartitionVersion(part.ID)
		if !ok {
			return nil, fmt.Errorf("BUG: partition %d of table %s has no version", part.ID, t.Name)
		}
		through := publishedThrough(st, part)
		for _, tablet := range part.Tablets {
			be := replica(st, through, tablet, v.Visible)
			if be == 0 {
				return nil, doriserr.New(doriserr.NoBackend, "tablet %d of table %s has no replica that can be read: %s", tablet.ID, t.Name, describe(st, through, tablet, v.Visible))
			}
			count[be]++
			out.Tablets = append(out.Tablets, &bepb.ScanTablet{PartitionId: part.ID, TabletId: tablet.ID, Version: v.Visible, BackendId: be})
		}
	}
	return out, nil
}

// publishedThrough is for each BE the version through which it can publish a
// partition. A BE publishes a partition's versions in order and stops at the
// first whose rowset it lacks in any of its tablets, so that its other tablets
// of the partition stay behind as well.
func publishedThrough(st *meta.State, part *meta.Partition) map[int64]int64 {
	through := map[int64]int64{}
	for _, t := range part.Tablets {
		for _, r := range t.Replicas {
			v := st.GapFree(part.ID, t.ID, r.BackendID)
			if have, ok := through[r.BackendID]; !ok || v < have {
				through[r.BackendID] = v
			}
		}
	}
	return through
}

// replica is a living BE that has the tablet at the version.
func replica(st *meta.State, through map[int64]int64, t *meta.Tablet, version int64) int64 {
	for _, r := range t.Replicas {
		b := st.Backend(r.BackendID)
		if b != nil && b.Alive && through[r.BackendID] >= version {
			return r.BackendID
		}
	}
	return 0
}

func describe(st *meta.State, through map[int64]int64, t *meta.Tablet, version int64) string {
	text := ""
	for _, r := range t.Replicas {
		if text != "" {
			text += ", "
		}
		b := st.Backend(r.BackendID)
		switch {
		case b == nil:
			text += fmt.Sprintf("backend %d is unknown", r.BackendID)
		case !b.Alive:
			text += fmt.Sprintf("backend %d (%s) is not alive", b.ID, b.Host)
		default:
			text += fmt.Sprintf("backend %d (%s) lacks versions after %d of %d", b.ID, b.Host, through[b.ID], version)
		}
	}
	return text
}

// coordinator is the BE that has most of the tablets, any living one for a
// statement without tables.
func coordinator(st *meta.State, tablets map[int64]int) *meta.Backend {
	var best *meta.Backend
	for _, b := range st.Backends() {
		if b.Alive && (best == nil || tablets[b.ID] > tablets[best.ID]) {
			best = b
		}
	}
	return best
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
