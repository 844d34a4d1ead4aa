package meta

import (
	"slices"

	"dorisgo/doriserr"
)

// replicaAt is where a replica is in the catalog.
type replicaAt struct {
	table     *Table
	recycled  bool
	partition *Partition
	tablet    *Tablet
	replica   Replica
}

// tabletAt finds a tablet of a table, live or recycled. It walks all tables:
// changes of replicas are rare.
func (s *State) tabletAt(tabletID int64) (at replicaAt, ok bool) {
	find := func(t *Table) bool {
		for _, p := range t.Partitions {
			if i := slices.IndexFunc(p.Tablets, func(x *Tablet) bool { return x.ID == tabletID }); i >= 0 {
				at.table, at.partition, at.tablet = t, p, p.Tablets[i]
				return true
			}
		}
		return false
	}
	for _, t := range s.tables {
		if find(t) {
			return at, true
		}
	}
	for _, r := range s.recycled {
		if !r.Erased && find(r.Table) {
			at.recycled = true
			return at, true
		}
	}
	return replicaAt{}, false
}

// replicaOf finds the replica of a tablet on a BE.
func (s *State) replicaOf(tabletID, backendID int64) (at replicaAt, ok bool) {
	if at, ok = s.tabletAt(tabletID); !ok {
		return at, false
	}
	i := slices.IndexFunc(at.tablet.Replicas, func(r Replica) bool { return r.BackendID == backendID })
	if i < 0 {
		return at, false
	}
	at.replica = at.tablet.Replicas[i]
	return at, true
}

// setReplicas puts a tablet with other replicas in the place of the old one.
func (s *State) setReplicas(at replicaAt, replicas []Replica) {
	tablet := *at.tablet
	tablet.Replicas = replicas
	part := *at.partition
	part.Tablets = slices.Clone(part.Tablets)
	part.Tablets[slices.Index(part.Tablets, at.tablet)] = &tablet
	table := *at.table
	table.Partitions = slices.Clone(table.Partitions)
	table.Partitions[slices.Index(table.Partitions, at.partition)] = &part
	table.ModIndex = s.index
	s.catalogIndex = s.index
	if at.recycled {
		r := *s.recycled[table.ID]
		r.Table = &table
		s.recycled[table.ID] = &r
		s.place(&table)
		return
	}
	s.putTable(&table)
}

func (s *State) addReplica(c *AddReplica) (Result, error) {
	at, ok := s.tabletAt(c.TabletID)
	if !ok || at.recycled {
		return Result{}, doriserr.New(doriserr.Conflict, "tablet %d does not exist", c.TabletID)
	}
	if b, err := s.backend(c.BackendID); err != nil {
		return Result{}, err
	} else if b.Decommissioned {
		return Result{}, doriserr.New(doriserr.Conflict, "backend %d is being decommissioned", b.ID)
	}
	if slices.ContainsFunc(at.tablet.Replicas, func(r Replica) bool { return r.BackendID == c.BackendID }) {
		return Result{}, doriserr.New(doriserr.Conflict, "tablet %d has a replica on backend %d", c.TabletID, c.BackendID)
	}
	s.book.AddReplica(at.partition.ID, c.TabletID, c.BackendID)
	r := Replica{ID: s.newID(), BackendID: c.BackendID, Cloning: s.beginsCloning(at, c.BackendID)}
	s.setReplicas(at, append(slices.Clone(at.tablet.Replicas), r))
	return Result{ID: r.ID}, nil
}

// beginsCloning reports whether a tablet's new replica on a BE is Cloning. That of
// an empty tablet is as well, although it lacks nothing: the BE may have had an
// earlier replica, of which a write that is still under way makes it unsure what
// it has, and only a clone makes it sure. But the last replica of an empty tablet
// has no other to be cloned from.
func (s *State) beginsCloning(at replicaAt, backendID int64) bool {
	return !s.book.Empty(at.partition.ID) ||
		slices.ContainsFunc(at.tablet.Replicas, func(r Replica) bool { return r.BackendID != backendID && !r.Cloning })
}

