package storage

import "context"

// SpoilInline changes the data of a tablet's inline rowsets that begin at a
// version, as a disk may.
func SpoilInline(e *Engine, tabletID, version int64) error {
	t := e.tablet(tabletID)
	for rs := range t.graph.Live() {
		if rs.Start != version {
			continue
		}
		k := dataKey(tabletID, rs.TxnID, rs.ID)
		data, err := t.root.get(k)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		if err := t.root.setSync(k, data); err != nil {
			return err
		}
	}
	return nil
}

// LeaveRoots takes leave of the roots that are out of service, as Run does.
func LeaveRoots(ctx context.Context, e *Engine) error {
	for _, r := range e.roots {
		if r.err() != nil && !r.left.Load() {
			if err := e.leaveRoot(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// LookAtSpace looks after the ballast files, as Run does.
func LookAtSpace(e *Engine) {
	for _, r := range e.roots {
		e.keepBallast(r)
	}
}

// TabletsOn counts the tablets of each root.
func TabletsOn(e *Engine) []int64 {
	var out []int64
	for _, r := range e.roots {
		out = append(out, r.tablets.Load())
	}
	return out
}
