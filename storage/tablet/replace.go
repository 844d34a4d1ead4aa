package tablet

import (
	"slices"

	"dorisgo/storage/rowset"
)

// InlineRun returns the first run of neighbouring inline rowsets that were
// written with the same columns and end at or before a version; a run is cut
// once it reached maxBytes. It is what one flush turns into a file; nil if there
// is none.
func (g *Graph) InlineRun(upTo, maxBytes int64) []*Rowset {
	for start := range g.live {
		bytes, end := int64(0), start
		for end < len(g.live) && bytes < maxBytes {
			rs := g.live[end]
			if rs.Kind != rowset.Inline || rs.Damaged || rs.End > upTo || rs.ColumnsID != g.live[start].ColumnsID {
				break
			}
			bytes += rs.Bytes
			end++
		}
		if end > start {
			return slices.Clone(g.live[start:end])
		}
	}
	return nil
}

// Last is the last version that brought rows, 0 without any.
func (g *Graph) Last() int64 {
	if len(g.live) == 0 {
		return 0
	}
	return g.live[len(g.live)-1].End
}

// Replaceable reports whether every input is still live and they are
// neighbours, so that an output may take their place.
func (g *Graph) Replaceable(inputs []*Rowset) bool {
	if len(inputs) == 0 {
		return false
	}
	i := slices.Index(g.live, inputs[0])
	return i >= 0 && len(g.live)-i >= len(inputs) && slices.Equal(g.live[i:i+len(inputs)], inputs)
}

// Replace puts out, whose versions are those of the inputs, into their place.
// The inputs must be Replaceable.
func (g *Graph) Replace(inputs []*Rowset, out *Rowset, nowMs int64) {
	i := slices.Index(g.live, inputs[0])
	for _, in := range inputs {
		in.live, in.ReplacedBy, in.ReplacedAtMs = false, out.ID, nowMs
	}
	out.live, out.inputs = true, slices.Clone(inputs)
	g.live = slices.Replace(g.live, i, i+len(inputs), out)
	g.byID[out.ID] = out
	g.outputs = append(g.outputs, out)
}

// Sweep forgets the replaced rowsets that were replaced at or before cutoffMs
// and that no reader holds, and returns them.
func (g *Graph) Sweep(cutoffMs int64) []*Rowset {
	var gone []*Rowset
	// An output's inputs are older than the output, so one pass in order of
	// replacement settles chains.
	g.outputs = slices.DeleteFunc(g.outputs, func(out *Rowset) bool {
		for _, in := range out.inputs {
			if in.refs > 0 || in.ReplacedAtMs > cutoffMs || in.inputs != nil {
				return false
			}
		}
		for _, in := range out.inputs {
			delete(g.byID, in.ID)
		}
		gone = append(gone, out.inputs...)
		out.inputs = nil
		return true
	})
	g.retired = slices.DeleteFunc(g.retired, func(rs *Rowset) bool {
		if rs.refs > 0 || rs.ReplacedAtMs > cutoffMs || rs.inputs != nil {
			return false
		}
		delete(g.byID, rs.ID)
		gone = append(gone, rs)
		return true
	})
	return gone
}

// Held reports whether a reader holds any rowset.
func (g *Graph) Held() bool {
	for _, rs := range g.byID {
		if rs.refs > 0 {
			return true
		}
	}
	return false
}
