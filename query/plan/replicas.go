package plan

import (
	"fmt"
	"slices"
	"strings"

	"dorisgo/meta"
	"dorisgo/rpc/bepb"
)

// reader chooses who reads each tablet.
type reader struct {
	st       *meta.State
	avoid    *Avoid
	suspects []int64
	// seed turns the order of backends that are as good as each other, so that
	// queries spread over them.
	seed uint64
	// scans are the tablets so far, holders the backends that each could be
	// read on.
	scans   []*bepb.ScanTablet
	holders [][]int64
}

// add takes a tablet into the plan; it reports false if no backend can read it.
func (r *reader) add(part *meta.Partition, t *meta.Tablet, version int64) (*bepb.ScanTablet, bool) {
	var on []int64
	for _, rep := range t.Replicas {
		b := r.st.Backend(rep.BackendID)
		if b != nil && b.Alive && !rep.Cloning && !r.avoid.HasReplica(t.ID, b.ID) && r.st.GapFree(part.ID, t.ID, b.ID) >= version {
			on = append(on, b.ID)
		}
	}
	if len(on) == 0 {
		return nil, false
	}
	on = r.unsuspected(on)
	scan := &bepb.ScanTablet{PartitionId: part.ID, TabletId: t.ID, Version: version, Alternatives: len(on) > 1}
	r.scans, r.holders = append(r.scans, scan), append(r.holders, on)
	return scan, true
}

// unsuspected takes the suspects out, unless there are only suspects.
func (r *reader) unsuspected(ids []int64) []int64 {
	if good := slices.DeleteFunc(slices.Clone(ids), r.suspect); len(good) > 0 {
		return good
	}
	return ids
}

func (r *reader) suspect(id int64) bool { return slices.Contains(r.suspects, id) }

// coordinator is the backend that can read most of the tablets, any living one
// for a statement without tables; nil if there is none.
func (r *reader) coordinator() *meta.Backend {
	var usable []int64
	for _, b := range r.st.Backends() {
		if b.Alive && !r.avoid.HasBackend(b.ID) {
			usable = append(usable, b.ID)
		}
	}
	if len(usable) == 0 {
		return nil
	}
	tablets := map[int64]int{}
	for _, on := range r.holders {
		for _, id := range on {
			tablets[id]++
		}
	}
	var best []int64
	for _, id := range r.unsuspected(usable) {
		switch {
		case len(best) == 0 || tablets[id] > tablets[best[0]]:
			best = append(best[:0], id)
		case tablets[id] == tablets[best[0]]:
			best = append(best, id)
		}
	}
	return r.st.Backend(best[r.seed%uint64(len(best))])
}

// assign gives each tablet to the coordinator if it can read it, whose rows then
// need no way, else to the backend that has fewest so far.
func (r *reader) assign(coordinator int64) {
	tablets := map[int64]int{}
	for i, on := range r.holders {
		best := int64(0)
		for j := range on {
			id := on[(uint64(j)+r.seed)%uint64(len(on))]
			if id == coordinator {
				best = id
				break
			}
			if best == 0 || tablets[id] < tablets[best] {
				best = id
			}
		}
		tablets[best]++
		r.scans[i].BackendId = best
	}
}

// describe says for each replica of a tablet why it cannot be read.
func (r *reader) describe(part *meta.Partition, t *meta.Tablet, version int64) string {
	var out []string
	for _, rep := range t.Replicas {
		b := r.st.Backend(rep.BackendID)
		switch {
		case b == nil:
			out = append(out, fmt.Sprintf("backend %d is unknown", rep.BackendID))
		case !b.Alive:
			out = append(out, fmt.Sprintf("backend %d (%s) is not alive", b.ID, b.Host))
		case r.avoid.HasReplica(t.ID, b.ID):
			out = append(out, fmt.Sprintf("backend %d (%s) failed", b.ID, b.Host))
		case rep.Cloning:
			out = append(out, fmt.Sprintf("backend %d (%s) is being cloned to", b.ID, b.Host))
		default:
			out = append(out, fmt.Sprintf("backend %d (%s) lacks versions after %d of %d", b.ID, b.Host, r.st.GapFree(part.ID, t.ID, b.ID), version))
		}
	}
	return strings.Join(out, ", ")
}
