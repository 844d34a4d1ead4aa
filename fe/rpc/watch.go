package rpc

import (
	"errors"
	"maps"
	"time"

	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// WatchCatalog implements fepb.FrontendServer: a snapshot, then what changed.
// Objects of the catalog are immutable, so a change is another pointer.
func (s *Server) WatchCatalog(_ *fepb.WatchCatalogRequest, stream fepb.Frontend_WatchCatalogServer) error {
	if err := s.lead(); err != nil {
		return err
	}
	// An FE that lost the lead may be cut off from the log and never know: the
	// copy is then better followed elsewhere.
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	seen := newSeen()
	first := true
	for {
		changed := s.node.Changed()
		ev := &fepb.CatalogEvent{Snapshot: first}
		fresh := false
		var bad error
		s.node.View(func(st *meta.State) {
			if fresh = first || st.CatalogIndex() > seen.index; fresh {
				bad = seen.diff(st, ev)
			}
		})
		if bad != nil {
			return s.fail(bad)
		}
		if fresh {
			if err := stream.Send(ev); err != nil {
				return err
			}
			first = false
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-changed:
		case <-ticker.C:
			if err := s.lead(); err != nil {
				return err
			}
		}
	}
}

// seen is what a stream's BE has.
type seen struct {
	index    uint64
	dbs      map[int64]*meta.Database
	tables   map[int64]*meta.Table
	backends map[int64]*meta.Backend
	users    map[string]*meta.User
	globals  map[string]string
}

func newSeen() *seen {
	return &seen{
		dbs: map[int64]*meta.Database{}, tables: map[int64]*meta.Table{}, backends: map[int64]*meta.Backend{},
		users: map[string]*meta.User{}, globals: map[string]string{},
	}
}

// diff fills ev with what st has and the BE lacks.
func (s *seen) diff(st *meta.State, ev *fepb.CatalogEvent) error {
	s.index = st.CatalogIndex()
	ev.Index = st.Index()
	var errs [4]error
	ev.Databases, ev.DroppedDatabases, errs[0] = changes(s.dbs, st.Databases(), func(d *meta.Database) int64 { return d.ID }, meta.EncodeDatabase)
	ev.Tables, ev.DroppedTables, errs[1] = changes(s.tables, st.Tables(0), func(t *meta.Table) int64 { return t.ID }, meta.EncodeTable)
	ev.Backends, ev.DroppedBackends, errs[2] = changes(s.backends, st.Backends(), func(b *meta.Backend) int64 { return b.ID }, meta.EncodeBackend)
	ev.Users, ev.DroppedUsers, errs[3] = changes(s.users, st.Users(), func(u *meta.User) string { return u.Name }, meta.EncodeUser)
	ev.Globals = map[string]string{}
	for k, v := range st.GlobalVars() {
		if old, ok := s.globals[k]; !ok || old != v {
			ev.Globals[k] = v
		}
	}
	s.globals = maps.Clone(st.GlobalVars())
	return errors.Join(errs[:]...)
}

// changes brings known up to now and returns the objects that are new or
// replaced, encoded, and the keys of those that are gone.
func changes[K comparable, T any](known map[K]*T, now []*T, key func(*T) K, encode func(*T) ([]byte, error)) (changed [][]byte, dropped []K, err error) {
	present := make(map[K]bool, len(now))
	for _, o := range now {
		k := key(o)
		present[k] = true
		if known[k] == o {
			continue
		}
		known[k] = o
		b, err := encode(o)
		if err != nil {
			return nil, nil, err
		}
		changed = append(changed, b)
	}
	for k := range known {
		if !present[k] {
			delete(known, k)
			dropped = append(dropped, k)
		}
	}
	return changed, dropped, nil
}
