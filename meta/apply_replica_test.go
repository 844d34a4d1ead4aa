package meta

import (
	"fmt"
	"testing"

	"dorisgo/doriserr"
	"dorisgo/meta/txn"
)

// register starts a life of backend number i, whose only disk is root.
func (r *room) register(i int, root string, accept ...string) int64 {
	r.Helper()
	return r.do(&RegisterBackend{
		UUID: fmt.Sprint(i), Host: fmt.Sprint("h", i), HeartbeatPort: 9050, Dirs: []BackendDir{{UUID: root, Path: "/r"}}, AcceptLoss: accept,
	}).ID
}

// TestALostDiskCountsForNothing: a disk with several replicas is lost. While the
// first of them is replaced the others are still there by the catalog, but not
// one of them makes anything VISIBLE any more.
func TestALostDiskCountsForNothing(t *testing.T) {
	r := &room{T: t, s: New(), boot: 1}
	r.do(&InitCluster{ClusterID: "c"})
	var be []int64
	for i := range 4 {
		be = append(be, r.register(i, fmt.Sprint("root", i)))
	}
	r.db = r.do(&CreateDatabase{Name: "d"}).ID
	def := r.newTable("t")
	part := &Partition{Name: "p"}
	for i := range 2 {
		tablet := &Tablet{Bucket: i}
		for _, b := range be[:3] {
			tablet.Replicas = append(tablet.Replicas, Replica{BackendID: b})
		}
		part.Tablets = append(part.Tablets, tablet)
	}
	def.Buckets, def.Props.ReplicationNum, def.Partitions = 2, 3, []*Partition{part}
	r.do(&CreateTable{DB: "d", Table: def})
	first := r.table("t").Partitions[0].Tablets[0].ID
	r.do(&AddReplica{TabletID: first, BackendID: be[3]})
	r.do(&ReportReplica{Event: ReplicaRepaired, TabletID: first, BackendID: be[3], BootEpoch: 1, Version: 1})
	table := r.table("t")
	part = table.Partitions[0]
	tx := r.do(&BeginTxn{DBID: r.db, TableID: table.ID, TableEpoch: table.Epoch, SchemaVersion: table.SchemaVersion, Label: "l", TimeoutMs: 1000}).Txn
	r.do(&CommitTxn{TxnID: tx.ID, Partitions: []txn.PartitionCommit{{PartitionID: part.ID, Tablets: []txn.TabletCommit{
		{TabletID: part.Tablets[0].ID, RowsetID: [16]byte{1}, Rows: 1, Backends: be[1:]},
		{TabletID: part.Tablets[1].ID, RowsetID: [16]byte{2}, Rows: 1, Backends: be[:2]},
	}}}})
	// The first tablet has two of four, the second one two of three.
	if got := r.do(&PublishDone{TxnID: tx.ID, BackendIDs: []int64{be[0], be[1], be[3]}}).Txn.State; got != txn.Committed {
		t.Fatalf("it is %s", got)
	}
	r.register(0, "new", "root0")
	// Now the first one has two of three, and the second one one of two.
	if got := r.s.Txn(tx.ID).State; got != txn.Committed {
		t.Errorf("after the loss it is %s", got)
	}
}

// TestTheLastReplicaOfAnEmptyTablet: all disks of a tablet without rows are lost.
// The last replica has no other to be cloned from and goes on as it is, and the
// others are cloned from it.
func TestTheLastReplicaOfAnEmptyTablet(t *testing.T) {
	r := &room{T: t, s: New(), boot: 1}
	r.do(&InitCluster{ClusterID: "c"})
	tablet := &Tablet{}
	for i := range 3 {
		tablet.Replicas = append(tablet.Replicas, Replica{BackendID: r.register(i, fmt.Sprint("root", i))})
	}
	r.db = r.do(&CreateDatabase{Name: "d"}).ID
	def := r.newTable("t")
	def.Buckets, def.Props.ReplicationNum, def.Partitions = 1, 3, []*Partition{{Name: "p", Tablets: []*Tablet{tablet}}}
	r.do(&CreateTable{DB: "d", Table: def})
	for i := range 3 {
		r.register(i, fmt.Sprint("new", i), fmt.Sprint("root", i))
	}
	for i, rep := range r.table("t").Partitions[0].Tablets[0].Replicas {
		if want := i < 2; rep.Cloning != want {
			t.Errorf("replica %d: cloning %v, want %v", i, rep.Cloning, want)
		}
	}
}

