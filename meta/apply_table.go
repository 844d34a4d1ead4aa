package meta

import (
	"slices"

	"dorisgo/doriserr"
)

func (s *State) createTable(c *CreateTable) (Result, error) {
	d, err := s.database(c.DB)
	if err != nil {
		return Result{}, err
	}
	if c.Table == nil {
		return Result{}, doriserr.New(doriserr.Internal, "create_table without a table")
	}
	if t := s.TableByName(d.ID, c.Table.Name); t != nil {
		if c.IfNotExists {
			return Result{ID: t.ID, Existed: true}, nil
		}
		return Result{ID: t.ID}, doriserr.New(doriserr.TableExists, "Table '%s' already exists", t.Name)
	}
	if err := s.checkTable(c.Table); err != nil {
		return Result{}, err
	}
	t := *c.Table
	t.ID, t.DBID, t.Epoch, t.ModIndex = s.newID(), d.ID, 1, s.index
	t.Columns = slices.Clone(t.Columns)
	if t.NextColumnID == 0 {
		for i := range t.Columns {
			t.Columns[i].UniqueID = int32(i) + 1
		}
		t.NextColumnID = int32(len(t.Columns)) + 1
	}
	t.Partitions = s.newPartitions(c.Table.Partitions, t.Epoch)
	s.putTable(&t)
	s.names[tableName{d.ID, t.Name}] = t.ID
	return Result{ID: t.ID, Epoch: t.Epoch}, nil
}

// checkTable refuses a table whose placement does not fit the present backends.
func (s *State) checkTable(t *Table) error {
	if len(t.Columns) == 0 {
		return doriserr.New(doriserr.Analysis, "table should contain at least one column")
	}
	if t.Name == "" || len(t.Partitions) == 0 {
		return doriserr.New(doriserr.Internal, "a table needs a name and a partition")
	}
	for _, i := range t.DistCols {
		if i < 0 || i >= len(t.Columns) {
			return doriserr.New(doriserr.Internal, "distribution column %d is outside the table's %d columns", i, len(t.Columns))
		}
	}
	for _, p := range t.Partitions {
		if len(p.Tablets) != t.Buckets || t.Buckets == 0 {
			return doriserr.New(doriserr.Internal, "partition %s has %d tablets for %d buckets", p.Name, len(p.Tablets), t.Buckets)
		}
		for _, tablet := range p.Tablets {
			if len(tablet.Replicas) == 0 || len(tablet.Replicas) != int(t.Props.ReplicationNum) {
				return doriserr.New(doriserr.Internal, "a tablet has %d replicas for replication_num %d", len(tablet.Replicas), t.Props.ReplicationNum)
			}
			for i, r := range tablet.Replicas {
				if s.backends[r.BackendID] == nil {
					return doriserr.New(doriserr.NoBackend, "Backend [%d] does not exist", r.BackendID)
				}
				if slices.ContainsFunc(tablet.Replicas[:i], func(o Replica) bool { return o.BackendID == r.BackendID }) {
					return doriserr.New(doriserr.Internal, "a tablet has two replicas on backend %d", r.BackendID)
				}
			}
		}
	}
	return nil
}

// newPartitions are empty partitions like old, with new ids at every level.
func (s *State) newPartitions(old []*Partition, epoch uint64) []*Partition {
	out := make([]*Partition, len(old))
	for i, o := range old {
		p := &Partition{ID: s.newID(), Name: o.Name, Epoch: epoch, Tablets: make([]*Tablet, len(o.Tablets))}
		for j, ot := range o.Tablets {
			t := &Tablet{ID: s.newID(), Bucket: j, Replicas: make([]Replica, len(ot.Replicas))}
			for k, r := range ot.Replicas {
				t.Replicas[k] = Replica{ID: s.newID(), BackendID: r.BackendID}
			}
			p.Tablets[j] = t
		}
		out[i] = p
		s.book.AddPartition(p.ID, holdersOf(p))
	}
	return out
}

// putTable puts a table object into the State.
func (s *State) putTable(t *Table) {
	s.tables[t.ID] = t
	s.place(t)
}

func (s *State) dropTable(c *DropTable) (Result, error) {
	d, err := s.database(c.DB)
	if err != nil {
		return Result{}, err
	}
	t := s.TableByName(d.ID, c.Name)
	if t == nil {
		if c.IfExists {
			return Result{}, nil
		}
		return Result{}, doriserr.New(doriserr.UnknownTable, "Unknown table '%s'", c.Name)
	}
	s.recycle(t, d.Name, c.Force, c.WallMs)
	return Result{ID: t.ID}, nil
}

// recycle takes a table out of its database. Its partitions live on until it
// is erased, so that committed versions are still published and RECOVER finds
// them (docs/protocol.md, scenarios H27 and H38).
func (s *State) recycle(t *Table, dbName string, force bool, wallMs int64) {
	delete(s.tables, t.ID)
	delete(s.names, tableName{t.DBID, t.Name})
	r := &RecycledTable{Table: t, DatabaseName: dbName, DroppedMs: wallMs, DroppedFSM: s.book.Clock()}
	s.recycled[t.ID] = r
	if force {
		s.erase(r, wallMs)
	}
}

