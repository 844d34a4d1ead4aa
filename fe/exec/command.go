package exec

import (
	"context"
	"strconv"
	"time"

	"dorisgo/doriserr"
	"dorisgo/fe/mysql"
	"dorisgo/fe/session"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/sql/ddl"
	"dorisgo/sql/translate"
	"dorisgo/value"
)

// changeTimeout bounds a statement that changes the catalog.
const changeTimeout = 30 * time.Second

// command runs what sql/ddl reads.
func (s *Session) command(ctx context.Context, id [16]byte, sql []byte, w *mysql.ResultWriter) error {
	stmt, err := ddl.ParseMode(string(sql), s.vars.NoBackslashEscapes())
	if err != nil {
		return err
	}
	switch st := stmt.(type) {
	case *ddl.Set:
		return s.set(ctx, st, w)
	case *ddl.Use:
		if err := s.UseDB(ctx, st.Database); err != nil {
			return err
		}
		return w.OK(0, 0, "")
	case *ddl.Show:
		return s.show(ctx, st, w)
	case *ddl.Describe:
		return s.describe(st, w)
	case *ddl.Begin:
		return s.begin(w)
	case *ddl.Commit:
		return s.commit(ctx, id, w)
	case *ddl.Rollback:
		return s.rollback(w)
	case *ddl.LockTables, *ddl.UnlockTables:
		return w.OK(0, 0, "")
	case *ddl.Kill:
		return s.kill(st, w)
	case *ddl.Explain:
		return doriserr.New(doriserr.Unsupported, "EXPLAIN is not supported yet")
	case *ddl.SetPassword:
		if st.User == nil || st.User.Name == s.vars.User {
			return s.change(ctx, w, s.setPassword(st))
		}
	}
	if err := s.allowed(needs(stmt)); err != nil {
		return err
	}
	switch st := stmt.(type) {
	case *ddl.TruncateTable:
		return s.truncate(ctx, st, w)
	case *ddl.AdminCheckTablets:
		return s.checkTablets(st, w)
	}
	c, err := s.catalogCommand(id, stmt)
	if err != nil {
		return err
	}
	return s.change(ctx, w, c)
}

// needs is the privilege of a statement that changes the catalog.
func needs(stmt ddl.Statement) priv.Privilege {
	switch stmt.(type) {
	case *ddl.CreateDatabase, *ddl.CreateTable:
		return priv.Create
	case *ddl.DropDatabase, *ddl.DropTable:
		return priv.Drop
	case *ddl.AlterTableSet, *ddl.TruncateTable:
		return priv.Alter
	case *ddl.CreateUser, *ddl.DropUser, *ddl.SetPassword, *ddl.Grant:
		return priv.Grant
	case *ddl.AlterSystem:
		return priv.Node
	case *ddl.CleanLabel:
		return priv.Load
	}
	return priv.Admin
}

// catalogCommand is the command of a statement that changes the catalog.
func (s *Session) catalogCommand(id [16]byte, stmt ddl.Statement) (meta.Command, error) {
	switch st := stmt.(type) {
	case *ddl.CreateDatabase:
		if err := ddl.CheckDatabaseName(st.Name); err != nil {
			return nil, err
		}
		return &meta.CreateDatabase{RequestID: id, Name: st.Name, IfNotExists: st.IfNotExists}, nil
	case *ddl.DropDatabase:
		return &meta.DropDatabase{RequestID: id, Name: st.Name, IfExists: st.IfExists, Force: st.Force}, nil
	case *ddl.CreateTable:
		return s.createTable(id, st)
	case *ddl.DropTable:
		db, err := s.dbOf(st.Name)
		return &meta.DropTable{RequestID: id, DB: db, Name: st.Name.Table, IfExists: st.IfExists, Force: st.Force}, err
	case *ddl.AlterTableSet:
		return s.alterTable(id, st)
	case *ddl.CreateUser:
		return s.createUser(id, st)
	case *ddl.DropUser:
		return &meta.DropUser{RequestID: id, Name: st.User.Name, IfExists: st.IfExists}, nil
	case *ddl.SetPassword:
		return s.setPassword(st), nil
	case *ddl.Grant:
		return s.grant(st)
	case *ddl.AdminSetConfig:
		return s.adminSet(st)
	case *ddl.CleanLabel:
		return s.cleanLabel(st)
	case *ddl.AlterSystem:
		return s.alterSystem(st)
	}
	return nil, doriserr.New(doriserr.Unsupported, "the statement is not supported yet")
}

