package tabletsched

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dorisgo/meta"
)

func input() *Input {
	l := DefaultLimits()
	l.RepairDelayMs = 5000
	return &Input{Limits: l}
}

// on are the backends of a tablet, sorted.
func (c *cluster) on(table int64, tablet int) (out []int64) {
	for _, r := range c.tableByID(table).Partitions[0].Tablets[tablet].Replicas {
		out = append(out, r.BackendID)
	}
	slices.Sort(out)
	return out
}

// TestHole: a replica that lacks a version is cloned from one that has it, not
// before the delay in which a late write may end.
func TestHole(t *testing.T) {
	c := newCluster(t, 3)
	be := c.backends()
	id := c.table("t", be).ID
	c.commit(id)
	c.commit(id, be[2])
	in := input()
	for now, want := range []int{0, 0, 1} {
		in.NowMs = int64(now) * 1000
		var plan Plan
		c.View(func(s *meta.State) { plan = Make(s, in) })
		if len(plan.Clones) != want || plan.Unhealthy != 1 || len(plan.Adds)+len(plan.Drops) > 0 {
			t.Fatalf("after %d s: %+v", now, plan)
		}
		if want == 1 {
			if o := plan.Clones[0]; o.Replica.BackendID != be[2] || o.Source == be[2] || o.Version != 3 || o.Base != 1 || len(o.Replicas) != 1 {
				t.Errorf("%+v", o)
			}
		}
	}
	in.Busy = map[int64]Clone{c.tableByID(id).Partitions[0].Tablets[0].Replicas[2].ID: {Source: be[0]}}
	var plan Plan
	c.View(func(s *meta.State) { plan = Make(s, in) })
	if plan.steps() > 0 {
		t.Errorf("while it runs: %+v", plan)
	}
	in.Busy = nil
	c.settle(in, 20)
	c.wantWhole(3)
}

// TestEmptyTablet: a new replica of a tablet without rows is cloned at once, before
// it counts.
func TestEmptyTablet(t *testing.T) {
	c := newCluster(t, 4)
	be := c.backends()
	id := c.table("t", be[:3]).ID
	c.do(&meta.AddReplica{TabletID: c.tableByID(id).Partitions[0].Tablets[0].ID, BackendID: be[3]})
	in := input()
	in.Limits.DisableBalance = true
	var plan Plan
	c.View(func(s *meta.State) { plan = Make(s, in) })
	if len(plan.Clones) != 1 || plan.Clones[0].Replica.BackendID != be[3] || plan.Clones[0].Version != 1 || len(plan.Drops) > 0 {
		t.Fatalf("%+v", plan)
	}
	c.settle(in, 20)
	c.wantWhole(3)
}

// TestAnotherSourceIsTried: after a failure the next source is asked, in turn.
func TestAnotherSourceIsTried(t *testing.T) {
	c := newCluster(t, 3)
	be := c.backends()
	id := c.table("t", be).ID
	c.commit(id)
	c.commit(id, be[2])
	in := &Input{Limits: DefaultLimits(), Tries: map[int64]int{}}
	in.Limits.HoleDelayMs = 0
	replica := c.tableByID(id).Partitions[0].Tablets[0].Replicas[2].ID
	for tries, want := range []int64{be[0], be[1], be[0]} {
		in.Tries[replica] = tries
		var plan Plan
		c.View(func(s *meta.State) { plan = Make(s, in) })
		if len(plan.Clones) != 1 || plan.Clones[0].Source != want {
			t.Errorf("after %d failures: %+v, want a clone from %d", tries, plan.Clones, want)
		}
	}
}

// TestDeadBackend: after the delay its replicas are made anew elsewhere, then
// dropped; one that comes back in time keeps them.
func TestDeadBackend(t *testing.T) {
	c := newCluster(t, 4)
	be := c.backends()
	id := c.table("t", be[:3], be[:3]).ID
	c.commit(id)
	in := input()
	c.setAlive(be[0], false)
	for range 4 {
		in.NowMs += 1000
		if plan := c.step(in); plan.steps() > 0 {
			t.Fatalf("in the delay: %+v", plan)
		}
	}
	c.setAlive(be[0], true)
	c.settle(in, 40)
	c.setAlive(be[0], false)
	c.settle(in, 40)
	for i := range 2 {
		if on := c.on(id, i); !slices.Equal(on, be[1:]) {
			t.Errorf("tablet %d is on %v", i, on)
		}
	}
	c.wantWhole(3)
}

// TestTooFewBackends: without a place for a new replica the old ones stay.
func TestTooFewBackends(t *testing.T) {
	c := newCluster(t, 3)
	be := c.backends()
	id := c.table("t", be).ID
	c.commit(id)
	c.setAlive(be[0], false)
	c.settle(input(), 40)
	if on := c.on(id, 0); !slices.Equal(on, be) {
		t.Errorf("the tablet is on %v", on)
	}
}

// TestDecommission: replicas move away, then the backend is dropped.
func TestDecommission(t *testing.T) {
	c := newCluster(t, 4)
	be := c.backends()
	id := c.table("t", be[:3], be[1:]).ID
	c.commit(id)
	c.do(&meta.DecommissionBackend{ID: be[1]})
	c.settle(input(), 60)
	if left := c.backends(); !slices.Equal(left, []int64{be[0], be[2], be[3]}) {
		t.Errorf("backends %v", left)
	}
	c.wantWhole(3)
}

