package tablet

import (
	"fmt"

	"dorisgo/storage/rowset"
)

// Straddled reports whether a rowset, of those given in version order, begins
// at or before a version and ends after it: then the version is no boundary.
func Straddled(rowsets []*Rowset, version int64) bool {
	for _, rs := range rowsets {
		if rs.Start <= version && rs.End > version {
			return true
		}
	}
	return false
}

// Ends are the versions, ascending and not above upTo, after which another
// tablet's rowsets could follow: 1, the ends of live rowsets and upTo, as far
// as none straddles them.
func (g *Graph) Ends(upTo int64) []int64 {
	ends := []int64{1}
	add := func(v int64) {
		if v > ends[len(ends)-1] && v <= upTo && !Straddled(g.live, v) {
			ends = append(ends, v)
		}
	}
	for _, rs := range g.live {
		add(rs.End)
	}
	add(upTo)
	return ends
}

// After are the live rowsets that a clone which keeps a version replaces; false
// if one straddles it.
func (g *Graph) After(keep int64) ([]*Rowset, bool) {
	if Straddled(g.live, keep) {
		return nil, false
	}
	for i, rs := range g.live {
		if rs.Start > keep {
			return g.live[i:len(g.live):len(g.live)], true
		}
	}
	return nil, true
}

// CheckSwitch reports why a clone's rowsets, in version order, cannot take the
// place of those After keep.
func (g *Graph) CheckSwitch(keep int64, added []*Rowset) error {
	old, ok := g.After(keep)
	if !ok {
		return fmt.Errorf("version %d is within a rowset", keep)
	}
	var next Graph
	if n := len(g.live) - len(old); n > 0 {
		next.live = []*Rowset{g.live[n-1]}
	}
	for _, rs := range added {
		if g.byID[rs.ID] != nil {
			return fmt.Errorf("rowset %s is there twice", rs.ID)
		}
		if rs.Start <= keep {
			return fmt.Errorf("rowset %s begins with version %d, which is kept", rs.ID, rs.Start)
		}
		if err := next.check(rs); err != nil {
			return err
		}
		next.live = append(next.live, rs)
	}
	return nil
}

// Switch puts a clone's rowsets into the place of those After keep, which it
// retires: nothing reads them anew, and they go by Sweep like replaced ones.
// CheckSwitch must have found nothing against it.
func (g *Graph) Switch(keep int64, added []*Rowset, nowMs int64) {
	old, _ := g.After(keep)
	n := len(g.live) - len(old)
	for _, rs := range old {
		rs.live, rs.ReplacedAtMs = false, nowMs
	}
	g.retired = append(g.retired, old...)
	g.live = append(g.live[:n:n], added...)
	if g.byID == nil {
		g.byID = map[rowset.ID]*Rowset{}
	}
	for _, rs := range added {
		rs.live = true
		g.byID[rs.ID] = rs
	}
}
