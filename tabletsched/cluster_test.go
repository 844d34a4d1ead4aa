package tabletsched

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is the state of a cluster whose backends do what they are ordered.
type cluster struct {
	t testing.TB

	mu    sync.Mutex
	st    *meta.State
	index uint64
	hosts int
	// refuse, if set, is asked before a clone.
	refuse func(be *meta.Backend, r *bepb.CloneTabletRequest) error
	clones []*bepb.CloneTabletRequest
}

func newCluster(t testing.TB, backends int) *cluster {
	c := &cluster{t: t, st: meta.New()}
	c.do(&meta.InitCluster{ClusterID: "c", MetaEpoch: 1})
	c.do(&meta.CreateDatabase{Name: "d"})
	for range backends {
		c.join("")
	}
	return c
}

// join registers one more backend, on a host of its own unless one is named.
func (c *cluster) join(host string) int64 {
	c.hosts++
	if host == "" {
		host = fmt.Sprint("h", c.hosts)
	}
	return c.do(&meta.RegisterBackend{UUID: fmt.Sprint(c.hosts), Host: host, HeartbeatPort: c.hosts}).ID
}

// Propose implements Node.
func (c *cluster) Propose(_ context.Context, cmd meta.Command) (meta.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index++
	return c.st.Apply(c.index, cmd)
}

// View implements Node.
func (c *cluster) View(f func(*meta.State)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.st)
}

func (c *cluster) do(cmd meta.Command) meta.Result {
	c.t.Helper()
	res, err := c.Propose(context.Background(), cmd)
	if err != nil {
		c.t.Fatalf("%s: %v", meta.CommandName(cmd), err)
	}
	return res
}

// table makes a table whose tablets are on the given backends.
func (c *cluster) table(name string, tablets ...[]int64) *meta.Table {
	c.t.Helper()
	part := &meta.Partition{Name: name}
	for i, on := range tablets {
		tablet := &meta.Tablet{Bucket: i}
		for _, b := range on {
			tablet.Replicas = append(tablet.Replicas, meta.Replica{BackendID: b})
		}
		part.Tablets = append(part.Tablets, tablet)
	}
	id := c.do(&meta.CreateTable{DB: "d", Table: &meta.Table{
		Name: name, Keys: meta.DuplicateKeys, Buckets: len(tablets), HashVersion: 1, SchemaVersion: 1, NextColumnID: 1,
		Columns: []meta.Column{{Name: "k", Type: value.Type{Kind: value.Int}}}, Props: meta.Properties{ReplicationNum: int32(len(tablets[0]))},
		Partitions: []*meta.Partition{part},
	}}).ID
	return c.tableByID(id)
}

func (c *cluster) tableByID(id int64) (t *meta.Table) {
	c.View(func(s *meta.State) { t = s.Table(id) })
	return t
}

// commit gives every tablet of a table one more version, which all replicas but
// those on some backends hold.
func (c *cluster) commit(table int64, without ...int64) {
	c.t.Helper()
	t := c.tableByID(table)
	id := c.do(&meta.BeginTxn{DBID: t.DBID, TableID: t.ID, TableEpoch: t.Epoch, SchemaVersion: 1, Label: fmt.Sprint("l", c.index), TimeoutMs: 600_000}).ID
	pc := txn.PartitionCommit{PartitionID: t.Partitions[0].ID}
	var all []int64
	for _, tablet := range t.Partitions[0].Tablets {
		tc := txn.TabletCommit{TabletID: tablet.ID, RowsetID: [16]byte{byte(id)}, Rows: 1}
		for _, r := range tablet.Replicas {
			if !slices.Contains(without, r.BackendID) && c.alive(r.BackendID) {
				tc.Backends = append(tc.Backends, r.BackendID)
				all = append(all, r.BackendID)
			}
		}
		pc.Tablets = append(pc.Tablets, tc)
	}
	c.do(&meta.CommitTxn{TxnID: id, LoadedRows: 1, Partitions: []txn.PartitionCommit{pc}})
	c.do(&meta.PublishDone{TxnID: id, BackendIDs: all})
}

func (c *cluster) alive(id int64) (ok bool) {
	c.View(func(s *meta.State) { ok = s.Backend(id) != nil && s.Backend(id).Alive })
	return ok
}

func (c *cluster) setAlive(id int64, alive bool) {
	c.t.Helper()
	var b *meta.Backend
	c.View(func(s *meta.State) { b = s.Backend(id) })
	c.do(&meta.SetBackendAlive{ID: id, BootEpoch: b.BootEpoch, Alive: alive})
}

// CloneTablet implements Orders: the replica becomes what the source is.
func (c *cluster) CloneTablet(_ context.Context, be *meta.Backend, r *bepb.CloneTabletRequest) (*bepb.CloneTabletReply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clones = append(c.clones, r)
	if c.refuse != nil {
		if err := c.refuse(be, r); err != nil {
			return nil, err
		}
	}
	part, tablet := r.Base.PartitionId, r.Replica.TabletId
	through := c.st.GapFree(part, tablet, r.SourceId)
	if through < r.Version {
		return nil, doriserr.New(doriserr.VersionGone, "the source is at %d, not at %d", through, r.Version)
	}
	return &bepb.CloneTabletReply{Through: through, Bytes: 10}, nil
}