// TestReplicationNum: replicas follow ALTER TABLE.
func TestReplicationNum(t *testing.T) {
	c := newCluster(t, 4)
	be := c.backends()
	table := c.table("t", be[:1], be[1:2])
	c.commit(table.ID)
	for _, n := range []int32{3, 2, 1, 4} {
		c.View(func(s *meta.State) {
			next := *s.Table(table.ID)
			next.Props.ReplicationNum = n
			*s.Table(table.ID) = next
		})
		c.settle(input(), 60)
		c.commit(table.ID)
		for i := range 2 {
			if on := c.on(table.ID, i); len(on) != int(n) {
				t.Errorf("replication_num %d: tablet %d is on %v", n, i, on)
			}
		}
	}
}

// TestHosts: a new replica goes to another host if there is one.
func TestHosts(t *testing.T) {
	c := newCluster(t, 2)
	be := c.backends()
	twin := c.join("h1")
	other := c.join("")
	// The other backend has more replicas, and is taken all the same.
	c.table("filler", []int64{other}, []int64{other}, []int64{other})
	id := c.table("t", be).ID
	c.commit(id)
	in := input()
	in.Limits.DisableBalance = true
	c.setAlive(be[1], false)
	c.settle(in, 40)
	if on := c.on(id, 0); !slices.Equal(on, []int64{be[0], other}) {
		t.Errorf("the tablet is on %v; %d shares a host with %d", on, twin, be[0])
	}
}

// TestBalance: a backend that joins gets its share, a full one gets nothing.
func TestBalance(t *testing.T) {
	c := newCluster(t, 2)
	be := c.backends()
	var tablets [][]int64
	for i := range 24 {
		tablets = append(tablets, []int64{be[i%2]})
	}
	id := c.table("t", tablets...).ID
	c.commit(id)
	fresh, full := c.join(""), c.join("")
	in := input()
	in.Usage = map[int64]Usage{full: {Used: 90, Total: 100}}
	c.settle(in, 200)
	count := c.count()
	if count[fresh] < 6 || count[full] > 0 || count[be[0]] > 10 || count[be[1]] > 10 {
		t.Errorf("replicas by backend: %v", count)
	}
	c.wantWhole(1)
}

// TestLimits: clones are bounded by backend, a source included; nothing is done
// if it is turned off, and a replica that failed rests.
func TestLimits(t *testing.T) {
	c := newCluster(t, 3)
	be := c.backends()
	var tablets [][]int64
	for range 20 {
		tablets = append(tablets, be)
	}
	id := c.table("t", tablets...).ID
	c.commit(id)
	c.commit(id, be[2])
	in := input()
	plan := func() (p Plan) {
		c.View(func(s *meta.State) { p = Make(s, in) })
		return p
	}
	plan()
	in.NowMs = 10_000
	if p := plan(); len(p.Clones) != 4 || p.Unhealthy != 20 {
		t.Errorf("%d clones, %d unhealthy", len(p.Clones), p.Unhealthy)
	}
	in.Rest = map[int64]bool{}
	for _, tablet := range c.tableByID(id).Partitions[0].Tablets[:18] {
		in.Rest[tablet.Replicas[2].ID] = true
	}
	if p := plan(); len(p.Clones) != 2 {
		t.Errorf("%d clones while 18 rest", len(p.Clones))
	}
	in.Limits.DisableRepair = true
	if p := plan(); p.steps() > 0 || p.Unhealthy != 20 {
		t.Errorf("turned off: %+v", p)
	}
}

// TestRandomClusters: whatever happens, once it stops every tablet has as many
// whole replicas as it should or as there are backends, nothing was lost on the
// way, and the plan has come to an end.
func TestRandomClusters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newCluster(t, rapid.IntRange(3, 6).Draw(rt, "backends"))
		in := input()
		var tables []int64
		for i := range rapid.IntRange(1, 3).Draw(rt, "tables") {
			n := rapid.IntRange(1, 3).Draw(rt, "replicas")
			var tablets [][]int64
			for b := range rapid.IntRange(1, 4).Draw(rt, "buckets") {
				var on []int64
				for k := range n {
					on = append(on, c.backends()[(i+b+k)%len(c.backends())])
				}
				tablets = append(tablets, on)
			}
			tables = append(tables, c.table(fmt.Sprint("t", i), tablets...).ID)
		}
		down := map[int64]bool{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			in.NowMs += rapid.Int64Range(0, 8000).Draw(rt, "ms")
			all := c.backends()
			b := all[rapid.IntRange(0, len(all)-1).Draw(rt, "backend")]
			switch rapid.SampledFrom([]string{"down", "up", "join", "decommission", "commit", "commit", "commit", "plan", "plan", "plan"}).Draw(rt, "what") {
			case "down":
				// One at a time, so that no tablet of two replicas loses both.
				if len(down) == 0 {
					c.setAlive(b, false)
					down[b] = true
				}
			case "up":
				for b := range down {
					if c.known(b) {
						c.setAlive(b, true)
					}
				}
				clear(down)
			case "join":
				if len(all) < 8 {
					c.join("")
				}
			case "decommission":
				if len(all) > 4 {
					c.do(&meta.DecommissionBackend{ID: b})
				}
			case "commit":
				table := tables[rapid.IntRange(0, len(tables)-1).Draw(rt, "table")]
				if c.canCommit(table) {
					c.commit(table)
				}
			case "plan":
				c.step(in)
			}
		}
		for b := range down {
			if c.known(b) {
				c.setAlive(b, true)
			}
		}
		c.settle(in, 500)
		c.wantWhole(0)
	})
}
