package exec

import (
	"context"
	"fmt"
	"strings"

	"dorisgo/meta"
	"dorisgo/meta/prop"
	"dorisgo/sql/ddl"
)

func showPartitions(_ context.Context, s *Session, st *ddl.Show) (*result, error) {
	_, t, err := s.tableOf(st.Table)
	if err != nil {
		return nil, err
	}
	parts, err := s.srv.partitionStates(t, nil, "")
	if err != nil {
		return nil, err
	}
	r := &result{columns: []string{"PartitionId", "PartitionName", "VisibleVersion", "VisibleVersionTime", "State", "PartitionKey", "Range", "DistributionKey",
		"Buckets", "ReplicationNum", "StorageMedium", "CooldownTime", "RemoteStoragePolicy", "LastConsistencyCheckTime", "DataSize", "IsInMemory",
		"ReplicaAllocation", "IsMutable", "SyncWithBaseTables", "UnsyncTables", "CommittedVersion", "RowCount"}}
	for i := range parts {
		p := &parts[i]
		size, count := "", ""
		if rows, bytes, known := p.sizes(); known {
			size, count = byteText(bytes), itoa(rows)
		}
		r.rows = append(r.rows, []string{itoa(p.ID), p.Name, itoa(p.version.Visible), wallText(p.version.VisibleTimeMs), "NORMAL", "", "", distributionKey(t),
			itoa(len(p.Tablets)), itoa(t.Props.ReplicationNum), strings.ToUpper(t.Props.StorageMedium), "9999-12-31 23:59:59", "", "\\N", size, "false",
			prop.Allocation(t.Props.ReplicationNum), "true", "true", "\\N", itoa(p.version.Committed), count})
	}
	return r, nil
}

// distributionKey names a table's HASH columns.
func distributionKey(t *meta.Table) string {
	if len(t.DistCols) == 0 {
		return "RANDOM"
	}
	var names []string
	for _, i := range t.DistCols {
		names = append(names, t.Columns[i].Name)
	}
	return strings.Join(names, ", ")
}

// byteText is a number of bytes as Doris prints it: 1.500 KB.
func byteText(n int64) string {
	v, unit := float64(n), ""
	for _, u := range []string{"KB", "MB", "GB", "TB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	return fmt.Sprintf("%.3f %s", v, unit)
}
