package placement

import (
	"slices"
	"testing"

	"dorisgo/meta"
	"dorisgo/value"
)

func TestNodes(t *testing.T) {
	st := meta.New()
	index := uint64(0)
	apply := func(c meta.Command) meta.Result {
		index++
		res, err := st.Apply(index, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		return res
	}
	var ids []int64
	for _, name := range []string{"a", "b", "c", "d"} {
		ids = append(ids, apply(&meta.RegisterBackend{UUID: name, Host: name, RPCPort: 1}).ID)
	}
	apply(&meta.CreateDatabase{Name: "d"})
	tablet := func(at ...int) *meta.Tablet {
		out := &meta.Tablet{}
		for _, i := range at {
			out.Replicas = append(out.Replicas, meta.Replica{BackendID: ids[i]})
		}
		return out
	}
	apply(&meta.CreateTable{DB: "d", Table: &meta.Table{
		Name: "t", Keys: meta.DuplicateKeys, Buckets: 2, Columns: []meta.Column{{Name: "k", Type: value.Type{Kind: value.Int}}},
		Props: meta.Properties{ReplicationNum: 3}, Partitions: []*meta.Partition{{Name: "t", Tablets: []*meta.Tablet{tablet(0, 1, 2), tablet(1, 0, 3)}}},
	}})
	apply(&meta.DecommissionBackend{ID: ids[2]})
	apply(&meta.SetBackendAlive{ID: ids[3], BootEpoch: st.Backend(ids[3]).BootEpoch})
	want := []Node{{ids[0], "a", 2, 1}, {ids[1], "b", 2, 1}}
	if got := Nodes(st); !slices.Equal(got, want) {
		t.Errorf("nodes %v, want %v", got, want)
	}
}
