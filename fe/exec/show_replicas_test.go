package exec

import (
	"fmt"
	"strings"
	"testing"

	"dorisgo/client"
	"dorisgo/meta"
	"dorisgo/meta/txn"
)

// replicated is replicatedThrough with a gap: the third replica of the first
// tablet lacks version 3.
func replicated(t *testing.T) (*world, *meta.Table, func(string) (*client.Result, error)) {
	t.Helper()
	return replicatedThrough(t, 2)
}

// replicatedThrough is a table db.t at version 3 of two tablets with three
// replicas; version 3 brought rows to the first holders replicas of the first
// tablet.
func replicatedThrough(t *testing.T, holders int) (*world, *meta.Table, func(string) (*client.Result, error)) {
	t.Helper()
	w, session := start(t)
	run := session("root")
	do := func(c meta.Command) meta.Result {
		t.Helper()
		res, err := w.Change(t.Context(), c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		return res
	}
	do(&meta.RegisterBackend{UUID: "b3", Host: "be3", HTTPPort: 1, RPCPort: 2, HeartbeatPort: 3})
	must(t, run, "CREATE DATABASE db", "USE db", `CREATE TABLE t (id INT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 2 PROPERTIES("replication_num"="3")`)
	var tb *meta.Table
	w.View(func(st *meta.State) { tb = st.Tables(0)[0] })
	p := tb.Partitions[0]
	for v := range 2 {
		id := do(&meta.BeginTxn{DBID: tb.DBID, TableID: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: tb.SchemaVersion, Label: fmt.Sprint("l", v), TimeoutMs: 1000}).ID
		var bes []int64
		for _, r := range p.Tablets[0].Replicas[:[]int{3, holders}[v]] {
			bes = append(bes, r.BackendID)
		}
		do(&meta.CommitTxn{TxnID: id, Partitions: []txn.PartitionCommit{{PartitionID: p.ID, Tablets: []txn.TabletCommit{
			{TabletID: p.Tablets[0].ID, RowsetID: [16]byte{byte(v)}, Rows: 1, Backends: bes},
		}}}})
		do(&meta.PublishDone{TxnID: id, BackendIDs: bes})
	}
	w.reports = map[int64]ReplicaReport{}
	for i, tablet := range p.Tablets {
		for j, r := range tablet.Replicas {
			w.reports[r.ID] = ReplicaReport{Through: int64(3 - j), Rows: int64(10*i + 3 - j), Bytes: 1000, Versions: int64(2 - i)}
		}
	}
	return w, tb, run
}

// shown prints a result with the ids of the test replaced by names.
func shown(tb *meta.Table, r *client.Result, columns ...string) string {
	names := []string{}
	for i, tablet := range tb.Partitions[0].Tablets {
		names = append(names, fmt.Sprint(tablet.ID), fmt.Sprint("tablet", i))
		for j, rep := range tablet.Replicas {
			names = append(names, fmt.Sprint(rep.ID), fmt.Sprint("replica", i, ".", j))
		}
	}
	for _, rep := range tb.Partitions[0].Tablets[0].Replicas {
		names = append(names, fmt.Sprint(rep.BackendID), fmt.Sprint("be", rep.BackendID-tb.Partitions[0].Tablets[0].Replicas[0].BackendID))
	}
	names = append(names, fmt.Sprint(tb.Partitions[0].ID), "part", fmt.Sprint(tb.ID), "table", fmt.Sprint(tb.DBID), "db")
	replace := strings.NewReplacer(names...)
	var out strings.Builder
	for _, row := range r.Rows {
		var cells []string
		for i, c := range r.Columns {
			for _, want := range columns {
				if c == want {
					cells = append(cells, replace.Replace(*row[i]))
				}
			}
			if len(columns) == 0 {
				cells = append(cells, replace.Replace(*row[i]))
			}
		}
		out.WriteString(strings.Join(cells, "|") + "\n")
	}
	return out.String()
}

func header(r *client.Result) string { return strings.Join(r.Columns, " ") }

func TestShowReplicas(t *testing.T) {
	w, tb, run := replicated(t)
	dead := tb.Partitions[0].Tablets[0].Replicas[1].BackendID
	if _, err := w.Change(t.Context(), &meta.SetBackendAlive{ID: dead, BootEpoch: 1}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		stmt, header string
		columns      []string
		want         string
	}{
		{"ADMIN SHOW REPLICA STATUS FROM db.t", "TabletId ReplicaId BackendId Version LastFailedVersion LastSuccessVersion CommittedVersion SchemaHash VersionNum IsBad IsUserDrop State Status", nil, `tablet0|replica0.0|be0|3|-1|3|3|-1|2|false|false|NORMAL|OK
tablet0|replica0.1|be1|3|-1|3|3|-1|2|false|false|NORMAL|DEAD
tablet0|replica0.2|be2|2|3|2|3|-1|2|false|false|NORMAL|VERSION_ERROR
tablet1|replica1.0|be1|3|-1|3|3|-1|1|false|false|NORMAL|DEAD
tablet1|replica1.1|be2|3|-1|3|3|-1|1|false|false|NORMAL|OK
tablet1|replica1.2|be0|3|-1|3|3|-1|1|false|false|NORMAL|OK
`},
		{`SHOW REPLICA STATUS FROM t PARTITION (t) WHERE STATUS = "version_error"`, "", []string{"ReplicaId"}, "replica0.2\n"},
		{`SHOW REPLICA STATUS FROM t WHERE STATUS != "OK"`, "", []string{"ReplicaId"}, "replica0.1\nreplica0.2\nreplica1.0\n"},
		{"ADMIN SHOW REPLICA DISTRIBUTION FROM t", "BackendId ReplicaNum ReplicaSize NumGraph NumPercent SizeGraph SizePercent CloudClusterName CloudClusterId",
			[]string{"BackendId", "ReplicaNum", "ReplicaSize", "NumPercent", "SizePercent"}, "be0|2|2000|33.33 %|33.33 %\nbe1|2|2000|33.33 %|33.33 %\nbe2|2|2000|33.33 %|33.33 %\n"},
		{"SHOW TABLETS FROM db.t", "TabletId ReplicaId BackendId SchemaHash Version LstSuccessVersion LstFailedVersion LstFailedTime LocalDataSize RemoteDataSize RowCount State " +
			"LstConsistencyCheckTime CheckVersion VisibleVersionCount VersionCount QueryHits PathHash Path MetaUrl CompactionStatus CooldownReplicaId CooldownMetaId", nil,
			`tablet0|replica0.0|be0|-1|3|3|-1|\N|1000|0|3|NORMAL|\N|-1|2|2|0|-1||||-1|
tablet0|replica0.1|be1|-1|3|3|-1|\N|1000|0|2|NORMAL|\N|-1|2|2|0|-1||||-1|
tablet0|replica0.2|be2|-1|2|2|3|\N|1000|0|1|NORMAL|\N|-1|2|2|0|-1||||-1|
tablet1|replica1.0|be1|-1|3|3|-1|\N|1000|0|13|NORMAL|\N|-1|1|1|0|-1||||-1|
tablet1|replica1.1|be2|-1|3|3|-1|\N|1000|0|12|NORMAL|\N|-1|1|1|0|-1||||-1|
tablet1|replica1.2|be0|-1|3|3|-1|\N|1000|0|11|NORMAL|\N|-1|1|1|0|-1||||-1|
`},
		{"SHOW TABLETS FROM t PARTITION (t) WHERE Version = 3 ORDER BY RowCount LIMIT 1, 2", "", []string{"ReplicaId"}, "replica0.0\nreplica1.2\n"},
		{fmt.Sprintf("SHOW TABLET %d", tb.Partitions[0].Tablets[1].ID), "DbName TableName PartitionName IndexName DbId TableId PartitionId IndexId IsSync Order QueryHits DetailCmd", nil,
			"db|t|t|t|db|table|part|table|true|1|0|SHOW TABLETS FROM `db`.`t` WHERE TabletId = tablet1;\n"},
		{"SHOW TABLET 1", "", nil, `\N|\N|\N|\N|-1|-1|-1|-1|false|-1|0|\N` + "\n"},
		{"SHOW PARTITIONS FROM t WHERE PartitionName = 't' ORDER BY PartitionId LIMIT 1", "PartitionId PartitionName VisibleVersion VisibleVersionTime State PartitionKey Range DistributionKey " +
			"Buckets ReplicationNum StorageMedium CooldownTime RemoteStoragePolicy LastConsistencyCheckTime DataSize IsInMemory ReplicaAllocation IsMutable SyncWithBaseTables UnsyncTables CommittedVersion RowCount",
			[]string{"PartitionId", "PartitionName", "VisibleVersion", "ReplicationNum", "DataSize", "ReplicaAllocation", "CommittedVersion", "RowCount"},
			"part|t|3|3|5.859 KB|tag.location.default: 3|3|16\n"},
	} {
		r, err := run(tc.stmt)
		if err != nil {
			t.Errorf("%s: %v", tc.stmt, err)
			continue
		}
		if tc.header != "" && header(r) != tc.header {
			t.Errorf("%s has the columns\n%s, want\n%s", tc.stmt, header(r), tc.header)
		}
		if got := shown(tb, r, tc.columns...); got != tc.want {
			t.Errorf("%s shows\n%swant\n%s", tc.stmt, got, tc.want)
		}
	}
}

// Replicas that a tablet should have and has not are MISSING; what no BE
// reported is not made up.
func TestShowMissingReplicas(t *testing.T) {
	w, tb, run := replicated(t)
	if _, err := w.Change(t.Context(), &meta.RegisterBackend{UUID: "b4", Host: "be4", RPCPort: 2}); err != nil {
		t.Fatal(err)
	}
	w.reports = nil
	must(t, run, `ALTER TABLE t SET ("replication_num" = "4")`)
	r, err := run(`SHOW REPLICA STATUS FROM t WHERE status = 'MISSING'`)
	if err != nil {
		t.Fatal(err)
	}
	if want := "tablet0|-1|-1|-1|-1|-1|-1|-1|-1|\\N|\\N|\\N|MISSING\ntablet1|-1|-1|-1|-1|-1|-1|-1|-1|\\N|\\N|\\N|MISSING\n"; shown(tb, r) != want {
		t.Errorf("missing:\n%s, want\n%s", shown(tb, r), want)
	}
	for stmt, want := range map[string]string{"SHOW TABLETS FROM t LIMIT 1": "-1", "SHOW PARTITIONS FROM t": ""} {
		r, err := run(stmt)
		if err != nil || shown(tb, r, "RowCount") != want+"\n" {
			t.Errorf("%s: %v, %v", stmt, r, err)
		}
	}
	r, err = run("SHOW CREATE TABLE t")
	if err != nil || !strings.Contains(*r.Rows[0][1], `"replication_allocation" = "tag.location.default: 4"`) {
		t.Errorf("SHOW CREATE TABLE: %v, %v", r, err)
	}
	for stmt, want := range map[string]string{
		"SHOW TABLETS FROM t PARTITION (x)":                "Unknown partition: x",
		"SHOW REPLICA STATUS FROM t PARTITION (x)":         "Partition does not exist: x",
		"SHOW REPLICA STATUS FROM t WHERE Status = 'GONE'": "Where clause should looks like: status =/!= 'OK/DEAD/VERSION_ERROR/SCHEMA_ERROR/MISSING'",
		"SHOW REPLICA STATUS FROM t WHERE BackendId = 1":   "Where clause should looks like",
		"SHOW TABLET 'x'": "Invalid tablet id format: x",
		`ALTER TABLE t SET ("replication_num" = "5")`:              "replication num should be less than the number of available backends. replication num is 5, available backend num is 4",
		`ALTER TABLE t SET ("default.replication_num" = "5")`:      "replication num is 5, available backend num is 4",
		`ALTER TABLE t SET ("replication_allocation" = "default")`: "Invalid replication allocation property: default",
	} {
		if _, err := run(stmt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", stmt, err, want)
		}
	}
}

func TestByteText(t *testing.T) {
	for n, want := range map[int64]string{0: "0.000 ", 1023: "1023.000 ", 1536: "1.500 KB", 3 << 20: "3.000 MB", 5 << 30: "5.000 GB", 1 << 50: "1024.000 TB"} {
		if got := byteText(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}

func TestGraphs(t *testing.T) {
	for _, tc := range []struct {
		n, total int64
		bars     int
		percent  string
	}{{0, 0, 100, "100.00%"}, {0, 3, 0, "00.00 %"}, {1, 3, 33, "33.33 %"}, {2, 3, 66, "66.67 %"}, {3, 3, 100, "100.00%"}} {
		if got := len(graph(tc.n, tc.total)); got != tc.bars || percent(tc.n, tc.total) != tc.percent {
			t.Errorf("%d of %d: %d bars and %s", tc.n, tc.total, got, percent(tc.n, tc.total))
		}
	}
}
