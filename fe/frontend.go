package fe

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net"
	"strconv"
	"time"

	"dorisgo/doriserr"
	fehttp "dorisgo/fe/http"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/meta/prop"
	"dorisgo/router"
)

// frontend is what HTTP needs of the node.
type frontend struct{ n *Node }

var _ fehttp.Frontend = frontend{}

// HTTPFrontend is the node as the HTTP interface sees it.
func (n *Node) HTTPFrontend() fehttp.Frontend { return frontend{n} }

// Authenticate implements fehttp.Frontend.
func (f frontend) Authenticate(_ context.Context, c fehttp.Credentials) error {
	if c.Token != "" {
		if f.n.cfg.Token == "" || subtle.ConstantTimeCompare([]byte(c.Token), []byte(f.n.cfg.Token)) != 1 {
			return doriserr.New(doriserr.AccessDenied, "Invalid token: it is not this cluster's")
		}
		return nil
	}
	var u *meta.User
	f.n.Raft.View(func(st *meta.State) { u = st.User(c.User) })
	if u == nil || !priv.CheckPassword(u, c.Password) {
		return doriserr.New(doriserr.AccessDenied, "Access denied for user '%s' (using password: %s)", c.User, map[bool]string{true: "YES", false: "NO"}[c.Password != ""])
	}
	return nil
}

// httpPrivileges is what each privilege of a route means in the catalog.
var httpPrivileges = map[fehttp.Privilege]priv.Privilege{
	fehttp.PrivLoad: priv.Load, fehttp.PrivSelect: priv.Select, fehttp.PrivOperator: priv.Node, fehttp.PrivAdmin: priv.Admin,
}

// Authorize implements fehttp.Frontend.
func (f frontend) Authorize(_ context.Context, user string, p fehttp.Privilege, db, table string) error {
	need, ok := httpPrivileges[p]
	if !ok {
		return nil
	}
	var u *meta.User
	f.n.Raft.View(func(st *meta.State) { u = st.User(user) })
	if priv.Allowed(u, need) {
		return nil
	}
	if table != "" {
		return doriserr.New(doriserr.NoPrivilege, "%s command denied to user '%s' for table '%s.%s'", need, user, db, table)
	}
	return doriserr.New(doriserr.NoPrivilege, "Access denied; you need (at least one of) the (%s) privilege(s) for this operation", need)
}

func (f frontend) table(db, table string) (d *meta.Database, t *meta.Table) {
	f.n.Raft.View(func(st *meta.State) {
		if d = st.DatabaseByName(db); d != nil {
			t = st.TableByName(d.ID, table)
		}
	})
	return d, t
}

// Table implements fehttp.Frontend.
func (f frontend) Table(_ context.Context, db, table string) (fehttp.TableState, error) {
	d, t := f.table(db, table)
	s := fehttp.TableState{DatabaseExists: d != nil, TableExists: t != nil, GroupCommitMode: prop.OffMode}
	if t != nil {
		s.GroupCommitMode = t.Props.GroupCommitMode
	}
	return s, nil
}

// RouteLoad implements fehttp.Frontend.
func (f frontend) RouteLoad(_ context.Context, r fehttp.RouteRequest) (fehttp.Route, error) {
	var list []router.Backend
	byID := map[int64]*meta.Backend{}
	var t *meta.Table
	f.n.Raft.View(func(st *meta.State) {
		for _, b := range st.Backends() {
			list = append(list, router.Backend{ID: b.ID, Alive: b.Alive, Decommissioned: b.Decommissioned || f.n.rpc.Leaving(b.ID)})
			byID[b.ID] = b
		}
		if d := st.DatabaseByName(r.DB); d != nil {
			t = st.TableByName(d.ID, r.Table)
		}
	})
	var id int64
	var err error
	if r.GroupCommit && t != nil {
		id, err = f.n.groups.Choose(router.Table{
			ID: t.ID, IntervalMs: int64(t.Props.GroupCommitIntervalMs), DataBytes: int64(t.Props.GroupCommitDataBytes), OneBE: t.Keys != meta.DuplicateKeys,
		}, 0, list, time.Now())
	} else {
		id, err = f.n.next.Choose(list)
	}
	if err != nil {
		return fehttp.Route{}, err
	}
	b := byID[id]
	return fehttp.Route{
		Endpoint: fehttp.Endpoint{Host: b.Host, Port: b.HTTPPort},
		Public:   taggedEndpoint(b, meta.TagPublicEndpoint), Private: taggedEndpoint(b, meta.TagPrivateEndpoint),
	}, nil
}

// taggedEndpoint is an address that an operator gave a BE, empty without one.
func taggedEndpoint(b *meta.Backend, key string) fehttp.Endpoint {
	host, port, err := net.SplitHostPort(b.Tag(key))
	if err != nil {
		return fehttp.Endpoint{}
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return fehttp.Endpoint{}
	}
	return fehttp.Endpoint{Host: host, Port: n}
}

