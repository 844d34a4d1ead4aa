package plan

// Avoid is what a plan does not use, because it failed before. The zero value
// avoids nothing.
type Avoid struct {
	backends map[int64]bool
	replicas map[replica]bool
}

type replica struct{ tablet, backend int64 }

// Backend avoids a backend altogether.
func (a *Avoid) Backend(id int64) {
	if a.backends == nil {
		a.backends = map[int64]bool{}
	}
	a.backends[id] = true
}

// Replica avoids to read a tablet on a backend.
func (a *Avoid) Replica(tablet, backend int64) {
	if a.replicas == nil {
		a.replicas = map[replica]bool{}
	}
	a.replicas[replica{tablet, backend}] = true
}

// HasBackend reports whether a backend is avoided altogether. A nil Avoid avoids
// nothing.
func (a *Avoid) HasBackend(id int64) bool { return a != nil && a.backends[id] }

// HasReplica reports whether a tablet is not to be read on a backend.
func (a *Avoid) HasReplica(tablet, backend int64) bool {
	return a != nil && (a.backends[backend] || a.replicas[replica{tablet, backend}])
}