// promote ends a replica's time as Cloning.
func (s *State) promote(at replicaAt, wallMs int64) {
	replicas := slices.Clone(at.tablet.Replicas)
	for i := range replicas {
		if replicas[i].ID == at.replica.ID {
			replicas[i].Cloning = false
		}
	}
	s.setReplicas(at, replicas)
	s.book.Recheck(at.partition.ID, wallMs, placement{s})
}

func (s *State) dropReplica(c *DropReplica) (Result, error) {
	at, ok := s.tabletAt(c.TabletID)
	i := -1
	if ok {
		i = slices.IndexFunc(at.tablet.Replicas, func(r Replica) bool { return r.ID == c.ReplicaID })
	}
	if i < 0 {
		return Result{}, nil // a repeat
	}
	if len(at.tablet.Replicas) == 1 {
		return Result{}, doriserr.New(doriserr.Blocked, "replica %d is the last one of tablet %d", c.ReplicaID, c.TabletID)
	}
	backend := at.tablet.Replicas[i].BackendID
	if err := s.book.CheckDrop(at.partition.ID, c.TabletID, backend, placement{s}); err != nil {
		return Result{}, err
	}
	s.setReplicas(at, slices.Delete(slices.Clone(at.tablet.Replicas), i, i+1))
	last := len(s.tabletsOn(at.partition.ID, backend)) == 0
	s.book.DropReplica(at.partition.ID, c.TabletID, backend, last, c.WallMs, placement{s})
	return Result{ID: c.ReplicaID}, nil
}

// replaceReplicas puts new replicas, which lack everything, in the place of a
// BE's replicas that are not among those that it still has: it lost a storage
// root (docs/protocol.md, H13). Whether a version is VISIBLE now is looked at when all are replaced: until then those that
// are left count for what is lost.
func (s *State) replaceReplicas(backendID int64, left []int64, wallMs int64) {
	var lost []int64
	for _, p := range s.places {
		for _, of := range []map[int64][]int64{p.holders, p.cloning} {
			for tablet, backends := range of {
				if slices.Contains(backends, backendID) {
					lost = append(lost, tablet)
				}
			}
		}
	}
	slices.Sort(lost) // ids are given in this order on every FE
	var changed []int64
	for _, id := range lost {
		at, ok := s.replicaOf(id, backendID)
		if !ok || slices.Contains(left, at.replica.ID) {
			continue
		}
		replicas := slices.Clone(at.tablet.Replicas)
		i := slices.Index(replicas, at.replica)
		replicas[i].ID = s.newID()
		if !s.keepsPart(at.partition, backendID, left) {
			s.book.ForgetDurable(at.partition.ID, backendID)
		}
		s.book.AddReplica(at.partition.ID, id, backendID)
		replicas[i].Cloning = s.beginsCloning(at, backendID)
		s.setReplicas(at, replicas)
		changed = append(changed, at.partition.ID)
	}
	for _, id := range changed {
		s.book.Recheck(id, wallMs, placement{s})
	}
}

// keepsPart reports whether a BE that lost a storage root still has another replica
// of a partition. Then what it reported durable holds: each of its roots has
// published that. To forget it would let go of the publish log, which the replica
// that it has may be the last one to need.
func (s *State) keepsPart(p *Partition, backendID int64, left []int64) bool {
	return slices.ContainsFunc(p.Tablets, func(t *Tablet) bool {
		return slices.ContainsFunc(t.Replicas, func(r Replica) bool { return r.BackendID == backendID && slices.Contains(left, r.ID) })
	})
}

// tabletsOn are the tablets of a partition that have a replica on a BE.
func (s *State) tabletsOn(partitionID, backendID int64) []int64 {
	p := s.places[partitionID]
	if p == nil {
		return nil
	}
	var out []int64
	for _, of := range []map[int64][]int64{p.holders, p.cloning} {
		for tablet, backends := range of {
			if slices.Contains(backends, backendID) {
				out = append(out, tablet)
			}
		}
	}
	slices.Sort(out)
	return out
}
