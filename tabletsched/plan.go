package tabletsched

import (
	"cmp"
	"slices"

	"dorisgo/meta"
	"dorisgo/meta/txn"
)

// Limits bound what is done at a time.
type Limits struct {
	// RepairDelayMs is how long a backend may be away before its replicas are
	// made anew elsewhere; Doris calls it tablet_repair_delay_factor_second.
	RepairDelayMs int64
	// HoleDelayMs is how long a replica may lack a version that was seen to be
	// missing: a write that is late closes the hole by itself.
	HoleDelayMs int64
	// SlotsPerBackend bounds the clones to one backend, and those from one
	// (schedule_slot_num_per_hdd_path).
	SlotsPerBackend int
	// MaxBalancing bounds the tablets that are moved for balance at a time
	// (max_balancing_tablets).
	MaxBalancing int
	// HighWatermark is the share of a backend's disks, in percent, above which it
	// gets no replicas (storage_high_watermark_usage_percent).
	HighWatermark int
	// DisableRepair and DisableBalance are Doris' disable_tablet_scheduler and
	// disable_balance.
	DisableRepair, DisableBalance bool
}

// DefaultLimits are Doris' defaults, but for the delays, which suit clusters
// whose backends answer within a second.
func DefaultLimits() Limits {
	return Limits{RepairDelayMs: 60_000, HoleDelayMs: 2_000, SlotsPerBackend: 4, MaxBalancing: 16, HighWatermark: 85}
}

// Usage is what is known of a backend's disks, in bytes; zero if nothing is.
type Usage struct{ Used, Total int64 }

func (u Usage) full(percent int) bool { return u.Total > 0 && u.Used*100 >= u.Total*int64(percent) }

// Input is what a plan is made of beside the state.
type Input struct {
	Limits Limits
	Usage  map[int64]Usage
	// Busy are the replicas that are being cloned, by id, with where from and
	// where to; Rest are those that wait after a failure.
	Busy map[int64]Clone
	Rest map[int64]bool
	// Tries counts the clones of a replica that failed since one succeeded.
	Tries map[int64]int
	// NowMs is the scheduler's own clock: a new leader begins to wait anew, so
	// that it hears everybody out.
	NowMs int64
	// HoleSeen is when a replica's hole was first seen, DownSeen when a backend
	// was first seen not alive, EmptySeen when a decommissioned one was first seen
	// without anything, by NowMs. Make brings them up to date.
	HoleSeen, DownSeen, EmptySeen map[int64]int64
}

// Clone is an order to fill a replica.
type Clone struct {
	Partition int64
	Tablet    int64
	Replica   meta.Replica
	// Source is the backend that has more, Version what the replica must reach
	// to be of use.
	Source  int64
	Version int64
	// Base is where the partition's publish log begins.
	Base int64
	// Replicas are all of the partition's on the backend, for a backend that is
	// behind the log.
	Replicas []TabletReplica
}

// TabletReplica is a replica with its tablet.
type TabletReplica struct {
	Tablet  int64
	Replica meta.Replica
}

// Add is a new replica of a tablet on a backend.
type Add struct{ Tablet, Backend int64 }

// Drop is a replica that is to go.
type Drop struct{ Tablet, Replica, Backend int64 }

// Plan are the steps to take now. Unhealthy counts the tablets that are not as
// they should be.
type Plan struct {
	Clones []Clone
	Adds   []Add
	Drops  []Drop
	// Empty are decommissioned backends that nothing needs any more.
	Empty     []int64
	Unhealthy int
}

// planner makes one plan.
type planner struct {
	s   *meta.State
	in  *Input
	out Plan
	// count are the replicas of each backend, planned ones included.
	count map[int64]int
	// to and from count the clones of each backend.
	to, from map[int64]int
	// moving counts tablets with a replica more than they need.
	moving int
	// seen are the replicas with holes, down the backends that are not alive, bare
	// those that are decommissioned and have nothing.
	seen, down, bare map[int64]int64
}