// step makes a plan and takes its steps.
func (c *cluster) step(in *Input) Plan {
	c.t.Helper()
	var plan Plan
	c.View(func(s *meta.State) { plan = Make(s, in) })
	for _, o := range plan.Clones {
		var be *meta.Backend
		c.View(func(s *meta.State) { be = s.Backend(o.Replica.BackendID) })
		reply, err := c.CloneTablet(context.Background(), be, &bepb.CloneTabletRequest{
			Base: &bepb.PartitionBase{PartitionId: o.Partition}, Replica: &bepb.TabletReplica{TabletId: o.Tablet}, SourceId: o.Source, Version: o.Version,
		})
		if err != nil {
			c.t.Fatalf("clone %+v: %v", o, err)
		}
		c.do(&meta.ReportReplica{Event: meta.ReplicaRepaired, TabletID: o.Tablet, BackendID: be.ID, BootEpoch: be.BootEpoch, ReplicaID: o.Replica.ID, Version: reply.Through})
	}
	for _, a := range plan.Adds {
		c.do(&meta.AddReplica{TabletID: a.Tablet, BackendID: a.Backend})
	}
	for _, d := range plan.Drops {
		if _, err := c.Propose(context.Background(), &meta.DropReplica{TabletID: d.Tablet, ReplicaID: d.Replica}); err != nil && !doriserr.Is(err, doriserr.Blocked) {
			c.t.Fatalf("drop %+v: %v", d, err)
		}
	}
	for _, id := range plan.Empty {
		c.do(&meta.DropBackend{ID: id})
	}
	return plan
}

func (p *Plan) steps() int { return len(p.Clones) + len(p.Adds) + len(p.Drops) + len(p.Empty) }

// settle steps, a second each, until nothing is left to do; it fails if that
// takes longer than it may.
func (c *cluster) settle(in *Input, most int) {
	c.t.Helper()
	quiet := 0
	for range most {
		in.NowMs += 1000
		plan := c.step(in)
		if plan.steps() > 0 {
			quiet = 0
			continue
		}
		// Delays may be what it waits for.
		if quiet++; quiet > int(max(in.Limits.RepairDelayMs, in.Limits.HoleDelayMs)/1000)+1 {
			return
		}
	}
	c.t.Fatalf("the plan does not come to an end in %d looks", most)
}

func (c *cluster) backends() (ids []int64) {
	c.View(func(s *meta.State) {
		for _, b := range s.Backends() {
			ids = append(ids, b.ID)
		}
	})
	slices.Sort(ids)
	return ids
}

func (c *cluster) known(id int64) bool { return slices.Contains(c.backends(), id) }

// canCommit is whether each tablet has a majority of whole replicas that are
// alive.
func (c *cluster) canCommit(table int64) bool {
	ok := true
	c.View(func(s *meta.State) {
		part := s.Table(table).Partitions[0]
		v, _ := s.PartitionVersion(part.ID)
		for _, tablet := range part.Tablets {
			n, of := 0, 0
			for _, r := range tablet.Replicas {
				if r.Cloning {
					continue
				}
				of++
				if b := s.Backend(r.BackendID); b != nil && b.Alive && s.GapFree(part.ID, tablet.ID, r.BackendID) >= v.Committed {
					n++
				}
			}
			ok = ok && n >= of/2+1
		}
	})
	return ok
}

func (c *cluster) count() map[int64]int {
	count := map[int64]int{}
	c.View(func(s *meta.State) {
		for _, t := range s.Tables(0) {
			for _, tablet := range t.Partitions[0].Tablets {
				for _, r := range tablet.Replicas {
					count[r.BackendID]++
				}
			}
		}
	})
	return count
}

// wantWhole checks that every tablet has n whole replicas that count, or, for 0,
// as many as its table wants and none more.
func (c *cluster) wantWhole(n int) {
	c.t.Helper()
	c.View(func(s *meta.State) {
		for _, t := range s.Tables(0) {
			want := n
			if n == 0 {
				want = int(t.Props.ReplicationNum)
			}
			part := t.Partitions[0]
			v, _ := s.PartitionVersion(part.ID)
			if v.Visible != v.Committed {
				c.t.Errorf("table %s is visible at %d of %d", t.Name, v.Visible, v.Committed)
			}
			for _, tablet := range part.Tablets {
				whole := 0
				for _, r := range tablet.Replicas {
					if !r.Cloning && s.GapFree(part.ID, tablet.ID, r.BackendID) >= v.Committed {
						whole++
					}
				}
				if whole != want || len(tablet.Replicas) != want {
					c.t.Errorf("table %s: tablet %d has %d whole replicas of %d, want %d", t.Name, tablet.ID, whole, len(tablet.Replicas), want)
				}
			}
		}
	})
}
