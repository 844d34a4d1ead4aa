package be

import (
	"slices"
	"testing"

	"dorisgo/be/catalog"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

func TestTablesThatChangeAreSealed(t *testing.T) {
	c := catalog.New()
	put := func(ev *fepb.CatalogEvent, tables ...*meta.Table) {
		for _, table := range tables {
			b, err := meta.EncodeTable(table)
			if err != nil {
				t.Fatal(err)
			}
			ev.Tables = append(ev.Tables, b)
		}
		if err := c.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	var sealed []int64
	s := newSealer(c, func(id int64) { sealed = append(sealed, id) })
	for _, step := range []struct {
		name string
		ev   *fepb.CatalogEvent
		now  []*meta.Table
		want []int64
	}{
		{"new tables", &fepb.CatalogEvent{Snapshot: true, Index: 1}, []*meta.Table{{ID: 1, Name: "a", Epoch: 1}, {ID: 2, Name: "b", Epoch: 1}, {ID: 3, Name: "c"}}, nil},
		{"properties", &fepb.CatalogEvent{Index: 2}, []*meta.Table{{ID: 1, Name: "a", Epoch: 1, Props: meta.Properties{GroupCommitIntervalMs: 5}}}, nil},
		{"epoch", &fepb.CatalogEvent{Index: 3}, []*meta.Table{{ID: 1, Name: "a", Epoch: 2}}, []int64{1}},
		{"schema", &fepb.CatalogEvent{Index: 4}, []*meta.Table{{ID: 2, Name: "b", Epoch: 1, SchemaVersion: 1}}, []int64{2}},
		{"dropped", &fepb.CatalogEvent{Index: 5, DroppedTables: []int64{3}}, nil, []int64{3}},
		{"nothing", &fepb.CatalogEvent{Index: 6}, nil, nil},
	} {
		put(step.ev, step.now...)
		sealed = nil
		s.look()
		if !slices.Equal(sealed, step.want) {
			t.Errorf("%s: sealed %v, want %v", step.name, sealed, step.want)
		}
	}
}
