package txnmgr

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// TestOneOrderUnderWay: what is committed while an order is under way goes with
// the next one, in version order.
func TestOneOrderUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		id := onlyID(c)
		hold := make(chan struct{})
		c.setAnswer(func(ctx context.Context, _ *meta.Backend, _ *bepb.PublishRequest) error {
			select {
			case <-hold:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		m := c.manager()
		defer lead(m, 1)()
		var wg sync.WaitGroup
		for range 20 {
			commit := c.begin("t1")
			wg.Go(func() {
				if out, err := m.Commit(context.Background(), commit, time.Minute); err != nil || out.State != txn.Visible {
					t.Errorf("%+v, %v", out, err)
				}
			})
			synctest.Wait()
		}
		close(hold)
		wg.Wait()
		orders := c.be(id).orders
		p := c.table("t1").Partitions[0].ID
		if len(orders) != 2 || !slices.Equal(orders[0], versions(p, 2, 2)) || !slices.Equal(orders[1], versions(p, 3, 21)) {
			t.Errorf("orders %v", orders)
		}
	})
}

func onlyID(c *cluster) int64 {
	for id := range c.bes {
		return id
	}
	return 0
}

func versions(partition, from, to int64) (out []string) {
	for v := from; v <= to; v++ {
		out = append(out, fmt.Sprintf("%d:%d", partition, v))
	}
	return out
}

// TestOrdersAreBounded: a BE that was away gets its versions in orders of a
// bounded size.
func TestOrdersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		const n = 2*maxPublish + 100
		for range n {
			c.do(c.begin("t1"))
		}
		last := c.begin("t2")
		m := c.manager()
		defer lead(m, 1)()
		if out, err := m.Commit(t.Context(), last, time.Minute); err != nil || out.State != txn.Visible {
			t.Fatalf("%+v, %v", out, err)
		}
		synctest.Wait()
		p := c.table("t1").Partitions[0].ID
		var got []string
		for _, o := range c.be(onlyID(c)).orders {
			if len(o) > maxPublish {
				t.Errorf("an order of %d versions", len(o))
			}
			for _, v := range o {
				if v != fmt.Sprintf("%d:2", c.table("t2").Partitions[0].ID) {
					got = append(got, v)
				}
			}
		}
		if !slices.Equal(got, versions(p, 2, n+1)) {
			t.Errorf("%d versions were ordered, from %v to %v", len(got), got[0], got[len(got)-1])
		}
	})
}

// TestFailedBackend: a BE that fails is asked again, keeps its other partitions
// going, and does not hold up the majority.
func TestFailedBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		var bad int64
		for id := range c.bes {
			bad = id
		}
		p1, p2 := c.table("t1").Partitions[0].ID, c.table("t2").Partitions[0].ID
		c.bes[bad].stuck[fmt.Sprintf("%d:3", p1)] = true
		m := c.manager()
		defer lead(m, 1)()
		for range 4 {
			for _, table := range []string{"t1", "t2"} {
				if out, err := m.Commit(t.Context(), c.begin(table), time.Minute); err != nil || out.State != txn.Visible {
					t.Fatalf("%+v, %v", out, err)
				}
			}
		}
		time.Sleep(10 * time.Second)
		if got := c.be(bad).published; got[p1] != 2 || got[p2] != 5 {
			t.Errorf("the BE that is stuck published %v, want %d:2 and %d:5", got, p1, p2)
		}
		n := len(c.be(bad).orders)
		c.mu.Lock()
		clear(c.bes[bad].stuck)
		c.mu.Unlock()
		time.Sleep(10 * time.Second)
		if got := c.be(bad).published; got[p1] != 5 {
			t.Errorf("after it can again it published %v", got)
		}
		if n > 40 {
			t.Errorf("%d orders while it was stuck: no pause between tries", n)
		}
	})
}

// TestDeadBackend: while a BE is away the pauses grow; when it registers it is
// sent at once everything above what it reported durable.
func TestDeadBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		bad := c.register(1)
		boot := uint64(2)
		p := c.table("t1").Partitions[0].ID
		m := c.manager()
		defer lead(m, 1)()
		commit := func() {
			t.Helper()
			if out, err := m.Commit(t.Context(), c.begin("t1"), time.Minute); err != nil || out.State != txn.Visible {
				t.Fatalf("%+v, %v", out, err)
			}
		}
		for range 5 {
			commit() // versions 2 to 6
		}
		synctest.Wait()
		c.do(&meta.ReportDurable{BackendID: bad, BootEpoch: boot, Versions: []meta.DurableVersion{{PartitionID: p, Version: 4}}})
		var tries atomic.Int64
		c.setAnswer(func(ctx context.Context, be *meta.Backend, _ *bepb.PublishRequest) error {
			if be.ID != bad || be.BootEpoch > boot {
				return nil
			}
			tries.Add(1)
			<-ctx.Done() // a connection that is neither up nor down
			return ctx.Err()
		})
		for range 3 {
			commit() // versions 7 to 9
		}
		time.Sleep(time.Minute)
		if n := tries.Load(); n == 0 || n > 5 {
			t.Errorf("%d tries in a minute", n)
		}
		c.mu.Lock()
		before := len(c.bes[bad].orders)
		c.mu.Unlock()
		c.register(1)
		// What was not durable is gone with the crash.
		c.mu.Lock()
		c.bes[bad].published = map[int64]int64{p: 4}
		c.mu.Unlock()
		start := time.Now()
		m.Registered(bad)
		synctest.Wait()
		got := slices.Concat(c.be(bad).orders[before:]...)
		if !slices.Equal(got, versions(p, 5, 9)) || time.Since(start) > 0 {
			t.Errorf("after %v the new life was ordered %v, want versions 5 to 9 at once", time.Since(start), got)
		}
	})
}

