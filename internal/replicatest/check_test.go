package replicatest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta/txn"
	"dorisgo/storage"
	"dorisgo/storage/rowset"
	"dorisgo/storage/storagetest"
)

type replicaInfo = storage.ReplicaInfo

// rowsOf reads a snapshot, sorted.
func rowsOf(c *cluster, fs vfs.FS, s *storage.Snapshot) ([]int64, error) {
	var out []int64
	add := func(b *block.Block) {
		for i := range b.Rows() {
			out = append(out, b.Col(0).Int64(i))
		}
	}
	for in, err := range s.Inline(c.ctx) {
		if err != nil {
			return nil, err
		}
		b, err := storagetest.Decode(in.Columns, in.Data)
		if err != nil {
			return nil, err
		}
		add(b)
	}
	for _, f := range s.Files() {
		b, err := storagetest.Codec{FS: fs}.Read(f)
		if err != nil {
			return nil, err
		}
		add(b)
	}
	slices.Sort(out)
	return out, nil
}

// read compares a tablet at a version with the model; an error says that it
// cannot be read. Wrong rows fail the run unless the tablet is damaged here.
func (c *cluster) read(b *backend, partition, tablet, version int64) error {
	s, err := b.e.Snapshot(c.ctx, partition, tablet, version)
	if err != nil {
		return err
	}
	got, err := rowsOf(c, b.disk.mem, s)
	if err = errors.Join(err, s.Close()); err != nil {
		if !b.damaged[tablet] {
			c.fail("backend %d cannot read tablet %d at version %d: %v", b.id, tablet, version, err)
		}
		return err
	}
	c.compare(b, partition, tablet, version, got)
	return nil
}

func (c *cluster) compare(b *backend, partition, tablet, version int64, got []int64) {
	if want := c.model.rows(partition, tablet, version); !slices.Equal(got, want) && !b.damaged[tablet] {
		c.fail("backend %d reads tablet %d at version %d: %d rows, not %d: %s", b.id, tablet, version, len(got), len(want), differ(got, want))
	}
}

func differ(got, want []int64) string {
	var more, less []int64
	for _, v := range got {
		if _, ok := slices.BinarySearch(want, v); !ok && len(more) < 5 {
			more = append(more, v)
		}
	}
	for _, v := range want {
		if _, ok := slices.BinarySearch(got, v); !ok && len(less) < 5 {
			less = append(less, v)
		}
	}
	return fmt.Sprintf("%v are too many, %v are missing", more, less)
}

// checkReplica reads a replica at the version through which it says that it can be read.
func (c *cluster) checkReplica(b *backend, partition, tablet int64) {
	v := min(b.e.PublishedVersion(partition), c.model.last(partition))
	err := c.read(b, partition, tablet, v)
	if err != nil && !doriserr.Is(err, doriserr.VersionGone) && !b.damaged[tablet] {
		c.fail("backend %d cannot read tablet %d at version %d: %v", b.id, tablet, v, err)
	}
}

// reader is a snapshot that stays open.
type reader struct {
	s *storage.Snapshot
}

// readSome reads a replica that counts at any version, or keeps it open.
func (c *cluster) readSome() {
	p := pick(c, c.places(nil))
	b := c.backend(p.BackendID)
	if p.Cloning || b.down {
		return
	}
	v := 1 + c.rng.Int64N(c.model.last(p.partition))
	c.count("read")
	if c.rng.IntN(3) == 0 {
		if s, err := b.e.Snapshot(c.ctx, p.partition, p.tablet, v); err == nil {
			b.readers = append(b.readers, &reader{s})
			return
		}
	}
	err := c.read(b, p.partition, p.tablet, v)
	published := b.e.PublishedVersion(p.partition)
	var notYet *storage.NotYetError
	switch {
	case err == nil, b.damaged[p.tablet]:
	case errors.As(err, &notYet) && v > published:
	case isBehind(err):
		c.count("read at a hole")
	case doriserr.Is(err, doriserr.VersionGone) && v < c.model.last(p.partition):
		c.count("read of a version that is gone")
	default:
		c.fail("backend %d does not read tablet %d at version %d of %d: %v", b.id, p.tablet, v, published, err)
	}
}

