package exec

import (
	"slices"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/meta/prop"
	"dorisgo/sql/ddl"
	"dorisgo/value"
)

// createTable checks a definition and places its tablets.
func (s *Session) createTable(id [16]byte, st *ddl.CreateTable) (meta.Command, error) {
	dbName, err := s.dbOf(st.Name)
	if err != nil {
		return nil, err
	}
	db, err := s.srv.database(dbName)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, doriserr.New(doriserr.NoPrivilege, "no table can be created in database '%s'", dbName)
	}
	t, err := st.Build(ddl.BuildOptions{AutoBuckets: 1, MaxBuckets: s.srv.Limits().MaxBuckets})
	if err != nil {
		return nil, err
	}
	auto := t.Props.AutoBucket
	if t.Props, err = prop.Create(s.srv.propTarget(t), st.Properties); err != nil {
		return nil, err
	}
	t.Props.AutoBucket = auto
	t.HashVersion = value.HashVersion
	part, err := s.srv.place(t)
	if err != nil {
		return nil, err
	}
	t.Partitions = []*meta.Partition{part}
	return &meta.CreateTable{RequestID: id, DB: dbName, Table: t, IfNotExists: st.IfNotExists}, nil
}

func (s *Server) propTarget(t *meta.Table) *prop.Target {
	l := s.Limits()
	return &prop.Target{Keys: t.Keys, Columns: t.Columns, ReplicationNum: l.ReplicationNum, IntervalMs: l.IntervalMs, DataBytes: l.DataBytes}
}

// alterTable changes table properties.
func (s *Session) alterTable(id [16]byte, st *ddl.AlterTableSet) (meta.Command, error) {
	_, t, err := s.tableOf(st.Name)
	if err != nil {
		return nil, err
	}
	props, err := prop.Alter(s.srv.propTarget(t), t.Props, st.Properties)
	if err != nil {
		return nil, err
	}
	if props.ReplicationNum > t.Props.ReplicationNum {
		if err := s.srv.checkRaise(props.ReplicationNum); err != nil {
			return nil, err
		}
	}
	return &meta.AlterTableProps{RequestID: id, TableID: t.ID, Props: props, ExpectModIndex: t.ModIndex}, nil
}

func (s *Session) createUser(id [16]byte, st *ddl.CreateUser) (meta.Command, error) {
	u := meta.User{Name: st.User.Name}
	if st.Password != nil {
		native, sha2, err := hashes(*st.Password)
		if err != nil {
			return nil, err
		}
		u.NativeHash, u.SHA2Hash = native, sha2
	}
	return &meta.CreateUser{RequestID: id, User: u, IfNotExists: st.IfNotExists}, nil
}

func (s *Session) setPassword(st *ddl.SetPassword) meta.Command {
	name := s.vars.User
	if st.User != nil {
		name = st.User.Name
	}
	native, sha2, err := hashes(st.Password)
	if err != nil {
		// A form that cannot be a hash is taken for what it is: a wrong
		// password that nobody has. sql/ddl refuses it before.
		native, sha2 = nil, nil
	}
	return &meta.SetPassword{Name: name, NativeHash: native, SHA2Hash: sha2}
}

// hashes are what the catalog keeps of a password.
func hashes(p ddl.Password) (native, sha2 []byte, err error) {
	if p.Text == "" {
		return nil, nil, nil
	}
	if p.Hashed {
		native, err = priv.ParseHashText(p.Text)
		return native, nil, err
	}
	native, sha2 = priv.Hashes(p.Text)
	return native, sha2, nil
}

// privileges are the names that GRANT knows, as Doris spells them.
var privileges = map[string]string{
	"ALL": string(priv.Admin), "ALL_PRIV": string(priv.Admin), "ADMIN_PRIV": string(priv.Admin), "NODE_PRIV": string(priv.Node),
	"GRANT_PRIV": string(priv.Grant), "SELECT_PRIV": string(priv.Select), "LOAD_PRIV": string(priv.Load), "ALTER_PRIV": string(priv.Alter),
	"CREATE_PRIV": string(priv.Create), "DROP_PRIV": string(priv.Drop),
}

// grant changes a user's global privileges.
func (s *Session) grant(st *ddl.Grant) (meta.Command, error) {
	if st.Role || st.Scope == "" {
		return nil, doriserr.New(doriserr.Unsupported, "roles are not supported yet: grant privileges to users")
	}
	if scope := strings.ReplaceAll(st.Scope, " ", ""); scope != "*" && scope != "*.*" && scope != "*.*.*" {
		return nil, doriserr.New(doriserr.Unsupported, "privileges on %s are not supported yet: grant them on *.*.*", st.Scope)
	}
	var u *meta.User
	s.srv.Node.View(func(state *meta.State) { u = state.User(st.User.Name) })
	if u == nil {
		return nil, doriserr.New(doriserr.Analysis, "user '%s' does not exist", st.User.Name)
	}
	grants := slices.Clone(u.Grants)
	for _, p := range st.Privileges {
		name, ok := privileges[p]
		if !ok {
			return nil, doriserr.New(doriserr.Unsupported, "privilege %s is not supported", p)
		}
		grants = slices.DeleteFunc(grants, func(g string) bool { return g == name })
		if !st.Revoke {
			grants = append(grants, name)
		}
	}
	slices.Sort(grants)
	return &meta.SetGrants{Name: u.Name, Grants: grants}, nil
}

func (s *Session) adminSet(st *ddl.AdminSetConfig) (meta.Command, error) {
	if len(st.Config) != 1 {
		return nil, doriserr.New(doriserr.Analysis, "config parameter size is not equal to 1")
	}
	c := st.Config[0]
	if err := s.srv.Settings.Set(c.Key, c.Value); err != nil {
		return nil, err
	}
	switch c.Key {
	case meta.ConfigMaxRunningTxns, meta.ConfigLabelKeepS, meta.ConfigLabelMax, meta.ConfigDisableLoad, meta.ConfigTrashS, meta.ConfigAbortDownS, meta.ConfigPrecommitS:
		return &meta.SetConfig{Key: c.Key, Value: c.Value}, nil
	}
	return nil, nil
}

func (s *Session) cleanLabel(st *ddl.CleanLabel) (meta.Command, error) {
	name := st.DB
	if name == "" {
		name = s.vars.DB
	}
	db, err := s.srv.database(name)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, nil
	}
	return &meta.CleanLabel{DBID: db.ID, Label: st.Label}, nil
}