// TestDurableBeforeReported: a version that a BE reported durable before the log
// knows that it was published is still reported, by this term or the next.
func TestDurableBeforeReported(t *testing.T) {
	for _, next := range []bool{false, true} {
		t.Run(fmt.Sprintf("another term %t", next), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 1)
				commit := c.begin("t1")
				c.setAnswer(func(context.Context, *meta.Backend, *bepb.PublishRequest) error {
					c.setLeads(false) // the BE publishes, and the log does not take the report
					return nil
				})
				m := c.manager()
				end := lead(m, 1)
				defer func() { end() }()
				c.do(commit)
				synctest.Wait()
				m.Registered(onlyID(c)) // looks at every partition
				synctest.Wait()
				c.do(&meta.ReportDurable{BackendID: onlyID(c), BootEpoch: 1, Versions: []meta.DurableVersion{
					{PartitionID: commit.Partitions[0].PartitionID, Version: 2},
				}})
				c.setAnswer(nil)
				c.setLeads(true)
				if next {
					end()
					end = lead(m, 2)
				}
				time.Sleep(time.Minute)
				if s := c.state(commit.TxnID); s != txn.Visible {
					t.Errorf("the transaction is %s", s)
				}
			})
		})
	}
}

// TestLeaderChange: a new leader finds what an earlier one left committed, on
// all BEs, under its own term.
func TestLeaderChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		ids := []int64{c.do(c.begin("t1")).ID, c.do(c.begin("t1")).ID, c.do(c.begin("t2")).ID}
		first := c.manager()
		c.setAnswer(func(context.Context, *meta.Backend, *bepb.PublishRequest) error {
			return doriserr.New(doriserr.Unknown, "cut off")
		})
		end := lead(first, 4)
		time.Sleep(time.Minute)
		end()
		c.setAnswer(nil)
		second := c.manager()
		defer lead(second, 5)()
		time.Sleep(time.Second)
		for _, id := range ids {
			if s := c.state(id); s != txn.Visible {
				t.Errorf("transaction %d is %s", id, s)
			}
		}
		for id := range c.bes {
			for _, term := range c.be(id).terms {
				if term != 5 {
					t.Errorf("BE %d took an order of term %d", id, term)
				}
			}
		}
	})
}

// TestDroppedBackend: its publisher has nothing to do, and a new BE gets one.
func TestDroppedBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		m := c.manager()
		defer lead(m, 1)()
		time.Sleep(time.Second)
		gone := c.register(2)
		m.Registered(gone)
		c.do(&meta.DropBackend{ID: gone, Force: true})
		before := len(c.be(gone).orders)
		if out, err := m.Commit(t.Context(), c.begin("t1"), time.Minute); err != nil || out.State != txn.Visible {
			t.Fatalf("%+v, %v", out, err)
		}
		time.Sleep(time.Minute)
		if got := c.be(gone).orders[before:]; len(got) > 0 {
			t.Errorf("a dropped BE was ordered %v", got)
		}
		fresh := c.register(7)
		m.Registered(fresh)
		synctest.Wait()
		m.mu.Lock()
		hired := m.publishers[fresh] != nil
		m.mu.Unlock()
		if !hired {
			t.Error("a new BE has no publisher")
		}
	})
}

// TestClock: the FSM's clock ticks only while something can expire, and what
// can expire does.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		m := c.manager()
		defer lead(m, 1)()
		time.Sleep(time.Hour)
		if n := c.ticked(); n != 0 {
			t.Errorf("%d ticks in an hour without transactions", n)
		}
		tb := c.table("t1")
		res, err := m.Begin(t.Context(), &meta.BeginTxn{
			DBID: tb.DBID, TableID: tb.ID, TableEpoch: tb.Epoch, SchemaVersion: 1, Label: "late", TimeoutMs: 30_000,
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(28 * time.Second)
		if s := c.state(res.ID); s != txn.Prepare {
			t.Errorf("%s before its time-out", s)
		}
		time.Sleep(10 * time.Second)
		if s := c.state(res.ID); s != txn.Aborted {
			t.Errorf("%s after its time-out", s)
		}
		ticks := c.ticked()
		time.Sleep(time.Hour)
		if n := c.ticked() - ticks; n > 61 {
			t.Errorf("%d ticks in an hour in which only labels expire", n)
		}
	})
}
