package testcluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dorisgo/storage"
)

// TestCheckTablets compares replicas that are laid out differently, and heals
// one that was taken out of service.
func TestCheckTablets(t *testing.T) {
	c := start(t, 1, 3)
	s := connect(t, c, 0)
	created(s, "d", columns, fmt.Sprintf(props, 1, 3, 20))
	for i := range 20 {
		s.exec(fmt.Sprintf("INSERT INTO t VALUES (%d, 'x%d', NULL), (%d, 'y', 1)", i, i, -i))
	}
	c.whole(t, "t", 3)
	part := c.table(t, "d", "t").Partitions[0]
	tablet := part.Tablets[0]
	if err := c.BEs[1].Node.Engine.Flush(t.Context(), tablet.ID); err != nil {
		t.Fatal(err)
	}
	sums := map[storage.ContentSum]int{}
	for _, b := range c.BEs {
		sum, err := b.Node.Engine.Checksum(t.Context(), part.ID, tablet.ID, 0, b.Node.Engine.PublishedVersion(part.ID))
		if err != nil {
			t.Fatal(err)
		}
		sums[sum]++
	}
	if len(sums) != 1 {
		t.Errorf("sums %v", sums)
	}
	check := fmt.Sprintf(`ADMIN CHECK TABLET (%d) PROPERTIES ("type" = "consistency")`, tablet.ID)
	s.exec(check)
	checked := func() bool {
		out, err := s.rows("SHOW TABLETS FROM t")
		return err == nil && len(out) == 3 && strings.Contains(out[0], "NORMAL,20")
	}
	if !poll(t, 10*time.Second, checked) {
		out, err := s.rows("SHOW TABLETS FROM t")
		t.Errorf("the check left no trace: %v, %v", out, err)
	}
	s.refused("ADMIN CHECK TABLET (1)", "type")
	s.refused(`ADMIN CHECK TABLET (1) PROPERTIES ("type" = "speed")`, "type")

	b := c.BEs[2].Node
	id := int64(0)
	for _, r := range tablet.Replicas {
		if r.BackendID == b.ID {
			id = r.ID
		}
	}
	if err := b.Engine.Distrust(t.Context(), part.ID, storage.TabletReplica{TabletID: tablet.ID, ReplicaID: id}); err != nil {
		t.Fatal(err)
	}
	healed := func() bool {
		for _, r := range b.Engine.Replicas() {
			if r.TabletID == tablet.ID {
				return r.Hole == 0
			}
		}
		return false
	}
	if !poll(t, 30*time.Second, healed) {
		t.Error("the replica was not cloned anew")
	}
	c.whole(t, "t", 3)
	c.sameRows(t, "t", 40)
}