// LoadState implements fehttp.Frontend.
func (f frontend) LoadState(_ context.Context, db, label string) (string, error) {
	state := "UNKNOWN"
	var err error
	f.n.Raft.View(func(st *meta.State) {
		d := st.DatabaseByName(db)
		if d == nil {
			err = doriserr.New(doriserr.UnknownDatabase, "unknown database, database=%s", db)
			return
		}
		if t := st.TxnByLabel(d.ID, label); t != nil {
			state = t.State.String()
		}
	})
	return state, err
}

// WalSizes implements fehttp.Frontend.
func (f frontend) WalSizes(ctx context.Context, want []fehttp.HostPort) ([]fehttp.WalSize, error) {
	var all []*meta.Backend
	f.n.Raft.View(func(st *meta.State) { all = st.Backends() })
	chosen := all
	if len(want) > 0 {
		chosen = nil
		for _, hp := range want {
			var found *meta.Backend
			for _, b := range all {
				if b.Host == hp.Host && b.HeartbeatPort == hp.Port {
					found = b
				}
			}
			if found == nil {
				return nil, doriserr.New(doriserr.NoBackend, "Backend does not exist[%s:%d]", hp.Host, hp.Port)
			}
			chosen = append(chosen, found)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out := make([]fehttp.WalSize, len(chosen))
	for i, b := range chosen {
		r, err := f.n.Backends.Status(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("backend %s:%d did not tell its WALs: %w", b.Host, b.HeartbeatPort, err)
		}
		out[i] = fehttp.WalSize{HostPort: fehttp.HostPort{Host: b.Host, Port: b.HeartbeatPort}}
		for _, n := range r.Wals {
			out[i].Files += int(n)
		}
	}
	return out, nil
}

// Health implements fehttp.Frontend.
func (f frontend) Health(context.Context) (h fehttp.Health, ready bool) {
	f.n.Raft.View(func(st *meta.State) {
		for _, b := range st.Backends() {
			h.Total++
			if b.Alive {
				h.Online++
			}
		}
	})
	_, _, ok := f.n.Raft.Leader()
	return h, ok
}

// Bootstrap implements fehttp.Frontend.
func (f frontend) Bootstrap(context.Context) (fehttp.Bootstrap, error) {
	b := fehttp.Bootstrap{
		Token: f.n.cfg.Token, Ready: true, ReplayedJournalID: f.n.Raft.AppliedIndex(), QueryPort: port(f.n.cfg.MySQL), RPCPort: f.n.cfg.RPCPort, Version: f.n.cfg.Version,
	}
	f.n.Raft.View(func(st *meta.State) { b.ClusterID = st.ClusterID() })
	return b, nil
}

// Backends implements fehttp.Frontend.
func (f frontend) Backends(context.Context) ([]fehttp.BackendInfo, error) {
	var out []fehttp.BackendInfo
	f.n.Raft.View(func(st *meta.State) {
		for _, b := range st.Backends() {
			out = append(out, fehttp.BackendInfo{Host: b.Host, HTTPPort: b.HTTPPort, Alive: b.Alive})
		}
	})
	return out, nil
}

// SetConfig implements fehttp.Frontend.
func (f frontend) SetConfig(_ context.Context, key, value string, persist bool) error {
	if persist {
		return doriserr.New(doriserr.Unsupported, "persist=true is not supported: write the key to fe.conf as well")
	}
	return f.n.cfg.Settings.Set(key, value)
}

// Schema implements fehttp.Frontend.
func (f frontend) Schema(_ context.Context, db, table string) (fehttp.TableSchema, error) {
	d, t := f.table(db, table)
	if d == nil {
		return fehttp.TableSchema{}, doriserr.New(doriserr.UnknownDatabase, "unknown database, database=%s", db)
	}
	if t == nil {
		return fehttp.TableSchema{}, doriserr.New(doriserr.UnknownTable, "unknown table, table=%s", table)
	}
	s := fehttp.TableSchema{KeysType: map[meta.KeysType]string{meta.DuplicateKeys: "DUP_KEYS", meta.UniqueKeys: "UNIQUE_KEYS", meta.AggregateKeys: "AGG_KEYS"}[t.Keys]}
	for i := range t.Columns {
		c := &t.Columns[i]
		s.Columns = append(s.Columns, fehttp.SchemaColumn{Name: c.Name, Type: c.Type.String(), Comment: c.Comment, IsKey: c.Key})
	}
	return s, nil
}

// RowCount implements fehttp.Frontend.
func (f frontend) RowCount(ctx context.Context, db, table string) (int64, error) {
	return f.n.Exec.RowCount(ctx, db, table)
}
