package meta

import (
	"slices"

	"dorisgo/doriserr"
)

func (s *State) createUser(c *CreateUser) (Result, error) {
	if s.users[c.User.Name] != nil {
		if c.IfNotExists {
			return Result{Existed: true}, nil
		}
		return Result{}, doriserr.New(doriserr.UserExists, "User '%s'@'%%' already exist", c.User.Name)
	}
	u := c.User
	u.NativeHash, u.SHA2Hash, u.Grants = slices.Clone(u.NativeHash), slices.Clone(u.SHA2Hash), slices.Clone(u.Grants)
	s.users[u.Name] = &u
	return Result{}, nil
}

func (s *State) dropUser(c *DropUser) (Result, error) {
	switch {
	case c.Name == "root" || c.Name == "admin":
		return Result{}, doriserr.New(doriserr.NoPrivilege, "Can not drop user %s", c.Name)
	case s.users[c.Name] == nil && c.IfExists:
		return Result{}, nil
	case s.users[c.Name] == nil:
		return Result{}, unknownUser(c.Name)
	}
	delete(s.users, c.Name)
	return Result{}, nil
}

func (s *State) setPassword(c *SetPassword) (Result, error) {
	return s.changeUser(c.Name, func(u *User) {
		u.NativeHash, u.SHA2Hash = slices.Clone(c.NativeHash), slices.Clone(c.SHA2Hash)
	})
}

func (s *State) setGrants(c *SetGrants) (Result, error) {
	return s.changeUser(c.Name, func(u *User) { u.Grants = slices.Clone(c.Grants) })
}

func (s *State) changeUser(name string, change func(*User)) (Result, error) {
	u := s.users[name]
	if u == nil {
		return Result{}, unknownUser(name)
	}
	next := *u
	change(&next)
	s.users[name] = &next
	return Result{}, nil
}

func unknownUser(name string) error {
	return doriserr.New(doriserr.Analysis, "user '%s'@'%%' does not exist", name)
}
