package meta

import (
	"slices"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

func (s *State) registerBackend(c *RegisterBackend) (Result, error) {
	if c.UUID == "" {
		return Result{}, doriserr.New(doriserr.Conflict, "a backend needs the UUID of its directories to register")
	}
	old := s.BackendByUUID(c.UUID)
	if other := s.backendAt(c.Host, c.HeartbeatPort); other != nil && other != old {
		// All its storage roots are new: it has forgotten who it is.
		if old != nil || !slices.Contains(c.AcceptLoss, other.UUID) {
			return Result{}, doriserr.New(doriserr.Conflict,
				"address %s:%d belongs to backend %d, whose directories carry UUID %s: start it with those, drop that backend first, or give up what they hold with --accept-loss=%s",
				c.Host, c.HeartbeatPort, other.ID, other.UUID, other.UUID)
		}
		old = other
	}
	b := Backend{}
	walLost := false
	if old != nil {
		b = *old
		var err error
		if walLost, err = checkIdentity(old, c); err != nil {
			return Result{ID: old.ID}, err
		}
	} else {
		b.ID = s.newID()
	}
	b.UUID = c.UUID
	b.Host, b.HTTPPort, b.RPCPort, b.HeartbeatPort, b.Version = c.Host, c.HTTPPort, c.RPCPort, c.HeartbeatPort, c.Version
	b.Dirs = slices.Clone(c.Dirs)
	b.BootEpoch++
	b.Alive, b.LastStartMs, b.ErrMsg = true, c.WallMs, ""
	s.backends[b.ID] = &b
	s.book.EndOwner(b.ID, b.BootEpoch, txn.ReasonRestart, c.WallMs)
	if c.WALsReported {
		s.book.ReportWALs(b.ID, c.WALs, walLost, c.WallMs)
	}
	if old != nil && rootLost(old, c) {
		s.replaceReplicas(b.ID, c.Replicas, c.WallMs)
	}
	return Result{ID: b.ID, BootEpoch: b.BootEpoch}, nil
}

// backendAt is the BE that operators know by an address, nil if there is none.
func (s *State) backendAt(host string, port int) *Backend {
	for _, b := range s.Backends() {
		if port != 0 && b.Host == host && b.HeartbeatPort == port {
			return b
		}
	}
	return nil
}

// checkIdentity refuses a BE whose directories are not all those it had, or
// older than they were (rule 6).
func checkIdentity(old *Backend, c *RegisterBackend) (walLost bool, err error) {
	// Its own UUID stands for all its directories.
	accepted := func(uuid string) bool {
		return slices.Contains(c.AcceptLoss, uuid) || slices.Contains(c.AcceptLoss, old.UUID)
	}
	for _, d := range old.Dirs {
		switch {
		case slices.ContainsFunc(c.Dirs, func(n BackendDir) bool { return n.UUID == d.UUID }):
		case !accepted(d.UUID):
			return false, doriserr.New(doriserr.Conflict,
				"backend %d lacks its directory %s (UUID %s): mount it, or give up what it holds with --accept-loss=%s", old.ID, d.Path, d.UUID, d.UUID)
		case d.WAL:
			walLost = true
		}
	}
	if c.LastBootEpoch < old.UsedEpoch && len(c.AcceptLoss) == 0 {
		return false, doriserr.New(doriserr.Conflict,
			"backend %d has directories of boot epoch %d, but it wrote in epoch %d: they are an older copy; give up what was written since with --accept-loss",
			old.ID, c.LastBootEpoch, old.UsedEpoch)
	}
	return walLost, nil
}

// rootLost reports whether the registration gives up a storage root.
func rootLost(old *Backend, c *RegisterBackend) bool {
	return slices.ContainsFunc(old.Dirs, func(d BackendDir) bool {
		return !d.WAL && !slices.ContainsFunc(c.Dirs, func(n BackendDir) bool { return n.UUID == d.UUID })
	})
}

// backend is a BE by id, or the error that it is unknown.
func (s *State) backend(id int64) (*Backend, error) {
	if b := s.backends[id]; b != nil {
		return b, nil
	}
	return nil, doriserr.New(doriserr.NoBackend, "Backend [%d] does not exist", id)
}

// checkBoot refuses commands of another life than a BE's present one (rule 4).
func (s *State) checkBoot(id int64, bootEpoch uint64) error {
	b := s.backends[id]
	if b == nil {
		return doriserr.New(doriserr.StaleEpoch, "backend %d is not registered", id)
	}
	if b.BootEpoch != bootEpoch {
		return doriserr.New(doriserr.StaleEpoch, "backend %d is in boot epoch %d, not %d", id, b.BootEpoch, bootEpoch)
	}
	return nil
}

func (s *State) setBackendAlive(c *SetBackendAlive) (Result, error) {
	b, err := s.backend(c.ID)
	if err != nil {
		return Result{}, err
	}
	if err := s.checkBoot(c.ID, c.BootEpoch); err != nil {
		return Result{}, err
	}
	next := *b
	next.Alive, next.ErrMsg = c.Alive, c.ErrMsg
	if b.Alive && !c.Alive {
		next.DownSinceFSM = s.book.Clock()
	}
	s.backends[c.ID] = &next
	return Result{ID: c.ID}, nil
}

func (s *State) decommissionBackend(c *DecommissionBackend) (Result, error) {
	b, err := s.backend(c.ID)
	if err != nil {
		return Result{}, err
	}
	next := *b
	next.Decommissioned = !c.Cancel
	s.backends[c.ID] = &next
	return Result{ID: c.ID, Count: s.book.GroupCount(c.ID)}, nil
}

func (s *State) modifyBackend(c *ModifyBackend) (Result, error) {
	b, err := s.backend(c.ID)
	if err != nil {
		return Result{}, err
	}
	next := *b
	next.Tags = slices.Clone(b.Tags)
	for _, t := range c.Tags {
		switch t.Key {
		case TagPublicEndpoint, TagPrivateEndpoint:
		default:
			return Result{}, doriserr.New(doriserr.BadProperty, "unknown backend property tag.%s", t.Key)
		}
		next.Tags = slices.DeleteFunc(next.Tags, func(o Tag) bool { return o.Key == t.Key })
		if t.Value != "" {
			next.Tags = append(next.Tags, t)
		}
	}
	if len(next.Tags) == 0 {
		next.Tags = nil
	}
	slices.SortFunc(next.Tags, func(a, b Tag) int { return strings.Compare(a.Key, b.Key) })
	s.backends[c.ID] = &next
	return Result{ID: c.ID}, nil
}

func (s *State) dropBackend(c *DropBackend) (Result, error) {
	b, err := s.backend(c.ID)
	if err != nil {
		return Result{}, err
	}
	if !c.Force {
		replicas, groups := s.replicasOn(c.ID), s.book.GroupCount(c.ID)
		if replicas > 0 || groups > 0 {
			return Result{Count: groups}, doriserr.New(doriserr.Blocked,
				"backend %d still has %d replicas; and has %d unfinished WALs", b.ID, replicas, groups)
		}
	}
	s.book.DropOwner(c.ID, c.WallMs)
	delete(s.backends, c.ID)
	return Result{ID: c.ID}, nil
}

// replicasOn counts the replicas on a BE, those of recycled tables included.
func (s *State) replicasOn(backendID int64) int {
	n := 0
	for _, p := range s.places {
		for _, of := range []map[int64][]int64{p.holders, p.cloning} {
			for _, backends := range of {
				if slices.Contains(backends, backendID) {
					n++
				}
			}
		}
	}
	return n
}