// closeReaders ends what is being read, after a look at it if it is checked.
func (b *backend) closeReaders(check bool) {
	for _, r := range b.readers {
		if check {
			got, err := rowsOf(b.c, b.disk.mem, r.s)
			if err != nil && !b.damaged[r.s.TabletID] {
				b.c.fail("backend %d: a reader of tablet %d at version %d: %v", b.id, r.s.TabletID, r.s.Version, err)
			}
			if err == nil {
				b.c.compare(b, r.s.PartitionID, r.s.TabletID, r.s.Version, got)
			}
		}
		b.c.must(r.s.Close(), "close")
	}
	b.readers = nil
}

// holds asks a backend's engine, not the log, whether a replica has all rows
// through a version: it can be read, or what it has pending makes it so.
func (c *cluster) holds(b *backend, p place, version int64) bool {
	if b.damaged[p.tablet] {
		return true // the check of data finds that, not this one
	}
	if b.e.PublishedVersion(p.partition) >= version {
		err := c.read(b, p.partition, p.tablet, version)
		if err == nil || isBehind(err) {
			return err == nil || c.removedEmpty(b, p.partition, p.tablet, version, err)
		}
	}
	return c.wouldHold(b, p, version)
}

func isBehind(err error) bool {
	_, ok := errors.AsType[*storage.BehindError](err)
	return ok
}

// removedEmpty allows what a backend cannot tell: an earlier replica of a tablet
// was removed from it, and the present one never had rows.
func (c *cluster) removedEmpty(b *backend, partition, tablet, version int64, err error) bool {
	if !isBehind(err) || len(c.model.rows(partition, tablet, version)) > 0 ||
		slices.ContainsFunc(b.e.Replicas(), func(r replicaInfo) bool { return r.TabletID == tablet }) {
		return false
	}
	c.count("empty replica after a removed one")
	return true
}

// wouldHold publishes on a copy of a backend what it has not published, and reads
// at the version, or at the next one that can be read: a flush may have replaced
// those before.
func (c *cluster) wouldHold(b *backend, p place, version int64) bool {
	mem := b.disk.now().all
	e, err := storage.Open(c.ctx, b.options(mem))
	c.must(err, "open a copy")
	defer func() { c.must(e.Close(), "close a copy") }()
	for _, r := range e.Replicas() {
		if c.st.ReplicaGone(r.PartitionID, r.TabletID, r.ReplicaID) {
			c.must(e.RemoveReplica(c.ctx, r.TabletID, r.ReplicaID), "remove from a copy")
		}
	}
	for v := min(version, e.PublishedVersion(p.partition)+1); v <= c.model.last(p.partition); v++ {
		if v > e.PublishedVersion(p.partition) {
			if _, err := e.Publish(c.ctx, c.order(b, p.partition, v)); err != nil {
				c.note("copy of backend %d: %v", b.id, err)
				return false
			}
		}
		if v < version {
			continue
		}
		s, err := e.Snapshot(c.ctx, p.partition, p.tablet, v)
		if err != nil && !isBehind(err) && doriserr.Is(err, doriserr.VersionGone) {
			continue
		}
		if err != nil {
			c.note("copy of backend %d: %v", b.id, err)
			return false
		}
		got, err := rowsOf(c, mem, s)
		c.must(errors.Join(err, s.Close()), "read a copy")
		return slices.Equal(got, c.model.rows(p.partition, p.tablet, v))
	}
	return false
}

// order is the publish of a version on a backend, by the model.
func (c *cluster) order(b *backend, partition, version int64) storage.Publish {
	v := c.model.at(partition, version)
	out := storage.Publish{PartitionID: partition, Version: version, TxnID: v.txn}
	for _, p := range c.places(b) {
		if w := v.tablets[p.tablet]; w != nil {
			for part := range w.parts {
				out.Tablets = append(out.Tablets, storage.PublishTablet{
					TabletID: p.tablet, RowsetID: rowset.ID(w.id).Part(part), ReplicaID: p.ID, FromClone: p.Cloning,
				})
			}
		}
	}
	return out
}

