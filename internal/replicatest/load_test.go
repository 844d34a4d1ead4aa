package replicatest

import (
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"dorisgo/block"
	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
	"dorisgo/storage/rowset"
	"dorisgo/value"
)

var bigint = value.Type{Kind: value.BigInt}

// load is a transaction as its coordinator sees it.
type load struct {
	id      int64
	owner   txn.Owner
	tablets map[int64]*written
	planned map[int64][]meta.Replica
	// failed are the backends that lack some of it.
	failed map[int64]bool
}

// lateWrite is a write that nobody waits for any more.
type lateWrite struct {
	b   *backend
	req *bepb.WriteRowsetsRequest
}

// begin opens a transaction and writes its rowsets.
func (c *cluster) begin() {
	t := pick(c, c.tables())
	l := &load{tablets: map[int64]*written{}, planned: map[int64][]meta.Replica{}, failed: map[int64]bool{}}
	begin := &meta.BeginTxn{
		DBID: c.db, TableID: t.ID, TableEpoch: t.Epoch, SchemaVersion: t.SchemaVersion,
		Label: fmt.Sprint("l", c.index), TimeoutMs: 1 << 40,
	}
	if b := c.pickUp(); b != nil && c.rng.IntN(3) == 0 {
		begin.Owner = txn.Owner{BackendID: b.id, BootEpoch: b.boot}
	}
	res := c.do(begin)
	l.id, l.owner = res.ID, res.Txn.Owner
	c.loads = append(c.loads, l)
	part := t.Partitions[0]
	chosen := slices.DeleteFunc(slices.Clone(part.Tablets), func(*meta.Tablet) bool { return c.rng.IntN(3) == 0 })
	for range 1 + c.rng.IntN(5)/4 {
		c.write(l, part.ID, chosen)
	}
	c.count("load")
	if t := c.st.Txn(l.id); l.short() && t != nil && t.State == txn.Prepare && c.fault != noMajority {
		c.abort(l) // as a coordinator does that has no majority
	}
}

// short reports whether a tablet has fewer than a majority of what was planned.
func (l *load) short() bool {
	for _, replicas := range l.planned {
		have, of := 0, 0
		for _, r := range replicas {
			if r.Cloning {
				continue
			}
			of++
			if !l.failed[r.BackendID] {
				have++
			}
		}
		if have < of/2+1 {
			return true
		}
	}
	return false
}

