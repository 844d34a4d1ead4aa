package tablet

import (
	"slices"

	"dorisgo/storage/rowset"
)

// TimeSeriesPolicy says which files are merged of a tablet whose rows come in
// order of time and are seldom read together with much older ones: each file that
// a load or a flush made is merged once, with its neighbours.
type TimeSeriesPolicy struct {
	// GoalBytes is how large the files of one merge are together when it begins,
	// on disk. A file of half of that stays as it is.
	GoalBytes int64
	// FileCount is how many files start a merge however small they are.
	FileCount int
	// Due says that files have waited long enough: two are merged.
	Due bool
	// UpTo is the last version that may be merged, 0 for all.
	UpTo int64
}

// TimeSeriesRun returns neighbouring files to be merged, the oldest ones first,
// nil if there is nothing to do.
func (g *Graph) TimeSeriesRun(p TimeSeriesPolicy) []*Rowset {
	start, bytes := 0, int64(0)
	for i, rs := range g.live {
		if !p.Mergeable(rs) || i > start && rs.ColumnsID != g.live[start].ColumnsID {
			// No neighbour comes any more: more than one does not wait for others.
			if run := g.live[start:i]; p.Due && len(run) > 1 {
				return slices.Clone(run)
			}
			start, bytes = i, 0
			if !p.Mergeable(rs) {
				start++
				continue
			}
		}
		bytes += rs.FileBytes
		if n := i + 1 - start; n > 1 && (bytes >= p.GoalBytes || n >= p.FileCount) {
			return slices.Clone(g.live[start : i+1])
		}
	}
	if run := g.live[start:]; p.Due && len(run) > 1 {
		return slices.Clone(run)
	}
	return nil
}

// Mergeable reports whether a file waits for its merge.
func (p TimeSeriesPolicy) Mergeable(rs *Rowset) bool {
	return rs.Kind == rowset.File && !rs.Damaged && !rs.Merged() && rs.FileBytes <= p.GoalBytes/2 && (p.UpTo == 0 || rs.End <= p.UpTo)
}
