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

// failedAt is where a plan failed, if another replica may not; a tablet of 0 is
// a backend that could not be reached.
func failedAt(p *plan.Plan, err error) (doriserr.Place, bool) {
	if place, ok := doriserr.PlaceOf(err); ok {
		return place, true
	}
	switch doriserr.KindOf(err) {
	case doriserr.Unknown, doriserr.NoBackend, doriserr.Stopping:
		return doriserr.Place{BackendID: p.Coordinator.ID}, true
	}
	return doriserr.Place{}, false
}

// again reports whether the query is worth another plan after err, with which p
// failed at a place when it had come as far as at. Every plan leaves out
// something more, or is at newer versions, so that a replica is tried once.
func (f *failover) again(p *plan.Plan, place doriserr.Place, at progress, err error) bool {
	if f.plans++; at == begun || f.plans >= maxPlans {
		return false
	}
	unreached := place.TabletID == 0
	if unreached && at == running && place.BackendID == p.Coordinator.ID {
		if f.lost++; f.lost >= maxLost {
			return false
		}
	}
	switch {
	case doriserr.Is(err, doriserr.VersionGone) && !f.gone[place]:
		if f.gone == nil {
			f.gone = map[doriserr.Place]bool{}
		}
		f.gone[place] = true
	case unreached:
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
