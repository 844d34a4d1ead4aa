package placement

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	three := []Node{{ID: 1, Host: "a"}, {ID: 2, Host: "b"}, {ID: 3, Host: "c"}}
	tests := []struct {
		name       string
		nodes      []Node
		buckets, n int
		want       string
	}{
		{"one replica", three, 4, 1, "[[1] [2] [3] [1]]"},
		{"primaries rotate", three, 4, 3, "[[1 2 3] [2 3 1] [3 1 2] [1 2 3]]"},
		{"two of three", three, 3, 2, "[[1 2] [3 1] [2 3]]"},
		{"few replicas first", []Node{{ID: 1, Host: "a", Replicas: 9, Primaries: 9}, {ID: 2, Host: "b", Replicas: 7}, {ID: 3, Host: "c", Replicas: 8}}, 2, 1, "[[2] [2]]"},
		{"hosts before load", []Node{{ID: 1, Host: "a"}, {ID: 2, Host: "a"}, {ID: 3, Host: "b", Replicas: 100}}, 2, 2, "[[1 3] [2 3]]"},
		{"one host", []Node{{ID: 1, Host: "a"}, {ID: 2, Host: "a"}, {ID: 3, Host: "a"}}, 1, 3, "[[1 2 3]]"},
		{"too few", three, 1, 4, "[]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := fmt.Sprint(Spread(tt.nodes, tt.buckets, tt.n)); got != tt.want {
				t.Errorf("placed on %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAdd(t *testing.T) {
	nodes := []Node{{ID: 1, Host: "a"}, {ID: 2, Host: "b", Replicas: 5}, {ID: 3, Host: "c", Replicas: 4}}
	if id, ok := Add(nodes, []Node{{ID: 1, Host: "a"}}); !ok || id != 3 {
		t.Errorf("added to %d, %v, want 3", id, ok)
	}
	if id, ok := Add(nodes, []Node{{ID: 9, Host: "c"}, {ID: 1, Host: "a"}}); !ok || id != 2 {
		t.Errorf("added to %d, %v, want 2: the host c has a replica", id, ok)
	}
	if id, ok := Add(nodes, nodes); ok {
		t.Errorf("added to %d, which has a replica", id)
	}
}

// Every tablet has n different backends on as many hosts as there can be, the
// same input gives the same answer, and from an even start on hosts of their
// own replicas and primaries stay even.
func TestSpreadHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		hosts := map[string]int{}
		even := rapid.Bool().Draw(t, "even")
		for i := range rapid.IntRange(1, 9).Draw(t, "nodes") {
			n := Node{ID: int64(10 + i), Host: fmt.Sprint("h", i)}
			if !even {
				n.Host = fmt.Sprint("h", rapid.IntRange(0, 4).Draw(t, "host"))
				n.Replicas = rapid.IntRange(0, 20).Draw(t, "replicas")
				n.Primaries = rapid.IntRange(0, n.Replicas).Draw(t, "primaries")
			}
			hosts[n.Host]++
			nodes = append(nodes, n)
		}
		n := rapid.IntRange(1, len(nodes)).Draw(t, "n")
		buckets := rapid.IntRange(1, 40).Draw(t, "buckets")
		before := slices.Clone(nodes)
		got := Spread(nodes, buckets, n)
		if !slices.Equal(nodes, before) {
			t.Fatal("the input was changed")
		}
		if !reflect.DeepEqual(got, Spread(nodes, buckets, n)) {
			t.Fatal("a second call differs")
		}
		if len(got) != buckets {
			t.Fatalf("%d tablets for %d buckets", len(got), buckets)
		}
		replicas, primaries := map[int64]int{}, map[int64]int{}
		for _, tablet := range got {
			checkTablet(t, nodes, tablet, n, len(hosts))
			primaries[tablet[0]]++
			for _, id := range tablet {
				replicas[id]++
			}
		}
		if even {
			checkEven(t, "replicas", nodes, replicas, 1)
			checkEven(t, "primaries", nodes, primaries, 2)
		}
	})
}

func checkTablet(t *rapid.T, nodes []Node, tablet []int64, n, hosts int) {
	ids, on := map[int64]bool{}, map[string]bool{}
	for _, id := range tablet {
		i := slices.IndexFunc(nodes, func(n Node) bool { return n.ID == id })
		if i < 0 {
			t.Fatalf("%v names backend %d, which may take nothing", tablet, id)
		}
		ids[id], on[nodes[i].Host] = true, true
	}
	if len(ids) != n {
		t.Fatalf("%v are not %d different backends", tablet, n)
	}
	if len(on) != min(n, hosts) {
		t.Fatalf("%v are on %v, there are %d hosts", tablet, slices.Sorted(maps.Keys(on)), hosts)
	}
}

func checkEven(t *rapid.T, what string, nodes []Node, count map[int64]int, most int) {
	low, high := count[nodes[0].ID], count[nodes[0].ID]
	for _, n := range nodes {
		low, high = min(low, count[n.ID]), max(high, count[n.ID])
	}
	if high-low > most {
		t.Fatalf("%s are uneven: %v", what, count)
	}
}
