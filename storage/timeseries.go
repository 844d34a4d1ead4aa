package storage

import (
	"time"

	"dorisgo/storage/tablet"
)

// TimeSeries is the compaction policy of a table whose rows come in order of
// time: each row is rewritten about once (Options.TimeSeries).
type TimeSeries struct {
	// GoalBytes of files, or FileCount files, start a merge.
	GoalBytes int64
	FileCount int
	// After is how long files wait for others at most.
	After time.Duration
}

// compactInputs picks the files of a tablet to be merged now; t.mu is held. A
// time-series tablet that has come to a quarter of the rowsets that it may have
// is merged by size like any other: so its files stay bounded however slowly
// they come.
func (e *Engine) compactInputs(t *tabletState, policy TimeSeries, series bool) []*tablet.Rowset {
	upTo := int64(0)
	if t.hole != 0 {
		upTo = t.hole - 1
	}
	size := e.compactPolicy()
	size.UpTo = upTo
	if !series {
		return t.graph.CompactRun(size)
	}
	p := tablet.TimeSeriesPolicy{GoalBytes: policy.GoalBytes, FileCount: policy.FileCount, UpTo: upTo}
	waits := false
	for rs := range t.graph.Live() {
		waits = waits || p.Mergeable(rs)
	}
	now := e.opts.Now()
	switch {
	case !waits:
		t.waitsSince = time.Time{}
	case t.waitsSince.IsZero():
		t.waitsSince = now // of a start, if they came before it
	default:
		p.Due = now.Sub(t.waitsSince) >= policy.After
	}
	if run := t.graph.TimeSeriesRun(p); run != nil {
		t.waitsSince = time.Time{} // what comes later waits anew
		return run
	}
	if t.graph.Len() > e.opts.MaxVersions/4 {
		size.MaxBytes = max(size.MaxBytes, policy.GoalBytes)
		return t.graph.CompactRun(size)
	}
	return nil
}

// policyOf is a tablet's time-series policy; false if it has none.
func (e *Engine) policyOf(t *tabletState) (TimeSeries, bool) {
	if e.opts.TimeSeries == nil {
		return TimeSeries{}, false
	}
	return e.opts.TimeSeries(t.partitionID)
}

// wantAged asks for compactions of time-series tablets whose files have waited
// long enough.
func (e *Engine) wantAged() {
	now := e.opts.Now()
	for _, t := range e.tabletsSorted() {
		p, ok := e.policyOf(t)
		if !ok {
			continue
		}
		t.mu.Lock()
		due := !t.waitsSince.IsZero() && now.Sub(t.waitsSince) >= p.After
		t.mu.Unlock()
		if due {
			e.compact.want(t.id)
		}
	}
}