// change has a command decided and answers when this FE shows it.
func (s *Session) change(ctx context.Context, w *mysql.ResultWriter, c meta.Command) error {
	if c == nil {
		return w.OK(0, 0, "")
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if _, err := s.srv.Changer.Change(ctx, c); err != nil {
		return err
	}
	return w.OK(0, 0, "")
}

// truncate empties a table. The new epoch makes BEs seal the groups of before;
// when those are decided the partitions are replaced (docs/protocol.md, rule
// 11). Until then it is asked again, each time as a new request.
func (s *Session) truncate(ctx context.Context, st *ddl.TruncateTable, w *mysql.ResultWriter) error {
	_, t, err := s.tableOf(st.Name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	raised, err := s.srv.Changer.Change(ctx, &meta.RaiseTableEpoch{RequestID: s.newID(), TableID: t.ID})
	if err != nil {
		return err
	}
	for {
		_, err := s.srv.Changer.Change(ctx, &meta.TruncateTable{RequestID: s.newID(), TableID: t.ID, Epoch: raised.Epoch})
		if err == nil {
			return w.OK(0, 0, "")
		}
		if !doriserr.Is(err, doriserr.Blocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// allowed refuses users without a privilege.
func (s *Session) allowed(p priv.Privilege) error {
	if priv.Allowed(s.srv.present().users[s.vars.User], p) {
		return nil
	}
	return doriserr.New(doriserr.NoPrivilege, "Access denied; you need (at least one of) the (%s) privilege(s) for this operation", p)
}

// require refuses a statement on a table that the user has no privilege for.
func (s *Session) require(p priv.Privilege, db, table string) error {
	if priv.Allowed(s.srv.present().users[s.vars.User], p) {
		return nil
	}
	return doriserr.New(doriserr.NoPrivilege, "%s command denied to user '%s'@'%s' for table '%s.%s'", p, s.vars.User, s.vars.RemoteHost, db, table)
}

func (s *Session) dbOf(n ddl.TableName) (string, error) {
	name := n.DB
	if name == "" {
		name = s.vars.DB
	}
	if name == "" {
		return "", doriserr.New(doriserr.NoDatabase, "No database selected")
	}
	return name, nil
}

func (s *Session) tableOf(n ddl.TableName) (*meta.Database, *meta.Table, error) {
	db, err := s.dbOf(n)
	if err != nil {
		return nil, nil, err
	}
	return s.srv.table(db, n.Table)
}

func (s *Session) kill(k *ddl.Kill, w *mysql.ResultWriter) error {
	if s.srv.Processes == nil || k.ID <= 0 {
		return doriserr.New(doriserr.Analysis, "Unknown thread id: %d", k.ID)
	}
	if user, ok := s.srv.Processes.User(uint32(k.ID)); ok && user != s.vars.User {
		if err := s.allowed(priv.Admin); err != nil {
			return err
		}
	}
	if !s.srv.Processes.Kill(uint32(k.ID), k.Query) {
		return doriserr.New(doriserr.Analysis, "Unknown thread id: %d", k.ID)
	}
	return w.OK(0, 0, "")
}

// set runs SET: session variables here, global ones through the log. The items
// before a bad one stay set, as in MySQL.
func (s *Session) set(ctx context.Context, st *ddl.Set, w *mysql.ResultWriter) error {
	for _, item := range st.Items {
		if err := s.setItem(ctx, item); err != nil {
			return err
		}
	}
	return w.OK(0, 0, "")
}

func (s *Session) setItem(ctx context.Context, item ddl.SetItem) error {
	if item.Scope != ddl.UserScope && item.Value.Kind == ddl.DefaultValue {
		if item.Scope == ddl.GlobalScope {
			v, err := session.Lookup(item.Name)
			if err != nil {
				return err
			}
			return s.setGlobal(ctx, item.Name, v.Default)
		}
		return s.vars.SetDefault(item.Name)
	}
	val, err := s.setValue(item.Value)
	if err != nil {
		return err
	}
	switch item.Scope {
	case ddl.UserScope:
		return s.vars.SetUserVar(item.Name, val)
	case ddl.GlobalScope:
		return s.setGlobal(ctx, item.Name, val)
	}
	return s.vars.Set(item.Name, val)
}

func (s *Session) setGlobal(ctx context.Context, name string, val session.Value) error {
	stored, err := session.CheckGlobal(name, val)
	if err != nil {
		return err
	}
	if err := s.allowed(priv.Admin); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err = s.srv.Changer.Change(ctx, &meta.SetGlobalVar{Name: name, Value: stored})
	return err
}

// setValue is the value of the right side of an assignment.
func (s *Session) setValue(v ddl.Value) (session.Value, error) {
	switch v.Kind {
	case ddl.NullValue:
		return session.Null, nil
	case ddl.StringValue, ddl.WordValue:
		return session.String(v.Text), nil
	case ddl.NumberValue:
		return number(v.Text)
	case ddl.VariableValue:
		return s.vars.Get(v.Text)
	case ddl.UserVariableValue:
		return s.vars.UserVar(v.Text), nil
	}
	return s.constant(v.Text)
}

// number is a literal number as a variable's value.
func number(text string) (session.Value, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return session.Int(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return session.Null, doriserr.New(doriserr.Parse, "%q is no number", text)
	}
	return session.Float(f), nil
}

// constant evaluates an expression without tables, as in SET x = 1 + 1.
func (s *Session) constant(expr string) (session.Value, error) {
	tr, err := translate.Select("SELECT "+expr, s.env())
	if err != nil {
		return session.Null, err
	}
	if tr.Constant == nil || tr.Constant.Rows() != 1 || tr.Constant.NumCols() != 1 {
		return session.Null, doriserr.New(doriserr.Unsupported, "only constants can be assigned to a variable: %s", expr)
	}
	c := tr.Constant.Col(0)
	if c.IsNull(0) {
		return session.Null, nil
	}
	text := string(value.AppendText(nil, c.Type(), c.Raw(0)))
	if c.Type().IsVar() {
		return session.String(text), nil
	}
	return number(text)
}
