package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/sql/ddl"
)

// The states of a replica in ADMIN SHOW REPLICA STATUS. SCHEMA_ERROR can be
// asked for and is none of ours: rowsets carry their schema.
var replicaStatuses = []string{"OK", "DEAD", "VERSION_ERROR", "SCHEMA_ERROR", "MISSING"}

// status is a replica's state where queries read version visible.
func (r *replicaState) status(visible int64) string {
	switch {
	case r.backend == nil || !r.backend.Alive:
		return "DEAD"
	case r.free < visible || r.failed > 0:
		return "VERSION_ERROR"
	}
	return "OK"
}

// showReplicaStatus lists the replicas of a table, and as MISSING those that it
// should have besides.
func showReplicaStatus(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	t, parts, err := s.replicasOf(st)
	if err != nil {
		return nil, err
	}
	if st.Where != nil && !statusFilter(st.Where) {
		return nil, doriserr.New(doriserr.Analysis, "Where clause should looks like: status =/!= '%s'", strings.Join(replicaStatuses, "/"))
	}
	r := &result{columns: []string{"TabletId", "ReplicaId", "BackendId", "Version", "LastFailedVersion", "LastSuccessVersion", "CommittedVersion", "SchemaHash",
		"VersionNum", "IsBad", "IsUserDrop", "State", "Status"}}
	for _, p := range parts {
		for _, tablet := range p.tablets {
			for i := range tablet.replicas {
				rep := &tablet.replicas[i]
				_, _, versions := rep.counts()
				r.rows = append(r.rows, []string{itoa(tablet.ID), itoa(rep.ID), itoa(rep.BackendID), itoa(rep.free), itoa(rep.failed), itoa(rep.free),
					itoa(p.version.Committed), "-1", versions, "false", "false", "NORMAL", rep.status(p.version.Visible)})
			}
			for range int(t.Props.ReplicationNum) - len(tablet.replicas) {
				r.rows = append(r.rows, []string{itoa(tablet.ID), "-1", "-1", "-1", "-1", "-1", "-1", "-1", "-1", "\\N", "\\N", "\\N", "MISSING"})
			}
		}
	}
	return r, nil
}

// replicasOf are the partitions of a statement about replicas.
func (s *Session) replicasOf(st *ddl.Show) (*meta.Table, []partitionState, error) {
	if err := s.allowed(priv.Admin); err != nil {
		return nil, nil, err
	}
	_, t, err := s.tableOf(st.Table)
	if err != nil {
		return nil, nil, err
	}
	parts, err := s.srv.partitionStates(t, st.Partitions, "Partition does not exist")
	return t, parts, err
}

// statusFilter reports a comparison of the status with one that there is.
func statusFilter(f *ddl.Filter) bool {
	if f.Op == ddl.FilterNot {
		f = f.Left
	}
	return (f.Op == ddl.FilterEqual || f.Op == ddl.FilterNotEqual) && strings.EqualFold(f.Column, "status") &&
		slices.Contains(replicaStatuses, strings.ToUpper(f.Values[0]))
}

// showReplicaSpread shows how a table's replicas spread over the backends.
func showReplicaSpread(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	_, parts, err := s.replicasOf(st)
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"BackendId", "ReplicaNum", "ReplicaSize", "NumGraph", "NumPercent", "SizeGraph", "SizePercent", "CloudClusterName", "CloudClusterId"}}
	count, size := map[int64]int64{}, map[int64]int64{}
	var counts, sizes int64
	for _, p := range parts {
		for _, tablet := range p.tablets {
			for i := range tablet.replicas {
				rep := &tablet.replicas[i]
				if rep.backend == nil {
					continue
				}
				count[rep.BackendID]++
				size[rep.BackendID] += rep.report.Bytes
				counts++
				sizes += rep.report.Bytes
			}
		}
	}
	s.srv.Node.View(func(state *meta.State) {
		for _, b := range state.Backends() {
			n, bytes := count[b.ID], size[b.ID]
			r.rows = append(r.rows, []string{itoa(b.ID), itoa(n), itoa(bytes), graph(n, counts), percent(n, counts), graph(bytes, sizes), percent(bytes, sizes), "", ""})
		}
	})
	return r, nil
}

// graph is a bar of one sign for each percent.
func graph(n, total int64) string {
	if n == total {
		return strings.Repeat(">", 100)
	}
	return strings.Repeat(">", int(n*100/total))
}

func percent(n, total int64) string {
	if n == total {
		return "100.00%"
	}
	return fmt.Sprintf("%05.2f %%", float64(n)*100/float64(total))
}
