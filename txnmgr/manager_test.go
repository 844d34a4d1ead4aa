package txnmgr

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/meta/txn"
	"dorisgo/rpc/bepb"
)

func TestCommitIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		m := c.manager()
		defer lead(m, 1)()
		for i := range 3 {
			commit := c.begin("t1")
			start := time.Now()
			out, err := m.Commit(t.Context(), commit, time.Minute)
			if err != nil || out.State != txn.Visible || out.Txn.Partitions[0].Version != int64(i+2) {
				t.Fatalf("commit %d: %+v, %v", i, out, err)
			}
			if d := time.Since(start); d > 0 {
				t.Errorf("VISIBLE took %v although every BE answered at once", d)
			}
			again, err := m.Commit(t.Context(), commit, time.Minute)
			if err != nil || again.State != txn.Visible || again.Txn.Partitions[0].Version != int64(i+2) {
				t.Errorf("a repeat: %+v, %v", again, err)
			}
		}
	})
}

// TestCommitBeforeTheTerm commits while this FE leads and its duties have not
// begun: they publish it when they do.
func TestCommitBeforeTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		m := c.manager()
		got := make(chan Outcome, 1)
		go func() {
			out, err := m.Commit(context.Background(), c.begin("t1"), time.Minute)
			if err != nil {
				t.Error(err)
			}
			got <- out
		}()
		synctest.Wait()
		time.Sleep(10 * time.Second)
		defer lead(m, 1)()
		if out := <-got; out.State != txn.Visible {
			t.Errorf("%+v", out)
		}
	})
}

func TestCommitOnAFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		commit := c.begin("t1")
		c.setLeads(false)
		if _, err := c.manager().Commit(t.Context(), commit, time.Minute); !doriserr.Is(err, doriserr.NotLeader) {
			t.Errorf("error %v, want NotLeader", err)
		}
	})
}

func TestCommitRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		m := c.manager()
		defer lead(m, 1)()
		commit := c.begin("t1")
		commit.Partitions[0].Tablets[0].Backends = commit.Partitions[0].Tablets[0].Backends[:1]
		if out, err := m.Commit(t.Context(), commit, time.Minute); err == nil {
			t.Errorf("a commit with one of three replicas: %+v", out)
		}
		commit.TxnID = 999
		if _, err := m.Commit(t.Context(), commit, time.Minute); !doriserr.Is(err, doriserr.TxnNotFound) {
			t.Errorf("error %v, want TxnNotFound", err)
		}
	})
}

// TestLateVisibility: a wait that ends is answered with COMMITTED, not with an
// error.
func TestLateVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.setAnswer(func(context.Context, *meta.Backend, *bepb.PublishRequest) error {
			return doriserr.New(doriserr.Unknown, "connection refused")
		})
		m := c.manager()
		defer lead(m, 1)()
		commit := c.begin("t1")
		start := time.Now()
		out, err := m.Commit(t.Context(), commit, 5*time.Second)
		if err != nil || out.State != txn.Committed || out.Index == 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("waited %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if out, err := m.Commit(ctx, commit, time.Hour); err != nil || out.State != txn.Committed {
			t.Errorf("with the caller's deadline: %+v, %v", out, err)
		}
		c.setAnswer(nil)
		if out, err := m.Commit(t.Context(), commit, time.Minute); err != nil || out.State != txn.Visible {
			t.Errorf("after the BE is back: %+v, %v", out, err)
		}
	})
}

// TestTermEndsWhileClientsWait: they are sent to the next leader at once.
func TestTermEndsWhileClientsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.setAnswer(func(ctx context.Context, _ *meta.Backend, _ *bepb.PublishRequest) error {
			<-ctx.Done()
			return ctx.Err()
		})
		m := c.manager()
		end := lead(m, 1)
		commit := c.begin("t1")
		failed := make(chan error, 1)
		start := time.Now()
		go func() {
			_, err := m.Commit(context.Background(), commit, time.Minute)
			failed <- err
		}()
		synctest.Wait()
		end()
		if err := <-failed; !doriserr.Is(err, doriserr.Unknown) || time.Since(start) > 0 {
			t.Errorf("after %v: %v, want Unknown at once", time.Since(start), err)
		}
		// The next term, on this or another FE, finishes what was committed.
		c.setAnswer(nil)
		defer lead(m, 2)()
		if out, err := m.Commit(t.Context(), commit, time.Minute); err != nil || out.State != txn.Visible {
			t.Errorf("in the next term: %+v, %v", out, err)
		}
	})
}

// TestDropMakesVisible: a transaction whose partition is dropped becomes
// VISIBLE without a publish, and its waiter hears of it.
func TestDropMakesVisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.setAnswer(func(context.Context, *meta.Backend, *bepb.PublishRequest) error {
			return doriserr.New(doriserr.Unknown, "connection refused")
		})
		m := c.manager()
		defer lead(m, 1)()
		got := make(chan Outcome, 1)
		commit := c.begin("t1")
		start := time.Now()
		go func() {
			out, err := m.Commit(context.Background(), commit, time.Minute)
			if err != nil {
				t.Error(err)
			}
			got <- out
		}()
		synctest.Wait()
		c.do(&meta.DropTable{DB: "d", Name: "t1", Force: true})
		if out := <-got; out.State != txn.Visible || time.Since(start) > 5*time.Second {
			t.Errorf("after %v: %+v", time.Since(start), out)
		}
	})
}
