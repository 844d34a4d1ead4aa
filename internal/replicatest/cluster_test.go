package replicatest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/value"
)

// cluster is all that a run has. It is driven by one goroutine.
type cluster struct {
	ctx  context.Context
	rng  *rand.Rand
	seed uint64
	// fault is the name of the fault that is put in, empty for none.
	fault string
	// calm says that nothing goes wrong any more.
	calm bool

	st    *meta.State
	index uint64
	term  uint64
	db    int64
	parts []int64
	now   time.Time

	// first are the replicas with which the tables were made.
	first map[int64]bool

	bes     []*backend
	model   *model
	visible map[int64]int64
	loads   []*load
	late    []*lateWrite
	stale   []*staleOrder
	values  int64
	// tries counts the failed clones of replicas.
	tries  map[int64]int
	counts map[string]int
	trace  []string
}

// failure is what a check found; it ends the run.
type failure struct{ text string }

func (c *cluster) fail(format string, args ...any) {
	panic(failure{fmt.Sprintf(format, args...)})
}

func (c *cluster) must(err error, what string) {
	if err != nil {
		c.fail("%s: %v", what, err)
	}
}

// note adds to what is printed of a run that fails.
func (c *cluster) note(format string, args ...any) {
	c.trace = append(c.trace, fmt.Sprintf(format, args...))
}

func (c *cluster) count(what string) { c.counts[what]++ }

// one reports true once in n times, and never when it is calm.
func (c *cluster) one(n int) bool { return c.rng.IntN(n) == 0 && !c.calm }

func pick[T any](c *cluster, list []T) T { return list[c.rng.IntN(len(list))] }

const (
	backends      = 5
	replication   = 3
	publishLogMax = 3
	keepEntries   = 40
)

func newCluster(ctx context.Context, seed uint64, fault string) *cluster {
	c := &cluster{
		ctx: ctx, rng: rand.New(rand.NewPCG(seed, 7)), seed: seed, fault: fault, st: meta.New(), term: 1,
		now: time.UnixMilli(1_700_000_000_000), model: newModel(), visible: map[int64]int64{}, counts: map[string]int{}, tries: map[int64]int{},
	}
	c.do(&meta.InitCluster{ClusterID: "c", MetaEpoch: 1})
	c.do(&meta.SetConfig{Key: meta.ConfigPublishLogMax, Value: fmt.Sprint(publishLogMax)})
	c.do(&meta.SetConfig{Key: meta.ConfigLabelMax, Value: "4"})
	c.db = c.do(&meta.CreateDatabase{Name: "d"}).ID
	for i := range backends {
		c.bes = append(c.bes, c.newBackend(i))
	}
	c.table("t0", 3)
	c.table("t1", 2)
	c.first = map[int64]bool{}
	for _, p := range c.places(nil) {
		c.first[p.ID] = true
	}
	return c
}

// table makes a table of one partition.
func (c *cluster) table(name string, tablets int) {
	part := &meta.Partition{Name: name}
	for i := range tablets {
		tablet := &meta.Tablet{Bucket: i}
		for r := range replication {
			tablet.Replicas = append(tablet.Replicas, meta.Replica{BackendID: c.bes[(i+r)%backends].id})
		}
		part.Tablets = append(part.Tablets, tablet)
	}
	id := c.do(&meta.CreateTable{DB: "d", Table: &meta.Table{
		Name: name, Keys: meta.DuplicateKeys, KeyCount: 1, Buckets: tablets, HashVersion: 1, SchemaVersion: 1, NextColumnID: 1,
		Columns:    []meta.Column{{UniqueID: 1, Name: "k", Type: value.Type{Kind: value.BigInt}, Key: true}},
		Props:      meta.Properties{ReplicationNum: replication},
		Partitions: []*meta.Partition{part},
	}}).ID
	p := c.st.Table(id).Partitions[0].ID
	c.parts = append(c.parts, p)
	c.visible[p] = txn.FirstVersion
}

// apply gives the log a command, and looks at once at what became visible.
func (c *cluster) apply(cmd meta.Command) (meta.Result, error) {
	c.index++
	res, err := c.st.Apply(c.index, cmd)
	c.checkVisible(meta.CommandName(cmd))
	return res, err
}

func (c *cluster) do(cmd meta.Command) meta.Result {
	res, err := c.apply(cmd)
	c.must(err, meta.CommandName(cmd))
	return res
}

// report gives the log what a backend says of a replica, which may be another one
// by now.
func (c *cluster) report(e *meta.ReportReplica) {
	if _, err := c.apply(e); err != nil && !doriserr.Is(err, doriserr.Conflict) {
		c.must(err, "report_replica")
	}
}

func (c *cluster) tables() []*meta.Table { return c.st.Tables(0) }

// place is a replica with where it is.
type place struct {
	partition, tablet int64
	meta.Replica
}

// places are all replicas, those of one backend unless it is nil.
func (c *cluster) places(b *backend) []place {
	var out []place
	for _, t := range c.tables() {
		for _, tablet := range t.Partitions[0].Tablets {
			for _, r := range tablet.Replicas {
				if b == nil || r.BackendID == b.id {
					out = append(out, place{t.Partitions[0].ID, tablet.ID, r})
				}
			}
		}
	}
	return out
}

func (c *cluster) tablets() []*meta.Tablet {
	var out []*meta.Tablet
	for _, t := range c.tables() {
		out = append(out, t.Partitions[0].Tablets...)
	}
	return out
}

func (c *cluster) partitionOf(tablet int64) int64 {
	for _, t := range c.tables() {
		if slices.ContainsFunc(t.Partitions[0].Tablets, func(x *meta.Tablet) bool { return x.ID == tablet }) {
			return t.Partitions[0].ID
		}
	}
	return 0
}

func (c *cluster) backend(id int64) *backend {
	return c.bes[slices.IndexFunc(c.bes, func(b *backend) bool { return b.id == id })]
}

// pickUp is a backend that is not down, nil if there is none.
func (c *cluster) pickUp() *backend {
	up := slices.DeleteFunc(slices.Clone(c.bes), func(b *backend) bool { return b.down })
	if len(up) == 0 {
		return nil
	}
	return pick(c, up)
}

func (c *cluster) close() error {
	var errs []error
	for _, b := range c.bes {
		errs = append(errs, b.close())
	}
	return errors.Join(errs...)
}