// erase gives up a dropped table's rows for good and leaves its tombstone.
func (s *State) erase(r *RecycledTable, wallMs int64) {
	for _, p := range r.Table.Partitions {
		s.book.DropPartition(p.ID, wallMs, placement{s})
		delete(s.places, p.ID)
	}
	next := *r
	next.Erased = true
	s.recycled[r.Table.ID] = &next
}

// sweepRecycled erases dropped tables whose time is over and removes the
// tombstones that no group record names. It reports whether anything changed.
func (s *State) sweepRecycled(wallMs int64) bool {
	keep := configInt(s.config, ConfigTrashS, defaultTrashS) * 1000
	changed := false
	for _, r := range s.RecycledTables() {
		switch {
		case !r.Erased && s.book.Clock()-r.DroppedFSM >= keep:
			s.erase(r, wallMs)
			changed = true
		case r.Erased && len(s.book.TableGroups(r.Table.ID)) == 0:
			delete(s.recycled, r.Table.ID)
			changed = true
		}
	}
	return changed
}

func (s *State) recoverTable(c *RecoverTable) (Result, error) {
	d, err := s.database(c.DB)
	if err != nil {
		return Result{}, err
	}
	if s.TableByName(d.ID, c.Name) != nil {
		return Result{}, doriserr.New(doriserr.TableExists, "Table '%s' already exists", c.Name)
	}
	var found *RecycledTable
	for _, r := range s.RecycledTables() {
		if !r.Erased && r.Table.DBID == d.ID && r.Table.Name == c.Name && (found == nil || r.DroppedFSM >= found.DroppedFSM) {
			found = r
		}
	}
	if found == nil {
		return Result{}, doriserr.New(doriserr.UnknownTable, "Unknown table '%s'", c.Name)
	}
	t := *found.Table
	t.ModIndex = s.index
	delete(s.recycled, t.ID)
	s.putTable(&t)
	s.names[tableName{d.ID, t.Name}] = t.ID
	return Result{ID: t.ID}, nil
}

// liveTable is a table by id, or the error that it does not exist.
func (s *State) liveTable(id int64) (*Table, error) {
	if t := s.tables[id]; t != nil {
		return t, nil
	}
	return nil, doriserr.New(doriserr.UnknownTable, "table %d does not exist", id)
}

// alterTableProps changes a table's properties. Its tablets keep the replicas
// that they have: a new replication_num is what they are brought to.
func (s *State) alterTableProps(c *AlterTableProps) (Result, error) {
	t, err := s.liveTable(c.TableID)
	if err != nil {
		return Result{}, err
	}
	if c.ExpectModIndex != 0 && c.ExpectModIndex != t.ModIndex {
		return Result{}, doriserr.New(doriserr.Conflict, "Table '%s' was changed meanwhile, try again", t.Name)
	}
	next := *t
	next.Props, next.ModIndex = c.Props, s.index
	if next.Props.ReplicationNum < 1 {
		next.Props.ReplicationNum = t.Props.ReplicationNum
	}
	s.putTable(&next)
	return Result{ID: t.ID}, nil
}

func (s *State) raiseTableEpoch(c *RaiseTableEpoch) (Result, error) {
	t, err := s.liveTable(c.TableID)
	if err != nil {
		return Result{}, err
	}
	next := *t
	next.Epoch++
	next.ModIndex = s.index
	s.putTable(&next)
	return Result{ID: t.ID, Epoch: next.Epoch}, nil
}

func (s *State) truncateTable(c *TruncateTable) (Result, error) {
	t, err := s.liveTable(c.TableID)
	if err != nil {
		return Result{}, err
	}
	next := *t
	switch c.Epoch {
	case 0:
		next.Epoch++
	case t.Epoch:
	default:
		return Result{}, doriserr.New(doriserr.Conflict, "Table '%s' is in epoch %d, not %d, try again", t.Name, t.Epoch, c.Epoch)
	}
	if err := s.checkOpenGroups(&next); err != nil {
		return Result{}, err
	}
	next.ModIndex = s.index
	next.Partitions = s.newPartitions(t.Partitions, next.Epoch)
	for _, p := range t.Partitions {
		s.book.DropPartition(p.ID, c.WallMs, placement{s})
		delete(s.places, p.ID)
	}
	s.putTable(&next)
	return Result{ID: t.ID, Epoch: next.Epoch}, nil
}

// checkOpenGroups refuses while a group of an older epoch than t's may still
// acknowledge rows: it is undecided on a backend that is alive, or silent for
// less than the group's interval (rule 11).
func (s *State) checkOpenGroups(t *Table) error {
	for _, g := range s.book.OpenGroups(t.ID) {
		b := s.backends[g.Owner.BackendID]
		if g.TableEpoch >= t.Epoch || b == nil {
			continue
		}
		if b.Alive || s.book.Clock()-b.DownSinceFSM < g.Group.IntervalMs {
			return doriserr.New(doriserr.Blocked, "Table '%s' waits for group %d on backend %d, try again", t.Name, g.ID, b.ID)
		}
	}
	return nil
}
