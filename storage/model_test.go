package storage_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"dorisgo/doriserr"
	"dorisgo/storage"
)

// model is what a BE must hold after a sequence of calls, kept as plainly as
// can be: for each version of the partition the rows that it brought.
type model struct {
	t   *rapid.T
	fs  *vfs.MemFS
	c   *clock
	o   storage.Options
	e   *storage.Engine
	txn int64
	// pending are the transactions that are written and not decided.
	pending map[int64][]storage.PendingRowset
	// values are the rows of every rowset.
	values map[storage.RowsetID][]int64
	// versions[v-2] are the rows of version v, by tablet.
	versions []map[int64][]int64
	txns     []storage.Publish
	open     []*storage.Snapshot
	// dropped are tablets that are no more.
	dropped map[int64]bool
	// src is another BE, which has every rowset.
	src   *storage.Engine
	holes holeModel
}

const keepEntries = 5

var modelTablets = []int64{11, 12, 13, 14}

// want is a tablet at a version, sorted.
func (m *model) want(tablet, version int64) []int64 {
	var out []int64
	for _, v := range m.versions[:version-1] {
		out = append(out, v[tablet]...)
	}
	slices.Sort(out)
	return out
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) publish(p storage.Publish) {
	m.t.Helper()
	holes, err := m.e.Publish(m.t.Context(), m.notDropped(p))
	m.must(err)
	for _, h := range holes {
		m.checkHole(h.TabletID, h.Version)
	}
}

// notDropped is the order as the FE sends it after a drop.
func (m *model) notDropped(p storage.Publish) storage.Publish {
	p.Tablets = slices.DeleteFunc(slices.Clone(p.Tablets), func(t storage.PublishTablet) bool { return m.dropped[t.TabletID] })
	return p
}

func (m *model) last() int64 { return int64(len(m.versions)) + 1 }

// write gives a transaction its rowsets, in one call or, as a load that comes as
// a stream, in several.
func (m *model) write() {
	m.txn++
	for part := range int64(rapid.SampledFrom([]int{1, 1, 1, 2, 4}).Draw(m.t, "parts")) {
		var rowsets []storage.PendingRowset
		for i, tablet := range modelTablets {
			n := m.txn*100 + 10*part + int64(i)
			switch rapid.IntRange(0, 5).Draw(m.t, "rowset") {
			case 0, 1, 2:
				rowsets = append(rowsets, rows(n, m.txn, tablet, n, -n))
				m.values[id(n)] = []int64{n, -n}
			case 3:
				rowsets = append(rowsets, many(n, m.txn, tablet, n*1000))
				for i := range int64(200) {
					m.values[id(n)] = append(m.values[id(n)], n*1000+i)
				}
			}
		}
		if len(rowsets) > 0 {
			m.must(m.src.WritePending(m.t.Context(), m.txn, 1, rowsets))
			m.pending[m.txn] = append(m.pending[m.txn], rowsets...)
			m.must(m.e.WritePending(m.t.Context(), m.txn, 1, m.someLate(rowsets)))
		}
	}
}

// decide publishes or aborts one of the pending transactions.
func (m *model) decide() {
	if len(m.pending) == 0 {
		return
	}
	var ids []int64
	for txn := range m.pending {
		ids = append(ids, txn)
	}
	slices.Sort(ids)
	txn := rapid.SampledFrom(ids).Draw(m.t, "txn")
	rowsets := m.pending[txn]
	delete(m.pending, txn)
	if rapid.IntRange(0, 4).Draw(m.t, "abort") == 0 {
		m.must(errors.Join(m.e.Abort(m.t.Context(), txn), m.src.Abort(m.t.Context(), txn)))
		delete(m.holes.late, txn)
		return
	}
	p := m.decided(txn, rowsets)
	m.lack(p)
	m.publish(p)
}

// decided publishes a transaction on the other BE.
func (m *model) decided(txn int64, rowsets []storage.PendingRowset) storage.Publish {
	p := order(m.last()+1, txn, rowsets...)
	if holes, err := m.src.Publish(m.t.Context(), p); err != nil || len(holes) > 0 {
		m.t.Fatalf("the other backend: holes %v, %v", holes, err)
	}
	brought := map[int64][]int64{}
	for _, rs := range rowsets {
		brought[rs.TabletID] = append(brought[rs.TabletID], m.values[rs.ID]...)
	}
	m.versions, m.txns = append(m.versions, brought), append(m.txns, p)
	return p
}

// again repeats an earlier publish.
func (m *model) again() {
	if len(m.txns) > 0 && len(m.dropped) == 0 {
		p := rapid.SampledFrom(m.txns).Draw(m.t, "publish")
		if _, err := m.e.Publish(m.t.Context(), p); p.Version+keepEntries > m.last() && p.Version > m.holes.jumped || !doriserr.Is(err, doriserr.StaleEpoch) {
			m.must(err)
		}
	}
}

func (m *model) snapshot() {
	tablet := rapid.SampledFrom(modelTablets).Draw(m.t, "tablet")
	version := rapid.Int64Range(1, m.last()).Draw(m.t, "version")
	s, err := m.e.Snapshot(m.t.Context(), part, tablet, version)
	switch {
	case m.dropped[tablet]:
		if err != nil && !doriserr.Is(err, doriserr.StaleEpoch) && !isBehind(err) {
			m.t.Fatal(err)
		}
	case isBehind(err) && m.mayLack(tablet, version):
	case doriserr.Is(err, doriserr.VersionGone) && version < m.last():
	default:
		m.must(err)
	}
	if err == nil {
		m.open = append(m.open, s)
	}
}

