package tablet

import (
	"fmt"
	"iter"

	"dorisgo/storage/rowset"
)

// Rowset is a node of a Graph. Its Record does not change after Publish but
// for the fields that say what replaced it.
type Rowset struct {
	rowset.Record
	// Damaged says that the data are known to be lost: reads that need it fail.
	Damaged bool
	// refs counts readers.
	refs int
	// inputs are the rowsets that this one replaced while they are kept.
	inputs []*Rowset
	live   bool
}

// Live reports whether the rowset is neither replaced nor removed.
func (rs *Rowset) Live() bool { return rs.live }

// Ref notes a reader, Unref the end of one.
func (rs *Rowset) Ref() { rs.refs++ }

// Unref undoes one Ref.
func (rs *Rowset) Unref() { rs.refs-- }

// Graph is the set of rowsets of one tablet.
type Graph struct {
	live []*Rowset // in order of versions
	byID map[rowset.ID]*Rowset
	// outputs are the rowsets, live or not, whose inputs are kept.
	outputs []*Rowset
	// retired are the rowsets that a clone took the place of, while they are kept.
	retired []*Rowset
}

// Get finds a rowset, live or replaced, nil if the tablet does not have it.
func (g *Graph) Get(id rowset.ID) *Rowset { return g.byID[id] }

// Add appends a rowset whose versions follow all others'. It may begin with the
// version that the last one ends with: then Seq orders the two.
func (g *Graph) Add(rs *Rowset) error {
	if err := g.check(rs); err != nil {
		return err
	}
	if g.byID[rs.ID] != nil {
		return fmt.Errorf("rowset %s is there twice", rs.ID)
	}
	if g.byID == nil {
		g.byID = map[rowset.ID]*Rowset{}
	}
	rs.live = true
	g.live = append(g.live, rs)
	g.byID[rs.ID] = rs
	return nil
}

// check reports why a rowset cannot follow the last one.
func (g *Graph) check(rs *Rowset) error {
	if len(g.live) == 0 {
		return nil
	}
	last := g.live[len(g.live)-1]
	meets := rs.Start == last.End && (rs.End > last.End || rs.Seq > last.Seq)
	if rs.Start <= last.End && !meets {
		return fmt.Errorf("rowset %s covers versions %d to %d, and %s already covers %d to %d",
			rs.ID, rs.Start, rs.End, last.ID, last.Start, last.End)
	}
	return nil
}

// Capture returns the rowsets that together are the tablet at a version, in
// version order. It reports false if they are not kept any more.
func (g *Graph) Capture(version int64) ([]*Rowset, bool) {
	return capture(nil, g.live, version)
}

func capture(dst, from []*Rowset, version int64) ([]*Rowset, bool) {
	for _, rs := range from {
		switch {
		case rs.End <= version:
			dst = append(dst, rs)
		case rs.Start > version:
			return dst, true
		case rs.inputs == nil:
			return nil, false
		default:
			var ok bool
			if dst, ok = capture(dst, rs.inputs, version); !ok {
				return nil, false
			}
		}
	}
	return dst, true
}

// Live walks the live rowsets in version order.
func (g *Graph) Live() iter.Seq[*Rowset] {
	return func(yield func(*Rowset) bool) {
		for _, rs := range g.live {
			if !yield(rs) {
				return
			}
		}
	}
}

// All walks the live and the replaced rowsets in no order.
func (g *Graph) All() iter.Seq[*Rowset] {
	return func(yield func(*Rowset) bool) {
		for _, rs := range g.byID {
			if !yield(rs) {
				return
			}
		}
	}
}
