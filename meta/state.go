package meta

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"dorisgo/meta/txn"
)

// State is everything that the cluster agrees on. Build one with New or
// Restore; change it with Apply alone.
type State struct {
	index        uint64
	catalogIndex uint64
	clusterID    string
	metaEpoch    uint64
	featureLevel uint32
	// nextID is the next id of a database, table, partition, tablet, replica
	// or backend.
	nextID int64

	dbs       map[int64]*Database
	dbNames   map[string]int64
	tables    map[int64]*Table
	names     map[tableName]int64
	recycled  map[int64]*RecycledTable
	places    map[int64]*partitionPlace
	backends  map[int64]*Backend
	frontends map[string]*Frontend
	users     map[string]*User
	vars      map[string]string
	config    map[string]string
	limits    txn.Limits
	answers   answers
	book      *txn.Book
}

type tableName struct {
	dbID int64
	name string
}

// partitionPlace is where a partition's tablets are; it is derived from the
// tables, live and recycled.
type partitionPlace struct {
	tableID int64
	epoch   uint64
	// holders are the backends of each tablet, cloning those of its replicas
	// that are Cloning.
	holders, cloning map[int64][]int64
	// ids are the replicas.
	ids map[tabletBackend]int64
}

type tabletBackend struct{ tablet, backend int64 }

// firstID is the first id that Apply gives; the ids below are Doris' own.
const firstID = 10001

// New is the State of a cluster in which nothing happened.
func New() *State {
	s := &State{
		featureLevel: 1, nextID: firstID,
		dbs: map[int64]*Database{}, dbNames: map[string]int64{}, tables: map[int64]*Table{}, names: map[tableName]int64{},
		recycled: map[int64]*RecycledTable{}, places: map[int64]*partitionPlace{}, backends: map[int64]*Backend{},
		frontends: map[string]*Frontend{}, users: map[string]*User{}, vars: map[string]string{}, config: map[string]string{},
		answers: newAnswers(), book: txn.NewBook(),
	}
	s.limits = limitsOf(s.config)
	return s
}

// Index is the raft index of the last command applied.
func (s *State) Index() uint64 { return s.index }

// CatalogIndex is the index of the last command that changed something other
// than transactions and the clock: whoever keeps a copy of the catalog
// compares it.
func (s *State) CatalogIndex() uint64 { return s.catalogIndex }

// ClusterID is the cluster's identity, empty before InitCluster.
func (s *State) ClusterID() string { return s.clusterID }

// MetaEpoch is raised by restore and forced recovery of metadata.
func (s *State) MetaEpoch() uint64 { return s.metaEpoch }

// FeatureLevel is the newest level of commands that may be proposed.
func (s *State) FeatureLevel() uint32 { return s.featureLevel }

// Database is a database by id, nil if there is none.
func (s *State) Database(id int64) *Database { return s.dbs[id] }

// DatabaseByName is a database by name, nil if there is none.
func (s *State) DatabaseByName(name string) *Database { return s.dbs[s.dbNames[name]] }

// Databases are all databases, by name.
func (s *State) Databases() []*Database {
	return sortedBy(maps.Values(s.dbs), func(d *Database) string { return d.Name })
}

// Table is a table by id, nil if there is none or it was dropped.
func (s *State) Table(id int64) *Table { return s.tables[id] }

// TableByName is a table by name, nil if there is none.
func (s *State) TableByName(dbID int64, name string) *Table {
	return s.tables[s.names[tableName{dbID, name}]]
}

