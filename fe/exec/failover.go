package exec

import (
	"dorisgo/doriserr"
	"dorisgo/query/plan"
)

// failover is what a query learns from its failures, as long as its client has
// seen nothing: which replicas not to read again. It belongs to one query.
type failover struct {
	avoid plan.Avoid
	// gone are the places that said that a version is gone: the first time the
	// query is planned again at the version that is visible then.
	gone  map[doriserr.Place]bool
	plans int
	// lost is how many coordinators went away while they ran it.
	lost int
	last error
}

const (
	// maxPlans bounds how often one query is planned.
	maxPlans = 12
	// maxLost bounds how many coordinators one query may lose: the next one
	// could be lost because of it.
	maxLost = 2
)

// again reports whether the query is worth another plan after err, the failure
// of p, which came as far as at. Every one leaves out something more, or is at newer versions, so that a
// replica is tried once.
func (f *failover) again(p *plan.Plan, at progress, err error) bool {
	if f.plans++; at == begun || f.plans >= maxPlans {
		return false
	}
	place, ok := doriserr.PlaceOf(err)
	if !ok {
		switch doriserr.KindOf(err) {
		case doriserr.Unknown, doriserr.NoBackend, doriserr.Stopping:
			place = doriserr.Place{BackendID: p.Coordinator.ID}
			if at == running {
				f.lost++
			}
		default:
			return false
		}
	}
	if f.lost >= maxLost {
		return false
	}
	switch {
	case doriserr.Is(err, doriserr.VersionGone) && !f.gone[place]:
		if f.gone == nil {
			f.gone = map[doriserr.Place]bool{}
		}
		f.gone[place] = true
	case place.TabletID == 0:
		f.avoid.Backend(place.BackendID)
	default:
		f.avoid.Replica(place.TabletID, place.BackendID)
	}
	return true
}

// noPlan is the error of a query that cannot be planned. After a failure the
// failure is the reason: no other replica is left.
func (f *failover) noPlan(err error) error {
	if f.last != nil && doriserr.Is(err, doriserr.NoBackend) {
		return f.last
	}
	return err
}
