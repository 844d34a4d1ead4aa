package meta

import (
	"maps"

	"dorisgo/doriserr"
)

func (s *State) initCluster(c *InitCluster) (Result, error) {
	if s.clusterID != "" {
		if s.clusterID == c.ClusterID {
			return Result{}, nil
		}
		return Result{}, doriserr.New(doriserr.Conflict, "this cluster is %s already, not %s", s.clusterID, c.ClusterID)
	}
	s.clusterID, s.metaEpoch = c.ClusterID, c.MetaEpoch
	for _, name := range []string{"root", "admin"} {
		s.users[name] = &User{Name: name, Grants: []string{"ADMIN"}}
	}
	return Result{}, nil
}

func (s *State) raiseFeatureLevel(c *RaiseFeatureLevel) (Result, error) {
	s.featureLevel = max(s.featureLevel, c.Level)
	return Result{}, nil
}

func (s *State) createDatabase(c *CreateDatabase) (Result, error) {
	if d := s.DatabaseByName(c.Name); d != nil {
		if c.IfNotExists {
			return Result{ID: d.ID, Existed: true}, nil
		}
		return Result{ID: d.ID}, doriserr.New(doriserr.DatabaseExists, "Can't create database '%s'; database exists", c.Name)
	}
	d := &Database{ID: s.newID(), Name: c.Name}
	s.dbs[d.ID], s.dbNames[d.Name] = d, d.ID
	return Result{ID: d.ID}, nil
}

func (s *State) dropDatabase(c *DropDatabase) (Result, error) {
	d := s.DatabaseByName(c.Name)
	if d == nil {
		if c.IfExists {
			return Result{}, nil
		}
		return Result{}, doriserr.New(doriserr.NoDatabaseToDrop, "Can't drop database '%s'; database doesn't exist", c.Name)
	}
	for _, t := range s.Tables(d.ID) {
		s.recycle(t, d.Name, c.Force, c.WallMs)
	}
	delete(s.dbs, d.ID)
	delete(s.dbNames, d.Name)
	return Result{ID: d.ID}, nil
}

// database is a database by name, or the error that it is unknown.
func (s *State) database(name string) (*Database, error) {
	if d := s.DatabaseByName(name); d != nil {
		return d, nil
	}
	return nil, doriserr.New(doriserr.UnknownDatabase, "Unknown database '%s'", name)
}

func (s *State) setGlobalVar(c *SetGlobalVar) (Result, error) {
	s.vars = with(s.vars, c.Name, c.Value)
	return Result{}, nil
}

func (s *State) setConfig(c *SetConfig) (Result, error) {
	s.config = with(s.config, c.Key, c.Value)
	s.limits = limitsOf(s.config)
	return Result{}, nil
}

// with is a copy of a map with one more entry.
func with(m map[string]string, k, v string) map[string]string {
	out := maps.Clone(m)
	out[k] = v
	return out
}

func (s *State) registerFrontend(c *RegisterFrontend) (Result, error) {
	fe := c.Frontend
	s.frontends[fe.ID] = &fe
	return Result{}, nil
}

func (s *State) dropFrontend(c *DropFrontend) (Result, error) {
	delete(s.frontends, c.ID)
	return Result{}, nil
}
