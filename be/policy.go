package be

import (
	"sync"
	"time"

	"dorisgo/be/catalog"
	"dorisgo/storage"
)

// policies tells the storage which partitions are compacted as time series, from
// this BE's copy of the catalog. It is safe for concurrent use.
type policies struct {
	catalog *catalog.Catalog

	mu    sync.Mutex
	index uint64
	known bool
	// series are the partitions of tables with compaction_policy time_series.
	series map[int64]storage.TimeSeries
}

func newPolicies(c *catalog.Catalog) *policies { return &policies{catalog: c} }

// of is storage.Options.TimeSeries.
func (p *policies) of(partitionID int64) (storage.TimeSeries, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if index, _ := p.catalog.Index(); !p.known || index != p.index {
		p.index, p.known = index, true
		p.read()
	}
	s, ok := p.series[partitionID]
	return s, ok
}

func (p *policies) read() {
	p.series = map[int64]storage.TimeSeries{}
	for _, id := range p.catalog.TableIDs() {
		t, ok := p.catalog.TableByID(id)
		if !ok || t.Props.CompactionPolicy != "time_series" {
			continue
		}
		s := storage.TimeSeries{
			GoalBytes: t.Props.TimeSeriesGoalSizeMB << 20, FileCount: int(t.Props.TimeSeriesFileCount),
			After: time.Duration(t.Props.TimeSeriesTimeThresholdS) * time.Second,
		}
		for _, part := range t.Partitions {
			p.series[part.ID] = s
		}
	}
}