func (m *model) closeSnapshot() {
	if len(m.open) > 0 {
		i := rapid.IntRange(0, len(m.open)-1).Draw(m.t, "snapshot")
		m.must(m.open[i].Close())
		m.open = slices.Delete(m.open, i, i+1)
	}
}

func (m *model) flush() {
	m.must(m.e.Flush(m.t.Context(), rapid.SampledFrom(modelTablets).Draw(m.t, "tablet")))
}

func (m *model) compact() {
	_, err := m.e.Compact(m.t.Context(), rapid.SampledFrom(modelTablets).Draw(m.t, "tablet"))
	m.must(err)
}

func (m *model) sweep() {
	m.c.advance(time.Duration(rapid.IntRange(0, 90).Draw(m.t, "seconds")) * time.Second)
	m.must(errors.Join(m.e.Sweep(m.t.Context()), m.e.Trash(m.t.Context()), m.e.TrimEntries()))
}

func (m *model) sync() { m.must(m.e.SyncPublished(m.t.Context())) }

func (m *model) drop() {
	if len(m.dropped) > 0 || rapid.IntRange(0, 5).Draw(m.t, "drop") > 0 {
		return
	}
	tablet := rapid.SampledFrom(modelTablets).Draw(m.t, "tablet")
	m.must(m.e.DropTablets(m.t.Context(), []int64{tablet}))
	m.forget(tablet)
	m.dropped[tablet] = true
}

// restart closes the engine, or cuts the power and publishes again what was not
// durable, as the FE does.
func (m *model) restart() {
	m.check()
	for _, s := range m.open {
		m.must(s.Close())
	}
	m.open = nil
	if rapid.Bool().Draw(m.t, "crash") {
		durable := m.e.DurableVersion(part)
		fs := m.fs.CrashClone(vfs.CrashCloneCfg{})
		m.must(m.e.Close())
		m.start(fs)
		if v := m.e.PublishedVersion(part); v < durable {
			m.t.Fatalf("published through %d, was durable through %d", v, durable)
		}
		for _, p := range m.txns[m.e.DurableVersion(part)-1:] {
			m.publish(p)
		}
		m.settle()
		return
	}
	m.must(m.e.Close())
	m.start(m.fs)
	if v := m.e.DurableVersion(part); v != m.last() {
		m.t.Fatalf("durable through %d after a restart, not %d", v, m.last())
	}
}

func (m *model) start(fs *vfs.MemFS) {
	m.fs = fs
	o := options(fs)
	o.Roots, o.CompactMinFiles = m.o.Roots, 2
	o.Now, o.StaleSweep, o.KeepEntries, o.Rand = m.c.Now, time.Minute, keepEntries, newRand(uint64(m.c.Now().UnixNano()+m.txn+1))
	m.c.advance(1)
	var err error
	m.e, err = storage.Open(m.t.Context(), o)
	m.must(err)
}

func (m *model) check() {
	for _, s := range m.open {
		got, err := snapshotRows(m.t.Context(), m.fs, s)
		if want := m.want(s.TabletID, s.Version); err != nil || !slices.Equal(got, want) && !m.dropped[s.TabletID] {
			m.t.Fatalf("snapshot of tablet %d at %d: %d rows, not %d: %v", s.TabletID, s.Version, len(got), len(want), err)
		}
	}
	for _, tablet := range modelTablets {
		if m.dropped[tablet] {
			continue
		}
		m.checkTablet(tablet)
		for version := m.last(); version > 0 && version > m.last()-3; version-- {
			got, err := read(m.t.Context(), m.fs, m.e, tablet, version)
			switch want := m.want(tablet, version); {
			case isBehind(err) && m.mayLack(tablet, version):
			case doriserr.Is(err, doriserr.VersionGone) && !isBehind(err) && version < m.last():
			case err != nil || !slices.Equal(got, want):
				m.t.Fatalf("tablet %d at %d: %d rows, not %d: %v", tablet, version, len(got), len(want), err)
			}
		}
	}
	m.checkPending()
}

// TestModel runs random calls against the engine and the model.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, c: newClock(), holes: newHoleModel(), pending: map[int64][]storage.PendingRowset{}, values: map[storage.RowsetID][]int64{}, dropped: map[int64]bool{}}
		m.o.Roots = []storage.Root{{Path: "/r1"}, {Path: "/r2"}}[:rapid.IntRange(1, 2).Draw(t, "roots")]
		m.start(vfs.NewCrashableMem())
		o := options(vfs.NewMem())
		o.Rand, o.StaleSweep, o.CompactMinFiles = newRand(1), -1, 2
		var err error
		m.src, err = storage.Open(t.Context(), o)
		m.must(err)
		defer func() {
			for _, s := range m.open {
				m.must(s.Close())
			}
			m.must(errors.Join(m.e.Close(), m.src.Close()))
		}()
		action := func(f func(*model)) func(*rapid.T) { return func(*rapid.T) { f(m) } }
		t.Repeat(map[string]func(*rapid.T){
			"write": action((*model).write), "write more": action((*model).write),
			"decide": action((*model).decide), "decide more": action((*model).decide), "again": action((*model).again),
			"snapshot": action((*model).snapshot), "close snapshot": action((*model).closeSnapshot),
			"flush": action((*model).flush), "compact": action((*model).compact), "sweep": action((*model).sweep), "sync": action((*model).sync),
			"drop": action((*model).drop), "restart": action((*model).restart),
			"late write": action((*model).lateWrite), "late write more": action((*model).lateWrite), "settle": action((*model).settle),
			"jump": action((*model).jump), "clone": action((*model).clone), "remove replica": action((*model).remove),
			"rewrite the source": action((*model).rewriteSource),
			"check":              action((*model).check),
		})
		m.check()
	})
}
