package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// Catalog is the copy. It is safe for concurrent use.
type Catalog struct {
	mu       sync.RWMutex
	index    uint64
	loaded   bool
	changed  chan struct{}
	dbs      map[int64]*meta.Database
	dbNames  map[string]*meta.Database
	tables   map[int64]*meta.Table
	names    map[tableName]*meta.Table
	backends map[int64]*meta.Backend
	users    map[string]*meta.User
	globals  map[string]string
}

type tableName struct {
	db   int64
	name string
}

// New returns an empty catalog that waits for its snapshot.
func New() *Catalog {
	c := &Catalog{changed: make(chan struct{})}
	c.clear()
	return c
}

func (c *Catalog) clear() {
	c.dbs, c.dbNames = map[int64]*meta.Database{}, map[string]*meta.Database{}
	c.tables, c.names = map[int64]*meta.Table{}, map[tableName]*meta.Table{}
	c.backends, c.users, c.globals = map[int64]*meta.Backend{}, map[string]*meta.User{}, map[string]string{}
}

// Apply takes one event of the stream. An event that cannot be read changes
// nothing.
func (c *Catalog) Apply(ev *fepb.CatalogEvent) error {
	dbs, err := decodeAll(ev.Databases, meta.DecodeDatabase)
	if err != nil {
		return fmt.Errorf("cannot read a database of the catalog: %w", err)
	}
	tables, err := decodeAll(ev.Tables, meta.DecodeTable)
	if err != nil {
		return fmt.Errorf("cannot read a table of the catalog: %w", err)
	}
	backends, err := decodeAll(ev.Backends, meta.DecodeBackend)
	if err != nil {
		return fmt.Errorf("cannot read a backend of the catalog: %w", err)
	}
	users, err := decodeAll(ev.Users, meta.DecodeUser)
	if err != nil {
		return fmt.Errorf("cannot read a user of the catalog: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ev.Snapshot {
		// The FE that sends it may be behind the one that was followed before.
		c.clear()
		c.loaded, c.index = true, 0
	}
	for _, id := range ev.DroppedTables {
		c.dropTable(id)
	}
	for _, id := range ev.DroppedDatabases {
		c.dropDatabase(id)
	}
	for _, id := range ev.DroppedBackends {
		delete(c.backends, id)
	}
	for _, name := range ev.DroppedUsers {
		delete(c.users, name)
	}
	for _, d := range dbs {
		c.dropDatabase(d.ID)
		c.dbs[d.ID], c.dbNames[d.Name] = d, d
	}
	for _, t := range tables {
		c.dropTable(t.ID)
		c.tables[t.ID], c.names[tableName{t.DBID, t.Name}] = t, t
	}
	for _, b := range backends {
		c.backends[b.ID] = b
	}
	for _, u := range users {
		c.users[u.Name] = u
	}
	maps.Copy(c.globals, ev.Globals)
	c.index = max(c.index, ev.Index)
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func decodeAll[T any](raw [][]byte, decode func([]byte) (T, error)) ([]T, error) {
	out := make([]T, 0, len(raw))
	for _, p := range raw {
		v, err := decode(p)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (c *Catalog) dropDatabase(id int64) {
	if d := c.dbs[id]; d != nil {
		delete(c.dbs, id)
		if c.dbNames[d.Name] == d {
			delete(c.dbNames, d.Name)
		}
	}
}

func (c *Catalog) dropTable(id int64) {
	if t := c.tables[id]; t != nil {
		delete(c.tables, id)
		key := tableName{t.DBID, t.Name}
		if c.names[key] == t {
			delete(c.names, key)
		}
	}
}

// Index is the FE log index that the copy has reached; loaded is false before
// the first snapshot.
func (c *Catalog) Index() (index uint64, loaded bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.index, c.loaded
}

// Changed is a channel that is closed at the next change. Take it before looking
// at the copy, so that nothing is missed.
func (c *Catalog) Changed() <-chan struct{} {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.changed
}

// Wait returns when the copy has reached index.
func (c *Catalog) Wait(ctx context.Context, index uint64) error {
	return c.Until(ctx, func() bool {
		got, loaded := c.Index()
		return loaded && got >= index
	})
}

// Until returns when ok is true; it asks after each change.
func (c *Catalog) Until(ctx context.Context, ok func() bool) error {
	for {
		c.mu.RLock()
		changed := c.changed
		c.mu.RUnlock()
		if ok() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the catalog copy did not get there in time: %w", ctx.Err())
		case <-changed:
		}
	}
}

// Database finds a database by name.
func (c *Catalog) Database(name string) (*meta.Database, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	d, ok := c.dbNames[name]
	return d, ok
}

// DatabaseByID finds a database.
func (c *Catalog) DatabaseByID(id int64) (*meta.Database, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	d, ok := c.dbs[id]
	return d, ok
}

// Table finds a table by name in a database.
func (c *Catalog) Table(db int64, name string) (*meta.Table, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, ok := c.names[tableName{db, name}]
	return t, ok
}

// TableByID finds a table.
func (c *Catalog) TableByID(id int64) (*meta.Table, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	t, ok := c.tables[id]
	return t, ok
}

// Backend finds a BE.
func (c *Catalog) Backend(id int64) (*meta.Backend, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	b, ok := c.backends[id]
	return b, ok
}

// User finds a user.
func (c *Catalog) User(name string) (*meta.User, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	u, ok := c.users[name]
	return u, ok
}

// Global is a global variable that was set; its default is the reader's.
func (c *Catalog) Global(name string) (string, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok := c.globals[name]
	return v, ok
}

// TableIDs are the ids of all tables, ascending.
func (c *Catalog) TableIDs() []int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.tables))
}