// Make plans the next steps. It reads the state alone and is called in a View.
func Make(s *meta.State, in *Input) Plan {
	p := &planner{s: s, in: in, count: map[int64]int{}, to: map[int64]int{}, from: map[int64]int{}, seen: map[int64]int64{}, down: map[int64]int64{}, bare: map[int64]int64{}}
	for _, b := range s.Backends() {
		if !b.Alive {
			p.down[b.ID] = since(in.DownSeen, b.ID, in.NowMs)
		}
	}
	for _, c := range in.Busy {
		p.to[c.Replica.BackendID]++
		p.from[c.Source]++
	}
	tables := s.Tables(0)
	for _, t := range tables {
		for _, part := range t.Partitions {
			for _, tablet := range part.Tablets {
				for _, r := range tablet.Replicas {
					p.count[r.BackendID]++
				}
			}
		}
	}
	for _, t := range tables {
		for _, part := range t.Partitions {
			for _, tablet := range part.Tablets {
				p.tablet(int(t.Props.ReplicationNum), part, tablet, true)
			}
		}
	}
	for _, r := range s.RecycledTables() {
		if r.Erased {
			continue
		}
		for _, part := range r.Table.Partitions {
			for _, tablet := range part.Tablets {
				p.tablet(int(r.Table.Props.ReplicationNum), part, tablet, false)
			}
		}
	}
	if p.out.Unhealthy == 0 && len(p.out.Adds) == 0 && len(p.out.Drops) == 0 && !in.Limits.DisableBalance {
		p.balance(tables)
	}
	p.empty()
	in.HoleSeen, in.DownSeen, in.EmptySeen = p.seen, p.down, p.bare
	return p.out
}

// since is when something was first seen.
func since(seen map[int64]int64, id, now int64) int64 {
	if at, ok := seen[id]; ok {
		return at
	}
	return now
}

// replicaView is a replica as the plan sees it.
type replicaView struct {
	meta.Replica
	backend *meta.Backend
	alive   bool
	// gone: its backend is unknown, decommissioned, or was away for too long.
	gone bool
	// whole: it has every committed version.
	whole bool
}

func (p *planner) view(part *meta.Partition, tablet *meta.Tablet) []replicaView {
	v, _ := p.s.PartitionVersion(part.ID)
	out := make([]replicaView, len(tablet.Replicas))
	for i, r := range tablet.Replicas {
		b := p.s.Backend(r.BackendID)
		x := replicaView{Replica: r, backend: b}
		x.alive = b != nil && b.Alive
		x.gone = b == nil || b.Decommissioned || !b.Alive && p.in.NowMs-p.down[b.ID] >= p.in.Limits.RepairDelayMs
		x.whole = !r.Cloning && p.s.GapFree(part.ID, tablet.ID, r.BackendID) >= v.Committed
		out[i] = x
	}
	return out
}

// tablet plans for one tablet; live says that its table was not dropped.
func (p *planner) tablet(want int, part *meta.Partition, tablet *meta.Tablet, live bool) {
	replicas := p.view(part, tablet)
	staying, good, whole, cloning := 0, 0, 0, 0
	for i := range replicas {
		r := &replicas[i]
		if r.whole && r.alive {
			whole++
		}
		if !r.gone {
			staying++
			if r.whole && r.alive {
				good++
			}
		}
		if r.Cloning {
			cloning++
		}
	}
	if good < want {
		p.out.Unhealthy++
	}
	if p.in.Limits.DisableRepair {
		return
	}
	for i := range replicas {
		p.clone(part, tablet, &replicas[i], replicas)
	}
	if !live {
		return
	}
	switch {
	case staying < want && cloning == 0 && p.add(tablet, replicas):
	case (good >= want || whole > want) && len(replicas) > want && cloning == 0: // a clone is there to take another's place
		p.drop(tablet, replicas)
	case len(replicas) > want:
		p.dropUseless(tablet, replicas)
	}
	if len(replicas) > want {
		p.moving++
	}
}

