package storage

import "sync/atomic"

// stats count the background work of an engine's life.
type stats struct {
	flushes, compactions, compactedBytes atomic.Int64
}

// Stats describe the tablets and the background work.
type Stats struct {
	// Tablets is the number of tablets that have or had rows here.
	Tablets int
	// Files and Inline are the live rowsets of all tablets.
	Files, Inline int
	// MostFiles and MostRowsets are those of the tablet that has most.
	MostFiles, MostRowsets int
	// Flushes and Compactions count those that were done since the start,
	// CompactedBytes the file bytes that compactions read.
	Flushes, Compactions, CompactedBytes int64
}

// Stats walks all tablets.
func (e *Engine) Stats() Stats {
	s := Stats{
		Flushes: e.stats.flushes.Load(), Compactions: e.stats.compactions.Load(), CompactedBytes: e.stats.compactedBytes.Load(),
	}
	for _, t := range e.tabletsSorted() {
		t.mu.Lock()
		all, files := t.graph.Count()
		dropped := t.droppedMs != 0
		t.mu.Unlock()
		if dropped {
			continue
		}
		s.Tablets++
		s.Files += files
		s.Inline += all - files
		s.MostFiles = max(s.MostFiles, files)
		s.MostRowsets = max(s.MostRowsets, all)
	}
	return s
}
