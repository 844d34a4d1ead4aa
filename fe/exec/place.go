package exec

import (
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/placement"
)

// place makes a new table's partition and spreads its tablets over the backends
// of this moment.
func (s *Server) place(t *meta.Table) (*meta.Partition, error) {
	var nodes []placement.Node
	s.Node.View(func(st *meta.State) { nodes = placement.Nodes(st) })
	if err := checkReplicas(t.Props.ReplicationNum, len(nodes)); err != nil {
		return nil, err
	}
	part := &meta.Partition{Name: t.Name}
	for bucket, backends := range placement.Spread(nodes, t.Buckets, int(t.Props.ReplicationNum)) {
		tablet := &meta.Tablet{Bucket: bucket}
		for _, id := range backends {
			tablet.Replicas = append(tablet.Replicas, meta.Replica{BackendID: id})
		}
		part.Tablets = append(part.Tablets, tablet)
	}
	return part, nil
}

// checkRaise refuses a replication_num that the present backends cannot give.
func (s *Server) checkRaise(num int32) error {
	n := 0
	s.Node.View(func(st *meta.State) { n = len(placement.Nodes(st)) })
	return checkReplicas(num, n)
}

// checkReplicas refuses more replicas than there are backends that can take
// them.
func checkReplicas(num int32, available int) error {
	if int(num) > available {
		return doriserr.New(doriserr.Analysis, "replication num should be less than the number of available backends. replication num is %d, available backend num is %d", num, available)
	}
	return nil
}
