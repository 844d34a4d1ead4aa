package exec

import (
	"context"
	"fmt"
	"strconv"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/priv"
	"dorisgo/sql/ddl"
)

func showTablets(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Admin); err != nil {
		return nil, err
	}
	_, t, err := s.tableOf(st.Table)
	if err != nil {
		return nil, err
	}
	parts, err := s.srv.partitionStates(t, st.Partitions, "Unknown partition")
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"TabletId", "ReplicaId", "BackendId", "SchemaHash", "Version", "LstSuccessVersion", "LstFailedVersion", "LstFailedTime",
		"LocalDataSize", "RemoteDataSize", "RowCount", "State", "LstConsistencyCheckTime", "CheckVersion", "VisibleVersionCount", "VersionCount", "QueryHits",
		"PathHash", "Path", "MetaUrl", "CompactionStatus", "CooldownReplicaId", "CooldownMetaId"}}
	for _, p := range parts {
		for _, tablet := range p.tablets {
			for i := range tablet.replicas {
				rep := &tablet.replicas[i]
				bytes, rows, versions := rep.counts()
				checkedAt, checkedVersion := s.srv.checked(tablet.ID)
				r.rows = append(r.rows, []string{itoa(tablet.ID), itoa(rep.ID), itoa(rep.BackendID), "-1", itoa(rep.free), itoa(rep.free), itoa(rep.failed), "\\N",
					bytes, "0", rows, "NORMAL", checkedAt, checkedVersion, versions, versions, "0", "-1", "", "", "", "-1", ""})
			}
		}
	}
	return r, nil
}

// counts are what the BE reported of a replica, -1 where nothing is known.
func (r *replicaState) counts() (bytes, rows, versions string) {
	if !r.reported {
		return "-1", "-1", "-1"
	}
	return itoa(r.report.Bytes), itoa(r.report.Rows), itoa(r.report.Versions)
}

// showTablet tells where a tablet belongs.
func showTablet(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	if err := s.allowed(priv.Admin); err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(st.Name, 10, 64)
	if err != nil {
		return nil, doriserr.New(doriserr.Analysis, "Invalid tablet id format: %s", st.Name)
	}
	row := []string{"\\N", "\\N", "\\N", "\\N", "-1", "-1", "-1", "-1", "false", "-1", "0", "\\N"}
	s.srv.Node.View(func(state *meta.State) {
		db, t, p, tablet := findTablet(state, id)
		if tablet == nil {
			return
		}
		row = []string{db.Name, t.Name, p.Name, t.Name, itoa(db.ID), itoa(t.ID), itoa(p.ID), itoa(t.ID), "true", itoa(tablet.Bucket), "0",
			fmt.Sprintf("SHOW TABLETS FROM `%s`.`%s` WHERE TabletId = %d;", db.Name, t.Name, id)}
	})
	return &result{columns: []string{"DbName", "TableName", "PartitionName", "IndexName", "DbId", "TableId", "PartitionId", "IndexId", "IsSync", "Order",
		"QueryHits", "DetailCmd"}, rows: [][]string{row}}, nil
}

// findTablet walks all tables; the tablet is nil if no table has it.
func findTablet(st *meta.State, id int64) (*meta.Database, *meta.Table, *meta.Partition, *meta.Tablet) {
	for _, t := range st.Tables(0) {
		for _, p := range t.Partitions {
			for _, tablet := range p.Tablets {
				if tablet.ID == id {
					return st.Database(t.DBID), t, p, tablet
				}
			}
		}
	}
	return nil, nil, nil, nil
}