// clone plans to fill a replica that lacks something, or is Cloning: that of an
// empty tablet lacks nothing and waits for a clone all the same.
func (p *planner) clone(part *meta.Partition, tablet *meta.Tablet, r *replicaView, all []replicaView) {
	missing := p.s.FirstMissing(part.ID, tablet.ID, r.BackendID)
	if missing == 0 && !r.Cloning || !r.alive {
		return
	}
	first := since(p.in.HoleSeen, r.ID, p.in.NowMs)
	p.seen[r.ID] = first
	if _, busy := p.in.Busy[r.ID]; busy || p.in.Rest[r.ID] || p.to[r.BackendID] >= p.in.Limits.SlotsPerBackend {
		return
	}
	if !r.Cloning && p.in.NowMs-first < p.in.Limits.HoleDelayMs {
		return
	}
	version := missing
	if r.Cloning {
		// Only what is committed from now on is sure to be ordered for it.
		v, _ := p.s.PartitionVersion(part.ID)
		version = v.Committed
	}
	source := p.source(part, tablet, r, all, version)
	if source == 0 {
		return
	}
	c := Clone{Partition: part.ID, Tablet: tablet.ID, Replica: r.Replica, Source: source, Version: version, Base: p.s.LogBase(part.ID)}
	for _, t := range part.Tablets {
		for _, o := range t.Replicas {
			if o.BackendID == r.BackendID {
				c.Replicas = append(c.Replicas, TabletReplica{t.ID, o})
			}
		}
	}
	p.out.Clones = append(p.out.Clones, c)
	p.to[r.BackendID]++
	p.from[source]++
}

// source is the backend to clone from, 0 if there is none: the one that has most,
// or after a failure the next best, since some cannot give what the log takes them
// to have.
func (p *planner) source(part *meta.Partition, tablet *meta.Tablet, r *replicaView, all []replicaView, version int64) int64 {
	through := func(o *replicaView) int64 { return p.s.GapFree(part.ID, tablet.ID, o.BackendID) }
	var can []*replicaView
	for i := range all {
		o := &all[i]
		if o.ID != r.ID && o.alive && !o.Cloning && p.from[o.BackendID] < p.in.Limits.SlotsPerBackend && through(o) >= version {
			can = append(can, o)
		}
	}
	if len(can) == 0 {
		return 0
	}
	slices.SortStableFunc(can, func(a, b *replicaView) int {
		return cmp.Or(cmp.Compare(through(b), through(a)), cmp.Compare(p.from[a.BackendID], p.from[b.BackendID]))
	})
	return can[p.in.Tries[r.ID]%len(can)].BackendID
}

// add plans one more replica on the backend that suits best; it reports false if
// none does.
func (p *planner) add(tablet *meta.Tablet, replicas []replicaView) bool {
	b := p.target(replicas)
	if b != 0 && p.to[b] < p.in.Limits.SlotsPerBackend {
		p.out.Adds = append(p.out.Adds, Add{tablet.ID, b})
		p.count[b]++
		p.to[b]++
	}
	return b != 0
}

// target is the backend with fewest replicas that could have one of the tablet,
// one on a host of its own if there is any; 0 if none can.
func (p *planner) target(replicas []replicaView) int64 {
	var best *meta.Backend
	bestShares := false
	for _, b := range p.s.Backends() {
		if !b.Alive || b.Decommissioned || p.in.Usage[b.ID].full(p.in.Limits.HighWatermark) ||
			slices.ContainsFunc(replicas, func(r replicaView) bool { return r.BackendID == b.ID }) {
			continue
		}
		shares := slices.ContainsFunc(replicas, func(r replicaView) bool { return !r.gone && r.backend.Host == b.Host })
		better := best == nil || bestShares && !shares || shares == bestShares && p.count[b.ID] < p.count[best.ID]
		if better {
			best, bestShares = b, shares
		}
	}
	if best == nil {
		return 0
	}
	return best.ID
}

// drop plans to drop one replica of a tablet that has as many whole ones as it
// needs without it: that of a backend that is gone first, then one that is not whole, then
// that of the backend with most replicas.
func (p *planner) drop(tablet *meta.Tablet, replicas []replicaView) {
	order := slices.Clone(replicas)
	slices.SortStableFunc(order, func(a, b replicaView) int {
		return cmp.Or(bools(b.gone, a.gone), bools(a.alive, b.alive), bools(a.whole, b.whole),
			cmp.Compare(p.count[b.BackendID], p.count[a.BackendID]), cmp.Compare(b.ID, a.ID))
	})
	r := &order[0]
	p.out.Drops = append(p.out.Drops, Drop{tablet.ID, r.ID, r.BackendID})
	p.count[r.BackendID]--
}

