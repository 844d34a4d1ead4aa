package exec

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/sql/ddl"
)

func showVariables(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	r := &result{columns: []string{"Variable_name", "Value", "Default_Value", "Changed"}}
	rows := s.vars.Show
	if st.Scope == ddl.GlobalScope {
		rows = s.srv.Globals().Show
	}
	for _, v := range rows("%") {
		changed := "0"
		if v.Changed {
			changed = "1"
		}
		r.rows = append(r.rows, []string{v.Name, v.Value, v.Default, changed})
	}
	return r, nil
}

func showStatus(_ context.Context, s *Session, _ *ddl.Show) (*result, error) {
	r := &result{columns: []string{"Variable_name", "Value"}}
	if s.srv.Processes != nil {
		r.rows = append(r.rows, []string{"Threads_connected", itoa(s.srv.Processes.Connections())})
	}
	return r, nil
}

func showProcesslist(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	r := &result{columns: []string{"CurrentConnected", "Id", "User", "Host", "LoginTime", "Catalog", "Db", "Command", "Time", "State", "QueryId", "Info", "FE", "CloudCluster"}}
	if s.srv.Processes == nil {
		return r, nil
	}
	for _, p := range s.srv.Processes.ProcessList() {
		r.rows = append(r.rows, []string{yesNo(p.ID == s.info.ID), itoa(int64(p.ID)), p.User, p.Host, "", "internal", p.DB, p.Command,
			itoa(int64(time.Since(p.Since).Seconds())), "", "", p.Info, s.srv.Self.Host, ""})
	}
	return r, nil
}

// Beat is the newest heartbeat of a backend.
type Beat struct {
	At time.Time
	// FailedRoots are the storage roots that are out of service.
	FailedRoots int64
}

func showBackends(_ context.Context, s *Session, _ *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Node); err != nil {
		return nil, err
	}
	r := &result{columns: []string{"BackendId", "Host", "HeartbeatPort", "BePort", "HttpPort", "BrpcPort", "ArrowFlightSqlPort", "LastStartTime", "LastHeartbeat",
		"Alive", "SystemDecommissioned", "TabletNum", "DataUsedCapacity", "TrashUsedCapacity", "AvailCapacity", "TotalCapacity", "UsedPct", "MaxDiskUsedPct",
		"RemoteUsedCapacity", "Tag", "ErrMsg", "Version", "Status", "HeartbeatFailureCounter", "NodeRole", "CpuCores", "Memory", "LiveSince", "RunningTasks"}}
	var beats map[int64]Beat
	if s.srv.Beats != nil {
		beats = s.srv.Beats()
	}
	s.srv.Node.View(func(st *meta.State) {
		tablets := map[int64]int{}
		for _, t := range st.Tables(0) {
			for _, p := range t.Partitions {
				for _, tablet := range p.Tablets {
					for _, rep := range tablet.Replicas {
						tablets[rep.BackendID]++
					}
				}
			}
		}
		for _, b := range st.Backends() {
			beat := "\\N"
			told, ok := beats[b.ID]
			if ok {
				beat = told.At.Format(time.DateTime)
			}
			err := b.ErrMsg
			if told.FailedRoots > 0 {
				err = strings.TrimSpace(fmt.Sprintf("%s %d storage roots are out of service", err, told.FailedRoots))
			}
			if b.Decommissioned {
				err = strings.TrimSpace(err + fmt.Sprintf(" and has %d unfinished WALs", st.GroupCount(b.ID)))
			}
			r.rows = append(r.rows, []string{itoa(b.ID), b.Host, itoa(b.HeartbeatPort), itoa(b.RPCPort), itoa(b.HTTPPort), itoa(b.RPCPort), "-1",
				wallText(b.LastStartMs), beat, boolText(b.Alive), boolText(b.Decommissioned), itoa(tablets[b.ID]), "", "", "", "", "", "", "",
				backendTags(b), err, b.Version, `{"isActive":` + boolText(b.Alive) + `}`, "0", "mix", "", "", wallText(b.LastStartMs), "0"})
		}
	})
	return r, nil
}

func showFrontends(_ context.Context, s *Session, _ *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Node); err != nil {
		return nil, err
	}
	r := &result{columns: []string{"Name", "Host", "EditLogPort", "HttpPort", "QueryPort", "RpcPort", "ArrowFlightSqlPort", "Role", "IsMaster", "ClusterId", "Join",
		"Alive", "ReplayedJournalId", "LastStartTime", "LastHeartbeat", "IsHelper", "ErrMsg", "Version", "CurrentConnected", "LiveSince"}}
	leader, _, _ := s.srv.Node.Leader()
	applied := s.srv.Node.AppliedIndex()
	s.srv.Node.View(func(st *meta.State) {
		for _, f := range st.Frontends() {
			self := f.ID == s.srv.Self.ID
			journal := ""
			if self {
				journal = fmt.Sprint(applied)
			}
			r.rows = append(r.rows, []string{f.ID, f.Host, portOf(f.RaftAddr), itoa(f.HTTPPort), itoa(f.MySQL), portOf(f.RPCAddr), "-1", "FOLLOWER",
				boolText(f.ID == leader), st.ClusterID(), "true", boolText(self || f.ID == leader), journal, "\\N", "\\N", "true", "", f.Version, yesNo(self), ""})
		}
	})
	return r, nil
}

func portOf(addr string) string {
	if i := strings.LastIndexByte(addr, ':'); i >= 0 {
		return addr[i+1:]
	}
	return ""
}

func showFrontendConfig(_ context.Context, s *Session, _ *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Admin); err != nil {
		return nil, err
	}
	r := &result{columns: []string{"Key", "Value"}}
	for _, kv := range s.srv.Settings.List() {
		r.rows = append(r.rows, []string{kv[0], kv[1]})
	}
	return r, nil
}

func showLastInsert(_ context.Context, s *Session, _ *ddl.Show) (*result, error) {
	r := &result{columns: []string{"TransactionId", "Label", "Database", "Table", "TransactionStatus", "LoadedRows", "FilteredRows"}}
	if l := s.vars.LastInsert; l != nil {
		r.rows = append(r.rows, []string{itoa(l.TxnID), l.Label, l.Database, l.Table, l.Status, itoa(l.LoadedRows), itoa(l.FilteredRows)})
	}
	return r, nil
}

func showGrants(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	name := s.vars.User
	if st.User != nil {
		name = st.User.Name
	}
	if name != s.vars.User || st.Kind == ddl.ShowAllGrants {
		if err := s.allowed(priv.Grant); err != nil {
			return nil, err
		}
	}
	r := &result{columns: []string{"UserIdentity", "Comment", "Password", "Roles", "GlobalPrivs", "CatalogPrivs", "DatabasePrivs", "TablePrivs", "ColPrivs", "ResourcePrivs"}}
	found := false
	s.srv.Node.View(func(state *meta.State) {
		for _, u := range state.Users() {
			if st.Kind != ddl.ShowAllGrants && u.Name != name {
				continue
			}
			found = true
			password := "No"
			if len(u.NativeHash) > 0 {
				password = "Yes"
			}
			r.rows = append(r.rows, []string{"'" + u.Name + "'@'%'", "", password, "", strings.Join(u.Grants, ","), "", "", "", "", ""})
		}
	})
	if !found {
		return nil, doriserr.New(doriserr.Analysis, "user '%s' does not exist", name)
	}
	return r, nil
}