// Tables are the tables of a database (0: of all), by name then id.
func (s *State) Tables(dbID int64) []*Table {
	var out []*Table
	for _, t := range s.tables {
		if dbID == 0 || t.DBID == dbID {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Table) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Recycled is a dropped table by id, nil if there is none or nothing names it
// any more.
func (s *State) Recycled(id int64) *RecycledTable { return s.recycled[id] }

// RecycledTables are the dropped tables, by id.
func (s *State) RecycledTables() []*RecycledTable {
	return sortedBy(maps.Values(s.recycled), func(r *RecycledTable) int64 { return r.Table.ID })
}

// PartitionTable is the table, live or recycled, of a partition; nil if the
// partition is gone for good.
func (s *State) PartitionTable(partitionID int64) *Table {
	p := s.places[partitionID]
	if p == nil {
		return nil
	}
	if t := s.tables[p.tableID]; t != nil {
		return t
	}
	return s.recycled[p.tableID].Table
}

// Erased reports whether an object's id was given out and the object is gone
// for good: ids are never used again. It does not know after a restore of the
// metadata, which may have forgotten objects that exist.
func (s *State) Erased(partitionID int64) bool {
	return s.metaEpoch <= 1 && partitionID >= firstID && partitionID < s.nextID && s.places[partitionID] == nil
}

// ReplicaID is the replica of a tablet on a BE, 0 if there is none. It walks all
// tables.
func (s *State) ReplicaID(tabletID, backendID int64) int64 {
	at, _ := s.replicaOf(tabletID, backendID)
	return at.replica.ID
}

// ReplicaGone reports whether a replica's id was given out and its tablet, which
// is there, has no such replica any more. Like Erased it does not know after a
// restore of the metadata.
func (s *State) ReplicaGone(partitionID, tabletID, replicaID int64) bool {
	t := s.PartitionTable(partitionID)
	if s.metaEpoch > 1 || replicaID < firstID || replicaID >= s.nextID || t == nil {
		return false
	}
	for _, p := range t.Partitions {
		if p.ID != partitionID {
			continue
		}
		for _, tablet := range p.Tablets {
			if tablet.ID == tabletID {
				return !slices.ContainsFunc(tablet.Replicas, func(r Replica) bool { return r.ID == replicaID })
			}
		}
	}
	return false
}

// Backend is a BE by id, nil if there is none.
func (s *State) Backend(id int64) *Backend { return s.backends[id] }

// BackendByUUID is a BE by the identity on its disks, nil if there is none. It
// walks all BEs.
func (s *State) BackendByUUID(uuid string) *Backend {
	for _, b := range s.backends {
		if b.UUID == uuid {
			return b
		}
	}
	return nil
}

// Backends are all BEs, by id.
func (s *State) Backends() []*Backend {
	return sortedBy(maps.Values(s.backends), func(b *Backend) int64 { return b.ID })
}

// Frontend is an FE by raft server id, nil if there is none.
func (s *State) Frontend(id string) *Frontend { return s.frontends[id] }

// Frontends are all FEs, by id.
func (s *State) Frontends() []*Frontend {
	return sortedBy(maps.Values(s.frontends), func(f *Frontend) string { return f.ID })
}

// User is an account, nil if there is none.
func (s *State) User(name string) *User { return s.users[name] }

// Users are all accounts, by name.
func (s *State) Users() []*User {
	return sortedBy(maps.Values(s.users), func(u *User) string { return u.Name })
}

// GlobalVars are the variables that SET GLOBAL changed. The map is replaced by
// changes and must not be written to.
func (s *State) GlobalVars() map[string]string { return s.vars }

// Config are the cluster-wide configuration keys that were changed. The map is
// replaced by changes and must not be written to.
func (s *State) Config() map[string]string { return s.config }

// Limits are the limits that the transaction rules use now.
func (s *State) Limits() txn.Limits { return s.limits }

// PartitionVersion are a partition's versions; ok is false if it is unknown.
func (s *State) PartitionVersion(partitionID int64) (v PartitionVersion, ok bool) {
	v.Visible, v.Committed, v.VisibleTimeMs, ok = s.book.Versions(partitionID)
	return v, ok
}

func sortedBy[T any, K cmp.Ordered](values iter.Seq[T], key func(T) K) []T {
	return slices.SortedFunc(values, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}