// dropUseless drops a clone whose backend went away before it was whole.
func (p *planner) dropUseless(tablet *meta.Tablet, replicas []replicaView) {
	for i := range replicas {
		if r := &replicas[i]; r.Cloning && r.gone {
			p.out.Drops = append(p.out.Drops, Drop{tablet.ID, r.ID, r.BackendID})
			p.count[r.BackendID]--
			return
		}
	}
}

func bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// balance plans moves from the backends with most replicas to those with
// fewest. A move adds a replica; the one too many is dropped once it is whole.
func (p *planner) balance(tables []*meta.Table) {
	for p.moving < p.in.Limits.MaxBalancing {
		high, low := p.extremes()
		// Less than a tenth apart is as good as even: moves cost more than they bring.
		if high == nil || p.count[high.ID]-p.count[low.ID] < max(2, p.count[high.ID]/10) {
			return
		}
		if !p.move(tables, high.ID, low) {
			return
		}
		p.moving++
	}
}

// extremes are the usable backends with most and with fewest replicas, nil if
// there are not two.
func (p *planner) extremes() (high, low *meta.Backend) {
	n := 0
	for _, b := range p.s.Backends() {
		if !b.Alive || b.Decommissioned {
			continue
		}
		n++
		if high == nil || p.count[b.ID] > p.count[high.ID] {
			high = b
		}
		if !p.in.Usage[b.ID].full(p.in.Limits.HighWatermark) && (low == nil || p.count[b.ID] < p.count[low.ID]) {
			low = b
		}
	}
	if n < 2 || low == nil || high == low {
		return nil, nil
	}
	return high, low
}

// move plans to move one tablet's replica.
func (p *planner) move(tables []*meta.Table, from int64, to *meta.Backend) bool {
	for _, t := range tables {
		for _, part := range t.Partitions {
			for _, tablet := range part.Tablets {
				if p.movable(t, tablet, from, to) {
					p.out.Adds = append(p.out.Adds, Add{tablet.ID, to.ID})
					p.count[to.ID]++
					p.count[from]--
					return true
				}
			}
		}
	}
	return false
}

func (p *planner) movable(t *meta.Table, tablet *meta.Tablet, from int64, to *meta.Backend) bool {
	has := false
	if len(tablet.Replicas) != int(t.Props.ReplicationNum) ||
		slices.ContainsFunc(p.out.Adds, func(a Add) bool { return a.Tablet == tablet.ID }) {
		return false
	}
	for _, r := range tablet.Replicas {
		b := p.s.Backend(r.BackendID)
		if r.BackendID == to.ID || b == nil || b.ID != from && b.Host == to.Host && b.Host != p.s.Backend(from).Host {
			return false
		}
		has = has || r.BackendID == from
	}
	return has
}

// emptyDelayMs is how long a decommissioned backend must have had nothing before
// it is dropped: loads that it was asked for before have their answers then.
const emptyDelayMs = 5000

// empty finds the decommissioned backends that have neither replicas nor groups,
// nor loads that are not decided.
func (p *planner) empty() {
	for _, b := range p.s.Backends() {
		if !b.Decommissioned || p.s.ReplicasOn(b.ID) > 0 || p.s.GroupCount(b.ID) > 0 || p.loads(b.ID) {
			continue
		}
		p.bare[b.ID] = since(p.in.EmptySeen, b.ID, p.in.NowMs)
		if p.in.NowMs-p.bare[b.ID] >= emptyDelayMs {
			p.out.Empty = append(p.out.Empty, b.ID)
		}
	}
}

func (p *planner) loads(backend int64) bool {
	return slices.ContainsFunc(p.s.UndecidedTxns(), func(t *txn.Txn) bool { return t.State == txn.Prepare && t.Owner.BackendID == backend })
}
