package rpc

import (
	"testing"

	"dorisgo/meta"
	"dorisgo/rpc/fepb"
)

// Reports come with heartbeats, the newest of a tablet counts, and it is that of
// the replica that the catalog names.
func TestReplicaReports(t *testing.T) {
	n := newNode(t)
	s := newServer(n)
	be := n.do(&meta.RegisterBackend{UUID: "b", Host: "be"}).ID
	n.do(&meta.CreateDatabase{Name: "d"})
	n.do(&meta.CreateTable{DB: "d", Table: table("t", be)})
	tablet := n.tableByName("d", "t").Partitions[0].Tablets[0]
	replica := tablet.Replicas[0].ID
	if _, ok := s.Replica(be, tablet.ID, replica); ok {
		t.Error("a replica is known before its report")
	}
	for rows := range int64(2) {
		_, err := s.Heartbeat(t.Context(), &fepb.HeartbeatRequest{BackendId: be, BootEpoch: 1, Replicas: []*fepb.ReplicaState{
			{TabletId: tablet.ID, ReplicaId: replica, Rows: rows},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if r, ok := s.Replica(be, tablet.ID, replica); !ok || r.Rows != 1 {
		t.Errorf("%v, %v, want the second report", r, ok)
	}
	if _, ok := s.Replica(be, tablet.ID, replica+1); ok {
		t.Error("the report of another replica of the tablet was taken")
	}
}

// A sweep keeps what the catalog has, tables in the recycle bin included.
func TestReplicaSweep(t *testing.T) {
	n := newNode(t)
	s := newServer(n)
	be := n.do(&meta.RegisterBackend{UUID: "b", Host: "be"}).ID
	n.do(&meta.CreateDatabase{Name: "d"})
	var live []*meta.Tablet
	for _, name := range []string{"kept", "dropped", "gone"} {
		n.do(&meta.CreateTable{DB: "d", Table: table(name, be)})
		tablets := n.tableByName("d", name).Partitions[0].Tablets
		var states []*fepb.ReplicaState
		for _, tablet := range tablets {
			states = append(states, &fepb.ReplicaState{TabletId: tablet.ID, ReplicaId: tablet.Replicas[0].ID})
		}
		s.noteReplicas(be, states)
		if name != "gone" {
			live = append(live, tablets...)
		}
	}
	n.do(&meta.DropTable{DB: "d", Name: "dropped"})
	n.do(&meta.DropTable{DB: "d", Name: "gone", Force: true})
	var unknown []*fepb.ReplicaState
	for i := range int64(minSweep) {
		unknown = append(unknown, &fepb.ReplicaState{TabletId: 1_000_000 + i, ReplicaId: 1})
	}
	s.noteReplicas(be, unknown)
	if len(s.replicas.states) != len(live) {
		t.Errorf("%d reports are kept, want %d", len(s.replicas.states), len(live))
	}
	for _, tablet := range live {
		if _, ok := s.Replica(be, tablet.ID, tablet.Replicas[0].ID); !ok {
			t.Errorf("the report of tablet %d was forgotten", tablet.ID)
		}
	}
}
