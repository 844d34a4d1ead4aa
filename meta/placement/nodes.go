package placement

import "dorisgo/meta"

// Node is a backend that may take replicas, and what it has already.
type Node struct {
	ID   int64
	Host string
	// Replicas is how many replicas it has of all tablets, Primaries of how
	// many of them it is the first.
	Replicas, Primaries int
}

// Nodes are the backends of a state that may take replicas, by id: those that
// are alive and not decommissioned. It walks all tables.
func Nodes(st *meta.State) []Node {
	var out []Node
	at := map[int64]int{}
	for _, b := range st.Backends() {
		if b.Alive && !b.Decommissioned {
			at[b.ID] = len(out)
			out = append(out, Node{ID: b.ID, Host: b.Host})
		}
	}
	for _, t := range st.Tables(0) {
		for _, p := range t.Partitions {
			for _, tablet := range p.Tablets {
				for i, r := range tablet.Replicas {
					n, ok := at[r.BackendID]
					if !ok {
						continue
					}
					out[n].Replicas++
					if i == 0 {
						out[n].Primaries++
					}
				}
			}
		}
	}
	return out
}
