package be

import (
	"testing"
	"time"

	"dorisgo/be/catalog"
	"dorisgo/meta"
	"dorisgo/rpc/fepb"
	"dorisgo/storage"
)

// TestPolicies: the storage follows the table's properties, also after a change.
func TestPolicies(t *testing.T) {
	c := catalog.New()
	p := newPolicies(c)
	table := &meta.Table{ID: 1, DBID: 2, Name: "t", Partitions: []*meta.Partition{{ID: 10}, {ID: 11}}}
	table.Props.CompactionPolicy, table.Props.TimeSeriesGoalSizeMB, table.Props.TimeSeriesFileCount, table.Props.TimeSeriesTimeThresholdS = "time_series", 512, 20, 60
	for i, s := range []string{"", "time_series", "size_based"} {
		if s != "" {
			table.Props.CompactionPolicy = s
			b, err := meta.EncodeTable(table)
			if err == nil {
				err = c.Apply(&fepb.CatalogEvent{Snapshot: true, Index: uint64(i), Tables: [][]byte{b}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got, ok := p.of(11)
		if ok != (s == "time_series") || ok && got != (storage.TimeSeries{GoalBytes: 512 << 20, FileCount: 20, After: time.Minute}) {
			t.Errorf("%q: %+v, %v", s, got, ok)
		}
	}
}
