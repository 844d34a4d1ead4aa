package txnmgr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

// TestReportsAreGathered: however many BEs publish a transaction, the log is told
// once, as soon as they are a majority of each tablet's replicas; a majority that
// takes long to gather is told piece by piece.
func TestReportsAreGathered(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		delays  []time.Duration // of the BEs' answers
		visible time.Duration   // after the commit
		reports []int           // BEs of each report
	}{
		{[]time.Duration{0, 0, 0}, 0, []int{2}},
		{[]time.Duration{1 * ms, 2 * ms, 3 * ms}, 2 * ms, []int{2}},
		{[]time.Duration{1 * ms, 2 * ms, time.Second}, 2 * ms, []int{2}},
		{[]time.Duration{1 * ms, 20 * ms, 30 * ms}, 20 * ms, []int{1, 1}},
		{[]time.Duration{0, 4 * ms, 2 * ms, 3 * ms, 1 * ms}, 2 * ms, []int{3}},
		{[]time.Duration{0, 30 * ms, 2 * ms, 31 * ms, 32 * ms}, 30 * ms, []int{2, 1}},
	} {
		t.Run(fmt.Sprint(test.delays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, len(test.delays))
				ids := c.ids()
				c.setAnswer(func(_ context.Context, be *meta.Backend, _ *bepb.PublishRequest) error {
					time.Sleep(test.delays[slices.Index(ids, be.ID)])
					return nil
				})
				m := c.manager()
				defer lead(m, 1)()
				synctest.Wait()
				start := time.Now()
				out, err := m.Commit(t.Context(), c.begin("t1"), time.Minute)
				if took := time.Since(start); err != nil || out.State != txn.Visible || took != test.visible {
					t.Errorf("%+v, %v after %v, want %v", out, err, took, test.visible)
				}
				time.Sleep(2 * time.Second)
				var got []int
				c.mu.Lock()
				defer c.mu.Unlock()
				for _, r := range c.reports {
					got = append(got, len(r))
				}
				if !slices.Equal(got, test.reports) {
					t.Errorf("the log heard of %v, want reports of %v BEs", c.reports, test.reports)
				}
			})
		})
	}
}

// TestReportThatFails: everybody whose report the log did not take asks its BE
// again.
func TestReportThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		m := c.manager()
		defer lead(m, 1)()
		synctest.Wait()
		failures := 0
		c.mu.Lock()
		c.refuse = func(cmd meta.Command) error {
			if _, ok := cmd.(*meta.PublishDone); ok && failures < 2 {
				failures++
				return errors.New("the log is full")
			}
			return nil
		}
		c.mu.Unlock()
		out, err := m.Commit(t.Context(), c.begin("t1"), time.Minute)
		if err != nil || out.State != txn.Visible {
			t.Fatalf("%+v, %v", out, err)
		}
		for _, id := range c.ids() {
			if got := len(c.be(id).orders); got > 3 {
				t.Errorf("BE %d got %d orders", id, got)
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, p := range m.publishers {
			p.reports.mu.Lock()
			if n := len(p.reports.open); n > 0 {
				t.Errorf("%d reports are left", n)
			}
			p.reports.mu.Unlock()
		}
	})
}

// TestReportDuringAnother: a BE that publishes while the log is told of enough
// others is in the log as well if the transaction waits for an earlier one: one of
// the others may be lost before its turn comes.
func TestReportDuringAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		ids := c.ids()
		var first, second *meta.CommitTxn
		first, second = c.begin("t1"), c.begin("t1")
		c.do(first)
		c.do(second)
		r := newReports(New(Config{Node: c, Orders: c}))
		telling, goOn := make(chan struct{}), make(chan struct{})
		c.refuse = func(meta.Command) error {
			select {
			case telling <- struct{}{}:
				<-goOn
			default:
			}
			return nil
		}
		results := make(chan error, 3)
		add := func(id int64) { go func() { results <- r.add(t.Context(), second.TxnID, id) }() }
		add(ids[0])
		add(ids[1])
		<-telling
		add(ids[2])
		synctest.Wait()
		close(goOn)
		for range 3 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		c.View(func(s *meta.State) {
			if got := s.Txn(second.TxnID).Published; !slices.Equal(got, ids) {
				t.Errorf("the log knows of %v, want %v", got, ids)
			}
		})
	})
}