// TestACommitNamesReplicas: a replica that took another's place on the same
// backend between a load's write and its commit has none of the load's rows.
func TestACommitNamesReplicas(t *testing.T) {
	r := &room{T: t, s: New(), boot: 1}
	r.do(&InitCluster{ClusterID: "c"})
	var be []int64
	for i := range 3 {
		be = append(be, r.do(&RegisterBackend{UUID: fmt.Sprint(i), Host: fmt.Sprint("h", i), HeartbeatPort: 9050}).ID)
	}
	r.db = r.do(&CreateDatabase{Name: "d"}).ID
	def := r.newTable("t")
	tablet := &Tablet{}
	for _, b := range be {
		tablet.Replicas = append(tablet.Replicas, Replica{BackendID: b})
	}
	def.Buckets, def.Props.ReplicationNum, def.Partitions = 1, 3, []*Partition{{Name: "p", Tablets: []*Tablet{tablet}}}
	r.do(&CreateTable{DB: "d", Table: def})
	table := r.table("t")
	part := table.Partitions[0]
	old := part.Tablets[0].Replicas
	tx := r.do(&BeginTxn{DBID: r.db, TableID: table.ID, TableEpoch: table.Epoch, SchemaVersion: table.SchemaVersion, Label: "l", TimeoutMs: 1000}).Txn
	commit := &CommitTxn{TxnID: tx.ID, Partitions: []txn.PartitionCommit{{PartitionID: part.ID, Tablets: []txn.TabletCommit{{
		TabletID: part.Tablets[0].ID, RowsetID: [16]byte{1}, Rows: 1, Backends: be[:2], Replicas: []int64{old[0].ID, old[1].ID},
	}}}}}
	r.do(&DropReplica{TabletID: part.Tablets[0].ID, ReplicaID: old[0].ID})
	fresh := r.do(&AddReplica{TabletID: part.Tablets[0].ID, BackendID: be[0]}).ID
	if !r.table("t").Partitions[0].Tablets[0].Replicas[2].Cloning {
		t.Fatal("the new replica counts before it was cloned")
	}
	r.do(&ReportReplica{Event: ReplicaRepaired, TabletID: part.Tablets[0].ID, BackendID: be[0], BootEpoch: 1, ReplicaID: fresh, Version: 1})
	r.refused(commit, doriserr.FewReplicas, "succ replica num 1 < load required replica num 2")
	commit.Partitions[0].Tablets[0].Replicas[0] = fresh
	if got := r.do(commit).Txn; got.State != txn.Committed || len(got.Partitions[0].Tablets[0].Backends) != 2 || got.Partitions[0].Tablets[0].Replicas != nil {
		t.Errorf("written again: %+v", got)
	}
}

// TestALostDiskBesideAnother: a backend that lost one of two disks keeps what it
// reported durable as long as it has another replica of the partition: that one may
// be the last to need the publish log.
func TestALostDiskBesideAnother(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		r := &room{T: t, s: New(), boot: 1}
		r.do(&InitCluster{ClusterID: "c"})
		register := func(i int, root string, left []int64, accept ...string) int64 {
			return r.do(&RegisterBackend{
				UUID: fmt.Sprint(i), Host: fmt.Sprint("h", i), HeartbeatPort: 9050, Replicas: left, AcceptLoss: accept,
				Dirs: []BackendDir{{UUID: root, Path: "/r"}, {UUID: fmt.Sprint("second", i), Path: "/s"}},
			}).ID
		}
		var be []int64
		for i := range 3 {
			be = append(be, register(i, fmt.Sprint("root", i), nil))
		}
		r.db = r.do(&CreateDatabase{Name: "d"}).ID
		def := r.newTable("t")
		part := &Partition{Name: "p"}
		for i := range 2 {
			tablet := &Tablet{Bucket: i}
			for _, b := range be {
				tablet.Replicas = append(tablet.Replicas, Replica{BackendID: b})
			}
			part.Tablets = append(part.Tablets, tablet)
		}
		def.Buckets, def.Props.ReplicationNum, def.Partitions = 2, 3, []*Partition{part}
		r.do(&CreateTable{DB: "d", Table: def})
		table := r.table("t")
		part = table.Partitions[0]
		for i := range 2 {
			tx := r.do(&BeginTxn{DBID: r.db, TableID: table.ID, TableEpoch: table.Epoch, SchemaVersion: table.SchemaVersion, Label: fmt.Sprint(i), TimeoutMs: 1000}).Txn
			r.do(&CommitTxn{TxnID: tx.ID, Partitions: []txn.PartitionCommit{{PartitionID: part.ID, Tablets: []txn.TabletCommit{
				{TabletID: part.Tablets[0].ID, RowsetID: [16]byte{byte(i), 1}, Rows: 1, Backends: be},
			}}}})
			r.do(&PublishDone{TxnID: tx.ID, BackendIDs: be})
		}
		for i, b := range be {
			durable := int64(3)
			if i == 0 {
				durable = 2
			}
			r.do(&ReportDurable{BackendID: b, BootEpoch: 1, Versions: []DurableVersion{{PartitionID: part.ID, Version: durable}}})
		}
		if base := r.s.LogBase(part.ID); base != 2 {
			t.Fatalf("the log begins after %d", base)
		}
		var left []int64
		if keeps {
			left = []int64{part.Tablets[0].Replicas[0].ID}
		}
		register(0, "new", left, "root0")
		if behind := r.s.BehindLog(part.ID, be[0]); behind == keeps {
			t.Errorf("with another replica %v, the backend is behind the log: %v", keeps, behind)
		}
		now := r.table("t").Partitions[0].Tablets[1].Replicas[0]
		if !now.Cloning || now.ID == part.Tablets[1].Replicas[0].ID {
			t.Errorf("the lost replica became %+v", now)
		}
	}
}
