package placement

import (
	"cmp"
	"slices"
)

// Spread chooses backends for a partition: for each of its buckets the ids of n
// different ones, the primary first. It returns nil if there are fewer nodes
// than n.
//
// A tablet's replicas are on as many hosts as possible. Among the backends that
// this leaves, those with fewest replicas are taken first, and the one of them
// that is primary of fewest tablets is the primary. nodes is left as it is.
func Spread(nodes []Node, buckets, n int) [][]int64 {
	if n > len(nodes) {
		return nil
	}
	nodes = slices.Clone(nodes)
	out := make([][]int64, buckets)
	for b := range out {
		var set []*Node
		for range n {
			next := pick(nodes, set)
			set = append(set, next)
		}
		slices.SortStableFunc(set, func(x, y *Node) int { return cmp.Compare(x.Primaries, y.Primaries) })
		for i, node := range set {
			node.Replicas++
			if i == 0 {
				node.Primaries++
			}
			out[b] = append(out[b], node.ID)
		}
	}
	return out
}

// Add chooses the backend for one more replica of a tablet that has replicas on
// some already; ok is false if there is none.
func Add(nodes []Node, have []Node) (id int64, ok bool) {
	set := make([]*Node, len(have))
	for i := range have {
		set[i] = &have[i]
	}
	next := pick(nodes, set)
	if next == nil {
		return 0, false
	}
	return next.ID, true
}

// pick is the node that suits a tablet best whose replicas are in set, nil if
// there is none: on the host with fewest of them, then with fewest replicas,
// then the smallest id.
func pick(nodes []Node, set []*Node) *Node {
	var best *Node
	var bestRank [3]int64
	for i := range nodes {
		n := &nodes[i]
		rank := [3]int64{0, int64(n.Replicas), n.ID}
		taken := false
		for _, s := range set {
			taken = taken || s.ID == n.ID
			if s.Host == n.Host {
				rank[0]++
			}
		}
		if !taken && (best == nil || slices.Compare(rank[:], bestRank[:]) < 0) {
			best, bestRank = n, rank
		}
	}
	return best
}