// write sends one more rowset of each tablet to its replicas: all get it, or some
// get it late, never, or die over it.
func (c *cluster) write(l *load, partition int64, tablets []*meta.Tablet) {
	requests := map[int64]*bepb.WriteRowsetsRequest{}
	for _, tablet := range tablets {
		w := l.tablets[tablet.ID]
		if w == nil {
			w = &written{partition: partition, tablet: tablet.ID}
			_, _ = newRand(c.seed, uint64(l.id), uint64(tablet.ID)).Read(w.id[:])
			l.tablets[tablet.ID], l.planned[tablet.ID] = w, tablet.Replicas
		}
		rs := c.rowset(w)
		for _, r := range l.planned[tablet.ID] {
			if l.failed[r.BackendID] {
				continue
			}
			q := requests[r.BackendID]
			if q == nil {
				q = &bepb.WriteRowsetsRequest{
					TxnId: l.id, OwnerEpoch: 1, SchemaVersion: 1,
					Columns: []*bepb.ColumnDesc{{UniqueId: 1, Name: "k", Kind: uint32(bigint.Kind), Key: true}},
				}
				requests[r.BackendID] = q
			}
			q.Rowsets = append(q.Rowsets, rs)
			q.Replicas = append(q.Replicas, &bepb.TabletReplica{TabletId: tablet.ID, ReplicaId: r.ID, FromClone: c.fromClone(r.Cloning)})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		c.send(l, c.backend(id), requests[id])
	}
}

func (c *cluster) send(l *load, b *backend, r *bepb.WriteRowsetsRequest) {
	switch {
	case b.down, c.one(30):
		l.failed[b.id] = true
		c.count("write that never came")
		return
	case c.one(14), c.fault == dropWaiting && c.one(5):
		l.failed[b.id] = c.fault != believeCommit
		c.late = append(c.late, &lateWrite{b, r})
		return
	}
	if !b.deliver(r, c.one(30)) {
		l.failed[b.id] = true
	}
}

// deliver writes to a backend, a second time if again is set, and reports whether
// the coordinator hears that it is done.
func (b *backend) deliver(r *bepb.WriteRowsetsRequest, again bool) (ok bool) {
	c := b.c
	if c.loses(b, r) {
		c.note("backend %d: loses what transaction %d wrote", b.id, r.TxnId)
		return true
	}
	done := b.cut(func() {
		err := b.peers.WriteRowsets(c.ctx, b.n0(), r)
		if err == nil && again {
			err = b.peers.WriteRowsets(c.ctx, b.n0(), r)
		}
		// Another replica is there than the plan had, or none any more.
		if err != nil && !doriserr.Is(err, doriserr.Conflict) && !doriserr.Is(err, doriserr.StaleEpoch) {
			c.must(err, "write")
		}
		ok = err == nil
		c.note("backend %d: transaction %d writes %v: %v", b.id, r.TxnId, r.Replicas, err)
	})
	if ok && done {
		for i, rs := range r.Rowsets {
			b.acked[[16]byte(rs.Id)] = r.Replicas[i].ReplicaId
		}
		for _, x := range r.Replicas {
			c.checkHole(b, x.TabletId)
		}
	}
	return ok && done
}

// deliverLate ends a write that came too late for its commit.
func (c *cluster) deliverLate() {
	if len(c.late) == 0 {
		return
	}
	i := c.rng.IntN(len(c.late))
	w := c.late[i]
	c.late = slices.Delete(c.late, i, i+1)
	if !w.b.down {
		c.count("late write")
		w.b.deliver(w.req, false)
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rowset makes the next rowset of a tablet's: a few rows, or so many that it is a
// file.
func (c *cluster) rowset(w *written) *bepb.Rowset {
	n := 1 + c.rng.IntN(3)
	if c.rng.IntN(4) == 0 {
		n = 200
	}
	b := block.New([]value.Type{bigint})
	for range n {
		c.values++
		w.rows = append(w.rows, c.values)
		b.Col(0).AppendInt64(c.values)
		b.EndRow()
	}
	data := block.AppendEncoded(nil, b)
	id := rowset.ID(w.id).Part(w.parts)
	w.parts++
	return &bepb.Rowset{
		Id: id[:], TabletId: w.tablet, PartitionId: w.partition, Rows: int64(n), Checksum: crc32.Checksum(data, castagnoli), Data: data,
	}
}

// undecided are the loads that may still be committed.
func (c *cluster) undecided() []*load {
	c.loads = slices.DeleteFunc(c.loads, func(l *load) bool {
		t := c.st.Txn(l.id)
		return t == nil || !t.State.Undecided()
	})
	return c.loads
}

// commit asks for the decision about a load, in one phase or two.
func (c *cluster) commit(l *load) bool {
	t := c.st.Txn(l.id)
	var res meta.Result
	var err error
	if t.State == txn.Precommitted {
		res, err = c.apply(&meta.FinishTwoPhase{DBID: c.db, TxnID: l.id, Commit: true})
	} else {
		cmd := &meta.CommitTxn{TxnID: l.id, Owner: l.owner, TwoPhase: c.one(5), Partitions: c.named(l)}
		res, err = c.apply(cmd)
	}
	if doriserr.Is(err, doriserr.FewReplicas) {
		c.count("commit without a majority")
		return false
	}
	c.must(err, "commit")
	if res.Txn.State == txn.Precommitted {
		c.count("precommit")
		return true
	}
	c.count("commit")
	for i := range res.Txn.Partitions {
		pc := &res.Txn.Partitions[i]
		v := &committed{txn: l.id, tablets: map[int64]*written{}}
		for j := range pc.Tablets {
			v.tablets[pc.Tablets[j].TabletID] = l.tablets[pc.Tablets[j].TabletID]
		}
		c.note("version %d of %d is transaction %d: %s", pc.Version, pc.PartitionID, l.id, holders(pc))
		if !c.model.commit(pc.PartitionID, pc.Version, v) {
			c.fail("version %d of partition %d does not follow %d", pc.Version, pc.PartitionID, c.model.last(pc.PartitionID))
		}
		if c.rng.IntN(4) == 0 {
			c.checkCommit(pc)
		}
	}
	return true
}

func holders(pc *txn.PartitionCommit) string {
	out := ""
	for i := range pc.Tablets {
		out += fmt.Sprint(" ", pc.Tablets[i].TabletID, ":", pc.Tablets[i].Backends)
	}
	return out
}

// named is what the commit of a load names.
func (c *cluster) named(l *load) []txn.PartitionCommit {
	if len(l.tablets) == 0 {
		return nil
	}
	var pc txn.PartitionCommit
	for _, id := range slices.Sorted(maps.Keys(l.tablets)) {
		w := l.tablets[id]
		tc := txn.TabletCommit{TabletID: id, RowsetID: w.id, Parts: w.parts, Rows: int64(len(w.rows))}
		for _, r := range l.planned[id] {
			if !l.failed[r.BackendID] || c.fault == noMajority {
				tc.Backends, tc.Replicas = append(tc.Backends, r.BackendID), append(tc.Replicas, r.ID)
			}
		}
		pc.PartitionID, pc.Tablets = w.partition, append(pc.Tablets, tc)
	}
	return []txn.PartitionCommit{pc}
}

// abort gives a load up.
func (c *cluster) abort(l *load) {
	c.do(&meta.AbortTxn{TxnID: l.id, Reason: "test"})
	c.count("abort")
}
