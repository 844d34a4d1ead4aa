package rpc

import (
	"sync"

	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// replicas is the newest that BEs reported of their replicas, on the leader. It
// is for SHOW: what must outlive this FE is proposed as commands. It is safe for
// concurrent use.
type replicas struct {
	mu     sync.Mutex
	states map[replicaKey]*fepb.ReplicaState
	// sweepAt is the number of states at which those that the catalog has not
	// any more are looked for.
	sweepAt int
}

type replicaKey struct{ backend, tablet int64 }

// minSweep is the least number of states that are worth a sweep.
const minSweep = 1024

// noteReplicas stores what a BE reported; a report replaces the earlier one of
// the same tablet. The states belong to the Server afterwards and are not
// changed.
func (s *Server) noteReplicas(backendID int64, states []*fepb.ReplicaState) {
	if len(states) == 0 {
		return
	}
	r := &s.replicas
	r.mu.Lock()
	if r.states == nil {
		r.states, r.sweepAt = map[replicaKey]*fepb.ReplicaState{}, minSweep
	}
	for _, state := range states {
		r.states[replicaKey{backendID, state.TabletId}] = state
	}
	full := len(r.states) >= r.sweepAt
	r.mu.Unlock()
	if full {
		s.sweepReplicas()
	}
}

// sweepReplicas forgets the replicas that the catalog has not any more. The
// next sweep waits until there are twice as many as are left, so that a report
// costs the same however many there are.
func (s *Server) sweepReplicas() {
	live := map[replicaKey]int64{}
	s.node.View(func(st *meta.State) {
		for _, t := range st.Tables(0) {
			addReplicas(live, t)
		}
		for _, t := range st.RecycledTables() {
			if !t.Erased {
				addReplicas(live, t.Table)
			}
		}
	})
	r := &s.replicas
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, state := range r.states {
		if live[k] != state.ReplicaId {
			delete(r.states, k)
		}
	}
	r.sweepAt = max(minSweep, 2*len(r.states))
}

func addReplicas(live map[replicaKey]int64, t *meta.Table) {
	for _, p := range t.Partitions {
		for _, tablet := range p.Tablets {
			for _, rep := range tablet.Replicas {
				live[replicaKey{rep.BackendID, tablet.ID}] = rep.ID
			}
		}
	}
}

// Replica is the newest report of a replica; ok is false if there is none, as
// always on an FE that has not led. It is not to be changed.
func (s *Server) Replica(backendID, tabletID, replicaID int64) (state *fepb.ReplicaState, ok bool) {
	s.replicas.mu.Lock()
	defer s.replicas.mu.Unlock()
	state = s.replicas.states[replicaKey{backendID, tabletID}]
	return state, state != nil && state.ReplicaId == replicaID
}
