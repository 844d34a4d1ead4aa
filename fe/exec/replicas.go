package exec

import (
	"cmp"
	"slices"

	"dorisgo/doriserr"
	"dorisgo/meta"
)

// replicaState is a replica as SHOW sees it.
type replicaState struct {
	meta.Replica
	backend *meta.Backend // nil: dropped
	// free is the version through which it is gap-free, failed the first one
	// that it lacks, -1 without one.
	free, failed int64
	// report is what its BE said last; reported is false if nothing is known.
	report   ReplicaReport
	reported bool
}

// tabletState is a tablet with its replicas by id.
type tabletState struct {
	*meta.Tablet
	replicas []replicaState
}

// partitionState is a partition with its tablets by bucket.
type partitionState struct {
	*meta.Partition
	version meta.PartitionVersion
	tablets []tabletState
}

// partitionStates are the partitions of a table at one moment: those that names
// lists, all without names. missing makes the error of a name that there is not.
func (s *Server) partitionStates(t *meta.Table, names []string, missing string) ([]partitionState, error) {
	parts := t.Partitions
	if names != nil {
		parts = nil
	}
	for _, name := range names {
		i := slices.IndexFunc(t.Partitions, func(p *meta.Partition) bool { return p.Name == name })
		if i < 0 {
			return nil, doriserr.New(doriserr.Analysis, "%s: %s", missing, name)
		}
		parts = append(parts, t.Partitions[i])
	}
	var out []partitionState
	s.Node.View(func(st *meta.State) {
		for _, p := range parts {
			state := partitionState{Partition: p}
			state.version, _ = st.PartitionVersion(p.ID)
			for _, tablet := range p.Tablets {
				state.tablets = append(state.tablets, tabletState{tablet, replicaStates(st, p, tablet, state.version.Committed)})
			}
			out = append(out, state)
		}
	})
	s.addReports(out)
	return out, nil
}

func replicaStates(st *meta.State, p *meta.Partition, t *meta.Tablet, committed int64) []replicaState {
	var out []replicaState
	for _, r := range t.Replicas {
		state := replicaState{Replica: r, backend: st.Backend(r.BackendID), free: st.GapFree(p.ID, t.ID, r.BackendID), failed: -1}
		if state.free < committed {
			state.failed = state.free + 1
		}
		out = append(out, state)
	}
	slices.SortFunc(out, func(a, b replicaState) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (s *Server) addReports(parts []partitionState) {
	if s.Replica == nil {
		return
	}
	for i := range parts {
		for _, t := range parts[i].tablets {
			for j := range t.replicas {
				r := &t.replicas[j]
				r.report, r.reported = s.Replica(r.BackendID, t.ID, r.ID)
			}
		}
	}
}

// sizes are a partition's rows, of the newest replica of each tablet, and bytes,
// of all replicas; known is false as long as a tablet's are not.
func (p *partitionState) sizes() (rows, bytes int64, known bool) {
	for _, t := range p.tablets {
		newest := -1
		for i := range t.replicas {
			r := &t.replicas[i]
			if !r.reported {
				continue
			}
			bytes += r.report.Bytes
			if newest < 0 || r.report.Through > t.replicas[newest].report.Through {
				newest = i
			}
		}
		if newest < 0 {
			return 0, 0, false
		}
		rows += t.replicas[newest].report.Rows
	}
	return rows, bytes, true
}