// checkVisible demands of each version that became visible that a majority of
// each of its tablets' replicas hold it.
func (c *cluster) checkVisible(why string) {
	for _, id := range c.parts {
		v, _ := c.st.PartitionVersion(id)
		for c.visible[id] < v.Visible {
			c.visible[id]++
			for _, tablet := range slices.Sorted(maps.Keys(c.model.at(id, c.visible[id]).tablets)) {
				c.majority(id, tablet, c.visible[id], "VISIBLE by "+why)
			}
		}
	}
}

// checkCommit demands the same of a version that was committed.
func (c *cluster) checkCommit(pc *txn.PartitionCommit) {
	if c.fault == doneFirst {
		return
	}
	for i := range pc.Tablets {
		c.majority(pc.PartitionID, pc.Tablets[i].TabletID, pc.Version, "COMMITTED")
	}
}

func (c *cluster) majority(partition, tablet, version int64, what string) {
	of, have, who := 0, 0, ""
	for _, p := range c.places(nil) {
		if p.tablet != tablet || p.Cloning {
			continue
		}
		of++
		ok := c.holds(c.backend(p.BackendID), p, version)
		if ok {
			have++
		}
		who += fmt.Sprint(" ", p.BackendID, ":", ok)
	}
	if have < of/2+1 {
		c.fail("version %d of tablet %d is %s with %d of %d replicas that hold it:%s", version, tablet, what, have, of, who)
	}
}

// checkHole demands that a replica has no hole at a version of which it stored all,
// as long as the version can be published.
func (c *cluster) checkHole(b *backend, tablet int64) {
	for _, p := range c.places(b) {
		i := slices.IndexFunc(b.e.Replicas(), func(r replicaInfo) bool { return r.TabletID == p.tablet && r.ReplicaID == p.ID })
		if p.tablet != tablet || p.Cloning || b.damaged[tablet] || i < 0 {
			continue
		}
		hole := b.e.Replicas()[i].Hole
		if hole <= c.st.LogBase(p.partition) || hole > c.model.last(p.partition) || hole == 2 && !c.first[p.ID] {
			continue // only a clone helps, as it does for a replica that follows a removed one
		}
		w := c.model.at(p.partition, hole).tablets[tablet]
		if w == nil {
			continue
		}
		all := true
		for part := range w.parts {
			all = all && b.acked[rowset.ID(w.id).Part(part)] == p.ID
		}
		if all {
			c.fail("backend %d stored all of version %d of tablet %d and has a hole there", b.id, hole, tablet)
		}
	}
}

// checkBelief demands that replicas of which the log knows nothing to be missing
// have everything that is committed.
func (c *cluster) checkBelief(b *backend) {
	if c.fault == doneFirst {
		return
	}
	for _, p := range c.places(b) {
		if !p.Cloning && c.st.FirstMissing(p.partition, p.tablet, b.id) == 0 && !c.holds(b, p, c.model.last(p.partition)) {
			c.fail("the log takes tablet %d on backend %d for whole, which lacks something through version %d", p.tablet, b.id, c.model.last(p.partition))
		}
	}
	c.count("look at what is believed")
}

// checkDelivered demands that a backend which did what it was ordered reads at
// the visible version.
func (c *cluster) checkDelivered(b *backend) {
	for _, p := range c.places(b) {
		if p.Cloning || c.st.FirstMissing(p.partition, p.tablet, b.id) != 0 || b.damaged[p.tablet] {
			continue
		}
		v := c.visible[p.partition]
		err := c.read(b, p.partition, p.tablet, v)
		if err != nil && (!doriserr.Is(err, doriserr.VersionGone) || isBehind(err) || v >= b.e.PublishedVersion(p.partition)) &&
			!c.removedEmpty(b, p.partition, p.tablet, v, err) {
			c.fail("backend %d published all and does not read tablet %d at the visible version %d: %v", b.id, p.tablet, v, err)
		}
	}
}
